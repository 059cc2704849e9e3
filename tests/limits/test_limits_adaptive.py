"""The (theta, D, S) limit of Algorithm 1 at beta = inf: docs/mathematics, "Adaptive path"."""

from __future__ import annotations

import numpy as np
import pytest

from tracker.limits.adaptive_ode import AdaptivePath, adaptive_path
from tracker.skew import from_pairs, to_pairs

H = np.array([[2, 0.4, -0.3], [0.4, 1.2, 0.2], [-0.3, 0.2, 0.8]])
m = np.array([0.5, -0.4, 0.2])
THETA0 = [2.0, -1.5, 1.0]
BOUNDS = (-0.25, 0.52)


def gradient(theta: np.ndarray) -> np.ndarray:
    return H @ (theta - m) + 0.15 * theta**3


def hessian(theta: np.ndarray) -> np.ndarray:
    return H + np.diag(0.45 * theta**2)


def path(skew: list[float], times: list[float], kappa: float = 2.0, **options: object) -> AdaptivePath:
    return adaptive_path(gradient, hessian, THETA0, from_pairs(skew, 3), kappa, times, **options)  # type: ignore[arg-type]


def euler(skew: list[float], n: int, T: float, bounds: tuple[float, float]) -> np.ndarray:
    """theta and S by the recursion itself, written out; kappa = 2."""
    theta, s, D = np.array(THETA0), np.array(skew), np.zeros((3, 3))
    for _ in range(round(n * T)):
        M, g, h = np.eye(3) + from_pairs(s, 3), gradient(theta), hessian(theta)
        turn = np.array([from_pairs(e, 3) @ g for e in np.eye(3)])
        moved = np.clip(s - 2.0 / n * D @ g, *bounds)
        D = D - D @ (M @ h).T / n - turn / n
        theta, s = theta - M @ g / n, moved
    return np.concatenate([theta, s])


def test_the_table_of_section_7a() -> None:
    a = path([0.5, -0.3, 0.2], [0.5, 2.0])
    theta = [[0.9472815115, -1.2361158979, 1.0810863493], [0.5411855833, -0.5764479324, 0.5187045965]]
    D = [
        [
            [-0.3689592350, -0.2335086187, -0.0321010571],
            [0.1382244380, -0.0614858899, -0.4246565406],
            [0.0173084821, 0.1631679302, 0.3865403146],
        ],
        [
            [-0.1492160935, 0.2063950952, -0.1205256313],
            [0.1361156966, -0.1454752514, 0.0207937625],
            [0.0852601157, 0.1228850486, 0.3331401129],
        ],
    ]
    S = [[0.4339983925, -0.2086868571, 0.1583430847], [0.5934972628, -0.1134861600, -0.0777371089]]
    np.testing.assert_allclose(a.theta, theta, rtol=0, atol=1e-10)
    np.testing.assert_allclose(a.tangent, D, rtol=0, atol=1e-10)
    np.testing.assert_allclose([to_pairs(s) for s in a.skew], S, rtol=0, atol=1e-10)


def test_projection_holds_and_lets_go() -> None:
    """S31 starts at its lower bound and leaves it, S21 arrives at its upper one.

    docs/mathematics, "Adaptive path": 8 digits.
    """
    a = path([0.5, -0.25, 0.2], [0.0, 1.0, 2.0], bounds=BOUNDS)
    np.testing.assert_allclose(a.theta[-1], [0.55449549, -0.58942950, 0.51908590], rtol=0, atol=2e-8)
    np.testing.assert_allclose(to_pairs(a.skew[-1]), [0.52, -0.02844312, -0.09112778], rtol=0, atol=2e-8)
    np.testing.assert_allclose(a.skew, -np.swapaxes(a.skew, 1, 2), atol=0)
    assert abs(path([0.5, -0.25, 0.2], [2.0]).skew[0, 1, 0] - 0.52) > 0.01, "control: without bounds it goes on"


@pytest.mark.parametrize("bounds", [BOUNDS, (-0.3, 0.45), (0.1, 0.3), (-0.22, 0.5), (-0.29, 0.55)])
def test_the_recursion_tends_to_it_with_order_one(bounds: tuple[float, float]) -> None:
    """Extrapolated from n = 400 and 800 to within 1e-4, whichever bounds act."""
    start = np.clip([0.5, -0.3, 0.2], *bounds).tolist()
    coarse, fine = euler(start, 400, 2.0, bounds), euler(start, 800, 2.0, bounds)
    a = path(start, [2.0], bounds=bounds)
    exact = np.concatenate([a.theta[0], to_pairs(a.skew[0])])
    assert np.abs(2 * fine - coarse - exact).max() < 1e-4
    assert np.abs(fine - exact).max() < 2e-3


def test_the_tangent_is_the_derivative_of_the_flow_in_s() -> None:
    """With S kept (kappa = 0), by central differences: D^ij = d theta / d S(i, j)."""
    skew, step = np.array([0.5, -0.3, 0.2]), 1e-4
    a = path(skew.tolist(), [0.5, 2.0], kappa=0.0)
    for p in range(3):
        there, here = (path((skew + sign * step * np.eye(3)[p]).tolist(), [0.5, 2.0], kappa=0.0) for sign in (1, -1))
        np.testing.assert_allclose(a.tangent[:, p], (there.theta - here.theta) / (2 * step), rtol=0, atol=1e-7)


def test_a_path_may_be_asked_at_any_times_and_by_pairs() -> None:
    whole = path([0.5, -0.25, 0.2], [0.0, 0.3, 0.31, 2.0], bounds=BOUNDS)
    part = adaptive_path(gradient, hessian, THETA0, [0.5, -0.25, 0.2], 2.0, 0.31, bounds=BOUNDS)
    np.testing.assert_allclose(whole.theta[2], part.theta[0], rtol=0, atol=1e-10)
    np.testing.assert_allclose(whole.theta[0], THETA0, rtol=0, atol=0)
    assert whole.tangent.shape == (4, 3, 3)
    assert part.skew.shape == (1, 3, 3)


def test_what_makes_no_sense_is_refused() -> None:
    with pytest.raises(ValueError, match="not skew"):
        adaptive_path(gradient, hessian, THETA0, np.eye(3), 1.0, [1.0])
    with pytest.raises(ValueError, match="increasing"):
        path([0.5, -0.3, 0.2], [1.0, 0.5])
    with pytest.raises(ValueError, match="must not exceed"):
        path([0.5, -0.3, 0.2], [1.0], bounds=(1.0, -1.0))
