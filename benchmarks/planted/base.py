"""What a planted fault is."""

from __future__ import annotations

from typing import NamedTuple


class Fault(NamedTuple):
    """In ``file``, ``before`` (which stands there once) becomes ``after``; ``tests`` (pytest's words) should notice."""

    file: str
    before: str
    after: str
    tests: str


def faults(file: str, tests: str, *changes: tuple[str, str]) -> list[Fault]:
    """Return faults of one file that the same tests should notice."""
    return [Fault(file, before, after, tests) for before, after in changes]
