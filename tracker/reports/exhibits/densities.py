"""Exhibit: the distribution of the iterates in each mode, beside the law of that mode alone."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tracker.baseline_names import BASELINES
from tracker.formatting import few, listed, number
from tracker.reports.cost_plane import usual_samplers
from tracker.reports.exhibit import Exhibit, Omitted, Table
from tracker.reports.exhibits.one_trial import has_twins
from tracker.reports.figure_style import INK, LONGEST_TITLE, MUTED, figure, legend, shorten, some
from tracker.reports.law_found import Distance, distance_to, samples
from tracker.reports.shown_samplers import best_reference_worst, describe

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from tracker.array_types import Array
    from tracker.limits.gibbs_law import Marginal
    from tracker.reports.run_view import View


KEY, QUESTION = "density", "Do they sample the law of each mode?"
BINS = 60
MOST_STEPS_OF_THE_EXACT_LAW = 2048  # of which the law of a sampler's own points is computed
FEWEST = 50
EXACT = "exact law"
GREY = "#a9b1bb"  # of samplers that only show where the others lie
MOST_IN_COLOUR = 4
MOST_PANELS = 6  # modes that are drawn; the table has all


class Laws(NamedTuple):
    """Of one mode: Gibbs' law, and an exact law of the first sampler's own recursion (None where it is not known).

    meaning : the name of the latter in the legend
    """

    gibbs: Marginal
    own: Marginal | None
    meaning: str = ""


def exhibit(view: View) -> Exhibit | Omitted:
    """Draw histograms of one coordinate by mode over Gibbs' law."""
    temperatures = {sampler.beta for sampler in view.scenario.samplers}
    if len(temperatures) > 1:
        return Omitted(
            KEY, QUESTION, "the samplers run at different temperatures, so there is no one law to compare with."
        )
    beta = float(temperatures.pop())
    try:
        gibbs = [view.gibbs(x, beta) for x in range(len(view.modes))]
    except ValueError as reason:
        return Omitted(KEY, QUESTION, f"{reason}.")
    exact = own_laws(view)
    laws = [Laws(law, exact.by_mode[x], exact.label) for x, law in enumerate(gibbs)]
    found = {(name, x): samples(view, name, x) for name in view.names for x in range(len(view.modes))}
    if max(found[name, x].size for name, x in found if name not in BASELINES) < FEWEST:
        return Omitted(KEY, QUESTION, f"fewer than {FEWEST} recorded points in each mode.")
    distances = {key: distance_to(view, *key, s, gibbs[key[1]]) for key, s in found.items() if s.size}
    drawn = some(len(view.modes), MOST_PANELS)
    with figure(height=0.7 + 1.75 * len(drawn)) as fig:
        axes = fig.subplots(len(drawn), 1, sharex=True, squeeze=False)[:, 0]
        limits = _limits(view, laws, found)
        for x, ax in zip(drawn, axes, strict=True):
            _panel(ax, view, x, laws[x], found, limits)
        axes[-1].set_xlabel(view.coordinate_name)
        legend(fig, axes[0])
    return Exhibit(
        KEY,
        QUESTION,
        _caption(view, distances),
        _alt(view),
        fig,
        _table(view, distances, found),
        _method(view, distances, laws, exact),
    )


class OwnLaws(NamedTuple):
    """What is known of the first sampler's own recursion, by mode, what it is the law of, and its name in a legend."""

    by_mode: list[Marginal | None]
    meaning: str
    label: str = ""


def in_colour(view: View) -> tuple[str, ...]:
    """Return the samplers that are told apart: all of a few; of more the best, the first of the file and the worst."""
    return view.samplers if len(view.samplers) <= MOST_IN_COLOUR else best_reference_worst(view)


def own_laws(view: View) -> OwnLaws:
    """Return the exact law of the recorded points (N = 1, not too many steps), or that of a quadratic mode that stays."""
    from tracker.limits import discretised_marginal

    contestant, keys = view.run.problem.contestants[0], view.scenario.samplers[0]
    nothing: list[Marginal | None] = [None] * len(view.modes)
    if not keys.euler or contestant.skew is None:
        return OwnLaws(nothing, "")
    try:
        if view.scenario.dimension == 1 and view.scenario.steps <= MOST_STEPS_OF_THE_EXACT_LAW:
            with warnings.catch_warnings():
                warnings.simplefilter("error", RuntimeWarning)  # the box is too small: not the law
                return OwnLaws(
                    _law_of_records(view, keys.name), "of its recorded points, computed without simulation", EXACT
                )
        found = [
            discretised_marginal(m, contestant.skew, keys.epsilon, float(keys.beta), view.coordinate)
            for m in view.modes
        ]
    except (ValueError, RuntimeWarning):  # out of reach of theory
        return OwnLaws(nothing, "")
    return OwnLaws([*found], "of its recursion if the mode stayed", "if the mode stayed")


def _law_of_records(view: View, name: str) -> list[Marginal | None]:
    """The law of theta_k in mode i, mixed over the recorded steps that the histograms take."""
    from tracker.limits import algorithm_density
    from tracker.limits.gibbs_law import Marginal

    law = algorithm_density(view.scenario, name, view.recorded[view.averaged & (view.recorded > 0)])
    points = law.axes[0]
    mixed = law.density.sum(axis=0)
    mixed /= mixed.sum(axis=1, keepdims=True) * law.volume
    return [Marginal(points, density, np.cumsum(density) * law.volume) for density in mixed]


def _limits(view: View, laws: list[Laws], found: dict[tuple[str, int], Array]) -> tuple[float, float]:
    edges = [
        law.gibbs.points[np.searchsorted(law.gibbs.cdf, [0.001, 0.999]).clip(0, law.gibbs.points.size - 1)]
        for law in laws
    ]
    usual = [view.names[n] for n in usual_samplers(view)]  # who strays far would shrink all others to a line
    edges += [
        np.quantile(sample, [0.005, 0.995])
        for (name, _), sample in found.items()
        if name in usual and sample.size >= FEWEST
    ]
    ends = np.array(edges)
    low, high = float(ends[:, 0].min()), float(ends[:, 1].max())
    return low - 0.04 * (high - low), high + 0.04 * (high - low)


def _panel(
    ax: Axes, view: View, x: int, laws: Laws, found: dict[tuple[str, int], Array], limits: tuple[float, float]
) -> None:
    edges = np.linspace(*limits, BINS + 1)
    shown = in_colour(view)
    for name in sorted(view.samplers, key=lambda one: one in shown):  # grey ones beneath
        sample = found[name, x]
        if sample.size < FEWEST:
            continue
        height = np.histogram(sample, edges)[0] / (sample.size * (edges[1] - edges[0]))
        look, gid = view.looks[name], view.gid(name) or None
        style: dict[str, Any] = {"color": GREY, "linewidth": 0.8}
        if name in shown:
            style = {"color": look.color, "linestyle": look.linestyle, "linewidth": 1.2, "label": name}
        ax.stairs(height, edges, baseline=None, gid=gid, **style)
    inside = (laws.gibbs.points >= limits[0]) & (laws.gibbs.points <= limits[1])
    step = max(1, int(inside.sum()) // 300)
    ax.fill_between(
        laws.gibbs.points[inside][::step],
        laws.gibbs.density[inside][::step],
        color=MUTED,
        alpha=0.25,
        linewidth=0,
        label="Gibbs",
    )
    if laws.own is not None:
        inside = (laws.own.points >= limits[0]) & (laws.own.points <= limits[1])
        step = max(1, int(inside.sum()) // 300)
        ax.plot(
            laws.own.points[inside][::step], laws.own.density[inside][::step], color=INK, linewidth=0.9,
            linestyle=(0, (4, 2)), label=laws.meaning,
        )  # fmt: skip
    ax.set_xlim(limits)
    ax.set_ylim(bottom=0.0)
    ax.set_yticks([])
    ax.spines["left"].set_visible(False)
    ax.grid(visible=False, axis="y")
    mode = shorten(view.mode_names, LONGEST_TITLE)[x]
    ax.set_title(f"while {mode} holds" if len(view.modes) > 1 else mode)


def _worst(view: View, distances: dict[tuple[str, int], Distance]) -> dict[str, Distance]:
    """Return the distance of each sampler in its worst mode."""
    by_name = {name: [distances[key] for key in distances if key[0] == name] for name in view.samplers}
    return {name: max(found, key=lambda one: one.w1) for name, found in by_name.items() if found}


def _caption(view: View, distances: dict[tuple[str, int], Distance]) -> str:
    known = _worst(view, distances)
    text = f"W1 from Gibbs' law of the mode, in its worst mode: {_nearest(known)}"
    if wild := [name for name in known if view.index(name) not in usual_samplers(view)]:
        text += f"; {few(wild, 'sampler')} {'strays' if len(wild) == 1 else 'stray'} far beyond the frame"
    if len(view.modes) > MOST_PANELS:
        text += f"; {MOST_PANELS} of the {len(view.modes)} modes are drawn, the table has all"
    return f"{text}."


def _method(view: View, distances: dict[tuple[str, int], Distance], laws: list[Laws], exact: OwnLaws) -> str:
    """What the distances are to be held against, and what is drawn."""
    spread = float(np.sqrt(max(_variance(law.gibbs) for law in laws)))
    text = f"The law itself has a standard deviation of {number(spread)}"
    if len(view.modes) > 1:
        text += "; right after a switch a sampler is elsewhere, so the distance holds lag as well as discretisation"
        if has_twins(view):
            text += (
                ", and a sampler that stays at the label-swapped twin of a minimiser is far from one half of the law"
            )
    if laws[0].own is not None:
        text += f"; the dashed line is {view.samplers[0]}'s own law, exactly: that {exact.meaning}"
    if 0 < len(shown := in_colour(view)) < len(view.samplers):
        text += f"; in colour {describe(view, shown)}"
    return f"{text}."


def _nearest(known: dict[str, Distance]) -> str:
    """Tell the smallest and the largest distance, each with what chance explains; rank them only where that leaves no doubt.

    By the triangle inequality the sampler's own law is as far from Gibbs' as its sample, give or take the sample's noise.
    """
    best, last = min(known, key=lambda n: known[n].w1), max(known, key=lambda n: known[n].w1)
    shown = [name for name in known if name in (best, last)]  # in the order of the file
    parts = [
        f"{number(known[name].w1)} for {name} (a perfect sample of its {number(known[name].draws, 2)} effective draws: up to "
        f"{number(known[name].noise, 2)})"
        for name in shown
    ]
    told = [name for name, one in known.items() if one.is_told]
    if best != last and known[best].w1 + known[best].noise < known[last].w1 - known[last].noise:
        return f"{', '.join(parts)}, so {best} is nearer to it than {last}"
    if not told:
        return f"{', '.join(parts)}: {'none' if len(known) > 1 else 'it'} is {'' if len(known) > 1 else 'not '}told from the law by so few draws"
    rest = ", and which is nearer is not told" if len(known) > 1 else ""
    return f"{', '.join(parts)}: further than chance explains for {listed(told)}{rest}"


def _variance(law: Marginal) -> float:
    mass = np.diff(law.cdf)
    middle = (law.points[1:] + law.points[:-1]) / 2.0
    mean = float(mass @ middle)
    return float(mass @ (middle - mean) ** 2)


def _alt(view: View) -> str:
    return (
        f"For each of {min(len(view.modes), MOST_PANELS)} modes, histograms of coordinate {view.coordinate + 1} of theta for "
        f"{len(view.samplers)} samplers over the shaded Gibbs density of the mode."
    )


def _table(view: View, distances: dict[tuple[str, int], Distance], found: dict[tuple[str, int], Array]) -> Table:
    rows = tuple(
        (name, mode, *distances.get((name, x), (None, None, None))[:3], float(sample.mean()) if sample.size else None,
         float(sample.std()) if sample.size else None, sample.size)
        for name in view.names
        for x, mode in enumerate(view.mode_names)
        for sample in (found[name, x],)
    )  # fmt: skip
    columns = (
        "sampler",
        "mode",
        "W1 to Gibbs",
        "effective draws",
        "W1 of a perfect sample, 95 %",
        "mean",
        "standard deviation",
        "points",
    )
    return Table(columns, rows)
