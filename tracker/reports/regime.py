"""alpha against epsilon: which limit applies, what the error should be, and which step would be best."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tracker.metrics.averages import Budget
from tracker.reports.exhibit import Exhibit, Omitted, Table
from tracker.reports.style import INK, MUTED, RULE, figure, legend, log_axis
from tracker.reports.words import listed, number, plain

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from tracker.limits.problem import SwitchedQuadratic
    from tracker.reports.view import View

    Array = NDArray[np.float64]

KEY, QUESTION = "regime", "Is the step right for the speed of the chain?"
SLOW, FAST = 0.1, 10.0
CURVE_POINTS = 60
SPLIT_FAILS = 0.25  # of the error left over by the four leading terms: they do not describe it


class Theory(NamedTuple):
    """What is known exactly of one sampler: its problem, best step, error there, stability limit and budget at its own step."""

    problem: SwitchedQuadratic
    best: float
    least: float
    limit: float
    budget: Budget


def exhibit(view: View) -> Exhibit | Omitted:
    """Draw the ratio of each sampler on the scale of regimes and, where theory gives it, the error against the step."""
    if view.scenario.chain is None:
        reason = "the modes follow a schedule." if view.scenario.schedule is not None else "one mode never switches."
        return Omitted(KEY, QUESTION, reason)
    known = theories(view)
    with figure(height=1.9 if not known else 4.4) as fig:
        axes = np.atleast_1d(fig.subplots(1 + bool(known), 1, height_ratios=[1.0, 2.6] if known else [1.0]))
        _scale(axes[0], view)
        if known:
            _curves(axes[1], view, known)
        legend(fig, axes[0])
    alt = "A scale of alpha over epsilon from slow to fast with a mark for each sampler"
    alt += "; below, mean-square error against the step with the best step marked." if known else "."
    return Exhibit(KEY, QUESTION, _caption(view, known), alt, fig, _table(view, known))


def theories(view: View) -> dict[str, Theory]:
    """Return what is known exactly, by sampler."""
    found = {}
    for name in view.samplers:
        try:
            found[name] = theory(view, name)
        except (ValueError, np.linalg.LinAlgError):  # no theory covers it, or its second moments grow without bound
            continue
    return found


def theory(view: View, name: str) -> Theory:
    """Return the exact stationary error of a sampler and its parts; ValueError where it is not known."""
    from tracker.limits import best_step
    from tracker.limits.problem import read
    from tracker.limits.steady import largest_step
    from tracker.limits.tracking import error, split_error

    problem = read(view.scenario, name, "best_step")
    best = best_step(view.scenario, name)
    floor, noise, lag = split_error(problem)
    _, quiet, _ = split_error(replace(problem, Sigma=np.zeros_like(problem.Sigma)))
    epsilon, alpha = problem.epsilon, problem.alpha
    budget = Budget(floor, quiet * epsilon, (noise - quiet) * epsilon, lag * alpha / epsilon, error(problem, epsilon))
    return Theory(problem, best.epsilon, best.mean_square_error, largest_step(problem, "alpha"), budget)


def _scale(ax: Axes, view: View) -> None:
    assert view.scenario.chain is not None
    ratios = {s.name: view.scenario.chain.alpha / s.epsilon for s in view.scenario.samplers}
    low, high = min(0.01, min(ratios.values()) / 3), max(100.0, max(ratios.values()) * 3)
    for left, right, label in (
        (low, SLOW, "slow: frozen limit"),
        (SLOW, FAST, "matched: switched"),
        (FAST, high, "fast: averaged"),
    ):
        ax.axvspan(left, right, color=RULE, alpha=0.5 if label.startswith("matched") else 0.2, linewidth=0)
        ax.text(
            np.sqrt(left * right),
            1.04,
            label,
            ha="center",
            va="bottom",
            transform=ax.get_xaxis_transform(),
            color=MUTED,
            fontsize=8.0,
        )
    for n, (name, ratio) in enumerate(ratios.items()):
        look = view.looks[name]
        ax.plot([ratio], [0.5 + 0.6 * ((n + 0.5) / len(ratios) - 0.5)], look.marker, color=look.color, label=name)
    log_axis(ax)
    ax.set_xlim(low, high)
    ax.set(yticks=[], ylim=(0, 1))
    ax.spines["left"].set_visible(False)
    ax.set_xlabel("α/ε, chain step over sampler step")
    ax.grid(visible=False)


def _curves(ax: Axes, view: View, known: dict[str, Theory]) -> None:
    from tracker.limits.tracking import error

    low = min(min(t.best, t.problem.epsilon) for t in known.values()) / 8
    high = max(min(0.98 * t.limit, 20 * max(t.best, t.problem.epsilon)) for t in known.values())
    steps = np.geomspace(low, high, CURVE_POINTS)
    tallest = 0.0
    for name, t in known.items():
        look, row = view.looks[name], view.summary[name]["mean_square_error"]
        ax.plot(
            steps,
            [error(t.problem, e) if e < t.limit else np.nan for e in steps],
            color=look.color,
            linestyle=look.linestyle,
        )
        ax.plot([t.best], [t.least], "*", color=look.color, markersize=10)
        if row["mean"] is not None:
            bar = 1.96 * (row["stderr"] or 0.0)
            ax.errorbar(
                [t.problem.epsilon],
                [row["mean"]],
                yerr=[bar],
                fmt=look.marker,
                color=look.color,
                markeredgecolor=INK,
                zorder=3,
            )
        tallest = max(tallest, 2.5 * t.least, 1.3 * t.budget.total, 1.3 * (row["mean"] or 0.0))
    floor = min(t.budget.floor for t in known.values())
    ax.axhline(floor, color=MUTED, linewidth=0.8, linestyle=(0, (2, 2)))
    ax.text(steps[-1], floor, "temperature floor ", ha="right", va="bottom", fontsize=8.0, color=MUTED)
    log_axis(ax)
    ax.set_ylim(0.0, tallest)
    ax.set_title("mean-square error: exact (line), best step (star), measured (dot)")
    ax.set_xlabel("ε, step of the sampler")


def _caption(view: View, known: dict[str, Theory]) -> str:
    classes: dict[str, list[str]] = {}
    for row in view.run.summary["regime"]:
        classes.setdefault(f"{row['class']} (α/ε = {plain(row['ratio'])})", []).append(row["sampler"])
    text = "; ".join(f"{kind}: {listed(names)}" for kind, names in classes.items())
    text = text[0].upper() + text[1:]
    if not known:
        return (
            f"{text}. Theory gives the error for quadratic costs and an S that stands still, so no curve is drawn here."
        )
    parts = []
    for name, t in known.items():
        b = t.budget
        gain = 1.0 - t.least / b.total
        advice = (
            f"the best step is {number(t.best)}, which would lower it by {100 * gain:.0f} %"
            if gain > 0.01
            else "its step is the best one"
        )
        if abs(b.rest) > SPLIT_FAILS * b.total:
            made_of = f"of which the temperature makes {number(b.floor)}; the chain is too fast to split the rest"
        else:
            made_of = (
                f"floor {number(b.floor)} + discretisation {number(b.discretisation)} + gradient noise "
                f"{number(b.gradient_noise)} + lag {number(b.lag)} + higher order {number(b.rest)}"
            )
        parts.append(f"{name}'s exact stationary error is {number(b.total)}: {made_of}; {advice}")
    note = _still_moving(view, known)
    return f"{text}. {'; '.join(p[0].upper() + p[1:] for p in parts)}{note}."


def _still_moving(view: View, known: dict[str, Theory]) -> str:
    """Say so where the run is too short to be stationary: measured and exact then differ by right."""
    slowest = max(
        1.0 / max(1e-300, float(np.linalg.eigvals(t.problem.A).real.min()) * t.problem.epsilon) for t in known.values()
    )
    if view.scenario.burn_in < 3 * slowest:
        return f" (averages begin at step {view.scenario.burn_in}, before the {number(3 * slowest, 2)} steps that stationarity takes)"
    return ""


def _table(view: View, known: dict[str, Theory]) -> Table:
    assert view.scenario.chain is not None
    rows = []
    epsilons = {s.name: s.epsilon for s in view.scenario.samplers}
    for name in view.names:
        t, row = known.get(name), view.summary[name]["mean_square_error"]
        ratio = view.scenario.chain.alpha / epsilons[name] if name in epsilons else None
        b = t.budget if t else None
        parts = (b.floor, b.discretisation, b.gradient_noise, b.lag, b.rest, b.total) if b else (None,) * 6
        rows.append((name, ratio, *parts, row["mean"], row["stderr"], t.best if t else None, t.least if t else None))
    columns = (
        "sampler", "α/ε", "floor", "discretisation", "gradient noise", "lag", "higher order", "exact error", "measured", "±",
        "best step", "error there",
    )  # fmt: skip
    return Table(columns, tuple(rows))
