"""What a planted fault is."""

from __future__ import annotations

from typing import NamedTuple


class Fault(NamedTuple):
    """In ``file``, ``before`` (which stands there once) becomes ``after``; ``tests`` (pytest's words) should notice.

    equivalent : why no test can notice, if none can
    """

    file: str
    before: str
    after: str
    tests: str
    equivalent: str = ""

    def __str__(self) -> str:
        return f"{self.file}: {self.before.strip()!r} -> {self.after.strip()!r}"


def faults(file: str, tests: str, *changes: tuple[str, str], equivalent: str = "") -> list[Fault]:
    """Return faults of one file that the same tests should notice."""
    return [Fault(file, before, after, tests, equivalent) for before, after in changes]
