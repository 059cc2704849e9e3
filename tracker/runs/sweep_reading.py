"""Read a sweep directory: every point from its own run directory, or the reason why that is impossible."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tracker.regular_files import is_own_folder, read_regular
from tracker.runs.file_names import POINTS, POINTS_TABLE, SWEEP_MANIFEST, SWEEP_RESULT
from tracker.runs.manifest import SCENARIO
from tracker.runs.ownership import read_manifest
from tracker.runs.run_errors import CorruptRun
from tracker.runs.run_identity import hash_of_file, resolve_links, sha256
from tracker.runs.run_reading import not_finished, open_run, stored_scenario
from tracker.runs.sweep_points import axes_of, points_of
from tracker.runs.sweep_result import Outcome, Sweep, outcome_of_run
from tracker.runs.sweep_table import STATES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tracker.runs.manifest import Manifest
    from tracker.runs.sweep_points import Point
    from tracker.scenario import Scenario


LARGEST_TABLE = 100_000_000  # bytes


def open_sweep(
    path: str | Path,
    scenario: Scenario | None = None,
    *,
    plugins: Sequence[str] = (),
    code: str | Path | None = None,
) -> Sweep:
    """Return the finished sweep in the directory ``path``; points that failed stay failed, nothing is computed.

    Parameters
    ----------
    scenario : Scenario, optional
        Needed for a sweep with costs or samplers of a script's own, unless ``code`` has them.
    plugins, code
        As for ``open_run``.

    Raises
    ------
    CorruptRun
        If anything in it is missing, damaged or not finished.

    Examples
    --------
    >>> import tempfile, tracker
    >>> settings = ["trials=2", "steps=8", "sweep={'chain.alpha' = [0.01, 0.02]}"]
    >>> scenario = tracker.load("scenarios/example_a.toml", settings)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     found = tracker.sweep(scenario, folder + "/sweep")
    ...     again = tracker.open_sweep(folder + "/sweep")
    >>> [outcome.state for outcome in again.outcomes]
    ['complete', 'complete']
    """
    given = Path(path)
    path = resolve_links(given)
    manifest = read_manifest(path, SWEEP_MANIFEST)
    if not manifest.complete:
        raise CorruptRun(path, not_finished("sweep", given, manifest))
    scenario = scenario or stored_scenario(path, manifest, plugins, code)
    if (
        (path / SWEEP_RESULT).exists()
        and SWEEP_RESULT in manifest.files
        and hash_of_file(path / SWEEP_RESULT) != manifest.files[SWEEP_RESULT]
    ):
        raise CorruptRun(path, f"{SWEEP_RESULT} is damaged; tracker sweep --resume writes it again")
    points, entries = points_of(scenario), entries_of(path, manifest)
    if [f"{POINTS}/{point.folder}" for point in points] != [entry["folder"] for entry in entries]:
        raise CorruptRun(path, f"{POINTS_TABLE} does not hold the points of {SCENARIO}")
    outcomes = [_read(path, point, entry) for point, entry in zip(points, entries, strict=True)]
    return Sweep(scenario, axes_of(scenario), tuple(outcomes), path)


def entries_of(path: Path, manifest: Manifest) -> list[dict[str, Any]]:
    """Return how the points of the finished sweep in ``path`` ended."""
    damaged = CorruptRun(path, f"{POINTS_TABLE} is damaged; tracker sweep --resume writes it again")
    try:
        data = read_regular(path / POINTS_TABLE, LARGEST_TABLE)
        entries = json.loads(data)["points"]
        found = [{key: entry[key] for key in ("folder", "state", "message", "hash")} for entry in entries]
    except OSError as error:
        raise CorruptRun(path, f"{POINTS_TABLE}: {error.strerror or error}") from None
    except (ValueError, KeyError, TypeError, RecursionError):
        raise damaged from None
    if manifest.files.get(POINTS_TABLE, sha256(data)) != sha256(data) or not all(map(_is_sound, found)):
        raise damaged
    return found


def _is_sound(entry: dict[str, Any]) -> bool:
    texts = all(isinstance(entry[key], str) for key in ("folder", "state", "message"))
    return texts and entry["state"] in STATES and (entry["hash"] is None or isinstance(entry["hash"], str))


def _read(path: Path, point: Point, entry: dict[str, Any]) -> Outcome:
    if entry["hash"] is None:
        return Outcome(point, "failed", str(entry["message"]))
    try:
        if not is_own_folder(path / entry["folder"]):
            raise CorruptRun(path, "no folder of a run")  # noqa: TRY301
        found = open_run(path / entry["folder"], point.scenario)
    except CorruptRun as damaged:
        raise CorruptRun(path, f"{point.label}: {damaged.reason}") from None
    if found.summary["hash"] != entry["hash"]:
        raise CorruptRun(path, f"{point.label}: its result is not the one in {POINTS_TABLE}")
    return outcome_of_run(point, found)
