"""The baselines that stand beside the samplers: ``frozen`` never moves, ``oracle`` knows the hidden mode.

The oracle sits on the current global minimiser; of several, on the one nearest to its last place.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tracker.baseline_names import FROZEN, ORACLE
from tracker.compiled import copy
from tracker.samplers.base import moves, place, sampler
from tracker.samplers.state import carried

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tracker.array_types import Array, Words


class Baseline(NamedTuple):
    """``follows`` is 1 for the oracle, 0 for the frozen one: one type, so that one kernel serves both."""

    follows: int


class State(NamedTuple):
    """The point alone."""

    theta: Array = carried("N")


@sampler(Baseline, State)
def _step(sampler: Baseline, state: State, cost: Any, k: int, z: Array, w: Array, streams: Words) -> None:
    return


@moves.register(Baseline)
def _moves(sampler: Baseline) -> bool:
    return False


@place.register(Baseline)
def _place(sampler: Baseline, state: State, minimisers: Array) -> None:
    if sampler.follows == 0:
        return
    theta = state.theta
    best, nearest = np.inf, 0
    for m in range(minimisers.shape[0]):
        distance = 0.0
        for d in range(theta.size):
            distance += (theta[d] - minimisers[m, d]) ** 2
        if distance < best:
            best, nearest = distance, m
    copy(minimisers[nearest], theta)


def _anywhere(parts: Mapping[str, Any]) -> str:
    return ""


class Offer(NamedTuple):
    """A baseline: its parameters, and why it does not apply to a scenario of these parts; an empty text where it does."""

    parameters: Any
    why_not: Callable[[Mapping[str, Any]], str] = _anywhere


BASELINES: dict[str, Offer] = {
    FROZEN: Offer(Baseline(0)),
    ORACLE: Offer(Baseline(1)),
}


def baselines_that_apply(parts: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the names of the baselines that a scenario of these parts may have, in the order of the table."""
    return tuple(name for name, offer in BASELINES.items() if not offer.why_not(parts))
