"""What a planted fault is."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from pathlib import Path


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


def misplaced(fault: Fault, root: Path) -> str:
    """Return "" if the text of a fault stands in its file once; else what is wrong, and where it may have gone."""
    file = root / fault.file
    count = file.read_text(encoding="utf-8").count(fault.before) if file.exists() else 0
    if count == 1:
        return ""
    sources = sorted((root / "tracker").rglob("*.py"))
    others = [one for one in sources if one.read_text(encoding="utf-8").count(fault.before) == 1]
    now = f"; once in {', '.join(str(one.relative_to(root)) for one in others)}" if others else ""
    return f"{'stands there ' + str(count) + ' times' if file.exists() else 'no such file'}{now}"
