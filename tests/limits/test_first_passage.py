"""First passage: printed numbers, closed forms, naive quadrature, brute-force paths, and the two orders."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import ndtr
from worlds import plane, scenario_of, shipped

from tracker import limits

FLIP = [[-1.0, 1.0], [0.5, -0.5]]
PRINTED = {
    1.0: (0.686933134, (0.751814893119, 0.735246184715, 0.722360587180, 0.712629935374, 0.705429922675, 0.700176460037)),
    1.2: (0.795019613, (0.847855099820, 0.837086177706, 0.827409865257, 0.819341964547, 0.812959066642, 0.808085468442)),
}  # fmt: skip
STEPS = (8, 16, 32, 64, 128, 256)


def wells(n: int):
    return shipped("example_b").replace(
        samplers=[{"name": "classical", "kind": "langevin", "epsilon": 1 / n, "beta": 4.0}],
        chain={"alpha": 1 / n, "Q": FLIP, "initial": [1.0, 0.0]},
    )


def bowl(epsilon: float = 0.05, minimum: float = 0.6, noise: float = 0.0, **sampler):
    mode = {"cost": "quadratic", "curvature": [[1.3]], "minimum": [minimum], "gradient_noise": [[noise]]}
    return scenario_of([mode], [{"kind": "langevin", "epsilon": epsilon, "beta": 2.5, **sampler}], start=[-0.4])


@pytest.mark.parametrize("level", [1.0, 1.2])
def test_printed_numbers(level: float) -> None:
    limit, sampler = PRINTED[level]
    assert limits.first_passage(wells(8), "classical", level, 1.0).survival == pytest.approx(limit, abs=1e-9)
    for n, wanted in zip(STEPS, sampler, strict=True):
        found = limits.first_passage(wells(n), "classical", level, [n], of="algorithm")
        assert found.survival == pytest.approx([wanted], abs=1e-11)


def test_the_order_is_a_half_and_at_the_raised_level_one() -> None:
    plain, raised = [], []
    for n in (64, 128, 256):
        own = limits.first_passage(wells(n), "classical", 1.0, n, of="algorithm")
        assert own.raised == pytest.approx(1.0 + 0.5825971579390107 * np.sqrt(2 / n / 4.0), abs=1e-14)
        plain.append(own.survival - limits.first_passage(wells(n), "classical", 1.0, 1.0).survival)
        raised.append(own.survival - limits.first_passage(wells(n), "classical", own.raised, 1.0).survival)
    orders = [np.log2(error[0] / error[2]) / 2 for error in (plain, raised)]
    assert orders == pytest.approx([0.5, 1.0], abs=0.05)
    assert np.array(raised) * (64, 128, 256) == pytest.approx([-0.1129, -0.1133, -0.1134], abs=1e-4)


def test_a_bowl_has_a_closed_form() -> None:
    """From below to its own minimum, by reflection: 2 Phi(distance now / deviation) - 1. The chain has no say: both modes are one."""
    h, beta, m, x = 1.3, 2.5, 0.6, -0.4
    times = np.array([0.2, 0.5, 1.0, 3.0])
    deviation = np.sqrt((1 - np.exp(-2 * h * times)) / (beta * h))
    wanted = 2 * ndtr((m - x) * np.exp(-h * times) / deviation) - 1
    assert limits.first_passage(bowl(), "sampler-0", m, times).survival == pytest.approx(wanted, abs=1e-9)
    one = bowl()
    mode = one.modes[0].model_dump()
    both = one.replace(
        modes=[{**mode, "name": name} for name in "ab"], chain={"alpha": 0.1, "Q": [[-1.0, 1.0], [2.0, -2.0]]}
    )
    assert limits.first_passage(both, "sampler-0", m, times).survival == pytest.approx(wanted, abs=1e-9)
    other = limits.first_passage(one, "sampler-0", m + 0.01, times).survival
    assert np.abs(other - wanted).min() > 1e-4  # the control


def test_two_steps_by_hand() -> None:
    epsilon, h, m, x, level = 0.05, 1.3, 0.6, -0.4, 0.2
    deviation = np.sqrt(2 * epsilon / 2.5 + epsilon**2 * 0.7)

    def move(y: float) -> float:
        return y - epsilon * h * (y - m)

    once = ndtr((level - move(x)) / deviation)

    def both(y: float) -> float:
        bell = np.exp(-0.5 * ((y - move(x)) / deviation) ** 2) / (deviation * np.sqrt(2 * np.pi))
        return bell * ndtr((level - move(y)) / deviation)

    twice = quad(both, move(x) - 12 * deviation, level, epsabs=1e-13, epsrel=1e-13, limit=200)[0]
    found = limits.first_passage(bowl(noise=0.7), "sampler-0", level, [0, 1, 2], of="algorithm")
    assert found.survival == pytest.approx([1.0, once, twice], abs=1e-11)


def simulated(n: int, trials: int, level: float, noise: float = 1.0) -> tuple[float, float]:
    """Paths of Example B, written out anew; the share that stays below the level and its standard error."""
    rng = np.random.default_rng(5)
    epsilon, theta, x = 1 / n, 0.25 * rng.standard_normal(trials), np.zeros(trials, dtype=int)
    tilt, leave = np.array([-0.3, 0.3]), np.array([1.0, 0.5]) / n
    below = theta < level
    for _ in range(n):
        drift = theta * (theta**2 - 1) + tilt[x]
        theta = theta - epsilon * drift + noise * np.sqrt(2 * epsilon / 4.0) * rng.standard_normal(trials)
        x = np.where(rng.random(trials) < leave[x], 1 - x, x)
        below &= theta < level
    return float(below.mean()), float(below.std() / np.sqrt(trials))


def test_simulated_paths_agree_and_wrong_noise_does_not() -> None:
    exact = limits.first_passage(wells(32), "classical", 1.0, 32, of="algorithm").survival
    share, error = simulated(32, 400_000, 1.0)
    assert abs(share - exact) < 4.9 * error
    share, error = simulated(32, 400_000, 1.0, noise=1.03)
    assert abs(share - exact) > 4.9 * error


def test_scope() -> None:
    with pytest.raises(limits.OutOfScope, match="N = 2"):
        limits.first_passage(plane(), "plain", 1.0, 1.0)
    with pytest.raises(limits.OutOfScope, match="no diffusion"):
        limits.first_passage(bowl(beta="inf"), "sampler-0", 0.5, 1.0)
    with pytest.raises(limits.OutOfScope, match="no noise"):
        limits.first_passage(bowl(beta="inf"), "sampler-0", 0.5, 3, of="algorithm")
    with pytest.raises(ValueError, match="whole"):
        limits.first_passage(bowl(), "sampler-0", 0.5, 1.5, of="algorithm")
    with pytest.raises(limits.OutOfScope, match="kinetic"):
        limits.first_passage(bowl(kind="kinetic", friction=1.0), "sampler-0", 0.5, 1.0)
    assert limits.first_passage(bowl(), "sampler-0", -1.0, [0.0, 1.0]).survival == pytest.approx([0.0, 0.0], abs=1e-12)
