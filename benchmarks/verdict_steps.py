"""The judgement of the implementation at default settings: panel, single steps, and the whole law where N = 1.

One replicate is what ``tracker limit`` does to judge the engine, with a seed of its own; exact values, which no seed changes,
are computed once for each world.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from verdict_faults import (
    a_tenth_stays_longer,
    chain_faster,
    drift_times,
    noise_times,
    nothing,
    pairs_share_noise,
    start_variance_times,
)
from verdict_models import models

from tracker.convergence import implementation_verdict, order_only, step_ladder
from tracker.convergence.check import RESOLUTION
from tracker.convergence.check_request import Request
from tracker.convergence.exact_values import exact_values
from tracker.convergence.law_bounds import bounds
from tracker.convergence.rare_events import set_aside
from tracker.convergence.statistics import Panel, Statistic, density_panel
from tracker.convergence.trials import RungTrials

WORLD = "Example A, N = 2, X = 2"
SEED = 20_150


class Fault(NamedTuple):
    """``most`` : it must be rejected in at least 18 of 20 replicates."""

    name: str
    plant: Callable[[], Any]
    most: bool = False


FAULTS = (
    Fault("noise x 1.03", lambda: noise_times(1.03), most=True),
    Fault("noise x 1.01", lambda: noise_times(1.01)),
    Fault("drift x 1.03", lambda: drift_times(1.03)),
    Fault("drift x 1.02", lambda: drift_times(1.02)),
    Fault("alpha x 1.05", lambda: chain_faster(1.05), most=True),
    Fault("alpha x 1.03", lambda: chain_faster(1.03)),
    Fault("every 10th dwell one step longer", a_tenth_stays_longer),
    Fault("pairs of trials share noise", pairs_share_noise, most=True),
    Fault("start covariance x 1.1", lambda: start_variance_times(1.1), most=True),
    Fault("start covariance x 1.05", lambda: start_variance_times(1.05)),
)


class Outcome(NamedTuple):
    """The word, the largest |z| of the panel (0 where there is none) and of the steps, and which statistics were rejected."""

    word: str
    panel_z: float
    steps_z: float
    named: tuple[str, ...]


@lru_cache
def theory(world: str) -> tuple[Any, Any, Any, Any, Any]:
    """The ladder, what is watched, the panel, its exact values at the largest step, and all exact values where N = 1."""
    scenario = models()[world]
    rungs = step_ladder.build(scenario)
    watched = implementation_verdict.watch(rungs)
    names = tuple(mode.name for mode in scenario.modes)
    quadratic = all(keys.cost == "quadratic" for keys in scenario.modes)
    if quadratic or scenario.dimension == 1:
        exact = exact_values(rungs, lambda _: None)
        exact, _ = set_aside(exact, watched.trials(RESOLUTION, len(exact.panel.tested)))
        return rungs, watched, exact.panel, exact.largest, None if quadratic else exact
    own, _ = order_only.own_law(rungs, Request(None, RESOLUTION, lambda *_: None))
    if own is None:
        return rungs, watched, Panel((), (Statistic("mean"),), names), None, None
    return rungs, watched, density_panel(scenario.dimension, names, halves=rungs.halves), own, None


def outcome(world: str, fault: int, replicate: int, delta: float = RESOLUTION) -> Outcome:
    """Judge one engine; ``fault`` is an index of FAULTS, -1 for the right engine."""
    rungs, watched, panel, own, exact = theory(world)
    seed = SEED + 1000 * (fault + 1) + replicate
    rungs = replace(rungs, scenario=rungs.scenario.replace(seed=seed))
    tested, last = len(panel.tested), len(rungs.steps) - 1
    count = watched.trials(delta, tested)
    wanted = [0] if exact is None else [0, last]
    engine = RungTrials(rungs, panel, count, wanted, workers=1)
    with nothing() if fault < 0 else FAULTS[fault].plant():
        tallies = {rung: engine.run(rung, None if rung else watched.law) for rung in wanted}
    judged = implementation_verdict.judge(tallies[0], own, tested, delta, watched, "")
    word, named = judged.verdict, [each.name for each in judged.residuals if each.rejected]
    if exact is not None and any(
        b.verdict == "rejected" for b in bounds(tallies[last], exact, rungs.epsilons[-1], delta)
    ):
        word, named = "rejected", [*named, "whole law"]
    z = max((abs(each.z) for each in judged.residuals if each.z is not None), default=0.0)
    return Outcome(word, float(judged.largest_z or 0.0), z, tuple(named))


def row(name: str, found: list[Outcome], must: str) -> str:
    rejected = sum(each.word == "rejected" for each in found)
    confirmed = sum(each.word == "confirmed" for each in found)
    named = [each.named[0] for each in found if each.named]
    often = max(sorted(set(named)), key=named.count) if named else "-"
    panel, steps = (np.median([getattr(each, key) for each in found]) for key in ("panel_z", "steps_z"))
    return f"{name:50} {rejected:7d} {confirmed:8d} {len(found):11d} {panel:9.1f} {steps:9.1f}  {often:32} {must}"


def head() -> str:
    return (
        f"{'engine':50} {'rejects':>7} {'confirms':>8} {'replicates':>11} {'panel |z|':>9} {'steps |z|':>9}  "
        f"{'most often by':32} must"
    )
