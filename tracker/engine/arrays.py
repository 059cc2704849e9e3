"""The table of recorded arrays: what a run keeps of its trials, each array with its axes, unit and meaning.

A new array is one row. The ledger, shards, ``result.nc``, the export, the forecast of memory and disk and the reference
page read the table. What a kind of sampler declares as recorded in its state becomes a row of its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tracker import skew
from tracker.engine.alarm_arrays import take_alarm_steps, take_alarms, take_detections
from tracker.engine.ledger import DIVERGED, RESETS
from tracker.environment import recorded_shifts
from tracker.samplers.alarms import raises_alarms
from tracker.samplers.base import layers_of, recorded_by, unpack
from tracker.samplers.baselines import BASELINES
from tracker.samplers.state import SIGMA, SKEW

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from tracker.array_types import Array, Arrays, Integers
    from tracker.engine.ledger import Ledger
    from tracker.engine.problem import Problem
    from tracker.environment import Environment
    from tracker.samplers.state import Recorded
    from tracker.scenario import Scenario

    Layers = tuple[type, ...]  # of a sampler's parameters, then of the one that it wraps

MOST_WITH_EMPTY_PAIRS = 500  # coordinates, up to which every run keeps a place for each entry of S
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
    out = np.full((done.trials.size, len(done.ledgers), pairs_kept(done.problem.scenario)), np.nan)
    for s, (contestant, ledger) in enumerate(zip(done.problem.contestants, done.ledgers, strict=True)):
        if contestant.has_skew:
            # a state that counts its own places tells where S stands in every other
            places = unpack(contestant.parameters, N, np.arange(float(ledger.state.shape[1])))
            while not hasattr(places, "S"):
                places = places.inner
            out[:, s] = ledger.state[:, skew.to_pairs(places.S).astype(np.int64)]
    return out


def _trace(column: int) -> Callable[[Finished], NDArray[Any]]:
    return lambda done: done.by_sampler(lambda ledger: ledger.trace[:, :, column])


def _theta(done: Finished) -> NDArray[Any]:
    N = done.problem.origin.size
    return done.by_sampler(lambda ledger: ledger.trace[:, :, FIRST_COLUMNS : FIRST_COLUMNS + N])


def state_row(recorded: Recorded) -> RecordedArray:
    """Return the row of what a kind declares as recorded: the samplers that have it are its second axis."""

    def take(done: Finished) -> NDArray[Any]:
        N, X = done.problem.origin.size, len(done.problem.modes)
        found = []
        for contestant, ledger in zip(done.problem.contestants, done.ledgers, strict=True):
            begin = FIRST_COLUMNS + N
            for one in contestant.recorded:
                width = recorded_width(one, N, X)
                if one.name == recorded.name:
                    part = ledger.trace[:, :, begin : begin + width]
                    found.append(part if one.axis else part[:, :, 0])
                begin += width
        if recorded.by_one:
            return found[0]
        own = (recorded_width(recorded, N, X),) if recorded.axis else ()
        return np.stack(found, axis=1) if found else np.zeros((done.trials.size, 0, done.problem.records, *own))

    who = () if recorded.by_one else (f"{recorded.name}_sampler",)
    axes = ("trial", *who, "time", *((recorded.axis,) if recorded.axis else ()))
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
    state_row(SKEW),
    state_row(SIGMA),
    RecordedArray("final", ("trial", "sampler", "theta"), "<f8", "theta", "theta at the last step",
                  lambda done: done.by_sampler(lambda ledger: ledger.state[:, : done.problem.origin.size]), finite=True),
    RecordedArray("final_skew", ("trial", "sampler", "pair"), "<f8", "1", "S(i, j), i > j, at the last step", _final_skew),
    RecordedArray("moments", ("trial", "sampler", "moment", "theta"), "<f8", "theta, theta^2",
                  "sum of theta - origin, then lower triangle of the sum of its outer products (or of its squares), over the averaged steps",
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


# Rows of runs in which something raises alarms.
ALARMS = (
    RecordedArray("alarms", ("trial", "sampler"), "<i8", "1", "number of alarms; -1 for what raises none", take_alarms, least=-1),
    RecordedArray("alarm_steps", ("trial", "alarm_sampler", "alarm"), "<i8", "steps", "steps of the first alarms; -1 where there were fewer",
                  take_alarm_steps, least=-1),
    RecordedArray("detections", ("trial", "alarm_sampler", "detection"), "<f8", "1",
                  "switches, those that an alarm caught before the next, sum of the delays, alarms without a switch since the last",
                  take_detections),
)  # fmt: skip


def pairs_kept(scenario: Scenario) -> int:
    """Return how many entries of S are kept; none for very many coordinates where no sampler has an S."""
    N = scenario.dimension
    without = N > MOST_WITH_EMPTY_PAIRS and all(keys.skew_is == "none" for keys in scenario.samplers)
    return 0 if without else N * (N - 1) // 2


def recorded_width(recorded: Recorded, dimension: int, modes: int) -> int:
    """Return how many columns of a trace a recorded part of the state takes."""
    pairs = dimension * (dimension - 1) // 2
    return {"pair": pairs, "theta": dimension, "mode_name": modes, "": 1}[recorded.axis]


def _shifts(done: Finished) -> Array:
    problem, law = done.problem, done.problem.plan.drift
    assert law is not None  # only such worlds have the array
    layout = problem.layout
    return recorded_shifts(law, problem.scenario.seed, done.trials.tolist(), layout.steps, layout.record_every)


def _predicting(scenario: Scenario) -> bool:
    return all(mode.predicts for mode in scenario.modes)


# arrays that only some worlds have, each with the question whether a scenario's does
OF_SOME_WORLDS: tuple[tuple[RecordedArray, Callable[[Scenario], bool]], ...] = (
    (RecordedArray("expected_exits", ("trial", "mode_from", "dwell_age", "expectation"), "<i8", "1e-9",
                   "visits that were to end at each age, and the variance of their number, in billionths",
                   lambda done: np.asarray(done.environment.counts.expected)),
     lambda scenario: scenario.chain is not None and not scenario.chain.law.is_geometric),
    (RecordedArray("prequential", ("trial", "sampler", "time"), "<f8", "loss",
                   "sum of what forecasts of the rows so far have lost, each made before the row was learnt from",
                   lambda done: done.by_sampler(lambda ledger: ledger.trace[:, :, -1]), finite=True), _predicting),
    (RecordedArray("forecasts", ("trial", "sampler", "forecast"), "<f8", "loss, 1",
                   "sum of what forecasts lost over the averaged steps, and their number",
                   lambda done: done.by_sampler(lambda ledger: ledger.state[:, -2:]), finite=True), _predicting),
    (RecordedArray("shift", ("trial", "time", "theta"), "<f8", "theta", "where the drift has moved the landscapes",
                   _shifts, finite=True),
     lambda scenario: scenario.drift is not None),
)  # fmt: skip


def array_rows(scenario: Scenario) -> tuple[RecordedArray, ...]:
    """Return the rows of a scenario's run: the table, and what its world and its contestants have beside it."""
    return _rows(scenario, kinds_of(scenario))


def _rows(scenario: Scenario, kinds: Sequence[Layers]) -> tuple[RecordedArray, ...]:
    declared = {one.name: one for layers in kinds for one in recorded_by(*layers) if one.name not in ARRAYS}
    worldly = [row for row, applies in OF_SOME_WORLDS if applies(scenario)]
    alarms = ALARMS if any(map(raises_alarms, kinds)) else ()
    return (*ARRAYS.values(), *worldly, *map(state_row, declared.values()), *alarms)


def rows_of(problem: Problem) -> tuple[RecordedArray, ...]:
    """Return the rows of a problem."""
    return _rows(problem.scenario, [layers_of(contestant.parameters) for contestant in problem.contestants])


def collect(problem: Problem, trials: Integers, ledgers: Sequence[Ledger], environment: Environment) -> Arrays:
    """Return the arrays of finished trials by name; the first axis is the trial."""
    done = Finished(problem, trials, ledgers, environment)
    return {row.name: row.take(done) for row in rows_of(problem)}


def kinds_of(scenario: Scenario) -> list[Layers]:
    """Return the types of the contestants' parameters, each with those of the samplers within."""
    beside = [(offer.kind,) for name, offer in BASELINES.items() if name in scenario.baselines]
    return [*(layers_of(sampler.build()) for sampler in scenario.samplers), *beside]


def baselines_that_move(scenario: Scenario) -> int:
    """Return how many baselines leave traces that look like those of a sampler."""
    return sum(BASELINES[name].recovers for name in scenario.baselines)
