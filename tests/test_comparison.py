"""Samplers against each other on a page: ratios on the side of the means, and what diverged trials leave to be said."""

from __future__ import annotations

import copy
from pathlib import Path

import numpy as np
import pytest
from test_report import ROOT, interpreted

import tracker
from tracker.metrics.paired import difference, ratio
from tracker.reports import comparison
from tracker.reports.exhibit import Exhibit
from tracker.reports.verdict import which_sampler
from tracker.reports.view import ERROR, STEPS, View

TRIALS = 12
EASY = np.arange(TRIALS) % 2 == 0
LUCK = np.random.default_rng(6).uniform(0.95, 1.05, TRIALS)
FIRST, SECOND, THIRD = "skewed", "classical", "slow"


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> tracker.Run:
    text = (ROOT / "scenarios" / "example_a.toml").read_text()
    keys = {"kind": "langevin", "epsilon": 0.05, "beta": 2.0}
    more = [{**keys, "name": name} for name in (FIRST, SECOND, THIRD)]
    settings = (f"trials={TRIALS}", "steps=120", "record_every=4", "chain.alpha=0.05", 'chain.initial="stationary"')
    out: Path = tmp_path_factory.mktemp("run") / "tiny"
    return interpreted(tracker.parse(text, settings=settings).replace(samplers=more), out)


def planted(base: tracker.Run, trials: int = TRIALS, **errors: np.ndarray | float) -> View:
    """The first trials of a run with these tracking errors; a trial whose error is nan diverged."""
    arrays = {key: v[:trials] if np.shape(v)[:1] == (TRIALS,) else v for key, v in base.arrays.items()}
    arrays = {key: np.array(value) for key, value in arrays.items()}
    summary = copy.deepcopy(dict(base.summary))
    for n, row in enumerate(summary["samplers"]):
        if row["name"] in errors:
            error = np.broadcast_to(np.asarray(errors[row["name"]], dtype=float), (trials,))
            lost = np.isnan(error)
            steps = arrays["by_mode"][:, n, :, STEPS]
            arrays["by_mode"][:, n, :, ERROR] = steps * np.where(lost, 1.0, error)[:, np.newaxis]
            arrays["diverged"][:, n] = np.where(lost, 5, -1)
            row["diverged"] = int(lost.sum())
            row["tracking_error"] = {"mean": None if lost.all() else float(np.nanmean(error)), "stderr": None}
    return View(tracker.Run(base.scenario, summary, arrays, base.problem))


def lost_but(*trials: int, count: int = TRIALS) -> np.ndarray:
    """1 in these trials, nan in the others."""
    return np.where(np.isin(np.arange(count), trials), 1.0, np.nan)


# --- the ratio says what the means say


def contradictory(base: tracker.Run) -> View:
    """The second sampler is smaller where errors are small and larger where they are large; its mean is larger."""
    first = np.where(EASY, 0.1, 1.0) * LUCK
    return planted(base, **{FIRST: first, SECOND: np.where(EASY, 0.8, 1.1) * first, THIRD: 3.0 * first})


def test_the_forest_plot_is_on_the_side_of_the_difference(base: tracker.Run) -> None:
    view = contradictory(base)
    quantity = comparison.quantities(view)[0]
    first, second = quantity.values[:, 0], quantity.values[:, 1]
    assert difference(second, first).estimate > 0.0
    assert comparison.against(view, quantity, FIRST)[SECOND].estimate == pytest.approx(second.mean() / first.mean())
    assert ratio(second, first).estimate < 1.0  # control: the geometric mean contradicts


def test_the_sampler_with_the_smallest_mean_is_judged_by_means(base: tracker.Run) -> None:
    """Against the next one its ratio is below 1; the geometric mean would be above."""
    found = which_sampler(contradictory(base))
    assert f"Against {SECOND}, the next one, its error is 0.9" in found.answer


def test_times_to_reacquire_keep_the_geometric_mean(base: tracker.Run) -> None:
    view = View(base)
    quantity = next(q for q in comparison.quantities(view) if q.is_time)
    values = quantity.values
    assert comparison.against(view, quantity, FIRST)[THIRD] == ratio(values[:, 2], values[:, 0])
    shown = comparison.exhibit(view)
    assert isinstance(shown, Exhibit)
    assert "errors and costs are ratios of the means" in shown.caption
    assert "of times geometric means" in shown.caption
