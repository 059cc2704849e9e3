"""Judge the scaled error u = (theta - vartheta) / sqrt(epsilon) at beta = inf, in place of theta.

docs/mathematics, "Scaled error". vartheta is the recursion without gradient noise on the same path of the chain: it is
carried beside the engine's theta here, in a few lines that share nothing with the engine. Along alpha = epsilon^P with P < 1 the
chain makes the error, and the scale is sqrt(epsilon / alpha).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tracker import limits
from tracker.chain import stationary_law
from tracker.convergence import extrapolation, implementation_verdict, order, sentences, three_limits
from tracker.convergence.epsilon_path import exact_observables
from tracker.convergence.statistics import Panel, Sample, Statistic
from tracker.convergence.trials import RungTrials
from tracker.limits.drift_field import read_field
from tracker.limits.scope import OutOfScope
from tracker.scenario import ScenarioError

if TYPE_CHECKING:
    from tracker.array_types import Array, Arrays, Integers
    from tracker.convergence.check_request import Request
    from tracker.convergence.step_ladder import Ladder
    from tracker.convergence.verdict import Verdict


def check(rungs: Ladder, request: Request) -> Verdict:
    """Return the verdicts on u; ``rungs.path`` below 1 asks for the error of a fast chain."""
    if rungs.path is not None and rungs.path >= 1.0:
        raise ValueError(
            f"path: {rungs.path:g} with --scaled must be below 1, where the chain is fast and has a scale of its own; leave it out "
            "for alpha / epsilon as in the file"
        )
    fast = rungs.path is not None
    panel = _panel(rungs, fast=fast)
    try:
        limit, own = _exact(rungs, panel, fast=fast)
    except OutOfScope as refusal:
        raise ScenarioError([f"--scaled: {refusal}"]) from refusal
    delta, tested = request.resolution, len(panel.tested)
    watched = implementation_verdict.watch(rungs)
    count = request.trials or watched.trials(delta, tested)
    engine = ScaledTrials(rungs, panel, count, [0], request.tell, request.workers, request.max_steps)
    tally = engine.run(0, watched.law)
    scale = np.sqrt(np.diag(tally.covariance))
    power = min(rungs.path, 1.0 - rungs.path) if rungs.path is not None else 1.0
    h = (np.array(rungs.epsilons) ** power).tolist()
    judged = extrapolation.limit_from_exact(h, own, limit, scale, delta, tested)
    found = implementation_verdict.judge(tally, own[0], tested, delta, watched, "")
    return sentences.verdict_of(
        rungs,
        delta,
        tested,
        found,
        scaled=True,
        regime=three_limits.expected_regime(rungs.path),
        reference="moments",
        observables=exact_observables(rungs, panel.names, own, limit, scale, judged.discrepancy, power),
        order=order.overall_exact(rungs.epsilons, own - limit, scale, power=power),
        limit_verdict=judged.verdict,
        resolution_reached=judged.reached,
        path=rungs.path,
        trials=count,
        simulated=rungs.epsilons[:1],
        trials_needed=found.needed,
        notes=found.notes,
    )


def _panel(rungs: Ladder, *, fast: bool) -> Panel:
    N, names = rungs.scenario.dimension, tuple(mode.name for mode in rungs.scenario.modes)
    modes: list[int | None] = [None] if fast else list(range(len(names)))
    products = [(a, b) for a in range(N) for b in range(a, N)]
    tested = [Statistic("second", i, a, b) for i in modes for a, b in products]
    if not fast:
        tested = [Statistic("mean", i, a) for i in modes for a in range(N)] + tested
    return Panel(tuple(tested), (), names, "v" if fast else "u")


def _exact(rungs: Ladder, panel: Panel, *, fast: bool) -> tuple[Array, Array]:
    """The statistics in the limit (J,) and of the algorithm at every rung (rungs, J)."""
    name = rungs.sampler

    def values(found: Any) -> list[float]:
        whole = found.second if fast else found.second_by_mode
        return [0.0 if s.kind == "mean" else float((whole if fast else whole[s.mode])[s.a, s.b]) for s in panel.tested]

    law = limits.fast_chain_error if fast else limits.scaled_error
    limit = values(law(rungs.at(0), name, rungs.horizon))
    own = [values(law(rungs.at(rung), name, n, of="algorithm")) for rung, n in enumerate(rungs.steps)]
    return np.array(limit), np.array(own)


class ScaledTrials(RungTrials):
    """Trials of which u is looked at; every step is recorded, because vartheta follows the same path of the chain."""

    every_step = True

    def sample(self, problem: Any, arrays: Arrays, half: int) -> Sample:
        """Return u in place of theta."""
        seen = super().sample(problem, arrays, half)
        field = read_field(problem.scenario, self.ladder.sampler)
        mode: Integers = arrays["mode"].astype(np.int64)
        scale = np.sqrt(field.epsilon)
        start = arrays["theta"][:, 0, 0]
        if self.ladder.path is None:
            theta = _without_noise(field, start, mode)
        else:
            pi = stationary_law(field.Q)
            theta, scale = _averaged(field, start, pi, mode.shape[1] - 1), np.sqrt(field.epsilon / field.alpha)
        return seen._replace(theta=(seen.theta - theta) / scale)


def _without_noise(field: Any, start: Array, mode: Integers) -> Array:
    """theta_{k+1} = theta_k - epsilon M grad C_x(theta_k) along the path of the chain, shape (trials, N)."""
    theta = start.copy()
    for k in range(mode.shape[1] - 1):
        push = np.zeros_like(theta)
        for i in range(len(field.costs)):
            here = mode[:, k] == i
            if here.any():
                push[here] = field.gradients(i, theta[here])
        theta = theta - field.epsilon * push @ field.M.T
    return theta


def _averaged(field: Any, start: Array, pi: Array, steps: int) -> Array:
    """The same on the cost averaged over the modes."""
    theta = start.copy()
    for _ in range(steps):
        push = sum(p * field.gradients(i, theta) for i, p in enumerate(pi))
        theta = theta - field.epsilon * push @ field.M.T
    return theta
