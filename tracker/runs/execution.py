"""Carrying out a run: shards of trials over an executor, collected in the order of their trials."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ThreadPoolExecutor, wait
from contextlib import nullcontext
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from threadpoolctl import threadpool_limits

from tracker import __version__
from tracker.runs.result import Run
from tracker.runs.storage import RunDirectory
from tracker.runs.summary import summarise
from tracker.simulate import compile_kernels, most_trials, prepare, simulate

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tracker.scenario import Scenario
    from tracker.simulate import Problem

    Arrays = dict[str, NDArray[Any]]

Progress = Callable[[float, float, str], None]
LARGEST_SHARD = 1000  # trials
SHARDS_WANTED = 64  # so that workers stay busy to the end; more than this many only for very many trials
POLL_SECONDS = 0.1


def run(
    scenario: Scenario,
    out: str | Path | None = None,
    executor: Executor | int | None = None,
    *,
    replace: bool = False,
    progress: Progress | None = None,
    shard_size: int | None = None,
) -> Run:
    """Carry out ``scenario``.

    Parameters
    ----------
    out : path, optional
        The run directory; without it everything stays in memory.
    executor : int or concurrent.futures.Executor, optional
        A number of threads (default: one for each core), or an executor of threads.
    replace : bool
        Whether a run that ``out`` holds already is overwritten.
    progress : callable, optional
        Called as ``progress(done, total, note)`` from this thread.
    shard_size : int, optional
        Trials per shard. The result does not depend on it.
    """
    if scenario.sweep:
        raise ValueError("a scenario with [sweep] stands for many runs: run its points one by one")
    tell = progress or (lambda *_: None)
    directory = RunDirectory(Path(out), replace=replace) if out is not None else None
    tell(0.0, 1.0, "finding the minimisers")
    problem = prepare(scenario)
    manifest = manifest_of(scenario)
    compile_kernels(problem, lambda note: tell(0.0, 1.0, note))
    if directory is not None:
        directory.begin(scenario.toml(), manifest, scenario.files)
    arrays, seconds = collect_shards(problem, executor, directory, tell, shard_size)
    summary = summarise(problem, arrays, seconds)
    result = Run(scenario, summary, arrays, problem, directory.path if directory is not None else None)
    if directory is not None:
        directory.finish(manifest, summary, result.dataset)
    return result


def manifest_of(scenario: Scenario) -> dict[str, Any]:
    """Return what the result depends on."""
    packages = ("numpy", "scipy", "numba", "simpy")
    return {
        "name": scenario.name,
        "seed": scenario.seed,
        "scenario_sha256": scenario.sha256,
        "versions": {"tracker": __version__, **{package: metadata.version(package) for package in packages}},
    }


def shards_of(trials: int, size: int | None, most: int) -> list[range]:
    """Cut the trials into shards of ``size``, or of a good size up to ``most``."""
    size = size or min(LARGEST_SHARD, most, max(1, -(-trials // SHARDS_WANTED)))
    return [range(first, min(first + size, trials)) for first in range(0, trials, size)]


class Meter:
    """Counts steps over threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.done = 0.0

    def add(self, steps: float) -> None:
        """Count ``steps`` more."""
        with self._lock:
            self.done += steps


def collect_shards(
    problem: Problem,
    executor: Executor | int | None,
    directory: RunDirectory | None,
    tell: Progress,
    shard_size: int | None,
) -> tuple[Arrays, NDArray[np.float64]]:
    """Run all shards and join their arrays in the order of trials."""
    shards = shards_of(problem.scenario.trials, shard_size, most_trials(problem))
    total = float(problem.scenario.trials) * problem.scenario.steps * len(problem.contestants)
    meter, stop = Meter(), threading.Event()
    found: dict[int, Arrays] = {}
    seconds = np.zeros(len(problem.contestants))

    def work(index: int) -> tuple[int, Arrays, NDArray[np.float64]]:
        return index, *simulate(problem, shards[index], meter.add, stop.is_set)

    # BLAS on one thread: trials are what runs in parallel, and sums must not depend on the number of threads
    with threadpool_limits(1, user_api="blas"), _pool(executor) as pool:
        waiting: set[Future[tuple[int, Arrays, NDArray[np.float64]]]] = set()
        try:
            waiting = {pool.submit(work, index) for index in range(len(shards))}
            while waiting:
                finished, waiting = wait(waiting, timeout=POLL_SECONDS, return_when=FIRST_COMPLETED)
                for future in finished:
                    index, arrays, spent = future.result()
                    found[index] = arrays
                    seconds += spent
                    if directory is not None:
                        directory.add_shard(index, arrays)
                tell(meter.done, total, "running")
        except BaseException:
            stop.set()
            for future in waiting:
                future.cancel()
            raise
    return join(found[index] for index in range(len(shards))), seconds


def join(shards: Iterable[Arrays]) -> Arrays:
    """Join shards along the trial axis."""
    parts = list(shards)
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def _pool(executor: Executor | int | None) -> Any:
    if isinstance(executor, Executor):
        return nullcontext(executor)
    return ThreadPoolExecutor(executor or os.cpu_count() or 1)
