"""Run long work in a second thread, so that a signal can end the program while a library computes.

Python hands signals to the main thread, between two of its own instructions. A sparse solver or a figure may take minutes
within one. So the work is done in a second thread, and the main thread only waits.
"""

from __future__ import annotations

import contextvars
import threading
from typing import TYPE_CHECKING, TypeVar

from tracker.cli import signals

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")
SECONDS_TO_STOP = 1.0  # for work that hears of the wish to stop, through its progress
POLL_SECONDS = 0.2


def apart(work: Callable[[], T]) -> T:
    """Return what ``work`` returns, or raise what it raises; a ``KeyboardInterrupt`` here leaves it behind."""
    found: list[T] = []
    trouble: list[BaseException] = []
    done = threading.Event()

    def carry_out() -> None:
        try:
            found.append(work())
        except BaseException as error:  # handed to whoever waits
            trouble.append(error)
        finally:
            done.set()

    threading.Thread(target=contextvars.copy_context().run, args=(carry_out,), daemon=True, name="work").start()
    try:
        while not done.wait(POLL_SECONDS):
            pass
    except KeyboardInterrupt:
        if not done.wait(SECONDS_TO_STOP):
            signals.abandon()
        raise
    if trouble:
        raise trouble[0]
    return found[0]
