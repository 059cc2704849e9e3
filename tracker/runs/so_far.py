"""What the finished shards of a run say so far; reads without a lock, and never trusts a shard that the journal does not."""

from __future__ import annotations

import io
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tracker.engine.ledger import COLUMNS
from tracker.metrics.averages import mean_interval, over_trials, ratio
from tracker.regular_files import read_regular
from tracker.runs.file_names import SHARDS, shard_name
from tracker.runs.manifest import shards_of
from tracker.runs.ownership import journal_in, read_manifest
from tracker.runs.run_identity import sha256

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tracker.array_types import Array

LARGEST_SHARD = 4_000_000_000  # bytes that are read of one


class ErrorSoFar(NamedTuple):
    """The tracking error of a sampler over the trials that are finished; ends of the 95 % interval are nan for fewer than five."""

    sampler: str
    mean: float
    low: float
    high: float
    trials: int
    diverged: int


@dataclass
class Finished:
    """The errors of finished trials, shard by shard; what was read is kept, until another run stands in its place."""

    path: Path
    identity: str = ""
    errors: dict[int, Array] = field(default_factory=dict)

    def look(self) -> None:
        """Read the shards that were finished since the last look; a shard that cannot be read counts as not finished."""
        manifest = read_manifest(self.path)
        if manifest.identity != self.identity:
            self.identity, self.errors = manifest.identity, {}
        entries, shards = journal_in(self.path, manifest).entries, shards_of(manifest)
        for index, trials in enumerate(shards):
            entry = entries.get(index)
            if index in self.errors or entry is None or not entry.is_of(trials, shard_name(index)):
                continue
            try:
                data = read_regular(self.path / SHARDS / shard_name(index), LARGEST_SHARD)
            except OSError:
                continue
            if sha256(data) == entry.sha256:
                self.errors[index] = _errors(data)

    def rows(self, names: Sequence[str]) -> list[ErrorSoFar]:
        """Return a row for each sampler; none while no shard is finished."""
        if not self.errors:
            return []
        errors = np.concatenate([self.errors[index] for index in sorted(self.errors)])
        return [_row(name, errors[:, n]) for n, name in enumerate(names[: errors.shape[1]])]


def _errors(data: bytes) -> Array:
    """The tracking error of each trial and sampler of a shard, (T, S); nan where a trial diverged."""
    with np.load(io.BytesIO(data), allow_pickle=False) as arrays:
        sums, diverged = arrays["by_mode"].sum(axis=2), arrays["diverged"]
    error = ratio(sums[..., COLUMNS.index("error")], sums[..., COLUMNS.index("steps")])
    return np.where(diverged < 0, error, np.nan)


def _row(name: str, errors: Array) -> ErrorSoFar:
    kept = errors[np.isfinite(errors)]
    mean, stderr = over_trials(kept)
    low, high = mean_interval(mean, stderr, kept.size, "positive")
    return ErrorSoFar(name, mean, float(low), float(high), kept.size, errors.size - kept.size)
