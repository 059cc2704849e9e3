"""Why a run directory cannot be used, or not all of a run could be done."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple


class RunExists(Exception):
    """The directory holds something already; ``is_run`` tells whether a run, which may be replaced, wrote it."""

    def __init__(self, path: Path, *, is_run: bool) -> None:
        super().__init__(f"{path} exists already")
        self.path, self.is_run = path, is_run


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
