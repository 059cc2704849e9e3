"""Choose the ladder of step sizes, and build the scenario at each of them.

Defaults (docs/architecture, "Defaults of the limit check"): five step sizes, each half the one before, the first at most

    min(T / 8, a quarter of the stability limit, 1 / (2 ratio max|q_ii|)),

so that T / epsilon is whole, and even, because statistics are also taken at T / 2. The horizon T is by default that of the
scenario, steps x epsilon; where this takes more than 64 of the largest steps (and the ladder's end 16 times as many) it is the
largest power of two that does not.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tracker.limits.scope import OutOfScope, refuse_random_skew, sampler_keys, world_refusals
from tracker.limits.switched_stability import stability
from tracker.scenario import ScenarioError, build_modes, stability_limits
from tracker.scenario.dwell_stages import by_stages

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tracker.scenario import Scenario

RUNGS, LEAST_RUNGS = 5, 3
LEAST_STEPS, MOST_STEPS = 8, 64  # of the largest step: at least, and by default at most
WHOLE = 1e-9
SMALLEST_STEP = 1e-18  # the steps of a unit of time must fit into 64 bits


@dataclass(frozen=True, eq=False)
class Ladder:
    """A scenario with one sampler, at decreasing step sizes.

    steps : K at each rung, so that K epsilon = horizon
    path : P of alpha = epsilon^P; None where alpha / epsilon is kept
    """

    scenario: Scenario
    sampler: str
    horizon: float
    steps: tuple[int, ...]
    path: float | None = None

    @property
    def keys(self) -> Any:
        """The sampler's table."""
        return self.scenario.samplers[0]

    @property
    def epsilons(self) -> tuple[float, ...]:
        """The step sizes, the largest first."""
        return tuple(self.horizon / n for n in self.steps)

    @property
    def ratio(self) -> float | None:
        """The quotient alpha / epsilon, where it is kept; None without a chain or along a path."""
        chain = self.scenario.chain
        return None if chain is None or self.path is not None else chain.alpha / self.keys.epsilon

    @property
    def halves(self) -> bool:
        """Whether T / 2 is a whole number of steps at every rung."""
        return all(n % 2 == 0 for n in self.steps)

    @property
    def adaptive(self) -> bool:
        """Whether S moves."""
        return self.keys.skew_is == "moving"

    def alpha(self, rung: int) -> float:
        """The chain's step at a rung; 0 without a chain."""
        if self.scenario.chain is None:
            return 0.0
        epsilon = self.epsilons[rung]
        return epsilon**self.path if self.path is not None else float(self.ratio or 0.0) * epsilon

    def at(self, rung: int, **changes: Any) -> Scenario:
        """Return the scenario at a rung: its epsilon, alpha and number of steps; kappa = skew_step / epsilon is kept."""
        epsilon, n = self.epsilons[rung], self.steps[rung]
        update = {"epsilon": epsilon}
        if hasattr(self.keys, "skew_step"):
            update["skew_step"] = self.keys.skew_step / self.keys.epsilon * epsilon
        if self.scenario.chain is not None:
            changes["chain"] = self.scenario.chain.model_copy(update={"alpha": self.alpha(rung)})
        changes.setdefault("record_every", n // 2 if self.halves else n)
        sampler = self.keys.model_copy(update=update)
        return self.scenario.replace(samplers=[sampler], steps=n, burn_in=0, **changes)


def build(
    scenario: Scenario,
    sampler: str | None = None,
    epsilons: Sequence[float] | None = None,
    horizon: float | None = None,
    path: float | None = None,
) -> Ladder:
    """Return the ladder that is asked for, or the default one.

    Raises
    ------
    ScenarioError
        For what has no limit here: a sweep, a schedule, interventions, a random skew.
    ValueError
        For an argument that makes no sense; the message names it.
    """
    if refusals := world_refusals(scenario):
        raise ScenarioError(map(str, refusals))
    scenario = by_stages(scenario)  # stays in stages: a mode for each, and the chain is a Markov chain
    keys: Any = scenario.samplers[0] if sampler is None else sampler_keys(scenario, sampler)
    try:
        refuse_random_skew(keys)
    except OutOfScope as refusal:
        raise ScenarioError([str(refusal)]) from refusal
    if path is not None and not (math.isfinite(path) and path > 0.0):
        raise ValueError(f"path: {path} must be a finite number above 0; alpha = epsilon^path")
    if path is not None and (scenario.chain is None or len(scenario.modes) == 1):
        raise ValueError("path: one mode alone does not switch, so alpha = epsilon^path says nothing: leave it out")
    if horizon is not None and not (math.isfinite(horizon) and horizon > 0.0):
        raise ValueError(f"horizon: {horizon} must be a finite time above 0")
    alone = scenario.replace(samplers=[keys])
    largest = _largest(alone, keys, path)
    if horizon is None:
        own = scenario.steps * keys.epsilon
        longest = MOST_STEPS * largest if epsilons is None else MOST_STEPS * max(epsilons)
        horizon = own if own <= longest * (1 + WHOLE) else 2.0 ** math.floor(math.log2(longest))
    if epsilons is None:
        # even, for T / 2; and 1 / epsilon whole where a short whole T allows it, because coupled levels ask for that
        unit = math.lcm(2, int(horizon)) if horizon == int(horizon) <= 2 * LEAST_STEPS else 2
        first = unit * math.ceil(max(LEAST_STEPS, horizon / largest - WHOLE) / unit)
        counts = tuple(first * 2**rung for rung in range(RUNGS))
    else:
        counts = _whole(epsilons, horizon)
    if horizon / counts[-1] < SMALLEST_STEP:
        raise ValueError(
            f"horizon: {horizon:g} in {counts[-1]} steps makes steps smaller than {SMALLEST_STEP:g}, which cannot be counted: "
            "take a longer --horizon"
        )
    ladder = Ladder(alone, keys.name, float(horizon), counts, path)
    _refuse_fast_chain(ladder)
    return ladder


def _largest(scenario: Scenario, keys: Any, path: float | None) -> float:
    """The stability and the chain's bound on the largest step."""
    limits = [found.limit for found in stability_limits(scenario, build_modes(scenario))]
    if not keys.classical_limit:
        limits = [_stable_below(scenario, keys)]
    bounds = [limit / 4 for limit in limits if limit > 0.0]
    if scenario.chain is not None:
        fastest = float(np.abs(np.diag(np.array(scenario.chain.Q))).max())
        if fastest > 0.0 and path is not None:
            bounds.append((1 / (2 * fastest)) ** (1 / path))
        elif fastest > 0.0:
            bounds.append(keys.epsilon / (2 * scenario.chain.alpha * fastest))
    return float(min(bounds, default=keys.epsilon))


def _stable_below(scenario: Scenario, keys: Any) -> float:
    """Return the largest stable step of a kind that is not the classical one; where nobody knows it, none is above the file's."""
    try:
        return stability(scenario, keys.name).largest_epsilon or np.nan
    except OutOfScope:
        return 4.0 * float(keys.epsilon)


def _whole(epsilons: Sequence[float], horizon: float) -> tuple[int, ...]:
    wanted = sorted({float(epsilon) for epsilon in epsilons}, reverse=True)
    if len(wanted) < LEAST_RUNGS:
        raise ValueError(
            f"epsilons: {len(wanted)} of them; at least {LEAST_RUNGS} different ones are needed to extrapolate"
        )
    counts = []
    for epsilon in wanted:
        quotient = horizon / epsilon if epsilon > 0.0 and math.isfinite(epsilon) else 0.0
        n = round(quotient)
        if n < 1 or abs(quotient - n) > WHOLE * quotient:
            raise ValueError(
                f"epsilons: {epsilon:g} does not fit into the horizon {horizon:g} a whole number of times "
                f"({quotient:.6g}): change one of them, e.g. --epsilons {horizon / max(1, math.ceil(quotient)):.6g},..."
            )
        counts.append(n)
    return tuple(counts)


def _refuse_fast_chain(ladder: Ladder) -> None:
    if ladder.scenario.chain is None:
        return
    fastest = float(np.abs(np.diag(np.array(ladder.scenario.chain.Q))).max())
    if ladder.alpha(0) * fastest > 1.0:
        raise ValueError(
            f"epsilons: at {ladder.epsilons[0]:g} alpha max|q_ii| = {ladder.alpha(0) * fastest:.4g} is above 1, "
            "so I + alpha Q is no transition matrix: begin with a smaller epsilon"
        )
