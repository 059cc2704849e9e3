"""Turn errors that a user can make into one line on stderr and an exit code, never into a traceback."""

from __future__ import annotations

import codecs
import functools
import io
import os
import sys
from typing import TYPE_CHECKING, ParamSpec

import typer

from tracker.cli import signals
from tracker.printable import printable

if TYPE_CHECKING:
    from collections.abc import Callable

P = ParamSpec("P")
SPELLINGS = {"±": "+-", "×": "x", "…": "..."}

DEFECT, USAGE, INVALID, REFUSED, FAILED, CHECK, EXISTS = range(1, 8)
INTERRUPTED = signals.INTERRUPTED


def mute_stdout() -> None:
    """Say nothing more to whoever read our output (head, less) and has left."""
    if sys.stdout is not None:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def open_closed_streams() -> None:
    """Give a program whose stdout or stderr was closed (``>&-``) a place where what it prints goes to nobody."""
    sys.stdout = sys.stdout or open(os.devnull, "w")  # noqa: SIM115, PTH123  (for the life of the program)
    sys.stderr = sys.stderr or open(os.devnull, "w")  # noqa: SIM115, PTH123


def spell_out() -> None:
    """Let a terminal or a file that lacks a character get another way to write it, instead of a UnicodeEncodeError."""
    codecs.register_error("spelt", _spelt)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="spelt")


def _spelt(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return "".join(SPELLINGS.get(letter, "?") for letter in error.object[error.start : error.end]), error.end


def say(line: str) -> None:
    """Print a line to stderr, to nobody if that is closed; without the control characters that a message may hold."""
    if sys.stderr is not None:
        print(printable(line), file=sys.stderr, flush=True)


class Refused(Exception):
    """Not done, for the reasons in ``lines``."""

    def __init__(self, code: int, *lines: str) -> None:
        super().__init__("\n".join(lines))
        self.code, self.lines = code, lines


def with_exit_codes(command: Callable[P, None]) -> Callable[P, None]:
    """Turn what goes wrong in ``command`` into a line and an exit code."""

    @functools.wraps(command)
    def inner(*args: P.args, **kwargs: P.kwargs) -> None:
        try:
            with signals.command_under_way():
                command(*args, **kwargs)
        except Refused as refused:
            for line in refused.lines:
                say(line)
            raise typer.Exit(refused.code) from None
        except KeyboardInterrupt:
            signals.say_interrupted()
            raise typer.Exit(INTERRUPTED) from None
        except BrokenPipeError:
            mute_stdout()
            raise typer.Exit(0) from None
        except EOFError as error:  # a defect: typer would say "Aborted.", as if the user had ended it
            raise RuntimeError(f"EOFError: {error}") from error
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
