"""Compile what a run needs before its first trial, in several processes where much is missing.

Numba compiles in one thread of a process. So other processes compile too, each keeps what it made on disk, and this one loads it.
They are started as commands, not by ``multiprocessing``, which would run a user's script once more in each of them.
"""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from contextlib import suppress
from typing import TYPE_CHECKING

from tracker.compiled import cache_folder

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    Compile = Callable[[int], None]
    Note = Callable[[str], None]

WORTH_A_PROCESS = 4  # parts: starting Python costs as much as compiling two
PAUSE = 0.2  # seconds between two looks at the others
CHILD = "import sys; sys.path[:] = sys.argv[1:]; from tracker.engine.simulate import compile_for_parent as go; go()"
READY = b"ready\n"


def processes_worth(missing: int, processes: int) -> int:
    """Return how many processes are to compile, this one included."""
    if cache_folder() is None or not sys.executable:
        return 1
    return max(1, min(processes, -(-missing // WORTH_A_PROCESS)))


def cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def compile_side_by_side(
    problem: object, missing: Mapping[int, str], processes: int, compile_here: Compile, note: Note
) -> None:
    """Compile the parts that are ``missing`` (who needs them, by place), here and in ``processes - 1`` others.

    What another fails to compile is left to the caller.
    """
    waiting, ready, begun = deque(missing), list[int](), time.monotonic()

    names = ", ".join(dict.fromkeys(missing.values()))

    def tell() -> None:
        done, count = len(ready), len(missing)
        left = f", about {(time.monotonic() - begun) / done * (count - done):.0f} s to go" if done else ""
        note(f"compiling {names} in {processes} processes: {done} of {count} parts ready{left}")

    try:
        content = pickle.dumps(problem)
    except (pickle.PicklingError, AttributeError, TypeError):  # it cannot be sent
        return
    tell()
    others: list[_Other] = []
    try:
        with suppress(OSError):  # no more processes are to be had
            others.extend(_Other(content, waiting, ready) for _ in range(processes - 1))
        while waiting:
            try:
                contestant = waiting.popleft()
            except IndexError:  # another was quicker
                break
            compile_here(contestant)
            ready.append(contestant)
            tell()
        while len(ready) < len(missing) and any(other.is_busy() for other in others):
            tell()
        tell()
    finally:
        for other in others:
            other.end()


class _Other:
    """A process that compiles one kernel after the other as long as some are waiting."""

    def __init__(self, content: bytes, waiting: deque[int], ready: list[int]) -> None:
        self._process = subprocess.Popen(  # noqa: S603  (this very Python)
            [sys.executable, "-c", CHILD, *sys.path],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        self._content, self._waiting, self._ready = content, waiting, ready
        self._thread = threading.Thread(target=self._feed, daemon=True)
        self._thread.start()

    def _feed(self) -> None:
        told, heard = self._process.stdin, self._process.stdout
        assert told is not None
        assert heard is not None
        with suppress(OSError, IndexError):  # it has ended, or nothing waits
            told.write(len(self._content).to_bytes(8, "little") + self._content)
            told.flush()
            given: list[int] = []
            while heard.readline() == READY:  # it has read the problem, or compiled what it was given
                self._ready.extend(given)
                given = [self._waiting.popleft()]
                told.write(f"{given[0]}\n".encode())
                told.flush()

    def is_busy(self) -> bool:
        """Wait a moment, and tell whether it still compiles."""
        self._thread.join(PAUSE)
        return self._thread.is_alive()

    def end(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.communicate()
        self._thread.join()


def serve_parent(prepare: Callable[[bytes], Compile]) -> None:
    """Compile what the parent asks for on standard input, until it asks for no more, or ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent ends us
    heard, told = sys.stdin.buffer, os.fdopen(os.dup(1), "wb", buffering=0)
    compile_one = prepare(heard.read(int.from_bytes(heard.read(8), "little")))
    told.write(READY)
    for line in heard:
        compile_one(int(line))
        told.write(READY)
