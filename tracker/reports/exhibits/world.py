"""Exhibit: the world before anything runs in it: the landscapes of the modes, and the chain that switches between them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tracker import chain
from tracker.formatting import counted, listed, number, percent, whole
from tracker.reports.exhibit import Cell, Exhibit, Table
from tracker.reports.exhibits.landscape import draw_surface, minimisers
from tracker.reports.figure_style import INK, MUTED, figure, mode_colours, short, shorten, some

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from tracker.array_types import Array
    from tracker.reports.run_view import View

KEY, QUESTION = "world", "What world is it?"
MOST_LANDSCAPES = 3  # beside each other
MOST_NODES = 12  # of a graph whose arrows can be followed
MOST_NUMBERED = 8  # nodes whose numbers have room in them
MOST_STAYS = 4  # modes whose mean stays are written beside them; the table has all


def exhibit(view: View) -> Exhibit:
    """Draw the cost of the modes side by side, with start, minimisers and targets, and the chain as a graph."""
    shown = some(len(view.modes), MOST_LANDSCAPES)
    graph = view.scenario.chain is not None and len(view.modes) > 1
    plane = view.plane
    with figure(height=2.15) as fig:
        ratios = [1.0] * len(shown) + [0.9] * graph
        axes = fig.subplots(1, len(ratios), squeeze=False, width_ratios=ratios)[0]
        for ax, x in zip(axes, shown, strict=False):
            _landscape(ax, view, plane, x)
        for ax in axes[1 : len(shown)]:
            ax.sharey(axes[0])
            ax.tick_params(labelleft=False)
        if graph:
            _graph(axes[-1], view)
    return Exhibit(KEY, QUESTION, _caption(view), _alt(view, graph=graph), fig, _table(view), _method(view))


def _landscape(ax: Axes, view: View, plane: object, x: int) -> None:
    from tracker.reports.cost_plane import Plane

    assert isinstance(plane, Plane)
    mode, surface, start = view.modes[x], plane.surface(x), plane.places(view.scenario.start_mean)
    colour = mode_colours(len(view.modes))[x]
    if len(plane.axes) == 2:
        draw_surface(ax, plane, surface)
        ax.plot(*start, "o", color=INK, markerfacecolor="none", markersize=8)
        minimisers(ax, plane.places(mode.minimisers))
        ax.set_xlim(*plane.limits[0])
        ax.set_ylim(*plane.limits[1])
    else:
        top = float(plane.levels[-1])
        ax.plot(plane.ticks[0], np.where(surface.cost <= 1.2 * top, surface.cost, np.nan), color=MUTED, linewidth=1.3)
        ax.plot(plane.places(mode.minimisers)[:, 0], np.zeros(len(mode.minimisers)), "*", color="#c2344f", markersize=8)
        ax.plot(start, [0.0], "o", color=INK, markerfacecolor="none", markersize=5)
        ax.set_ylim(-0.05 * top, 1.1 * top)
        ax.set_yticks([])
    ax.grid(visible=False)
    ax.locator_params(axis="x", nbins=3)
    room = 8 if min(len(view.modes), MOST_LANDSCAPES) > 2 else 11 if len(view.modes) > 1 else 30
    number_of = f"{x + 1} " if len(view.modes) > 1 else ""
    ax.set_title(f"{number_of}{shorten(view.mode_names, room)[x]}", color=colour)


def _graph(ax: Axes, view: View) -> None:
    """The modes on a circle, an arrow for each jump that is possible, wider for more likely ones."""
    law = view.scenario.chain
    assert law is not None
    Q, X = np.asarray(law.Q, dtype=float), len(view.modes)
    angle = np.pi / 2 + 2 * np.pi * np.arange(X) / X if X > 2 else np.array([np.pi, 0.0])
    places = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    colours = mode_colours(X)
    leave = np.asarray(chain.exit_probability(law.Q, law.alpha))
    if X <= MOST_NODES:
        most = float((Q * (1 - np.eye(X))).max()) or 1.0
        for i, j in np.argwhere((Q > 0) & ~np.eye(X, dtype=bool)):
            _arrow(ax, places[i], places[j], 0.5 + 1.3 * Q[i, j] / most, colours[i])
    for x, place in enumerate(places):
        ax.plot(*place, "o", color=colours[x], markersize=12 if X <= MOST_NUMBERED else 5)
        if X <= MOST_NUMBERED:
            ax.text(float(place[0]), float(place[1]), str(x + 1), ha="center", va="center", color="#fefefe")
        if X <= MOST_STAYS:
            side = 1.0 if place[1] > -0.1 else -1.0
            stay = short(float(f"{1.0 / leave[x]:.3g}")) if leave[x] > 0 else "∞"
            ax.text(place[0], place[1] + side * 0.38, stay, ha="center", va="bottom" if side > 0 else "top")
    ax.set(xlim=(-1.75, 1.75), ylim=(-1.75, 1.75), xticks=[], yticks=[], aspect="equal")
    ax.grid(visible=False)
    for spine in ax.spines.values():
        spine.set_visible(False)
    ax.set_title("the chain")


def _arrow(ax: Axes, begin: Array, end: Array, width: float, colour: str) -> None:
    from matplotlib.patches import FancyArrowPatch

    ax.add_patch(
        FancyArrowPatch(
            tuple(begin), tuple(end), connectionstyle="arc3,rad=0.25", arrowstyle="-|>", mutation_scale=8, shrinkA=8, shrinkB=8,
            linewidth=width, color=colour,
        )
    )  # fmt: skip


def _caption(view: View) -> str:
    parts = [f"{counted(len(view.modes), 'mode')} in {counted(view.scenario.dimension, 'dimension')}"]
    dwell = [one for one in view.run.summary["chain"]["dwell"] if one["expected"]]
    if dwell:
        stays = list(dict.fromkeys(number(one["expected"]) for one in dwell))
        parts.append(f"a stay in a mode lasts {listed(stays[:3])} steps on average")
    elif view.scenario.schedule is not None:
        parts.append(f"{whole(len(view.scenario.switches) - 1)} scheduled switches")
    if (law := view.run.summary["chain"]["stationary"]) and 1 < len(law) <= 4:
        shares = [f"{name} {percent(share)}" for name, share in zip(view.mode_names, law, strict=True)]
        parts.append(f"in the long run {', '.join(shares)}")
    text = f"{'; '.join(parts)}."
    if view.scenario.drift is not None:
        text += f" As at the start: all landscapes drift ({view.scenario.drift.kind.replace('-', ' ')})."
    return text


def _method(view: View) -> str:
    """How the figure is to be read."""
    text = "Line: the cost over θ; star: minimiser, circle: start."
    if view.scenario.dimension > 1:
        text = "Darker is less cost; star: minimiser, dashed: target, circle: start."
    if view.scenario.chain is not None and len(view.modes) > 1:
        text += " Arrows: jumps that can happen; beside the modes, their mean stays in steps."
    if len(view.modes) > MOST_LANDSCAPES:
        text += f" {MOST_LANDSCAPES} of {len(view.modes)} landscapes are drawn."
    if view.scenario.dimension > 2:
        text += " The plane is that of the two directions in which the samplers move most."
    return text


def _alt(view: View, *, graph: bool) -> str:
    chain_words = ", and the hidden chain as a graph with its mean stays" if graph else ""
    return f"Cost landscapes of {listed(list(view.mode_names[:MOST_LANDSCAPES]))}{chain_words}."


def _table(view: View) -> Table:
    rows: list[tuple[Cell, ...]] = []
    dwell = {one["mode"]: one["expected"] for one in view.run.summary["chain"]["dwell"]}
    for name, mode in zip(view.mode_names, view.modes, strict=True):
        point = ", ".join(number(float(value)) for value in mode.minimisers[0][:6]) + (
            ", ..." if mode.minimisers.shape[1] > 6 else ""
        )
        stay = dwell.get(name)
        rows.append((
            name, point, len(mode.minimisers), float(np.sqrt(mode.radius2)) if np.isfinite(mode.radius2) else None, float(mode.floor),
            whole(stay) if stay is not None else None,
        ))  # fmt: skip
    return Table(
        ("mode", "a global minimiser", "how many", "radius of the target", "least cost", "mean stay, steps"),
        tuple(rows),
    )
