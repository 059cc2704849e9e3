"""Carrying out a sweep: its points one after another, each in a run directory of its own, and one result over all.

A point that fails or diverges is told at once and the others go on. All points meet the same seed, so that neighbours
differ by what is swept and not by luck; they share the compiled kernels of one process.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tracker import __version__
from tracker.runs.execution import Progress, run
from tracker.runs.points import Axis, Point, axes_of, points_of
from tracker.runs.reading import CorruptRun, open_run
from tracker.runs.storage import SCENARIO, RunExists, write_file, write_json
from tracker.runs.tidy import tidy

if TYPE_CHECKING:
    from collections.abc import Mapping

    import xarray

    from tracker.runs.result import Run
    from tracker.scenario import Scenario

SWEEP, TIDY, POINTS = "sweep.json", "sweep.nc", "points"


@dataclass(frozen=True)
class Outcome:
    """How a point ended.

    state : "complete", "diverged" (some trials did; the others count) or "failed" (no result)
    message : what went wrong, "" where nothing did
    """

    point: Point
    state: str
    message: str = ""
    summary: Mapping[str, Any] | None = None
    path: Path | None = None


@dataclass(frozen=True)
class Sweep:
    """A finished sweep; ``path`` is None for one in memory."""

    scenario: Scenario
    axes: tuple[Axis, ...]
    outcomes: tuple[Outcome, ...]
    path: Path | None = None

    @cached_property
    def dataset(self) -> xarray.Dataset:
        """All numbers of the summaries over the swept addresses and ``sampler``."""
        return tidy(self.scenario, self.axes, self.outcomes)

    @property
    def troubled(self) -> tuple[Outcome, ...]:
        """The points that failed or diverged."""
        return tuple(outcome for outcome in self.outcomes if outcome.state != "complete")


class OtherSweep(Exception):
    """The directory holds another sweep than the one to be resumed."""


def sweep(
    scenario: Scenario,
    out: str | Path | None = None,
    executor: Executor | int | None = None,
    *,
    resume: bool = False,
    replace: bool = False,
    progress: Progress | None = None,
    tell: Callable[[Outcome], None] | None = None,
) -> Sweep:
    """Carry out every point of ``scenario``'s ``[sweep]``; all are checked before the first runs.

    Parameters
    ----------
    out : path, optional
        The directory of the sweep; without it everything stays in memory.
    executor : int or concurrent.futures.Executor, optional
        As for ``run``.
    resume, replace : bool
        Whether a sweep that ``out`` holds already is continued (points that are finished are only read), or overwritten.
    progress : callable, optional
        Called as ``progress(done, total, note)`` from this thread.
    tell : callable, optional
        Called with the outcome of each point as soon as it ends.
    """
    points = points_of(scenario)
    folder = Path(out).resolve() if out is not None else None
    if folder is not None:
        _begin(folder, scenario, resume=resume, replace=replace)
    total = sum(_work(point) for point in points)
    done, outcomes = 0.0, []
    for point in points:
        place = folder / POINTS / point.folder if folder is not None else None
        outcome = _carry_out(point, place, executor, _part(progress, point, len(points), done, total))
        done += _work(point)
        outcomes.append(outcome)
        if tell is not None:
            tell(outcome)
    result = Sweep(scenario, axes_of(scenario), tuple(outcomes), folder)
    if folder is not None:
        _finish(folder, result)
    return result


def _work(point: Point) -> float:
    return float(point.scenario.trials) * point.scenario.steps * len(point.scenario.samplers)


def _part(progress: Progress | None, point: Point, points: int, before: float, total: float) -> Progress | None:
    """Tell the progress of one point as that of the whole."""
    if progress is None:
        return None

    def show(done: float, of: float, note: str) -> None:
        share = _work(point) * done / of if of > 0 else 0.0
        progress(before + share, total, f"point {point.index + 1} of {points}: {note}")

    return show


def _carry_out(point: Point, place: Path | None, executor: Executor | int | None, progress: Progress | None) -> Outcome:
    try:
        found = _opened(point, place) or run(point.scenario, place, executor, replace=True, progress=progress)
    except Exception as error:  # the others go on
        return Outcome(point, "failed", f"{type(error).__name__}: {error}", path=place)
    message = _divergence(found.summary)
    return Outcome(point, "diverged" if message else "complete", message, found.summary, place)


def _opened(point: Point, place: Path | None) -> Run | None:
    """Return the point's run if it is finished and whole."""
    if place is None or not place.exists():
        return None
    try:
        found = open_run(place, point.scenario)
    except CorruptRun:
        return None
    return found


def _divergence(summary: Mapping[str, Any]) -> str:
    trials = summary["scenario"]["trials"]
    return "; ".join(
        f"{row['name']} diverged in {row['diverged']} of {trials} trials, first at step {row['first_divergence']}"
        for row in summary["samplers"]
        if row["diverged"]
    )


# --- the directory


def _begin(folder: Path, scenario: Scenario, *, resume: bool, replace: bool) -> None:
    """Take the directory; an old sweep goes only now, when the new one is sure to be valid."""
    is_sweep = (folder / SWEEP).is_file()
    taken = folder.exists() and (not folder.is_dir() or any(folder.iterdir()))
    if taken and resume and is_sweep:
        _refuse_another(folder, scenario)
        return
    if taken and not (replace and is_sweep):
        raise RunExists(folder, is_run=is_sweep)
    if taken:
        shutil.rmtree(folder)
    (folder / POINTS).mkdir(parents=True, exist_ok=True)
    write_file(folder / SCENARIO, scenario.toml().encode())
    write_json(folder / SWEEP, _described(scenario) | {"complete": False})


def _described(scenario: Scenario) -> dict[str, Any]:
    axes = [{"address": axis.address, "values": list(axis.values)} for axis in axes_of(scenario)]
    return {
        "name": scenario.name,
        "scenario_sha256": scenario.sha256,
        "seed": scenario.seed,
        "version": __version__,
        "axes": axes,
    }


def _refuse_another(folder: Path, scenario: Scenario) -> None:
    try:
        found = json.loads((folder / SWEEP).read_bytes())
    except ValueError as error:
        raise OtherSweep(f"{folder / SWEEP}: damaged ({error}); --replace begins anew") from None
    for key, value in json.loads(json.dumps(_described(scenario))).items():
        if found.get(key) != value:
            line = f"{folder}: a sweep with another {key} ({found.get(key)}, not {value})"
            raise OtherSweep(f"{line}; --replace begins anew, --out chooses another directory")


def _finish(folder: Path, result: Sweep) -> None:
    temporary = folder / f".{TIDY}.tmp"
    try:
        result.dataset.to_netcdf(temporary, engine="h5netcdf")
        temporary.replace(folder / TIDY)
    finally:
        temporary.unlink(missing_ok=True)
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
    write_json(folder / SWEEP, _described(result.scenario) | {"points": points, "complete": True})
