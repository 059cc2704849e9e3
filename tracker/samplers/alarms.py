"""Alarms: what raises them counts them, keeps the steps of the first, and is judged by the switches that it should have seen.

A state that raises alarms declares ``watch: Array = carried(WATCHED)`` and ``times: Array = carried(MOST_TIMES)``, and registers
``note_switch`` for ``switched``. Steps are kept as k + 1, because a state begins as 0.

A switch at step k is caught by the first alarm before the next switch, with the delay (step of the alarm) - k: an alarm that
the gradient of step k itself raises has delay 0. An alarm without a switch since the last alarm is false.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tracker.compiled import inlined
from tracker.samplers.base import STATES
from tracker.samplers.state import parts_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tracker.array_types import Array

WATCHED = 6  # numbers in ``watch``
PENDING, ALARMS, SWITCHES, CAUGHT, DELAY, FALSE = range(WATCHED)
COUNTS = ("switches", "caught", "delay", "false")  # what is kept of ``watch`` beside the number of alarms
MOST_TIMES = 1000


@inlined
def note_switch(watch: Array, k: int) -> None:
    """Await an alarm for the switch at step k."""
    watch[SWITCHES] += 1.0
    watch[PENDING] = k + 1.0


@inlined
def raise_alarm(watch: Array, times: Array, k: int) -> None:
    """Count an alarm of step k."""
    count = int(watch[ALARMS])
    if count < times.size:
        times[count] = k + 1.0
    watch[ALARMS] += 1.0
    if watch[PENDING] > 0.0:
        watch[CAUGHT] += 1.0
        watch[DELAY] += k + 1.0 - watch[PENDING]
        watch[PENDING] = 0.0
    else:
        watch[FALSE] += 1.0


def raises_alarms(layers: Iterable[type]) -> bool:
    """Tell whether one of the samplers that stand around each other raises alarms."""
    return any("watch" in parts_of(STATES[layer]) for layer in layers if layer in STATES)


def alarm_parts(state: Any) -> tuple[Array, Array]:
    """Return ``watch`` and ``times`` of a state, or of the one within it."""
    while not hasattr(state, "watch"):
        state = state.inner
    return state.watch, state.times
