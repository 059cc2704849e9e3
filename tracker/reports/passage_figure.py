"""Draw how the first passage of a level converges: order 1/2 to the limit, order 1 to the limit at a raised level."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tracker.formatting import number
from tracker.reports.exhibit import Exhibit, Omitted, Table
from tracker.reports.figure_style import COLOURS, LINES, MARKERS, MUTED, figure, legend

if TYPE_CHECKING:
    from tracker.convergence import Verdict

KEY, QUESTION = "limit-passage", "How late does a path that is looked at every epsilon seem to pass a level?"


def passage_exhibit(verdict: Verdict) -> Exhibit | Omitted:
    """|P(stays below) - that of the limit| against epsilon, at the level and at the raised one."""
    found = verdict.first_passage
    if found is None:
        return Omitted(KEY, QUESTION, "First passages are computed for N = 1, where noise and costs are known exactly.")
    epsilons, own = np.array(verdict.epsilons), np.array(found.algorithm)
    lines = (("to the limit", own - found.limit, 0.5), ("at the raised level", own - found.raised, 1.0))
    with figure(height=3.2) as drawn:
        axes = drawn.add_subplot()
        axes.set_xscale("log", base=2)
        axes.set_yscale("log")
        for n, (name, error, power) in enumerate(lines):
            size = np.maximum(np.abs(error), 1e-16)
            axes.plot(epsilons, size, color=COLOURS[n], marker=MARKERS[n], linestyle=LINES[n], label=name)
            guide = size[0] * (epsilons / epsilons[0]) ** power
            axes.plot(epsilons, guide, color=MUTED, linewidth=1.0, linestyle=(0, (1, 1.5)))
            middle = len(epsilons) // 2
            axes.annotate(
                f"slope {power:g}", (epsilons[middle], guide[middle]), xytext=(6, -12), textcoords="offset points"
            )
        axes.set_xticks(epsilons, [f"{epsilon:.3g}" for epsilon in epsilons])
        axes.minorticks_off()
        axes.set_xlabel("epsilon")
        axes.set_ylabel("|error| of P(stays below)")
        legend(drawn, axes)
    slopes = [
        f"{number(slope, 3)} {where}"
        for slope, where in ((found.order, "at the level"), (found.order_raised, "at the raised level"))
        if slope is not None
    ]
    caption = (
        f"P(theta stays below {number(found.level, 4)} up to T) is {number(found.limit, 4)} in the limit. A path that is looked at only every "
        "epsilon misses excursions, so that its error shrinks like the square root of epsilon; the limit at a level higher by 0.5826 deviations "
        f"of one step's noise allows for that. Measured orders: {', '.join(slopes) or 'none'}."
    )
    rows = tuple(zip(verdict.epsilons, found.algorithm, found.raised, strict=True))
    alt = f"Errors of a first-passage probability against epsilon; orders {', '.join(slopes) or 'none'}."
    return Exhibit(
        KEY, QUESTION, caption, alt, drawn, Table(("epsilon", "algorithm", "limit at the raised level"), rows)
    )
