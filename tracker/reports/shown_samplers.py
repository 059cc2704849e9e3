"""Which samplers a figure shows where there is no room for all: the best, the reference and the worst."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tracker.reports.judged_by import best_of, mean_of

if TYPE_CHECKING:
    from tracker.reports.run_view import View


def best_reference_worst(view: View) -> tuple[str, ...]:
    """Return the best sampler, the first of the file that did not diverge and the worst, each once; () where all diverged."""
    best = best_of(view)
    if best is None:
        return ()
    sign = 1.0 if view.score.smaller_is_better else -1.0
    means = {name: sign * mean_of(view, name) for name in view.alive if np.isfinite(mean_of(view, name))}
    worst = max(means, key=lambda name: means[name])
    return tuple(dict.fromkeys((best, view.alive[0], worst)))


def describe(view: View, shown: tuple[str, ...]) -> str:
    """Say what the samplers of ``best_reference_worst`` are; one may be two of them."""
    if len(shown) == 3:
        return "the best sampler, the first of the file and the worst"
    if shown[0] == view.alive[0]:
        return "the best sampler, the first of the file, and the worst"
    return "the best sampler and the worst, which is the first of the file"
