"""The manifest and the journal of a run: JSON with check digits and checked types."""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, fields
from typing import Any, NamedTuple

from tracker.runs.run_errors import FailedShard

SCENARIO = "scenario.toml"  # kept beside the manifest
CHECK_KEY = "check"
CHECK_DIGITS = 16
LARGEST_MANIFEST = 10_000_000  # bytes; a failed shard may bring a long message
MOST_SHARDS_OF_A_RUN = 20_000  # so that looking at a run directory takes a moment, whatever its manifest says
LARGEST_WHOLE = 2**63
LARGEST_JOURNAL_LINE = 100_000  # bytes of the journal for one shard: the seconds of each contestant
MOST_LINES_PER_SHARD = 4  # for one shard: a line that is written again, or was damaged

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
_DATA = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,59}\.csv")
_WRITTEN = re.compile(r"result\.nc|summary\.json|sweep\.nc|points\.json")
_SHA256 = re.compile(r"[0-9a-f]{64}")


FORMAT = 1  # of run directories; a directory that names none is of format 0


class NewerFormat(ValueError):
    """A later version wrote this."""


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
    format: int = FORMAT

    @property
    def identity(self) -> str:
        """The hash of all that decides what the shards hold."""
        parts = (self.scenario_sha256, self.seed, self.trials, self.steps, self.versions, self.sources, self.shard_size)
        return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()

    def encode(self) -> bytes:
        """Return the content of manifest.json."""
        table = {**asdict(self), "failed": [shard._asdict() for shard in self.failed]}
        return seal(table, "manifest", indent=2)

    @classmethod
    def decode(cls, data: bytes) -> Manifest | None:
        """Return the manifest, or None where a byte was changed, or what it says is of another kind than a run says."""
        table = open_sealed(data, "manifest", indent=2)
        try:
            format_ = table.setdefault("format", 0)
            if isinstance(format_, int) and format_ > FORMAT:
                raise NewerFormat(
                    f"it has format {format_}, and this program reads formats up to {FORMAT}: a later version wrote it"
                )
            failed = tuple(FailedShard(**shard) for shard in table.pop("failed"))
            manifest = cls(**table, failed=failed)
        except (TypeError, KeyError, AttributeError):
            return None
        return manifest if _is_sound(manifest) else None


def _is_sound(manifest: Manifest) -> bool:
    """Tell whether types, signs and names are those that a run writes: a right check digit proves only that nobody slipped."""
    checks: dict[str, Callable[[Any], bool]] = {
        "name": lambda value: _matches(_NAME, value),
        "seed": lambda value: _is_whole(value, 0),
        "trials": lambda value: _is_whole(value, 1),
        "steps": lambda value: _is_whole(value, 1),
        "scenario_sha256": lambda value: _matches(_SHA256, value),
        "versions": lambda value: _is_table(value, None, None),
        "sources": lambda value: isinstance(value, str),
        "shard_size": lambda value: _is_whole(value, 1),
        "text_sha256": lambda value: value == "" or _matches(_SHA256, value),
        "data": lambda value: _is_table(value, _DATA, _SHA256),
        "files": lambda value: _is_table(value, _WRITTEN, _SHA256),
        "failed": lambda value: all(_is_failure(shard) for shard in value),
        "complete": lambda value: isinstance(value, bool),
        "format": lambda value: _is_whole(value, 0) and value <= FORMAT,
    }
    if not all(checks[one.name](getattr(manifest, one.name)) for one in fields(manifest)):
        return False
    left_out = sum(shard.stop - shard.first for shard in manifest.failed)
    last = max((shard.stop for shard in manifest.failed), default=0)
    return count_of_shards(manifest) <= MOST_SHARDS_OF_A_RUN and last <= manifest.trials and left_out < manifest.trials


def _is_failure(shard: FailedShard) -> bool:
    return _is_whole(shard.first, 0) and _is_whole(shard.stop, shard.first + 1) and isinstance(shard.error, str)


def _is_whole(value: Any, least: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and least <= value <= LARGEST_WHOLE


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value) and value >= 0


def _matches(form: re.Pattern[str] | None, value: Any) -> bool:
    return isinstance(value, str) and (form is None or form.fullmatch(value) is not None)


def _is_table(value: Any, key: re.Pattern[str] | None, entry: re.Pattern[str] | None) -> bool:
    return isinstance(value, dict) and all(_matches(key, k) and _matches(entry, e) for k, e in value.items())


def count_of_shards(manifest: Manifest) -> int:
    """Return how many shards the trials are cut into, without cutting them."""
    return -(-manifest.trials // manifest.shard_size)


def shards_of(manifest: Manifest) -> list[range]:
    """Cut the trials into shards."""
    trials, size = manifest.trials, manifest.shard_size
    if count_of_shards(manifest) > MOST_SHARDS_OF_A_RUN:
        most = f"more than the {MOST_SHARDS_OF_A_RUN} that a run may have"
        raise ValueError(f"shard_size: {size} cuts {trials} trials into {count_of_shards(manifest)} shards, {most}")
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
    texts = _matches(_SHA256, entry.sha256) and _matches(None, entry.file)
    return entry if texts and all(_is_whole(one, 0) for one in whole) and all(map(_is_number, numbers)) else None


def seal(table: dict[str, Any], key: str, indent: int | None = None) -> bytes:
    """Return ``table`` as JSON with a check digit over it and ``key``, which says what it is or whose."""
    text = json.dumps(table, indent=indent, allow_nan=False)
    check = hashlib.sha256(f"{key}\0{text}".encode()).hexdigest()[:CHECK_DIGITS]
    return (json.dumps({**table, CHECK_KEY: check}, indent=indent, allow_nan=False) + "\n").encode()


def open_sealed(data: bytes, key: str, indent: int | None = None) -> dict[str, Any]:
    """Return the table that ``seal`` wrote as exactly these bytes; an empty one for any others."""
    try:
        table = json.loads(data)
        check = table.pop(CHECK_KEY)
        same = isinstance(check, str) and seal(table, key, indent) == data
    except (ValueError, KeyError, AttributeError, TypeError, RecursionError):
        return {}
    return table if same else {}
