"""Compare the samplers of a sweep at their own best steps, at one step for all, and per gradient.

Notes
-----
A best step is chosen by looking, so that intervals are widened (Bonferroni): that of a chosen error holds for all candidates
of the sweep at once, that of a ratio of two chosen errors for all pairs from which the two were chosen. At a fixed number of
gradient evaluations a sampler that takes m of them a step meets a chain that runs m times as far between its steps; so, per
gradient, its best error in the world m alpha stands against the other's in m' alpha. These are different chains: the ratio
is not paired, and its interval is that of two averages.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tracker.formatting import DASH, interval, number, plain
from tracker.metrics.averages import confidence_of_each, half_width
from tracker.metrics.paired import Paired, ratio_of_averages
from tracker.reports.best_of_sweep import TRACKING, Candidate, candidates, compare_candidates, where, worlds
from tracker.reports.step_notes import over_limit
from tracker.reports.sweep_axes import is_choice, written

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tracker.reports.best_of_sweep import World
    from tracker.runs.sweep_points import Axis
    from tracker.runs.sweep_result import Sweep

ALPHA, STEP = "chain.alpha", "epsilon"
EQUAL_STEPS = 1e-9  # relative: two values of alpha or epsilon that are one
MOST_ROWS_WITH_THEORY = 24  # rows for which theory is asked for the best step


class Tuned(NamedTuple):
    """A sampler in a world at its own best step, and against the reference (None for the reference itself, or if not known).

    tried : the steps that came to an end without divergence
    low, high : of its error, widened because it was chosen
    level : steps that the trials do not tell from the best one
    own : its error over the reference's, each at its own best step
    same : the same at one step for both, for each step that both have
    per_gradient : the same at a fixed number of gradient evaluations, or nothing
    needs : the chain.alpha at which that would be measured, where it is not
    """

    world: World
    reference: str
    best: Candidate
    tried: tuple[float, ...]
    low: float
    high: float
    level: tuple[float, ...]
    own: Paired | None
    same: tuple[tuple[float, Paired], ...]
    per_gradient: Paired | None
    needs: tuple[float, ...]

    @property
    def at_an_end(self) -> bool:
        """Whether the best step is the smallest or the largest of those tried: beyond it may be a better one."""
        return len(self.tried) > 1 and self.best.epsilon in (min(self.tried), max(self.tried))


def tunes(axis: Axis) -> bool:
    """Tell whether an axis is a step: samplers.*.epsilon, samplers.NAME.epsilon."""
    return is_choice(axis) and axis.address.rpartition(".")[2] == STEP


def best_steps(sweep: Sweep, metric: str = TRACKING) -> tuple[Tuned, ...]:
    """Return a row for each world and sampler; nothing where no step is swept."""
    if not any(tunes(axis) for axis in sweep.axes):
        return ()
    found = {world: _by_sampler(candidates(sweep.axes, outcomes, metric)) for world, outcomes in worlds(sweep).items()}
    names = [keys.name for keys in sweep.outcomes[0].point.scenario.samplers]
    reference = next((name for name in names if any(name in entries for entries in found.values())), "")
    looked_at = sum(len(some) for entries in found.values() for some in entries.values())
    pairs = sum(
        len(some) * len(entries.get(reference, ()))
        for entries in found.values()
        for name, some in entries.items()
        if name != reference
    )
    widened = _Confidence(confidence_of_each(looked_at), confidence_of_each(pairs))
    return tuple(
        _tuned(world, name, reference, found, widened)
        for world, entries in found.items()
        for name in names
        if name in entries
    )


class _Confidence(NamedTuple):
    """Of each interval: of an error that was chosen, of a ratio of two."""

    error: float
    ratio: float


def _by_sampler(entries: Sequence[Candidate]) -> dict[str, list[Candidate]]:
    found: dict[str, list[Candidate]] = {}
    for candidate in entries:
        found.setdefault(candidate.sampler, []).append(candidate)
    return found


def _least(entries: Sequence[Candidate]) -> Candidate:
    return min(entries, key=lambda one: one.error.mean)


def _tuned(
    world: World, name: str, reference: str, found: dict[World, dict[str, list[Candidate]]], widened: _Confidence
) -> Tuned:
    entries = found[world][name]
    best, base = _least(entries), found[world].get(reference, [])
    reach = float(half_width(best.error.stderr, _trials(best), widened.error))
    compared = name != reference and bool(base)
    own = compare_candidates(best, _least(base), widened.ratio) if compared else None
    level = [one for one in entries if one is not best and not compare_candidates(best, one, widened.ratio).high < 1.0]
    per_gradient, needs = _per_gradient(world, name, reference, found, widened) if compared else (None, ())
    return Tuned(
        world=world,
        reference=reference,
        best=best,
        tried=tuple(sorted({one.epsilon for one in entries})),
        low=max(0.0, best.error.mean - reach),
        high=best.error.mean + reach,
        level=tuple(sorted({one.epsilon for one in level})),
        own=own,
        same=tuple(_same(entries, base, widened.ratio)) if compared else (),
        per_gradient=per_gradient,
        needs=needs,
    )


def _trials(candidate: Candidate) -> int:
    return int(candidate.outcome.point.scenario.trials)


def _same(entries: Sequence[Candidate], base: Sequence[Candidate], confidence: float) -> list[tuple[float, Paired]]:
    """Return the ratio at each step that both have, each with the best of its other settings."""
    steps = sorted({one.epsilon for one in entries} & {one.epsilon for one in base})
    at = {epsilon: [[one for one in some if one.epsilon == epsilon] for some in (entries, base)] for epsilon in steps}
    return [(epsilon, compare_candidates(_least(one), _least(two), confidence)) for epsilon, (one, two) in at.items()]


def _per_gradient(
    world: World, name: str, reference: str, found: dict[World, dict[str, list[Candidate]]], widened: _Confidence
) -> tuple[Paired | None, tuple[float, ...]]:
    """Return the ratio at a fixed number of gradients, or the values of chain.alpha that it would need."""
    own, base = (_gradients(found[world][one][0]) for one in (name, reference))
    law = found[world][name][0].outcome.point.scenario.chain
    if own == base == 1:
        return compare_candidates(_least(found[world][name]), _least(found[world][reference]), widened.ratio), ()
    if law is None:
        return None, ()
    needed = {one: m * law.alpha for one, m in ((name, own), (reference, base))}
    there = {one: _world_at(world, alpha, found) for one, alpha in needed.items()}
    missing = sorted({needed[one] for one, place in there.items() if place is None or one not in found[place]})
    if missing:
        return None, tuple(missing)
    one, two = (_least(found[place][which]) for which, place in there.items() if place is not None)
    return ratio_of_averages(one.error, two.error, _trials(one), widened.ratio), ()


def _gradients(candidate: Candidate) -> int:
    return int((candidate.row.get("evaluations") or {}).get("gradient", 1))


def _world_at(world: World, alpha: float, found: dict[World, dict[str, list[Candidate]]]) -> World | None:
    """Return the world that differs from ``world`` in chain.alpha alone, which is ``alpha`` there."""
    for other, entries in found.items():
        rest, own = ([pair for pair in one if pair[0].address != ALPHA] for one in (other, world))
        law = next((some[0].outcome.point.scenario.chain for some in entries.values()), None)
        if rest == own and law is not None and abs(law.alpha - alpha) <= EQUAL_STEPS * alpha:
            return other
    return None


# --- as words and for scripts


def exact_best(rows: Sequence[Tuned]) -> list[str]:
    """Return what theory says of each row's best step (by mean square error), or why it says nothing."""
    from tracker.limits import best_step

    found = []
    for row in rows[:MOST_ROWS_WITH_THEORY]:
        try:
            best = best_step(row.best.outcome.point.scenario, row.best.sampler)
        except (ValueError, ArithmeticError) as reason:
            found.append(f"not known: {reason}")
        else:
            found.append(f"{number(best.epsilon)} (mean square {number(best.mean_square_error)})")
    return [*found, *("not computed" for _ in rows[MOST_ROWS_WITH_THEORY:])]


def cells(row: Tuned) -> tuple[str, ...]:
    """Return a row as text, in the order of ``columns``."""
    end = ", at an end" if row.at_an_end else ""
    step = f"{row.best.step} (of {len(row.tried)}{end})"
    error = f"{number(row.best.error.mean)} {interval(row.low, row.high)}"
    level = ", ".join(plain(step) for step in row.level) or "none"
    relative = over_limit(row.best.row.get("step_over_limit"))
    others = ", ".join(
        f"{axis.address.rpartition('.')[2]} = {written(axis)[n]}" for axis, n in row.best.places if not tunes(axis)
    )
    name = f"{row.best.sampler} ({others})" if others else row.best.sampler
    return where(row.world) or "everywhere", name, step, error, *_against_reference(row), relative, level


def columns(rows: Sequence[Tuned]) -> tuple[str, ...]:
    """Return the titles of ``cells``."""
    name = rows[0].reference
    against = (f"to {name}, each at its best step", "at the same step", "per gradient evaluation")
    return ("world", "sampler", "best step", "error there", *against, "step / its limit", "not told from")


def _against_reference(row: Tuned) -> tuple[str, str, str]:
    if row.own is None:
        return DASH, DASH, DASH
    same = "; ".join(f"ε = {plain(step)}: {_told(pair)}" for step, pair in _telling(row.same)) or "no step in common"
    if row.per_gradient is not None:
        return _told(row.own), same, _told(row.per_gradient)
    needs = f"needs chain.alpha = {', '.join(plain(alpha) for alpha in row.needs)}" if row.needs else "not known"
    return _told(row.own), same, needs


def _telling(same: Sequence[tuple[float, Paired]]) -> list[tuple[float, Paired]]:
    """Of many steps the ones with the smallest and the largest ratio."""
    if len(same) < 3:
        return list(same)
    ordered = sorted(same, key=lambda one: np.nan_to_num(one[1].estimate, nan=np.inf))
    return sorted([ordered[0], ordered[-1]], key=lambda one: one[0])


def _told(pair: Paired) -> str:
    return (
        f"{number(pair.estimate)} {interval(pair.low, pair.high)}" if np.isfinite(pair.low) else number(pair.estimate)
    )


def rows_as_json(rows: Sequence[Tuned]) -> list[dict[str, Any]]:
    """Return the rows for JSON."""
    return [
        {
            "world": {axis.address: axis.values[n] for axis, n in row.world},
            "sampler": row.best.sampler,
            "metric": row.best.metric,
            "best_step": row.best.epsilon,
            "point": row.best.outcome.point.index,
            "tried": list(row.tried),
            "at_an_end": row.at_an_end,
            "step_over_limit": row.best.row.get("step_over_limit"),
            "evaluations": row.best.row.get("evaluations"),
            "error": {"mean": row.best.error.mean, "low": row.low, "high": row.high},
            "not_told_from": list(row.level),
            "reference": row.reference if row.own is not None else None,
            "own_best_steps": row.own._asdict() if row.own is not None else None,
            "same_step": [{"epsilon": step, **pair._asdict()} for step, pair in row.same],
            "per_gradient": row.per_gradient._asdict() if row.per_gradient is not None else None,
            "per_gradient_needs_alpha": list(row.needs),
        }
        for row in rows
    ]
