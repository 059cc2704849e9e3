"""A run directory read back: a finished run with the same arrays, bit for bit, or a reason why not."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tracker.runs.errors import CorruptRun, RunDiffers
from tracker.runs.identity import continuing, differences, manifest_of, sha256
from tracker.runs.locking import living_holder
from tracker.runs.netcdf import array_hash, read_result
from tracker.runs.older import completed, is_older, with_all_keys
from tracker.runs.records import SCENARIO
from tracker.runs.result import Run
from tracker.runs.storage import MANIFEST, RESULT, SUMMARY, hash_of_file, read_manifest
from tracker.scenario import PluginError, ScenarioError, load
from tracker.simulate import prepare

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from tracker.runs.records import Manifest
    from tracker.scenario import Scenario


AGAIN = "tracker run --replace computes it again"


def open_run(path: str | Path, scenario: Scenario | None = None, plugins: Sequence[str] = ()) -> Run:
    """Return the finished run in the directory ``path``.

    Parameters
    ----------
    scenario : Scenario, optional
        Needed for a run with costs of one's own, which no file can describe.
    plugins : sequence of str
        Installed packages whose costs and samplers the run may use: their code is run.

    Raises
    ------
    CorruptRun
        If anything in it is missing, damaged or not finished.
    """
    given = Path(path)
    path = given.resolve()
    manifest = read_manifest(path)
    if RESULT not in manifest.files:
        raise CorruptRun(path, not_finished("run", given, manifest))
    summary = _summary(path, manifest)
    scenario = scenario or stored_scenario(path, manifest, plugins)
    arrays = _arrays(path, manifest)
    if array_hash(arrays) != summary.get("hash"):
        raise CorruptRun(path, f"{RESULT} does not hold the arrays whose hash is in {SUMMARY}")
    problem = prepare(scenario)
    if is_older(arrays):
        arrays, summary = completed(arrays, problem), with_all_keys(summary)
    return Run(scenario, summary, arrays, problem, path)


def not_finished(what: str, path: Path, manifest: Manifest) -> str:
    """Return why the "run" or "sweep" in ``path`` cannot be read yet: who writes it, or what command finishes it."""
    if (holder := living_holder(path)) is not None:
        return f"the {what} is not finished: it is being written by {holder}"
    return f"the {what} is not finished; {continuing(what, path, manifest)} finishes it"


def resumable(path: Path, old: Manifest, scenario: Scenario) -> Scenario:
    """Return the scenario that the run in ``path`` goes on with: ``scenario``, or the one there with other comments."""
    now = manifest_of(scenario, old.shard_size)
    if now.identity == old.identity and now.data == old.data:
        return scenario
    try:
        stored = stored_scenario(path, old, scenario.packages)
        before: Mapping[str, Any] = stored.content()
    except CorruptRun:  # damaged, or with costs of one's own: what can be said without understanding it
        stored, before = scenario, _tables(path)
    lines = differences(old, now, before, scenario.content())
    if lines or manifest_of(stored, old.shard_size).identity != old.identity:
        raise RunDiffers(path, lines or [f"scenario: hash {old.scenario_sha256} in the run, {now.scenario_sha256} now"])
    return stored


def _tables(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads((path / SCENARIO).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}


def stored_scenario(path: Path, manifest: Manifest, plugins: Sequence[str] = ()) -> Scenario:
    """Return the scenario as it was run: from a file unchanged, or changed before the run and written for it."""
    try:
        if sha256((path / SCENARIO).read_bytes()) != manifest.text_sha256:
            raise CorruptRun(path, f"{SCENARIO} was changed since the run")
        scenario = load(path / SCENARIO, plugins=plugins)
    except OSError as error:
        raise CorruptRun(path, f"{SCENARIO}: {error.strerror or error}") from None
    except PluginError:  # it is the call that is wrong
        raise
    except ScenarioError as error:
        raise CorruptRun(path, f"{SCENARIO} cannot be read ({error}); costs of one's own: pass the scenario") from None
    scenario = scenario if scenario.sha256 == manifest.scenario_sha256 else scenario.replace()
    if scenario.sha256 != manifest.scenario_sha256:
        raise CorruptRun(path, f"{SCENARIO} with its data files is not what was run")
    return scenario


def _summary(path: Path, manifest: Manifest) -> dict[str, Any]:
    try:
        data = (path / SUMMARY).read_bytes()
    except OSError as error:
        raise CorruptRun(path, f"{SUMMARY}: {error.strerror or error}") from None
    if sha256(data) != manifest.files.get(SUMMARY):
        raise CorruptRun(path, f"{SUMMARY} was changed since the run (its hash is not the one in {MANIFEST}); {AGAIN}")
    return dict(json.loads(data))


def _arrays(path: Path, manifest: Manifest) -> dict[str, NDArray[Any]]:
    try:
        # before HDF5 sees it: a damaged file may do anything to that library
        whole = hash_of_file(path / RESULT) == manifest.files[RESULT]
    except OSError as error:
        raise CorruptRun(path, f"{RESULT}: {error.strerror or error}") from None
    if not whole:
        raise CorruptRun(path, f"{RESULT} was changed since the run (its hash is not the one in {MANIFEST}); {AGAIN}")
    try:
        return read_result(path / RESULT)
    except Exception as error:  # whatever the reader says
        raise CorruptRun(path, f"{RESULT} cannot be read: {error}") from None
