"""The manifest and the journal: JSON that notices when a byte of it was changed."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple

from tracker.runs.errors import FailedShard

SCENARIO = "scenario.toml"  # kept beside the manifest
CHECK = "check"
CHECK_DIGITS = 16


@dataclass(frozen=True)
class Manifest:
    """What a run is, and how far it came.

    Attributes
    ----------
    data, files : dict
        Sha256 by name: of the data files of the scenario, and of what was written at the end.
    shard_size : int
        Trials per shard: fixed when the run begins, so that a resumed run is cut in the same way.
    failed : tuple of FailedShard
        What was left out.
    """

    name: str
    seed: int
    trials: int
    steps: int
    scenario_sha256: str
    versions: dict[str, str]
    sources: str
    shard_size: int
    text_sha256: str = ""
    data: dict[str, str] = field(default_factory=dict)
    files: dict[str, str] = field(default_factory=dict)
    failed: tuple[FailedShard, ...] = ()
    complete: bool = False

    @property
    def identity(self) -> str:
        """The hash of all that decides what the shards hold."""
        parts = (self.scenario_sha256, self.seed, self.trials, self.steps, self.versions, self.sources, self.shard_size)
        return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()

    def encode(self) -> bytes:
        """Return the content of manifest.json."""
        table = {**asdict(self), "failed": [shard._asdict() for shard in self.failed]}
        return _sealed(table, "manifest", indent=2)

    @classmethod
    def decode(cls, data: bytes) -> Manifest | None:
        """Return the manifest, or None where a byte was changed."""
        table = _opened(data, "manifest", indent=2)
        try:
            failed = tuple(FailedShard(**shard) for shard in table.pop("failed"))
            return cls(**table, failed=failed)
        except (TypeError, KeyError):
            return None


def shards_of(manifest: Manifest) -> list[range]:
    """Cut the trials into shards."""
    trials, size = manifest.trials, manifest.shard_size
    return [range(first, min(first + size, trials)) for first in range(0, trials, size)]


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
        return _sealed(self._asdict(), identity)


class Journal(NamedTuple):
    """What a journal tells: valid entries by shard, damaged lines, and whether the last line was cut off."""

    entries: dict[int, Entry]
    damaged: int
    torn: bool


def read_journal(data: bytes, identity: str) -> Journal:
    """Return what the journal of the run with ``identity`` tells; damaged lines tell nothing."""
    lines = data.split(b"\n")
    torn = lines.pop() != b""
    entries: dict[int, Entry] = {}
    damaged = 0
    for line in lines:
        entry = _entry(_opened(line + b"\n", identity))
        if entry is None:
            damaged += 1
        else:
            entries[entry.shard] = entry
    return Journal(entries, damaged, torn)


def _entry(table: dict[str, Any]) -> Entry | None:
    try:
        return Entry(**{**table, "seconds": tuple(table["seconds"])})
    except (TypeError, KeyError):
        return None


def _sealed(table: dict[str, Any], key: str, indent: int | None = None) -> bytes:
    text = json.dumps(table, indent=indent, allow_nan=False)
    check = hashlib.sha256(f"{key}\0{text}".encode()).hexdigest()[:CHECK_DIGITS]
    return (json.dumps({**table, CHECK: check}, indent=indent, allow_nan=False) + "\n").encode()


def _opened(data: bytes, key: str, indent: int | None = None) -> dict[str, Any]:
    """Return the table that ``_sealed`` wrote as exactly these bytes; an empty one for any others."""
    try:
        table = json.loads(data)
        check = table.pop(CHECK)
        same = isinstance(check, str) and _sealed(table, key, indent) == data
    except (ValueError, KeyError, AttributeError, TypeError, RecursionError):
        return {}
    return table if same else {}
