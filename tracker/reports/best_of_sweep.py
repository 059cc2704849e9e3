"""Find the best sampler and setting in each world of a sweep, and those that the trials cannot tell from it.

A world is a choice of all that is swept and not the samplers' own (``chain.alpha``, ``steps``, ...). In one world all
points meet the same chains and noise, trial by trial, so that candidates are compared in pairs of trials.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tracker.baseline_names import BASELINES, FROZEN, ORACLE
from tracker.formatting import step_size
from tracker.metrics.averages import Average, confidence_of_each
from tracker.metrics.paired import Paired, gap_closed, ratio_of_averages, ratio_of_means
from tracker.reports.sweep_axes import is_choice, written
from tracker.scenario.overrides import split_address

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tracker.array_types import Array
    from tracker.runs.sweep_points import Axis
    from tracker.runs.sweep_result import Outcome, Sweep

    World = tuple[tuple[Axis, int], ...]


# what candidates are judged by, as a summary calls it; by the cost where distances say nothing
TRACKING, SQUARE, COST = "tracking_error", "mean_square_error", "excess_cost"


class Candidate(NamedTuple):
    """A sampler with a setting of what is swept of it: ``places`` holds (axis, index of its value)."""

    sampler: str
    places: tuple[tuple[Axis, int], ...]
    error: Average
    outcome: Outcome
    metric: str = TRACKING

    @property
    def setting(self) -> str:
        """Its own values, e.g. "epsilon = 0.001"; nothing where none is swept."""
        return ", ".join(f"{axis.address.rpartition('.')[2]} = {written(axis)[n]}" for axis, n in self.places)

    @property
    def label(self) -> str:
        """The sampler with its setting."""
        return f"{self.sampler} ({self.setting})" if self.setting else self.sampler

    @property
    def errors(self) -> Array | None:
        """Of each trial, if they are known."""
        return errors_of(self.outcome, self.sampler, self.metric)

    @property
    def keys(self) -> Any:
        """Its keys."""
        return next(keys for keys in self.outcome.point.scenario.samplers if keys.name == self.sampler)

    @property
    def epsilon(self) -> float:
        """Its step."""
        return float(self.keys.epsilon)

    @property
    def step(self) -> str:
        """Its step, and the one of the classical sampler that moves as fast, where it is another."""
        return step_size(self.keys.epsilon, self.keys.effective_step)

    @property
    def row(self) -> Mapping[str, Any]:
        """What the summary says of it."""
        return next(row for row in rows_of(self.outcome) if row["name"] == self.sampler)


class Contest(NamedTuple):
    """One world: the best candidate, what it was compared with, and those that it was not told from.

    candidates : of all worlds, among which the best ones were chosen
    """

    world: World
    best: Candidate
    against: tuple[tuple[Candidate, Paired], ...]
    candidates: int

    @property
    def where(self) -> str:
        """The world's values, e.g. "chain.alpha = 1e-4"."""
        return where(self.world)

    @property
    def all(self) -> list[Candidate]:
        """The best and those it was compared with."""
        return [self.best, *(other for other, _ in self.against)]

    @property
    def level(self) -> tuple[Candidate, ...]:
        """Those whose interval of the ratio does not stay below 1."""
        return tuple(other for other, pair in self.against if not pair.high < 1.0)

    @property
    def samplers(self) -> tuple[str, ...]:
        """The samplers that may be the best: one, where the trials decide."""
        return tuple(dict.fromkeys(candidate.sampler for candidate in (self.best, *self.level)))

    @property
    def nearest(self) -> tuple[Candidate, Paired] | None:
        """The other candidate that comes closest."""
        return max(self.against, key=lambda one: np.nan_to_num(one[1].estimate, nan=-1.0), default=None)

    @property
    def gap(self) -> Paired | None:
        """How much the best closes of the gap from standing still to knowing the mode, where trials are known.

        The interval would hold for every candidate of every world at once, so it does for those that were chosen.
        """
        outcome = self.best.outcome
        own, still, known = (errors_of(outcome, name) for name in (self.best.sampler, FROZEN, ORACLE))
        if own is None or still is None or known is None:
            return None
        return gap_closed(own, still, known, confidence_of_each(self.candidates))


def where(world: World) -> str:
    """Return the values of a world, e.g. "chain.alpha = 1e-4"."""
    return ", ".join(f"{axis.address} = {written(axis)[n]}" for axis, n in world)


def contests(sweep: Sweep) -> tuple[Contest, ...]:
    """Return a contest for each world in which something came to an end without divergence.

    With 95 % the true best of every world is the one named or among those level with it (``confidence_of_best``).
    """
    found = {world: candidates(sweep.axes, outcomes) for world, outcomes in worlds(sweep).items()}
    sizes = [len(entries) for entries in found.values()]
    confidence = confidence_of_best(sizes)
    return tuple(_contest(world, entries, confidence, sum(sizes)) for world, entries in found.items() if entries)


def confidence_of_best(sizes: Sequence[int]) -> float:
    """Return the confidence of each ratio of the best to another candidate, for contests of so many candidates.

    With 95 % the true best of every contest is then the one named or among those that it was not told from: it is missed only
    if a worse candidate was found better than it, and each other candidate has one chance of that. So the intervals are
    widened for one comparison per other candidate (Bonferroni). They are not meant for all pairs at once.
    """
    return confidence_of_each(sum(max(0, size - 1) for size in sizes))


def candidates(axes: Sequence[Axis], outcomes: Sequence[Outcome], metric: str = TRACKING) -> list[Candidate]:
    """Return the samplers with their settings that came to an end in all trials; each once, though other keys are swept."""
    found: dict[tuple[str, tuple[int, ...]], Candidate] = {}
    for outcome in outcomes:
        metric = COST if outcome.point.scenario.no_distance else metric
        for row in rows_of(outcome):
            name, error = row["name"], row[metric]
            if name in BASELINES or row["diverged"] or error["mean"] is None or outcome.state == "failed":
                continue
            keys = next(keys for keys in outcome.point.scenario.samplers if keys.name == name)
            own = [n for n, axis in enumerate(axes) if is_choice(axis) and _concerns(axis, keys)]
            places = tuple((axes[n], outcome.point.place[n]) for n in own)
            mean = Average(error["mean"], np.nan if error["stderr"] is None else error["stderr"])
            key = name, tuple(place for _, place in places)
            found.setdefault(key, Candidate(name, places, mean, outcome, metric))
    return list(found.values())


def rows_of(outcome: Outcome) -> Sequence[Mapping[str, Any]]:
    """Return the rows of the samplers; nothing for a point without a result."""
    rows: Sequence[Mapping[str, Any]] = outcome.summary["samplers"] if outcome.summary is not None else ()
    return rows


def errors_of(outcome: Outcome, name: str, metric: str = TRACKING) -> Array | None:
    """Return the error of each trial of a sampler, if they are known."""
    names, errors = [row["name"] for row in rows_of(outcome)], outcome.squares if metric == SQUARE else outcome.errors
    return errors[:, names.index(name)] if errors is not None and name in names else None


def _concerns(axis: Axis, keys: Any) -> bool:
    """Tell whether what is swept is a key of this sampler: samplers.NAME.skew, samplers.*.epsilon if it has one, samplers."""
    parts = split_address(axis.address)
    return len(parts) < 2 or parts[1] == keys.name or (parts[1] == "*" and parts[2] in type(keys).key_names())


def worlds(sweep: Sweep) -> dict[World, list[Outcome]]:
    """Return the points by what is swept and not the samplers' own."""
    found: dict[World, list[Outcome]] = {}
    for outcome in sweep.outcomes:
        pairs = zip(sweep.axes, outcome.point.place, strict=True)
        world = tuple((axis, n) for axis, n in pairs if not is_choice(axis))
        found.setdefault(world, []).append(outcome)
    return found


def _contest(world: World, entries: Sequence[Candidate], confidence: float, candidates: int) -> Contest:
    best = min(entries, key=lambda one: one.error.mean)
    against = [(other, compare_candidates(best, other, confidence)) for other in entries if other is not best]
    return Contest(world, best, tuple(against), candidates)


def compare_candidates(best: Candidate, other: Candidate, confidence: float) -> Paired:
    """Compare trial by trial two candidates of one world, or by the standard errors where the trials are not known."""
    one, two = best.errors, other.errors
    if one is not None and two is not None:
        return ratio_of_means(one, two, confidence)
    return ratio_of_averages(best.error, other.error, best.outcome.point.scenario.trials, confidence)
