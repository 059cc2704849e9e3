"""Compute a shard in another process: a pure function of what is sent, which returns arrays.

Everything here is sent to processes of this machine or of a cluster. So it is plain data, and the other side must have the
same program.
"""

from __future__ import annotations

import os
import pickle
import signal
import threading
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from threadpoolctl import threadpool_limits

from tracker.engine.simulate import Problem, compile_kernels, simulate, source_fingerprint
from tracker.runs.checkpoints import Checkpoint, Place
from tracker.runs.ownership import read_manifest
from tracker.runs.run_errors import CorruptRun
from tracker.runs.run_identity import versions
from tracker.runs.stored_shards import Stored
from tracker.scenario.code_file import CodeFile, load_code

if TYPE_CHECKING:
    from collections.abc import Callable


class Task(NamedTuple):
    """A shard to compute: its number, its trials, where it may keep snapshots, and the steps that the last of them holds."""

    shard: int
    first: int
    stop: int
    place: Place | None
    held: float = 0.0


class PackedProblem(NamedTuple):
    """The problem, packed, with the program that packed it."""

    packed: bytes
    program: str
    plugins: tuple[str, ...] = ()
    code: CodeFile | None = None


class OtherProgram(Exception):
    """A worker runs other code than the one that sent the work."""


class SharedCounters:
    """What a worker process shares with the process that started it: the steps of each shard, and a flag to stop."""

    def __init__(self, steps: Any, stop: Any) -> None:
        self.steps, self.stop = steps, stop


_counters: list[SharedCounters] = []  # of this worker process: one, or none


def program(plugins: tuple[str, ...] = ()) -> str:
    """Return what must be the same in two processes for the same bits to come out."""
    return f"{versions(plugins)} {source_fingerprint()}"


def pack(problem: Problem) -> PackedProblem:
    """Return the problem as bytes; costs of one's own must live in a module that workers can import."""
    try:
        packed = pickle.dumps(problem)
        pickle.loads(packed)  # noqa: S301  (our own)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        message = f"this scenario cannot be sent to other processes ({error}); use threads"
        raise ValueError(message) from error
    plugins = problem.scenario.packages
    return PackedProblem(packed, program(plugins), plugins, problem.scenario.code)


def start_worker(steps: Any, stop: Any) -> None:
    """Prepare a process of the pool: who started it decides when it stops, and it ends with it."""
    for name in ("SIGINT", "SIGHUP"):  # they reach the whole group; the parent asks us to stop
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), signal.SIG_IGN)
    _counters[:] = [SharedCounters(steps, stop)]
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """A pool's process would wait for work for ever after its parent was killed."""
    import multiprocessing
    from multiprocessing import connection

    parent = multiprocessing.parent_process()
    if parent is not None:
        connection.wait([parent.sentinel])
        os._exit(1)


def work(payload: PackedProblem, task: Task) -> Stored:
    """Compute a shard."""
    problem = _problem(payload)
    with threadpool_limits(1, user_api="blas"):
        arrays, seconds = simulate(
            problem, range(task.first, task.stop), _progress(task.shard), _cancelled(), _keeper(task.place)
        )
    return Stored(arrays, seconds)


@lru_cache(maxsize=1)
def _problem(payload: PackedProblem) -> Problem:
    if payload.program != (here := program(payload.plugins)):
        raise OtherProgram(f"the worker has {here}, not {payload.program}: install the same version there")
    if payload.code is not None:
        load_code(payload.code)  # the classes that the problem is made of
    problem: Problem = pickle.loads(payload.packed)  # noqa: S301  (from whoever started this worker)
    compile_kernels(problem)  # loads what the parent compiled, from the cache on disk
    return problem


def _keeper(place: Place | None) -> Checkpoint | None:
    """A worker that does not see the run directory keeps no snapshots: a shard is then computed from its beginning."""
    if place is None:
        return None
    try:
        seen = read_manifest(Path(place.path).parents[1]).identity
    except CorruptRun:
        return None
    return Checkpoint(place) if place.identity.startswith(f"{seen}/") else None


def _progress(index: int) -> Callable[[float], None]:
    if not _counters:
        return lambda _: None
    steps = _counters[0].steps
    steps[index] = 0.0

    def add(more: float) -> None:
        steps[index] += more

    return add


def _cancelled() -> Callable[[], bool]:
    if _counters:
        stop = _counters[0].stop
        return lambda: bool(stop.value)
    return _cancelled_by_dask()


def _cancelled_by_dask() -> Callable[[], bool]:
    """On a Dask worker: whether the task was cancelled, which Dask itself does not tell a running task."""
    import sys

    if "distributed.worker" not in sys.modules:
        return lambda: False
    from distributed import get_worker
    from distributed.worker import thread_state

    try:
        worker, key = get_worker(), thread_state.key
    except (ValueError, AttributeError):
        return lambda: False

    def cancelled() -> bool:
        task = worker.state.tasks.get(key)
        return task is None or task.state == "cancelled"

    return cancelled
