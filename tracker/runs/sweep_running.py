"""Carry out a sweep: run its points one after another, each in its own directory, and write one result.

A point that fails or diverges is reported at once, and the others go on. All points have the same seed, so that neighbours
differ only by what is swept. They share the compiled kernels of one process, and one pool of workers.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from concurrent.futures import Executor
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tracker.regular_files import is_own_folder, stands_there
from tracker.runs import atomic_files, sweep_directory
from tracker.runs.compute_shards import Execution, Progress
from tracker.runs.dask_cluster import refuse_if_silent
from tracker.runs.file_names import POINTS
from tracker.runs.kept_engine import KeptEngine
from tracker.runs.lock_file import hold_lock
from tracker.runs.ownership import put_aside
from tracker.runs.progress_bars import progress_of
from tracker.runs.run_errors import CorruptRun
from tracker.runs.run_identity import resolve_links
from tracker.runs.run_trials import run, warn
from tracker.runs.sweep_points import axes_of, points_of
from tracker.runs.sweep_result import Outcome, Sweep, outcome_of_run
from tracker.scenario import ScenarioWarning, as_scenario
from tracker.scenario import warnings as doubts
from tracker.scenario.own_checks import check_at_start

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tracker.runs.run_result import Run
    from tracker.runs.sweep_points import Point
    from tracker.scenario import Scenario


def sweep(
    scenario: Scenario,
    out: str | Path | None = None,
    executor: Executor | int | None = None,
    *,
    replace: bool = False,
    resume: bool = False,
    engine: str = "threads",
    progress: Progress | bool | None = None,
    notice: Callable[[str], None] | None = None,
    tell: Callable[[Outcome], None] = lambda _: None,
    checks: bool = True,
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
        Told, in a line, what went wrong on the way and was put right; otherwise a warning says so, and
        ``tracker.ScenarioWarning`` warns of what is doubtful at a point.
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
    if as_scenario(scenario) and checks:
        check_at_start(scenario)  # once for all points; each has its own check at its minimisers
    points = points_of(scenario)
    if notice is None:
        for line in _doubts(points):
            warnings.warn(line, ScenarioWarning, stacklevel=2)
    if not isinstance(executor, Executor):
        refuse_if_silent(engine, scenario.packages)  # once for all points, not one failure for each
    # one pool for all points, unless it is the caller's
    pool: AbstractContextManager[Any] = (
        nullcontext(executor) if isinstance(executor, Executor) else KeptEngine(executor)
    )
    with progress_of(progress) as shown, pool as workers:
        how = Execution(workers, engine, shown, notice or warn, checks)
        return _sweep(scenario, points, None if out is None else Path(out), how, tell, replace=replace, resume=resume)


def _sweep(
    scenario: Scenario,
    points: Sequence[Point],
    out: Path | None,
    how: Execution,
    tell: Callable[[Outcome], None],
    *,
    replace: bool,
    resume: bool,
) -> Sweep:
    if out is None:
        return Sweep(scenario, axes_of(scenario), _all(points, None, how, tell))
    folder = resolve_links(out)
    sweep_directory.refuse_if_taken(folder, replace=replace, resume=resume)
    atomic_files.make_folder(folder)
    with hold_lock(folder):
        scenario = sweep_directory.begin_or_resume(folder, scenario, replace=replace, resume=resume)
        result = Sweep(scenario, axes_of(scenario), _all(points, folder / POINTS, how, tell), folder)
        sweep_directory.finish(folder, result)
    return result


def _all(
    points: Sequence[Point], folder: Path | None, how: Execution, tell: Callable[[Outcome], None]
) -> tuple[Outcome, ...]:
    total, done, outcomes = sum(map(_work, points)), 0.0, []
    for point in points:
        part = how._replace(progress=_part(how.progress, point, len(points), done, total))
        outcomes.append(_outcome(point, folder / point.folder if folder is not None else None, part))
        tell(outcomes[-1])
        done += _work(point)
    return tuple(outcomes)


def _doubts(points: Sequence[Point]) -> list[str]:
    """Return what is doubtful: each line once, with the first point that it is about and how many others."""
    found: dict[str, list[str]] = {}
    for point in points:
        for line in doubts(point.scenario):
            found.setdefault(line, []).append(point.label)
    return [f"{first}{f' and {len(more)} more' if more else ''}: {line}" for line, (first, *more) in found.items()]


def _work(point: Point) -> float:
    return float(point.scenario.trials) * point.scenario.steps * len(point.scenario.samplers)


def _part(progress: Progress, point: Point, points: int, before: float, total: float) -> Progress:
    """Tell the progress of one point as that of the whole."""

    def show(done: float, of: float, note: str) -> None:
        progress(before + _work(point) * done / of, total, f"point {point.index + 1} of {points}: {note}")

    return show


def _outcome(point: Point, place: Path | None, how: Execution) -> Outcome:
    try:
        return outcome_of_run(point, _carried_out(point, place, how))
    except Exception as error:  # the others go on
        return Outcome(point, "failed", f"{type(error).__name__}: {error}")


def _carried_out(point: Point, place: Path | None, how: Execution) -> Run:
    """Run the point, continue it, or only read it; what is damaged beyond that is put aside and computed again."""
    options: dict[str, Any] = {
        "engine": how.engine, "progress": how.progress, "notice": how.notice, "checks": how.checks,
    }  # fmt: skip
    workers: Any = how.executor  # perhaps an engine that is kept from point to point, which only a sweep has
    if place is None:
        return run(point.scenario, None, workers, **options)
    try:
        if stands_there(place) and not is_own_folder(place):
            raise CorruptRun(place, "no folder of a run")  # noqa: TRY301
        return run(point.scenario, place, workers, resume=True, **options)
    except CorruptRun as damaged:
        aside = put_aside(place.parent.parent, place)
        how.notice(f"{point.label}: {damaged.reason}; moved to {aside}, computed again")
        return run(point.scenario, place, workers, **options)
