"""A metric is a function and a row: a test adds two from outside, and everybody who lists metrics knows them."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from interpreting import interpreted
from worlds import bowls

import tracker
from tracker.cli.run import print_summary
from tracker.cli.sweep import print_results, sweep_as_json
from tracker.engine.arrays import OF_SOME_WORLDS
from tracker.metrics.measured_run import MeasuredRun
from tracker.metrics.table import METRICS, Metric
from tracker.reports import run_page, run_vs_run, sampler_vs_sampler
from tracker.reports.fail_conditions import failures, parse_condition
from tracker.reports.run_view import View
from tracker.reports.sweep_page import sweep_exhibits
from tracker.runs import Sweep, axes_of, points_of
from tracker.runs.sweep_result import outcome_of_run

WORLD = bowls()
SWEPT = WORLD.replace(sweep={"chain.alpha": [0.05, 0.1]})


def largest_error(run: MeasuredRun) -> np.ndarray:
    """The metric that is added."""
    return run.arrays["error"].max(axis=2)


ADDED = Metric("largest_error", "largest error", "distance", "the largest recorded distance of a trial", largest_error)
TIME = Metric(
    "twin", "twin of recovery", "steps", "the same waits again", lambda run: run.arrays["waits"], kind="time",
    needs=("target_radius",),
)  # fmt: skip


@pytest.fixture(autouse=True)
def added(monkeypatch: pytest.MonkeyPatch) -> None:
    for metric in (ADDED, TIME):
        monkeypatch.setitem(METRICS, metric.key, metric)


@pytest.fixture(scope="module")
def runs() -> tuple[tracker.Run, tracker.Run]:
    """The same chain and noise, the second with a larger first step; summarised while the rows are there."""
    with pytest.MonkeyPatch.context() as patch:
        for metric in (ADDED, TIME):
            patch.setitem(METRICS, metric.key, metric)
        return interpreted(WORLD), interpreted(tracker.scenario.with_settings(WORLD, ["samplers.slow.epsilon=0.1"]))


@pytest.fixture(scope="module")
def sweep() -> Sweep:
    with pytest.MonkeyPatch.context() as patch:
        for metric in (ADDED, TIME):
            patch.setitem(METRICS, metric.key, metric)
        outcomes = tuple(outcome_of_run(point, interpreted(point.scenario)) for point in points_of(SWEPT))
        found = Sweep(SWEPT, axes_of(SWEPT), outcomes)
        assert "largest_error" in found.dataset
        return found


def test_the_summary_has_its_numbers(runs: tuple[tracker.Run, tracker.Run]) -> None:
    run = runs[0]
    for n, row in enumerate(run.summary["samplers"]):
        values = np.array([trial.max() for trial in run.arrays["error"][:, n]])
        assert row["largest_error"]["mean"] == pytest.approx(values.mean(), rel=1e-12)
        assert row["largest_error"]["stderr"] == pytest.approx(values.std(ddof=1) / np.sqrt(6), rel=1e-12, abs=1e-15)
        assert row["twin_mean"] == row["recovery_mean"]
        assert row["twin"] == {key: value for key, value in row["recovery"].items() if key != "stayed"}
    assert run.summary["samplers"][0]["twin"]["median"] > 0.0


def test_without_the_row_nobody_knows_it(
    monkeypatch: pytest.MonkeyPatch, runs: tuple[tracker.Run, tracker.Run]
) -> None:
    """Control."""
    monkeypatch.delitem(METRICS, "largest_error")
    assert "largest_error" not in {change.quantity for change in run_vs_run.compare(*runs)}
    assert "largest error" not in run_page.overview(View(runs[0])).table.columns
    with pytest.raises(ValueError, match="QUANTITY"):
        parse_condition("largest_error.slow > 1")


def test_compare_and_its_conditions_know_it(runs: tuple[tracker.Run, tracker.Run]) -> None:
    first, second = runs
    changes = run_vs_run.compare(first, second)
    found = {(change.sampler, change.quantity): change for change in changes}
    one, two = (run.arrays["error"][:, 0].max(axis=1) for run in runs)
    change = found["slow", "largest_error"]
    assert change.ratio.estimate == pytest.approx(two.mean() / one.mean(), rel=1e-12)
    assert change.difference.wins == int((two < one).sum())
    assert found["quick", "largest_error"].ratio[:3] == (1.0, 1.0, 1.0)  # the same sampler in both runs
    assert found["slow", "twin"].ratio == found["slow", "recovery"].ratio
    estimate = change.ratio.estimate
    assert failures(changes, [parse_condition(f"largest_error.slow > {estimate - 0.01}")]) != []
    assert failures(changes, [parse_condition(f"largest_error.slow > {estimate + 0.01}")]) == []
    page = run_vs_run.page(first, second, changes)
    assert "largest error" in page
    assert "twin of recovery" in page


def test_more_is_better_turns_the_wins(runs: tuple[tracker.Run, tracker.Run], monkeypatch: pytest.MonkeyPatch) -> None:
    by = {c.sampler: c for c in run_vs_run.compare(*runs) if c.quantity == "largest_error"}["slow"].difference
    monkeypatch.setitem(METRICS, "largest_error", ADDED._replace(smaller_is_better=False))
    turned = {c.sampler: c for c in run_vs_run.compare(*runs) if c.quantity == "largest_error"}["slow"].difference
    assert turned.wins == by.trials - by.wins
    assert turned[:3] == by[:3]


def test_the_page_knows_it(runs: tuple[tracker.Run, tracker.Run]) -> None:
    view = View(runs[0])
    columns, rows, *_ = run_page.overview(view).table
    value = view.summary["slow"]["largest_error"]["mean"]
    row = next(row for row in rows if row[0] == "slow")
    assert row[columns.index("largest error")].startswith(f"{value:.3g}")
    titles = [quantity.title for quantity in sampler_vs_sampler.quantities(view)]
    assert {"largest error", "twin of recovery, in steps"} <= set(titles)
    drawn = sampler_vs_sampler.exhibit(view).figure.axes
    assert [ax.get_title("left") for ax in drawn] == titles


def test_the_terminal_knows_it(runs: tuple[tracker.Run, tracker.Run], capsys: pytest.CaptureFixture[str]) -> None:
    print_summary(runs[0].summary, None)
    head, _, row = capsys.readouterr().out.splitlines()[2:5]
    assert "largest error" in head
    assert "twin of recovery [95 %]" in head
    assert f"{runs[0].summary['samplers'][0]['largest_error']['mean']:.3g} ±" in row


def test_a_sweep_knows_it(sweep: Sweep, capsys: pytest.CaptureFixture[str]) -> None:
    for outcome, values in zip(sweep.outcomes, sweep.dataset["largest_error"].values, strict=True):
        told = [row["largest_error"]["mean"] for row in outcome.summary["samplers"]]
        np.testing.assert_array_equal(values, told)
    assert sweep.dataset["largest_error"].attrs["long_name"] == "largest error"
    np.testing.assert_array_equal(sweep.dataset["twin_median"], sweep.dataset["recovery_median"])
    keys = [shown.key for shown in sweep_exhibits(sweep)]
    assert {"largest-error", "twin"} <= set(keys)
    print_results(sweep, "largest_error")
    assert "bowls: largest error" in capsys.readouterr().out
    assert "largest_error" in sweep_as_json(sweep, "largest_error", None)["points"][0]["samplers"][0]


def test_the_help_knows_it_and_stays_quick() -> None:
    code = (
        "import sys\n"
        "from tracker.metrics.table import METRICS, Metric\n"
        "METRICS['largest_error'] = Metric('largest_error', 'largest error', 'distance', 'x', lambda run: run.epsilon)\n"
        "from tracker.cli import app\n"
        "for command in ('sweep', 'compare'):\n"
        "    app([command, '--help'], standalone_mode=False)\n"
        "assert 'numpy' not in sys.modules\n"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.count("largest_error") == 2


@pytest.mark.parametrize("metric", METRICS.values(), ids=lambda metric: metric.key)
def test_rows_say_what_they_are(metric: Metric) -> None:
    """What the reference page prints; ``needs`` are names that a run can have."""
    assert metric.title
    assert metric.unit
    assert len(metric.meaning.split()) > 4
    arrays = {row.name for row, _ in OF_SOME_WORLDS}
    assert all(need in MeasuredRun.__dataclass_fields__ or need in arrays for need in metric.needs)
