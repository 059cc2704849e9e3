"""Judge samplers whose S moves; ``adaptive_findings`` computes what is compared."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tracker.convergence import extrapolation, order, order_only, sentences, trials_only
from tracker.convergence.adaptive_findings import Triple, has_path, triple
from tracker.convergence.trials_only import TRIALS
from tracker.convergence.verdict import Observable, Order
from tracker.scenario import ScenarioError

if TYPE_CHECKING:
    from tracker.convergence.check_request import Request
    from tracker.convergence.extrapolation import Judged
    from tracker.convergence.step_ladder import Ladder
    from tracker.convergence.verdict import Verdict, Word


AGREEMENT = 1e-9  # of two codes of one deterministic recursion, relative


def check(rungs: Ladder, request: Request) -> Verdict:
    """Compare (theta, D, S) with the ODE where that is the limit; otherwise say what cannot be validated."""
    if rungs.path is not None:
        raise ScenarioError([f"path: the three regimes are known for a fixed S, and {rungs.keys.kind} moves it"])
    if has_path(rungs):
        return _against_the_path(rungs, request)
    if rungs.keys.tangent:
        reason = (
            "the limit of (theta, D, S) is deterministic, and so has an independent reference, only at beta = inf in one mode "
            "from one point"
        )
        return order_only.check(rungs, request, reason)
    return trials_only.check(
        rungs, request, f"no law of the limit of a {rungs.keys.kind} sampler is known here, by theory or by coupling"
    )


def _against_the_path(rungs: Ladder, request: Request) -> Verdict:
    request.note("(theta, D, S) along the ladder")
    trials, delta = request.trials or TRIALS, request.resolution
    found = triple(rungs, trials)
    random = bool(found.stderr.any())
    judged = _limit(rungs, found, delta, trials, random=random)
    errors = found.algorithm - found.limit
    observables = tuple(
        Observable.over_ladder(
            name,
            found.limit[j],
            found.algorithm[:, j],
            found.stderr[:, j],
            scale=float(found.scale[j]),
            intercept=float(judged.discrepancy[j]),
            order=order.order_of(
                rungs.epsilons,
                errors[:, j],
                found.stderr[:, j],
                None if random else errors[:, j],
                float(found.scale[j]),
            ),
        )
        for j, name in enumerate(found.names)
    )
    total = order.overall_exact(rungs.epsilons, errors, found.scale) if not random else Order()
    engine: Word = "unavailable"
    note = (
        "the algorithm is random here (gradient noise), so its own law is not known: the implementation is not judged"
    )
    if found.own is not None:
        gap = np.abs(found.algorithm[0] - found.own) / found.scale
        engine = "confirmed" if gap.max() <= AGREEMENT else "rejected"
    elif not random:
        note = (
            "1/epsilon is not whole, so the recursion was not computed a second time: the implementation is not judged"
        )
    return sentences.verdict_of(
        rungs,
        delta,
        len(found.names),
        observables=observables,
        order=total,
        limit_verdict=judged.verdict,
        implementation_verdict=engine,
        resolution_reached=judged.reached,
        deterministic=True,
        alphas=(),
        trials=trials if random else 1,
        simulated=rungs.epsilons,
        trials_needed=judged.needed,
        largest_z=judged.largest_z,
        notes=(note,) if engine == "unavailable" else (),
    )


def _limit(rungs: Ladder, found: Triple, delta: float, trials: int, *, random: bool) -> Judged:
    if not random:
        return extrapolation.limit_from_exact(
            rungs.epsilons, found.algorithm, found.limit, found.scale, delta, len(found.names)
        )
    # the statistics are taken as independent: the quantile of the largest |z| is then a little too large, never too small
    c = extrapolation.weights(rungs.epsilons)
    covariance = np.diag((c[:, None] ** 2 * found.stderr**2).sum(axis=0))
    return extrapolation.judge_sampled(c @ (found.algorithm - found.limit), covariance, found.scale, delta, trials)
