"""What the finished shards of a run say so far; reads without a lock, and never trusts a shard that the journal does not."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tracker.engine.ledger import COLUMNS
from tracker.metrics.averages import mean_interval, over_trials, ratio
from tracker.metrics.table import METRICS
from tracker.runs.array_shapes import shapes_of, with_trials
from tracker.runs.file_names import shard_name
from tracker.runs.manifest import shards_of
from tracker.runs.ownership import journal_in, read_manifest
from tracker.runs.run_reading import stored_scenario
from tracker.runs.stored_shards import read_shard

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tracker.array_types import Array
    from tracker.runs.stored_shards import Arrays
    from tracker.scenario import Scenario


SUMS = {
    "tracking_error": ("error", "steps"),
    "excess_cost": ("excess", "measured"),
}  # a metric, and what it is the quotient of


class ErrorSoFar(NamedTuple):
    """The tracking error of a sampler over the trials that are finished; ends of the 95 % interval are nan for fewer than five."""

    sampler: str
    mean: float
    low: float
    high: float
    trials: int
    diverged: int


@dataclass
class FinishedShards:
    """The errors of finished trials, shard by shard; what was read is kept, until another run stands in its place."""

    path: Path
    plugins: Sequence[str] = ()
    code: str | Path | None = None
    identity: str = ""
    scenario: Scenario | None = None
    errors: dict[int, Array] = field(default_factory=dict)

    def look(self) -> None:
        """Read the shards that were finished since the last look; a shard that cannot be read counts as not finished."""
        manifest = read_manifest(self.path)
        if self.scenario is None or manifest.identity != self.identity:
            self.scenario = stored_scenario(self.path, manifest, self.plugins, self.code)
            self.identity, self.errors = manifest.identity, {}
        entries, shards = journal_in(self.path, manifest).entries, shards_of(manifest)
        shapes = shapes_of(self.scenario, 0)
        for index, trials in enumerate(shards):
            entry = entries.get(index)
            if index in self.errors or entry is None or not entry.is_of(trials, shard_name(index)):
                continue
            with suppress(OSError, ValueError):
                expected = with_trials(shapes, len(trials))
                found = read_shard(self.path, entry, self.scenario, expected, trials)
                self.errors[index] = _errors(found, *SUMS[self.judged])

    @property
    def judged(self) -> str:
        """The metric that is told: the excess cost where distances say nothing."""
        return "excess_cost" if self.scenario is not None and self.scenario.no_distance else "tracking_error"

    @property
    def title(self) -> str:
        """The metric in words."""
        return METRICS[self.judged].title

    def rows(self) -> list[ErrorSoFar]:
        """Return a row for each sampler; none while no shard is finished."""
        if not self.errors or self.scenario is None:
            return []
        names = [*(sampler.name for sampler in self.scenario.samplers), *self.scenario.baselines]
        errors = np.concatenate([self.errors[index] for index in sorted(self.errors)])
        return [_row(name, errors[:, n]) for n, name in enumerate(names[: errors.shape[1]])]


def _errors(arrays: Arrays, column: str, over: str) -> Array:
    """The mean of a sum for each trial and sampler of a shard, (T, S); nan where a trial diverged."""
    sums, diverged = arrays["by_mode"].sum(axis=2), arrays["diverged"]
    error = ratio(sums[..., COLUMNS.index(column)], sums[..., COLUMNS.index(over)])
    return np.where(diverged < 0, error, np.nan)


def _row(name: str, errors: Array) -> ErrorSoFar:
    kept = errors[np.isfinite(errors)]
    mean, stderr = over_trials(kept)
    low, high = mean_interval(mean, stderr, kept.size, "positive")
    return ErrorSoFar(name, mean, float(low), float(high), kept.size, errors.size - kept.size)
