"""A run directory of version 0.1.0 (commit e853c11) opens for ever: what that version did not measure is not known."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from interpreting import interpreted

import tracker
from tracker.reports.run_view import View
from tracker.runs import CorruptRun
from tracker.runs.run_status import status_of

OLD = Path(__file__).parents[1] / "data" / "run_of_version_0.1.0"


@pytest.fixture
def run(tmp_path: Path) -> tracker.Run:
    return tracker.open_run(shutil.copytree(OLD, tmp_path / "old"))


def test_what_it_measured_is_told_as_it_was(run: tracker.Run) -> None:
    written = json.loads((OLD / "summary.json").read_text())
    assert run.summary["scenario"] == written["scenario"]
    assert run.summary["chain"]["switches"] == written["chain"]["switches"] > 0
    for row, then in zip(run.summary["samplers"], written["samplers"], strict=True):
        for key in ("name", "kind", "tracking_error", "mean_square_error", "mean", "covariance", "final", "diverged"):
            assert row[key] == then[key]


def test_what_it_did_not_measure_is_not_known(run: tracker.Run) -> None:
    for row in run.summary["samplers"]:
        assert row["excess_cost"] == {"mean": None, "stderr": None}
        recovery = row["recovery"]
        assert {key for key, value in recovery.items() if value is not None} == {"by_mode"}
        assert all(part[key] is None for part in recovery["by_mode"] for key in part if key != "mode")
    assert run.summary["cost_every"] is None
    assert "older version" in run.summary["notes"][-1]
    assert np.isnan(View(run).values("excess_cost")).all()


def test_with_its_baselines_it_is_run_again_bit_for_bit(run: tracker.Run) -> None:
    """The filter, which that version did not have, changes nothing for those beside it."""
    then = run.dataset["theta_trace"]
    for baselines in (["frozen", "oracle"], ["frozen", "oracle", "filter"]):
        again = interpreted(tracker.load(OLD / "scenario.toml", ["steps=300"]).replace(baselines=baselines))
        now = again.dataset["theta_trace"].sel(sampler=then.sampler.values)
        np.testing.assert_array_equal(now, then.values[:, :, : now.sizes["time"]])
    assert again.summary["samplers"][-1]["name"] == "filter"


def test_its_page_status_and_export_are_made(run: tracker.Run, tmp_path: Path) -> None:
    run.report(tmp_path / "page.html")
    assert "classical" in (tmp_path / "page.html").read_text()
    assert status_of(tmp_path / "old").state == "complete"
    assert set(run.dataset["waits"].dims) >= {"sampler", "trial"}


def test_who_pretends_to_be_older_is_looked_at_like_all_others(tmp_path: Path) -> None:
    folder = shutil.copytree(OLD, tmp_path / "old")
    data = bytearray((folder / "result.nc").read_bytes())
    data[len(data) // 2] ^= 1
    (folder / "result.nc").write_bytes(bytes(data))
    with pytest.raises(CorruptRun):
        tracker.open_run(folder)
