"""The executors that compute shards. ``concurrent.futures.Executor`` is the only interface; a broken pool is rebuilt.

threads      the default: the kernels release the GIL, nothing is copied.
processes    spawned, never forked (a fork copies locks that other threads hold); they load what this process compiled
             from the cache on disk.
dask         a local cluster, on loopback only; ``dask:ADDRESS`` one that exists already (see ``dask_cluster`` for tls://). The
             program must be the same there.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from multiprocessing import resource_tracker
from typing import TYPE_CHECKING, Any

from tracker.engine.simulate import simulate
from tracker.runs.checkpoints import Checkpoint
from tracker.runs.dask_cluster import connect, host_and_port
from tracker.runs.stored_shards import Stored
from tracker.runs.workers import PackedProblem, Task, pack, start_worker, work

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tracker.engine.simulate import Problem

ENGINES = ("threads", "processes", "dask", "dask:ADDRESS")
SECONDS_TO_CLOSE = 1.0
LOOPBACK = "127.0.0.1"
KILL_SIGNAL = getattr(signal, "SIGKILL", signal.SIGTERM)  # no such thing on Windows


@contextmanager
def signals_kept_from_children() -> Iterator[None]:
    """Let processes that are started in here never hear Ctrl-C and hang-ups, which reach the whole group: we tell them to stop.

    What comes for this process meanwhile is handed over at the end.
    """
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGHUP})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


class ShardExecutor:
    """Computes shards; with ``width`` of them submitted it never waits for the next, even while one is being stored.

    What is written here serves an executor of the caller's, of any kind but threads.
    """

    width: int

    def __init__(self, problem: Problem, pool: Executor) -> None:
        self.width = 2 * int(getattr(pool, "_max_workers", 0) or os.cpu_count() or 1)
        self._payload: PackedProblem = pack(problem)
        self._pool = pool

    def serve(self, problem: Problem, shards: int) -> bool:  # noqa: ARG002
        """Turn to another problem when all shards of the last are done; False where that is impossible."""
        self._payload = pack(problem)
        return True

    def submit(self, task: Task) -> Future[Stored]:
        """Begin a shard."""
        return self._pool.submit(work, self._payload, task)

    def steps(self, shard: int) -> float:  # noqa: ARG002
        """Return how many steps of a shard are done; 0 where workers do not tell."""
        return 0.0

    def rebuild(self) -> bool:
        """Build anew what broke; False where that is left to the caller."""
        return False

    def close(self, *, at_once: bool) -> None:
        """End, ``at_once`` without waiting for shards under way; an executor of the caller's is left as it is."""


class Threads(ShardExecutor):
    """Threads of this process, its own or the caller's; ``then`` is done to a shard in the thread that computed it."""

    def __init__(
        self,
        problem: Problem,
        workers: int | None,
        pool: ThreadPoolExecutor | None = None,
        then: Callable[[Stored], Any] | None = None,
    ) -> None:
        count = workers or (pool._max_workers if pool is not None else 0) or os.cpu_count() or 1  # noqa: SLF001
        self.width = 2 * count
        self._problem, self._own, self._then = problem, pool is None, then
        self._pool = pool or ThreadPoolExecutor(count)
        self._stop = threading.Event()
        self._steps: dict[int, float] = {}

    def serve(self, problem: Problem, shards: int) -> bool:  # noqa: ARG002
        """Turn to another problem."""
        self._problem = problem
        self._steps.clear()
        return True

    def submit(self, task: Task) -> Future[Any]:
        """Begin a shard."""
        return self._pool.submit(self._work, task)

    def _work(self, task: Task) -> Any:
        self._steps[task.shard] = 0.0

        def add(more: float) -> None:
            self._steps[task.shard] += more

        keeper = Checkpoint(task.place) if task.place is not None else None
        done = Stored(*simulate(self._problem, range(task.first, task.stop), add, self._stop.is_set, keeper))
        return done if self._then is None else self._then(done)

    def steps(self, shard: int) -> float:
        """Return how many steps of a shard are done."""
        return self._steps.get(shard, 0.0)

    def close(self, *, at_once: bool) -> None:
        """End."""
        if at_once:
            self._stop.set()
        if self._own:
            self._pool.shutdown(cancel_futures=at_once)


class Processes(ShardExecutor):
    """Spawned processes of this machine; steps and the wish to stop go through shared memory without locks."""

    _pool: ProcessPoolExecutor

    def __init__(self, problem: Problem, workers: int | None, shards: int) -> None:
        self._workers = workers or os.cpu_count() or 1
        self.width = self._workers + 1
        self._payload = pack(problem)
        self._context = multiprocessing.get_context("spawn")
        with signals_kept_from_children():  # it outlives us by a moment, and clears away what we leave
            resource_tracker.ensure_running()
        self._steps: Any = self._context.RawArray("d", max(shards, 1))
        self._stop: Any = self._context.RawValue("b", 0)
        self._pool = self._made()

    def serve(self, problem: Problem, shards: int) -> bool:
        """Turn to another problem, unless it has more shards than there are places to tell their steps."""
        if shards > len(self._steps):
            return False
        self._steps[:] = [0.0] * len(self._steps)
        return super().serve(problem, shards)

    def _made(self) -> ProcessPoolExecutor:
        board = (self._steps, self._stop)
        with signals_kept_from_children():
            return ProcessPoolExecutor(
                self._workers, mp_context=self._context, initializer=start_worker, initargs=board
            )

    def submit(self, task: Task) -> Future[Stored]:
        """Begin a shard."""
        with signals_kept_from_children():  # a process may be started now
            return super().submit(task)

    def steps(self, shard: int) -> float:
        """Return how many steps of a shard are done."""
        return float(self._steps[shard])

    def rebuild(self) -> bool:
        """Replace the pool: one that lost a process takes no more work."""
        self._pool.shutdown(wait=False, cancel_futures=True)
        self._pool = self._made()
        return True

    def close(self, *, at_once: bool) -> None:
        """End; ``at_once``: processes that do not stop by themselves, because they are still starting, are killed."""
        self._stop.value = int(at_once)
        processes = list((self._pool._processes or {}).values()) if at_once else []  # noqa: SLF001
        self._pool.shutdown(wait=not at_once, cancel_futures=True)
        deadline = time.monotonic() + SECONDS_TO_CLOSE
        for process in processes:
            process.join(max(0.0, deadline - time.monotonic()))
            process.kill()


class Dask(ShardExecutor):
    """A Dask cluster: a local one, or the one at ``address``."""

    def __init__(self, problem: Problem, workers: int | None, address: str | None) -> None:
        self._payload = pack(problem)
        self._workers, self._address = workers or os.cpu_count() or 1, address
        self._cluster: Any = None
        self._start()

    def _start(self) -> None:
        from distributed import Client, LocalCluster

        if self._address is None:
            with signals_kept_from_children():
                # on loopback: whoever reaches the scheduler can have code run here
                self._cluster = LocalCluster(
                    n_workers=self._workers,
                    threads_per_worker=1,
                    processes=True,
                    host=LOOPBACK,
                    dashboard_address=None,
                    worker_dashboard_address=None,
                    silence_logs=50,
                    preload=["tracker.runs.dask_preload"],
                )
        self._client = Client(self._cluster, set_as_default=False) if self._address is None else connect(self._address)
        threads = sum(worker["nthreads"] for worker in self._client.scheduler_info(n_workers=-1)["workers"].values())
        self.width = 2 * max(threads, self._workers if self._address is None else 1)
        self._pool = self._client.get_executor(pure=False, retries=0)

    def rebuild(self) -> bool:
        """Connect again, to a new local cluster or to the same one."""
        self.close(at_once=True)
        self._start()
        return True

    def close(self, *, at_once: bool) -> None:
        """End the local cluster, or leave the other one as it was."""
        with suppress(Exception):  # a cluster that is gone cannot be told
            self._pool.shutdown(wait=not at_once)
        if at_once and self._cluster is not None:
            self._kill_workers()
        timeout = SECONDS_TO_CLOSE / 2 if at_once else None
        for part in (self._client, self._cluster):
            if part is not None:
                with suppress(Exception):
                    part.close(timeout)

    def _kill_workers(self) -> None:
        """Dask waits long for workers that compute; these have a moment to keep a snapshot."""
        time.sleep(SECONDS_TO_CLOSE / 2)
        for nanny in self._cluster.workers.values():
            nanny.auto_restart = False
            with suppress(Exception):
                os.kill(nanny.pid, KILL_SIGNAL)


def refuse_unknown(name: str) -> None:
    """Raise ``ValueError`` where there is no such engine."""
    kind, colon, address = name.partition(":")
    if kind == "dask" and colon:
        host_and_port(address)
    elif name not in ENGINES:
        raise ValueError(f"engine: {name!r} is none of {', '.join(ENGINES)}")


def executor_of(problem: Problem, executor: Executor | int | None, name: str, shards: int) -> ShardExecutor:
    """Return what computes the shards: the caller's executor, or the engine that ``name`` asks for."""
    if isinstance(executor, ThreadPoolExecutor):
        return Threads(problem, None, executor)
    if isinstance(executor, Executor):
        return ShardExecutor(problem, executor)
    return engine_of(problem, executor, name, shards)


def engine_of(problem: Problem, workers: int | None, name: str, shards: int) -> ShardExecutor:
    """Return the engine that ``name`` asks for."""
    if workers is not None and workers < 1:
        raise ValueError(f"executor: {workers} workers are too few: at least 1")
    refuse_unknown(name)
    if name == "threads":
        return Threads(problem, workers)
    if name == "processes":
        return Processes(problem, workers, shards)
    return Dask(problem, workers, name.partition(":")[2] or None)
