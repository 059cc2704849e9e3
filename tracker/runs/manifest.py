"""The manifest of a run: JSON with check digits and checked types."""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, fields
from typing import Any, NamedTuple

from tracker.runs.run_errors import FailedShard
from tracker.runs.sealed_json import open_sealed, seal

SCENARIO = "scenario.toml"  # kept beside the manifest
LARGEST_MANIFEST = 10_000_000  # bytes; a failed shard may bring a long message
MOST_SHARDS_OF_A_RUN = 20_000  # so that looking at a run directory takes a moment, whatever its manifest says
LARGEST_WHOLE = 2**63

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
_DATA = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,59}\.csv")
_WRITTEN = re.compile(r"result\.nc|summary\.json|sweep\.nc|points\.json")
SHA256 = re.compile(r"[0-9a-f]{64}")


FORMAT = 1  # of run directories; a directory that names none is of format 0


class NewerFormat(ValueError):
    """A later version wrote this."""


class Part(NamedTuple):
    """Part ``number`` of ``of`` parts of a run, counted from 1: each computes a share of the trials."""

    number: int
    of: int

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"

    def share(self, trials: int) -> range:
        """Return which of so many trials it computes: shares follow each other, and differ by one trial at most."""
        return range((self.number - 1) * trials // self.of, self.number * trials // self.of)


class Earlier(NamedTuple):
    """The finished run that trials are added to.

    Attributes
    ----------
    trials : int
        How many it had.
    text_sha256, result_sha256 : str
        Of its scenario.toml, and of its result.nc, which is kept as earlier.nc until the new result is there.
    seconds : tuple of float
        What each contestant took.
    """

    trials: int
    text_sha256: str
    result_sha256: str
    seconds: tuple[float, ...]


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
    code : str
        The sha256 of the file that ``--code`` named; empty where nothing of it is used.
    part : Part or None
        Which share of the trials it holds; None where it holds all.
    earlier : Earlier or None
        The run that it took over, where trials were added.
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
    code: str = ""
    part: Part | None = None
    earlier: Earlier | None = None

    @property
    def taken_over(self) -> int:
        """How many trials it has from the run that it took over: the first ones."""
        return self.earlier.trials if self.earlier is not None else 0

    @property
    def identity(self) -> str:
        """The hash of all that decides what the shards hold."""
        program = (self.versions, self.sources)
        cut = (self.trials, self.part, self.taken_over, self.shard_size)
        parts = (self.scenario_sha256, self.seed, self.steps, *program, *cut)
        return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()

    def encode(self) -> bytes:
        """Return the content of manifest.json."""
        table = {**asdict(self), "failed": [shard._asdict() for shard in self.failed]}
        if not self.code:
            del table["code"]  # a program that knows nothing of code reads it, too
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
            part = Part(*part) if (part := table.pop("part", None)) is not None else None
            earlier = _earlier(*before) if (before := table.pop("earlier", None)) is not None else None
            manifest = cls(**table, failed=failed, part=part, earlier=earlier)
        except (TypeError, KeyError, AttributeError):
            return None
        return manifest if _is_sound(manifest) else None


def _earlier(trials: Any, text: Any, result: Any, seconds: Any) -> Earlier:
    return Earlier(trials, text, result, tuple(seconds))


def _is_sound(manifest: Manifest) -> bool:
    """Tell whether types, signs and names are those that a run writes: a right check digit proves only that nobody slipped."""
    checks: dict[str, Callable[[Any], bool]] = {
        "name": lambda value: matches(_NAME, value),
        "seed": lambda value: is_whole(value, 0),
        "trials": lambda value: is_whole(value, 1),
        "steps": lambda value: is_whole(value, 1),
        "scenario_sha256": lambda value: matches(SHA256, value),
        "versions": lambda value: _is_table(value, None, None),
        "sources": lambda value: isinstance(value, str),
        "shard_size": lambda value: is_whole(value, 1),
        "text_sha256": lambda value: value == "" or matches(SHA256, value),
        "data": lambda value: _is_table(value, _DATA, SHA256),
        "files": lambda value: _is_table(value, _WRITTEN, SHA256),
        "failed": lambda value: all(_is_failure(shard) for shard in value),
        "complete": lambda value: isinstance(value, bool),
        "code": lambda value: value == "" or matches(SHA256, value),
        "format": lambda value: is_whole(value, 0) and value <= FORMAT,
        "part": lambda value: value is None or _is_part(value),
        "earlier": lambda value: value is None or _is_earlier(value),
    }
    if not all(checks[one.name](getattr(manifest, one.name)) for one in fields(manifest)):
        return False
    own = trials_of(manifest)
    if not own or not 0 <= manifest.taken_over < max(manifest.trials, 1) or (manifest.part and manifest.earlier):
        return False
    left_out = sum(shard.stop - shard.first for shard in manifest.failed)
    inside = all(own.start <= shard.first and shard.stop <= own.stop for shard in manifest.failed)
    return count_of_shards(manifest) <= MOST_SHARDS_OF_A_RUN and inside and left_out < len(own)


def _is_failure(shard: FailedShard) -> bool:
    return is_whole(shard.first, 0) and is_whole(shard.stop, shard.first + 1) and isinstance(shard.error, str)


def _is_part(part: Part) -> bool:
    return is_whole(part.number, 1) and is_whole(part.of, part.number)


def _is_earlier(earlier: Earlier) -> bool:
    hashes = (earlier.text_sha256, earlier.result_sha256)
    return (
        is_whole(earlier.trials, 1)
        and all(matches(SHA256, one) for one in hashes)
        and all(map(is_number, earlier.seconds))
    )


def is_whole(value: Any, least: int) -> bool:
    """Tell whether it is a whole number of a usual size, not a truth value."""
    return isinstance(value, int) and not isinstance(value, bool) and least <= value <= LARGEST_WHOLE


def is_number(value: Any) -> bool:
    """Tell whether it is a finite number >= 0, not a truth value."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value) and value >= 0


def matches(form: re.Pattern[str] | None, value: Any) -> bool:
    """Tell whether it is text of that form."""
    return isinstance(value, str) and (form is None or form.fullmatch(value) is not None)


def _is_table(value: Any, key: re.Pattern[str] | None, entry: re.Pattern[str] | None) -> bool:
    return isinstance(value, dict) and all(matches(key, k) and matches(entry, e) for k, e in value.items())


def trials_of(manifest: Manifest) -> range:
    """Return the trials that the run holds when it is complete: all, or its share."""
    return manifest.part.share(manifest.trials) if manifest.part is not None else range(manifest.trials)


def count_of_shards(manifest: Manifest) -> int:
    """Return how many shards the trials are cut into, without cutting them."""
    return sum(-(-len(piece) // manifest.shard_size) for piece in _pieces(manifest))


def shards_of(manifest: Manifest) -> list[range]:
    """Cut the trials into shards."""
    if (count := count_of_shards(manifest)) > MOST_SHARDS_OF_A_RUN:
        most = f"more than the {MOST_SHARDS_OF_A_RUN} that a run may have"
        raise ValueError(
            f"shard_size: {manifest.shard_size} cuts {len(trials_of(manifest))} trials into {count} shards, {most}"
        )
    return [
        piece[first : first + manifest.shard_size]
        for piece in _pieces(manifest)
        for first in range(0, len(piece), manifest.shard_size)
    ]


def _pieces(manifest: Manifest) -> tuple[range, range]:
    """Return the trials that were taken over, and the others: no shard has trials of both."""
    own = trials_of(manifest)
    return own[: manifest.taken_over], own[manifest.taken_over :]
