"""A forest plot: a row for each sampler with its estimate, its interval and a note."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tracker.formatting import number, percent
from tracker.reports.figure_style import INK, MUTED, RULE

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from matplotlib.axes import Axes

    from tracker.metrics.paired import Paired
    from tracker.reports.figure_style import Look

WIDEST_RATIO_DRAWN = 50.0  # a ratio beyond this factor is drawn at the edge
MANY_TRIALS = 1000  # of which the share that was won is told, not the count
EDGE_OF_THE_REACH = 0.97  # of the logarithm of the reach: the edge at which such a ratio is drawn
# up to each reach of the axis: the ratios whose labels have room beside each other
RATIO_TICKS = (
    (1.3, (0.8, 0.9, 1, 1.1, 1.25)),
    (1.6, (0.8, 1, 1.25)),
    (4.0, (0.5, 0.7, 1, 1.5, 2)),
    (WIDEST_RATIO_DRAWN, (0.02, 0.1, 0.2, 0.5, 1, 2, 5, 10, 50)),
)


class Row(NamedTuple):
    """A line of the plot: ``low`` and ``high`` are nan without an interval, ``estimate`` is nan where it is not known."""

    name: str
    estimate: float
    low: float
    high: float
    note: str = ""


def paired_row(name: str, pair: Paired) -> Row:
    """Return the row of a paired comparison, with the share of trials that it won."""
    wins = f"{pair.wins}/{pair.trials}" if pair.trials < MANY_TRIALS else percent(pair.wins / pair.trials)
    return Row(name, pair.estimate, pair.low, pair.high, wins)


def forest(
    ax: Axes, rows: Sequence[Row], looks: Mapping[str, Look], neutral: float, span: tuple[float, float], head: str = ""
) -> None:
    """Draw the rows; what lies outside ``span`` is drawn at its end, with an arrow that points to where it is.

    neutral : where neither side is better
    head : what the notes to the right are; they are left out without it
    """
    least, most = span
    ax.axvline(neutral, color=MUTED, linewidth=1.0)
    right: dict[str, Any] = {"transform": ax.get_yaxis_transform(), "va": "center"}
    for n, row in enumerate(rows):
        look = looks[row.name]
        if n % 2:
            ax.axhspan(n - 0.5, n + 0.5, color=RULE, alpha=0.25, linewidth=0)
        if not np.isnan(row.estimate):
            if not np.isnan(row.low):
                ax.plot(np.clip([row.low, row.high], least, most), [n, n], color=look.color, linewidth=2.0)
            marker = "<" if row.estimate < least else ">" if row.estimate > most else look.marker
            ax.plot([np.clip(row.estimate, least, most)], [n], marker, color=look.color, clip_on=False)
            if marker != look.marker and np.isfinite(row.estimate):  # off the axis: say by how much
                side = 1.0 if marker == ">" else -1.0
                words: dict[str, Any] = {"textcoords": "offset points", "va": "center", "color": MUTED}
                place = (float(np.clip(row.estimate, least, most)), n)
                ax.annotate(number(row.estimate, 2), place, (-7 * side, 0), ha="right" if side > 0 else "left", **words)
        if head:
            ax.text(1.01, n, row.note, color=INK, **right)
    if head:
        ax.text(1.01, -0.85, head, color=MUTED, **right)
    ax.set_yticks(range(len(rows)), [row.name for row in rows])
    ax.set_ylim(len(rows) - 0.5, -0.5)
    ax.grid(visible=False, axis="y")


def reach_of(rows: Sequence[Row], least: float) -> float:
    """Return how far an axis of ratios must go from 1 to both sides to hold the rows."""
    ends = [end for row in rows for end in (row.low, row.high, row.estimate) if np.isfinite(end) and end > 0]
    return float(min(WIDEST_RATIO_DRAWN, 1.1 * max([least, *ends, *(1.0 / end for end in ends)])))


def forest_of_ratios(
    ax: Axes,
    rows: Sequence[Row],
    looks: Mapping[str, Look],
    head: str = "",
    least: float = 1.1,
    reach: float | None = None,
    *,
    narrow: bool = False,
) -> None:
    """Draw ratios on a logarithmic axis around 1 that reaches at least from 1/``least`` to ``least``; one of 0 has no place.

    reach : how far the axis goes to both sides, where several plots share it; what lies beyond is drawn at the edge
    narrow : whether there is room for half of the labels only
    """
    reach = reach_of(rows, least) if reach is None else reach
    edge = reach**EDGE_OF_THE_REACH
    shown = [row if row.estimate > 0 else row._replace(estimate=np.nan) for row in rows]
    ax.set_xscale("log")
    forest(ax, shown, looks, 1.0, (1.0 / edge, edge), head)
    ax.set_xlim(1.0 / reach, reach)
    ticks = [tick for tick in next(ticks for top, ticks in RATIO_TICKS if reach <= top) if 1.0 / reach <= tick <= reach]
    if narrow and len(ticks) > 3:
        middle = ticks.index(1)
        ticks = [ticks[middle // 2], 1, ticks[(middle + len(ticks)) // 2]]
    ax.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    ax.minorticks_off()
