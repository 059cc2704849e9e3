"""Numbers on a page against hand computation: bands, terms of an error, what a choice among several allows to be said."""

from __future__ import annotations

import copy
import math
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from interpreting import interpreted
from matplotlib.container import ErrorbarContainer
from test_sweep_page import ALPHA, LUCK, swept

import tracker
from studies.paper import figures as paper_figures
from tracker.chain import DwellCounts
from tracker.convergence.verdict import Observable
from tracker.formatting import percent, percent_with_interval
from tracker.reports import limit_page
from tracker.reports.best_of_sweep import contests
from tracker.reports.exhibit import Exhibit
from tracker.reports.exhibits import (
    best_step,
    dwells,
    error_over_time,
    running_mean,
    skew_path,
    switches,
    time_in_target,
)
from tracker.reports.figure_style import figure
from tracker.reports.run_view import View
from tracker.reports.sweep_verdict import did_it_track as sweep_did_it_track
from tracker.reports.verdict_box import did_it_track, which_sampler
from tracker.runs.summary import ERROR, INSIDE, STEPS

IDENTITY = 1e-12
TABLE = 1e-9  # digits of the quantiles below, of numbers of order 1 and their differences
# of Student's law, by degrees of freedom and by the probability above: from any table
STUDENT = {4: 2.776445105, 5: 2.570581836}
STUDENT_11 = {0.05 / 2: 2.200985160, 0.05 / 4: 2.593092683, 0.05 / 6: 2.820033700}
STUDENT_19 = {0.05 / 2: 2.093024054, 0.05 / 6: 2.625105913, 0.05 / 12: 2.943895153}
TRIALS = 6
LOST = 2  # of the first sampler: the trial that diverged
LEFT = np.arange(TRIALS) != LOST


@pytest.fixture(scope="module")
def base() -> tracker.Run:
    """Two bowls with switches, three samplers of which one moves its S."""
    text = """
        name = "bowls"
        seed = 3
        trials = 6
        steps = 120
        record_every = 4
        start = [0.0, 0.0]
        chain = { alpha = 0.05, Q = [[-1.0, 1.0], [1.0, -1.0]] }
        modes = [
            { name = "up", cost = "quadratic", minimum = [1.0, 1.0], curvature = [[4.0, 1.0], [1.0, 2.0]] },
            { name = "down", cost = "quadratic", minimum = [-1.0, -1.0], curvature = [[4.0, 1.0], [1.0, 2.0]] },
        ]
        samplers = [
            { name = "a", kind = "langevin", epsilon = 0.05, beta = 2.0 },
            { name = "b", kind = "wandering", epsilon = 0.05, beta = 2.0, skew = 0.1, skew_step = 0.2, skew_bounds = [-0.5, 0.5] },
            { name = "c", kind = "langevin", epsilon = 0.05, beta = 2.0 },
        ]
    """
    return interpreted(tracker.parse(text))


def altered(run: tracker.Run, **changes: Any) -> View:
    """The run with other arrays."""
    return View(tracker.Run(run.scenario, run.summary, {**run.arrays, **changes}, run.problem))


def without_one(run: tracker.Run) -> View:
    """The first sampler diverged in one trial."""
    diverged = run.arrays["diverged"].copy()
    diverged[LOST, 0] = 5
    return altered(run, diverged=diverged)


def bars(axes: Any) -> list[np.ndarray]:
    """The ends of all error bars, (points, 2 ends, 2 coordinates) each."""
    found = [c for c in axes.containers if isinstance(c, ErrorbarContainer)]
    return [np.array(one.lines[2][0].get_segments()) for one in found]


def band(axes: Any, n: int, x: np.ndarray) -> np.ndarray:
    """The lower and the upper end of the n-th band at each x, shape (2, points)."""
    corners = axes.collections[n].get_paths()[0].vertices
    return np.array([[pick(corners[corners[:, 0] == one, 1]) for one in x] for pick in (np.min, np.max)])


def by_hand(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean over the first axis and its standard error, by loops over the trials."""
    count = len(values)
    mean = sum(values) / count
    return mean, np.sqrt(sum((one - mean) ** 2 for one in values) / (count - 1) / count)


def per_step_by_hand(sums: np.ndarray, steps: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The ratio of two sums over trials that all have steps, and its standard error by the delta method."""
    count, mean = len(sums), sum(sums) / sum(steps)
    residual = [(one - mean * n) ** 2 for one, n in zip(sums, steps, strict=True)]
    return mean, np.sqrt(sum(residual) * count / (count - 1)) / sum(steps)


# --- bands and bars


def ends_of(mean: np.ndarray, reach: np.ndarray) -> list[np.ndarray]:
    """Of positive numbers: Student's lower end, not below 0, and the upper end on the scale of the logarithm."""
    return [np.maximum(mean - reach, 0.0), mean * np.exp(reach / mean)]


def ends_of_share(mean: float, reach: float) -> list[float]:
    """Of shares: Student's or those on the scale of the logit, whichever reach further, within 0 and 1."""
    logit, wide = math.log(mean / (1 - mean)), reach / (mean * (1 - mean))
    low, high = (1 / (1 + math.exp(-(logit + sign * wide))) for sign in (-1, 1))
    return [max(0.0, min(low, mean - reach)), min(1.0, max(high, mean + reach))]


def test_the_bars_of_the_right_basin_are_students(base: tracker.Run) -> None:
    """Five trials of the first sampler count, so four degrees of freedom; six of the others."""
    view = without_one(base)
    shown = time_in_target.exhibit(view)
    assert isinstance(shown, Exhibit)
    drawn = bars(shown.figure.axes[0])
    assert len(drawn) == 2
    for n, kept in ((0, LEFT), (1, LEFT | True)):
        sums = base.arrays["by_mode"][kept, n]
        assert (sums[..., STEPS] > 0).all()  # every trial was in both modes
        mean, stderr = per_step_by_hand(sums[..., INSIDE], sums[..., STEPS])
        for x in range(2):
            reach = STUDENT[kept.sum() - 1] * stderr[x]
            np.testing.assert_allclose(drawn[x][n][:, 0], ends_of_share(mean[x], reach), rtol=TABLE, atol=TABLE)


def test_the_bars_of_many_modes_are_students(base: tracker.Run) -> None:
    view = without_one(base)
    shares = {name: time_in_target.by_mode(view, name) for name in view.names}
    drawn = bars(time_in_target._lines(view, shares).axes[0])
    sums = base.arrays["by_mode"][LEFT, 0]
    mean, stderr = per_step_by_hand(sums[..., INSIDE], sums[..., STEPS])
    ends = np.array([ends_of_share(m, STUDENT[4] * s) for m, s in zip(mean, stderr, strict=True)])
    np.testing.assert_allclose(drawn[0][..., 1], ends, rtol=TABLE, atol=TABLE)


def test_the_bands_after_a_switch_are_students_and_need_ten_visits(base: tracker.Run) -> None:
    """Planted sums: each trial has visits of its own at every age, and at the third age only nine visits in all."""
    view = without_one(base)
    edges = view.age_edges
    rng, width = np.random.default_rng(7), np.diff(edges)
    sums = base.arrays["by_age"].copy()
    visits = rng.integers(3, 9, sums.shape[:3]) + 0.0
    visits[:, 0, 2] = [2, 2, 99, 2, 2, 1]  # the trial with 99 diverged
    visits[:, 1:, 2] = [[2], [2], [1], [2], [2], [1]]  # ten
    sums[..., STEPS] = visits * width
    sums[..., ERROR] = sums[..., STEPS] * rng.uniform(0.5, 1.5, sums.shape[:3])
    view = altered(view.run, by_age=sums)
    shown = switches.exhibit(view)
    assert isinstance(shown, Exhibit)
    axes = shown.figure.axes[0]
    lines = [np.asarray(line.get_ydata()) for line in axes.get_lines()]
    assert np.flatnonzero(np.isnan(lines[0])).tolist() == [2]
    assert not np.isnan(lines[1]).any()  # control: ten are enough
    for n, kept in ((0, LEFT), (1, LEFT | True)):
        mean, stderr = per_step_by_hand(sums[kept, n, :, ERROR], sums[kept, n, :, STEPS])
        some = ~np.isnan(lines[n])
        np.testing.assert_allclose(lines[n][some], mean[some], rtol=IDENTITY)
        reach = STUDENT[kept.sum() - 1] * stderr
        x = np.asarray(axes.get_lines()[n].get_xdata())[some]
        np.testing.assert_allclose(band(axes, n, x), ends_of(mean[some], reach[some]), rtol=TABLE, atol=TABLE)


@pytest.mark.parametrize(("row", "quantity"), [(0, "error"), (1, "excess")])
def test_the_bands_over_time_are_students(base: tracker.Run, row: int, quantity: str) -> None:
    """31 records in 25 stretches: each is the mean of its records, then over trials."""
    view = without_one(base)
    shown = error_over_time.exhibit(view)
    assert isinstance(shown, Exhibit)
    axes = shown.figure.axes[row]
    first = [int(31 * n / 25) for n in range(25)] + [31]
    for n, kept in ((0, LEFT), (1, LEFT | True)):
        trace = base.arrays[quantity][kept, n]
        stretches = np.stack([trace[:, i:j].mean(axis=1) for i, j in pairwise(first)], axis=1)
        mean, stderr = by_hand(stretches)
        reach = STUDENT[kept.sum() - 1] * stderr
        np.testing.assert_allclose(axes.get_lines()[n].get_ydata(), mean, rtol=IDENTITY)
        middle = np.asarray(axes.get_lines()[n].get_xdata())
        np.testing.assert_allclose(band(axes, n, middle), ends_of(mean, reach), rtol=TABLE, atol=TABLE)
    if quantity == "error":
        told = [float(part) for part in str(shown.table.rows[-1][2]).split(" ± ")]  # the second sampler, at the end
        np.testing.assert_allclose(told, [mean[-1], stderr[-1]], atol=0.06 * stderr[-1])  # two digits of the error


def test_the_band_of_s_is_students(base: tracker.Run) -> None:
    shown = skew_path.exhibit(View(base))
    assert isinstance(shown, Exhibit)
    axes = shown.figure.axes[0]
    last = np.abs(base.arrays["skew"][:, 0, 29:31, 0]).mean(axis=1)  # the last stretch; N = 2 has one entry S(2, 1)
    mean, stderr = by_hand(last)
    assert stderr > 0.01
    x = np.asarray(axes.get_lines()[0].get_xdata())[-1:]
    ends = [[end] for end in ends_of(mean, STUDENT[5] * stderr)]
    np.testing.assert_allclose(band(axes, 0, x), ends, rtol=TABLE, atol=TABLE)


def test_the_band_of_the_running_mean_is_students() -> None:
    """One bowl about (0.5, 0): at the end the running mean is the mean of all records, and the law's mean the minimum."""
    text = """
        name = "bowl"
        seed = 3
        trials = 6
        steps = 40
        start = [0.0, 0.0]
        modes = [{ name = "bowl", cost = "quadratic", minimum = [0.5, 0.0], curvature = [[4.0, 0.0], [0.0, 2.0]] }]
        samplers = [{ name = "a", kind = "langevin", epsilon = 0.05, beta = 2.0 }]
    """
    run = interpreted(tracker.parse(text))
    shown = running_mean.exhibit(View(run))
    assert isinstance(shown, Exhibit)
    axes = shown.figure.axes[0]
    away = [math.dist(trace.mean(axis=0), (0.5, 0.0)) for trace in run.arrays["theta"][:, 0]]
    mean, stderr = by_hand(np.array(away))
    x = np.asarray(axes.get_lines()[0].get_xdata())[-1:]
    ends = [[end] for end in ends_of(mean, STUDENT[5] * stderr)]
    np.testing.assert_allclose(band(axes, 0, x), ends, rtol=1e-6)  # the mean of the law is a quadrature


# --- regime


@pytest.fixture(scope="module")
def simple() -> tracker.Run:
    """h = 1.3, minima at +-0.8, beta = 5, gradient noise 2, q = 0.7, epsilon = 0.1, alpha = 0.05."""
    text = """
        name = "scalar"
        seed = 1
        trials = 6
        steps = 60
        record_every = 1
        start = [0.0]
        chain = { alpha = 0.05, Q = [[-0.7, 0.7], [0.7, -0.7]] }
        modes = [
            { name = "up", cost = "quadratic", minimum = [0.8], curvature = [[1.3]], gradient_noise = [[2.0]] },
            { name = "down", cost = "quadratic", minimum = [-0.8], curvature = [[1.3]], gradient_noise = [[2.0]] },
        ]
        samplers = [{ name = "a", kind = "langevin", epsilon = 0.1, beta = 5.0 }]
    """
    return interpreted(tracker.parse(text))


def regime_of(view: View) -> Exhibit:
    found = best_step.exhibit(view)
    assert isinstance(found, Exhibit)
    return found


def test_the_terms_of_the_error_are_those_of_the_scalar_example(simple: tracker.Run) -> None:
    """One mode alone is an AR(1) of variance (2/beta + epsilon sigma^2) / (h (2 - epsilon h)), which is in powers of epsilon

        1/(beta h) + epsilon/(2 beta) + epsilon sigma^2/(2 h) + ...

    A switch, alpha q in a step, moves the minimum by 2 d = 1.6, which theta makes good by the factor 1 - epsilon h in a step:
    alpha q (2 d)^2 / (2 epsilon h) to leading order.
    """  # fmt: skip
    epsilon, alpha, h, d, beta, noise, q = 0.1, 0.05, 1.3, 0.8, 5.0, 2.0, 0.7
    found = regime_of(View(simple))
    row = dict(zip(found.table.columns, found.table.rows[0], strict=True))
    wanted = {
        "floor": 1 / (beta * h),
        "discretisation": epsilon / (2 * beta),
        "gradient noise": epsilon * noise / (2 * h),
        "lag": alpha / epsilon * 2 * q * d**2 / h,
    }
    for name, value in wanted.items():
        assert row[name] == pytest.approx(value, rel=1e-9), name  # solved by linear algebra
    assert row["higher order"] == pytest.approx(row["exact mean-square error"] - sum(wanted.values()), rel=1e-9)


def test_the_bar_of_the_measured_error_is_students(simple: tracker.Run) -> None:
    """From the recorded points, of which every step has one: step K is not averaged. One trial diverged."""
    diverged = simple.arrays["diverged"].copy()
    diverged[LOST] = 5
    minimum = np.where(simple.arrays["mode"] == 0, 0.8, -0.8)
    squares = ((simple.arrays["theta"][:, 0, :, 0] - minimum) ** 2)[LEFT, :-1].mean(axis=1)
    mean, stderr = by_hand(squares)
    summary = copy.deepcopy(dict(simple.summary))
    summary["samplers"][0]["mean_square_error"] = {"mean": float(mean), "stderr": float(stderr)}
    changed = tracker.Run(simple.scenario, summary, {**simple.arrays, "diverged": diverged}, simple.problem)
    (ends,) = bars(regime_of(View(changed)).figure.axes[1])
    reach = STUDENT[4] * stderr
    low, high = ends_of(mean, reach)
    np.testing.assert_allclose(ends[0], [[0.1, low], [0.1, high]], rtol=TABLE, atol=TABLE)


@pytest.mark.parametrize(("burn_in", "told"), [(0, True), (23, True), (24, False)])
def test_three_relaxation_times_come_before_averages(simple: tracker.Run, burn_in: int, *, told: bool) -> None:
    """1 / (epsilon h) = 7.69 steps: three of them end at 23.08."""
    scenario = simple.scenario.replace(burn_in=burn_in)
    caption = regime_of(View(tracker.Run(scenario, simple.summary, simple.arrays, simple.problem))).caption
    note = f"(averages begin at step {burn_in}, before the 23 steps that stationarity takes)"
    assert (note in caption) == told
    assert ("averages begin" in caption) == told


# --- choices: Bonferroni

TWELVE = np.resize([1.0, -1.0], 12)  # mean 0, standard error 1 / sqrt 11


def chosen(base: tracker.Run, sigmas: float, spread: float = 0.1) -> View:
    """12 trials, errors 1 of b, 3 of c; a is better than b by ``sigmas`` standard errors of the logarithm of their ratio."""
    errors = {"b": np.ones(12), "c": np.full(12, 3.0), "frozen": np.full(12, 2.0), "oracle": np.zeros(12)}
    errors["a"] = math.exp(-sigmas * spread / math.sqrt(11)) * (1.0 + spread * TWELVE)
    arrays = {key: np.concatenate([value, value]) for key, value in base.arrays.items()}
    summary = copy.deepcopy(dict(base.summary))
    for n, row in enumerate(summary["samplers"]):
        error = errors[row["name"]]
        arrays["by_mode"][:, n, :, ERROR] = arrays["by_mode"][:, n, :, STEPS] * error[:, np.newaxis]
        row["tracking_error"] = {"mean": float(error.mean()), "stderr": None}
    return View(tracker.Run(base.scenario, summary, arrays, base.problem))


@pytest.mark.parametrize(("sigmas", "mark"), [(2.3, "undecided"), (2.7, "a")])
def test_the_best_of_three_is_told_with_two_comparisons(base: tracker.Run, sigmas: float, mark: str) -> None:
    """2.3 standard errors would do for one comparison (2.20), not for two (2.59); 2.7 do, though not for all three pairs (2.82)."""
    found = which_sampler(chosen(base, sigmas))
    assert found.mark == mark
    centre, reach = -sigmas * 0.1 / math.sqrt(11), STUDENT_11[0.05 / 4] * 0.1 / math.sqrt(11)
    ends = [1.0 - math.exp(centre + sign * reach) for sign in (1, -1)]
    assert percent_with_interval(1.0 - math.exp(centre), *ends).partition(" (")[2] in found.in_full


def test_the_gap_that_the_best_of_three_closes_has_an_interval_for_three(base: tracker.Run) -> None:
    """Error m (1 + s u) of 2 for standing still: the gap left is m / 2, of which the logarithm has standard error s / sqrt 11."""
    found = did_it_track(chosen(base, 3.0, spread=0.4))
    m = math.exp(-3.0 * 0.4 / math.sqrt(11))
    told = [1 - m / 2 * math.exp(sign * STUDENT_11[0.05 / 6] * 0.4 / math.sqrt(11)) for sign in (1, -1)]
    assert f"({100 * told[0]:.0f} to {100 * told[1]:.0f} %)" in found.answer
    assert "the 95 % interval over trials, widened for the choice among 3 samplers." in found.in_full
    narrow = 1 - m / 2 * math.exp(STUDENT_11[0.05 / 2] * 0.4 / math.sqrt(11))
    assert percent(narrow) != percent(told[0])  # control: the interval of one comparison reads otherwise


def test_a_sampler_alone_was_not_chosen(base: tracker.Run) -> None:
    view = chosen(base, 3.0)
    diverged = view.arrays["diverged"].copy()
    diverged[:, 1:3] = 5
    answer = did_it_track(altered(view.run, diverged=diverged)).in_full
    assert "95 % interval" in answer
    assert "widened" not in answer


TWENTY = np.resize([1.0, -1.0], 20)  # mean 0, standard error 1 / sqrt 19


@pytest.mark.parametrize(("sigmas", "decided"), [(2.4, False), (2.8, True)])
def test_a_sweep_allows_for_one_comparison_in_each_of_three_worlds(sigmas: float, *, decided: bool) -> None:
    """Two candidates in each: three comparisons (2.63), where one alone would need 2.09."""
    m, s = math.exp(-sigmas * 0.1 / math.sqrt(19)), 0.1 / math.sqrt(19)
    own = {"skewed": m * (1.0 + 0.1 * TWENTY), "plain": 1.0, "frozen": 2.0, "oracle": 0.0}
    found = contests(swept(lambda name, _: own[name] / LUCK, ALPHA))
    assert len(found) == 3
    for contest in found:
        ((_, pair),) = contest.against
        assert pair.high == pytest.approx(m * math.exp(STUDENT_19[0.05 / 6] * s), rel=TABLE)
        assert (not contest.level) == decided
        # the best was chosen among two in each world: six intervals hold at once
        assert contest.gap is not None
        assert contest.gap.low == pytest.approx(1 - m / 2 * math.exp(STUDENT_19[0.05 / 12] * s), rel=TABLE)
    answer = sweep_did_it_track(found)
    assert answer is not None
    assert "widened for the choice among 6" in answer.in_full


# --- what waits and visits are held against


def test_the_horizon_is_the_mean_time_between_switches(base: tracker.Run) -> None:
    """6 trials of 120 steps with 30 switches make 36 stays of 20 steps; without a switch a stay is the whole run."""
    for count, horizon in ((30, 20), (0, 120), (10**6, 1)):
        each = np.full(6, count // 6) + (np.arange(6) < count % 6)
        assert altered(base, switches=each).horizon == horizon


def test_visits_survive_each_step_of_a_bin() -> None:
    """Hazards 1/4 in a bin of one step, 1/6 in one of two, 1/10 in one of four; the last bin that is used has no end."""
    edges = np.array([1, 2, 4, 8])
    at_risk, exits = np.array([[40, 60, 100, 7]]), np.array([[10, 10, 10, 2]])
    counts = DwellCounts(edges, np.zeros((1, 1), int), np.zeros(1, int), exits, at_risk)
    ages, alive = dwells.survival_of_dwells(counts, 0)
    assert ages.tolist() == [1, 3, 7]
    wanted = [3 / 4, 3 / 4 * (5 / 6) ** 2, 3 / 4 * (5 / 6) ** 2 * (9 / 10) ** 4]
    np.testing.assert_allclose(alive, wanted, rtol=IDENTITY)


# --- other pages


def test_the_intervals_of_the_papers_page_are_students() -> None:
    """Errors 1, 2, 3, 4, 5 and one trial lost: mean 3, standard error sqrt(2.5 / 5)."""
    sample = np.array([1.0, np.nan, 2.0, 3.0, 4.0, 5.0])
    drawn = paper_figures.intervals(["classical"], [sample], "", None, log=False)
    reach = STUDENT[4] * math.sqrt(0.5)
    np.testing.assert_allclose(bars(drawn.axes[0])[0][0, :, 0], [3 - reach, 3 + reach], rtol=TABLE)


def test_the_bars_of_a_limit_check_are_students_and_stop_above_0() -> None:
    """Standard errors 0.01 and 1 of five trials: the second bar reaches below 0, where a logarithmic axis has no place."""
    seen = Observable("E[theta]", 0.0, (0.5, 0.2), (0.01, 1.0), (0.5, -0.2), error_stderr=(0.01, 1.0))
    with figure() as drawn:
        limit_page._draw(drawn.subplots(), 0, seen, np.array([0.2, 0.1]), 5)
    ends = bars(drawn.axes[0])[0][..., 1]
    wanted = [[0.5 - 0.01 * STUDENT[4], 0.5 + 0.01 * STUDENT[4]], [0.001 * 0.2, 0.2 + STUDENT[4]]]
    np.testing.assert_allclose(ends, wanted, rtol=1e-8)  # digits of the table, after a difference
