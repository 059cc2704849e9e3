"""Exhibit: theta on the cost landscape while each mode holds, with the target and the share of time inside it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tracker.formatting import counted, listed, percent
from tracker.reports.cost_plane import usual_samplers
from tracker.reports.exhibit import Cell, Exhibit, Omitted, Table
from tracker.reports.exhibits.time_in_target import by_mode
from tracker.reports.figure_style import INK, MUTED, PAPER, RULE, figure, shorten, some
from tracker.reports.judged_by import best_of
from tracker.reports.shown_samplers import best_reference_worst, describe

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from tracker.array_types import Array
    from tracker.reports.cost_plane import Plane, Surface
    from tracker.reports.run_view import View

KEY, QUESTION = "landscape", "Where are they while each mode holds?"
QUESTION_OF_ONE = "Where are they on the cost?"  # nothing switches
MOST_MODES = 4  # rows that are drawn; the table has all
MOST_POINTS = 300  # of a panel
DOT = 1.9  # points of a printer
BINS = 60
GREYS = ("#f4f5f7", "#e9ebee", "#dcdfe4", "#cfd3d9", "#c1c6ce", "#b3b9c2", "#a5acb7", "#97a0ac")


def exhibit(view: View) -> Exhibit | Omitted:
    """Draw the records of the best, the first and the worst sampler over the cost, a row for each mode."""
    if view.no_distance:
        return Omitted(KEY, QUESTION, f"distances to minimisers say nothing: {view.no_distance}.")
    shown = best_reference_worst(view)
    if not shown:
        return Omitted(KEY, QUESTION, "every trial of every sampler diverged.")
    plane, rows = view.plane, some(len(view.modes), MOST_MODES)
    shares = {name: by_mode(view, name).mean for name in view.samplers} if view.has_targets else {}
    with figure(height=0.55 + len(rows) * (1.45 if len(shown) > 1 else 2.2)) as fig:
        axes = fig.subplots(len(rows), len(shown), sharex=True, sharey=True, squeeze=False)
        titles = shorten(shown, 11 if len(shown) > 2 else 18)
        for row, x in zip(axes, rows, strict=True):
            surface = plane.surface(x)
            for ax, name in zip(row, shown, strict=True):
                (_panel if len(plane.axes) == 2 else _line)(ax, view, plane, x, name, surface)
                if name in shares and np.isfinite(shares[name][x]):
                    ax.text(
                        0.03,
                        0.04,
                        f"{percent(shares[name][x]).replace('under ', '< ').replace('over ', '> ')} inside",
                        transform=ax.transAxes,
                        color=INK,
                        bbox={"facecolor": PAPER, "edgecolor": "none", "alpha": 0.8, "pad": 1.0},
                    )
            row[0].set_ylabel(f"while {shorten(view.mode_names, 14)[x]}" if len(view.modes) > 1 else "")
        for ax, name, title in zip(axes[0], shown, titles, strict=True):
            ax.set_title(title, color=view.looks[name].color, fontweight="bold")
        for ax in axes[-1]:
            ax.locator_params(axis="x", nbins=4 if len(shown) < 3 else 2)
            ax.set_xlabel(plane.names[0] if len(shown) < 3 or view.scenario.dimension <= 2 else "")
    return Exhibit(
        KEY,
        QUESTION if len(view.modes) > 1 else QUESTION_OF_ONE,
        _caption(view, plane, shown, shares),
        _alt(view, shown, shares),
        fig,
        _table(view, shares),
        _method(view, plane, shown),
    )


def _panel(ax: Axes, view: View, plane: Plane, x: int, name: str, surface: Surface) -> None:
    draw_surface(ax, plane, surface)
    dots(ax, plane, plane.places(_records(view, name, x)), view.looks[name].color, view.gid(name))
    minimisers(ax, plane.places(view.modes[x].minimisers))
    ax.set_xlim(*plane.limits[0])
    ax.set_ylim(*plane.limits[1])
    ax.grid(visible=False)
    ax.locator_params(nbins=4)


def draw_surface(ax: Axes, plane: Plane, surface: Surface) -> None:
    """Draw the cost in shades of grey, darker where it is less, and the edge of the target."""
    levels = np.concatenate([[min(-1e-9, float(np.nanmin(surface.cost)))], plane.levels])
    cost = np.where(np.isfinite(surface.cost), surface.cost, np.inf)
    ax.contourf(*plane.ticks, np.minimum(cost, 1e3 * levels[-1]), levels=levels, colors=GREYS[::-1][: levels.size - 1])
    ax.contour(*plane.ticks, np.minimum(cost, 1e3 * levels[-1]), levels=levels[1:], colors=MUTED, linewidths=0.35)
    if surface.target is not None:
        ax.contour(
            *plane.ticks, surface.target, levels=[1.0], colors="#c2344f", linewidths=1.1, linestyles=[(0, (3, 1.5))]
        )


def minimisers(ax: Axes, places: Array) -> None:
    """Mark the minimisers with stars."""
    ax.plot(
        places[:, 0], places[:, 1], "*", color="#c2344f", markeredgecolor="#fefefe", markersize=8, markeredgewidth=0.5
    )


def dots(ax: Axes, plane: Plane, places: Array, colour: str, gid: str = "") -> None:
    """Draw points as one path of very short strokes with round ends: a tenth of the size of as many markers."""
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    if not len(places):
        return
    length = 1e-4 * np.ptp(plane.limits[0])  # of the frame, however far the points stray
    pairs = np.repeat(places, 2, axis=0)
    pairs[1::2, 0] += length
    codes = np.tile([Path.MOVETO, Path.LINETO], len(places))
    path = Path(pairs, codes)
    path.should_simplify = False
    ax.add_patch(
        PathPatch(
            path, facecolor="none", edgecolor=colour, linewidth=DOT, capstyle="round", alpha=0.75, gid=gid or None
        )
    )


def _line(ax: Axes, view: View, plane: Plane, x: int, name: str, surface: Surface) -> None:
    """N = 1: the density of the records over the cost; the target is shaded."""
    at, look = plane.ticks[0], view.looks[name]
    top = float(plane.levels[-1])
    shown = np.where(surface.cost <= 1.1 * top, surface.cost, np.nan) / top  # what is above leaves the frame
    ax.plot(at, shown, color=MUTED, linewidth=1.2)
    if surface.target is not None:
        ax.fill_between(at, 0.0, 1.05, where=surface.target <= 1.0, color="#c2344f", alpha=0.12, linewidth=0)
    values = plane.places(_records(view, name, x, most=None))[:, 0]
    if values.size:
        height, edges = np.histogram(values, BINS, range=tuple(plane.limits[0]))
        scale = height.max() or 1
        ax.stairs(height / scale, edges, color=look.color, fill=True, alpha=0.35, gid=view.gid(name) or None)
        ax.stairs(height / scale, edges, color=look.color, linewidth=1.1, gid=view.gid(name) or None)
    for place in plane.places(view.modes[x].minimisers)[:, 0]:
        ax.axvline(place, color="#c2344f", linewidth=1.0, linestyle=(0, (3, 1.5)))
    ax.set_xlim(*plane.limits[0])
    ax.set_ylim(0.0, 1.08)
    ax.set_yticks([])
    ax.grid(visible=False, axis="y")
    ax.spines["left"].set_color(RULE)


def _records(view: View, name: str, x: int, most: int | None = MOST_POINTS) -> Array:
    """The recorded points of a sampler while mode x held, evenly thinned, shape (n, N)."""
    n = view.index(name)
    here = (view.arrays["mode"] == x) & view.averaged & view.kept[:, n, np.newaxis]
    found = view.theta[:, n][here]
    found = found[np.isfinite(found).all(axis=1)]
    return np.asarray(found if most is None else found[:: max(1, -(-len(found) // most))], dtype=float)


def _caption(view: View, plane: Plane, shown: tuple[str, ...], shares: dict[str, Array]) -> str:
    best = best_of(view)
    text = ""
    if best is not None and best in shares and np.isfinite(shares[best]).any():
        low, high = np.nanmin(shares[best]), np.nanmax(shares[best])
        same = percent(low) == percent(high)
        each = "" if len(view.modes) == 1 else " in each mode" if same else ", by mode"
        text = f"{best} is inside the target {percent(low) if same else f'{percent(low)} to {percent(high)}'} of the time{each}. "
    if view.scenario.drift is not None:
        text += "θ is drawn relative to the drift. "
    if wild := [name for name in shown if view.index(name) not in usual_samplers(view)]:
        text += f"{listed(wild)} strays far beyond the frame. "
    if len(view.modes) > MOST_MODES:
        text += f"{MOST_MODES} of {len(view.modes)} modes are drawn; the table has all. "
    return text.rstrip() or f"Recorded θ of {counted(view.trials, 'trial')} over the cost."


def _method(view: View, plane: Plane, shown: tuple[str, ...]) -> str:
    """How the figure is to be read."""
    what = "Dots: recorded θ" if len(plane.axes) == 2 else "Filled: the density of recorded θ"
    text = f"{what} over the cost (darker is less); star and dashed ring: minimiser and target." if len(plane.axes) == 2 else (
        f"{what} over the cost (grey line); dashed and shaded: minimiser and target."
    )  # fmt: skip
    if view.scenario.dimension > 2:
        text += f" Of {view.scenario.dimension} dimensions the two directions in which θ moves most are drawn, cut through the minimiser: a dot over the ring can be far from the target in the others."
    left = len(view.samplers) - len(shown)
    if left > 0:
        text += f" Drawn are {describe(view, shown)}."
    return text


def _alt(view: View, shown: tuple[str, ...], shares: dict[str, Array]) -> str:
    parts = [f"{name} {', '.join(percent(share) for share in shares[name][:8])}" for name in shown if name in shares]
    told = f": share of time inside the target by mode, {'; '.join(parts)}" if parts else ""
    return f"Recorded points of {len(shown)} samplers on the cost landscapes of {min(len(view.modes), MOST_MODES)} modes{told}."


def _table(view: View, shares: dict[str, Array]) -> Table:
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (name, *(percent(share) for share in shares.get(name, np.full(len(view.modes), np.nan))))
        for name in view.samplers
    )
    return Table(("sampler, share of time inside", *view.mode_names), rows)
