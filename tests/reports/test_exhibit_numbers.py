"""What the exhibits of a page say, number by number: the arrays of a run are made up, and all is taken from them again by loops.

Where a trial diverged its numbers are huge: a mean that it enters is seen at once.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from interpreting import interpreted
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import StepPatch
from scipy.special import ndtr, ndtri

import tracker
from tracker.formatting import number, percent
from tracker.reports.exhibit import Exhibit, Omitted
from tracker.reports.exhibits import best_step, densities, error_over_time, switches, time_in_target
from tracker.reports.run_view import View
from tracker.runs.summary import summarise

IDENTITY = 1e-12  # relative: sums of the same numbers in another order
TABULATED = 1e-5  # Gibbs' law is tabulated in steps of 0.004 standard deviations: its area is off by about 1e-6
BETA = 2.0
MODES, NAMES = ("left", "right"), ("plain", "skewed", "frozen", "oracle")
MINIMUM = np.array([[-1.0, 0.0], [3.0, 0.0]])
CURVATURE = np.array([[1.0, 2.0], [4.0, 1.0]])  # the diagonals
NOISE = np.array([[0.6, 1.1], [2.0, 3.0]])  # the same, of the gradient's covariance
EPSILON = {"plain": 0.1, "skewed": 0.05}
ALPHA, Q = 0.002, np.array([[-0.7, 0.7], [0.3, -0.3]])
STATIONARY = (0.3, 0.7)  # pi Q = 0
SKEW = 0.4
TRIALS, STEPS, BURN_IN = 4, 99, 10  # every step is recorded: 100 records, 25 stretches of 4
SWITCHES = 2  # of each trial: 4 x 99 steps in 8 + 4 visits of 33 steps
HORIZON = 33
LOST = {"plain": 1, "skewed": 2}  # the trial that diverged
SAMPLERS, FROZEN, ORACLE = ("plain", "skewed"), "frozen", "oracle"

SCENARIO = tracker.parse(f"""
    name = "by-hand"
    seed = 1
    trials = {TRIALS}
    steps = {STEPS}
    record_every = 1
    burn_in = {BURN_IN}
    start = [0.0, 0.0]
    chain = {{ alpha = {ALPHA}, Q = {Q.tolist()} }}
    baselines = ["frozen", "oracle"]
    samplers = [
        {{ name = "plain", kind = "langevin", epsilon = {EPSILON["plain"]}, beta = {BETA} }},
        {{ name = "skewed", kind = "accelerated", epsilon = {EPSILON["skewed"]}, beta = {BETA}, skew = {SKEW} }},
    ]
    [[modes]]
    name = "left"
    cost = "quadratic"
    minimum = {MINIMUM[0].tolist()}
    curvature = {np.diag(CURVATURE[0]).tolist()}
    gradient_noise = {np.diag(NOISE[0]).tolist()}
    [[modes]]
    name = "right"
    cost = "quadratic"
    minimum = {MINIMUM[1].tolist()}
    curvature = {np.diag(CURVATURE[1]).tolist()}
    gradient_noise = {np.diag(NOISE[1]).tolist()}
""")


def made_up(scenario: tracker.Scenario) -> View:
    """A run whose arrays are random numbers without any law in common; only their shapes are those of a true run."""
    true = interpreted(scenario)
    rng = np.random.default_rng(1)
    arrays = {name: array.copy() for name, array in true.arrays.items()}
    T, S, X = arrays["by_mode"].shape[:3]
    records = np.arange(STEPS + 1)
    arrays["switches"][:] = SWITCHES
    for t in range(T):
        arrays["mode"][t] = records // (7 + t) % X
    for name in ("error", "excess"):
        arrays[name] = rng.uniform(0.5, 1.5, arrays[name].shape) + np.arange(S)[:, np.newaxis]
        arrays[name] += 0.01 * records  # no two stretches alike
    centres = np.array([mode.minimisers[0] for mode in true.problem.modes])[arrays["mode"]]
    arrays["theta"] = rng.normal(centres[:, np.newaxis] + 0.2 * np.arange(S)[:, np.newaxis, np.newaxis], 0.4)
    arrays["by_mode"] = made_up_sums(rng, rng.integers(20, 60, (T, S, X)))
    width = np.diff(View(true).age_edges)
    arrays["by_age"] = made_up_sums(rng, width * rng.integers(20, 40, (T, S, width.size)))
    arrays["waits"][:] = 0
    arrays["waits"][:, :, :, :64] = rng.integers(0, 3, (T, S, X, 64, 2))  # up to 63 steps a bin is one number
    arrays["waits"][:, :, :, 60:, 1] = 0  # the last wait ends at 63
    for name, t in LOST.items():
        n = NAMES.index(name)
        arrays["diverged"][t, n] = 60
        for each in ("error", "excess", "theta"):
            arrays[each][t, n] = 1e6
            arrays[each][t, n, 61:] = np.nan
        for each in ("by_mode", "by_age"):
            arrays[each][t, n, ..., 1:] = 1e6
        arrays["waits"][t, n] = 0
        arrays["waits"][t, n, :, 0, 0] = 1000
    summary = summarise(true.problem, arrays, np.ones(S))
    return View(tracker.Run(true.scenario, summary, arrays, true.problem))


def made_up_sums(rng: np.random.Generator, steps: np.ndarray) -> np.ndarray:
    """Steps, error, squared error, steps inside, and measured costs: shares and means that have nothing to do with each other."""
    shares = [rng.uniform(low, high, steps.shape) for low, high in ((1.0, 2.0), (5.0, 9.0), (0.1, 0.9))]
    measured = steps // 4
    excess, right = (rng.uniform(low, high, steps.shape) for low, high in ((2.0, 3.0), (0.2, 0.8)))
    sums = [steps, *(share * steps for share in shares), measured, excess * measured, right * measured]
    return np.stack(sums, axis=-1)


@pytest.fixture(scope="module")
def view() -> View:
    return made_up(SCENARIO)


def kept(name: str) -> list[int]:
    return [t for t in range(TRIALS) if t != LOST.get(name)]


def shown(found: Exhibit | Omitted) -> Exhibit:
    assert isinstance(found, Exhibit)
    return found


def rows(found: Exhibit) -> list[dict[str, Any]]:
    return [dict(zip(found.table.columns, row, strict=True)) for row in found.table.rows]


def labelled(ax: Axes) -> dict[str, Line2D]:
    return {str(line.get_label()): line for line in ax.get_lines()}


def data(line: Line2D) -> tuple[np.ndarray, np.ndarray]:
    return np.asarray(line.get_xdata(), dtype=float), np.asarray(line.get_ydata(), dtype=float)


# --- the error over time


def stretches(trace: np.ndarray, name: str) -> list[float]:
    """Means over the trials that did not diverge and over records 4 b, ..., 4 b + 3."""
    n = NAMES.index(name)
    return [float(np.mean([trace[t, n, k] for t in kept(name) for k in range(4 * b, 4 * b + 4)])) for b in range(25)]


@pytest.mark.parametrize(("panel", "quantity"), [(0, "error"), (1, "excess")])
def test_the_curves_over_time_are_the_means_of_their_stretches(view: View, panel: int, quantity: str) -> None:
    ax = shown(error_over_time.exhibit(view)).figure.axes[panel]
    found = labelled(ax)
    assert tuple(found) == NAMES
    for name, line in found.items():
        at, height = data(line)
        np.testing.assert_array_equal(at, [4 * b + 1.5 for b in range(25)])  # the middle of steps 4 b and 4 b + 3
        np.testing.assert_allclose(height, stretches(view.arrays[quantity], name), rtol=IDENTITY)


def test_the_table_over_time_stands_at_the_steps_that_it_names(view: View) -> None:
    found = rows(shown(error_over_time.exhibit(view)))
    at = [row["around step (± standard errors)"] for row in found]
    places = [(int(step) - 2) // 4 for step in at]  # 1.5, 5.5, ... are rounded to 2, 6, ...
    assert at == [str(4 * b + 2) for b in places]
    assert (places[0], places[-1], len(places)) == (0, 24, 10)
    for name in NAMES:
        wanted = stretches(view.arrays["error"], name)
        means = [float(str(row[name]).partition(" ± ")[0]) for row in found]
        assert means == pytest.approx(
            [wanted[b] for b in places], rel=2e-2
        )  # as it is written, to the place of its error


def test_the_caption_over_time_is_about_the_second_half(view: View) -> None:
    late = {name: number(float(np.mean(stretches(view.arrays["error"], name)[12:]))) for name in NAMES}
    caption = shown(error_over_time.exhibit(view)).caption
    assert f"from {late['plain']} (plain) to {late['skewed']} (skewed)" in caption
    assert f"against {late['frozen']} for standing still and {late['oracle']} for knowing the mode" in caption


# --- the law of each mode


def recorded(view: View, name: str, x: int) -> np.ndarray:
    """The first coordinate at steps 10, ..., 98 in mode x: not before the burn-in, and not theta_K."""
    n, mode, theta = NAMES.index(name), view.arrays["mode"], view.arrays["theta"]
    return np.array([theta[t, n, k, 0] for t in kept(name) for k in range(BURN_IN, STEPS) if mode[t, k] == x])


def distance_to_gaussian(sample: np.ndarray, mean: float, deviation: float) -> float:
    """W1 by quantiles: the integral of |F_n^-1 - F^-1| over (0, 1), in closed form on each ((i - 1)/n, i/n)."""

    def phi(u: np.ndarray) -> np.ndarray:  # the integral of the normal quantile from u to 1
        return np.asarray(np.exp(-(ndtri(u) ** 2) / 2) / math.sqrt(2 * math.pi))

    z = (np.sort(sample) - mean) / deviation
    u = np.arange(z.size + 1) / z.size
    cross = np.clip(ndtr(z), u[:-1], u[1:])
    above = z * (cross - u[:-1]) - (phi(u[:-1]) - phi(cross))
    below = z * (u[1:] - cross) - (phi(cross) - phi(u[1:]))
    return deviation * float((above - below).sum())


def test_distance_to_gaussian_by_hand() -> None:
    """One point at the mean: E|Z| = sqrt(2 / pi). One far away: the distance of the means."""
    assert distance_to_gaussian(np.array([3.0]), 3.0, 0.5) == pytest.approx(0.5 * math.sqrt(2 / math.pi), rel=IDENTITY)
    assert distance_to_gaussian(np.array([30.0]), 3.0, 0.5) == pytest.approx(27.0, rel=IDENTITY)


def test_each_mode_is_held_against_its_own_gibbs_law(view: View) -> None:
    found = {(row["sampler"], row["mode"]): row for row in rows(shown(densities.exhibit(view)))}
    assert list(found) == [(name, mode) for name in NAMES for mode in MODES]
    worst = dict.fromkeys(("plain", "skewed"), 0.0)
    for (name, mode), row in found.items():
        x = MODES.index(mode)
        sample = recorded(view, name, x)
        wanted = distance_to_gaussian(sample, MINIMUM[x, 0], 1 / math.sqrt(BETA * CURVATURE[x, 0]))
        other = distance_to_gaussian(sample, MINIMUM[1 - x, 0], 1 / math.sqrt(BETA * CURVATURE[1 - x, 0]))
        assert row["W1 to Gibbs"] == pytest.approx(wanted, abs=TABULATED)
        assert abs(wanted - other) > 1  # control: the law of the other mode is far away
        assert row["points"] == sample.size
        assert row["mean"] == pytest.approx(sample.mean(), rel=IDENTITY)
        assert row["standard deviation"] == pytest.approx(sample.std(), rel=1e-9)  # a difference of squares
        if name in worst:
            worst[name] = max(worst[name], wanted)
    caption = shown(densities.exhibit(view)).caption
    assert caption.startswith(
        f"W1 from Gibbs' law of the mode, in its worst mode: {number(worst['plain'])} for plain (a perfect"
    )
    assert f", {number(worst['skewed'])} for skewed (a perfect sample of its " in caption


def gaussian(at: np.ndarray, mean: float, variance: float) -> np.ndarray:
    return np.asarray(np.exp(-((at - mean) ** 2) / (2 * variance)) / math.sqrt(2 * math.pi * variance))


@pytest.mark.parametrize("x", [0, 1])
def test_each_panel_draws_the_points_and_the_laws_of_its_mode(view: View, x: int) -> None:
    ax = shown(densities.exhibit(view)).figure.axes[x]
    assert ax.get_title(loc="left") == f"while {MODES[x]} holds"
    bars = {str(patch.get_label()): patch for patch in ax.patches if isinstance(patch, StepPatch)}
    assert set(bars) == {"plain", "skewed"}
    for name, patch in bars.items():
        height, edges, _ = patch.get_data()
        sample = recorded(view, name, x)
        counts = [((low <= sample) & (sample < high)).sum() for low, high in pairwise(edges)]
        np.testing.assert_allclose(height, counts / (sample.size * np.diff(edges)), rtol=1e-9)  # widths by rounding
        assert sum(counts) > 0.9 * sample.size
    (shaded,) = ax.collections
    outline = np.asarray(shaded.get_paths()[0].vertices)
    outline = outline[outline[:, 1] > 0]
    law = gaussian(outline[:, 0], MINIMUM[x, 0], 1 / (BETA * CURVATURE[x, 0]))
    np.testing.assert_allclose(outline[:, 1], law, rtol=1e-9)
    # of plain, in a mode that stays: v = (1 - e h)^2 v + 2 e / beta + e^2 s
    e, h, s = EPSILON["plain"], CURVATURE[x, 0], NOISE[x, 0]
    at, height = data(labelled(ax)["if the mode stayed"])
    variance = (2 * e / BETA + e**2 * s) / (1 - (1 - e * h) ** 2)
    np.testing.assert_allclose(height, gaussian(at, MINIMUM[x, 0], variance), rtol=1e-9)
    assert at.size > 100


# --- the right basin


def share_inside(view: View, name: str, x: int) -> float:
    sums, n = view.arrays["by_mode"], NAMES.index(name)
    return float(sum(sums[t, n, x, 3] for t in kept(name)) / sum(sums[t, n, x, 0] for t in kept(name)))


def test_shares_inside_stand_under_their_mode(view: View) -> None:
    found = shown(time_in_target.exhibit(view))
    sums, overall = view.arrays["by_mode"], {}
    assert [row["sampler"] for row in rows(found)] == list(NAMES)
    for n, row in enumerate(rows(found)):
        name = NAMES[n]
        each = [sum(sums[t, n, x, 3] for x in (0, 1)) / sum(sums[t, n, x, 0] for x in (0, 1)) for t in kept(name)]
        overall[name] = float(np.mean(each))
        assert row["all modes"] == pytest.approx(overall[name], rel=IDENTITY)
        for x, mode in enumerate(MODES):
            assert row[mode] == pytest.approx(share_inside(view, name, x), rel=IDENTITY)
        assert abs(row["left"] - row["right"]) > 1e-3  # control: the modes differ
    best, worst = sorted(("plain", "skewed"), key=lambda name: -overall[name])
    assert f"{best} spends {percent(overall[best])} of its time" in found.caption
    assert f", {worst} {percent(overall[worst])}, standing still {percent(overall['frozen'])}" in found.caption


def test_dots_of_a_mode_are_its_shares(view: View) -> None:
    (ax,) = shown(time_in_target.exhibit(view)).figure.axes
    dots = {str(bars.get_label()): bars.lines[0] for bars in ax.containers}
    assert tuple(dots) == MODES
    assert [text.get_text() for text in ax.get_yticklabels()] == list(NAMES)
    for x, mode in enumerate(MODES):
        share, row = data(dots[mode])
        np.testing.assert_allclose(share, [share_inside(view, name, x) for name in NAMES], rtol=IDENTITY)
        np.testing.assert_array_equal(np.round(row), range(len(NAMES)))  # beside the name


def test_many_modes_are_drawn_in_their_order() -> None:
    modes = [
        {"name": f"m{x}", "cost": "quadratic", "minimum": [x, 0.0], "curvature": [[1.0, 0.0], [0.0, 1.0]]}
        for x in range(9)
    ]
    view = made_up(SCENARIO.replace(chain=None, modes=modes, schedule={"switches": [[0, "m0"], [50, "m8"]]}))
    found = shown(time_in_target.exhibit(view))
    (ax,) = found.figure.axes
    lines = {str(bars.get_label()): bars.lines[0] for bars in ax.containers}
    assert tuple(lines) == NAMES
    for name, row in zip(NAMES, rows(found), strict=True):
        wanted = [share_inside(view, name, x) for x in range(9)]
        at, share = data(lines[name])
        np.testing.assert_array_equal(at, range(9))
        np.testing.assert_allclose(share, wanted, rtol=IDENTITY)
        assert [row[f"m{x}"] for x in range(9)] == pytest.approx(wanted, rel=IDENTITY)
    ticks = {round(at): text.get_text() for at, text in zip(ax.get_xticks(), ax.get_xticklabels(), strict=True)}
    assert ticks == {x: f"m{x}" for x in ticks}


# --- after a switch


def still_waiting(counts: np.ndarray) -> list[float]:
    """P(wait > n) for n = 0, ..., 63 by Kaplan and Meier: each wait that ends takes its share of those still at risk.

    Counts (X, bins, 2): of each mode by itself, and the modes mixed by their numbers of waits.
    """
    found = np.zeros(64)
    for mode in counts:
        left, alive = int(mode.sum()), 1.0
        weight = left / counts.sum()
        for n, (ended, censored) in enumerate(mode[:64]):
            alive *= 1.0 - ended / left if left else 1.0
            left -= int(ended + censored)
            found[n] += weight * alive
    return found.tolist()


def pooled(view: View, name: str) -> np.ndarray:
    """All waits but those of 0 steps that ended: it was inside already."""
    counts = np.sum([view.arrays["waits"][t, NAMES.index(name)] for t in kept(name)], axis=0)
    counts[:, 0, 0] = 0
    return counts


def test_the_error_after_a_switch_is_the_error_and_not_its_square(view: View) -> None:
    ax = shown(switches.exhibit(view)).figure.axes[0]
    sums, edges = view.arrays["by_age"], view.age_edges
    found = labelled(ax)
    assert tuple(found) == NAMES
    # geometric middles of the first and the last age of a bin; age 0 is drawn at 0.8
    middle = [math.sqrt(max(edges[b], 0.8) * max(edges[b + 1] - 1, 0.8)) for b in range(len(edges) - 1)]
    for n, (name, line) in enumerate(found.items()):
        steps, error = (
            np.sum([sums[t, n, :, column] for t in kept(name)], axis=0) for column in (0, 1)
        )  # over trials, each with the weight of its steps
        at, height = data(line)
        np.testing.assert_allclose(at, middle, rtol=IDENTITY)
        np.testing.assert_allclose(height, error / steps, rtol=IDENTITY)
        assert (height < 2).all()  # control: the squares were made up as 5 and more


def test_the_share_back_inside_grows_from_the_switch_on(view: View) -> None:
    errors, arrivals = shown(switches.exhibit(view)).figure.axes
    *curves, half = (line for line in arrivals.get_lines() if len(data(line)[0]) > 1)
    dots = [(float(at[0]), float(share[0])) for at, share in map(data, arrivals.get_lines()) if len(at) == 1]
    assert dots == [(view.summary[name]["recovery"]["median"], 0.5) for name in SAMPLERS]
    assert data(half)[1].tolist() == [0.5, 0.5]
    own = errors.get_lines()[: len(SAMPLERS)]  # the baselines have no waits
    assert [line.get_color() for line in curves] == [line.get_color() for line in own]
    assert [line.get_linestyle() for line in curves] == [line.get_linestyle() for line in own]
    for name, line in zip(SAMPLERS, curves, strict=True):
        at, share = data(line)
        back = [1.0 - alive for alive in still_waiting(pooled(view, name))]
        assert line.get_drawstyle() == "steps-post"
        assert at.tolist() == [0.8, *range(1, 64), 64]  # age 0, then each step; the last level is held for one more
        np.testing.assert_allclose(share, [*back, back[-1]], rtol=IDENTITY)
        assert share[0] < 0.1
        assert share[-1] > 0.9
        assert (np.diff(share) >= 0).all()


def test_the_table_after_a_switch(view: View) -> None:
    found = {(row["sampler"], row["new mode"]): row for row in rows(shown(switches.exhibit(view)))}
    assert [name for name, mode in found if mode == "all"] == list(NAMES)
    for name in SAMPLERS:
        waits, row = pooled(view, name), found[name, "all"]
        assert row["median wait"] == next(n for n, share in enumerate(still_waiting(waits)) if share <= 0.5)
        assert row["cut short"] == pytest.approx(waits[..., 1].sum() / waits.sum(), rel=IDENTITY)
        assert row["other switches"] == waits.sum()
        for x, mode in enumerate(view.mode_names):
            one = found[name, mode]
            assert one["median wait"] == next(n for n, s in enumerate(still_waiting(waits[[x]])) if s <= 0.5)
            assert one["other switches"] == waits[x].sum()
    assert found[FROZEN, "all"]["median wait"] is None
    assert found[ORACLE, "all"]["other switches"] is None


def test_waits_are_restricted_to_the_mean_time_between_switches(view: View) -> None:
    """E min(W, 33) is the sum of P(W > n) over n < 33, of all waits; 4 x 99 steps hold 8 + 4 visits of 33 steps."""

    def wanted(name: str, horizon: int) -> float:
        return sum(still_waiting(pooled(view, name))[:horizon])

    assert view.horizon == HORIZON
    for row in rows(shown(switches.exhibit(view))):
        if row["sampler"] not in SAMPLERS or row["new mode"] != "all":
            continue
        mean = row[f"mean wait, up to {HORIZON} steps"]
        assert mean == pytest.approx(wanted(row["sampler"], HORIZON), rel=IDENTITY)
        assert mean < HORIZON
        assert wanted(row["sampler"], 64) > mean + 0.5  # control: a longer horizon would show


# --- the budget of the error


def lyapunov(A: np.ndarray, R: np.ndarray) -> np.ndarray:
    """Solve A Y + Y A' = R as four equations in four unknowns."""
    eye = np.eye(2)
    return np.asarray(np.linalg.solve(np.kron(A, eye) + np.kron(eye, A), R.ravel()).reshape(2, 2))


def budget(name: str, covariance: Callable[[int, np.ndarray, np.ndarray], np.ndarray]) -> float:
    """Epsilon times the mean over modes of tr Y, A Y + Y A' = R with A = M H and R as told.

    docs/mathematics, "Expansion of the error".
    """
    S = {"plain": 0.0, "skewed": SKEW}[name] * np.array([[0.0, -1.0], [1.0, 0.0]])  # of either sign: the trace is equal
    M, total = np.eye(2) + S, 0.0
    for x, share in enumerate(STATIONARY):
        A = M @ np.diag(CURVATURE[x])
        total += share * float(np.trace(lyapunov(A, covariance(x, M, A))))
    return EPSILON[name] * total


def test_the_budget_of_the_error_by_hand(view: View) -> None:
    found = shown(best_step.exhibit(view))
    sums = view.arrays["by_mode"]
    table = {row["sampler"]: row for row in rows(found)}
    assert tuple(table) == NAMES
    for n, name in enumerate(("plain", "skewed")):
        row = table[name]
        noise = budget(name, lambda x, M, _: M @ np.diag(NOISE[x]) @ M.T)
        step = budget(name, lambda x, _, A: A @ np.diag(1 / (BETA * CURVATURE[x])) @ A.T)
        assert row["floor"] == pytest.approx(
            sum(share * (1 / (BETA * CURVATURE[x])).sum() for x, share in enumerate(STATIONARY)), rel=IDENTITY
        )
        assert row["gradient noise"] == pytest.approx(noise, rel=1e-9)  # two solvers
        assert row["discretisation"] == pytest.approx(step, rel=1e-9)
        assert noise > 1.5 * step  # control: they differ
        assert row["α/ε"] == pytest.approx(ALPHA / EPSILON[name], rel=IDENTITY)
        each = [sum(sums[t, n, x, 2] for x in (0, 1)) / sum(sums[t, n, x, 0] for x in (0, 1)) for t in kept(name)]
        assert row["measured"] == pytest.approx(np.mean(each), rel=IDENTITY)
        assert f"+ discretisation {number(step)} + gradient noise {number(noise)} +" in found.caption
    # without a skew the coordinates are apart: 2 h y = s, and 2 h y = h / beta
    apart = sum(share * (NOISE[x] / (2 * CURVATURE[x])).sum() for x, share in enumerate(STATIONARY))
    assert table["plain"]["gradient noise"] == pytest.approx(EPSILON["plain"] * apart, rel=1e-9)
    assert table["plain"]["discretisation"] == pytest.approx(EPSILON["plain"] * 2 / (2 * BETA), rel=1e-9)
