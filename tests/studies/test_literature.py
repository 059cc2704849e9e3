"""The experiments of the literature in short; the exact laws that they bring along; and what is committed of the long ones."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest
from scipy.stats import t
from worlds import ROOT

from studies import markdown
from studies.literature.constant_steps import three_states
from studies.literature.decreasing_step import DecreasingStep
from studies.literature.experiment import FLIP, Effort, Found
from studies.literature.numbers import EXPERIMENTS, read
from studies.literature.own_laws import correlated_error, decreasing_errors, sign_error
from studies.literature.page import BEYOND, FOLDER, SUBTITLE, TITLE, sections
from studies.literature.regression_laws import regressions
from studies.literature.rivals import pair
from tracker import limits

GALLERY = ROOT / "reports" / "gallery"
TRIALS = 40
FAR = float(t.isf(0.5e-6, TRIALS - 1))  # standard errors, where these come from so few trials
LEAST = {"three-states": 0.05, "slopes": 0.03, "sign-error": 0.3, "scaled-error": 0.1, "correlated": 0.05}


@pytest.mark.parametrize("key", EXPERIMENTS)
def test_an_experiment_in_short_finds_its_exact_numbers(key: str) -> None:
    found = EXPERIMENTS[key].run(Effort(TRIALS, LEAST.get(key, 1e-2), curves=False))
    assert found.points
    for point in found.points:
        assert abs(point.z) < FAR, point
        assert point.stderr < 0.5 * point.measured


def test_a_wrong_exact_number_is_seen() -> None:
    """The control: the same points against the law of another chain, three times as fast."""
    found = EXPERIMENTS["three-states"].run(Effort(TRIALS, 0.05, curves=False))
    [point] = [one for one in found.points if one.line == "ε = 0.05"]
    wrong = float(limits.stationary(three_states(0.15, 0.05), "lms").mean_square_error)
    assert abs(point._replace(exact=wrong).z) > FAR


# --- laws that the study brings along


def test_regressors_without_memory_are_those_that_theory_knows() -> None:
    for epsilon in (0.05, 0.2):
        exact = float(limits.stationary(regressions(epsilon, 0.3 * epsilon), "lms").mean_square_error)
        found = correlated_error(epsilon, 0.3 * epsilon, FLIP, (-1.0, 1.0), 0.5, 0.0, 20)
        assert found == pytest.approx(exact, abs=1e-12)
    assert correlated_error(0.05, 0.01, FLIP, (-1.0, 1.0), 0.5, 0.9, 60) == pytest.approx(
        correlated_error(0.05, 0.01, FLIP, (-1.0, 1.0), 0.5, 0.9), abs=1e-9
    )


def simulated(epsilon: float, alpha: float, memory: float, signs: bool, trials: int = 30_000) -> tuple[float, float]:
    """The recursion written out anew; mean square error at the end and its standard error."""
    rng = np.random.default_rng(3)
    theta, m, phi = np.zeros(trials), rng.choice([-1.0, 1.0], trials), rng.standard_normal(trials)
    for _ in range(round(12 / epsilon)):
        error = phi * (m - theta) + np.sqrt(0.5) * rng.standard_normal(trials)
        theta = theta + epsilon * phi * (np.sign(error) if signs else error)
        m = np.where(rng.random(trials) < alpha, -m, m)
        phi = memory * phi + np.sqrt(1 - memory**2) * rng.standard_normal(trials)
    away = (theta - m) ** 2
    return float(away.mean()), float(away.std() / np.sqrt(trials))


@pytest.mark.parametrize("signs", [False, True])
def test_own_laws_against_a_simulation(signs: bool) -> None:
    memory = 0.0 if signs else 0.8
    mean, stderr = simulated(0.1, 0.03, memory, signs)
    law = sign_error if signs else correlated_error
    more = () if signs else (memory,)
    assert abs(mean - law(0.1, 0.03, FLIP, (-1.0, 1.0), 0.5, *more)) < 4.9 * stderr
    assert abs(mean - law(0.1, 0.04, FLIP, (-1.0, 1.0), 0.5, *more)) > 4.9 * stderr


def test_a_step_that_does_not_fall_has_the_stationary_error() -> None:
    exact = float(limits.stationary(pair(1e-2, {"name": "plain", "kind": "langevin", "epsilon": 0.2}), "plain").mean_square_error)  # fmt: skip
    assert decreasing_errors(DecreasingStep(0.2, power=0.0), 1e-2, 3000)[-1] == pytest.approx(exact, abs=1e-12)
    falls = decreasing_errors(DecreasingStep(0.3), 1e-3, 3)
    e = 0.3 * (100 / 101) ** 0.55
    V, c = 0.09 + 0.09, 0.998 * 0.3  # after one step from 0: e m + e z
    assert falls[:2] == pytest.approx([1.0, V - 2 * c + 1], abs=1e-15)
    V, c = (1 - e) ** 2 * V + 2 * e * (1 - e) * c + 2 * e * e, 0.998 * ((1 - e) * c + e)
    assert falls[2] == pytest.approx(V - 2 * c + 1, abs=1e-15)


# --- what is committed


@pytest.fixture(scope="module")
def numbers() -> dict[str, Found]:
    return read(GALLERY / "literature.json")


def exact_at(numbers: Mapping[str, Found], key: str, line: str) -> list[float]:
    points = [point for point in numbers[key].points if point.line == line]
    return [point.exact for point in sorted(points, key=lambda point: -point.x)]


def decades(numbers: Mapping[str, Found], key: str, line: str, *powers: int) -> list[float]:
    """The curve at powers of ten."""
    [one] = [curve for curve in numbers[key].curves if curve.line == line]
    values = {round(float(np.log10(x)), 6): y for x, y in zip(one.x, one.y, strict=True)}
    return [values[power] for power in powers]


def test_each_measured_point_is_within_its_bar(numbers: Mapping[str, Found]) -> None:
    assert list(numbers) == list(EXPERIMENTS)
    for key, found in numbers.items():
        for point in found.points:
            assert abs(point.z) < BEYOND, (key, point)
    assert sum(len(found.points) for found in numbers.values()) > 70


def test_the_exact_numbers_are_those_of_an_earlier_study(numbers: Mapping[str, Found]) -> None:
    near = pytest.approx
    assert exact_at(numbers, "rate", "ε = √α") == near([0.068683, 0.021776, 0.006905, 0.002186, 0.000692], abs=6e-7)
    assert exact_at(numbers, "three-states", "ε = 0.05") == near([0.33055], abs=6e-6)
    assert exact_at(numbers, "three-states", "ε = 0.001") == near([0.30921], abs=6e-6)
    assert decades(numbers, "momentum", "heavy ball", -2, -3, -4) == near([1.8039, 1.2666, 1.0850], abs=6e-5)
    assert decades(numbers, "filter", "best step", -2, -3, -4, -5) == near(
        [0.209877, 0.064244, 0.0201, 0.00634], abs=6e-6
    )
    known = [0.107936806689, 0.015766964402, 0.002045845071, 0.000250788828]
    assert decades(numbers, "filter", "filter", -2, -3, -4, -5) == near(known, rel=1e-8)
    assert exact_at(numbers, "adaptive-step", "from 5 ε*")[:2] == near([0.1633, 0.0594], abs=6e-5)
    limit = decades(numbers, "three-states", "limit", -2, -1, 0, 1, 2)
    assert limit == near([0.00562, 0.05235, 0.30879, 0.59839, 0.65917], abs=6e-6)


def test_the_step_that_falls_loses(numbers: Mapping[str, Found]) -> None:
    falling, constant = numbers["falling-step"].curves
    last = numbers["falling-step"].points[-1]
    assert last.measured - 4.9 * last.stderr > 2 * constant.y[0]
    assert falling.y[-1] > falling.y[len(falling.y) // 2]


def test_slopes_of_the_committed_curves(numbers: Mapping[str, Found]) -> None:
    for one in numbers["rate"].curves:
        assert one.slope(1e-6, 1e-5) == pytest.approx(0.5, abs=0.01)
    jumps, walk, ramp = numbers["drift"].curves
    assert [one.slope(4e-6, 4e-5) for one in (jumps, walk, ramp)] == pytest.approx([0.5, 0.5, 1 / 3], abs=0.01)
    exact, noise, lag = numbers["slopes"].curves
    assert exact.slope(1e-3, 2e-3) < -0.9
    assert exact.slope(0.15, 0.3) > 0.9
    assert [noise.slope(1e-3, 0.3), lag.slope(1e-3, 0.3)] == pytest.approx([1.0, -1.0])


def test_the_page_in_the_repository_says_what_the_numbers_say(numbers: dict[str, Found]) -> None:
    made = sections(numbers)
    text = markdown.render(TITLE, SUBTITLE, made, None, FOLDER)
    assert (GALLERY / "literature.md").read_text(encoding="utf-8") == text
    assert sorted(path.stem for path in (GALLERY / FOLDER).glob("*.png")) == sorted(EXPERIMENTS)
