"""A sweep directory while it is written: the manifest first, then the points, then one result over all."""

from __future__ import annotations

import json
from dataclasses import replace as changed
from typing import TYPE_CHECKING

from tracker.jsonable import jsonable
from tracker.regular_files import stands_there
from tracker.runs import atomic_files
from tracker.runs.file_names import POINTS, POINTS_TABLE, SWEEP_MANIFEST, SWEEP_RESULT, is_file_of_a_run
from tracker.runs.lock_file import LOCK
from tracker.runs.netcdf import write_arrays
from tracker.runs.ownership import (
    files_found,
    manifest_in,
    names_no_run_wrote,
    put_aside,
    read_manifest,
    refuse_foreign,
    remove_run,
)
from tracker.runs.resuming import write_scenario, write_scenario_again
from tracker.runs.run_errors import RunExists
from tracker.runs.run_identity import hash_of_file, manifest_of, sha256
from tracker.runs.run_reading import scenario_to_resume

if TYPE_CHECKING:
    from pathlib import Path

    from tracker.runs.sweep_result import Sweep
    from tracker.scenario import Scenario


def refuse_if_taken(folder: Path, *, replace: bool, resume: bool) -> None:
    """Raise where the folder holds what was not asked to be replaced or resumed, or what no sweep wrote."""
    old = manifest_in(folder, SWEEP_MANIFEST)
    if old is None:
        if found := names_no_run_wrote(folder):
            raise RunExists(folder, is_run=False, found=found)
    elif not resume:
        refuse_foreign(folder, list(files_found(folder, old, SWEEP_MANIFEST)))
        if not replace:
            raise RunExists(folder, is_run=True)


def begin_or_resume(folder: Path, scenario: Scenario, *, replace: bool, resume: bool) -> Scenario:
    """Begin, or make sure that what is here is the same sweep; return the scenario that it goes on with.

    An old one goes only now, when the new one is valid; the manifest, by which all else is known as ours, comes first.
    """
    if resume and stands_there(folder / SWEEP_MANIFEST):
        manifest = read_manifest(folder, SWEEP_MANIFEST)
        known = scenario_to_resume(folder, manifest, scenario)
        write_scenario_again(folder, manifest, known)  # it was killed before it was written, or is damaged
        return known
    old = manifest_in(folder, SWEEP_MANIFEST)
    found = [name for name in names_no_run_wrote(folder) if name != LOCK] if old is None else []
    if found or (old is not None and not replace):  # something came here while we prepared
        raise RunExists(folder, is_run=not found, found=found)
    if old is not None:
        remove_run(folder, old, SWEEP_MANIFEST)
    atomic_files.remove_temporaries(folder, is_file_of_a_run)
    atomic_files.write_file(folder / SWEEP_MANIFEST, manifest_of(scenario, 1).encode())
    atomic_files.make_folder(folder / POINTS)
    write_scenario(folder, scenario)
    return scenario


def finish(folder: Path, result: Sweep) -> None:
    """Write the numbers of all points and how each ended; the manifest says ``complete`` last."""
    before = read_manifest(folder, SWEEP_MANIFEST).files
    for name in (SWEEP_RESULT, POINTS_TABLE):
        if stands_there(folder / name) and hash_of_file(folder / name) != before.get(name):
            put_aside(folder, folder / name)
    write_arrays(folder / SWEEP_RESULT, result.labelled)
    points = [
        {
            "index": outcome.point.index,
            "settings": dict(outcome.point.settings),
            "folder": f"{POINTS}/{outcome.point.folder}",
            "state": outcome.state,
            "message": outcome.message,
            "hash": outcome.summary["hash"] if outcome.summary is not None else None,
        }
        for outcome in result.outcomes
    ]
    text = (json.dumps(jsonable({"points": points}), indent=2, allow_nan=False) + "\n").encode()
    atomic_files.write_file(folder / POINTS_TABLE, text)
    hashes = {SWEEP_RESULT: hash_of_file(folder / SWEEP_RESULT), POINTS_TABLE: sha256(text)}
    atomic_files.write_file(
        folder / SWEEP_MANIFEST, changed(manifest_of(result.scenario, 1), complete=True, files=hashes).encode()
    )
