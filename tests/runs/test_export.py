"""A run for other programs: plain xarray, CSV, ArviZ."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

import arviz_stats
import numpy as np
import pytest
import xarray
from interpreting import interpreted
from typer.testing import CliRunner
from worlds import SCENARIOS

import tracker
from tracker.cli import app
from tracker.runs import netcdf, npz

TEXT = (SCENARIOS / "example_a.toml").read_text()
SHORT = ("trials=5", "steps=400", "record_every=4", "burn_in=50", "chain.alpha=0.02", 'chain.initial="stationary"')


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> tracker.Run:
    return tracker.run(tracker.parse(TEXT, settings=SHORT), tmp_path_factory.mktemp("runs") / "a", 1)


@pytest.fixture(scope="module")
def diverging() -> tracker.Run:
    """Two samplers, of which one leaves every place that matters in some trials and not in others."""
    scenario = tracker.parse(TEXT, settings=SHORT)
    wild = scenario.samplers[0].model_copy(update={"name": "wild", "epsilon": 1.15})
    found = tracker.run(scenario.replace(samplers=[scenario.samplers[0], wild]), executor=1)
    assert 0 < (found.arrays["diverged"][:, 1] >= 0).sum() < scenario.trials
    assert (found.arrays["diverged"][:, 0] < 0).all()
    return found


def table(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def invoke(*arguments: str) -> Any:
    return CliRunner().invoke(app, list(arguments))


# --- CSV


def test_the_traces_come_back_bit_for_bit(run: tracker.Run, tmp_path: Path) -> None:
    paths = run.to_csv(tmp_path / "new" / "folder")
    assert [path.name for path in paths] == ["summary.csv", "traces.csv", "chain.csv"]
    assert sorted(tmp_path.rglob("*.*")) == sorted(paths)
    rows = table(paths[1])
    names = ["skewed", "frozen", "oracle", "filter"]
    assert len(rows) == len(names) * 5 * 101
    keys = {(row["sampler"], int(row["trial"]), int(row["time"])) for row in rows}
    assert keys == {(name, trial, time) for name in names for trial in range(5) for time in range(0, 401, 4)}
    modes = [mode.name for mode in run.scenario.modes]
    for row in rows:
        place = (int(row["trial"]), names.index(row["sampler"]), int(row["time"]) // 4)
        theta = run.arrays["theta"][place]
        assert [float(row["theta[1]"]), float(row["theta[2]"])] == theta.tolist()
        assert float(row["error"]) == run.arrays["error"][place]
        assert float(row["excess_cost"]) == run.arrays["excess"][place]
        assert row["mode"] == modes[run.arrays["mode"][place[0], place[2]]]
        belief = [row[f"mode_probability[{mode}]"] for mode in modes]
        if row["sampler"] == "filter":
            assert [float(cell) for cell in belief] == run.arrays["mode_probability"][place[0], place[2]].tolist()
        else:
            assert belief == ["", ""]


def test_the_summary_as_rows(run: tracker.Run, tmp_path: Path) -> None:
    run.to_csv(tmp_path)
    for row, entry in zip(table(tmp_path / "summary.csv"), run.summary["samplers"], strict=True):
        assert row["name"] == entry["name"]
        assert row["epsilon"] == ("" if entry["epsilon"] is None else repr(entry["epsilon"]))
        assert float(row["tracking_error.stderr"]) == entry["tracking_error"]["stderr"]
        assert float(row["covariance[1][2]"]) == entry["covariance"][0][1]
        assert float(row["final.by_mode[2].mean[1]"]) == entry["final"]["by_mode"][1]["mean"][0]
    for row, dwell in zip(table(tmp_path / "chain.csv"), run.summary["chain"]["dwell"], strict=True):
        assert (row["mode"], int(row["completed"])) == (dwell["mode"], dwell["completed"])


def test_after_a_divergence_cells_are_empty(diverging: tracker.Run, tmp_path: Path) -> None:
    diverging.to_csv(tmp_path)
    end = diverging.arrays["diverged"][:, 1]
    for row in table(tmp_path / "traces.csv"):
        trial, time = int(row["trial"]), int(row["time"])
        gone = row["sampler"] == "wild" and 0 <= end[trial] < time
        assert (row["theta[1]"] == "") == gone, row


# --- ArviZ


def test_arviz_summarises_the_draws(run: tracker.Run) -> None:
    tree = run.to_arviz()
    theta = tree["posterior"]["theta"]
    assert theta.dims == ("chain", "draw", "sampler", "theta_dim")
    # k = 52, 56, ..., 396: after burn_in = 50, and before K = 400 as in every average
    np.testing.assert_array_equal(theta["step"], np.arange(52, 400, 4))
    np.testing.assert_array_equal(theta.sel(sampler="skewed"), run.arrays["theta"][:, 0, 13:100])
    np.testing.assert_array_equal(tree["sample_stats"]["mode"], run.arrays["mode"][:, 13:100])
    found = arviz_stats.summary(tree, round_to="none")
    assert list(found.index) == ["theta[skewed, 1]", "theta[skewed, 2]"]
    # versions of arviz divide the sum of squares by n or by n - 1: 1 in 2n
    draws = run.arrays["theta"][:, 0, 13:100].reshape(-1, 2)
    np.testing.assert_allclose(found["mean"], draws.mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(found["sd"], draws.std(axis=0), rtol=1 / len(draws))
    one = run.to_arviz("skewed")["posterior"]["theta"]
    assert one.dims == ("chain", "draw", "theta_dim")
    assert list(arviz_stats.summary(run.to_arviz("skewed")).index) == ["theta[1]", "theta[2]"]


def test_diverged_trials_are_no_chains(diverging: tracker.Run) -> None:
    gone = np.flatnonzero(diverging.arrays["diverged"][:, 1] >= 0)
    tree = diverging.to_arviz()
    np.testing.assert_array_equal(tree["posterior"].attrs["diverged_trials"], gone)
    np.testing.assert_array_equal(tree["posterior"]["chain"], np.setdiff1d(np.arange(5), gone))
    assert np.isfinite(tree["posterior"]["theta"]).all()
    assert diverging.to_arviz("skewed")["posterior"].sizes["chain"] == 5


def test_what_is_no_sampler_is_named(run: tracker.Run) -> None:
    with pytest.raises(ValueError, match="'oracle' is none of the samplers of example-a: skewed"):
        run.to_arviz("oracle")


# --- the command, and plain xarray


def test_the_command_writes_what_the_methods_do(run: tracker.Run, tmp_path: Path) -> None:
    assert run.path is not None
    tables, tree = tmp_path / "tables", tmp_path / "draws.nc"
    done = invoke("export", str(run.path), "--csv", str(tables), "--arviz", str(tree))
    assert done.exit_code == 0, done.stderr
    assert len(done.stdout.splitlines()) == 4
    run.to_csv(tmp_path / "own")
    for path in (tmp_path / "own").iterdir():
        assert (tables / path.name).read_bytes() == path.read_bytes()
    with xarray.open_datatree(tree, engine="h5netcdf") as found:
        np.testing.assert_array_equal(found["posterior"]["theta"], run.to_arviz()["posterior"]["theta"])
        assert "theta[skewed, 2]" in arviz_stats.summary(found).index


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        ([], 2, "give --csv DIR, --arviz FILE, or both"),
        (["--arviz", "x.nc", "--sampler", "y"], 2, "'y' is none of the samplers"),
    ],
)
def test_wrong_usage(
    run: tracker.Run, arguments: list[str], code: int, says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = invoke("export", str(run.path), *arguments)
    assert (done.exit_code, done.stdout) == (code, "")
    assert says in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_what_is_no_run_is_exit_code_7(tmp_path: Path) -> None:
    done = invoke("export", str(tmp_path), "--csv", str(tmp_path / "x"))
    assert (done.exit_code, done.stdout, len(done.stderr.splitlines())) == (7, "", 1)
    assert not (tmp_path / "x").exists()


def test_the_result_opens_in_plain_xarray_with_named_axes(run: tracker.Run) -> None:
    assert run.path is not None
    with xarray.open_dataset(run.path / "result.nc") as found:
        assert found["theta_trace"].dims == ("sampler", "trial", "time", "theta")
        chosen = found["theta_trace"].sel(sampler="skewed", trial=3, time=200, theta=2)
        assert float(chosen) == run.arrays["theta"][3, 0, 50, 1]
        assert list(found["mode_from"].values) == [mode.name for mode in run.scenario.modes]


@pytest.mark.parametrize("name", ["example_a", "example_b"])
def test_the_file_is_what_xarray_writes(name: str, tmp_path: Path) -> None:
    """Axes, coordinates, arrays, attributes and types: with text and without any, with an S that moves and without."""
    scenario = tracker.parse((SCENARIOS / f"{name}.toml").read_text(), settings=("trials=2", "steps=20"))
    run = interpreted(scenario)
    netcdf._write_netcdf(tmp_path / "ours.nc", run.labelled)
    run.dataset.to_netcdf(tmp_path / "theirs.nc", engine="h5netcdf")
    with xarray.open_dataset(tmp_path / "ours.nc") as ours, xarray.open_dataset(tmp_path / "theirs.nc") as theirs:
        xarray.testing.assert_identical(ours, theirs)
        assert dict(ours.sizes) == dict(theirs.sizes)
        assert {key: array.dtype for key, array in ours.variables.items()} == {
            key: array.dtype for key, array in theirs.variables.items()
        }


def test_a_shard_is_a_npz_file_of_its_arrays_and_nothing_else() -> None:
    """With every numpy: the reader refuses whatever else stands there, and a resume would compute everything again."""
    arrays = {"reached": np.arange(3), "theta": np.linspace(0.0, 1.0, 6).reshape(2, 3), "none": np.zeros((0, 2))}
    with np.load(io.BytesIO(npz.pack_arrays(arrays)), allow_pickle=False) as found:
        assert list(found) == list(arrays)
        for name, array in arrays.items():
            np.testing.assert_array_equal(found[name], array)
    with pytest.raises(ValueError, match="allow_pickle"):
        npz.pack_arrays({"objects": np.array([{}])})
