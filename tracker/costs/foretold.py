"""What a cost says of forecasts: theta is asked for the row of a step before it learns from it (docs/mathematics, "Rows in order")."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tracker.compiled import generic_with_default

if TYPE_CHECKING:
    from tracker.array_types import Array


@generic_with_default
def forecast_loss(cost: Any, theta: Array, z: Array) -> float:
    """Return what theta loses in predicting the observation z, before it is learnt from; 0 where nothing is predicted."""
    return 0.0


@generic_with_default
def predicts(cost: Any) -> bool:
    """Tell whether ``forecast_loss`` is summed: rows come in an order of their own, so that a forecast is one."""
    return False
