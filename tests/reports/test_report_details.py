"""Details of a page that were wrong once: last bits, worst cases, reasons, names, what is infinite or not known."""

from __future__ import annotations

import warnings
from hashlib import sha256
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from interpreting import interpreted
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.layout_engine import LayoutEngine
from worlds import SCENARIOS, plane, scalar, shipped

import tracker
from tracker import limits, skew
from tracker.reports.exhibit import Exhibit, Listing, Omitted, Shown
from tracker.reports.exhibits import best_step, diagnostics, dwells, one_trial, provenance
from tracker.reports.figure_files import FORMATS, figure_bytes
from tracker.reports.figure_style import figure
from tracker.reports.run_view import View
from tracker.reports.verdict_box import verdict


def viewed(scenario: tracker.Scenario) -> View:
    return View(interpreted(scenario))


# --- the same bytes


class Shaken(LayoutEngine):
    """A layout whose last bits differ, as those of another process do."""

    _adjust_compatible = _colorbar_gridspec = False

    def __init__(self, by: float) -> None:
        super().__init__()
        self.by = by

    def execute(self, fig: Any) -> None:
        for ax in fig.axes:
            ax.set_position((0.1234561 + self.by, 0.2 + self.by, 0.7 - self.by, 0.7123452 + self.by))


@pytest.mark.parametrize("kind", FORMATS)
def test_last_bits_of_a_layout_do_not_show(kind: Any) -> None:
    def drawn(by: float) -> bytes:
        with figure() as fig:
            fig.subplots().plot([0.0, 1.0, 0.3], "o-")
        fig.set_layout_engine(Shaken(by))
        return figure_bytes(fig, kind)

    assert drawn(0.0) == drawn(3e-16)
    assert drawn(0.0) != drawn(1e-2)  # the control: a layout that does differ


# --- diagnostics


def test_noise_is_the_largest_over_trials_along_the_stiffest_direction() -> None:
    view = viewed(plane())
    S = [skew.from_pairs(row, 2) for row in view.arrays["final_skew"][:, view.index("drawn")]]
    M = [np.eye(2) + one for one in S]
    ratios = [0.01 * 2.0 / 2.0 * (one @ np.diag([1.0, 4.0]) @ one.T)[0, 0] for one in M]
    assert np.ptp(ratios) > 0.01  # the trials do differ
    found = diagnostics.health(view)["drawn"]
    assert found.noise == pytest.approx(max(ratios), rel=1e-12)
    assert found.median_noise == pytest.approx(np.median(ratios), rel=1e-12)
    anywhere = max(0.01 * np.linalg.eigvalsh(one @ np.diag([1.0, 4.0]) @ one.T)[-1] for one in M)
    assert found.any_noise == pytest.approx(anywhere, rel=1e-12)
    shown = diagnostics.exhibit(view, diagnostics.health(view))
    assert f"at most {max(ratios):.3g}" in shown.caption
    for ax in shown.figure.axes:
        right = ax.get_xlim()[1]
        assert all(np.max(line.get_xdata()) < right for line in ax.get_lines())


def test_the_step_is_held_against_the_limit_with_the_skew_of_the_trials() -> None:
    view = viewed(plane())
    H = np.diag([10.0, 1.0])
    S = [skew.from_pairs(row, 2) for row in view.arrays["final_skew"][:, view.index("drawn")]]
    worst = max(0.01 / skew.stability_limit(H, one) for one in S)
    found = diagnostics.health(view)
    assert found["plain"].step == pytest.approx(0.05, rel=1e-12)
    assert found["drawn"].step == pytest.approx(worst, rel=1e-12)
    assert abs(worst - 0.05) > 1e-4  # S = 0 would not do
    pairs = view.arrays["final_skew"].copy()
    pairs[0, view.index("drawn")] = 40.0  # one trial ends with a large S
    run = tracker.Run(view.scenario, view.run.summary, {**view.arrays, "final_skew": pairs}, view.run.problem)
    told = "\n".join(verdict(View(run), diagnostics.health(View(run))).warnings)
    assert "drawn: the step is beyond its mean-square stability limit" in told


def test_what_is_infinite_or_not_known_is_drawn_as_such() -> None:
    cold = [{"name": n, "kind": "langevin", "epsilon": 0.01, "beta": b} for n, b in (("cold", "inf"), ("warm", 2.0))]
    view = viewed(plane(samplers=cold))
    found = diagnostics.health(view)
    assert np.isinf(found["cold"].noise)
    shown = diagnostics.exhibit(view, {**found, "warm": diagnostics.Health(0.1, 0.1, 0.1, float("nan"))})
    assert "only noise at beta = ∞ (cold)" in shown.caption
    noise, step = shown.figure.axes
    assert [text.get_text().strip() for text in noise.texts] == ["∞"]
    assert [text.get_text() for text in step.texts] == ["not known"]
    assert noise.get_xlim()[1] < 10.0  # infinity does not set the scale


def test_an_excess_cost_does_not_rest_on_records() -> None:
    few, many = viewed(plane(record_every=30)), viewed(plane())
    assert "excess costs" not in _diagnosed(few)
    np.testing.assert_allclose(few.values("excess_cost"), many.values("excess_cost"), rtol=1e-12)


def _diagnosed(view: View) -> str:
    return diagnostics.exhibit(view, diagnostics.health(view)).caption


# --- regime


def regime_of(scenario: tracker.Scenario) -> Exhibit:
    found = best_step.exhibit(viewed(scenario))
    assert isinstance(found, Exhibit)
    figure_bytes(found.figure, "svg")
    return found


def cell(found: Exhibit, column: str) -> Any:
    return found.table.rows[0][found.table.columns.index(column)]


def test_the_exact_error_does_not_wait_for_a_best_step() -> None:
    """docs/mathematics, "Scalar closed form": 0.994516363294 at (epsilon, alpha) = (0.3, 0.3), where no step is best."""
    found = regime_of(scalar(0.3, 0.3))
    assert cell(found, "exact mean-square error") == pytest.approx(0.994516363294, rel=1e-11)
    assert cell(found, "best step") is None
    assert "a's exact stationary mean-square error is 0.995" in found.caption  # and not "A's"
    assert "there is no best step: the error still falls" in found.caption
    assert len(found.figure.axes) == 2


def test_modes_with_one_minimum_have_an_exact_error_and_no_best_step() -> None:
    modes = [
        {"name": n, "cost": "quadratic", "minimum": [0.8], "curvature": [[1.3]], "gradient_noise": [[2.0]]}
        for n in ("up", "down")
    ]
    found = regime_of(scalar(modes=modes))
    exact = 0.1 * (2.0 / 5.0 + 0.1 * 2.0) / (0.13 * (2.0 - 0.13))  # v / (e (2 - e)): an AR(1)
    assert cell(found, "exact mean-square error") == pytest.approx(exact, rel=1e-11)
    assert "there is no best step" in found.caption


def test_what_theory_does_not_cover_is_said_with_its_own_reason() -> None:
    pushed = best_step.exhibit(viewed(scalar(interventions=[{"kind": "switch", "at": 5, "to": "up"}])))
    assert isinstance(pushed, Omitted)  # a scale with one mark on it is no figure: a line tells it
    assert "No exact error and no curve: interventions: theory knows none." in pushed.reason
    assert "quadratic" not in pushed.reason
    keys = {"kind": "accelerated", "epsilon": 0.01, "beta": 2.0}
    two = plane().modes[0].model_dump() | {"name": "two", "minimum": [1.0, 0.0]}
    drawn = plane(
        modes=[plane().modes[0], two],
        chain={"alpha": 0.01, "Q": [[-1.0, 1.0], [1.0, -1.0]]},
        samplers=[{**keys, "name": "fixed", "skew": 0.5}, {**keys, "name": "drawn", "skew": "random"}],
    )
    caption = regime_of(drawn).caption
    assert "fixed's exact stationary mean-square error is" in caption
    assert 'No exact error for drawn: skew = "random" is drawn for each trial, and theory needs one S.' in caption


def test_a_step_near_the_best_one_is_not_called_the_best() -> None:
    best = limits.best_step(scalar(), "a").epsilon
    assert "no step lowers it by more than 1 %" in regime_of(scalar(1.02 * best)).caption
    assert "which would lower it by" in regime_of(scalar(2.0 * best)).caption


@pytest.mark.parametrize("ratio", [1e-5, 1.0, 9e4])
def test_labels_of_the_regimes_do_not_overlap(ratio: float) -> None:
    found = regime_of(scalar(1e-5, min(1.0, 1e-5 * ratio)))
    FigureCanvasAgg(found.figure).draw()
    boxes = [text.get_window_extent() for text in found.figure.axes[0].texts]
    assert len(boxes) == 3
    assert all(left.x1 < right.x0 for left, right in pairwise(boxes))


def test_an_eigenvalue_at_minus_one_is_no_warning() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        # epsilon h = 1: the second moment forgets everything in one step
        stationary = limits.stationary(scalar(1.0 / 1.3, 1e-9), "a")
    assert np.isfinite(stationary.radius)


# --- provenance


def test_data_files_stand_beside_the_command() -> None:
    scenario = shipped("logistic_stream")
    found = provenance.repeated_by("tracker run", scenario, [], None)
    table, command = found.items[0], found.items[1]
    assert isinstance(table, Shown)
    assert isinstance(command, Listing)
    digest = sha256((SCENARIOS / "breast_cancer.csv").read_bytes()).hexdigest()
    assert ("sha256 of breast_cancer.csv", digest) in table.table.rows
    assert command.title == "Save the scenario below as a file, save breast_cancer.csv beside it, and run it:"
    plain = provenance.repeated_by("tracker run", scalar(), [], None).items[1]
    assert isinstance(plain, Listing)
    assert plain.title == "Save the scenario below as a file and run it:"


def test_a_sampler_that_diverged_leaves_the_scale_to_the_others() -> None:
    """One trial: the rows share one scale, which a path to infinity would flatten."""
    text = (SCENARIOS / "example_a.toml").read_text()
    settings = ("trials=3", "steps=400", "record_every=4", "burn_in=0")
    samplers = [
        {"name": "good", "kind": "langevin", "epsilon": 0.05, "beta": 2.0},
        {"name": "wild", "kind": "langevin", "epsilon": 1.5, "beta": 2.0},
    ]
    run = tracker.run(tracker.parse(text, settings=settings).replace(samplers=samplers), executor=1)
    assert (run.arrays["diverged"][:, 1] >= 0).all()
    low, high = one_trial.exhibit(View(run)).figure.axes[1].get_ylim()
    assert -10 < low < high < 10


def test_a_sampler_that_is_stable_at_no_step_of_the_axis_is_left_out_of_its_height() -> None:
    """Its limit lies far below the smallest step that is drawn for another: no error of its own, and no warning."""
    samplers = [{"name": n, "kind": "langevin", "epsilon": 0.3, "beta": 5.0} for n in ("a", "never")]
    view = viewed(scalar(0.3, 0.3, samplers=samplers))
    known, _ = best_step.theories(view)
    known["never"] = known["never"]._replace(limit=1e-30, best=np.nan, least=np.nan)

    def drawn(names: tuple[str, ...]) -> Any:
        with warnings.catch_warnings(), figure() as fig:
            warnings.simplefilter("error")
            best_step._curves(fig.subplots(), view, {name: known[name] for name in names})
        return fig.axes[0]

    both = drawn(("a", "never"))
    assert both.get_ylim() == drawn(("a",)).get_ylim()
    curves = [np.asarray(line.get_ydata(), dtype=float) for line in both.lines]
    assert any(len(curve) > 2 and np.isnan(curve).all() for curve in curves)


def test_a_chain_at_another_rate_is_noticed() -> None:
    """The ages of visits are geometric at any rate: only the rate test can see it."""
    run = interpreted(scalar(alpha=0.3, trials=20, steps=200))
    view = View(run)
    counts = dwells.visits_of(view)
    assert counts is not None
    assert dwells.suspicions(view, counts) == []
    law = view.scenario.chain
    assert law is not None
    other = view.scenario.replace(chain={"alpha": 0.15, "Q": law.Q})
    told = dwells.suspicions(View(tracker.Run(other, run.summary, run.arrays, run.problem)), counts)
    assert [text.split(" (p")[0] for text in told] == [
        f"{mode} is not left as often as alpha and Q say" for mode in ("up", "down")
    ]


def test_noise_of_a_sampler_that_adapts_it_is_held_against_what_it_injects() -> None:
    """sigma stands still at 0.5: a quarter of the injected variance, so four times the ratio of the plain sampler."""
    still = {"kind": "tempered", "epsilon": 0.01, "beta": 2.0, "noise_step": 1e-12, "noise_bounds": [0.1, 1.0]}
    samplers = [{"name": "plain", "kind": "langevin", "epsilon": 0.01, "beta": 2.0}]
    view = viewed(plane(samplers=[*samplers, {"name": "half", **still, "noise_start": 0.5}]))
    found = diagnostics.health(view)
    assert found["half"].noise == pytest.approx(4.0 * found["plain"].noise, rel=1e-9)
    assert found["half"].any_noise == pytest.approx(4.0 * found["plain"].any_noise, rel=1e-9)
    assert "with S" not in diagnostics.exhibit(view, found).caption  # no sampler has one
