"""Read a run directory: return the finished run with the same arrays, or say why that is impossible."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tracker.baseline_names import BASELINES
from tracker.engine.simulate import prepare
from tracker.regular_files import read_regular
from tracker.runs.file_names import MANIFEST, RESULT, SUMMARY
from tracker.runs.lock_file import living_holder
from tracker.runs.manifest import SCENARIO
from tracker.runs.netcdf import array_hash
from tracker.runs.old_formats import is_of_format_0, summary_of_older_run, with_missing_arrays
from tracker.runs.ownership import read_manifest
from tracker.runs.result_reading import AGAIN, finished_trials, read_arrays
from tracker.runs.run_directory import LARGEST_SUMMARY
from tracker.runs.run_errors import CorruptRun, RunDiffers
from tracker.runs.run_identity import code_differs, differences, resolve_links, resume_command, resumed_manifest, sha256
from tracker.runs.run_result import Run
from tracker.runs.summary import summarise
from tracker.scenario import PluginError, ScenarioError, load
from tracker.scenario.code_file import CodeFile, read_code
from tracker.scenario.toml_text import LARGEST_FILE

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from tracker.engine.simulate import Problem
    from tracker.runs.manifest import Manifest, Part
    from tracker.runs.netcdf import World
    from tracker.scenario import Scenario


def open_run(
    path: str | Path,
    scenario: Scenario | None = None,
    plugins: Sequence[str] = (),
    code: str | Path | CodeFile | None = None,
) -> Run:
    """Return the finished run in the directory ``path``.

    Parameters
    ----------
    scenario : Scenario, optional
        Needed for a run with costs or samplers of a script's own, unless ``code`` has them.
    plugins : sequence of str
        Installed packages whose costs and samplers the run may use: their code is run.
    code : path
        A Python file with costs and samplers of one's own (docs/own-code): it is run. The copy in ``path`` never is.

    Raises
    ------
    CorruptRun
        If anything in it is missing, damaged or not finished.

    Examples
    --------
    >>> import tempfile, tracker
    >>> scenario = tracker.load("scenarios/example_a.toml", ["trials=2", "steps=8"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     run = tracker.run(scenario, folder + "/run")
    ...     again = tracker.open_run(folder + "/run")
    >>> again.summary["hash"] == run.summary["hash"]
    True
    """
    if (part := read_manifest(resolve_links(Path(path))).part) is not None:
        whole = f"part {part.number} of {part.of} of a run; tracker merge OUT PART... makes the run of all parts"
        raise CorruptRun(Path(path), whole)
    return open_run_or_part(path, scenario, plugins, code)


def open_run_or_part(
    path: str | Path,
    scenario: Scenario | None = None,
    plugins: Sequence[str] = (),
    code: str | Path | CodeFile | None = None,
) -> Run:
    """Return what is finished in the directory ``path``, be it a run or a part of one; see ``open_run``."""
    given = Path(path)
    path = resolve_links(given)
    manifest = read_manifest(path)
    if RESULT not in manifest.files:
        raise CorruptRun(path, not_finished("run", given, manifest))
    told = _summary(path, manifest)
    if scenario is None:
        scenario = stored_scenario(path, manifest, plugins, code)
    else:
        _refuse_changed_text(path, manifest)
    _refuse_other_numbers(path, manifest, scenario)
    scenario = _with_baselines_of(told, scenario)
    arrays, world = read_arrays(path, RESULT, manifest.files[RESULT], scenario, finished_trials(manifest))
    problem = _prepared(path, scenario, world)
    if array_hash(arrays) != told["hash"]:
        raise CorruptRun(path, f"{RESULT} does not hold the arrays whose hash is in {SUMMARY}")
    older = is_of_format_0(arrays)
    arrays = with_missing_arrays(arrays, problem) if older else arrays
    summary = _summarised(path, manifest, problem, arrays, told)
    return Run(scenario, summary_of_older_run(summary) if older else summary, arrays, problem, path)


def _with_baselines_of(told: Mapping[str, Any], scenario: Scenario) -> Scenario:
    """Return the scenario with the baselines that the run had, where the file leaves them open: later versions have more."""
    rows = told.get("samplers")
    names = [row.get("name") for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []
    if "baselines" in scenario.model_fields_set:
        return scenario
    return scenario.with_baselines([name for name in BASELINES if name in names])


def _refuse_other_numbers(path: Path, manifest: Manifest, scenario: Scenario) -> None:
    """The manifest repeats what the scenario says; both must say the same."""
    said = (manifest.name, manifest.seed, manifest.trials, manifest.steps)
    if said != (scenario.name, scenario.seed, scenario.trials, scenario.steps):
        raise CorruptRun(path, f"{MANIFEST} speaks of another name, seed, number of trials or steps than {SCENARIO}")


def _prepared(path: Path, scenario: Scenario, world: World | None) -> Problem:
    """Build the problem in the world that the run was measured in; a run of format 0 does not say which, so it is searched."""
    try:
        return prepare(scenario) if world is None else prepare(scenario, *world)
    except ScenarioError as error:
        raise CorruptRun(path, f"{SCENARIO} cannot be run ({error})") from None


def _summarised(
    path: Path, manifest: Manifest, problem: Problem, arrays: Mapping[str, NDArray[Any]], told: dict[str, Any]
) -> dict[str, Any]:
    """Return the summary, made again of the arrays: of what the file tells only the speed cannot be known otherwise."""
    try:
        speeds = [row["steps_per_second"] for row in told["samplers"]]
        sound = len(speeds) == len(problem.contestants) and all(_is_speed(speed) for speed in speeds)
    except (TypeError, KeyError):
        sound = False
    if not sound:
        raise CorruptRun(path, f"{SUMMARY} does not tell the speed of each sampler")
    summary = summarise(problem, arrays, np.ones(len(problem.contestants)), manifest.part)
    for row, speed in zip(summary["samplers"], speeds, strict=True):
        row["steps_per_second"] = speed
    if manifest.failed:
        summary["failed"] = [shard._asdict() for shard in manifest.failed]
    return summary


def _is_speed(speed: Any) -> bool:
    if speed is None:
        return True
    return isinstance(speed, (int, float)) and not isinstance(speed, bool) and 0 <= speed < float("inf")


def not_finished(what: str, path: Path, manifest: Manifest) -> str:
    """Return why the "run" or "sweep" in ``path`` cannot be read yet: who writes it, or what command finishes it."""
    if (holder := living_holder(path)) is not None:
        return f"the {what} is not finished: it is being written by {holder}"
    return f"the {what} is not finished; {resume_command(what, path, manifest)} finishes it"


def scenario_to_resume(path: Path, old: Manifest, scenario: Scenario, part: Part | None = None) -> Scenario:
    """Return the scenario that the run in ``path`` goes on with: ``scenario``, or the one there with other comments."""
    now = resumed_manifest(scenario, old, part)
    if now.identity == old.identity and now.data == old.data:
        return scenario
    try:
        stored = stored_scenario(path, old, scenario.packages, scenario.code)
        before: Mapping[str, Any] = stored.content()
    except CorruptRun:  # damaged, or with costs of one's own: what can be said without understanding it
        stored, before = scenario, stored_tables(path)
    lines = differences(old, now, before, scenario.content())
    if lines or resumed_manifest(stored, old, part).identity != old.identity:
        raise RunDiffers(path, lines or [f"scenario: hash {old.scenario_sha256} in the run, {now.scenario_sha256} now"])
    return stored


def stored_tables(path: Path) -> dict[str, Any]:
    """Return what stands in the scenario of a run, without understanding it; nothing where it cannot be read."""
    try:
        return tomllib.loads(read_regular(path / SCENARIO, LARGEST_FILE).decode())
    except (OSError, ValueError, RecursionError):
        return {}


def stored_scenario(
    path: Path, manifest: Manifest, plugins: Sequence[str] = (), code: str | Path | CodeFile | None = None
) -> Scenario:
    """Return the scenario as it was run: from a file unchanged, or changed before the run and written for it."""
    _refuse_changed_text(path, manifest)
    code = read_code(code) if isinstance(code, (str, Path)) else code
    if manifest.code and (code is None or code.sha256 != manifest.code):
        raise CorruptRun(path, code_differs(manifest.code, code.sha256 if code is not None else ""))
    try:
        scenario = load(path / SCENARIO, plugins=plugins, code=code)
    except OSError as error:
        raise CorruptRun(path, f"{SCENARIO}: {error.strerror or error}") from None
    except PluginError:  # it is the call that is wrong
        raise
    except ScenarioError as error:
        way = "--code FILE.py names the file that has them, open_run(..., scenario=...) takes them from a script"
        raise CorruptRun(
            path, f"{SCENARIO} cannot be read ({error}); for costs and samplers of one's own, {way}"
        ) from None
    scenario = scenario if scenario.sha256 == manifest.scenario_sha256 else scenario.replace()
    if scenario.sha256 != manifest.scenario_sha256:
        raise CorruptRun(path, f"{SCENARIO} with its data files is not what was run")
    return scenario


def _refuse_changed_text(path: Path, manifest: Manifest) -> None:
    """Raise CorruptRun unless the scenario file is the one that was written for the run."""
    try:
        text = read_regular(path / SCENARIO, LARGEST_FILE)
    except OSError as error:
        raise CorruptRun(path, f"{SCENARIO}: {error.strerror or error}") from None
    if sha256(text) != manifest.text_sha256:
        raise CorruptRun(path, f"{SCENARIO} was changed since the run")


def _summary(path: Path, manifest: Manifest) -> dict[str, Any]:
    try:
        data = read_regular(path / SUMMARY, LARGEST_SUMMARY)
    except OSError as error:
        raise CorruptRun(path, f"{SUMMARY}: {error.strerror or error}") from None
    if sha256(data) != manifest.files.get(SUMMARY):
        raise CorruptRun(path, f"{SUMMARY} was changed since the run (its hash is not the one in {MANIFEST}); {AGAIN}")
    try:
        told = json.loads(data)
    except (ValueError, RecursionError):
        told = None
    if not isinstance(told, dict) or not isinstance(told.get("hash"), str):
        raise CorruptRun(path, f"{SUMMARY} is no summary of a run")
    return told
