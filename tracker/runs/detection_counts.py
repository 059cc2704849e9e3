"""How alarms met the switches, for metrics: the recorded counts on the axis of all samplers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from tracker.array_types import Array
    from tracker.engine.simulate import Problem


def detections_by_sampler(problem: Problem, arrays: Mapping[str, NDArray[Any]]) -> Array | None:
    """Return the counts, shape (T, S, 4), nan for what raises no alarms; None where nobody does."""
    if "detections" not in arrays:
        return None
    found = arrays["detections"]
    out = np.full((len(found), len(problem.contestants), found.shape[2]), np.nan)
    out[:, [n for n, contestant in enumerate(problem.contestants) if contestant.raises_alarms]] = found
    return out
