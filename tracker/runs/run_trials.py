"""Carry out a run: compute shards of trials, keep each as it is finished, and join them in the order of trials."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterable
from concurrent.futures import Executor
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from tracker.engine.arrays import rows_of
from tracker.engine.simulate import compile_kernels, most_trials, prepare
from tracker.runs import atomic_files
from tracker.runs.checkpoints import steps_held
from tracker.runs.dask_cluster import refuse_if_silent
from tracker.runs.executors import executor_of
from tracker.runs.forecast import LARGEST_SHARD, MOST_SHARDS
from tracker.runs.lock_file import hold_lock
from tracker.runs.manifest import shards_of
from tracker.runs.resuming import Stored
from tracker.runs.run_directory import RunDirectory
from tracker.runs.run_errors import NothingComputed, RunExists
from tracker.runs.run_identity import manifest_of
from tracker.runs.run_reading import open_run, scenario_to_resume
from tracker.runs.run_result import Run
from tracker.runs.shard_schedule import ShardSchedule
from tracker.runs.summary import summarise
from tracker.runs.workers import Task

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tracker.engine.simulate import Problem
    from tracker.runs.manifest import Manifest
    from tracker.runs.run_errors import FailedShard
    from tracker.scenario import Scenario

    Arrays = dict[str, NDArray[Any]]

Progress = Callable[[float, float, str], None]
SECONDS_BETWEEN_SIGNS_OF_LIFE = 2.0  # of life, for `tracker status`


class Execution(NamedTuple):
    """How a run, or each point of a sweep, is carried out: nothing of it changes the result."""

    executor: Executor | int | None
    engine: str
    progress: Progress
    notice: Callable[[str], None]


def run(
    scenario: Scenario,
    out: str | Path | None = None,
    executor: Executor | int | None = None,
    *,
    replace: bool = False,
    resume: bool = False,
    engine: str = "threads",
    progress: Progress | None = None,
    notice: Callable[[str], None] | None = None,
    shard_size: int | None = None,
) -> Run:
    """Carry out ``scenario``.

    Parameters
    ----------
    out : path, optional
        The run directory; without it everything stays in memory.
    executor : int or concurrent.futures.Executor, optional
        A number of workers (default: one for each core), or any executor.
    replace, resume : bool
        Whether a run that ``out`` holds already is overwritten, or continued. Where there is none, it begins.
    engine : str
        ``"threads"``, ``"processes"``, ``"dask"`` or ``"dask:ADDRESS"``, where ``executor`` is a number.
    progress : callable, optional
        Called as ``progress(done, total, note)`` from this thread.
    notice : callable, optional
        Told, in a line, what went wrong on the way and was put right or left out; otherwise a warning says so.
    shard_size : int, optional
        Trials per shard. The result does not depend on it; a resumed run keeps the one it began with.

    Raises
    ------
    RunExists, RunLocked, RunDiffers, CorruptRun
        If ``out`` cannot be used.
    NoScheduler
        If nothing answers at the address of a Dask cluster.
    NothingComputed
        If every shard failed. Shards that fail three times are otherwise left out: ``summary["failed"]`` names them.

    Examples
    --------
    >>> import tracker
    >>> run = tracker.run(tracker.load("scenarios/example_a.toml", ["trials=2", "steps=8"]))
    >>> [row["name"] for row in run.summary["samplers"]], run.dataset.sizes["trial"]
    (['skewed', 'frozen', 'oracle'], 2)
    """
    if scenario.sweep:
        raise ValueError("a scenario with [sweep] stands for many runs: run its points one by one")
    if resume and (replace or out is None):
        raise ValueError("resume needs a run directory (out), and excludes replace")
    how = Execution(executor, engine, progress or (lambda *_: None), notice or _warn)
    if out is None:
        problem = _ready(scenario, how)
        return _carry_out(problem, manifest_of(scenario, _size(problem, shard_size)), None, {}, how)
    directory = RunDirectory(Path(out), how.notice)
    directory.refuse_if_taken(replace=replace, resume=resume)
    old = directory.manifest() if resume else None
    if old is not None:
        scenario = scenario_to_resume(directory.path, old, scenario)
        if old.complete:
            directory.tidy_if_needed(old)
            return open_run(directory.path, scenario)
    problem = _ready(scenario, how)
    manifest = manifest_of(scenario, old.shard_size if old is not None else _size(problem, shard_size))
    shards = shards_of(manifest)  # before anything is written: it may refuse
    atomic_files.make_folder(directory.path)
    with hold_lock(directory.path):
        if (directory.manifest() if not replace else None) != old:  # something came here while we prepared
            raise RunExists(directory.path, is_run=True)
        kept: dict[int, Stored] = {}
        if old is None:
            directory.begin(scenario, manifest)
        else:
            kept = directory.take_over(problem, manifest, shards)
        return _carry_out(problem, manifest, directory, kept, how)


def _warn(line: str) -> None:
    warnings.warn(line, RuntimeWarning, stacklevel=2)


def _ready(scenario: Scenario, how: Execution) -> Problem:
    if not isinstance(how.executor, Executor):
        refuse_if_silent(how.engine, scenario.packages)  # before anything is prepared or written
    how.progress(0.0, 1.0, "finding the minimisers")
    problem = prepare(scenario)
    compile_kernels(problem, lambda note: how.progress(0.0, 1.0, note))
    return problem


def _size(problem: Problem, asked: int | None) -> int:
    trials = problem.scenario.trials
    return asked or min(LARGEST_SHARD, most_trials(problem), max(1, -(-trials // MOST_SHARDS)))


def _carry_out(
    problem: Problem, manifest: Manifest, directory: RunDirectory | None, kept: dict[int, Stored], how: Execution
) -> Run:
    """Compute the shards that are not ``kept``, and make the result of all."""
    failed = compute(problem, manifest, directory, kept, how)
    if not kept:
        raise NothingComputed(failed)
    seconds = np.sum([shard.seconds for shard in kept.values()], axis=0)
    arrays = join(kept.pop(index).arrays for index in sorted(kept))
    summary = summarise(problem, arrays, seconds)
    if failed:
        summary["failed"] = [shard._asdict() for shard in failed]
    result = Run(problem.scenario, summary, arrays, problem, directory.path if directory is not None else None)
    if directory is not None:
        directory.finish(manifest, summary, result.dataset, rows_of(problem), failed)
    return result


def compute(
    problem: Problem, manifest: Manifest, directory: RunDirectory | None, kept: dict[int, Stored], how: Execution
) -> list[FailedShard]:
    """Add all shards that are not ``kept`` to them; return those that could not be computed."""
    shards = shards_of(manifest)
    per_trial = float(problem.scenario.steps) * len(problem.contestants)
    total = per_trial * problem.scenario.trials
    tasks = [_task(problem, manifest, directory, n, trials) for n, trials in enumerate(shards) if n not in kept]
    base = per_trial * sum(len(shards[index]) for index in kept) + sum(task.held for task in tasks)
    began, start, told, new = time.time(), base, 0.0, 0.0

    def commit(task: Task, shard: Stored) -> None:
        nonlocal new
        if directory is not None:
            directory.add_shard(manifest, task.shard, shards[task.shard], shard)
        kept[task.shard] = shard
        new += per_trial * len(shards[task.shard]) - task.held

    def tell(under_way: float) -> None:
        nonlocal began, start, told
        done = base + new + under_way
        if start == base < done:  # a resumed shard first replays the chain, without computing
            began, start = time.time(), done
        how.progress(done, total, "running")
        if directory is not None and time.time() - max(began, told) > SECONDS_BETWEEN_SIGNS_OF_LIFE:
            told = time.time()
            directory.tell_progress(done, start, total, began)

    how.progress(base, total, "running")
    if not tasks:
        return []
    # BLAS on one thread: trials are what runs in parallel, and sums must not depend on the number of threads
    with threadpool_limits(1, user_api="blas"):
        engine = executor_of(problem, how.executor, how.engine, len(shards))
        schedule = ShardSchedule(engine, tasks, commit, how.notice)
        try:
            schedule.run(tell)
        except BaseException:
            engine.close(at_once=True)
            raise
        engine.close(at_once=False)
    return schedule.failed


def _task(problem: Problem, manifest: Manifest, directory: RunDirectory | None, index: int, trials: range) -> Task:
    if directory is None:
        return Task(index, trials.start, trials.stop, None)
    place = directory.checkpoint(manifest, index)
    held = float(len(trials)) * len(problem.contestants) * (steps_held(place, verify=True) or 0.0)
    return Task(index, trials.start, trials.stop, place, held)


def join(shards: Iterable[Arrays]) -> Arrays:
    """Join shards along the trial axis; array by array, each forgotten once it is joined, so that no array is held twice."""
    parts = [dict(part) for part in shards]
    return {name: np.concatenate([part.pop(name) for part in parts]) for name in list(parts[0])}
