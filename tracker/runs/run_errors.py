"""The errors of runs: a directory that cannot be used, and shards that failed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

MOST_NAMES = 5  # in a message


class RunExists(Exception):
    """The directory holds something already.

    ``is_run`` tells whether all of it is a run's, which may be replaced; ``found`` names what no run wrote.
    """

    def __init__(self, path: Path, *, is_run: bool, found: Sequence[str] = ()) -> None:
        self.path, self.is_run, self.found = path, is_run, tuple(found)
        super().__init__(f"{path} exists already" + (f"; no run wrote {self.names}" if self.found else ""))

    @property
    def names(self) -> str:
        """Some of what no run wrote."""
        more = len(self.found) - MOST_NAMES
        return ", ".join([*self.found[:MOST_NAMES], *([f"and {more} more"] if more > 0 else [])])


class RunLocked(Exception):
    """Another process writes to the directory; ``holder`` says which."""

    def __init__(self, path: Path, holder: str) -> None:
        super().__init__(f"{path} is being written by {holder}")
        self.path, self.holder = path, holder


class RunDiffers(Exception):
    """The run in the directory is another one than the one to be resumed; ``differences`` says in what."""

    def __init__(self, path: Path, differences: Sequence[str]) -> None:
        super().__init__(f"{path} holds another run: " + "; ".join(differences))
        self.path, self.differences = path, tuple(differences)


class FewerTrials(ValueError):
    """Trials are to be added to a run that has more of them than are asked for."""

    def __init__(self, path: Path, there: int, asked: int) -> None:
        self.path, self.there, self.asked = path, there, asked
        super().__init__(f"{path} has {there} trials, and {asked} are fewer: trials can only be added")


class CorruptRun(Exception):
    """A run directory that is damaged, not finished, or no run at all."""

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(f"{path}: {reason}")
        self.path, self.reason = path, reason


class FailedShard(NamedTuple):
    """Trials ``first``, ..., ``stop`` - 1, which could not be computed."""

    first: int
    stop: int
    error: str

    def __str__(self) -> str:
        return f"trials {self.first} to {self.stop - 1}: {self.error}"


class NothingComputed(Exception):
    """Every shard failed."""

    def __init__(self, failed: Sequence[FailedShard]) -> None:
        super().__init__(f"no trial could be computed; {failed[0]}")
        self.failed = tuple(failed)
