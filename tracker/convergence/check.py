"""The check behind ``tracker limit``: theory and trials at several step sizes, and two separate verdicts."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tracker.convergence import (
    adaptive_case,
    budget,
    epsilon_path,
    extrapolation,
    implementation_verdict,
    order,
    order_only,
    path_functionals,
    scaled_check,
    sentences,
    step_ladder,
    three_limits,
    trials_only,
)
from tracker.convergence.check_request import MOST_STEPS, Request
from tracker.convergence.exact_values import Exact, exact_values
from tracker.convergence.law_bounds import bounds, law_distances, law_gap
from tracker.convergence.rare_events import set_aside
from tracker.convergence.trials import RungTrials, Tally
from tracker.convergence.verdict import Distances, Observable, Verdict
from tracker.limits.density_means import MOST_PRODUCTS
from tracker.limits.scope import OutOfScope
from tracker.runs.progress_bars import progress_of
from tracker.scenario import as_scenario
from tracker.scenario.own_checks import check_at_start

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tracker.array_types import Array
    from tracker.convergence.check_request import Progress
    from tracker.convergence.extrapolation import Judged
    from tracker.convergence.implementation_verdict import Implementation
    from tracker.convergence.step_ladder import Ladder
    from tracker.convergence.verdict import Bound
    from tracker.scenario import Scenario


RESOLUTION = 0.05
LEAST_TRIALS = 100


def check_limit(
    scenario: Scenario,
    sampler: str | None = None,
    epsilons: Sequence[float] | None = None,
    horizon: float | None = None,
    trials: int | None = None,
    resolution: float | None = None,
    path: float | None = None,
    progress: Progress | bool | None = None,
    *,
    scaled: bool = False,
    workers: int | None = None,
    max_steps: float = MOST_STEPS,
    max_work: float = MOST_PRODUCTS,
) -> Verdict:
    """Check whether a sampler converges weakly to its limit, and whether the engine is that sampler.

    Parameters
    ----------
    sampler : str, optional
        Its name; the first of the scenario by default.
    epsilons : sequence of float, optional
        The ladder, at least three; five halvings by default (see ``step_ladder``).
    horizon : float, optional
        T; by default steps x epsilon of the scenario, or less where that takes very many steps.
    trials : int, optional
        Simulate every step size with so many trials each. Without it the algorithm's values are exact where theory has them, and
        trials are run only to judge the implementation, as many as the resolution needs.
    resolution : float, optional
        delta, 0.05 by default: discrepancies below delta standard deviations of a statistic are not looked for.
    path : float, optional
        P of alpha = epsilon^P, in place of the scenario's ratio: the frozen (P > 1) and averaged (P < 1) limits, by exact laws.
    progress : bool or callable, optional
        True shows a bar; a function is called as ``progress(done, total, note)``.
    scaled : bool
        Judge u = (theta - vartheta) / sqrt(epsilon) at beta = inf, vartheta the recursion without gradient noise on the same path of the
        chain; with ``path`` below 1 the error of a fast chain, over sqrt(epsilon / alpha).
    workers : int, optional
        Threads; the result does not depend on it.
    max_steps : float
        Of all trials together; more is refused.
    max_work : float
        Products that a law on a grid may take, about 1e-9 s each; beyond, the order only is looked for.

    Raises
    ------
    ScenarioError
        For what has no limit here: a random skew, a schedule, interventions, a sweep.
    ValueError
        For an argument that makes no sense.

    Examples
    --------
    >>> import tracker
    >>> scenario = tracker.load("scenarios/example_a.toml")
    >>> verdict = tracker.check_limit(scenario, resolution=0.5)
    >>> verdict.limit_verdict, verdict.implementation_verdict
    ('confirmed', 'confirmed')
    """
    delta = _checked_resolution(resolution)
    if trials is not None and trials < LEAST_TRIALS:
        raise ValueError(f"trials: {trials} must be at least {LEAST_TRIALS}: means over fewer are not nearly normal")
    budget.refuse_at_once(trials, budget.rungs_of(epsilons, step_ladder.RUNGS), max_steps)
    check_at_start(as_scenario(scenario))
    rungs = step_ladder.build(scenario, sampler, epsilons, horizon, path)
    with progress_of(progress) as shown:
        return _checked(rungs, Request(trials, delta, shown, workers, max_steps, max_work), path, scaled=scaled)


def _checked(rungs: Ladder, request: Request, path: float | None, *, scaled: bool) -> Verdict:
    if reason := trials_only.why_unknown(rungs):
        return trials_only.check(rungs, request, reason, scaled=scaled)
    request.note(budget.plan(rungs, request))
    if scaled:
        return scaled_check.check(rungs, request)
    if rungs.adaptive:
        return adaptive_case.check(rungs, request)
    if path is not None:
        return epsilon_path.check(rungs, request)
    try:
        exact = exact_values(rungs, request.note, request.resolution, request.max_work)
    except OutOfScope as reason:
        return order_only.check(rungs, request, str(reason))
    return _judged(rungs, exact, request)


def _checked_resolution(resolution: float | None) -> float:
    delta = RESOLUTION if resolution is None else float(resolution)
    if not (math.isfinite(delta) and 0.0 < delta <= 1.0):
        raise ValueError(f"resolution: {resolution} must be above 0 and at most 1 (standard deviations)")
    return delta


class _Trials(NamedTuple):
    """What was simulated: every rung, or the largest step and, for N = 1, the smallest too."""

    tallies: dict[int, Tally]
    every: bool


def _judged(rungs: Ladder, exact: Exact, request: Request) -> Verdict:
    delta = request.resolution
    every = request.trials is not None or exact.algorithm is None
    inflation = float(np.linalg.norm(extrapolation.weights(rungs.epsilons))) if every else 1.0
    watched = implementation_verdict.watch(rungs)
    count = request.trials or watched.trials(delta, len(exact.panel.tested), max(1.0, inflation))
    exact, notes = set_aside(exact, count)
    last = len(rungs.steps) - 1
    wanted = (
        list(range(last + 1))
        if every
        else [0, last]
        if exact.law is not None and rungs.scenario.dimension == 1
        else [0]
    )
    engine = RungTrials(rungs, exact.panel, count, wanted, request.tell, request.workers, request.max_steps)
    done = _Trials({rung: engine.run(rung, None if rung else watched.law) for rung in wanted}, every)
    tested = len(exact.panel.tested)
    scale = np.sqrt(np.diag(done.tallies[0].covariance))
    if every:
        ordered = [done.tallies[rung] for rung in wanted]
        limit = extrapolation.limit_from_samples(rungs.epsilons, ordered, exact.limit, delta, tested)
        total = order.overall_sampled(rungs.epsilons, ordered, exact.limit, exact.algorithm, tested)
    else:
        assert exact.algorithm is not None  # or every rung would have been simulated
        limit = extrapolation.limit_from_exact(rungs.epsilons, exact.algorithm, exact.limit, scale, delta, tested)
        errors = (exact.algorithm - exact.limit)[:, :tested]
        total = order.overall_exact(rungs.epsilons, errors, scale[:tested])
    own = implementation_verdict.judge(done.tallies[0], exact.largest, tested, delta, watched, exact.why_not)
    found = bounds(done.tallies[last], exact, rungs.epsilons[-1], delta) if last in done.tallies else ()
    limit, own = _with_bounds(limit, own, found, every=every)
    far, rates, more = _regime(rungs, exact, done, request)
    return sentences.verdict_of(
        rungs,
        delta,
        tested,
        own,
        reference=exact.reference,
        observables=_observables(rungs, exact, done, limit, scale),
        order=total,
        distances=far,
        limit_verdict=limit.verdict,
        resolution_reached=limit.reached,
        trials=count,
        simulated=tuple(rungs.epsilons[rung] for rung in wanted),
        trials_needed=max(filter(None, (limit.needed, own.needed)), default=None),
        largest_z=limit.largest_z,
        rates=rates,
        laws=law_distances(exact, rungs.epsilons),
        bounds=found,
        law_gap=law_gap(done.tallies[last], exact) if last in done.tallies else None,
        first_passage=path_functionals.first_passage(rungs, request.note),
        modulus=path_functionals.modulus(rungs, request.note),
        notes=(*notes, *more, *own.notes, *_simulated(exact)),
    )


def _simulated(exact: Exact) -> list[str]:
    unknown = exact.algorithm is None and exact.largest is not None
    return [f"the algorithm's values are simulated, not exact: {exact.why_not}"] if unknown else []


def _with_bounds(
    limit: Judged, own: Implementation, found: tuple[Bound, ...], *, every: bool
) -> tuple[Judged, Implementation]:
    """A whole law that is surely too far away rejects what was simulated: the limit, or the implementation."""
    if not any(bound.verdict == "rejected" for bound in found):
        return limit, own
    if every:
        return limit._replace(verdict="rejected", needed=None), own
    return limit, own._replace(verdict="rejected", needed=None)


def _observables(rungs: Ladder, exact: Exact, done: _Trials, limit: Judged, scale: Array) -> tuple[Observable, ...]:
    panel, tested, levels = exact.panel, len(exact.panel.tested), len(rungs.steps)
    if done.every:
        values = np.array([done.tallies[rung].mean for rung in range(levels)])
        stderr = np.array([done.tallies[rung].stderr for rung in range(levels)])
    else:
        assert exact.algorithm is not None
        values, stderr = exact.algorithm, np.zeros_like(exact.algorithm)
    errors, sizes = values - exact.limit, np.abs(exact.limit) + scale
    found = []
    for j, name in enumerate(panel.names):
        truth = None if exact.algorithm is None else (exact.algorithm - exact.limit)[:, j]
        in_test = j < tested
        found.append(
            Observable.over_ladder(
                name,
                exact.limit[j],
                values[:, j],
                stderr[:, j],
                exact_error=truth,
                tested=in_test,
                scale=float(scale[j]),
                intercept=float(limit.discrepancy[j]) if in_test else None,
                intercept_stderr=float(limit.uncertainty[j]) if in_test and done.every else None,
                order=order.order_of(rungs.epsilons, errors[:, j], stderr[:, j], truth, float(sizes[j])),
            )
        )
    return tuple(found)


def _regime(rungs: Ladder, exact: Exact, done: _Trials, request: Request) -> tuple[Distances, Distances, list[str]]:
    """Distances to the three limits at the smallest epsilon."""
    N, last = rungs.scenario.dimension, len(rungs.steps) - 1
    why_not: dict[str, str] = {}
    if exact.reference == "moments":
        three, own = three_limits.quadratic_limits(rungs)
    else:
        own = done.tallies[last].mean[None] if exact.algorithm is None else exact.algorithm
        own = three_limits.totals(exact.panel, own, N)
        known = three_limits.totals(exact.panel, exact.limit, N)
        three, why_not = three_limits.density_limits(rungs, request.note, known, request.max_work)
    far, rates = three_limits.distances(three, own, rungs.epsilons)
    return far, rates, three_limits.left_out(why_not)
