"""Compute the shards of a run: what carries them out, in which order they are kept, and what they tell on the way."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import Executor
from typing import TYPE_CHECKING, NamedTuple

from threadpoolctl import threadpool_limits

from tracker.formatting import counted
from tracker.runs.checkpoints import steps_held
from tracker.runs.executors import executor_of
from tracker.runs.kept_engine import KeptEngine
from tracker.runs.manifest import shards_of, trials_of
from tracker.runs.shard_schedule import ShardSchedule
from tracker.runs.workers import Task

if TYPE_CHECKING:
    from tracker.engine.simulate import Problem
    from tracker.runs.executors import ShardExecutor
    from tracker.runs.manifest import Manifest
    from tracker.runs.run_directory import RunDirectory
    from tracker.runs.run_errors import FailedShard
    from tracker.runs.stored_shards import Stored

Progress = Callable[[float, float, str], None]
SECONDS_BETWEEN_SIGNS_OF_LIFE = 2.0  # which `tracker status` reads


class Execution(NamedTuple):
    """How a run, or each point of a sweep, is carried out: nothing of it changes the result."""

    executor: Executor | KeptEngine | int | None
    engine: str
    progress: Progress
    notice: Callable[[str], None]
    checks: bool = True


def compute(
    problem: Problem, manifest: Manifest, directory: RunDirectory | None, kept: dict[int, Stored], how: Execution
) -> list[FailedShard]:
    """Add all shards that are not ``kept`` to them; return those that could not be computed."""
    shards = shards_of(manifest)
    per_trial = float(problem.scenario.steps) * len(problem.contestants)
    total = per_trial * len(trials_of(manifest))
    tasks = [_task(problem, manifest, directory, n, trials) for n, trials in enumerate(shards) if n not in kept]
    base = per_trial * sum(len(shards[index]) for index in kept) + sum(task.held for task in tasks)
    began, start, told, new = time.time(), base, 0.0, 0.0

    def note() -> str:
        return f"running, {sum(len(shards[index]) for index in kept)} of {counted(len(trials_of(manifest)), 'trial')}"

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
        how.progress(done, total, note())
        if directory is not None and time.time() - max(began, told) > SECONDS_BETWEEN_SIGNS_OF_LIFE:
            told = time.time()
            directory.tell_progress(done, start, total, began)

    how.progress(base, total, note())
    if not tasks:
        return []
    # BLAS on one thread: trials are what runs in parallel, and sums must not depend on the number of threads
    with threadpool_limits(1, user_api="blas"):
        engine = _engine(problem, how, len(shards))
        schedule = ShardSchedule(engine, tasks, commit, how.notice)
        try:
            schedule.run(tell)
        except BaseException:
            engine.close(at_once=True)
            raise
        engine.close(at_once=False)
    return schedule.failed


def _engine(problem: Problem, how: Execution, shards: int) -> ShardExecutor:
    if isinstance(how.executor, KeptEngine):
        return how.executor.lend(problem, how.engine, shards)
    return executor_of(problem, how.executor, how.engine, shards)


def _task(problem: Problem, manifest: Manifest, directory: RunDirectory | None, index: int, trials: range) -> Task:
    if directory is None:
        return Task(index, trials.start, trials.stop, None)
    place = directory.checkpoint(manifest, index)
    held = float(len(trials)) * len(problem.contestants) * (steps_held(place, verify=True) or 0.0)
    return Task(index, trials.start, trials.stop, place, held)
