"""What is kept of alarms: how many, the steps of the first, and how they met the switches; taken from the last states."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tracker.samplers.alarms import ALARMS, CAUGHT, DELAY, FALSE, MOST_TIMES, SWITCHES, alarm_parts
from tracker.samplers.base import unpack

if TYPE_CHECKING:
    from tracker.array_types import Array, Integers
    from tracker.engine.arrays import Finished
    from tracker.engine.ledger import Ledger
    from tracker.engine.problem import Contestant


def take_alarms(done: Finished) -> Integers:
    """Return the number of alarms, shape (T, samplers); -1 for what raises none."""
    out = np.full((done.trials.size, len(done.ledgers)), -1, dtype=np.int64)
    for s, (contestant, ledger) in enumerate(zip(done.problem.contestants, done.ledgers, strict=True)):
        if contestant.raises_alarms:
            out[:, s] = _last(contestant, ledger, done.problem.origin.size)[0][:, ALARMS]
    return out


def take_alarm_steps(done: Finished) -> Integers:
    """Return the steps of the first alarms, shape (T, what raises alarms, MOST_TIMES); -1 where there were fewer."""
    found = [times for _, times in _watched(done)]
    out = np.empty((done.trials.size, len(found), MOST_TIMES), dtype=np.int64)
    for n, times in enumerate(found):
        np.subtract(times, 1.0, out=out[:, n], casting="unsafe")
    return out


def take_detections(done: Finished) -> Array:
    """Return switches, those that an alarm caught, the sum of the delays, and false alarms, shape (T, what raises alarms, 4)."""
    found = [watch[:, [SWITCHES, CAUGHT, DELAY, FALSE]] for watch, _ in _watched(done)]
    return np.stack(found, axis=1) if found else np.zeros((done.trials.size, 0, 4))


def _watched(done: Finished) -> list[tuple[Array, Array]]:
    N = done.problem.origin.size
    return [
        _last(contestant, ledger, N)
        for contestant, ledger in zip(done.problem.contestants, done.ledgers, strict=True)
        if contestant.raises_alarms
    ]


def _last(contestant: Contestant, ledger: Ledger, N: int) -> tuple[Array, Array]:
    """Return ``watch`` and ``times`` of all trials, views: a state that counts its own places tells where they stand."""
    watch, times = alarm_parts(unpack(contestant.parameters, N, np.arange(float(ledger.state.shape[1]))))
    return ledger.state[:, _place(watch)], ledger.state[:, _place(times)]


def _place(part: Array) -> slice:
    return slice(int(part[0]), int(part[-1]) + 1)
