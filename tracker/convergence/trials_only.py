"""Simulate a sampler whose limit nobody knows: its means at each step size, for the eye, and no verdict."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tracker.convergence import implementation_verdict, sentences
from tracker.convergence.statistics import Panel, Statistic
from tracker.convergence.trials import RungTrials
from tracker.convergence.verdict import Observable
from tracker.limits.scope import OutOfScope, read_scenario
from tracker.scenario import ScenarioError

if TYPE_CHECKING:
    from tracker.convergence.check_request import Request
    from tracker.convergence.step_ladder import Ladder
    from tracker.convergence.verdict import Verdict

TRIALS = 4000


def why_unknown(rungs: Ladder) -> str:
    """Return why theory knows no limit of the kind in this world; empty where it may know one, or S moves."""
    try:
        read_scenario(rungs.scenario, rungs.sampler, at_given_skew=True, linear=rungs.scenario.quadratic)
    except OutOfScope as refusal:
        return "" if refusal.sampler is None or rungs.adaptive else refusal.reason
    return ""


def check(rungs: Ladder, request: Request, reason: str, *, scaled: bool = False) -> Verdict:
    """Return means over trials at each step size; both verdicts are unavailable."""
    if scaled or rungs.path is not None:
        option = "scaled" if scaled else "path"
        raise ScenarioError([f'{option}: sampler "{rungs.sampler}": {reason}, so there is nothing to set it against'])
    trials, every = request.trials or TRIALS, range(len(rungs.steps))
    request.note(
        f"{rungs.sampler}: {reason}; {trials} trials at each of {len(every)} step sizes up to T = {rungs.horizon:g}"
    )
    N = rungs.scenario.dimension
    shown = [Statistic(kind, None, a, a) for kind in ("mean", "second") for a in range(N)]
    panel = Panel(tuple(shown), (), tuple(mode.name for mode in rungs.scenario.modes))
    engine = RungTrials(rungs, panel, trials, list(every), request.tell, request.workers, request.max_steps)
    tallies = [engine.run(rung) for rung in every]
    means, stderr = (np.array([getattr(tally, what) for tally in tallies]) for what in ("mean", "stderr"))
    return sentences.verdict_of(
        rungs,
        request.resolution,
        0,
        observables=tuple(
            Observable.over_ladder(name, None, means[:, j], stderr[:, j], tested=False)
            for j, name in enumerate(panel.names)
        ),
        trials=trials,
        simulated=rungs.epsilons,
        notes=(
            f"limit not validated: {reason}",
            f"the implementation is not judged: {implementation_verdict.watch(rungs).reason}",
        ),
    )
