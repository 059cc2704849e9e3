"""Draw what ``tracker limit`` found: errors along the ladder, laws, and distances to the three limits."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tracker.formatting import number
from tracker.metrics.averages import half_width
from tracker.reports.exhibit import Answer, Exhibit, Item, Omitted, Section, Shown, Table, VerdictBox
from tracker.reports.figure_style import COLOURS, LINES, MARKERS, MUTED, figure, legend
from tracker.reports.html_page import render, write
from tracker.reports.passage_figure import passage_exhibit

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from tracker.array_types import Array
    from tracker.convergence import Observable, Verdict


MOST_LINES, MOST_BARS = 6, 3
BARS_APART = 0.045  # in powers of two: bars of different statistics stand side by side
IN_THE_BOX = {
    "limit": "Is it the right limit?",
    "implementation": "Is the engine this algorithm?",
    "order": "At which order?",
}
TONES = {"confirmed": "good", "rejected": "bad", "inconclusive": "warn", "unavailable": "plain"}
QUESTIONS = {
    "limit-error": "How does the error shrink with the step?",
    "limit-law": "How far is the simulated law from the limit's?",
    "limit-regimes": "Which of the three limits is it?",
}


def section(verdict: Verdict, *, alone: bool = False) -> Section:
    """Return the part of a page that shows a verdict; ``alone``: on a page of its own, whose box has the verdicts already."""
    figures = (error_exhibit, law_exhibit, passage_exhibit, regime_exhibit)
    items: tuple[Item, ...] = (*(draw(verdict) for draw in figures), _table(verdict))
    items += _steps(verdict)
    heading = f"The limit of {verdict.sampler} as epsilon goes to 0"
    said = [str(each) for each in verdict.topics if not (alone and each.topic in IN_THE_BOX)]
    lines = [line[:1].upper() + line[1:] + "." for line in said]
    return Section(heading, (*lines, *(f"Note: {note}." for note in verdict.notes)), items)


def box(verdict: Verdict) -> VerdictBox:
    """Return the two verdicts for the top of a page."""
    words = {"limit": verdict.limit_verdict, "implementation": verdict.implementation_verdict}
    reasons = {each.topic: each.reason for each in verdict.topics}
    return VerdictBox(
        (),
        tuple(
            Answer(question, words.get(topic, ""), reasons.get(topic, ""), TONES[words.get(topic, "unavailable")])
            for topic, question in IN_THE_BOX.items()
        ),
    )


def write_limit_page(verdict: Verdict, out: str | Path) -> Path:
    """Write ``limit.html`` and its figures, as SVG, into a folder; return the page's path."""
    from tracker.reports.figure_files import write_figure

    folder = Path(out)
    folder.mkdir(parents=True, exist_ok=True)
    shown = section(verdict, alone=True)
    title = f"{verdict.scenario}: does {verdict.sampler} converge to its limit?"
    page = folder / "limit.html"
    write(page, lambda: render(title, f"T = {verdict.horizon:g}", [shown], box(verdict)))
    for item in shown.items:
        if isinstance(item, Exhibit):
            write_figure(item.figure, folder / f"{item.key}.svg", "svg")
    return page


# --- errors along the ladder


def error_exhibit(verdict: Verdict) -> Exhibit | Omitted:
    """|error| against epsilon in the unit of each statistic, with bars; a line of slope 1; exact errors as lines."""
    key = "limit-error"
    shown = _loudest(verdict)
    if not shown:
        return Omitted(key, QUESTIONS[key], "No error is known: there is no reference to measure it from.")
    epsilons = np.array(verdict.epsilons)
    with figure(height=3.6) as drawn:
        axes = drawn.add_subplot()
        axes.set_xscale("log", base=2)
        axes.set_yscale("log")
        for n, o in enumerate(shown):
            _draw(axes, n, o, epsilons, verdict.trials)
        _guide(axes, verdict, shown, epsilons)
        least = min(abs(e) for o in shown for e in (o.exact_error or o.error) if e)
        axes.set_ylim(bottom=least / 3.0)
        axes.set_xticks(epsilons, [f"{epsilon:.3g}" for epsilon in epsilons])
        axes.minorticks_off()
        axes.set_xlabel("epsilon")
        axes.set_ylabel("|error|")
        legend(drawn, axes)
    fit = verdict.order
    interval = (
        ""
        if fit.low is None or fit.high is None or fit.low >= fit.high
        else f" [{number(fit.low, 3)}, {number(fit.high, 3)}]"
    )
    slope = "none resolved" if fit.estimate is None else number(fit.estimate, 3) + interval
    exact = "" if fit.exact is None else f"; the exact slope over the same ladder is {number(fit.exact, 3)}"
    noisy = any(any(s.error_stderr) for s in shown)
    lines = " Bars hold 95 %; lines are the exact errors." if noisy and shown[0].exact_error else ""
    caption = f"The {len(shown)} statistics with the clearest errors.{lines} Slope of the whole error: {slope}{exact}."
    rows = tuple((s.name, *(None if e is None else abs(e) for e in s.error), _slope(s)) for s in shown)
    table = Table(("statistic", *(f"epsilon = {epsilon:.4g}" for epsilon in epsilons), "slope"), rows)
    alt = f"Errors of {len(shown)} statistics against epsilon on two logarithmic axes; slope {slope}."
    return Exhibit(key, QUESTIONS[key], caption, alt, drawn, table)


def _loudest(verdict: Verdict) -> list[Observable]:
    """The statistics whose errors stand out most from noise, or are largest in their own unit."""

    def clarity(o: Observable) -> float:
        first = abs(o.error[0] or 0.0)
        noise = o.error_stderr[0] if o.error_stderr else 0.0
        return first / noise if noise > 0.0 else first / (o.scale or 1.0)

    known = [o for o in verdict.observables if o.error and o.error[0] is not None and any(o.error)]
    noisy = any(any(o.error_stderr) for o in known)
    return sorted(known, key=clarity, reverse=True)[: MOST_BARS if noisy else MOST_LINES]


def _draw(axes: Axes, n: int, o: Observable, epsilons: Array, trials: int) -> None:
    error = np.abs(np.array(o.error, dtype=float))
    noise = np.array(o.error_stderr) if o.error_stderr else np.zeros(len(error))
    colour, marker = COLOURS[n % len(COLOURS)], MARKERS[n % len(MARKERS)]
    reach = half_width(noise, trials)
    low = np.minimum(reach, 0.999 * error)  # a bar that reaches 0 leaves the figure
    bars = np.vstack([low, reach]) if noise.any() else None
    if noise.any() and o.exact_error is not None:
        axes.plot(epsilons, np.abs(o.exact_error), color=colour, linewidth=1.0, linestyle=LINES[n % len(LINES)])
        epsilons = epsilons * 2.0 ** (BARS_APART * (2 * n - MOST_BARS + 1))
    style: dict[str, Any] = {"color": colour, "marker": marker, "label": o.name, "capsize": 2.0, "elinewidth": 0.8}
    axes.errorbar(epsilons, error, bars, linestyle="none" if noise.any() else LINES[n % len(LINES)], **style)


def _guide(axes: Axes, verdict: Verdict, shown: list[Observable], epsilons: Array) -> None:
    from tracker.convergence.three_limits import approach

    power = approach(verdict.path)
    top = 1.6 * max(abs(o.error[0] or 0.0) for o in shown)
    line = top * (epsilons / epsilons[0]) ** power
    axes.plot(epsilons, line, color=MUTED, linewidth=1.0, linestyle=(0, (1, 1.5)), label=f"slope {power:g}")


def _slope(o: Observable) -> str:
    if o.order is None or o.order.estimate is None:
        return "none"
    exact = "" if o.order.exact is None else f" (exact {o.order.exact:.3f})"
    return f"{o.order.estimate:.3f}{exact}"


# --- whole laws, N = 1


def law_exhibit(verdict: Verdict) -> Exhibit | Omitted:
    """The difference of distribution functions along (mode, theta), with the band within which chance alone would keep it."""
    key = "limit-law"
    gap = verdict.law_gap
    if gap is None:
        return Omitted(
            key, QUESTIONS[key], "Whole laws are compared for N = 1, where a density is known and trials were run."
        )
    bound = next(b for b in verdict.bounds if b.distance == "ks")
    with figure(height=2.9) as drawn:
        panels = drawn.subplots(1, len(gap.modes), sharey=True, squeeze=False)[0]
        for n, axes in enumerate(panels):
            axes.axhspan(-bound.band, bound.band, color=MUTED, alpha=0.18, linewidth=0)
            axes.axhline(0.0, color=MUTED, linewidth=0.8)
            axes.plot(gap.theta, gap.found[n], color=COLOURS[0], linewidth=1.0, label=f"{bound.trials} trials")
            if gap.exact is not None:
                axes.plot(gap.theta, gap.exact[n], color=COLOURS[1], linestyle=LINES[1], label="algorithm, exact")
            axes.set_title(gap.modes[n])
            axes.set_xlabel("theta")
        panels[0].set_ylabel("CDF - CDF of the limit")
        legend(drawn, panels[0])
    exact = "" if bound.exact is None else f"; exactly it is {number(bound.exact, 3)}"
    caption = (
        f"At epsilon = {number(bound.epsilon, 4)} the KS distance of (mode, theta) to the limit is at most {number(bound.bound, 3)} "
        f"with 95 % confidence{exact}. The band holds what chance alone does in 95 % of all checks."
    )
    columns = ("distance", "epsilon", "trials", "found", "band", "at most (95 %)", "exact", "verdict")
    rows = tuple(
        (b.distance, b.epsilon, float(b.trials), b.found, b.band, b.bound, b.exact, b.verdict) for b in verdict.bounds
    )
    alt = f"Difference of distribution functions; largest {number(bound.found, 3)}, band {number(bound.band, 3)}."
    return Exhibit(key, QUESTIONS[key], caption, alt, drawn, Table(columns, rows))


# --- the three limits


def regime_exhibit(verdict: Verdict) -> Exhibit | Omitted:
    """Distances to the three limits at the smallest epsilon."""
    from tracker.convergence.three_limits import NAMES

    key = "limit-regimes"
    known = [
        (name, verdict.distances[name], verdict.rates[name]) for name in NAMES if verdict.distances[name] is not None
    ]
    if not known:
        return Omitted(key, QUESTIONS[key], "Distances need exact laws, and there are none for these costs.")
    with figure(height=1.9) as drawn:
        axes = drawn.add_subplot()
        for row, (name, distance, _) in enumerate(known):
            chosen = name == verdict.regime
            axes.plot([distance], [row], marker="o", color=COLOURS[0] if chosen else MUTED, markersize=7)
            axes.annotate(
                f" {number(distance, 3)}", (distance, row), xytext=(6, 0), textcoords="offset points", va="center"
            )
        axes.set_xscale("log")
        axes.margins(x=0.18)
        axes.set_yticks(range(len(known)), [name for name, _, _ in known])
        axes.set_ylim(len(known) - 0.5, -0.5)
        axes.set_xlabel(f"distance at epsilon = {verdict.epsilons[-1]:.4g}")
    rate = verdict.rates[verdict.regime]
    along = f"Along alpha = epsilon^{verdict.path:g}" if verdict.path is not None else "With alpha / epsilon kept"
    caption = (
        f"{along} the limit is the {verdict.regime} one"
        + ("" if rate is None else f", approached as epsilon^{rate:.2f}")
        + "; a distance is the largest difference in the mean and the second moments."
    )
    rows = tuple((name, distance, rate) for name, distance, rate in known)
    alt = "Distances: " + ", ".join(f"{name} {number(distance, 3)}" for name, distance, _ in known) + "."
    return Exhibit(
        key, QUESTIONS[key], caption, alt, drawn, Table(("limit", "distance", "shrinks as epsilon to the"), rows)
    )


def _table(verdict: Verdict) -> Shown:
    first, last = verdict.epsilons[0], verdict.epsilons[-1]
    columns = ("statistic", "limit", f"at {first:.4g}", f"at {last:.4g}", "error there", "slope")
    rows = tuple(
        (o.name, o.limit, o.algorithm[0], o.algorithm[-1], o.error[-1], _slope(o)) for o in verdict.observables
    )
    return Shown("Every statistic, in the limit and for the algorithm.", Table(columns, rows))


def _steps(verdict: Verdict) -> tuple[Item, ...]:
    """The statistics of single steps; nothing where there are none, which a note explains."""
    from tracker.convergence.sentences import sight

    if not verdict.residuals:
        return ()
    rows = tuple(
        (each.name, "exact" if each.z is None else each.z, "rejected" if each.rejected else "agrees")
        for each in verdict.residuals
    )
    caption = (
        f"Every single step of the engine at epsilon = {verdict.epsilons[0]:g}: z is a standard normal number for the right "
        f"engine; {sight(verdict)}."
    )
    return (Shown(caption, Table(("statistic of single steps", "z", "verdict"), rows)),)
