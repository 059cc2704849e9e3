"""What ``tracker limit`` found, drawn: errors along the ladder, whole laws, and the three limits."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from tracker.reports.exhibit import Answer, Exhibit, Item, Omitted, Section, Shown, Table
from tracker.reports.exhibit import Verdict as Box
from tracker.reports.page import number, render
from tracker.reports.style import COLOURS, INK, LINES, MARKERS, MUTED, figure, legend

if TYPE_CHECKING:
    from tracker.convergence import Observable, Verdict

MOST_LINES = 6
TONES = {"confirmed": "good", "rejected": "bad", "inconclusive": "warn", "unavailable": "plain"}
QUESTIONS = {
    "limit-error": "How does the error shrink with the step?",
    "limit-law": "How far is the simulated law from the limit's?",
    "limit-regimes": "Which of the three limits is it?",
}


def section(verdict: Verdict) -> Section:
    """Return the part of a page that shows a verdict."""
    items: tuple[Item, ...] = (error_exhibit(verdict), law_exhibit(verdict), regime_exhibit(verdict), _table(verdict))
    heading = f"The limit of {verdict.sampler} as epsilon goes to 0"
    return Section(heading, tuple(verdict.statements) + tuple(f"Note: {note}." for note in verdict.notes), items)


def box(verdict: Verdict) -> Box:
    """Return the two verdicts for the top of a page."""
    sentences = {line.partition(": ")[0]: line.partition(": ")[2] for line in verdict.statements}
    answers = []
    for key, word in (("limit", verdict.limit_verdict), ("implementation", verdict.implementation_verdict)):
        question = "Is it the right limit?" if key == "limit" else "Is the engine this algorithm?"
        answers.append(Answer(question, word, sentences.get(key, ""), TONES[word]))
    answers.append(Answer("At which order?", "", sentences.get("order", "")))
    return Box((), tuple(answers))


def write_page(verdict: Verdict, out: str | Path) -> Path:
    """Write ``limit.html`` and its figures, as SVG, into a folder; return the page's path."""
    from tracker.reports.drawing import write_figure

    folder = Path(out)
    folder.mkdir(parents=True, exist_ok=True)
    shown = section(verdict)
    title = f"{verdict.scenario}: does {verdict.sampler} converge to its limit?"
    page = folder / "limit.html"
    page.write_text(render(title, f"T = {verdict.horizon:g}", [shown], box(verdict)), encoding="utf-8")
    for item in shown.items:
        if isinstance(item, Exhibit):
            write_figure(item.figure, folder / f"{item.key}.svg")
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
            _draw(axes, n, o, epsilons)
        _guide(axes, verdict, shown, epsilons)
        axes.set_xticks(epsilons, [f"{epsilon:.3g}" for epsilon in epsilons])
        axes.minorticks_off()
        axes.set_xlabel("epsilon")
        axes.set_ylabel("|error|")
        legend(drawn, axes)
    o = verdict.order
    interval = "" if o.low is None or o.high is None or o.low >= o.high else f" [{number(o.low, 3)}, {number(o.high, 3)}]"
    slope = "none resolved" if o.estimate is None else number(o.estimate, 3) + interval
    exact = "" if o.exact is None else f"; the exact slope over the same ladder is {number(o.exact, 3)}"
    caption = f"The {len(shown)} statistics with the clearest errors. Slope of the whole error: {slope}{exact}."
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
    return sorted(known, key=clarity, reverse=True)[:MOST_LINES]


def _draw(axes: object, n: int, o: Observable, epsilons: np.ndarray) -> None:  # type: ignore[type-arg]
    error = np.abs(np.array(o.error, dtype=float))
    noise = np.array(o.error_stderr) if o.error_stderr else np.zeros(len(error))
    colour, marker = COLOURS[n % len(COLOURS)], MARKERS[n % len(MARKERS)]
    low = np.minimum(1.96 * noise, 0.95 * error)  # a bar that would cross 0 ends at a twentieth of the value
    bars = np.vstack([low, 1.96 * noise]) if noise.any() else None
    style = {"color": colour, "marker": marker, "label": o.name, "capsize": 2.0, "elinewidth": 0.8}
    axes.errorbar(epsilons, error, bars, linestyle="none" if noise.any() else LINES[n % len(LINES)], **style)  # type: ignore[attr-defined]


def _guide(axes: object, verdict: Verdict, shown: list[Observable], epsilons: np.ndarray) -> None:  # type: ignore[type-arg]
    from tracker.convergence.regime import approach

    power = approach(verdict.path)
    top = 1.6 * max(abs(o.error[0] or 0.0) for o in shown)
    line = top * (epsilons / epsilons[0]) ** power
    axes.plot(epsilons, line, color=MUTED, linewidth=1.0, linestyle=(0, (1, 1.5)), label=f"slope {power:g}")  # type: ignore[attr-defined]


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
        return Omitted(key, QUESTIONS[key], "Whole laws are compared for N = 1, where a density is known and trials were run.")
    bound = next(b for b in verdict.bounds if b.distance == "ks")
    position = np.arange(len(gap.difference)) / (len(gap.difference) - 1)
    with figure(height=2.9) as drawn:
        axes = drawn.add_subplot()
        axes.axhspan(-bound.band, bound.band, color=MUTED, alpha=0.18, linewidth=0)
        axes.axhline(0.0, color=MUTED, linewidth=0.8)
        axes.plot(position, gap.difference, color=COLOURS[0], linewidth=1.0, label=f"{bound.trials} trials - limit")
        if gap.exact is not None:
            axes.plot(position, gap.exact, color=COLOURS[1], linewidth=1.2, linestyle=LINES[1], label="algorithm - limit, exact")
        for edge, name in zip(gap.edges, gap.modes, strict=True):
            axes.axvline(edge, color=INK, linewidth=0.5)
            axes.annotate(f" {name}", (edge, 1.0), xycoords=("data", "axes fraction"), va="top", fontsize=8)
        axes.set_xlim(0.0, 1.0)
        axes.set_xticks([])
        axes.set_xlabel("theta within each mode, from low to high")
        axes.set_ylabel("difference of CDFs")
        legend(drawn, axes)
    exact = "" if bound.exact is None else f"; exactly it is {number(bound.exact, 3)}"
    caption = (
        f"At epsilon = {number(bound.epsilon, 4)} the KS distance of (mode, theta) to the limit is at most {number(bound.bound, 3)} "
        f"with 95 % confidence{exact}. The band holds what chance alone does in 95 % of all checks."
    )
    columns = ("distance", "epsilon", "trials", "found", "band", "at most (95 %)", "exact", "verdict")
    rows = tuple((b.distance, b.epsilon, float(b.trials), b.found, b.band, b.bound, b.exact, b.verdict) for b in verdict.bounds)
    alt = f"Difference of distribution functions; largest {number(bound.found, 3)}, band {number(bound.band, 3)}."
    return Exhibit(key, QUESTIONS[key], caption, alt, drawn, Table(columns, rows))


# --- the three limits


def regime_exhibit(verdict: Verdict) -> Exhibit | Omitted:
    """Distances to the three limits at the smallest epsilon."""
    from tracker.convergence.regime import NAMES

    key = "limit-regimes"
    known = [(name, verdict.distances[name], verdict.rates[name]) for name in NAMES if verdict.distances[name] is not None]
    if not known:
        return Omitted(key, QUESTIONS[key], "Distances need exact laws, and there are none for these costs.")
    with figure(height=1.9) as drawn:
        axes = drawn.add_subplot()
        for row, (name, distance, _) in enumerate(known):
            chosen = name == verdict.regime
            axes.plot([distance], [row], marker="o", color=COLOURS[0] if chosen else MUTED, markersize=7)
            axes.annotate(f" {number(distance, 3)}", (distance, row), xytext=(6, 0), textcoords="offset points", va="center")
        axes.set_xscale("log")
        axes.margins(x=0.18)
        axes.set_yticks(range(len(known)), [name for name, _, _ in known])
        axes.set_ylim(len(known) - 0.5, -0.5)
        axes.set_xlabel(f"distance at epsilon = {verdict.epsilons[-1]:.4g}: largest difference in mean and second moments")
    rate = verdict.rates[verdict.regime]
    along = f"Along alpha = epsilon^{verdict.path:g}" if verdict.path is not None else "With alpha / epsilon kept"
    caption = f"{along} the limit is the {verdict.regime} one" + ("" if rate is None else f", approached as epsilon^{rate:.2f}") + "."
    rows = tuple((name, distance, rate) for name, distance, rate in known)
    alt = "Distances: " + ", ".join(f"{name} {number(distance, 3)}" for name, distance, _ in known) + "."
    return Exhibit(key, QUESTIONS[key], caption, alt, drawn, Table(("limit", "distance", "shrinks as epsilon to the"), rows))


def _table(verdict: Verdict) -> Shown:
    columns = ("statistic", "limit", *(f"epsilon = {epsilon:.4g}" for epsilon in verdict.epsilons), "slope (exact)")
    rows = tuple((o.name, o.limit, *o.algorithm, _slope(o)) for o in verdict.observables)
    return Shown("Every statistic, in the limit and for the algorithm.", Table(columns, rows))
