"""Carry out a sweep: run its points one after another, each in its own directory, and write one result.

A point that fails or diverges is reported at once, and the others go on. All points have the same seed, so that neighbours
differ only by what is swept. They share the compiled kernels of one process.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from tracker.jsonable import jsonable
from tracker.metrics.estimates import trial_values
from tracker.metrics.table import METRICS
from tracker.regular_files import is_own_folder, read_regular, stands_there
from tracker.runs import atomic_files
from tracker.runs.dask_cluster import refuse_if_silent
from tracker.runs.file_names import POINTS, SWEEP_MANIFEST, TABLE, TIDY, is_file_of_a_run, refuse_disguises
from tracker.runs.lock_file import LOCK, locked
from tracker.runs.manifest import LARGEST_MANIFEST, Manifest, NewerFormat
from tracker.runs.ownership import clear, look, manifest_in, put_aside, refuse_foreign, strangers
from tracker.runs.resuming import write_scenario, write_scenario_again
from tracker.runs.run_errors import CorruptRun, RunExists
from tracker.runs.run_identity import hash_of_file, manifest_of, resolved, sha256
from tracker.runs.run_reading import resumable
from tracker.runs.run_trials import Progress, run
from tracker.runs.sweep_points import Axis, Point, axes_of, points_of
from tracker.runs.sweep_table import sweep_dataset

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import xarray

    from tracker.array_types import Array
    from tracker.runs.run_result import Run
    from tracker.scenario import Scenario

SWEEP = SWEEP_MANIFEST


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
    errors: Array | None = field(default=None, repr=False, compare=False)
    squares: Array | None = field(default=None, repr=False, compare=False)


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
        return sweep_dataset(self.scenario, self.axes, self.outcomes)

    @property
    def troubled(self) -> tuple[Outcome, ...]:
        """The points that failed or diverged."""
        return tuple(outcome for outcome in self.outcomes if outcome.state != "complete")

    def report(self, path: str | Path) -> None:
        """Write the page of this sweep to ``path``: one HTML file that needs nothing else."""
        import tracker  # reports look at sweeps, so sweeps know them only as a user does

        tracker.reports.write_sweep_page(self, Path(path))

    def _repr_html_(self) -> str:
        import tracker

        return tracker.reports.sweep_html(self)


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

    Examples
    --------
    >>> import tracker
    >>> settings = ["trials=2", "steps=8", "sweep={'chain.alpha' = [0.01, 0.02]}"]
    >>> found = tracker.sweep(tracker.load("scenarios/example_a.toml", settings))
    >>> found.dataset["tracking_error"].dims
    ('chain.alpha', 'sampler')
    """
    points = points_of(scenario)
    if not isinstance(executor, Executor):
        refuse_if_silent(engine, scenario.packages)  # once for all points, not one failure for each
    how = How(executor, engine, progress, notice)
    if out is None:
        return Sweep(scenario, axes_of(scenario), _all(points, None, how, tell))
    folder = resolved(Path(out))
    _refuse_if_taken(folder, replace=replace, resume=resume)
    atomic_files.make_folder(folder)
    with locked(folder):
        scenario = _taken(folder, scenario, replace=replace, resume=resume)
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
    values = (trial_values(METRICS[key], result.measured) for key in ("tracking_error", "mean_square_error"))
    return Outcome(point, *verdict(result.summary), result.summary, *values)


def verdict(summary: Mapping[str, Any]) -> tuple[str, str]:
    """Return the state of a point with this summary, and what went wrong."""
    if failed := summary.get("failed"):
        lines = [f"trials {shard['first']} to {shard['stop'] - 1} failed: {shard['error']}" for shard in failed]
        return "failed", "; ".join(lines)
    message = _divergence(summary)
    return "diverged" if message else "complete", message


def _carried_out(point: Point, place: Path | None, how: How) -> Run:
    """Run the point, continue it, or only read it; what is damaged beyond that is put aside and computed again."""
    options: dict[str, Any] = {"engine": how.engine, "progress": how.progress, "notice": how.notice}
    if place is None:
        return run(point.scenario, None, how.executor, **options)
    try:
        if stands_there(place) and not is_own_folder(place):
            raise CorruptRun(place, "no folder of a run")  # noqa: TRY301
        return run(point.scenario, place, how.executor, resume=True, **options)
    except CorruptRun as damaged:
        aside = put_aside(place.parent.parent, place)
        how.notice(f"{point.label}: {damaged.reason}; moved to {aside}, computed again")
        return run(point.scenario, place, how.executor, **options)


def _divergence(summary: Mapping[str, Any]) -> str:
    trials = summary["scenario"]["trials"]
    return "; ".join(
        f"{row['name']} diverged in {row['diverged']} of {trials} trials, first at step {row['first_divergence']}"
        for row in summary["samplers"]
        if row["diverged"]
    )


# --- the directory


def _refuse_if_taken(folder: Path, *, replace: bool, resume: bool) -> None:
    old = manifest_in(folder, SWEEP)
    if old is None:
        if found := strangers(folder):
            raise RunExists(folder, is_run=False, found=found)
    elif not resume:
        refuse_foreign(folder, list(look(folder, old, SWEEP)))
        if not replace:
            raise RunExists(folder, is_run=True)


def _taken(folder: Path, scenario: Scenario, *, replace: bool, resume: bool) -> Scenario:
    """Begin, or make sure that what is here is the same sweep; return the scenario that it goes on with.

    An old one goes only now, when the new one is valid; the manifest, by which all else is known as ours, comes first.
    """
    if resume and stands_there(folder / SWEEP):
        manifest = read_sweep_manifest(folder)
        known = resumable(folder, manifest, scenario)
        write_scenario_again(folder, manifest, known)
        return known
    old = manifest_in(folder, SWEEP)
    found = [name for name in strangers(folder) if name != LOCK] if old is None else []
    if found or (old is not None and not replace):  # something came here while we prepared
        raise RunExists(folder, is_run=not found, found=found)
    if old is not None:
        clear(folder, old, SWEEP)
    atomic_files.remove_temporaries(folder, is_file_of_a_run)
    atomic_files.write_file(folder / SWEEP, manifest_of(scenario, 1).encode())
    atomic_files.make_folder(folder / POINTS)
    write_scenario(folder, scenario)
    return scenario


def read_sweep_manifest(path: Path) -> Manifest:
    """Return the manifest of the sweep in the directory ``path``, in which nothing of ours may be a link."""
    refuse_disguises(path)
    try:
        manifest = Manifest.decode(read_regular(path / SWEEP, LARGEST_MANIFEST))
    except OSError as error:
        raise CorruptRun(path, f"no sweep: {SWEEP}: {error.strerror or error}") from None
    except NewerFormat as error:
        raise CorruptRun(path, f"{SWEEP}: {error}") from None
    if manifest is None:
        raise CorruptRun(path, f"{SWEEP} is damaged, of another version, or not a sweep's")
    return manifest


def _finish(folder: Path, result: Sweep) -> None:
    before = read_sweep_manifest(folder).files
    for name in (TIDY, TABLE):
        if stands_there(folder / name) and hash_of_file(folder / name) != before.get(name):
            put_aside(folder, folder / name)
    atomic_files.write_with(folder / TIDY, lambda path: _write_netcdf(result.dataset, path))
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
    atomic_files.write_file(folder / TABLE, text)
    hashes = {TIDY: hash_of_file(folder / TIDY), TABLE: sha256(text)}
    atomic_files.write_file(
        folder / SWEEP, replace(manifest_of(result.scenario, 1), complete=True, files=hashes).encode()
    )


def _write_netcdf(dataset: xarray.Dataset, path: Path) -> None:
    dataset.to_netcdf(path, engine="h5netcdf")
