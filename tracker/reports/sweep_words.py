"""What the picture of a sweep says in words: where each sampler is best, and how the picture is to be read."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tracker.baseline_names import BASELINES
from tracker.formatting import counted, number
from tracker.metrics.claims import read_side
from tracker.metrics.table import METRICS
from tracker.reports.step_notes import at_steps
from tracker.reports.sweep_axes import is_choice, positions, ticks
from tracker.reports.what_was_asked import NOT_JUDGED, asked_at_points

if TYPE_CHECKING:
    from tracker.reports.sweep_figures import SweepPicture
    from tracker.runs.sweep_result import Sweep


MOST_TOLD = 3  # samplers in a caption


def _choice(drawn: SweepPicture) -> int | None:
    """Return which of two axes is the samplers' to choose, where the other is the world's."""
    chosen = [is_choice(axis) for axis in drawn.axes]
    return chosen.index(True) if sum(chosen) == 1 and len(chosen) == 2 else None


def best_places(drawn: SweepPicture, sampler: str) -> list[tuple[int, ...]]:
    """Return where the metric is best and nothing diverged: for each world, if there are several, or over all points."""
    sign = 1.0 if METRICS[drawn.metric].smaller_is_better else -1.0
    values = np.where(drawn.troubled(sampler) | np.isnan(drawn.values(sampler)), np.inf, sign * drawn.values(sampler))
    choice = _choice(drawn)
    if choice is None:
        places = [tuple(int(i) for i in np.unravel_index(values.argmin(), values.shape))]
    else:
        least = values.argmin(axis=choice).tolist()
        places = [(b, n) if choice == 0 else (n, b) for n, b in enumerate(least)]
    return [place for place in places if np.isfinite(values[place])]


def best(drawn: SweepPicture) -> str:
    """Tell where each sampler is best; along an axis of the world, which nobody chooses, its first and its last value."""
    if len(drawn.axes) == 1 and drawn.axes[0].numbers is not None and not is_choice(drawn.axes[0]):
        return _ends(drawn)
    choice = _choice(drawn)
    parts = []
    for name in drawn.samplers:
        places = best_places(drawn, name) if name not in BASELINES else []
        if not places:
            continue
        if choice is not None:
            parts.append(f"{name} {', '.join(ticks(drawn.axes[choice])[place[choice]] for place in places)}")
            continue
        where = ", ".join(f"{axis.address} = {ticks(axis)[n]}" for axis, n in zip(drawn.axes, places[0], strict=True))
        parts.append(f"{name} {number(float(drawn.values(name)[places[0]]), 3)} at {where}")
    if not parts:
        return "No point came to an end without divergence."
    if choice is None:
        return f"Best: {'; '.join(parts)}."
    world = drawn.axes[1 - choice]
    return f"Best {drawn.axes[choice].address} for {world.address} = {', '.join(ticks(world))}: {'; '.join(parts)}."


def _ends(drawn: SweepPicture) -> str:
    """The values at both ends of an axis of the world."""
    (axis,) = drawn.axes
    order = np.argsort(positions(axis))
    written = [ticks(axis)[n] for n in order]
    parts: list[str] = []
    for name in drawn.samplers:
        values = drawn.values(name)[order]
        known = np.flatnonzero(np.isfinite(values))
        if name not in BASELINES and known.size:
            if len(parts) == MOST_TOLD:
                parts.append("the others in the numbers")
                break
            first, last = int(known[0]), int(known[-1])
            span = "" if known.size == values.size else f" ({written[first]} to {written[last]})"
            parts.append(f"{name} {number(float(values[first]), 3)} to {number(float(values[last]), 3)}{span}")
    if not parts:
        return "No point came to an end without divergence."
    return f"From {axis.address} = {written[0]} to {written[-1]}: {'; '.join(parts)}."


def caption(drawn: SweepPicture, sweep: Sweep) -> str:
    """Tell what the picture shows: what became of the claims about its metric, else where each sampler is best."""
    sentences = claims_about(sweep, drawn.metric) or [best(drawn)]
    if drawn.held:
        sentences.append(f"Of the other axes only the first value is shown: {drawn.held}.")
    if drawn.cut:
        sentences.append(
            f"Not drawn: {counted(drawn.cut, 'mean wait')} of which more than half were cut off by the next switch."
        )
    elif lost := _without_waits(drawn):
        sentences.append(f"No mark where no switch led out of the target ({lost}).")
    if sweep.troubled:
        count = len(sweep.troubled)
        mark = "hollow or crossed" if len(drawn.axes) == 1 else "crossed"
        sentences.append(f"At {count} of {len(sweep.outcomes)} points trials diverged or the run failed: {mark}.")
    return " ".join(sentences)


def method(drawn: SweepPicture, sweep: Sweep) -> str:
    """Tell how the picture is to be read, and what the caption had no room for."""
    sentences = [best(drawn)] if claims_about(sweep, drawn.metric) else []
    sentences.append("Bars: ± 2 standard errors over trials." if len(drawn.axes) == 1 else "Frames mark the best.")
    if steps := _steps(sweep):
        sentences.append(f"Steps: {steps}.")
    return " ".join(sentences)


def claims_about(sweep: Sweep, metric: str) -> list[str]:
    """Return a sentence for each claim about a metric: what it says, and at how many points it holds."""
    judged = [one.summary.get("claims", ()) for one in sweep.outcomes if one.summary is not None]
    told = asked_at_points(sweep.scenario, judged).outcomes
    return [
        f"{claim.text.rstrip('.')}: {outcome.word}."
        for claim, outcome in zip(sweep.scenario.claims, told, strict=True)
        if outcome.word != NOT_JUDGED
        and metric in {read_side(side).quantity for side in (claim.left, claim.right) if isinstance(side, str)}
    ]


def _steps(sweep: Sweep) -> str:
    """Return the samplers' steps where they differ and are not what is swept."""
    samplers = sweep.outcomes[0].point.scenario.samplers
    epsilons, effective = (
        {keys.name: getattr(keys, step) for keys in samplers} for step in ("epsilon", "effective_step")
    )
    swept = any(is_choice(axis) and axis.address.rpartition(".")[2] in ("samplers", "epsilon") for axis in sweep.axes)
    return at_steps(epsilons, effective) if len(set(epsilons.values())) > 1 and not swept else ""


def _without_waits(drawn: SweepPicture) -> str:
    """Count the points and samplers that have a result but no time to tell."""
    if METRICS[drawn.metric].kind != "time":
        return ""
    names = [name for name in drawn.samplers if name not in BASELINES]
    lost = sum(int((np.isnan(drawn.values(name)) & ~drawn.troubled(name)).sum()) for name in names)
    return f"{lost} of {sum(drawn.values(name).size for name in names)} cases" if lost else ""
