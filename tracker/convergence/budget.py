"""Say what a check will compute, and refuse it before it begins where that is more than the limits allow."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tracker.convergence import extrapolation
from tracker.convergence.check_request import TooManySteps
from tracker.convergence.order_only import affordable
from tracker.limits.coupled_levels import LIMIT_CELLS
from tracker.runs.forecast import ResourceLimits, show_bytes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tracker.convergence.check_request import Request
    from tracker.convergence.step_ladder import Ladder

MOST_SHOWN = 10**300  # of a count in a message; a float holds no more
BYTES_PER_ENTRY = 50  # of the sparse system of moments while it is built


def refuse_at_once(trials: int | None, rungs: int, max_steps: float) -> None:
    """Refuse trials that are too many however few the steps, before the ladder itself is looked for."""
    if trials is not None and trials * rungs > max_steps:
        _refuse(trials, rungs, max_steps, at_least=True)


def plan(rungs: Ladder, request: Request) -> str:
    """Return in a line what will be computed.

    Raises
    ------
    TooManySteps
        If that is more than the limits allow.
    """
    N, X = rungs.scenario.dimension, len(rungs.scenario.modes)
    quadratic = rungs.scenario.quadratic
    if rungs.adaptive or not (quadratic or N <= 2):
        way = "coupled paths"
        cut, trials, _ = affordable(rungs, request.trials)
        steps, least = (1 + LIMIT_CELLS) * sum(cut.steps), False
    else:
        way = "exact moments" if quadratic else "laws on a grid"
        trials = request.trials or extrapolation.trials_for(request.resolution, 1, 1.0)
        every = request.trials is not None and rungs.path is None
        steps, least = sum(rungs.steps) if every else rungs.steps[0], request.trials is None
        if quadratic:
            _refuse_large_moments(N, X)
    if trials * steps > request.max_steps:
        _refuse(trials, steps, request.max_steps, at_least=least)
    work = f"{'at least ' if least else ''}{trials} trials x {steps} steps = {trials * steps:.3g} steps"
    bound = f" (at most {request.max_work:.2g} products each)" if way == "laws on a grid" else ""
    return f"{rungs.sampler}: {way}{bound} at {len(rungs.steps)} step sizes up to T = {rungs.horizon:g}, then {work}"


def _refuse_large_moments(N: int, X: int) -> None:
    need, most = float(BYTES_PER_ENTRY) * 2 * X * N**3, ResourceLimits().max_memory
    if need > most:
        raise TooManySteps(
            f"memory: about {show_bytes(need)} for the moments of {N} coordinates in {X} modes is more than {show_bytes(most)}"
        )


def _refuse(trials: int, steps: int, most: float, *, at_least: bool) -> None:
    total = float(min(trials * steps, MOST_SHOWN))
    many = f"{_shown(trials)} trials x {'at least ' if at_least else ''}{_shown(steps)} steps = {total:.3g} steps"
    raise TooManySteps(
        f"trials: {many} are more than {most:.3g}; raise it with --max-steps, or ask for fewer --trials, a shorter "
        "--horizon or a larger --resolution"
    )


def _shown(count: int) -> str:
    return str(count) if count < 10**15 else f"{float(min(count, MOST_SHOWN)):.3g}"


def rungs_of(epsilons: Sequence[float] | None, default: int) -> int:
    """Return how many rungs a ladder will have."""
    return default if epsilons is None else max(1, len(set(epsilons)))
