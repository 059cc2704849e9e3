"""Carrying out a sweep: its points one after another, each in a run directory of its own, and one result over all.

A point that fails or diverges is told at once and the others go on. All points meet the same seed, so that neighbours
differ by what is swept and not by luck; they share the compiled kernels of one process.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from tracker.plain import jsonable
from tracker.runs import files
from tracker.runs.cluster import refuse_if_silent
from tracker.runs.errors import CorruptRun, RunExists
from tracker.runs.execution import Progress, run
from tracker.runs.identity import data_files, manifest_of
from tracker.runs.locking import LOCK, locked
from tracker.runs.points import Axis, Point, axes_of, points_of
from tracker.runs.reading import resumable
from tracker.runs.records import SCENARIO, Manifest
from tracker.runs.storage import SWEEP_MANIFEST
from tracker.runs.summary import ERROR, SQUARE, per_step
from tracker.runs.tidy import tidy

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import numpy as np
    import xarray
    from numpy.typing import NDArray

    from tracker.runs.result import Run
    from tracker.scenario import Scenario

SWEEP, TABLE, TIDY, POINTS = SWEEP_MANIFEST, "points.json", "sweep.nc", "points"
BEGINNINGS = {LOCK, SCENARIO, POINTS}  # what may stand there before sweep.json does


@dataclass(frozen=True)
class Outcome:
    """How a point ended.

    state : "complete", "diverged" (some trials did; the others count) or "failed" (no result, or not of all trials)
    message : what went wrong, "" where nothing did
    errors : the tracking error of each trial and sampler, shape (T, S), in the order of the summary; nan where diverged
    squares : the mean square error, likewise
    """

    point: Point
    state: str
    message: str = ""
    summary: Mapping[str, Any] | None = None
    errors: NDArray[np.float64] | None = field(default=None, repr=False, compare=False)
    squares: NDArray[np.float64] | None = field(default=None, repr=False, compare=False)


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

    def report(self, path: str | Path) -> None:
        """Write the page of this sweep to ``path``: one HTML file that needs nothing else."""
        from importlib import import_module

        # by name: reports look at sweeps, so sweeps cannot know them
        import_module("tracker.reports.sweep_page").write_sweep_report(self, Path(path))

    def _repr_html_(self) -> str:
        from importlib import import_module

        return str(import_module("tracker.reports.notebook").sweep_html(self))


class How(NamedTuple):
    """How points are carried out: nothing of it changes the result."""

    executor: Executor | int | None
    engine: str
    progress: Progress | None
    notice: Callable[[str], None]


def sweep(
    scenario: Scenario,
    out: str | Path | None = None,
    executor: Executor | int | None = None,
    *,
    replace: bool = False,
    resume: bool = False,
    engine: str = "threads",
    progress: Progress | None = None,
    notice: Callable[[str], None] = lambda _: None,
    tell: Callable[[Outcome], None] = lambda _: None,
) -> Sweep:
    """Carry out every point of ``scenario``'s ``[sweep]``; all are checked before the first runs.

    Parameters
    ----------
    out : path, optional
        The directory of the sweep; without it everything stays in memory.
    executor, engine, progress
        As for ``run``.
    replace, resume : bool
        Whether a sweep that ``out`` holds already is overwritten, or continued: points that are finished are only read.
    notice : callable, optional
        Told, in a line, what went wrong on the way and was put right.
    tell : callable, optional
        Called with the outcome of each point as soon as it ends.

    Raises
    ------
    RunExists, RunLocked, RunDiffers, CorruptRun
        If ``out`` cannot be used.
    """
    points = points_of(scenario)
    if not isinstance(executor, Executor):
        refuse_if_silent(engine, scenario.packages)  # once for all points, not one failure for each
    how = How(executor, engine, progress, notice)
    if out is None:
        return Sweep(scenario, axes_of(scenario), _all(points, None, how, tell))
    folder = Path(out).resolve()
    _refuse_if_taken(folder, data_files(scenario), replace=replace, resume=resume)
    files.make_folder(folder)
    with locked(folder):
        scenario = _taken(folder, scenario, resume=resume)
        result = Sweep(scenario, axes_of(scenario), _all(points, folder / POINTS, how, tell), folder)
        _finish(folder, result)
    return result


# --- the points


def _all(
    points: Sequence[Point], folder: Path | None, how: How, tell: Callable[[Outcome], None]
) -> tuple[Outcome, ...]:
    total, done, outcomes = sum(map(_work, points)), 0.0, []
    for point in points:
        part = how._replace(progress=_part(how.progress, point, len(points), done, total))
        outcomes.append(_outcome(point, folder / point.folder if folder is not None else None, part))
        tell(outcomes[-1])
        done += _work(point)
    return tuple(outcomes)


def _work(point: Point) -> float:
    return float(point.scenario.trials) * point.scenario.steps * len(point.scenario.samplers)


def _part(progress: Progress | None, point: Point, points: int, before: float, total: float) -> Progress | None:
    """Tell the progress of one point as that of the whole."""
    if progress is None:
        return None

    def show(done: float, of: float, note: str) -> None:
        progress(before + _work(point) * done / of, total, f"point {point.index + 1} of {points}: {note}")

    return show


def _outcome(point: Point, place: Path | None, how: How) -> Outcome:
    try:
        return ended(point, _carried_out(point, place, how))
    except Exception as error:  # the others go on
        return Outcome(point, "failed", f"{type(error).__name__}: {error}")


def ended(point: Point, result: Run) -> Outcome:
    """Return the outcome of a point that has a result."""
    summary, arrays = result.summary, result.arrays
    return Outcome(point, *verdict(summary), summary, per_step(arrays, ERROR), per_step(arrays, SQUARE))


def verdict(summary: Mapping[str, Any]) -> tuple[str, str]:
    """Return the state of a point with this summary, and what went wrong."""
    if failed := summary.get("failed"):
        lines = [f"trials {shard['first']} to {shard['stop'] - 1} failed: {shard['error']}" for shard in failed]
        return "failed", "; ".join(lines)
    message = _divergence(summary)
    return "diverged" if message else "complete", message


def _carried_out(point: Point, place: Path | None, how: How) -> Run:
    """Run the point, continue it, or only read it; what is damaged beyond that is computed again."""
    options: dict[str, Any] = {"engine": how.engine, "progress": how.progress, "notice": how.notice}
    try:
        return run(point.scenario, place, how.executor, resume=place is not None, **options)
    except CorruptRun as damaged:
        how.notice(f"{point.label}: {damaged.reason}; computed again")
        return run(point.scenario, place, how.executor, replace=True, **options)


def _divergence(summary: Mapping[str, Any]) -> str:
    trials = summary["scenario"]["trials"]
    return "; ".join(
        f"{row['name']} diverged in {row['diverged']} of {trials} trials, first at step {row['first_divergence']}"
        for row in summary["samplers"]
        if row["diverged"]
    )


# --- the directory


def _refuse_if_taken(folder: Path, data: Iterable[str], *, replace: bool, resume: bool) -> None:
    if not folder.exists():
        return
    names = {path.name for path in folder.iterdir() if path.suffix != files.TEMPORARY} if folder.is_dir() else {""}
    begun_only = LOCK in names and names <= {*BEGINNINGS, *data}  # killed before sweep.json was written
    if names and not begun_only and not (SWEEP in names and (replace or resume)):
        raise RunExists(folder, is_run=SWEEP in names)


def _taken(folder: Path, scenario: Scenario, *, resume: bool) -> Scenario:
    """Begin, or make sure that what is here is the same sweep; return the scenario that it goes on with.

    An old one goes only now, when the new one is valid.
    """
    if resume and (folder / SWEEP).exists():
        return resumable(folder, read_sweep_manifest(folder), scenario)
    for old in sorted(folder.iterdir()):
        if old.name not in (LOCK, SWEEP):  # without its name, half a sweep could not be replaced again
            files.remove(old)
    files.make_folder(folder / POINTS)
    for name, content in data_files(scenario).items():
        files.write_file(folder / name, content)
    files.write_file(folder / SCENARIO, scenario.toml().encode())
    files.write_file(folder / SWEEP, manifest_of(scenario, 1).encode())
    return scenario


def read_sweep_manifest(path: Path) -> Manifest:
    """Return the manifest of the sweep in the directory ``path``."""
    try:
        manifest = Manifest.decode((path / SWEEP).read_bytes())
    except OSError as error:
        raise CorruptRun(path, f"no sweep: {SWEEP}: {error.strerror or error}") from None
    if manifest is None:
        raise CorruptRun(path, f"{SWEEP} is damaged, or of another version; --replace begins anew")
    return manifest


def _finish(folder: Path, result: Sweep) -> None:
    files.write_with(folder / TIDY, lambda path: _write_netcdf(result.dataset, path))
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
    text = json.dumps(jsonable({"points": points}), indent=2, allow_nan=False) + "\n"
    files.write_file(folder / TABLE, text.encode())
    files.write_file(folder / SWEEP, replace(manifest_of(result.scenario, 1), complete=True).encode())


def _write_netcdf(dataset: xarray.Dataset, path: Path) -> None:
    dataset.to_netcdf(path, engine="h5netcdf")
