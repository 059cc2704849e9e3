"""Judge the limit along alpha = epsilon^P by exact laws; only the implementation is judged by simulation."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tracker.convergence import extrapolation, implementation_verdict, order, sentences, three_limits
from tracker.convergence.trials import RungTrials
from tracker.convergence.verdict import Observable
from tracker.scenario import ScenarioError

if TYPE_CHECKING:
    from collections.abc import Callable

    from tracker.array_types import Array
    from tracker.convergence.check_request import Request
    from tracker.convergence.step_ladder import Ladder
    from tracker.convergence.three_limits import Three
    from tracker.convergence.verdict import Verdict


def check(rungs: Ladder, request: Request) -> Verdict:
    """Judge the approach to the limit that P names."""
    delta = request.resolution
    three, own, reference, why_not = _exact(rungs, request.note, request.max_work)
    name, power = three_limits.expected_regime(rungs.path), three_limits.approach(rungs.path)
    limit = getattr(three, name)
    if limit is None:
        raise ScenarioError([f"path: the {name} limit is not computed here ({why_not[name]}): use quadratic costs"])
    panel = three_limits.total_panel(rungs.scenario.dimension, tuple(mode.name for mode in rungs.scenario.modes))
    watched = implementation_verdict.watch(rungs)
    count = request.trials or watched.trials(delta, len(panel.tested))
    tally = RungTrials(rungs, panel, count, [0], request.tell, request.workers, request.max_steps).run(0, watched.law)
    scale = np.sqrt(np.diag(tally.covariance))
    h = np.array(rungs.epsilons) ** power
    judged = extrapolation.limit_from_exact(h.tolist(), own, limit, scale, delta, len(panel.tested))
    engine = implementation_verdict.judge(tally, own[0], len(panel.tested), delta, watched, "")
    far, rates = three_limits.distances(three, own, rungs.epsilons)
    verdict = judged.verdict
    nearest = min((d, n) for n, d in ((n, far[n]) for n in three_limits.NAMES) if d is not None)[1]
    if verdict == "confirmed" and nearest != name:
        verdict = "inconclusive"  # another limit is nearer at the smallest step: no name without the distance
    return sentences.verdict_of(
        rungs,
        delta,
        len(panel.tested),
        engine,
        ratio=rungs.alpha(len(rungs.steps) - 1) / rungs.epsilons[-1],
        regime=name,
        reference=reference,
        observables=exact_observables(rungs, panel.names, own, limit, scale, judged.discrepancy, power),
        order=order.overall_exact(rungs.epsilons, own - limit, scale, power=power),
        distances=far,
        limit_verdict=verdict,
        resolution_reached=judged.reached,
        path=rungs.path,
        trials=count,
        simulated=rungs.epsilons[:1],
        trials_needed=engine.needed,
        rates=rates,
        notes=(*_nearer(rungs, name, nearest), *three_limits.left_out(why_not), *engine.notes),
    )


def _nearer(rungs: Ladder, name: str, nearest: str) -> tuple[str, ...]:
    if nearest == name:
        return ()
    smallest = rungs.epsilons[-1]
    return (
        f"at epsilon = {smallest:g} the {nearest} limit is still nearer than the {name} one: take smaller --epsilons",
    )


def _exact(rungs: Ladder, tell: Callable[[str], None], work: float) -> tuple[Three, Array, str, dict[str, str]]:
    if rungs.scenario.quadratic:
        return (*three_limits.quadratic_limits(rungs), "moments", {})
    if rungs.scenario.dimension > 2:
        raise ScenarioError(
            ["path: exact laws are needed, and exist for quadratic costs or N = 1, 2: leave --path out"]
        )
    own, why_not = three_limits.density_algorithm(rungs, tell, work)
    if len(own) < len(rungs.steps):
        raise ScenarioError([f"path: exact laws are needed, and {why_not}"])
    three, missing = three_limits.density_limits(rungs, tell, work=work)
    return three, own, "density", missing


def exact_observables(
    rungs: Ladder, names: tuple[str, ...], own: Array, limit: Array, scale: Array, intercept: Array, power: float
) -> tuple[Observable, ...]:
    """Return what is shown of exact values; own : (rungs, J), limit, scale and intercept : (J,)."""
    sizes = np.abs(limit) + scale
    return tuple(
        Observable.over_ladder(
            name,
            limit[j],
            own[:, j],
            np.zeros(len(own)),
            error_stderr=(),
            scale=float(scale[j]),
            intercept=float(intercept[j]),
            order=order.exact_order(rungs.epsilons, own[:, j] - limit[j], float(sizes[j]), power=power),
        )
        for j, name in enumerate(names)
    )
