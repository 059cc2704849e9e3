"""The input of every metric: the arrays of a run, and how they were recorded."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from tracker.metrics.averages import ratio

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from tracker.array_types import Array, Booleans, Integers

DETECTION_COUNTS = ("switches", "caught", "delay", "false")  # the last axis of ``detections``


@dataclass(frozen=True)
class MeasuredRun:
    """A run as metrics see it. T trials, S samplers (baselines last), X modes.

    arrays : all that was recorded, by name; axes are (trial, sampler, ...)
    columns : the names of the sums in ``arrays["by_mode"]``, whose axes are (trial, sampler, mode, column)
    epsilon : (S,), the steps; nan for a baseline
    waits_for_targets : (S,), False for a baseline: one never moves, the other is always there
    wait_edges : of the bins in which waits are counted
    floor : (X,), the least expected cost of each mode
    target_radius : (X,); None unless every mode has a target
    classes : whether every mode has labels; None where not
    detections : (T, S, 4), DETECTION_COUNTS; nan for what raises no alarms; None where nobody does
    path : (T,), the way of the current minimiser; None where it is not known
    distance : whether the distance to a minimiser tells how good theta is; None where a cost says that it does not
    """

    arrays: Mapping[str, NDArray[Any]]
    columns: tuple[str, ...]
    steps: int
    burn_in: int
    record_every: int
    cost_every: int
    epsilon: Array
    waits_for_targets: Booleans
    wait_edges: Integers
    floor: Array
    target_radius: Array | None = None
    classes: bool | None = None
    detections: Array | None = None
    path: Array | None = None
    distance: bool | None = True

    def has(self, need: str) -> bool:
        """Tell whether there is such an array, or whether such a fact is known."""
        return need in self.arrays or getattr(self, need, None) is not None

    @cached_property
    def kept(self) -> Booleans:
        """The trials that did not diverge, shape (T, S)."""
        return np.asarray(self.arrays["diverged"] < 0)

    @cached_property
    def repeated(self) -> bool:
        """Whether all trials are one and the same, but for rounding: nothing was random, so that there is one trial."""
        theta = self.arrays.get("theta")
        return (
            theta is not None
            and len(theta) > 1
            and bool(np.allclose(theta, theta[:1], rtol=1e-9, atol=1e-9, equal_nan=True))
        )

    def forecast_loss(self) -> Array:
        """Return the mean of what forecasts lost over the averaged steps, shape (T, S); nan where there were none."""
        loss, number = np.moveaxis(self.arrays["forecasts"], -1, 0)
        return np.asarray(np.divide(loss, number, out=np.full_like(loss, np.nan), where=number > 0))

    def total(self, column: str) -> Array:
        """Return a recorded sum over all averaged steps, shape (T, S)."""
        return np.asarray(self._sums[..., self.columns.index(column)])

    @cached_property
    def _sums(self) -> Array:
        return np.asarray(self.arrays["by_mode"].sum(axis=2))

    def mean(self, column: str, over: str = "steps") -> Array:
        """Return a recorded sum over its number of terms, shape (T, S); ``over`` is "measured" for what costs are part of."""
        return ratio(self.total(column), self.total(over))

    def detected(self, count: str, over: str = "") -> Array:
        """Return a count of how alarms met switches, shape (T, S), or its quotient by another; nan where there is none."""
        assert self.detections is not None  # a metric says that it needs them
        found = self.detections[..., DETECTION_COUNTS.index(count)]
        return ratio(found, self.detections[..., DETECTION_COUNTS.index(over)]) if over else np.asarray(found)

    @property
    def path_lengths(self) -> Array:
        """The way of the current minimiser, the same for all samplers, shape (T, S)."""
        assert self.path is not None
        return np.repeat(self.path[:, np.newaxis], self.kept.shape[1], axis=1)

    @cached_property
    def horizon(self) -> int:
        """To how many steps mean waits are restricted: the mean time between two switches, so that few are cut by the next."""
        trials = len(self.arrays["switches"])
        return max(1, int(trials * self.steps / (int(self.arrays["switches"].sum()) + trials)))
