"""The table of recorded arrays: what a run keeps of its trials, each array with its axes, unit and meaning.

A new array is one row. The ledger, shards, ``result.nc``, the export, the forecast of memory and disk and the reference
page read the table. What a kind of sampler declares as recorded in its state becomes a row of its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tracker import skew
from tracker.engine.bins import AGE_BITS, WAIT_BITS, bin_edges, bin_of
from tracker.engine.ledger import COLUMNS, DIVERGED, RESETS
from tracker.engine.problem import plan_of
from tracker.environment import dwell_ages
from tracker.samplers.base import recorded_by, unpack
from tracker.samplers.state import SIGMA, SKEW

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from numpy.typing import NDArray

    from tracker.array_types import Array, Arrays, Integers
    from tracker.engine.ledger import Ledger
    from tracker.engine.problem import Problem
    from tracker.environment import Environment
    from tracker.samplers.state import Recorded
    from tracker.scenario import Scenario

FIRST_COLUMNS = 3  # of a trace: mode, error, excess cost; theta follows


class Finished(NamedTuple):
    """Trials at their end: what arrays are taken from."""

    problem: Problem
    trials: Integers
    ledgers: Sequence[Ledger]
    environment: Environment

    def by_sampler(self, pick: Callable[[Ledger], NDArray[Any]]) -> NDArray[Any]:
        """Return what ``pick`` takes from each ledger, with the sampler as the second axis."""
        return np.stack([pick(ledger) for ledger in self.ledgers], axis=1)


class RecordedArray(NamedTuple):
    """One array of a run.

    ``axes`` name its axes; ``file_name`` is its name in result.nc where that must differ from ``name``; ``finite``: no nan
    in a trial that did not diverge; ``least``: the least whole number that can be.
    """

    name: str
    axes: tuple[str, ...]
    dtype: str
    unit: str
    long_name: str
    take: Callable[[Finished], NDArray[Any]]
    file_name: str = ""
    finite: bool = False
    least: int = 0

    @property
    def stored_name(self) -> str:
        """The name in result.nc."""
        return self.file_name or self.name


def _final_skew(done: Finished) -> Array:
    """Return S(i, j), i > j, at the last step, shape (T, samplers, pairs); nan where there is no S."""
    N = done.problem.origin.size
    out = np.full((done.trials.size, len(done.ledgers), N * (N - 1) // 2), np.nan)
    for s, (contestant, ledger) in enumerate(zip(done.problem.contestants, done.ledgers, strict=True)):
        if contestant.has_skew:
            # a state that counts its own places tells where S stands in every other
            places = unpack(contestant.parameters, N, np.arange(float(ledger.state.shape[1]))).S
            out[:, s] = ledger.state[:, skew.to_pairs(places).astype(np.int64)]
    return out


def _trace(column: int) -> Callable[[Finished], NDArray[Any]]:
    return lambda done: done.by_sampler(lambda ledger: ledger.trace[:, :, column])


def _theta(done: Finished) -> NDArray[Any]:
    N = done.problem.origin.size
    return done.by_sampler(lambda ledger: ledger.trace[:, :, FIRST_COLUMNS : FIRST_COLUMNS + N])


def _of_state(recorded: Recorded) -> RecordedArray:
    """Return the row of what a kind declares as recorded: the samplers that have it are its second axis."""

    def take(done: Finished) -> NDArray[Any]:
        N = done.problem.origin.size
        found = []
        for contestant, ledger in zip(done.problem.contestants, done.ledgers, strict=True):
            begin = FIRST_COLUMNS + N
            for one in contestant.recorded:
                width = recorded_width(one, N)
                if one.name == recorded.name:
                    part = ledger.trace[:, :, begin : begin + width]
                    found.append(part if one.axis else part[:, :, 0])
                begin += width
        own = (recorded_width(recorded, N),) if recorded.axis else ()
        return np.stack(found, axis=1) if found else np.zeros((done.trials.size, 0, done.problem.records, *own))

    axes = ("trial", f"{recorded.name}_sampler", "time", *((recorded.axis,) if recorded.axis else ()))
    return RecordedArray(recorded.name, axes, "<f8", recorded.unit, recorded.long_name, take)


ARRAYS: dict[str, RecordedArray] = {row.name: row for row in (
    RecordedArray("trial", ("trial",), "<i8", "1", "index of the trial", lambda done: done.trials),
    RecordedArray("mode", ("trial", "time"), "<i2", "1", "hidden mode; -1 after a divergence",
                  lambda done: np.nan_to_num(done.ledgers[-1].trace[:, :, 0], nan=-1).astype(np.int16), least=-1),
    RecordedArray("final_mode", ("trial",), "<i8", "1", "hidden mode at the last step", lambda done: done.environment.present),
    RecordedArray("switches", ("trial",), "<i8", "1", "switches of the hidden mode", lambda done: done.environment.switches),
    RecordedArray("jumps", ("trial", "mode_from", "mode_to"), "<i8", "1", "jumps of the chain by old and new mode",
                  lambda done: done.environment.counts.jumps),
    RecordedArray("censored", ("trial", "mode_from"), "<i8", "1", "visits cut off by the end or by an intervention",
                  lambda done: done.environment.counts.censored),
    RecordedArray("exits", ("trial", "mode_from", "dwell_age"), "<i8", "1", "visits that ended at each age",
                  lambda done: done.environment.counts.exits),
    RecordedArray("at_risk", ("trial", "mode_from", "dwell_age"), "<i8", "1", "visits that could end at each age",
                  lambda done: done.environment.counts.at_risk),
    RecordedArray("error", ("trial", "sampler", "time"), "<f8", "theta", "distance to the nearest minimiser of the hidden mode",
                  _trace(1), finite=True),
    RecordedArray("excess", ("trial", "sampler", "time"), "<f8", "cost", "expected cost above its least value in the hidden mode",
                  _trace(2)),
    RecordedArray("theta", ("trial", "sampler", "time", "theta"), "<f8", "theta", "iterates", _theta,
                  file_name="theta_trace", finite=True),  # in a file a variable cannot share its name with one of its axes
    _of_state(SKEW),
    _of_state(SIGMA),
    RecordedArray("final", ("trial", "sampler", "theta"), "<f8", "theta", "theta at the last step",
                  lambda done: done.by_sampler(lambda ledger: ledger.state[:, : done.problem.origin.size]), finite=True),
    RecordedArray("final_skew", ("trial", "sampler", "pair"), "<f8", "1", "S(i, j), i > j, at the last step", _final_skew),
    RecordedArray("moments", ("trial", "sampler", "moment", "theta"), "<f8", "theta, theta^2",
                  "sum of theta - origin, then lower triangle of the sum of its outer products, over the averaged steps",
                  lambda done: done.by_sampler(lambda ledger: ledger.moments), finite=True),
    RecordedArray("by_mode", ("trial", "sampler", "mode_from", "sum"), "<f8", "1", "sums over the averaged steps in each mode",
                  lambda done: done.by_sampler(lambda ledger: ledger.sums[:, : done.problem.layout.modes]), finite=True),
    RecordedArray("by_age", ("trial", "sampler", "age", "sum"), "<f8", "1", "sums over the averaged steps by steps since the switch",
                  lambda done: done.by_sampler(lambda ledger: ledger.sums[:, done.problem.layout.modes :])),
    RecordedArray("waits", ("trial", "sampler", "mode_to", "wait", "outcome"), "<i8", "1", "re-acquisitions by duration",
                  lambda done: done.by_sampler(lambda ledger: ledger.waits)),
    RecordedArray("stays", ("trial", "sampler", "mode_to", "look"), "<i8", "1",
                  "re-acquisitions looked at again a relaxation time later, and those still inside",
                  lambda done: done.by_sampler(lambda ledger: ledger.stays)),
    RecordedArray("diverged", ("trial", "sampler"), "<i8", "steps", "step of divergence; -1 for none",
                  lambda done: done.by_sampler(lambda ledger: ledger.marks[:, DIVERGED]), least=-1),
    RecordedArray("resets", ("trial", "sampler"), "<i8", "1", "resets of a derivative process",
                  lambda done: done.by_sampler(lambda ledger: ledger.marks[:, RESETS])),
)}  # fmt: skip


def recorded_width(recorded: Recorded, dimension: int) -> int:
    """Return how many columns of a trace a recorded part of the state takes."""
    return {"pair": dimension * (dimension - 1) // 2, "theta": dimension, "": 1}[recorded.axis]


def array_rows(kinds: Iterable[type]) -> tuple[RecordedArray, ...]:
    """Return the rows of a run whose samplers have parameters of these types: the table, and what they declare beside it."""
    declared = {one.name: one for kind in kinds for one in recorded_by(kind) if one.name not in ARRAYS}
    return (*ARRAYS.values(), *map(_of_state, declared.values()))


def rows_of(problem: Problem) -> tuple[RecordedArray, ...]:
    """Return the rows of a problem."""
    return array_rows(type(contestant.parameters) for contestant in problem.contestants)


def collect(problem: Problem, trials: Integers, ledgers: Sequence[Ledger], environment: Environment) -> Arrays:
    """Return the arrays of finished trials by name; the first axis is the trial."""
    done = Finished(problem, trials, ledgers, environment)
    return {row.name: row.take(done) for row in rows_of(problem)}


def kinds_of(scenario: Scenario) -> list[type]:
    """Return the types of the samplers' parameters."""
    return [type(sampler.build()) for sampler in scenario.samplers]


def axis_sizes(scenario: Scenario) -> dict[str, int]:
    """Return the length of every axis of a run's arrays, known before anything is built."""
    N, X, kinds = scenario.dimension, len(scenario.modes), kinds_of(scenario)
    names = {SKEW.name, SIGMA.name, *(one.name for kind in kinds for one in recorded_by(kind))}
    return {
        "trial": scenario.trials,
        "time": scenario.steps // scenario.record_every + 1,
        "sampler": len(kinds) + len(scenario.baselines),
        "theta": N,
        "pair": N * (N - 1) // 2,
        "moment": N + 1,
        "mode_from": X,
        "mode_to": X,
        "dwell_age": dwell_ages(plan_of(scenario)).size,
        "age": bin_of(scenario.steps, AGE_BITS) + 1,
        "wait": bin_of(scenario.steps, WAIT_BITS) + 1,
        "sum": len(COLUMNS),
        "outcome": 2,
        "look": 2,
        **{f"{name}_sampler": sum(name in {one.name for one in recorded_by(kind)} for kind in kinds) for name in names},
    }


def axis_labels(problem: Problem, trials: Integers) -> dict[str, Any]:
    """Return what the places along each axis are called, where they have names of their own."""
    layout, N = problem.layout, problem.origin.size
    modes = [mode.name for mode in problem.scenario.modes]
    return {
        "sampler": [contestant.name for contestant in problem.contestants],
        "trial": trials,
        "time": np.arange(problem.records) * layout.record_every,
        "theta": np.arange(1, N + 1),
        "pair": [f"({i + 1},{j + 1})" for i, j in skew.pairs(N)],
        "mode_from": modes,
        "mode_to": modes,
        "sum": list(COLUMNS),
        "outcome": ["reached", "censored"],
        "look": ["all", "inside"],
        "age": bin_edges(layout.steps, AGE_BITS)[:-1],
        "wait": bin_edges(layout.steps, WAIT_BITS)[:-1],
        **{
            row.axes[1]: [c.name for c in problem.contestants if c.records(row.name)]
            for row in rows_of(problem)
            if len(row.axes) > 1 and row.axes[1].endswith("_sampler")
        },
    }
