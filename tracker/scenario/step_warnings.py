"""Say before a run whether each step size is stable, and in which regime it is relative to the chain."""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tracker import chain as hidden_chain
from tracker import skew
from tracker.compiled import from_outside
from tracker.costs.base import has_hessian
from tracker.costs.facts import QuadraticForm, additive_noise, as_quadratic
from tracker.costs.minimise.local import Hessians, curvature, has_kink, observed_hessians
from tracker.costs.minimise.search import global_minimisers
from tracker.scenario.builders import is_isolated, share_minimisers, skew_matrix, too_wide_targets
from tracker.scenario.switching_check import clip_skew, limit_alone, unstable_when_switched

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from tracker.array_types import Array
    from tracker.scenario.builders import Mode
    from tracker.scenario.model import Scenario

    Nearby = QuadraticForm | Hessians | Array  # what a step does close to a minimiser


SLOW, FAST = 0.1, 10.0
FEW_PLACES = 0.1  # of a sweep over data
TOO_SMALL = 2.0  # a spread of more than this many target radii: the target is hardly ever met
ROUNDING = 1e-12  # 3e-4 / 3e-3 is less than 0.1


class StabilityLimit(NamedTuple):
    """Steps of ``sampler`` in ``mode`` are mean-square stable below ``limit``.

    exact : the cost is quadratic; otherwise it is linearised at its minimiser
    skew : "none"; "first", the limit is that of the S it begins with; "random", S is drawn and the limit is that of S = 0
    """

    sampler: str
    mode: str
    epsilon: float
    limit: float
    exact: bool
    skew: str


def regime(ratio: float) -> str:
    """Return the class of ratio = alpha / epsilon: a label, not a finding."""
    if ratio < SLOW * (1.0 - ROUNDING):
        return "slow"
    return "fast" if ratio > FAST * (1.0 + ROUNDING) else "matched"


def regimes(scenario: Scenario) -> list[dict[str, Any]]:
    """Return {sampler, ratio, class} for each sampler; none without a chain."""
    if scenario.chain is None:
        return []
    ratios = [(sampler.name, scenario.chain.alpha / sampler.epsilon) for sampler in scenario.samplers]
    return [{"sampler": name, "ratio": ratio, "class": regime(ratio)} for name, ratio in ratios]


def stability_limits(scenario: Scenario, modes: Sequence[Mode] | None = None) -> list[StabilityLimit]:
    """Return the limit of each sampler in each mode: of quadratic modes, and of all if they are given built."""
    found, known = [], dict[tuple[int, bytes], float]()  # many samplers begin with the same S
    nearby = [linearise(keys, modes[i] if modes is not None else None) for i, keys in enumerate(scenario.modes)]
    for sampler in scenario.samplers:
        if not sampler.classical_limit:
            continue
        S = skew_matrix(sampler, scenario)
        kind = "none" if sampler.skew_is == "none" else "random" if S is None else "first"
        S = np.zeros((scenario.dimension, scenario.dimension)) if S is None else clip_skew(sampler, S)
        for i, (keys, around) in enumerate(zip(scenario.modes, nearby, strict=True)):
            if around:
                place = (i, S.tobytes())
                if place not in known:
                    known[place] = least_limit(around, S)
                found.append(
                    StabilityLimit(sampler.name, keys.name, sampler.epsilon, known[place], keys.quadratic, kind)
                )
    return found


def linearise(keys: Any, mode: Mode | None) -> list[Nearby]:
    """Return what a step does close to each minimiser: the curvature, or that of each observation; [] if not known."""
    bowl = as_quadratic(keys.build() if mode is None else mode.cost) if keys.quadratic else None
    if bowl is not None:
        return [bowl]
    found: list[Nearby] = []
    if mode is None:
        return found
    if additive_noise(mode.cost, mode.minimisers.shape[1]) is None and not has_hessian(mode.cost):
        return found  # noise that multiplies counts, and nobody says how much it does
    for point in mode.minimisers:
        if has_kink(mode.cost, point):
            return []
        scatter = observed_hessians(mode.cost, point)
        H = curvature(mode.cost, point) if scatter is None else scatter.values
        if np.isfinite(H).all():
            found.append(H if scatter is None else scatter)
    return found


def least_limit(nearby: Sequence[Nearby], S: Array) -> float:
    """Return the step at which the first of the minimisers is no longer mean-square stable; nan if it is not known."""
    limits = []
    for one in nearby:
        if isinstance(one, QuadraticForm):
            limits.append(limit_alone(one, S))
        elif isinstance(one, Hessians) and not len(one.values):
            limits.append(float("nan"))
        elif isinstance(one, Hessians):
            limits.append((skew.cyclic_limit if one.cyclic else skew.independent_limit)(one.values, S))
        else:
            limits.append(skew.stability_limit(one, S))
    return float(np.min(limits)) if limits else float("nan")  # nan among them stays


def takes_long(nearby: Sequence[Nearby]) -> bool:
    """Tell whether ``least_limit`` takes seconds: every observation has a Hessian of its own."""
    return any(isinstance(one, Hessians) for one in nearby)


def warnings(
    scenario: Scenario, modes: Sequence[Mode] | None = None, limits: Sequence[StabilityLimit] | None = None
) -> list[str]:
    """Return a sentence for each thing that is allowed and probably not meant; ``limits`` of the steps, where they are known."""
    found = []
    chain = scenario.chain
    if chain is not None and not hidden_chain.is_irreducible(chain.Q):
        found.append("chain.Q: reducible: some modes are never reached, or never left for others")
    if scenario.schedule is not None:
        late = sum(step >= scenario.steps for step, _ in scenario.switches)
        if late:
            found.append(f"schedule.switches: {late} of them come after the last step, {scenario.steps - 1}")
    found += aliased_records(scenario)
    if modes is not None:
        found += doubtful_targets(scenario, modes)
    found += [_too_large(s) for s in limits or stability_limits(scenario, modes) if s.epsilon >= s.limit]
    return found + unstable_when_switched(scenario)


def aliased_records(scenario: Scenario) -> list[str]:
    """Return a sentence for each mode that sweeps over its data, where the records always meet the same few of them."""
    found = []
    for keys in scenario.modes:
        if 1 < keys.period < scenario.steps:  # otherwise no row is met twice
            length, every = keys.period, scenario.record_every
            met = length // math.gcd(length, every)
            if met < length * FEW_PLACES:
                better = next(n for n in itertools.count(every + 1) if math.gcd(n, length) == 1)
                found.append(
                    f'record_every: {every} meets {met} of the {length} observations that mode "{keys.name}" sweeps over: recorded '
                    f"points and densities are those there, not averages over a sweep; {better} meets all"
                )
    return found


def doubtful_targets(scenario: Scenario, modes: Sequence[Mode]) -> list[str]:
    """Return a sentence for each way in which distances to the minimisers, or targets around them, say little.

    Minimisers may be a curve or more, of which only points are known. And a sampler at inverse temperature beta stays about
    sqrt(tr(H^-1) / beta) away from a minimiser: a much smaller target is hardly ever met, least of all in many dimensions.
    """
    if scenario.no_distance:
        return []  # nobody asks for them
    found = [
        f'modes "{keys.name}": its minimisers are not isolated points, and {len(mode.minimisers)} of them stand for all: '
        "distances to them are too large; trust the excess cost"
        for keys, mode in zip(scenario.modes, modes, strict=True)
        if not is_isolated(mode)
    ]
    found += [
        f'modes "{keys.name}": the search for the lowest minimum did not come to an end: there may be a deeper one, to which '
        "errors, excess costs and targets should then refer"
        for keys, mode in zip(scenario.modes, modes, strict=True)
        if not from_outside(mode.cost) and not global_minimisers(mode.cost, scenario.start_mean).settled
    ]
    if scenario.drift is None and share_minimisers(modes):
        found.append("modes: all have the same minimisers: no switch moves what is tracked")
    found += [
        f'modes "{scenario.modes[i].name}": target.radius = {math.sqrt(modes[i].radius2):.3g} reaches a minimiser of mode '
        f'"{scenario.modes[j].name}", {distance:.3g} away: who stands there is back without a step'
        for i, j, distance in too_wide_targets(modes)
    ]
    spreads = [_spread(mode) for mode in modes]
    small: dict[str, list[int]] = {}  # in which modes the target is too small for a sampler
    for sampler in scenario.samplers:
        for i, mode in enumerate(modes):
            if spreads[i] > TOO_SMALL**2 * mode.radius2 * float(sampler.beta):
                small.setdefault(sampler.name, []).append(i)
    if small:
        first = next(iter(small))
        i, beta = small[first][0], next(float(s.beta) for s in scenario.samplers if s.name == first)
        found.append(
            f"ignore waits for the target and time inside it: {_share(len(small), len(scenario.samplers))} too warm to stay "
            f'within it (modes "{scenario.modes[i].name}": target.radius = {math.sqrt(modes[i].radius2):.3g}; temperature alone keeps '
            f'"{first}" {math.sqrt(spreads[i] / beta):.3g} away)'
        )
    return found


def _share(some: int, of: int) -> str:
    """Return "the sampler is", "both samplers are", "all 3 samplers are", "1 of 3 samplers is"."""
    if some == of:
        return "the sampler is" if of == 1 else "both samplers are" if of == 2 else f"all {of} samplers are"
    return f"{some} of {of} samplers {'is' if some == 1 else 'are'}"


def _spread(mode: Mode) -> float:
    """Return tr(H^-1) at the tightest minimiser; nan where distances are measured in coordinates of the cost's own."""
    if mode.targets.shape[1] != mode.minimisers.shape[1]:
        return float("nan")
    found = []
    for point in mode.minimisers:
        values = np.linalg.eigvalsh(curvature(mode.cost, point))
        found.append(float((1.0 / values).sum()) if values[0] > 0.0 else float("nan"))
    return min(found)


def _too_large(s: StabilityLimit) -> str:
    which = {"none": "", "first": " with its first S", "random": " with S = 0 (its own S is random)"}[s.skew]
    how = "" if s.exact else ", linearised at the minimiser"
    return (
        f'samplers "{s.sampler}": epsilon: {s.epsilon:g} is not mean-square stable in mode "{s.mode}"{how}: '
        f"the limit is {s.limit:.6g}{which}"
    )
