"""Exhibit: how much of what could be known each sampler knows, and what its error is made of. Theory is read, not solved, here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tracker.baseline_names import BASELINES, FROZEN
from tracker.formatting import few, in_words, listed, number, percent
from tracker.limits.rung_names import AT_BETA, BEST_STEP
from tracker.metrics.averages import mean_interval
from tracker.reports.exhibit import Exhibit, Omitted, Table
from tracker.reports.figure_style import INK, MUTED, RULE, figure, legend_of
from tracker.reports.step_notes import evaluations

if TYPE_CHECKING:
    from collections.abc import Mapping

    from matplotlib.axes import Axes

    from tracker.reports.run_view import View

KEY, QUESTION = "known", "How much of what could be known?"
PARTS = {
    "temperature": "#c44e52",
    "noise": "#dd8452",
    "lag": "#4c72b0",
    "remainder": "#937860",
    "not told apart": "#b0b0b0",
}
LARGEST_REMAINDER = 0.25  # of the error: beyond, the parts do not describe it
WORST = 5.0  # times the least error or the largest rung but frozen: what is worse is named at the edge
ROW, LABEL = 0.3, 0.16  # inches


class Line(NamedTuple):
    """A rung that all samplers share: measured or by theory."""

    name: str
    error: float
    exact: bool
    bound: bool
    observations: int | None
    evaluations: str


def exhibit(view: View) -> Exhibit | Omitted:
    """Draw the errors between standing still and knowing the mode, with the rungs, and under it the parts of each error."""
    errors = {name: view.summary[name]["mean_square_error"] for name in view.samplers}
    shown = [name for name, error in errors.items() if error["mean"] is not None and np.isfinite(error["mean"])]
    if not shown:
        return Omitted(KEY, QUESTION, (view.no_distance and f"{view.no_distance}.") or "no sampler has a finite error.")
    lines = shared_rungs(view)
    split = {name: parts_of(view, name) for name in shown}
    rows, told = len(shown), any(set(parts) != {"not told apart"} for parts in split.values())
    with figure(height=1.55 + LABEL * len(lines) + (1 + told) * ROW * rows) as fig:
        top, *below = np.atleast_1d(fig.subplots(1 + told, 1))
        _axis_of_errors(top, view, shown, lines)
        if told:  # else there are no parts to show
            _bars(below[0], shown, split)
        _legend(fig, split if told else {}, view, shown)
    alt = "Mean square errors on an axis of all that could be known, with the rungs of theory"
    alt += "; below, bars of the parts of each error." if told else "."
    caption, method = _caption(view, shown, lines, split), _method(view, shown, lines, split)
    return Exhibit(KEY, QUESTION, caption, alt, fig, _table(view, shown, split), method)


def shared_rungs(view: View) -> list[Line]:
    """Return the rungs that do not depend on a sampler: the baselines of the run, then the filters of theory."""
    found = [
        Line(
            name,
            float(view.summary[name]["mean_square_error"]["mean"]),
            exact=False,
            bound=False,
            **_work(view.summary[name]),
        )
        for name in BASELINES
        if name in view.summary and view.summary[name]["mean_square_error"]["mean"] is not None
    ]
    ladders: list[list[dict[str, Any]]] = list(view.theory["ladder"].values())
    bounds = {row["rung"] for rows in ladders for row in rows if row["bound"]}  # for whoever sees one gradient a step
    return found + [
        Line(row["rung"], row["mean_square_error"]["mean"], exact=True, bound=row["rung"] in bounds, **_work(row))
        for row in next(iter(ladders), [])
        if row["rung"] not in (AT_BETA, BEST_STEP)
    ]


def _work(row: Mapping[str, Any]) -> dict[str, Any]:
    """What a step sees and evaluates; of an earlier program's rows the former is not known."""
    return {"observations": row.get("observations"), "evaluations": evaluations(row.get("evaluations", {}))}


def own_rungs(view: View, name: str) -> dict[str, float]:
    """Return the errors of a sampler's own rungs: what its temperature alone costs, if it keeps one, and its best step."""
    rows = view.theory["ladder"].get(name, [])
    kept = (BEST_STEP,) if view.theory["split"].get(name) is None else (AT_BETA, BEST_STEP)
    return {row["rung"]: row["mean_square_error"]["mean"] for row in rows if row["rung"] in kept}


def parts_of(view: View, name: str) -> dict[str, float]:
    """Return the parts of a sampler's error: of theory where they describe it, else temperature and what is measured beside it."""
    parts, measured = view.theory["split"].get(name), float(view.summary[name]["mean_square_error"]["mean"])
    if parts is None:
        return {"not told apart": measured}
    total = parts["total"]
    if total is not None and abs(parts["remainder"]) <= LARGEST_REMAINDER * total:
        return {key: parts[key] for key in ("temperature", "noise", "lag", "remainder")}
    whole = measured if total is None else total
    return {"temperature": parts["temperature"], "not told apart": whole - parts["temperature"]}


def _axis_of_errors(ax: Axes, view: View, shown: list[str], lines: list[Line]) -> None:
    means = [float(view.summary[name]["mean_square_error"]["mean"]) for name in shown]
    rungs = [line.error for line in lines] + [e for name in shown for e in own_rungs(view, name).values()]
    near = [e for e in rungs if e not in [line.error for line in lines if line.name == FROZEN]]
    edge = min(1.05 * max([*means, *rungs]), WORST * max([*near, min(means)]))
    for k, line in enumerate(sorted(lines, key=lambda one: -one.error)):
        style: Any = (0, (4, 2)) if line.exact else "solid"
        out, at = line.error > edge, min(line.error, edge)
        if not out:
            ax.axvline(at, color=INK if line.bound else MUTED, linewidth=1.0, linestyle=style, zorder=1)
        label = f"{'◀ ' if out else ''}{line.name}{' (bound)' if line.bound else ''} {number(line.error)}"
        right = line.error < edge / 2
        ax.annotate(
            label, (at, 1.0), xycoords=("data", "axes fraction"), xytext=(-2 if right else 2, 3 + 11 * k), textcoords="offset points",
            ha="right" if right else "left", va="bottom", color=INK if line.bound else MUTED, annotation_clip=False,
        )  # fmt: skip
        ax.annotate(
            "", (at, 1.0), xycoords=("data", "axes fraction"), xytext=(0, 4 + 11 * k), textcoords="offset points",
            arrowprops={"arrowstyle": "-", "color": MUTED, "linewidth": 0.6}, annotation_clip=False,
        )  # fmt: skip
    for n, name in enumerate(shown):
        look, row = view.looks[name], view.summary[name]["mean_square_error"]
        if n % 2:
            ax.axhspan(n - 0.5, n + 0.5, color=RULE, alpha=0.25, linewidth=0)
        own = own_rungs(view, name)
        if AT_BETA in own:
            ax.plot([own[AT_BETA]] * 2, [n - 0.38, n + 0.38], color=PARTS["temperature"], linewidth=1.6, zorder=2)
        if BEST_STEP in own:
            ax.plot([own[BEST_STEP]], [n], "*", color="none", markeredgecolor=INK, markersize=8, zorder=2)
        low, high = interval_of(view, name)
        if np.isfinite(low):
            ax.plot(np.clip([low, high], 0.0, edge), [n, n], color=look.color, linewidth=2.0, zorder=3)
        out = row["mean"] > edge
        ax.plot([min(row["mean"], edge)], [n], "<" if out else look.marker, color=look.color, clip_on=False, zorder=4)
    ax.set_yticks(range(len(shown)), shown)
    ax.set_ylim(len(shown) - 0.5, -0.5)
    ax.set_xlim(edge, -0.02 * edge)
    ax.grid(visible=False, axis="y")
    ax.set_xlabel("mean square error" + ("; at 0 the mode is known" if len(view.modes) > 1 else ""))


def interval_of(view: View, name: str) -> tuple[float, float]:
    """Return the 95 % interval of a sampler's mean square error; nan with too few trials."""
    row = view.summary[name]["mean_square_error"]
    if row["stderr"] is None:
        return float("nan"), float("nan")
    low, high = mean_interval(row["mean"], row["stderr"], view.lasting(name), "positive")
    return float(low), float(high)


def _bars(ax: Axes, shown: list[str], split: Mapping[str, Mapping[str, float]]) -> None:
    whole = {name: sum(size for size in split[name].values() if size > 0.0) for name in shown}
    edge = min(1.05 * max(whole.values()), WORST * min(whole.values()))
    for n, name in enumerate(shown):
        left = 0.0
        for part, size in split[name].items():
            if size > 0.0:
                ax.barh(n, size, left=left, height=0.6, color=PARTS[part], linewidth=0)
                left += size
        taken = sum(size for size in split[name].values() if size < 0.0)
        if taken < 0.0:  # what is of higher order takes a part away again
            ax.barh(
                n, taken, left=left, height=0.6, fill=False, hatch="////", edgecolor=PARTS["remainder"], linewidth=0.6
            )
        if whole[name] > edge > 0.0:
            ax.text(edge, n, f"{number(whole[name])} ▶ ", ha="right", va="center", color=INK)
    ax.set_yticks(range(len(shown)), shown)
    ax.set_ylim(len(shown) - 0.5, -0.5)
    ax.set_xlim(0.0, edge or None)
    ax.grid(visible=False, axis="y")
    ax.set_xlabel("parts of the mean square error")


def _legend(fig: Any, split: Mapping[str, Mapping[str, float]], view: View, shown: list[str]) -> None:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    used = [part for part in PARTS if any(part in parts for parts in split.values())]
    handles: list[Any] = [Patch(color=PARTS[part]) for part in used]
    names = list(used)
    own = [own_rungs(view, name) for name in shown]
    if any(AT_BETA in rungs for rungs in own):
        handles.append(Line2D([], [], color=PARTS["temperature"], linewidth=1.6))
        names.append("mode known, its β" if len(view.modes) > 1 else "its Gibbs law")
    if any(BEST_STEP in rungs for rungs in own):
        handles.append(Line2D([], [], linestyle="none", marker="*", color="none", markeredgecolor=INK, markersize=8))
        names.append("its best step")
    legend_of(fig, handles, names)


def _caption(view: View, shown: list[str], lines: list[Line], split: Mapping[str, Mapping[str, float]]) -> str:
    best = min(shown, key=lambda name: float(view.summary[name]["mean_square_error"]["mean"]))
    error, parts = float(view.summary[best]["mean_square_error"]["mean"]), split[best]
    least = (
        f"The least mean square error is that of {best}," if len(shown) > 1 else f"The mean square error of {best} is"
    )
    still = view.summary.get(FROZEN, {}).get("mean_square_error", {}).get("mean")
    beside = f"; standing still has {number(still)}" if still is not None and still < error else ""
    said = [f"{least} {number(error)}{beside}."]
    heat = parts.get("temperature")
    if heat is not None and heat > 0.0 and error > 0.0:
        said.append(
            f"Its temperature alone{', with the mode known,' if len(view.modes) > 1 else ''} would cost {number(heat)}, {percent(heat / error) if heat < error else 'all'} of it."
        )
    for line in lines:
        if line.exact:
            told = heat is not None and error > line.error > 0.0  # a point and a spread are not set against each other
            times = f", {number(error / line.error)} times less" if told else ""
            what = ": no algorithm that sees one gradient a step, and nothing else, has less" if line.bound else ""
            said.append(f"The {line.name} has {number(line.error)}{times}{what}.")
            ahead = [name for name in shown if line.bound and interval_of(view, name)[1] < line.error]
            if ahead:
                said.append(
                    f"{listed(ahead)} {'has' if len(ahead) == 1 else 'have'} less: more is told to {'it' if len(ahead) == 1 else 'them'} than gradients."
                )
    if not any(line.exact for line in lines) and (missing := reasons(view)):
        said.append(f"Not computed here: {listed([rung for rungs in missing.values() for rung in rungs])}.")
    return " ".join(said)


def reasons(view: View) -> dict[str, list[str]]:
    """Return which of the rungs that all samplers share are missing, by the reason."""
    found: dict[str, list[str]] = {}
    for row in next(iter(view.theory["missing"].values()), []):
        if row["rung"] not in (AT_BETA, BEST_STEP):
            found.setdefault(row["reason"], []).append(row["rung"])
    return found


def _method(view: View, shown: list[str], lines: list[Line], split: Mapping[str, Mapping[str, float]]) -> str:
    """How errors are set beside rungs, and why rungs are missing: a reason that several share once."""
    exact = any(line.exact for line in lines)
    said = []
    if exact:
        said.append("A filter is achievable by what knows the chain and all costs.")
    if exact and any(parts.get("temperature", 0.0) > 0.0 for parts in split.values()):
        said.append(
            "Filters name a point and have no temperature: samplers at a finite beta are to be compared with them from the red mark on."
        )
    hard = [name for name in shown if "not told apart" in split[name] and "temperature" in split[name]]
    if hard:
        said.append(
            f"For {few(hard, 'sampler', len(shown))} noise and lag are not told apart: the expansion in small steps does not describe the error, or is not known for this cost."
        )
    missing = {} if exact else reasons(view)
    said += [f"No {' and no '.join(rungs)}: {in_words(reason)}." for reason, rungs in missing.items()]
    return " ".join(said)


def _table(view: View, shown: list[str], split: Mapping[str, Mapping[str, float]]) -> Table:
    rows = []
    for name in shown:
        row, own, work = view.summary[name]["mean_square_error"], own_rungs(view, name), _work(view.summary[name])
        parts = [split[name].get(part) for part in PARTS]
        rows.append((name, *work.values(), row["mean"], row["stderr"], own.get(AT_BETA), own.get(BEST_STEP), *parts))
    nothing = [None] * (3 + len(PARTS))
    rows += [(line.name, line.observations, line.evaluations, line.error, *nothing) for line in shared_rungs(view)]
    columns = (
        "sampler or rung", "observations a step", "a step evaluates", "mean square error", "±", AT_BETA, BEST_STEP, *PARTS,
    )  # fmt: skip
    return Table(columns, tuple(rows))
