"""Treat the signals INT (Ctrl-C), TERM and HUP (closed terminal) alike: each asks a command to end.

The first one raises ``KeyboardInterrupt`` in the main thread. From then on the system ignores all three, so
that nothing disturbs the cleaning up, not even while the interpreter shuts down.

A HUP or INT that the calling program set to be ignored stays ignored: ``nohup`` and ``&`` rely on that.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

INTERRUPTED = 130
# no HUP on Windows
ENDING_SIGNALS = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))


class _State:
    """Of this process.

    program : whether it is the command line, whose end is the end of the process
    inside : whether a command is under way, which a ``KeyboardInterrupt`` reaches
    asked : whether a signal has come
    silent : whether a parent process says that the command was interrupted
    """

    program = inside = asked = silent = False


def signals_that_end() -> list[signal.Signals]:
    """Return the signals that end a command: TERM, and the others unless whoever started us has them ignored."""
    return [
        number
        for number in ENDING_SIGNALS
        if number == signal.SIGTERM or signal.getsignal(number) is not signal.SIG_IGN
    ]


def begin_program() -> None:
    """Take the signals for the rest of this process's life."""
    _State.program = True
    _take()


def end_program() -> None:
    """Let no signal disturb the interpreter while it comes to its end: the exit code is decided."""
    _ignore()


@contextmanager
def command_under_way() -> Iterator[None]:
    """Let signals interrupt what is done in here; afterwards they do what they did before, or nothing if we are the program."""
    if threading.current_thread() is not threading.main_thread() or _State.inside:
        yield
        return
    before = {number: signal.getsignal(number) for number in ENDING_SIGNALS}
    hook = sys.unraisablehook
    _State.asked = False
    if not _State.program:
        _take()
    try:
        _State.inside = True
        yield
    finally:
        _State.inside = False
        if _State.program:
            _ignore()  # the exit code is decided
        else:
            sys.unraisablehook = hook
            for number, handler in before.items():
                signal.signal(number, handler)


def leave_the_word_to_the_parent() -> None:
    """Let ``say_interrupted`` say nothing: a parent does, once, also where it has to kill this process."""
    _State.silent = True


def say_interrupted() -> None:
    """Say that the command was interrupted, unless a parent does."""
    if not _State.silent and sys.stderr is not None:
        with suppress(Exception):
            print("interrupted", file=sys.stderr, flush=True)


def raise_if_asked() -> None:
    """Interrupt here what a signal could not: an exception that it raises may be lost in a callback of a library."""
    if _State.asked:
        raise KeyboardInterrupt


def _take() -> None:
    for number in signals_that_end():
        signal.signal(number, _interrupt)


def _ignore() -> None:
    if threading.current_thread() is threading.main_thread():
        for number in ENDING_SIGNALS:
            signal.signal(number, signal.SIG_IGN)


def _interrupt(*_: Any) -> None:
    sys.unraisablehook = _lost
    _ignore()
    _State.asked = True
    if _State.inside:
        raise KeyboardInterrupt
    say_interrupted()
    os._exit(INTERRUPTED)


def _lost(what: sys.UnraisableHookArgs) -> None:
    """Say nothing of an interruption that could not be raised: ``raise_if_asked`` raises it again.

    Nor of a second signal that came before the first was heard, which Python ignores as it should, and says so.
    """
    ignored = isinstance(what.exc_value, OSError) and "ignored due to race condition" in str(what.exc_value)
    if not ignored and not issubclass(what.exc_type, KeyboardInterrupt):
        sys.__unraisablehook__(what)
