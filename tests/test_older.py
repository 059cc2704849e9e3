"""A run of the version that measured the cost at the records and pooled the waits: it opens, and what it lacks is not known."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from interpreting import interpreted

import tracker
from tracker.reports.view import View
from tracker.runs.netcdf import read_result
from tracker.runs.older import completed, is_older, with_all_keys
from tracker.runs.summary import RECOVERY, tracking_errors

TEXT = (Path(__file__).parents[1] / "scenarios" / "example_a.toml").read_text()


def test_an_older_result_is_read_and_what_it_lacks_is_not_known(tmp_path: Path) -> None:
    run = interpreted(tracker.parse(TEXT, settings=("trials=5", "steps=60", "record_every=10", "chain.alpha=0.05")))
    old = run.dataset.drop_vars("stays").isel(sum=slice(0, 4))
    old["waits"] = run.dataset["waits"].sum("mode_to")
    old.to_netcdf(tmp_path / "result.nc", engine="h5netcdf")
    arrays = read_result(tmp_path / "result.nc")
    assert is_older(arrays)
    assert not is_older(run.arrays)
    np.testing.assert_array_equal(arrays["waits"], run.arrays["waits"].sum(axis=2))
    whole = completed(arrays, run.problem)
    assert {name: array.shape for name, array in whole.items()} == {n: a.shape for n, a in run.arrays.items()}
    np.testing.assert_array_equal(tracking_errors(whole), tracking_errors(run.arrays))
    rows = [
        {**row, "recovery": {"median": 3.0, "low": 2.0, "high": 4.0, "censored": 0.1}}
        for row in run.summary["samplers"]
    ]
    summary = with_all_keys({**run.summary, "samplers": rows})
    found = summary["samplers"][0]["recovery"]
    assert tuple(found) == RECOVERY
    assert found["median"] == 3.0
    assert found["already"] is found["mean"] is found["by_mode"] is None
    assert "older version" in summary["notes"][0]
    opened = tracker.Run(run.scenario, summary, whole, run.problem)
    assert np.isnan(View(opened).excess_cost).all()
    opened.report(tmp_path / "page.html")
    assert opened.dataset["waits"].shape == run.dataset["waits"].shape
