"""A run from outside: its directory, its summary, the command, and what the numbers must satisfy whatever the law."""

from __future__ import annotations

import json
import shutil
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray
from interpreting import interpreted
from typer.testing import CliRunner
from worlds import SCENARIOS

import tracker
from tracker.cli import app
from tracker.engine.arrays import ARRAYS
from tracker.runs import CorruptRun, RunExists, atomic_files, netcdf, open_run, run_trials
from tracker.runs.sealed_json import open_sealed, seal
from tracker.scenario import toml_text, with_settings

# compiled; test_shipped_scenarios runs all of them in the interpreter
SHIPPED = [SCENARIOS / f"{name}.toml" for name in ("example_a", "swapping_wells")]
TEXT = (SCENARIOS / "example_a.toml").read_text()
SHORT = ("trials=6", "steps=400", "record_every=20", "burn_in=50", "chain.alpha=0.02", 'chain.initial="stationary"')
SCENARIO = tracker.parse(TEXT, settings=SHORT)
SWITCHES = 3 * len(SCENARIO.modes)  # at least as many in 6 x 400 steps with this seed

# docs/architecture, "What a run leaves", lists the tables; these are their keys.
AVERAGE = {"mean", "stderr"}
SUMMARY = {
    "": {"format", "scenario", "chain", "regime", "samplers", "claims", "cost_every", "ladder", "notes", "hash"},
    "scenario": {"name", "sha256", "seed", "trials", "steps"},
    "chain": {"alpha", "modes", "stationary", "switches", "dwell"},
    "dwell": {"mode", "completed", "censored", "mean", "expected", "p_value", "rate_p_value"},
    "regime": {"sampler", "ratio", "class"},
    "sampler": {
        "name", "kind", "epsilon", "beta", "tracking_error", "mean_square_error", "excess_cost", "recovery", "mean",
        "covariance", "final", "diverged", "evaluations", "steps_per_second", "detection", "path_length", "regret",
    },
    "recovery": {"already", "median", "low", "high", "censored", "mean", "stayed", "switches", "by_mode"},
    "final": {"mean", "second", "by_mode"},
    "by_mode": {"mode", "probability", "mean", "second"},
    "evaluations": {"gradient", "cost", "hessian"},
}  # fmt: skip
ADDED = {
    "sampler": {
        "inside_target", "first_divergence", "resets", "recovery_mean", "step_over_limit", "observations", "effective_step",
    },
}  # fmt: skip


def rows(run: tracker.Run) -> dict[str, Any]:
    return {row["name"]: row for row in run.summary["samplers"]}


def keys_as_designed(table: dict[str, Any], name: str) -> None:
    assert set(table) == SUMMARY[name] | ADDED.get(name, set()), name


def check_summary(run: tracker.Run) -> None:
    """What holds for every run."""
    summary, scenario = run.summary, run.scenario
    N, X = scenario.dimension, len(scenario.modes)
    keys_as_designed(summary, "")
    keys_as_designed(summary["scenario"], "scenario")
    keys_as_designed(summary["chain"], "chain")
    assert len(summary["chain"]["dwell"]) == (X if scenario.chain is not None else 0)
    for dwell in summary["chain"]["dwell"]:
        keys_as_designed(dwell, "dwell")
    names = [sampler.name for sampler in scenario.samplers]
    assert [row["sampler"] for row in summary["regime"]] == (names if scenario.chain is not None else [])
    for row in summary["regime"]:
        keys_as_designed(row, "regime")
    assert [row["name"] for row in summary["samplers"]] == [*names, *scenario.baselines]
    assert scenario.baselines in (("frozen", "oracle"), ("frozen", "oracle", "filter"))
    assert len(summary["notes"]) == ("filter" not in scenario.baselines)
    assert {row["rung"] for row in summary["ladder"]} == set(scenario.baselines)
    for row in summary["samplers"]:
        keys_as_designed(row, "sampler")
        keys_as_designed(row["recovery"], "recovery")
        keys_as_designed(row["evaluations"], "evaluations")
        for average in ("tracking_error", "mean_square_error", "excess_cost"):
            assert set(row[average]) == AVERAGE
        assert np.shape(row["mean"]) == (N,)
        assert np.shape(row["covariance"]) == (N, N)
        if row["diverged"] < scenario.trials:
            keys_as_designed(row["final"], "final")
            assert [part["mode"] for part in row["final"]["by_mode"]] == [mode.name for mode in scenario.modes]
            for part in row["final"]["by_mode"]:
                keys_as_designed(part, "by_mode")
            assert row["tracking_error"]["mean"] ** 2 <= row["mean_square_error"]["mean"] * (1 + 1e-12)
            assert row["excess_cost"]["mean"] >= -1e-9
    for name in ("frozen", "oracle"):
        row = rows(run)[name]
        assert (row["kind"], row["epsilon"], row["beta"], row["diverged"]) == (name, None, None, 0)
        assert set(row["evaluations"].values()) == {0}
    oracle = rows(run)["oracle"]
    for average in ("tracking_error", "mean_square_error"):
        assert oracle[average]["mean"] == pytest.approx(0.0, abs=1e-12)
    assert oracle["excess_cost"]["mean"] == pytest.approx(0.0, abs=1e-9)
    theta = run.arrays["theta"][:, names.index(names[-1]) + 1]
    assert (theta == theta[:, :1]).all(), "the frozen one moves"
    assert len(summary["hash"]) == 64


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> tracker.Run:
    """A run of a file, unchanged but small, in a directory."""
    text = SCENARIO.toml() + "# the last line, verbatim: ± 1\n"
    return tracker.run(tracker.parse(text), tmp_path_factory.mktemp("runs") / "new" / "folder", 2)


def listing(path: Path) -> list[str]:
    return sorted(str(p.relative_to(path)) for p in path.rglob("*"))


# --- the directory


def test_a_directory_holds_the_run_and_nothing_else(finished: tracker.Run) -> None:
    path = finished.path
    assert path is not None
    assert listing(path) == ["manifest.json", "result.nc", "scenario.toml", "summary.json"]
    assert (path / "scenario.toml").read_text(encoding="utf-8") == finished.scenario.source
    manifest = json.loads((path / "manifest.json").read_text())
    assert manifest["complete"] is True
    assert manifest["seed"] == SCENARIO.seed
    assert manifest["scenario_sha256"] == finished.scenario.sha256 == finished.summary["scenario"]["sha256"]
    assert manifest["versions"]["tracker"] == tracker.__version__
    assert {"numpy", "scipy", "numba", "simpy"} < set(manifest["versions"])


def test_summary_on_disk_is_the_summary(finished: tracker.Run) -> None:
    assert finished.path is not None
    assert json.loads((finished.path / "summary.json").read_text()) == finished.summary
    check_summary(finished)
    assert finished.summary["chain"]["switches"] >= SWITCHES


def test_the_result_opens_with_xarray(finished: tracker.Run) -> None:
    assert finished.path is not None
    with xarray.open_dataset(finished.path / "result.nc", engine="h5netcdf") as found:
        found.load()
    assert {"sampler": 4, "trial": 6, "time": 21, "theta": 2}.items() <= dict(found.sizes).items()
    assert list(found.sampler.values) == ["skewed", "frozen", "oracle", "filter"]
    assert found.theta_trace.dims == ("sampler", "trial", "time", "theta")
    assert list(found.time.values) == list(range(0, 401, 20))
    np.testing.assert_array_equal(found.theta_trace.sel(sampler="skewed"), finished.arrays["theta"][:, 0])
    for row in ARRAYS.values():
        variable = found["theta_trace" if row.name == "theta" else row.name].transpose(*row.axes)
        np.testing.assert_array_equal(variable.values, finished.arrays[row.name], err_msg=row.name)


def test_the_result_says_what_its_numbers_refer_to(finished: tracker.Run) -> None:
    assert finished.path is not None
    with xarray.open_dataset(finished.path / "result.nc", engine="h5netcdf") as found:
        found.load()
    assert found.attrs["format"] == 1
    assert found.theta_trace.attrs == {"units": "theta", "long_name": "iterates"}
    for i, mode in enumerate(finished.problem.modes):
        np.testing.assert_array_equal(found.minimisers.values[i, : len(mode.minimisers)], mode.minimisers)
        assert found.floor.values[i] == mode.floor
    np.testing.assert_array_equal(found.origin, finished.problem.origin)


def test_a_run_is_opened_without_a_search_for_minimisers(
    finished: tracker.Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert finished.path is not None
    monkeypatch.setattr("tracker.scenario.builders.global_minimisers", pytest.fail)
    again = open_run(finished.path)
    for mode, before in zip(again.problem.modes, finished.problem.modes, strict=True):
        for name in ("minimisers", "targets", "radius2", "floor", "relaxation"):
            np.testing.assert_array_equal(getattr(mode, name), getattr(before, name), err_msg=name)


def test_a_later_format_is_refused_by_name(finished: tracker.Run, tmp_path: Path) -> None:
    assert finished.path is not None
    shutil.copytree(finished.path, tmp_path / "run")
    file = tmp_path / "run" / "manifest.json"
    table = open_sealed(file.read_bytes(), "manifest", indent=2)
    file.write_bytes(seal({**table, "format": 2, "something": "new"}, "manifest", indent=2))
    by_name = "manifest.json: it has format 2, and this program reads formats up to 1"
    with pytest.raises(CorruptRun, match=by_name):
        open_run(tmp_path / "run")
    before = {path: path.read_bytes() for path in (tmp_path / "run").iterdir() if path.is_file()}
    for how in ({}, {"replace": True}, {"resume": True}):
        with pytest.raises(CorruptRun, match=by_name):
            tracker.run(finished.scenario, tmp_path / "run", 1, **how)
    assert {path: path.read_bytes() for path in (tmp_path / "run").iterdir() if path.is_file()} == before
    (tmp_path / "sweep").mkdir()
    file.rename(tmp_path / "sweep" / "sweep.json")
    swept = finished.scenario.replace(sweep={"seed": [1, 2]})
    for how in ({}, {"replace": True}, {"resume": True}):
        with pytest.raises(CorruptRun, match=r"sweep\.json: it has format 2"):
            tracker.sweep(swept, tmp_path / "sweep", 1, **how)


def identical(one: tracker.Run, other: tracker.Run) -> None:
    assert list(one.arrays) == list(other.arrays)
    for name, array in one.arrays.items():
        again = other.arrays[name]
        assert (array.dtype, array.shape, array.tobytes()) == (again.dtype, again.shape, again.tobytes()), name
    assert one.summary == other.summary
    assert one.scenario == other.scenario
    assert one.scenario.sha256 == other.scenario.sha256
    assert one.path == other.path


def test_a_run_is_read_back_bit_for_bit(finished: tracker.Run, tmp_path: Path) -> None:
    assert finished.path is not None
    identical(open_run(finished.path), finished)
    assert open_run(finished.path).dataset.identical(finished.dataset)
    # nan of any bits, where trials diverged; a scenario that was changed since it was read
    diverged = tracker.run(diverging(trials=3, steps=300), tmp_path / "run", 1)
    assert np.isnan(diverged.arrays["final"]).any() or (diverged.arrays["diverged"] >= 0).any()
    identical(open_run(tmp_path / "run"), diverged)


def test_a_run_that_is_not_whole_is_not_opened(finished: tracker.Run, tmp_path: Path) -> None:
    assert finished.path is not None

    def reason(name: str, change: Callable[[bytes], bytes | None]) -> str:
        folder = tmp_path / str(len(list(tmp_path.iterdir())))
        shutil.copytree(finished.path, folder)
        data = change((folder / name).read_bytes())
        (folder / name).unlink()
        if data is not None:
            (folder / name).write_bytes(data)
        with pytest.raises(CorruptRun) as refused:
            open_run(folder)
        return refused.value.reason

    for name in ("manifest.json", "summary.json", "result.nc", "scenario.toml"):
        assert name in reason(name, lambda _: None)
        assert name in reason(name, lambda data: data[: len(data) // 2])
    assert "manifest.json" in reason("manifest.json", lambda data: data.replace(b"true", b"false"))
    with pytest.raises(CorruptRun, match="there is nothing, not the directory of a run"):
        open_run(tmp_path / "nowhere")


def test_a_run_in_memory_is_the_same(finished: tracker.Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    run = tracker.run(finished.scenario, executor=1)
    assert run.path is None
    assert run.summary["hash"] == finished.summary["hash"]
    assert listing(tmp_path) == []
    assert run.dataset.identical(finished.dataset)


def test_a_changed_scenario_is_written_so_that_it_can_be_run_again(tmp_path: Path) -> None:
    changed = SCENARIO.replace(trials=2, steps=40, burn_in=0, description='quotes " and \\ and ±')
    run = tracker.run(changed, tmp_path / "run", 1)
    again = tracker.load(tmp_path / "run" / "scenario.toml")
    assert tracker.run(again, executor=1).summary["hash"] == run.summary["hash"]


def test_an_existing_directory_is_refused_and_replaced_only_if_it_is_a_run(tmp_path: Path) -> None:
    small = SCENARIO.replace(trials=2, steps=40, burn_in=0)
    run = tracker.run(small, tmp_path / "run", 1)
    before = (tmp_path / "run" / "manifest.json").read_bytes()
    with pytest.raises(RunExists, match="run exists already"):
        tracker.run(small, tmp_path / "run", 1)
    assert (tmp_path / "run" / "manifest.json").read_bytes() == before
    other = tracker.run(small.replace(seed=9), tmp_path / "run", 1, replace=True)
    assert other.summary["hash"] != run.summary["hash"]
    assert json.loads((tmp_path / "run" / "summary.json").read_text())["hash"] == other.summary["hash"]

    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.tex").write_text("years of work")
    (tmp_path / "file").write_text("a file")
    for name in ("mine", "file"):
        for replace in (False, True):
            with pytest.raises(RunExists):
                tracker.run(small, tmp_path / name, 1, replace=replace)
    assert (tmp_path / "mine" / "thesis.tex").read_text() == "years of work"
    assert (tmp_path / "file").read_text() == "a file"
    (tmp_path / "empty").mkdir()
    assert tracker.run(small, tmp_path / "empty", 1).path == tmp_path / "empty"


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), ValueError("planted"), KeyboardInterrupt()])
def test_a_half_written_result_never_gets_its_name(
    error: BaseException, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def half(path: Path, _: Any) -> None:
        path.write_bytes(b"half of a file")
        raise error

    monkeypatch.setattr(netcdf, "_write_netcdf", half)
    with pytest.raises(type(error)):
        tracker.run(SCENARIO, tmp_path / "run", 1)
    left = listing(tmp_path / "run")
    assert not {"result.nc", "summary.json"} & set(left)
    assert not [name for name in left if name.endswith(".tmp")]
    assert json.loads((tmp_path / "run" / "manifest.json").read_text())["complete"] is False


@pytest.mark.parametrize("error", [OSError(5, "Input/output error"), KeyboardInterrupt()])
def test_a_file_is_old_or_new_but_never_half(
    error: BaseException, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    atomic_files.write_file(tmp_path / "x", b"old")

    def fails(_: int) -> None:
        raise error

    monkeypatch.setattr(atomic_files.os, "fsync", fails)
    with pytest.raises(type(error)):
        atomic_files.write_file(tmp_path / "x", b"new")
    assert (tmp_path / "x").read_bytes() == b"old"
    assert listing(tmp_path) == ["x"]


def test_a_scenario_that_cannot_be_prepared_takes_nothing_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small = SCENARIO.replace(trials=2, steps=40, burn_in=0)
    run = tracker.run(small, tmp_path / "run", 1)

    def cannot(scenario: Any) -> Any:
        raise tracker.ScenarioError(["modes[0]: no minimum found"])

    with monkeypatch.context() as patch:
        patch.setattr(run_trials, "prepare", cannot)
        with pytest.raises(tracker.ScenarioError):
            tracker.run(small, tmp_path / "run", 1, replace=True)
        with pytest.raises(tracker.ScenarioError):
            tracker.run(small, tmp_path / "new", 1)
    assert json.loads((tmp_path / "run" / "summary.json").read_text())["hash"] == run.summary["hash"]
    assert tracker.run(small, tmp_path / "new", 1).summary["hash"] == run.summary["hash"]


# --- the command


def invoke(*arguments: str) -> Any:
    return CliRunner().invoke(app, list(arguments))


def test_json_is_one_object_and_the_summary_on_disk(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text(SCENARIO.toml())
    done = invoke("run", str(tmp_path / "a.toml"), "--out", str(tmp_path / "run"), "--json", "--workers", "1")
    assert done.exit_code == 0, done.stderr
    printed = json.loads(done.stdout, parse_constant=pytest.fail)
    assert printed == json.loads((tmp_path / "run" / "summary.json").read_text())
    assert (tmp_path / "run" / "scenario.toml").read_text() == SCENARIO.toml()
    again = invoke("run", str(tmp_path / "a.toml"), "--out", str(tmp_path / "run"))
    assert (again.exit_code, again.stdout) == (7, "")


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_a_shipped_scenario_runs_alike_from_python_and_from_the_command_line(path: Path, tmp_path: Path) -> None:
    settings = ["trials=2", "steps=130", "record_every=13", "sweep={}"]
    run = tracker.run(tracker.load(path, settings), executor=1)
    check_summary(run)
    assert all(row["diverged"] == 0 for row in run.summary["samplers"])
    flags = [part for setting in settings for part in ("--set", setting)]
    done = invoke("run", str(path), "--out", str(tmp_path / "run"), *flags, "--json", "--quiet")
    assert done.exit_code == 0, done.stderr
    assert json.loads(done.stdout)["hash"] == run.summary["hash"]
    written = tomllib.loads((tmp_path / "run" / "scenario.toml").read_text())
    assert (written["trials"], written["steps"]) == (2, 130)


# --- the numbers


def test_averages_are_those_of_the_trace() -> None:
    """With every step recorded the sums of the loop can be taken again from outside."""
    run = tracker.run(with_settings(SCENARIO, ["record_every=1"]), executor=1)
    steps, burn_in = SCENARIO.steps, SCENARIO.burn_in
    minimisers = np.array([mode.minimum for mode in SCENARIO.modes])
    curvature = np.array([mode.curvature for mode in SCENARIO.modes])
    mode = run.arrays["mode"]
    assert (mode[:, -1] == run.arrays["final_mode"]).all()
    assert run.summary["chain"]["switches"] == (mode[:, 1:] != mode[:, :-1]).sum()
    for n, row in enumerate(run.summary["samplers"]):
        theta = run.arrays["theta"][:, n]
        away = theta - minimisers[mode]
        error = np.linalg.norm(away, axis=-1)[:, burn_in:steps]
        excess = 0.5 * np.einsum("tki,tkij,tkj->tk", away, curvature[mode], away)[:, burn_in:steps]
        for name, values in (("tracking_error", error), ("mean_square_error", error**2), ("excess_cost", excess)):
            by_trial = values.mean(axis=1)
            stderr = by_trial.std(ddof=1) / np.sqrt(SCENARIO.trials)
            assert row[name]["mean"] == pytest.approx(by_trial.mean(), rel=1e-10, abs=1e-12)
            assert row[name]["stderr"] == pytest.approx(stderr, rel=1e-10, abs=1e-12)
        points = theta[:, burn_in:steps].reshape(-1, 2)
        np.testing.assert_allclose(row["mean"], points.mean(axis=0), rtol=1e-10)
        np.testing.assert_allclose(row["covariance"], np.cov(points.T, ddof=0), rtol=1e-9, atol=1e-12)
        np.testing.assert_array_equal(theta[:, -1], run.arrays["final"][:, n])
        np.testing.assert_allclose(row["final"]["mean"], theta[:, -1].mean(axis=0), rtol=1e-12)


def naive_waits(run: tracker.Run, n: int) -> tuple[list[int], int]:
    """Steps from each switch to the first point inside the target, and how many ended at the next switch or K first."""
    ended, censored = [], 0
    for mode, error in zip(run.arrays["mode"], run.arrays["error"][:, n], strict=True):
        radius = np.sqrt([m.radius2 for m in run.problem.modes])
        K = run.scenario.steps
        switches = [k for k in range(1, K) if mode[k] != mode[k - 1]]
        for k, following in zip(switches, [*switches[1:], K], strict=True):
            inside = [j for j in range(k, following) if error[j] <= radius[mode[j]]]
            if inside:
                ended.append(inside[0] - k)
            else:
                censored += 1
    return ended, censored


def test_waits_are_those_of_the_trace() -> None:
    run = tracker.run(with_settings(SCENARIO, ["record_every=1"]), executor=1)
    total = run.summary["chain"]["switches"]
    for n, row in enumerate(run.summary["samplers"]):
        ended, censored = naive_waits(run, n)
        waits = run.arrays["waits"][:, n].sum(axis=(0, 1))
        assert waits.sum() == total == len(ended) + censored
        assert waits[:, 1].sum() == censored
        exact = np.bincount(np.array(ended, dtype=int), minlength=64)[:64]  # bins of one step each
        np.testing.assert_array_equal(waits[:64, 0], exact)
        already = ended.count(0)
        assert row["recovery"]["already"] == pytest.approx(already / total, rel=1e-12)
        if row["name"] != "oracle":
            assert row["recovery"]["switches"] == total - already
            assert row["recovery"]["censored"] == pytest.approx(censored / (total - already), rel=1e-12)
    empty = dict.fromkeys(("median", "low", "high", "mean", "stayed"))
    assert rows(run)["frozen"]["recovery"].items() >= empty.items()
    assert rows(run)["oracle"]["recovery"] == {**dict.fromkeys(SUMMARY["recovery"]), "already": 1.0}


MIXED = """
name = "mixed"
trials = 3
steps = 600
record_every = 10
start = [0.3, 0.2]
[chain]
alpha = 0.05
Q = [[-1.0, 0.5, 0.5], [0.5, -1.0, 0.5], [0.5, 0.5, -1.0]]
[[modes]]
name = "bowl"
cost = "quadratic"
minimum = [1.0, -1.0]
curvature = [[2.0, 0.3], [0.3, 1.0]]
[[modes]]
name = "wells"
cost = "polynomial"
variables = ["a", "b"]
formula = "(a^2 - 1)^2 - 0.35*a + b^2"
gradient_noise = 0.5
[[modes]]
name = "posterior"
cost = "mixture"
means = [[1.0, 0.0], [1.0, 1.0]]
variance = 2.0
prior_mean = [0.0, 0.0]
prior_variance = [10.0, 1.0]
horizon = 20
data = "shuffle"
data_seed = 1
truth = [0.0, 1.0]
[[samplers]]
name = "classical"
kind = "langevin"
epsilon = 0.002
"""


def test_modes_of_different_families_run_together() -> None:
    """Interpreted with the baselines, and compiled without: each of them would take as long to compile as the sampler."""
    run = interpreted(tracker.parse(MIXED))
    check_summary(run)
    compiled = tracker.run(tracker.parse(MIXED, settings=["baselines=[]"]), executor=1)
    np.testing.assert_allclose(compiled.arrays["theta"][:, 0], run.arrays["theta"][:, 0], rtol=1e-9, atol=1e-9)
    assert set(np.unique(run.arrays["mode"])) == {0, 1, 2}
    assert all(row["diverged"] == 0 for row in run.summary["samplers"])
    assert all(dwell["completed"] > 0 for dwell in run.summary["chain"]["dwell"])


def interrupted(**changes: Any) -> tracker.Run:
    content = {key: part for key, part in SCENARIO.content().items() if key != "chain"}
    text = toml_text.to_toml(content | {"record_every": 1, "burn_in": 0} | changes)
    return tracker.run(tracker.parse(text), executor=1)


def test_a_schedule_with_a_forced_switch_and_an_outage() -> None:
    run = interrupted(
        schedule={"switches": [[0, "one"], [100, "two"], [250, "one"]]},
        interventions=[
            {"kind": "switch", "at": 40, "to": "two"},  # so that the schedule's own at 100 changes nothing
            {"kind": "switch", "at": 60, "to": "two"},  # nor does this
            {"kind": "outage", "at": 300, "steps": 50},
        ],
    )
    check_summary(run)
    chain = run.summary["chain"]
    assert chain == {"alpha": None, "modes": ["one", "two"], "stationary": None, "switches": 2 * 6, "dwell": []}
    expected = np.concatenate([np.zeros(40), np.ones(210), np.zeros(151)])
    assert (run.arrays["mode"] == expected).all()
    theta = run.arrays["theta"][:, 0]
    moved = (theta[:, 1:] != theta[:, :-1]).any(axis=2)
    assert not moved[:, 300:350].any()
    assert moved[:, :300].all()
    assert moved[:, 350:].all()
    for row in run.summary["samplers"]:
        assert row["tracking_error"]["mean"] == pytest.approx(
            run.arrays["error"][:, [*rows(run)].index(row["name"]), :400].mean(), rel=1e-10, abs=1e-12
        )
    assert (run.arrays["waits"].sum(axis=(3, 4)) == 1).all()  # one switch into each mode


def test_a_forced_switch_censors_the_visit_and_the_chain_goes_on() -> None:
    chain = {"alpha": 0.02, "Q": [[-1, 1], [0.6, -0.6]], "initial": "one"}
    run = interrupted(trials=60, chain=chain, interventions=[{"kind": "switch", "at": 150, "to": "two"}])
    check_summary(run)
    mode = run.arrays["mode"]
    assert (mode[:, 150] == 1).all()
    assert (mode[:, 151:] == 0).any()
    forced = int((mode[:, 149] == 0).sum())
    assert 5 < forced < 55
    changes = mode[:, 1:] != mode[:, :-1]
    assert run.summary["chain"]["switches"] == changes.sum()
    dwell = run.summary["chain"]["dwell"]
    # every visit was completed by the chain, or cut by the forced switch or the end
    assert sum(d["completed"] for d in dwell) == changes.sum() - forced
    assert sum(d["censored"] for d in dwell) == forced + 60
    assert [d["expected"] for d in dwell] == pytest.approx([50.0, 50 / 0.6])
    assert min(d["p_value"] for d in dwell) > 1e-6
    assert run.summary["chain"]["stationary"] == pytest.approx([0.375, 0.625])


# --- divergence


def diverging(**changes: Any) -> tracker.Scenario:
    wild = {"name": "wild", "kind": "accelerated", "epsilon": 1.2, "skew": 0.0}
    return SCENARIO.replace(**{"samplers": [wild, SCENARIO.samplers[0]], **changes})


def test_a_sampler_that_diverges_is_counted_and_the_others_go_on(tmp_path: Path) -> None:
    (tmp_path / "wild.toml").write_text(diverging(steps=4000).toml())
    done = invoke("run", str(tmp_path / "wild.toml"), "--out", str(tmp_path / "run"), "--workers", "1")
    assert done.exit_code == 0, done.stderr
    assert "wild" in done.stderr  # the step size is beyond its limit: said before the run
    (row,) = [line.split() for line in done.stdout.splitlines() if line.split()[:1] == ["wild"]]
    assert row[1] == "1.2"
    assert [cell for cell in row[2:] if cell not in ("grad", "1")][1:5] == ["-", "-", "-", "-"]
    assert "6" in row
    summary = json.loads((tmp_path / "run" / "summary.json").read_text())
    wild, sane = summary["samplers"][:2]
    assert (wild["diverged"], wild["final"]["mean"]) == (6, [None, None])
    assert 0 < wild["first_divergence"] < 4000
    assert wild["tracking_error"] == {"mean": None, "stderr": None}
    assert wild["mean"] == [None, None]
    assert (sane["diverged"], sane["first_divergence"]) == (0, None)
    assert sane["tracking_error"]["mean"] > 0


def test_a_sampler_beside_a_diverging_one_is_not_disturbed() -> None:
    both, alone = tracker.run(diverging(), executor=1), tracker.run(SCENARIO, executor=1)
    assert both.arrays["theta"][:, 1:].tobytes() == alone.arrays["theta"].tobytes()


def test_only_the_trials_that_diverged_are_left_out() -> None:
    """From a far start the runaway bound is reached early, from a near one not within the run."""
    start = {"mean": [0.5, 0.0], "covariance": [[1e8, 0], [0, 1e8]]}
    run = tracker.run(diverging(start=start, steps=200, burn_in=0, trials=40, record_every=1), executor=1)
    diverged = run.arrays["diverged"][:, 0]
    row = rows(run)["wild"]
    kept = diverged < 0
    assert 3 < kept.sum() < 37
    assert row["diverged"] == (~kept).sum()
    assert row["first_divergence"] == diverged[~kept].min()
    error = run.arrays["error"][:, 0]
    assert row["tracking_error"]["mean"] == pytest.approx(error[kept, :200].mean(), rel=1e-10)
    np.testing.assert_allclose(row["final"]["mean"], run.arrays["final"][kept, 0].mean(axis=0), rtol=1e-12)
    for k, path in zip(diverged[~kept], error[~kept], strict=True):
        assert (path[:k] < 1e8 * (1 + 1.0) * np.sqrt(2)).all()  # 1e8 times the scale that the scenario names
        assert np.isnan(path[k + 1 :]).all()  # nothing is recorded after it
