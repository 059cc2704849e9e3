"""Eigenvalues of generators and rates of escape: closed forms, another discretisation, and each against the other."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import eigh_tridiagonal
from worlds import pair, scalar, scenario_of, shipped

from tracker import limits

WELL = "(t^2 - 1)^2 / 4 + 0.1*t"


def well(beta: float, formula: str = WELL):
    sampler = {"kind": "langevin", "epsilon": 0.01, "beta": beta}
    return scenario_of([{"cost": "polynomial", "variables": ["t"], "formula": formula}], [sampler], start=[0.5])


def wells_with(s: float, beta: float = 4.0):
    sampler = {"name": "s", "kind": "accelerated", "epsilon": 1e-3, "beta": beta, "skew": s}
    return shipped("swapping_wells").replace(samplers=[sampler])


# --- spectrum


def test_one_quadratic_mode() -> None:
    scenario = pair(0.7, 2.0, polynomial=False)
    lam = np.linalg.eigvals(np.array([[1.0, -0.7], [0.7, 1.0]]) @ np.array([[2.0, 0.5], [0.5, 1.0]]))
    sums = [a * lam[0] + b * lam[1] for a in range(5) for b in range(5)]
    wanted = sorted((-np.array(sums)).tolist(), key=lambda z: -z.real)[:8]
    found = limits.spectrum(scenario, "s", count=8, mode="y")
    assert np.sort(found.eigenvalues.real) == pytest.approx(np.sort(np.real(wanted)), abs=1e-12)
    assert found.gap == pytest.approx(lam.real.min(), abs=1e-12)


def test_switched_quadratics_have_the_rates_of_their_moments() -> None:
    """Degree 2 by the code that decides on stability, degree 1 by Kronecker products, degree 0 of the chain."""
    scenario = pair(1.5, 2.0, polynomial=False)
    found = limits.spectrum(scenario, "s", count=14).eigenvalues
    H = np.array([[[1.0, 0.0], [0.0, 2.0]], [[2.0, 0.5], [0.5, 1.0]]])
    Q = np.array([[-1.0, 1.0], [0.4, -0.4]])
    L = np.kron(Q, np.eye(2))
    for i in range(2):
        L[2 * i : 2 * i + 2, 2 * i : 2 * i + 2] -= (np.array([[1.0, -1.5], [1.5, 1.0]]) @ H[i]).T
    for value in (*np.linalg.eigvals(L)[:2], limits.stability(scenario, "s").abscissa, -1.4):
        assert np.abs(found - value).min() < 1e-12
    assert found[0] == pytest.approx(0.0, abs=1e-14)


def test_cells_find_the_eigenvalues_of_a_quadratic() -> None:
    """The same world as polynomials goes another way: through the finite-volume matrix."""
    for s in (0.0, 0.8):
        exact = limits.spectrum(pair(s, 2.0, polynomial=False), "s", count=4)
        cells = limits.spectrum(pair(s, 2.0, polynomial=True), "s", count=4)
        assert np.abs(cells.eigenvalues.real - exact.eigenvalues.real).max() < 5e-3
        assert cells.gap == pytest.approx(exact.gap, rel=2e-3)
    other = limits.spectrum(pair(2.0, 2.0, polynomial=False), "s", count=4)
    assert np.abs(cells.eigenvalues - other.eigenvalues).max() > 1.0  # the control


def schroedinger(beta: float, n: int) -> np.ndarray:
    """The symmetric form, -u''/beta + (beta C'^2/4 - C''/2) u, by differences on [-3, 3]."""
    x, h = np.linspace(-3.2, 3.2, n, retstep=True)
    first, second = x**3 - x + 0.1, 3 * x**2 - 1
    diagonal = 2 / (beta * h * h) + beta * first**2 / 4 - second / 2
    return -eigh_tridiagonal(diagonal, np.full(n - 1, -1 / (beta * h * h)), select="i", select_range=(0, 4))[0]


@pytest.mark.parametrize("beta", [2.0, 8.0])
def test_a_double_well_by_another_equation(beta: float) -> None:
    wanted = (4 * schroedinger(beta, 4001) - schroedinger(beta, 2001)) / 3
    found = limits.spectrum(well(beta), "sampler-0", count=5, mode="mode-0")
    assert found.eigenvalues.real[1:] == pytest.approx(wanted[1:], rel=1e-5)
    assert found.gap == pytest.approx(-wanted[1], rel=1e-6)
    assert np.all(found.error < 1e-2)


def test_relative_regime() -> None:
    """One curvature: alpha q / (epsilon h). Swapping wells are slow by alpha / epsilon and matched by this number."""
    assert limits.relative(scalar(0.1, 0.05), "a") == pytest.approx(0.05 * 0.7 / (0.1 * 1.3), rel=1e-12)
    assert 0.1 < limits.relative(shipped("swapping_wells"), "classical") < 10
    with pytest.raises(limits.OutOfScope, match="without a chain"):
        limits.relative(well(2.0), "sampler-0")


def test_scope_of_the_spectrum() -> None:
    turning = [{"cost": "quadratic", "minimum": [0.0, 0.0], "curvature": h} for h in ([10.0, 1.0], [1.0, 10.0])]
    turning = [{**mode, "curvature": np.diag(mode["curvature"]).tolist()} for mode in turning]
    sampler = {"kind": "accelerated", "epsilon": 1e-3, "skew": 4.0}
    pumped = scenario_of(turning, [sampler], chain={"alpha": 1e-2, "Q": [[-1.0, 1.0], [1.0, -1.0]]})
    with pytest.raises(limits.OutOfScope, match="unstable"):
        limits.spectrum(pumped, "sampler-0")
    assert limits.spectrum(pumped, "sampler-0", mode="mode-1").gap > 0
    with pytest.raises(limits.OutOfScope, match="no diffusion"):
        limits.spectrum(
            well(2.0).replace(samplers=[{"name": "a", "kind": "langevin", "epsilon": 0.1, "beta": "inf"}]), "a"
        )
    with pytest.raises(ValueError, match="none of the scenario's"):
        limits.spectrum(well(2.0), "sampler-0", mode="up")


# --- escape


def test_printed_rates_of_swapping_wells() -> None:
    found = [limits.escape(wells_with(float(s)), "s") for s in range(6)]
    gains = [each.speed_up[0][1] for each in found]
    assert gains == pytest.approx([1.0, 1.87, 4.04, 6.86, 9.99, 13.3], abs=0.03)
    assert gains[3] < 0.7 * (1 + 3**2)  # not 1 + s^2
    assert [1 / each.rates[0][1] for each in found[:4]] == pytest.approx([17.9, 9.56, 4.43, 2.61], abs=0.03)
    for one, other in zip(*found[3].rates, strict=True):  # the modes mirror each other
        assert one == pytest.approx(other, rel=1e-9)


@pytest.mark.parametrize("s", [0.0, 1.0, 3.0])
def test_two_dimensions_in_closed_form(s: float) -> None:
    """(a^2 - 1)^2 - 0.35 a + 25 b^2: critical points are roots of a cubic, and (I + S) H has a characteristic equation of degree 2."""
    top, *wells = np.sort(np.roots([4.0, 0.0, -4.0, -0.35]).real)[[1, 2, 0]]
    bend, value = (lambda a: 12 * a * a - 4), (lambda a: (a * a - 1) ** 2 - 0.35 * a)
    h = bend(top)
    down = np.sqrt((50 + h) ** 2 / 4 - 50 * h * (1 + s * s)) - (50 + h) / 2
    wanted = [down / (2 * np.pi) * np.sqrt(bend(a) / -h) * np.exp(-4.0 * (value(top) - value(a))) for a in wells]
    found = limits.escape(wells_with(s), "s")
    assert found.rates[0] == pytest.approx(wanted, rel=1e-9)
    assert found.speed_up[0] == pytest.approx(-down / h, rel=1e-9)


def test_one_dimension_by_hand() -> None:
    """Kramers: sqrt(C''(min) |C''(top)|) / (2 pi) exp(-beta climb)."""
    roots = np.sort(np.roots([1.0, 0.0, -1.0, 0.1]).real)
    value, bend = np.polyval([0.25, 0.0, -0.5, 0.1, 0.25], roots), np.abs(3 * roots**2 - 1)
    found = limits.escape(well(6.0), "sampler-0")
    assert found.minima[0][:, 0] == pytest.approx(roots[[0, 2]], abs=1e-9)
    assert found.saddles[0][:, 0] == pytest.approx(roots[[1, 1]], abs=1e-9)
    wanted = np.sqrt(bend[[0, 2]] * bend[1]) / (2 * np.pi) * np.exp(-6.0 * (value[1] - value[[0, 2]]))
    assert found.rates[0] == pytest.approx(wanted, rel=1e-6)


def test_the_spectrum_tends_to_it() -> None:
    """The slowest eigenvalue of a double well is the sum of both rates, up to 1 / beta; with another S it is not."""
    formula = "(a^2 - 1)^2 + 0.1*a + 2*b^2"
    mode = {"cost": "polynomial", "variables": ["a", "b"], "formula": formula}

    def both(beta: float, s: float) -> tuple[float, float]:
        sampler = {"kind": "accelerated", "epsilon": 1e-3, "beta": beta, "skew": s}
        scenario = scenario_of([mode], [sampler], start=[0.5, 0.0])
        gap = limits.spectrum(scenario, "sampler-0", count=2, mode="mode-0").gap
        return gap, float(limits.escape(scenario, "sampler-0").rates[0].sum())

    gap, rate = both(8.0, 1.0)
    assert abs(gap / rate - 1) < 0.06
    assert abs(both(8.0, 0.0)[0] / rate - 1) > 0.3  # the control
    errors = []
    for beta in (40.0, 80.0):
        gap = limits.spectrum(well(beta), "sampler-0", count=2, mode="mode-0").gap
        errors.append(1 - gap / limits.escape(well(beta), "sampler-0").rates[0].sum())
    assert errors[0] / errors[1] == pytest.approx(2.0, abs=0.2)
    assert 0 < errors[1] < 0.05


def test_a_single_well_is_never_left() -> None:
    found = limits.escape(pair(0.5, 2.0, polynomial=True), "s")
    assert [len(rates) for rates in found.rates] == [1, 1]
    assert all(np.isnan(rates).all() for rates in found.rates)
