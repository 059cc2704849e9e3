"""The losses of a regression: what a residual r = y - phi'theta costs, with slope and curvature.

Notes
-----
squared: r^2/2; huber: r^2/2 up to |r| = threshold, then straight on; absolute: |r|. Of a residual that is N(0, s^2), s^2 a
function of theta, the mean cost is known, and its derivative with respect to s^2 is half of E loss''(r): ``mean_loss`` and
``mean_curvature`` (docs/mathematics, "Regression").
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tracker.compiled import generic, where

_SMALLEST = 1e-200  # a deviation of 0 divides nothing: what it divides is 0 too
_ROOT_2 = math.sqrt(2.0)
_BOTH_SIDES = math.sqrt(2.0 / math.pi)  # E|r| of a standard normal r


@generic
def loss(cost: Any, r: float) -> float:  # type: ignore[empty-body]
    """Return loss(r)."""


@generic
def loss_slope(cost: Any, r: float) -> float:  # type: ignore[empty-body]
    """Return loss'(r)."""


@generic
def loss_curvature(cost: Any, r: float) -> float:  # type: ignore[empty-body]
    """Return loss''(r)."""


@generic
def mean_loss(cost: Any, s2: float) -> float:  # type: ignore[empty-body]
    """Return E loss(r) for r ~ N(0, s2)."""


@generic
def mean_curvature(cost: Any, s2: float) -> float:  # type: ignore[empty-body]
    """Return E loss''(r) for r ~ N(0, s2)."""


class SquaredLoss:
    """The mark of a cost with loss r^2/2."""

    __slots__ = ()


class HuberLoss:
    """The mark of a cost with r^2/2 up to its field ``threshold``, and a straight line beyond."""

    __slots__ = ()


class AbsoluteLoss:
    """The mark of a cost with loss |r|; its curvature is 0 almost everywhere and says nothing of its mean."""

    __slots__ = ()


@loss.register(SquaredLoss)
def _squared(cost: Any, r: float) -> float:
    return 0.5 * r * r


@loss_slope.register(SquaredLoss)
def _squared_slope(cost: Any, r: float) -> float:
    return r


@loss_curvature.register(SquaredLoss)
def _squared_curvature(cost: Any, r: float) -> float:
    return 1.0


@mean_loss.register(SquaredLoss)
def _mean_squared(cost: Any, s2: float) -> float:
    return 0.5 * s2


@mean_curvature.register(SquaredLoss)
def _mean_squared_curvature(cost: Any, s2: float) -> float:
    return 1.0


@loss.register(HuberLoss)
def _huber(cost: Any, r: float) -> float:
    k, size = cost.threshold, abs(r)
    return where(size <= k, 0.5 * r * r, k * (size - 0.5 * k))


@loss_slope.register(HuberLoss)
def _huber_slope(cost: Any, r: float) -> float:
    k = cost.threshold
    return where(r > k, k, where(r < -k, -k, r))


@loss_curvature.register(HuberLoss)
def _huber_curvature(cost: Any, r: float) -> float:
    return where(abs(r) <= cost.threshold, 1.0, 0.0)


@mean_loss.register(HuberLoss)
def _mean_huber(cost: Any, s2: float) -> float:
    k, s = cost.threshold, np.sqrt(s2) + _SMALLEST
    t = k / s
    inside, beyond = math.erf(t / _ROOT_2), math.erfc(t / _ROOT_2)
    return 0.5 * (s2 * inside + _BOTH_SIDES * k * s * np.exp(-0.5 * t * t) - k * k * beyond)


@mean_curvature.register(HuberLoss)
def _mean_huber_curvature(cost: Any, s2: float) -> float:
    return math.erf(cost.threshold / (np.sqrt(s2) + _SMALLEST) / _ROOT_2)


@loss.register(AbsoluteLoss)
def _absolute(cost: Any, r: float) -> float:
    return abs(r)


@loss_slope.register(AbsoluteLoss)
def _absolute_slope(cost: Any, r: float) -> float:
    return where(r > 0.0, 1.0, where(r < 0.0, -1.0, 0.0))


@mean_loss.register(AbsoluteLoss)
def _mean_absolute(cost: Any, s2: float) -> float:
    return _BOTH_SIDES * np.sqrt(s2)


@mean_curvature.register(AbsoluteLoss)
def _mean_absolute_curvature(cost: Any, s2: float) -> float:
    return _BOTH_SIDES / (np.sqrt(s2) + _SMALLEST)
