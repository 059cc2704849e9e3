"""What a user can get wrong ends in one line on stderr and an exit code, never in a traceback."""

from __future__ import annotations

import codecs
import functools
import io
import os
import signal
import sys
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, ParamSpec

import typer

from tracker.printable import printable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

P = ParamSpec("P")
SPELT = {"±": "+-", "×": "x", "…": "..."}

DEFECT, USAGE, INVALID, REFUSED, FAILED, CHECK, EXISTS, INTERRUPTED = 1, 2, 3, 4, 5, 6, 7, 130


def spell_out() -> None:
    """Let a terminal or a file that lacks a character get another way to write it, instead of a UnicodeEncodeError."""
    codecs.register_error("spelt", _spelt)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="spelt")


def _spelt(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return "".join(SPELT.get(letter, "?") for letter in error.object[error.start : error.end]), error.end


def say(line: str) -> None:
    """Print a line to stderr, without the control characters that a name or a message from elsewhere may hold."""
    print(printable(line), file=sys.stderr, flush=True)


class Refused(Exception):
    """Not done, for the reasons in ``lines``."""

    def __init__(self, code: int, *lines: str) -> None:
        super().__init__("\n".join(lines))
        self.code, self.lines = code, lines


@contextmanager
def _terminated_as_interrupted() -> Iterator[None]:
    """Let a polite request to end (SIGTERM) do what Ctrl-C does."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def guarded(command: Callable[P, None]) -> Callable[P, None]:
    """Turn what goes wrong in ``command`` into a line and an exit code."""

    @functools.wraps(command)
    def inner(*args: P.args, **kwargs: P.kwargs) -> None:
        try:
            with _terminated_as_interrupted():
                command(*args, **kwargs)
        except Refused as refused:
            for line in refused.lines:
                say(line)
            raise typer.Exit(refused.code) from None
        except KeyboardInterrupt:
            say("interrupted")
            raise typer.Exit(INTERRUPTED) from None
        except BrokenPipeError:
            # whoever read our output (head, less) has left; nothing more can be said to it
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise typer.Exit(0) from None
        except MemoryError as error:
            say(
                f"out of memory ({error}); fewer trials at a time (--workers), a larger record_every or fewer steps need less"
            )
            raise typer.Exit(REFUSED) from None
        except OSError as error:
            place = f"{error.filename}: " if error.filename else ""
            say(f"{place}{error.strerror or error}")
            raise typer.Exit(USAGE) from None
        except ValueError as error:
            # ScenarioError, without importing it here: --help must not pay for pydantic
            problems = getattr(error, "problems", None)
            if problems is None:
                raise
            for problem in problems:
                say(problem)
            raise typer.Exit(USAGE if getattr(error, "usage", False) else INVALID) from None

    return inner
