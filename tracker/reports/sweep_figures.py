"""Draw a sweep: a metric against what is swept, as lines for one axis and as heat maps for two."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tracker.baseline_names import BASELINES
from tracker.formatting import number, sentence
from tracker.metrics.table import METRICS
from tracker.reports.best_of_sweep import rows_of
from tracker.reports.checks import MOSTLY_CENSORED
from tracker.reports.exhibit import Cell, Exhibit, Table
from tracker.reports.exhibits.best_step import regime_bands
from tracker.reports.figure_style import (
    LOGARITHMIC_FROM,
    MUTED,
    PAPER,
    WIDTH,
    figure,
    legend,
    looks,
    names_below,
    short,
    shorten,
)
from tracker.reports.sweep_axes import RATIO, is_choice, is_geometric, over_step, positions, ticks, written
from tracker.reports.sweep_words import best_places, caption, method

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import xarray
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from tracker.array_types import Array, Booleans
    from tracker.runs.sweep_points import Axis
    from tracker.runs.sweep_result import Sweep


FEW_COLUMNS = 3  # of a map, that two have room side by side
MOST_NUMBERED_CELLS = 42  # of a heat map, so that numbers have room
MOST_MARKED_POINTS = 60  # of a line
MOST_TICKS = 8  # values that are written at a line's axis
DARK, BRIGHT = "#101010", "#fefefe"  # on the colours of a map, which stay what they are on a dark page


class SweepPicture(NamedTuple):
    """What is drawn: at most two axes; ``held`` tells where the others stand, ``cut`` how many waits are not drawn."""

    data: xarray.Dataset
    axes: tuple[Axis, ...]
    metric: str
    held: str
    samplers: tuple[str, ...]
    kinds: Mapping[str, str]
    cut: int = 0

    @property
    def title(self) -> str:
        """The metric in words."""
        return METRICS[self.metric].label

    def values(self, sampler: str) -> Array:
        """Return the metric over the axes."""
        found: Array = self.data[self.metric].sel(sampler=sampler).values
        return found

    def troubled(self, sampler: str) -> Booleans:
        """Return where trials diverged, or the point failed."""
        diverged = self.data["diverged"].sel(sampler=sampler).values
        return ~(diverged == 0)


def sweep_exhibit(sweep: Sweep, metric: str = "tracking_error") -> Exhibit:
    """Return the picture of ``metric`` with its numbers."""
    drawn = picture_of(sweep, metric)
    one = len(drawn.axes) == 1
    picture = _lines(drawn) if one else _maps(drawn)
    addresses = " and ".join(axis.address for axis in drawn.axes)
    kind = "lines with error bars" if one else "heat maps, one for each sampler"
    return Exhibit(
        key=metric.replace("_", "-"),
        question=f"How does the {drawn.title} depend on {addresses}?",
        caption=caption(drawn, sweep),
        alt=f"{sentence(drawn.title)} against {addresses}, {kind}.",
        figure=picture,
        table=_table(sweep, metric),
        method=method(drawn, sweep),
    )


def picture_of(sweep: Sweep, metric: str) -> SweepPicture:
    """Return what of the sweep is drawn: the first two axes with several values."""
    axes = sweep.axes
    swept = [axis for axis in axes if len(axis.values) > 1] or list(axes[:1])
    chosen = swept[:2]
    others = [axis for axis in axes if axis not in chosen]
    data, cut = _without_what_is_cut_off(sweep, metric, chosen)
    data = data.isel({axis.address: 0 for axis in others})
    held = ", ".join(f"{axis.address} = {axis.labels[0]}" for axis in others)
    names = [str(name) for name in data["sampler"].values]
    shown = [name for name in names if len(chosen) == 1 or name not in BASELINES]
    # the oracle's error is zero by definition: a line along the axis tells nothing
    shown = [name for name in shown if name not in BASELINES or np.nan_to_num(data[metric].sel(sampler=name)).any()]
    if len(chosen) == 1:
        chosen = [over_step(chosen[0], sweep.outcomes[0].point.scenario)]
    kinds = {keys.name: keys.kind for keys in sweep.scenario.samplers}
    return SweepPicture(data, tuple(chosen), metric, held, tuple(shown), kinds, cut)


def _without_what_is_cut_off(sweep: Sweep, metric: str, axes: Sequence[Axis]) -> tuple[xarray.Dataset, int]:
    """Leave out the waits of which most were cut off, along an axis of the world: the faster it switches, the shorter they look."""
    data = sweep.dataset
    if METRICS[metric].kind != "time" or len(axes) > 1 or is_choice(axes[0]):
        return data, 0
    values, names = data[metric].values.copy(), [str(name) for name in data["sampler"].values]
    cut = 0
    for outcome in sweep.outcomes:
        for row in rows_of(outcome):
            if ((row.get(metric) or {}).get("censored") or 0.0) > MOSTLY_CENSORED:
                values[(*outcome.point.place, names.index(row["name"]))] = np.nan
                cut += row["name"] not in BASELINES
    return data.assign({metric: (data[metric].dims, values)}), cut


# --- one axis


def _lines(drawn: SweepPicture) -> Figure:
    axis = drawn.axes[0]
    numbers, x = axis.numbers, positions(axis)
    order = np.argsort(x)
    with figure(WIDTH, 3.4) as picture:
        ax = picture.add_subplot()
        for name, look in looks(drawn.samplers, drawn.kinds).items():
            values = drawn.values(name)
            whole = np.isfinite(values)
            baseline = name in BASELINES
            low_high = None if baseline else _bars(drawn, name)[:, order]
            marker, cap = (look.marker, 2.5) if x.size <= MOST_MARKED_POINTS else ("", 0.0)
            style: dict[str, Any] = {"color": look.color, "linestyle": look.linestyle, "marker": marker}
            ax.errorbar(x[order], values[order], low_high, label=name, capsize=cap, elinewidth=1.0, **style)
            marked = drawn.troubled(name) & whole
            ax.plot(x[marked], values[marked], look.marker, color=look.color, markerfacecolor=PAPER, zorder=3)
            lost = ~whole & drawn.troubled(name)
            ax.plot(x[lost], np.full(lost.sum(), 0.985), "x", color=look.color, transform=ax.get_xaxis_transform())
        _scales(ax, drawn, numbers)
        if numbers is None or x.size <= MOST_TICKS:
            names_below(ax, x, ticks(axis))
            ax.minorticks_off()
        if axis.address == RATIO:
            regime_bands(ax)
        ax.set_xlabel(f"{RATIO}, chain step over sampler step" if axis.address == RATIO else axis.address)
        ax.set_ylabel(drawn.title)
        legend(picture, ax)
    return picture


def _bars(drawn: SweepPicture, sampler: str) -> Array:
    """Return how far the bars reach below and above, shape (2, points)."""
    data = drawn.data.sel(sampler=sampler)
    reach = np.tile(2 * data[f"{drawn.metric}_stderr"].values, (2, 1))
    return np.maximum(np.nan_to_num(reach), 0.0)


def _scales(ax: Axes, drawn: SweepPicture, numbers: Array | None) -> None:
    if numbers is not None and is_geometric(numbers):
        ax.set_xscale("log")
    if _is_wide(drawn):
        ax.set_yscale("log")
        ax.yaxis.set_major_formatter(lambda y, _: short(y))
    else:
        ax.set_ylim(bottom=0)


def _is_wide(drawn: SweepPicture) -> bool:
    if METRICS[drawn.metric].unit == "share":
        return False
    values = np.array([drawn.values(name) for name in drawn.samplers])
    values = values[np.isfinite(values)]
    return bool(values.size and values.min() > 0 and values.max() > LOGARITHMIC_FROM * values.min())


# --- two axes


def _maps(drawn: SweepPicture) -> Figure:
    from matplotlib.colors import LogNorm, Normalize

    down, across = drawn.axes
    columns = min(2 if len(across.values) <= FEW_COLUMNS else 1, len(drawn.samplers))  # letters stay legible on a phone
    rows = -(-len(drawn.samplers) // columns)
    everything = np.array([drawn.values(name) for name in drawn.samplers])
    finite = everything[np.isfinite(everything)]
    low, high = (finite.min(), finite.max()) if finite.size else (0.0, 1.0)
    scale = LogNorm(low, high) if _is_wide(drawn) else Normalize(low, high)
    with figure(WIDTH, 0.7 + (0.5 + 0.28 * min(len(down.values), 8)) * rows) as picture:
        grid = picture.subplots(rows, columns, squeeze=False, sharex=True, sharey=True)
        for ax in grid.flat[len(drawn.samplers) :]:
            ax.remove()
        for ax, name, title in zip(grid.flat, drawn.samplers, shorten(drawn.samplers), strict=False):
            image = ax.imshow(drawn.values(name), origin="lower", aspect="auto", cmap="viridis", norm=scale)
            _annotate(ax, drawn, name, image.norm)
            ax.set_title(title)
            ax.grid(visible=False)
            ax.set_xticks(
                range(len(across.values)),
                shorten(ticks(across)),
                parse_math=False,
                rotation=45,
                ha="right",
                rotation_mode="anchor",
            )
            ax.set_yticks(range(len(down.values)), shorten(ticks(down)), parse_math=False)
        picture.supxlabel(across.address)
        picture.supylabel(down.address)
        bar = picture.colorbar(image, ax=picture.axes, label=drawn.title, fraction=0.05, format=lambda x, _: short(x))
        bar.outline.set_visible(False)  # type: ignore[operator]
    return picture


def _annotate(ax: Axes, drawn: SweepPicture, sampler: str, norm: Any) -> None:
    """Write the numbers, cross out what diverged, and frame the best."""
    from matplotlib.patches import Rectangle

    values, troubled = drawn.values(sampler), drawn.troubled(sampler)
    written = values.size <= MOST_NUMBERED_CELLS
    for (row, column), value in np.ndenumerate(values):
        colour = DARK if np.isfinite(value) and norm(value) > 0.6 else BRIGHT
        if troubled[row, column]:
            ax.plot(column, row, "x", color=MUTED if np.isnan(value) else colour, markersize=9)
        elif written and np.isfinite(value):
            ax.text(column, row, number(float(value), 2), ha="center", va="center", color=colour)
    for row, column in best_places(drawn, sampler):
        colour = DARK if norm(values[row, column]) > 0.6 else BRIGHT
        ax.add_patch(Rectangle((column - 0.44, row - 0.44), 0.88, 0.88, fill=False, edgecolor=colour, linewidth=1.4))


def _table(sweep: Sweep, metric: str) -> Table:
    names = [str(name) for name in sweep.dataset["sampler"].values]
    rows: list[tuple[Cell, ...]] = []
    for outcome in sweep.outcomes:
        values = [written(axis)[n] for axis, n in zip(sweep.axes, outcome.point.place, strict=True)]
        numbers = sweep.dataset[metric].values[outcome.point.place]
        rows.append((*values, *(float(value) for value in numbers), outcome.state))
    return Table((*(axis.address for axis in sweep.axes), *names, "outcome"), tuple(rows))
