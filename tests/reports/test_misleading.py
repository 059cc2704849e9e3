"""What a reader must never take from a page: the nine cases M1 to M9 in which earlier pages misled."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from interpreting import interpreted
from test_sweep_page import answer, box, swept
from worlds import SCENARIOS, bowls

import tracker
from tracker.formatting import in_words
from tracker.metrics.table import METRICS, leading_metric
from tracker.reports.exhibits import densities, diagnostics, one_trial, switches, time_in_target
from tracker.reports.metrics_disagree import still_opinion
from tracker.reports.run_page import overview
from tracker.reports.run_view import View
from tracker.reports.run_vs_run import compare, page
from tracker.reports.verdict_box import verdict

STUCK = [  # so cold and so slow that it never leaves the well in which it began
    {"name": "stuck", "kind": "langevin", "epsilon": 1e-6, "beta": 1e6},
    {"name": "quick", "kind": "langevin", "epsilon": 0.2, "beta": 20.0},
]


@pytest.fixture(scope="module")
def stuck() -> View:
    """It begins inside the target of one mode: at every second switch it stands in the new target already."""
    keys = {"start": [1.0], "samplers": STUCK, "trials": 6, "steps": 400}
    chain = {"alpha": 0.05, "Q": [[-1.0, 1.0], [1.0, -1.0]], "initial": "right"}
    return View(interpreted(bowls(chain=chain, **keys)))


def test_m1_what_never_moved_has_not_recovered(stuck: View) -> None:
    recovery = {name: stuck.summary[name]["recovery"] for name in ("stuck", "quick", "frozen")}
    assert recovery["stuck"]["already"] == recovery["frozen"]["already"]
    assert 0.4 < recovery["stuck"]["already"] < 0.6
    assert recovery["stuck"]["median"] is None
    caption = switches.exhibit(stuck).caption  # type: ignore[union-attr]
    assert "half were back after these steps: quick " in caption
    assert "never in half of the cases: stuck" in caption
    assert "stuck 0" not in caption
    columns, rows, *_ = overview(stuck).table
    wait = {row[0]: row[columns.index("the others: median wait")] for row in rows}
    assert (wait["stuck"], wait["frozen"], wait["oracle"]) == ("never in half", "–", "–")
    assert str(wait["quick"]).isdigit()


def test_m2_a_page_with_labels_is_judged_by_accuracy() -> None:
    short = ["trials=5", "steps=60", "record_every=6", "chain.alpha=0.02"]
    view = View(interpreted(tracker.load(SCENARIOS / "logistic_stream.toml", short)))
    assert leading_metric(view.measured).key == "accuracy"
    assert overview(view).table.columns[1] == "accuracy"
    first = verdict(view, diagnostics.health(view)).answers[0]
    assert first.question == "How often is it right?"
    assert "% of the time" in first.in_full
    still = view.values("accuracy")[:, view.index("frozen")]
    np.testing.assert_allclose(still, 0.5, rtol=1e-12)  # identity: theta = 0 ties every row, and a tie is half right
    assert leading_metric(View(interpreted(bowls())).measured).key == "tracking_error"  # control


def test_m3_a_sampler_at_the_twin_is_drawn_at_the_minimiser() -> None:
    """theta is put on the label-swapped twin in every record: the drawn target lies on it, not on the other twin."""
    run = interpreted(tracker.load(SCENARIOS / "jumping_mixture.toml", ["trials=2", "steps=12", "record_every=2"]))
    modes = run.problem.modes
    means = np.array(run.scenario.modes[0].means)  # type: ignore[attr-defined]
    theta = np.array(run.arrays["theta"])
    for r, x in enumerate(run.arrays["mode"][0]):
        pair = means @ modes[int(x)].minimisers[0]
        theta[0, 0, r] = np.linalg.solve(means, pair[::-1])
    view = View(tracker.Run(run.scenario, run.summary, {**run.arrays, "theta": theta}, run.problem))
    path, target = one_trial.path_and_target(view, 0, view.names[0])
    np.testing.assert_allclose(path, target, atol=1e-9)
    own = np.array([means @ modes[int(x)].minimisers[0] for x in run.arrays["mode"][0]])[
        :, one_trial.drawn_measure(view)
    ]
    assert np.abs(path - own).min() > 0.1  # control: the other twin is elsewhere


def test_m4_one_mode_is_asked_for_its_law() -> None:
    one = bowls().modes[:1]
    run = interpreted(bowls(modes=one, chain=None, steps=400, trials=6))
    view = View(run)
    answers = verdict(view, diagnostics.health(view)).answers
    assert answers[0].question == "Did it find the law?"
    assert "W1 from the law" in answers[0].answer
    assert view.score.title == "error of the mean"
    assert overview(view).table.columns[1:3] == ("W1 to the law", "error of the mean")
    # the mean of the law is the minimum, -1: recomputed from the records
    points = run.arrays["theta"][:, 0, 1:, 0]
    averaged = points[:, view.averaged[1:]]
    assert view.law is not None
    np.testing.assert_allclose(view.law.mean_errors[:, 0], np.abs(averaged.mean(axis=1) + 1.0), rtol=1e-6)


def test_m5_where_the_cost_disagrees_the_verdict_says_so(stuck: View) -> None:
    assert still_opinion(stuck) == ""  # control: it is best by cost, too
    costs = stuck.values("excess_cost").copy()

    class Costly:
        """The same run, had quick cost more than standing still."""

        alive, names = stuck.alive, stuck.names
        index = staticmethod(stuck.index)

        @staticmethod
        def values(key: str) -> np.ndarray:
            assert key == "excess_cost"
            costs[:, stuck.index("quick")] = 3.0 * costs[:, stuck.index("frozen")]
            costs[:, stuck.index("stuck")] = 2.0 * costs[:, stuck.index("frozen")]
            return costs

    assert still_opinion(Costly) == "By cost standing still is best."  # type: ignore[arg-type]


def test_m6_the_law_of_a_mode_that_stays_is_called_so() -> None:
    view = View(interpreted(tracker.load(SCENARIOS / "example_a.toml", ["trials=60"])))
    shown = densities.exhibit(view)
    labels = [line.get_label() for ax in shown.figure.axes for line in ax.lines]  # type: ignore[union-attr]
    assert "if the mode stayed" in labels
    assert "exact law" not in labels


def test_m7_better_in_some_modes_rests_on_an_interval() -> None:
    """Shares that differ by 0.3 on average: by chance of few trials, or in each of them."""
    view = View(interpreted(bowls(trials=6, steps=200)))
    n, inside, steps = view.index("quick"), 4, 0
    inside, steps = (view.measured.columns.index(name) for name in ("inside", "steps"))

    def planted(left: np.ndarray, right: np.ndarray) -> View:
        sums = np.array(view.arrays["by_mode"])
        for x, share in enumerate((left, right)):
            sums[:, n, x, inside] = share * sums[:, n, x, steps]
        return View(tracker.Run(view.scenario, view.run.summary, {**view.arrays, "by_mode": sums}, view.run.problem))

    chance = np.array([0.0, 1.0, 0.0, 1.0, 1.0, 1.0])
    assert not time_in_target.differs_by_mode(planted(chance, chance[::-1] * 0.5), "quick")
    sure = np.linspace(0.85, 0.95, 6)
    assert time_in_target.differs_by_mode(planted(sure, sure - 0.3), "quick")  # control


def test_m8_a_best_step_at_the_edge_of_the_grid_is_a_warning() -> None:
    """The larger the step, the better, for one sampler in each world: its best may lie beyond, and the race is unfair to it."""
    steps = {"chain.alpha": [0.001, 0.002], "samplers.*.epsilon": [0.01, 0.02, 0.03]}

    def level(name: str, settings: dict[str, Any]) -> float:
        epsilon = next(value for key, value in settings.items() if key.endswith("epsilon"))
        inner = 1.0 + abs(epsilon - 0.02)
        return {"frozen": 2.0, "oracle": 0.0, "plain": inner, "skewed": 0.9 - epsilon}[name]

    found = box(swept(level, steps))
    (edge,) = [line for line in found.warnings if "edge of the grid" in line]
    assert edge.startswith("skewed: its best epsilon is at the edge of the grid for all 2 values of chain.alpha")
    assert answer(swept(level, steps), "Can I trust it?").mark == "with care"
    assert not any("plain" in line for line in found.warnings)  # control: its best step lies inside
    half = next(line for line in found.answers if line.question == "Did it track?").in_full
    assert (
        "surely more than half of it" in half or "more than half" not in half
    )  # said of the interval, not of the estimate


def test_m9_one_name_one_number(stuck: View) -> None:
    """The median and the restricted mean of the waits have two names, and the mean says up to where it counts."""
    assert "the others: median wait" in overview(stuck).table.columns
    assert METRICS["recovery"].label == "mean wait for the target (steps)"
    assert f"mean wait, up to {stuck.horizon} steps" in switches.exhibit(stuck).table.columns  # type: ignore[union-attr]
    other = interpreted(stuck.scenario.set("samplers.quick.epsilon", 0.1))
    text = page(stuck.run, other, compare(stuck.run, other))
    assert "median wait" not in text
    assert "mean wait for the target" in text


def test_an_outage_is_drawn_and_told() -> None:
    outage = {"interventions": [{"kind": "outage", "at": 20, "steps": 15}]}
    drawn, plain = (one_trial.exhibit(View(interpreted(bowls(**changes)))) for changes in (outage, {}))
    hatched = [
        [part for ax in one.figure.axes for part in ax.collections if part.get_hatch()]  # type: ignore[union-attr]
        for one in (drawn, plain)
    ]
    assert [len(parts) for parts in hatched] == [1, 0]
    box = hatched[0][0].get_paths()[0].get_extents()
    assert (box.x0, box.x1) == (20, 35)
    assert "Hatched: an outage" in drawn.caption  # type: ignore[union-attr]
    assert "Hatched" not in plain.caption  # type: ignore[union-attr]


def test_costs_above_that_of_standing_still_are_not_called_level(stuck: View) -> None:
    """One sampler is level with standing still and the other far above it: none beats it, and "not told from it" were false."""
    costs = stuck.values("excess_cost").copy()
    still = costs[:, stuck.index("frozen")]
    costs[:, stuck.index("stuck")] = still * np.linspace(0.8, 1.25, len(still))
    costs[:, stuck.index("quick")] = 3.0 * still

    class Planted:
        alive, names = stuck.alive, stuck.names
        index = staticmethod(stuck.index)
        values = staticmethod(lambda _: costs)

    assert still_opinion(Planted) == "By cost none is shown to beat standing still."  # type: ignore[arg-type]


def test_one_sampler_that_strays_does_not_flatten_the_others() -> None:
    """Records of one sampler are blown up: the frame of the densities and the dots of the landscape stay as they are."""
    run = interpreted(bowls(trials=6, steps=400, samplers=[*STUCK, {**STUCK[1], "name": "other"}], start=[1.0]))
    n = View(run).index("other")

    def blown_up(factor: float) -> View:
        arrays = {key: np.array(run.arrays[key]) for key in ("theta", "error", "by_mode")}
        arrays["theta"][:, n] *= factor
        arrays["error"][:, n] *= factor
        arrays["by_mode"][:, n, :, View(run).measured.columns.index("error")] *= factor
        return View(tracker.Run(run.scenario, run.summary, {**run.arrays, **arrays}, run.problem))

    plain, wild = blown_up(1.0), blown_up(1000.0)
    assert wild.plane.limits == pytest.approx(plain.plane.limits, rel=0.5)
    shown = {one: np.zeros(3) for one in ("plain", "wild")}
    for word, view in (("plain", plain), ("wild", wild)):
        found = {(name, x): densities.samples(view, name, x) for name in view.names for x in range(2)}
        shown[word] = np.array(densities._limits(view, [], found))
    assert np.ptp(shown["wild"]) < 3.0 * np.ptp(shown["plain"])


def test_a_message_has_its_powers_of_ten_written_as_everywhere() -> None:
    assert (
        in_words("still falls at epsilon = 6.15e-08, for lms-1e-3")
        == "still falls at epsilon = 6.15 × 10⁻⁸, for lms-1e-3"
    )
