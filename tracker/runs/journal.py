"""The journal of a run: a line with check digits for each shard that is on the disk."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from tracker.runs.manifest import SHA256, count_of_shards, is_number, is_whole, matches
from tracker.runs.sealed_json import open_sealed, seal

if TYPE_CHECKING:
    from tracker.runs.manifest import Manifest

LARGEST_JOURNAL_LINE = 100_000  # bytes of the journal for one shard: the seconds of each contestant
MOST_LINES_PER_SHARD = 4  # for one shard: a line that is written again, or was damaged


class Entry(NamedTuple):
    """A line of the journal: shard ``shard`` holds the trials ``first``, ..., ``stop`` - 1 and is on the disk.

    ``seconds`` is what each contestant took, ``at`` the time when the shard was written.
    """

    shard: int
    first: int
    stop: int
    file: str
    sha256: str
    seconds: tuple[float, ...]
    at: float

    def is_of(self, trials: range, file: str) -> bool:
        """Tell whether it speaks of these trials in this file."""
        return (self.first, self.stop, self.file) == (trials.start, trials.stop, file)

    def encode(self, identity: str) -> bytes:
        """Return the line, which belongs to the run with ``identity``."""
        return seal(self._asdict(), identity)


class Journal(NamedTuple):
    """What a journal tells: valid entries by shard, damaged lines, and whether the last line was cut off."""

    entries: dict[int, Entry]
    damaged: int
    torn: bool


def largest_journal(manifest: Manifest) -> int:
    """Return how many bytes the journal of a run may have: so much for each of its shards, and not beyond all bounds."""
    return min(LARGEST_JOURNAL_LINE * (count_of_shards(manifest) + 1), 50_000_000)


def read_journal(data: bytes, identity: str, most_lines: int | None = None) -> Journal:
    """Return what the journal of the run with ``identity`` tells; damaged lines tell nothing.

    ValueError where there are more than ``most_lines``.
    """
    if most_lines is not None and data.count(b"\n") > most_lines:
        raise ValueError(f"more than {most_lines} lines")
    lines = data.split(b"\n")
    torn = lines.pop() != b""
    entries: dict[int, Entry] = {}
    damaged = 0
    for line in lines:
        entry = _entry(open_sealed(line + b"\n", identity))
        if entry is None:
            damaged += 1
        else:
            entries[entry.shard] = entry
    return Journal(entries, damaged, torn)


def _entry(table: dict[str, Any]) -> Entry | None:
    try:
        entry = Entry(**{**table, "seconds": tuple(table["seconds"])})
    except (TypeError, KeyError):
        return None
    whole = (entry.shard, entry.first, entry.stop)
    numbers = (*entry.seconds, entry.at)
    texts = matches(SHA256, entry.sha256) and matches(None, entry.file)
    return entry if texts and all(is_whole(one, 0) for one in whole) and all(map(is_number, numbers)) else None
