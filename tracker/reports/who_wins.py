"""Which sampler has the smallest error at which point of a sweep over two keys; what the trials do not decide is hatched."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tracker.formatting import counted, interval, number
from tracker.metrics.table import METRICS
from tracker.reports.best_of_sweep import candidates, compare_candidates, confidence_of_best
from tracker.reports.exhibit import Cell, Exhibit, Table
from tracker.reports.figure_style import MUTED, PAPER, WIDTH, figure, legend_of, looks, names_below, shorten
from tracker.reports.sweep_axes import ticks
from tracker.reports.sweep_figures import picture_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.figure import Figure

    from tracker.metrics.paired import Paired
    from tracker.reports.best_of_sweep import Candidate
    from tracker.reports.sweep_figures import SweepPicture
    from tracker.runs.sweep_result import Sweep

KEY = "who-wins"
HATCH = "////"


class Race(NamedTuple):
    """A point: the sampler with the smallest error, and the one that comes closest, with the ratio of their errors."""

    place: tuple[int, ...]
    best: Candidate
    nearest: Candidate
    ratio: Paired
    decided: bool


def races(sweep: Sweep) -> list[Race]:
    """Return a race for each point at which two samplers or more came to an end; with 95 % no decided one is wrong."""
    found = {outcome.point.place: candidates(sweep.axes, [outcome]) for outcome in sweep.outcomes}
    met = {place: entries for place, entries in found.items() if len(entries) > 1}
    confidence = confidence_of_best([len(entries) for entries in met.values()])
    return [_race(place, entries, confidence) for place, entries in met.items()]


def _race(place: tuple[int, ...], entries: Sequence[Candidate], confidence: float) -> Race:
    best = min(entries, key=lambda one: one.error.mean)
    against = [(other, compare_candidates(best, other, confidence)) for other in entries if other is not best]
    nearest, ratio = max(against, key=lambda one: np.nan_to_num(one[1].estimate, nan=-1.0))
    return Race(place, best, nearest, ratio, all(pair.high < 1.0 for _, pair in against))


def who_wins(sweep: Sweep) -> Exhibit | None:
    """Return the picture; None where fewer than two keys are swept, or nowhere two samplers came to an end."""
    ran = races(sweep)
    if not ran or sum(len(axis.values) > 1 for axis in sweep.axes) != 2:
        return None
    drawn = picture_of(sweep, ran[0].best.metric)
    title = METRICS[ran[0].best.metric].title
    won = {name: sum(race.decided and race.best.sampler == name for race in ran) for name in drawn.samplers}
    level = sum(not race.decided for race in ran)
    parts = [f"{name} at {count}" for name, count in won.items() if count]
    parts += [f"not told apart at {level}"] if level else []
    rows: list[tuple[Cell, ...]] = []
    for race in ran:
        values = [axis.labels[n] for axis, n in zip(sweep.axes, race.place, strict=True)]
        ratio = f"{number(race.ratio.estimate)} {interval(race.ratio.low, race.ratio.high)}"
        rows.append((*values, race.best.sampler, race.nearest.sampler, ratio, "yes" if race.decided else "no"))
    columns = (*(axis.address for axis in sweep.axes), "smallest", "next", "ratio to the next", "decided")
    return Exhibit(
        KEY,
        f"Which sampler has the smallest {title} where?",
        f"Of {counted(len(ran), 'point')}: {', '.join(parts)}.",
        f"A map of {' against '.join(axis.address for axis in drawn.axes)}, a colour for each sampler.",
        _map(drawn, ran, sweep),
        Table(columns, tuple(rows)),
        "At each point all samplers meet the same trials. A sampler is named where the intervals of its ratio to every other one, "
        "widened for all comparisons of the map, stay below 1; hatched cells are undecided, in the colour of the smallest estimate.",
    )


def _map(drawn: SweepPicture, ran: Sequence[Race], sweep: Sweep) -> Figure:
    from matplotlib.patches import Patch, Rectangle

    down, across = drawn.axes
    shown = [n for n, axis in enumerate(sweep.axes) if axis in drawn.axes]
    styles = looks(drawn.samplers, drawn.kinds)
    with figure(WIDTH, 3.2) as picture:
        ax = picture.subplots()
        for race in ran:
            row, column = (race.place[n] for n in shown)
            look = styles[race.best.sampler]
            corner = (column - 0.5, row - 0.5)
            if race.decided:
                ax.add_patch(Rectangle(corner, 1.0, 1.0, facecolor=look.color, edgecolor=PAPER))
                ax.plot([column], [row], look.marker, color=PAPER, markersize=7.0)
            else:
                ax.add_patch(
                    Rectangle(corner, 1.0, 1.0, facecolor="none", edgecolor=look.color, hatch=HATCH, linewidth=0)
                )
        ax.set(xlim=(-0.5, len(across.values) - 0.5), ylim=(-0.5, len(down.values) - 0.5))
        ax.grid(visible=False)
        names_below(ax, np.arange(len(across.values)), ticks(across))
        ax.set_yticks(range(len(down.values)), shorten(ticks(down)), parse_math=False)
        ax.set_xlabel(across.address)
        ax.set_ylabel(down.address)
        seen = [name for name in drawn.samplers if any(race.best.sampler == name for race in ran)]
        handles = [Patch(facecolor=styles[name].color) for name in seen]
        handles.append(Patch(facecolor="none", edgecolor=MUTED, hatch=HATCH, linewidth=0))
        legend_of(picture, handles, [*seen, "not told apart"])
    return picture
