"""The baselines that stand beside the samplers: ``frozen`` never moves, ``oracle`` knows the hidden mode, ``filter`` infers it.

The filter has a file of its own. The oracle sits on the current global minimiser; of several, on the one nearest to its last place.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tracker.baseline_names import FILTER, FROZEN, ORACLE
from tracker.compiled import copy
from tracker.samplers.base import Evaluations, moves, place, sampler
from tracker.samplers.mode_filter import Filter, filter_of, is_bound, why_no_filter, why_not_by_keys
from tracker.samplers.state import carried

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tracker.array_types import Array, Words
    from tracker.samplers.known_world import KnownWorld


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


def _anywhere(world: Any) -> str:
    return ""


class Offer(NamedTuple):
    """A baseline: the type of its parameters, how they are built, and what others need to know of it.

    why_not : why it does not apply to a scenario of these parts, before anything is built; an empty text where it may
    why_not_here : the same of a world that is built, in which everything can be told
    evaluations : per step, of what it sees
    recovers : whether it has times of re-acquisition: what stands still, or is always there, has none
    is_bound : whether no sampler that sees one gradient a step can have a smaller mean square error
    """

    kind: type
    build: Callable[[KnownWorld], Any]
    why_not: Callable[[Mapping[str, Any]], str] = _anywhere
    why_not_here: Callable[[KnownWorld], str] = _anywhere
    evaluations: Evaluations = Evaluations(gradient=0)
    recovers: bool = False
    is_bound: Callable[[KnownWorld], bool] = lambda _: False


BASELINES: dict[str, Offer] = {
    FROZEN: Offer(Baseline, lambda _: Baseline(0)),
    ORACLE: Offer(Baseline, lambda _: Baseline(1), is_bound=lambda _: True),
    FILTER: Offer(
        Filter, filter_of, why_not_by_keys, why_no_filter, Evaluations(gradient=1), recovers=True, is_bound=is_bound
    ),
}


def baselines_that_apply(parts: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the names of the baselines that a scenario of these parts may have, in the order of the table."""
    return tuple(name for name, offer in BASELINES.items() if not offer.why_not(parts))
