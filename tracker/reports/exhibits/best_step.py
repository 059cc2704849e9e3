"""Exhibit: which limit applies at this alpha and epsilon, the exact error, and the best step."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tracker.formatting import in_words, listed, number, plain
from tracker.metrics.averages import Budget, mean_interval
from tracker.reports.exhibit import Exhibit, Omitted, Table
from tracker.reports.figure_style import INK, MUTED, RULE, figure, legend, log_axis
from tracker.scenario.step_warnings import FAST, SLOW

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from tracker.limits import OutOfScope
    from tracker.limits.switched_quadratic import SwitchedQuadratic
    from tracker.reports.run_view import View


KEY, QUESTION = "regime", "Is the step right for the speed of the chain?"
CURVE_POINTS = 60
ROOM_FOR_A_LABEL = 0.12  # of the height, for a label
MOST_TIMES_THE_LEAST_ERROR = 20.0  # times the least error: what is higher does not set the scale
GAIN_NOT_WORTH_A_WORD = 0.01  # of the error that another step would save: not worth a word
MOST_UNKNOWNS = 1000  # moments in the exact error: of more, a page would take minutes to find the best step
LARGEST_REST_OF_THE_SPLIT = 0.25  # of the error left over by the four leading terms: they do not describe it


class StepTheory(NamedTuple):
    """What is known exactly of one sampler: its problem, stability limit and budget at its own step, and the best step.

    best, least : the best step and the error there, nan where no step is the best
    why : no step is the best, else empty
    """

    problem: SwitchedQuadratic
    limit: float
    budget: Budget
    best: float
    least: float
    why: str


def exhibit(view: View) -> Exhibit | Omitted:
    """Draw the ratio of each sampler on the scale of regimes and, where theory gives it, the error against the step."""
    if view.scenario.chain is None:
        reason = "the modes follow a schedule." if view.scenario.schedule is not None else "one mode never switches."
        return Omitted(KEY, QUESTION, reason)
    known, unknown = view.theories
    if not known:
        return Omitted(KEY, QUESTION, f"{_caption(view, known, unknown)[:-1]}.")
    with figure(height=4.4) as fig:
        axes = fig.subplots(2, 1, height_ratios=[1.0, 2.6])
        _scale(axes[0], view)
        _curves(axes[1], view, known)
        legend(fig, axes[0])
    alt = (
        "A scale of alpha over epsilon from slow to fast with a mark for each sampler; below, mean-square error against the step "
        "with the best step marked, where there is one."
    )
    return Exhibit(KEY, QUESTION, _caption(view, known, unknown), alt, fig, _table(view, known))


def theories(view: View) -> tuple[dict[str, StepTheory], dict[str, OutOfScope]]:
    """Return what is known exactly, by sampler, and why not for the others."""
    from tracker.limits.scope import refusal_of

    known, unknown = {}, {}
    for name in view.samplers:
        try:
            known[name] = theory(view, name)
        except (ValueError, ArithmeticError) as problem:
            unknown[name] = refusal_of(problem, name)
    return known, unknown


def theory(view: View, name: str) -> StepTheory:
    """Return the exact stationary mean-square error of a sampler and its parts; ValueError where it is not known."""
    from tracker.limits.switched_quadratic import read_quadratic

    problem = read_quadratic(view.scenario, name, of="algorithm")
    from tracker.limits.best_constant_step import TOO_FLAT, error, split_error  # here: what is refused needs no solver
    from tracker.limits.stationary_moments import largest_step

    if (unknowns := problem.X * (1 + problem.n + problem.n**2)) > MOST_UNKNOWNS:
        raise ValueError(f"not computed: {unknowns} unknown moments are more than {MOST_UNKNOWNS}")
    floor, noise, lag = split_error(problem)
    limit = largest_step(problem, "alpha")
    if limit <= 0.0:
        raise ValueError("no step is mean-square stable")
    _, quiet, _ = split_error(replace(problem, Sigma=np.zeros_like(problem.Sigma), growth=None))
    epsilon, alpha = problem.epsilon, problem.alpha
    if np.isnan(total := error(problem, epsilon)):
        raise ValueError(TOO_FLAT)
    budget = Budget(floor, quiet * epsilon, (noise - quiet) * epsilon, lag * alpha / epsilon, total)
    return StepTheory(problem, limit, budget, *_best(view, name))


def _best(view: View, name: str) -> tuple[float, float, str]:
    """The best step and the error there, or nan and the reason."""
    from tracker.limits import best_step

    try:
        best = best_step(view.scenario, name)
    except (ValueError, ArithmeticError) as problem:
        return float("nan"), float("nan"), str(problem)
    return best.epsilon, best.mean_square_error, ""


def _scale(ax: Axes, view: View) -> None:
    assert view.scenario.chain is not None
    ratios = {s.name: view.scenario.chain.alpha / s.epsilon for s in view.scenario.samplers}
    high = max(100.0, 3 * max(ratios.values()), 3 / min(ratios.values()))
    low = 1.0 / high  # as far to both sides: the three labels then have room, however far a ratio is from 1
    ax.set_xlim(low, high)
    log_axis(ax)
    regime_bands(ax)
    for n, (name, ratio) in enumerate(ratios.items()):
        look = view.looks[name]
        ax.plot([ratio], [0.5 + 0.6 * ((n + 0.5) / len(ratios) - 0.5)], look.marker, color=look.color, label=name)
    ax.set(yticks=[], ylim=(0, 1))
    ax.spines["left"].set_visible(False)
    ax.set_xlabel("α/ε, chain step over sampler step")
    ax.grid(visible=False)


def regime_bands(ax: Axes) -> None:
    """Shade the three regimes on a logarithmic axis of alpha over epsilon, which keeps its ends; name those that it shows."""
    low, high = ax.get_xlim()
    ends = ((0.0, SLOW, "slow: frozen"), (SLOW, FAST, "matched: switched"), (FAST, np.inf, "fast: averaged"))
    shown = [(max(low, left), min(high, right), label) for left, right, label in ends if left < high and right > low]
    for n, (left, right, label) in enumerate(shown):
        ax.axvspan(left, right, color=RULE, alpha=0.5 if label.startswith("matched") else 0.2, linewidth=0)
        place, align = ((0.0, "left"), (0.5, "center"), (1.0, "right"))[n if len(shown) == 3 else 2 * n]
        ax.text(place, 1.02, label, ha=align, va="bottom", transform=ax.transAxes, color=MUTED)
    ax.set_xlim(low, high)


def _curves(ax: Axes, view: View, known: dict[str, StepTheory]) -> None:
    from tracker.limits.best_constant_step import error

    marked = [e for t in known.values() for e in (t.problem.epsilon, t.best) if np.isfinite(e)]
    low = min(marked) / 8
    high = max(min(0.98 * t.limit, 20 * np.nanmax([t.best, t.problem.epsilon])) for t in known.values())
    low = min(low, high / 8)
    steps = np.geomspace(low, high, CURVE_POINTS)
    tallest = 0.0
    for name, t in known.items():
        look, row = view.looks[name], view.summary[name]["mean_square_error"]
        errors = [error(t.problem, e) if e < t.limit else np.nan for e in steps]
        ax.plot(steps, errors, color=look.color, linestyle=look.linestyle)
        ax.plot([t.best], [t.least], "*", color=look.color, markersize=10)  # nan is not drawn
        if row["mean"] is not None:
            stderr = np.nan if row["stderr"] is None else row["stderr"]
            lower, upper = mean_interval(row["mean"], stderr, view.lasting(name), "positive")
            reach = np.nan_to_num([[row["mean"] - lower], [upper - row["mean"]]])
            ax.errorbar(
                [t.problem.epsilon],
                [row["mean"]],
                yerr=reach,
                fmt=look.marker,
                color=look.color,
                markeredgecolor=INK,
                zorder=3,
            )
        least = min((e for e in (t.least, *errors) if np.isfinite(e)), default=0.0)  # 0: stable at no step of the axis
        heights = (2.5 * least, 1.3 * t.budget.total, 1.3 * (row["mean"] or 0.0))
        tallest = max([tallest, *(height for height in heights if height < MOST_TIMES_THE_LEAST_ERROR * least)])
    floor = min(t.budget.floor for t in known.values())
    ax.axhline(floor, color=MUTED, linewidth=0.8, linestyle=(0, (2, 2)))
    # errors lie above their floor: there is room below it, or else at the end that is further from what is marked
    right = steps[-1] / max(marked) > min(marked) / steps[0]
    ax.text(
        steps[-1] if right else steps[0],
        floor,
        " temperature floor ",
        ha="right" if right else "left",
        va="top" if floor > ROOM_FOR_A_LABEL * tallest else "bottom",
        color=MUTED,
    )
    log_axis(ax)
    ax.set_ylim(0.0, tallest or None)
    star = ", star best step" if any(not t.why for t in known.values()) else ""
    if _still_moving(view, known):
        legend = f"line exact in the long run{star},\ndot measured on the way there"
    else:
        legend = f"line exact{star}, dot measured"
    ax.set_title(f"mean-square error\n({legend})")
    ax.set_xlabel("ε, step of the sampler")


def _caption(view: View, known: dict[str, StepTheory], unknown: dict[str, OutOfScope]) -> str:
    classes: dict[str, list[str]] = {}
    for row in view.run.summary["regime"]:
        classes.setdefault(f"{row['class']} (α/ε = {plain(row['ratio'])})", []).append(row["sampler"])
    text = "; ".join(f"{kind}: {listed(names)}" for kind, names in classes.items())
    text = text[0].upper() + text[1:]
    parts = [_about(name, t) for name, t in known.items()]
    note = _still_moving(view, known) if known else ""
    sentences = [text, f"{'; '.join(parts)}{note}", _missing(unknown)]
    return " ".join(f"{sentence}." for sentence in sentences if sentence)


def _missing(unknown: dict[str, OutOfScope]) -> str:
    """Why theory says nothing of some samplers; what holds for the scenario is said once."""
    reasons: dict[str, list[str]] = {}
    for name, refusal in unknown.items():
        if refusal.sampler is None:
            return f"No exact error and no curve: {in_words(refusal.reason)}"
        reasons.setdefault(in_words(refusal.reason), []).append(name)
    rows = [f"no exact error for {listed(names)}: {reason}" for reason, names in reasons.items()]
    return f"N{'; '.join(rows)[1:]}" if rows else ""


def _about(name: str, t: StepTheory) -> str:
    """What is known of a sampler."""
    b = t.budget
    best = f"the best step is {number(t.best)}" if not t.why else f"there is no best step: {in_words(t.why)}"
    if not np.isfinite(b.total):
        return f"{name}'s step is not mean-square stable, so its error has no limit; {best}"
    gain = 1.0 - t.least / b.total
    if not t.why:
        best = (
            f"{best}, which would lower it by {100 * gain:.0f} %"
            if gain > GAIN_NOT_WORTH_A_WORD
            else "no step lowers it by more than 1 %"
        )
    if abs(b.rest) > LARGEST_REST_OF_THE_SPLIT * b.total:
        made_of = f"of which the temperature makes {number(b.floor)}; the chain is too fast to split the rest"
    else:
        made_of = (
            f"floor {number(b.floor)} + discretisation {number(b.discretisation)} + gradient noise "
            f"{number(b.gradient_noise)} + lag {number(b.lag)} + higher order {number(b.rest)}"
        )
    return f"{name}'s exact stationary mean-square error is {number(b.total)}: {made_of}; {best}"


def _still_moving(view: View, known: dict[str, StepTheory]) -> str:
    """Say so where the run is too short to be stationary: measured and exact then differ by right."""
    slowest = max(
        1.0 / max(1e-300, float(np.linalg.eigvals(t.problem.A).real.min()) * t.problem.epsilon) for t in known.values()
    )
    if view.scenario.burn_in < 3 * slowest:
        return f" (averages begin at step {view.scenario.burn_in}, before the {number(3 * slowest, 2)} steps that stationarity takes)"
    return ""


def _table(view: View, known: dict[str, StepTheory]) -> Table:
    assert view.scenario.chain is not None
    rows = []
    epsilons = {s.name: s.epsilon for s in view.scenario.samplers}
    for name in view.names:
        t, row = known.get(name), view.summary[name]["mean_square_error"]
        ratio = view.scenario.chain.alpha / epsilons[name] if name in epsilons else None
        b = t.budget if t else None
        parts = (b.floor, b.discretisation, b.gradient_noise, b.lag, b.rest, b.total) if b else (None,) * 6
        best = (t.best, t.least) if t and not t.why else (None, None)
        rows.append((name, ratio, *parts, row["mean"], row["stderr"], *best))
    columns = (
        "sampler", "α/ε", "floor", "discretisation", "gradient noise", "lag", "higher order", "exact mean-square error", "measured", "±",
        "best step", "error there",
    )  # fmt: skip
    return Table(columns, tuple(rows))
