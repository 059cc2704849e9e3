"""How a wait for the target is told: the median of the switches that led out of it, or that half of them never came back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tracker.formatting import DASH, whole

if TYPE_CHECKING:
    from collections.abc import Mapping

NEVER = "never in half"


def median_wait(recovery: Mapping[str, Any] | None, *, interval: bool = False) -> str:
    """Return the median of a summary's ``recovery`` in steps; "never in half" where half of the waits were cut short.

    A dash stands where there was nothing to wait for, and for what never waits: the baselines.
    """
    if not recovery:
        return DASH
    if recovery.get("median") is None:
        return NEVER if recovery.get("mean") is not None and recovery.get("switches") else DASH
    text = whole(recovery["median"])
    if interval and recovery.get("low") is not None:
        text += f" [{whole(recovery['low'])}, {whole(recovery['high']) if recovery['high'] is not None else '∞'}]"
    return text
