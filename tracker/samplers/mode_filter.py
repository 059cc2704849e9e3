"""The exact Bayes filter of the hidden mode: it knows Q, alpha and all costs, and sees one noisy gradient a step.

Notes
-----
pi_k(i) is the probability of mode i given all that was seen before step k; pi_0 is the chain's initial law. With m_i the
minimiser of mode i (docs/mathematics, "Bayes filter"):

    theta_k   = sum_i pi_k(i) m_i
    pi_{k+1} ~ (pi_k(i) p(seen at step k | i)) P,   P = I + alpha Q

Seen is g = grad c(theta_k, z_k), for additive gradient noise: p is the normal density of g - grad C_i(theta_k), of covariance
Sigma_i, within the range of the Sigma_i, which all modes must share; what lies outside would tell the mode at once and is not
looked at. For costs that hand out observations of a known density, seen is the observation itself. An outage is a step
without a likelihood: pi_{k+1} = pi_k P. The state holds log pi, so that no mode is ever lost by underflow.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tracker.compiled import Packed, borrow, copy, helper, inlined, literal_unroll, pack, rebuild
from tracker.costs.base import classes, gradient, observation_size, stored_observations
from tracker.costs.facts import additive_noise, log_likelihood, same_shape, tilt
from tracker.samplers.alarms import MOST_TIMES, WATCHED, note_switch, raise_alarm
from tracker.samplers.base import idle, sampler, switched
from tracker.samplers.state import Recorded, carried, scratch

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tracker.array_types import Array, Words
    from tracker.samplers.known_world import KnownWorld

MODE_PROBABILITY = Recorded(
    "mode_probability",
    "mode_name",
    "P(mode | past)",
    "1",
    "probability of each mode before the step, by the Bayes filter",
    by_one=True,
)
TINY = 1e-200  # a probability below it is computed again from logarithms
SAME_RANGE = 1e-9  # how far apart the projections onto two equal ranges may be


class Filter(NamedTuple):
    """Parameters: what the filter knows.

    costs : of all modes; minimisers (X, N); transition (S, S) and initial (S,) of the chain, whose state s has mode s // (S / X)
    whitening (X, r, N), constant (X,): log p(g | i) = constant_i - |whitening_i (g - grad C_i)|^2 / 2; r = 0 where the
    observation itself is compared
    observed : the length of an observation
    """

    costs: Packed
    minimisers: Array
    transition: Array
    initial: Array
    whitening: Array
    constant: Array
    observed: int


class State(NamedTuple):
    """The estimate, P(mode), log pi by state of the chain, alarms, and room for gradients and weights."""

    theta: Array = carried("N")
    p: Array = carried("sampler.minimisers.shape[0]", recorded=MODE_PROBABILITY)
    log_pi: Array = carried("sampler.initial.size")
    watch: Array = carried(WATCHED)
    times: Array = carried(MOST_TIMES)
    g: Array = scratch("N")
    h: Array = scratch("N")
    weight: Array = scratch("sampler.minimisers.shape[0]")
    share: Array = scratch("sampler.initial.size")
    moved: Array = scratch("sampler.initial.size")
    zero: Array = scratch("sampler.observed")  # never written: the observation that makes a gradient that of C


@helper
def weigh(sampler: Filter, state: State, z: Array) -> None:
    """Set ``weight`` to log p(seen | i), up to a number that all modes share."""
    sampler, state = borrow(sampler), borrow(state)
    costs, W, g, h, weight = sampler.costs, sampler.whitening, state.g, state.h, state.weight
    for i in range(weight.size):
        here = 0
        for template in literal_unroll(costs.templates):
            if here == costs.families[i]:
                cost = rebuild(template, costs.store, costs.places[i])
                if W.shape[1] == 0:
                    weight[i] = log_likelihood(cost, z)
                else:
                    gradient(cost, state.theta, state.zero, h)
                    square = 0.0
                    for r in range(W.shape[1]):
                        white = 0.0
                        for d in range(g.size):
                            white += W[i, r, d] * (g[d] - h[d])
                        square += white * white
                    weight[i] = sampler.constant[i] - 0.5 * square
            here += 1  # noqa: SIM113  (numba unrolls the plain loop only)


@helper
def predict(sampler: Filter, state: State) -> None:
    """Set log pi to log((pi weight) P), and P(mode) and theta to what follows from it."""
    sampler, state = borrow(sampler), borrow(state)
    P, log_pi, share, moved, p, weight = (
        sampler.transition, state.log_pi, state.share, state.moved, state.p, state.weight,
    )  # fmt: skip
    stages = log_pi.size // p.size
    top = -np.inf
    for s in range(log_pi.size):
        log_pi[s] += weight[s // stages]
        top = max(top, log_pi[s])
    total = 0.0
    for s in range(log_pi.size):
        log_pi[s] -= top
        share[s] = np.exp(log_pi[s])
        total += share[s]
    p.fill(0.0)
    for t in range(log_pi.size):
        there = 0.0
        for s in range(log_pi.size):
            there += share[s] * P[s, t]
        there /= total
        p[t // stages] += there
        moved[t] = np.log(there) if there > TINY else log_of_sum(log_pi, P, t) - np.log(total)
    copy(moved, log_pi)
    place_between(sampler, state)


@helper
def log_of_sum(log_pi: Array, P: Array, t: int) -> float:
    """Return log sum_s exp(log_pi(s)) P(s, t), also where every term is below the smallest number."""
    top = -np.inf
    for s in range(log_pi.size):
        if P[s, t] > 0.0:
            top = max(top, log_pi[s])
    total = 0.0
    for s in range(log_pi.size):
        if P[s, t] > 0.0 and top > -np.inf:
            total += np.exp(log_pi[s] - top) * P[s, t]
    return top + np.log(total) if total > 0.0 else -np.inf


@inlined
def place_between(sampler: Filter, state: State) -> None:
    """Set theta to sum_i p(i) m_i."""
    for d in range(state.theta.size):
        mean = 0.0
        for i in range(state.p.size):
            mean += state.p[i] * sampler.minimisers[i, d]
        state.theta[d] = mean


@inlined
def likeliest(p: Array) -> int:
    """Return the first of the most probable modes."""
    best = 0
    for i in range(1, p.size):
        if p[i] > p[best]:
            best = i
    return best


def _begin(sampler: Filter, state: State, start: Array, skew: Array) -> None:
    stages = sampler.initial.size // state.p.size
    for s in range(sampler.initial.size):
        state.log_pi[s] = np.log(sampler.initial[s]) if sampler.initial[s] > 0.0 else -np.inf
        state.p[s // stages] += sampler.initial[s]
    place_between(sampler, state)


@sampler(Filter, State, begins=_begin)
def _step(sampler: Filter, state: State, cost: Any, k: int, z: Array, w: Array, streams: Words) -> None:
    before = likeliest(state.p)
    if sampler.whitening.shape[1] > 0:
        gradient(cost, state.theta, z, state.g)
    weigh(sampler, state, z)
    predict(sampler, state)
    if likeliest(state.p) != before:
        raise_alarm(state.watch, state.times, k)


@idle.register(Filter)
def _idle(sampler: Filter, state: State, cost: Any, k: int, streams: Words) -> None:
    state.weight.fill(0.0)
    predict(sampler, state)


@switched.register(Filter)
def _switched(sampler: Filter, state: State, k: int) -> None:
    note_switch(state.watch, k)


# --- where it applies


def why_not_by_keys(parts: Mapping[str, Any]) -> str:
    """Return why a scenario of these parts has no exact filter, as far as it can be told before anything is built."""
    chain = parts.get("chain")
    if chain is None:
        return "the filter needs a [chain], whose law it knows"
    if chain.law.fixed:
        return "stays of fixed length are no Markov chain of modes"
    if parts.get("drift") is not None:
        return "with [drift] the minimisers move, and the filter knows where they are at the start only"
    modes = [mode for mode in parts.get("modes", ()) if mode is not None]
    if any(getattr(mode, memory, None) for mode in modes for memory in ("noise_memory", "regressor_memory")):
        return "noise with memory has another likelihood than the white noise that the filter knows"
    return ""


def why_no_filter(world: KnownWorld) -> str:
    """Return why there is no exact filter of this world; an empty text where there is one."""
    if world.transition is None:
        return "the filter needs a [chain], whose law it knows"
    if world.minimisers is not None and any(len(points) > 1 for points in world.minimisers):
        return "a mode has more than one global minimiser, and an average of them says nothing"
    factors = [additive_noise(cost, world.dimension) for cost in world.costs]
    if any(F is None for F in factors):
        if _compares_observations(world):
            return ""
        if any(stored_observations(cost) is not None or classes(cost) for cost in world.costs):
            return "a step shows one of the stored rows: where modes label them differently, one row tells the mode"
        return "the likelihood of what a step shows is not known in every mode"
    projections = [_projection(np.asarray(F)) for F in factors]
    if not all(projection.any() for projection in projections):
        return "a mode has no gradient noise: one gradient would tell the mode"
    if any(np.abs(projection - projections[0]).max() > SAME_RANGE for projection in projections):
        return "the gradient noise of the modes has not the same range: one gradient would tell the mode"
    return ""


def _compares_observations(world: KnownWorld) -> bool:
    """Tell whether every mode knows the density of its observations."""
    return all(np.isfinite(log_likelihood(cost, np.zeros(max(1, observation_size(cost))))) for cost in world.costs)


def _projection(F: Array) -> Array:
    """Return the projection onto the range of F (N, r)."""
    return np.asarray(F @ np.linalg.pinv(F))


def is_bound(world: KnownWorld) -> bool:
    """Tell whether no algorithm that sees one gradient a step can have a smaller mean square error (docs/mathematics, "Bayes filter").

    So it is where gradients of any two modes differ by a constant, because it does not matter then where they are taken, and
    where that constant lies in the range of the noise: outside of it one gradient would tell the mode, and nobody looks there.
    A forced switch is none of the chain's: who does not know the chain may then do better than who relies on it.
    """
    if world.forced:
        return False
    tilts = [tilt(cost) for cost in world.costs]
    if tilts[0] is None or not all(one is not None and same_shape(tilts[0], one) for one in tilts):
        return False
    F = additive_noise(world.costs[0], world.dimension)
    told = np.array([one.slope - tilts[0].slope for one in tilts if one is not None])
    unseen = 0.0 if F is None else np.abs(told - told @ _projection(np.asarray(F))).max()
    return bool(unseen <= SAME_RANGE * np.abs(told).max())


def filter_of(world: KnownWorld) -> Filter:
    """Return the filter of a world that has one."""
    assert world.minimisers is not None
    assert world.transition is not None
    X, N = len(world.costs), world.dimension
    factors = [additive_noise(cost, N) for cost in world.costs]
    whitening, constant = np.zeros((X, 0, N)), np.zeros(X)
    if factors[0] is not None and factors[0].size:
        basis = np.linalg.qr(factors[0])[0]  # of the range; coordinates in it are compared
        within = [basis.T @ np.asarray(F) for F in factors]
        whitening = np.stack([np.linalg.inv(A) @ basis.T for A in within])
        constant = np.array([-np.linalg.slogdet(A)[1] for A in within])
    return Filter(
        costs=pack(world.costs),
        minimisers=np.ascontiguousarray([points[0] for points in world.minimisers], dtype=np.float64),
        transition=np.ascontiguousarray(world.transition, dtype=np.float64),
        initial=np.ascontiguousarray(world.initial, dtype=np.float64),
        whitening=np.ascontiguousarray(whitening),
        constant=constant,
        observed=max(1, *(int(observation_size(cost)) for cost in world.costs)),
    )
