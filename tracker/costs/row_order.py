"""Which stored row a step sees: a random one, the next one of the file, or the next one of a sweep in a new order.

Notes
-----
With n rows, step k sees
- ``random``: a row drawn with equal probabilities, one uniform a step;
- ``in-order``: row k mod n; nothing is drawn;
- ``shuffle``: row p(k mod n), p a permutation of its own for each sweep k // n and each trial: a Feistel cipher on the numbers
  below the next power of 4, walked until it falls below n, keyed by the sweep and by the trial's stream of observations, which
  is not advanced. All modes of a world have the same order, so that nobody else advances it.
Where a column of the file says which mode holds, a mode's cost is about its own rows: ``place`` gives for each row of the file its
place among those.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from tracker.compiled import helper, in_lanes
from tracker.costs.base import observation_size, observe, period, stored_observations
from tracker.costs.facts import common_fields
from tracker.costs.foretold import predicts
from tracker.streams import draw_index

if TYPE_CHECKING:
    from collections.abc import Callable

    from tracker.array_types import Array, Integers, Words

Rows = Literal["random", "in-order", "shuffle"]
RANDOM, IN_ORDER, SHUFFLE = range(3)
KINDS = {"random": RANDOM, "in-order": IN_ORDER, "shuffle": SHUFFLE}
MEANING = 'which row a step sees: "random", "in-order" (row k mod n), or "shuffle" (each sweep in a new order)'

_U = np.uint64
_ODD, _MIX = _U(0x9E3779B97F4A7C15), _U(0xD6E8FEB86659FD93)
_32, _1, _0 = _U(32), _U(1), _U(0)
ROUNDS = 8


class RowOrder(NamedTuple):
    """how: one of RANDOM, IN_ORDER, SHUFFLE; place (rows of the file,), empty where all rows are the mode's own."""

    how: int
    place: Integers


@helper
def scramble(value: np.uint64, key: np.uint64) -> np.uint64:
    """Return a hash of ``value`` under ``key``."""
    mixed = (value + key) * _MIX
    mixed = (mixed ^ (mixed >> _32)) * _MIX
    return mixed ^ (mixed >> _32)


@helper
def permute(index: int, n: int, key: np.uint64) -> int:
    """Return where a permutation of 0, ..., n - 1, chosen by ``key``, puts ``index``."""
    half = _1
    while (_1 << (half + half)) < _U(n):
        half += _1
    low = (_1 << half) - _1
    value = _U(index)
    while True:
        left, right = value >> half, value & low
        for r in range(ROUNDS):
            left, right = right, left ^ (scramble(right, scramble(_U(r) * _ODD, key)) & low)
        value = (left << half) | right
        if value < _U(n):
            return int(value)


def row_of_step(order: RowOrder, n: int, k: int, stream: Words) -> int:
    """Return the row, of n, that step k sees."""
    if order.how == RANDOM:
        return draw_index(stream, n)
    if order.how == IN_ORDER:
        return order.place[k % order.place.size] if order.place.size > 0 else k % n
    return permute(k % n, n, scramble(_U(k // n) * _ODD, stream[0] ^ stream[1]))


def _random_row(*_: Any) -> Callable[..., Any]:
    """Of trials side by side, which see rows in no order of their own (``predicts``)."""
    return lambda order, n, k, stream: draw_index(stream, n)  # noqa: ARG005


in_lanes(row_of_step, _random_row)


def row_order(rows: Rows, place: Integers | None = None) -> RowOrder:
    """Return the order that the key ``rows`` means."""
    return RowOrder(KINDS[rows], np.zeros(0, dtype=np.int64) if place is None else place)


# --- what a family with the fields ``rows`` and ``order`` is shown: the index of a row a step


def shows_rows(family: type) -> None:
    """Let a step of ``family`` see the index of one of its ``rows`` (n, N), in its ``order``."""
    observation_size.register(family)(_one_index)
    observe.register(family)(_observe)
    period.register(family)(_period)
    predicts.register(family)(_predicts)
    stored_observations.register(family)(_indices)
    common_fields.register(family)(_common_fields)


def _one_index(cost: Any) -> int:
    return 1


def _observe(cost: Any, k: int, count: int, stream: Words, out: Array) -> None:
    for i in range(count):
        out[i, 0] = 1.0 * row_of_step(cost.order, cost.rows.shape[0], k + i, stream)


def _period(cost: Any) -> int:
    return max(cost.rows.shape[0], cost.order.place.size) if cost.order.how == IN_ORDER else 1


def _predicts(cost: Any) -> bool:
    return cost.order.how != RANDOM


def _indices(cost: Any) -> Array:
    return np.arange(float(cost.rows.shape[0]))[:, np.newaxis]


def _common_fields(cost: Any) -> tuple[str, ...]:
    return ("rows",) if cost.order.place.size == 0 else ()
