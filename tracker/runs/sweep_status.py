"""Tell from outside how far a sweep is, point by point."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from tracker.regular_files import is_own_folder, is_regular, read_regular
from tracker.runs import resume_preview
from tracker.runs.file_names import DAMAGED, MANIFEST, POINTS, POINTS_TABLE, SUMMARY, SWEEP_MANIFEST, SWEEP_RESULT
from tracker.runs.lock_file import living_holder
from tracker.runs.manifest import SCENARIO
from tracker.runs.ownership import read_manifest
from tracker.runs.run_directory import LARGEST_SUMMARY
from tracker.runs.run_errors import CorruptRun
from tracker.runs.run_identity import hash_of_file, resolve_links, resume_command
from tracker.runs.run_status import COMPLETE, RESUMABLE, RUNNING, Status, status_of
from tracker.runs.sweep_points import axes_in, combinations_of, numeral, point_label
from tracker.runs.sweep_reading import entries_of
from tracker.runs.sweep_result import state_and_message
from tracker.scenario.toml_text import LARGEST_FILE, read_tables

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tracker.runs.manifest import Manifest
    from tracker.runs.sweep_points import Settings

DIVERGED, FAILED, WAITING = "diverged", "failed", "waiting"
MOST_POINTS = 100_000
PASSED_OVER = "not finished, though later points were begun"


@dataclass(frozen=True)
class PointStatus:
    """How far a point is.

    Attributes
    ----------
    state : "complete", "diverged" (complete, but some trials did), "failed", "running", "resumable" or "waiting"
    part : float
        How much of its steps is done, 0 to 1.
    message : str
        What went wrong.
    """

    index: int
    label: str
    state: str
    part: float
    message: str


class SweepStatus(NamedTuple):
    """How far a sweep is; what a run's ``Status`` has too, means the same here.

    Attributes
    ----------
    points_done : int
        Points that are complete, diverged or not.
    under_way : PointStatus or None
        The point that is computed at this moment, or would be the first to go on.
    part : float
        How much of the steps of all points is done, 0 to 1.
    failed, diverged : tuple of PointStatus
        Points where something went wrong.
    """

    name: str
    state: str
    holder: str | None
    points: int
    points_done: int
    under_way: PointStatus | None
    part: float
    steps_per_second: float | None
    seconds_left: float | None
    seconds_since: float | None
    failed: tuple[PointStatus, ...]
    diverged: tuple[PointStatus, ...]
    damaged: int
    unusable: tuple[str, ...]
    verified: bool
    resume: str | None


@dataclass(frozen=True)
class _Point:
    """A point as it is found: its work in steps, its folder if it was begun, how far the run there is, and what came out."""

    index: int
    label: str
    work: float
    folder: Path | None
    status: Status | None
    summary: dict[str, Any]


def sweep_status_of(path: str | Path, *, verify: bool | None = None) -> SweepStatus:
    """Return how far the sweep in the directory ``path`` is; ``CorruptRun`` where there is none."""
    given = Path(path)
    path = resolve_links(given)
    manifest = read_manifest(path, SWEEP_MANIFEST)
    holder = living_holder(path)
    state = RUNNING if holder is not None else COMPLETE if manifest.complete else RESUMABLE
    points = list(_found(path, verify))
    last = max((point.index for point in points if point.folder is not None), default=-1)
    entries, unusable = _ends(path, manifest, points, verify) if state == COMPLETE else ({}, [])
    unusable += [name for point in points for name in _unusable(path, point, entries.get(point.index))]
    told = [_told(point, last, state, entries.get(point.index)) for point in points]
    runs = [point.status for point in points if point.status is not None]
    work = sum(point.work for point in points)
    done = sum(point.work * one.part for point, one in zip(points, told, strict=True))
    failed = tuple(one for one in told if one.state == FAILED)
    under_way = next((one for one in told if one.state in (RUNNING, RESUMABLE)), None)
    now = points[under_way.index].status if under_way is not None and under_way.state == RUNNING else None
    rest = points[under_way.index].work * (1.0 - under_way.part) if under_way is not None else 0.0
    return SweepStatus(
        name=manifest.name,
        state=state,
        holder=str(holder) if holder is not None else None,
        points=len(points),
        points_done=sum(one.state in (COMPLETE, DIVERGED) for one in told),
        under_way=under_way,
        part=done / work,
        steps_per_second=now.steps_per_second if now is not None else None,
        # the others are as fast as the one under way
        seconds_left=now.seconds_left * (work - done) / rest if now is not None and now.seconds_left and rest else None,
        seconds_since=now.seconds_since if now is not None else None,
        failed=failed,
        diverged=tuple(one for one in told if one.state == DIVERGED),
        damaged=sum(run.damaged for run in runs) + len(list((path / DAMAGED).glob("*"))),
        unusable=tuple(unusable),
        verified=all(run.verified for run in runs if run.state != RUNNING),
        resume=resume_command("sweep", given, manifest)
        if state == RESUMABLE or (state == COMPLETE and (failed or unusable))
        else None,
    )


def _found(path: Path, verify: bool | None) -> Iterator[_Point]:
    """Give the points of the scenario that is kept in ``path``: as tables, since nothing is computed here."""
    try:
        settings, works = _settings(read_regular(path / SCENARIO, LARGEST_FILE).decode())
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise CorruptRun(path, f"{SCENARIO} cannot be read: {error}") from None
    begun = _begun(path)
    folders = [begun.get(numeral(index, len(settings))) for index in range(len(settings))]
    if (
        verify is None
        and sum(_bytes(folder) for folder in folders if folder is not None) > resume_preview.MOST_BYTES_VERIFIED_UNASKED
    ):
        verify = False
    for index, (chosen, folder) in enumerate(zip(settings, folders, strict=True)):
        status = _status(folder, verify)
        summary = _summary(folder) if folder is not None and status is not None and status.state == COMPLETE else {}
        yield _Point(index, point_label(index, chosen), works[index], folder, status, summary)


def _settings(text: str) -> tuple[list[Settings], list[float]]:
    """Return what each point sets, and how many steps it has, from a scenario that is not checked otherwise here."""
    table = read_tables(text, SCENARIO)
    axes = axes_in(table["sweep"])
    if not 1 <= math.prod(len(axis.values) for axis in axes) <= MOST_POINTS:
        raise ValueError(f"a sweep has 1 to {MOST_POINTS} points")
    settings = [chosen for _, chosen in combinations_of(axes)]
    works = []
    for chosen in settings:
        own = {"trials": table["trials"], "steps": table["steps"], **dict(chosen)}
        if not all(isinstance(own[key], int) and 1 <= own[key] <= 10**15 for key in ("trials", "steps")):
            raise ValueError("trials and steps must be whole numbers")
        works.append(float(own["trials"]) * float(own["steps"]))
    return settings, works


def _begun(path: Path) -> dict[str, Path]:
    """Return the folders of points by their numeral; what is no folder itself is none."""
    folder = path / POINTS
    if not is_own_folder(folder):
        return {}
    return {entry.name.partition("_")[0]: entry for entry in sorted(folder.iterdir()) if is_own_folder(entry)}


def _bytes(folder: Path) -> float:
    try:
        return resume_preview.bytes_to_read(folder, read_manifest(folder))
    except CorruptRun:
        return 0.0


def _status(folder: Path | None, verify: bool | None) -> Status | None:
    try:
        return status_of(folder, verify=verify) if folder is not None else None
    except CorruptRun:
        return None


def _summary(folder: Path) -> dict[str, Any]:
    try:
        summary = dict(json.loads(read_regular(folder / SUMMARY, LARGEST_SUMMARY)))
        state_and_message(summary)
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):  # told among what is damaged
        return {}
    return summary


def _ends(
    path: Path, manifest: Manifest, points: Sequence[_Point], verify: bool | None
) -> tuple[dict[int, dict[str, Any]], list[str]]:
    """Return how the points of a finished sweep ended, by index, and which of its own files are missing or damaged."""
    missing = [] if _is_tidy(path, manifest, verify) else [SWEEP_RESULT]
    try:
        entries = entries_of(path, manifest)
    except CorruptRun:
        return {}, [*missing, POINTS_TABLE]
    return dict(enumerate(entries)), missing if len(entries) == len(points) else [*missing, POINTS_TABLE]


def _is_tidy(path: Path, manifest: Manifest, verify: bool | None) -> bool:
    file = path / SWEEP_RESULT
    if not is_regular(file):
        return False
    checked = verify if verify is not None else file.stat().st_size <= resume_preview.MOST_BYTES_VERIFIED_UNASKED
    return not checked or SWEEP_RESULT not in manifest.files or hash_of_file(file) == manifest.files[SWEEP_RESULT]


def _told(point: _Point, last: int, sweep: str, entry: dict[str, Any] | None) -> PointStatus:
    status = point.status
    part = status.part if status is not None else 0.0
    state, message = _state(point, last, sweep)
    if entry is not None and entry["state"] == FAILED:
        state, message = FAILED, str(entry["message"])
    return PointStatus(point.index, point.label, state, part, message)


def _state(point: _Point, last: int, sweep: str) -> tuple[str, str]:
    status = point.status
    if status is not None and status.state == COMPLETE:
        return state_and_message(point.summary) if point.summary else (COMPLETE, "")
    if status is not None and status.state == RUNNING:
        return RUNNING, ""
    if status is not None and status.failed:
        return FAILED, "; ".join(map(str, status.failed))
    if point.index < last or sweep == COMPLETE:
        return FAILED, PASSED_OVER
    return (WAITING if point.folder is None else sweep), ""


def _unusable(path: Path, point: _Point, entry: dict[str, Any] | None) -> Iterator[str]:
    """Give the files that do not hold what they should; ``entry`` is how the point of a finished sweep ended."""
    if point.folder is None:
        if entry is not None and entry["hash"] is not None:
            yield str(entry["folder"])
        return
    place = point.folder.relative_to(path)
    if point.status is not None:
        yield from (f"{place}/{name}" for name in point.status.unusable)
        if entry is not None and not point.status.unusable and point.summary.get("hash") != entry["hash"]:
            yield f"{place}/{SUMMARY}"
    elif (point.folder / MANIFEST).exists():
        yield f"{place}/{MANIFEST}"
