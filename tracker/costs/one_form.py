"""Costs of several modes written alike, so that trials in different modes can go side by side (docs/architecture, "Speed of a step").

What a mode has not, and another has, is there with coefficients 0: sums are the same, bit for bit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tracker.compiled import generic_with_default

if TYPE_CHECKING:
    from collections.abc import Sequence


@generic_with_default
def in_form_of(cost: Any, costs: Sequence[Any]) -> Any:
    """Return ``cost`` with the shapes and the structure that all ``costs``, of its type, can share (interpreted only)."""
    return cost


def in_one_form(modes: Sequence[Any]) -> list[Any]:
    """Return the modes with their costs written alike; as they are where costs are of different types."""
    costs = [mode.cost for mode in modes]
    if len({type(cost) for cost in costs}) > 1:
        return list(modes)
    return [mode._replace(cost=in_form_of(mode.cost, costs)) for mode in modes]
