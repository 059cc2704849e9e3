"""A sweep directory read back: every point from its own run directory, or a reason why not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tracker.runs.errors import CorruptRun
from tracker.runs.points import axes_of, points_of
from tracker.runs.reading import not_finished, open_run, stored_scenario
from tracker.runs.records import SCENARIO
from tracker.runs.sweeping import POINTS, SWEEP, TABLE, Outcome, Sweep, ended, read_sweep_manifest

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tracker.runs.points import Point
    from tracker.scenario import Scenario


def is_sweep(path: Path) -> bool:
    """Tell whether a sweep was begun in the directory ``path``."""
    return (path / SWEEP).is_file()


def open_sweep(path: str | Path, scenario: Scenario | None = None, *, plugins: Sequence[str] = ()) -> Sweep:
    """Return the finished sweep in the directory ``path``; points that failed stay failed, nothing is computed.

    Parameters
    ----------
    scenario : Scenario, optional
        Needed for a sweep with costs of one's own, which no file can describe.
    plugins : sequence of str
        Packages whose costs and samplers may be used.

    Raises
    ------
    CorruptRun
        If anything in it is missing, damaged or not finished.
    """
    given = Path(path)
    path = given.resolve()
    manifest = read_sweep_manifest(path)
    if not manifest.complete:
        raise CorruptRun(path, not_finished("sweep", given, manifest))
    scenario = scenario or stored_scenario(path, manifest, plugins)
    points, entries = points_of(scenario), entries_of(path)
    if [f"{POINTS}/{point.folder}" for point in points] != [entry["folder"] for entry in entries]:
        raise CorruptRun(path, f"{TABLE} does not hold the points of {SCENARIO}")
    outcomes = [_read(path, point, entry) for point, entry in zip(points, entries, strict=True)]
    return Sweep(scenario, axes_of(scenario), tuple(outcomes), path)


def entries_of(path: Path) -> list[dict[str, Any]]:
    """Return how the points of the finished sweep in ``path`` ended."""
    try:
        entries = json.loads((path / TABLE).read_bytes())["points"]
        return [{key: entry[key] for key in ("folder", "state", "message", "hash")} for entry in entries]
    except OSError as error:
        raise CorruptRun(path, f"{TABLE}: {error.strerror or error}") from None
    except (ValueError, KeyError, TypeError):
        raise CorruptRun(path, f"{TABLE} is damaged; tracker sweep --resume writes it again") from None


def _read(path: Path, point: Point, entry: dict[str, Any]) -> Outcome:
    if entry["hash"] is None:
        return Outcome(point, "failed", str(entry["message"]))
    try:
        found = open_run(path / entry["folder"], point.scenario)
    except CorruptRun as damaged:
        raise CorruptRun(path, f"{point.label}: {damaged.reason}") from None
    if found.summary["hash"] != entry["hash"]:
        raise CorruptRun(path, f"{point.label}: its result is not the one in {TABLE}")
    return ended(point, found)
