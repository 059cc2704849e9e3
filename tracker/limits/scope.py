"""Read a scenario for theory: one sampler in a world that only its chain moves, or a refusal that says why not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tracker import skew
from tracker.scenario import ScenarioError
from tracker.scenario.builders import initial_law, skew_matrix
from tracker.scenario.dwell_stages import by_stages, stages_of

if TYPE_CHECKING:
    from tracker.array_types import Array
    from tracker.scenario import Scenario


class OutOfScope(ValueError):
    """Theory does not cover what is asked for.

    reason : why not, for any reader
    advice : what whoever calls the library may do instead; may be empty
    sampler : the one that it concerns; None where it concerns the scenario as a whole
    """

    def __init__(self, reason: str, advice: str = "", sampler: str | None = None) -> None:
        super().__init__(reason, advice, sampler)
        self.reason, self.advice, self.sampler = reason, advice, sampler

    def __str__(self) -> str:
        place = "" if self.sampler is None else f'sampler "{self.sampler}"'
        return ": ".join(filter(None, (place, self.reason, self.advice)))


def refusal_of(error: Exception, sampler: str | None = None) -> OutOfScope:
    """Return an error of a computation as a refusal, if it is not one already."""
    return error if isinstance(error, OutOfScope) else OutOfScope(str(error), sampler=sampler)


class Subject(NamedTuple):
    """What theory is about.

    scenario : with a mode for each stage of a stay
    stages : of a stay; the modes i stages, ..., (i + 1) stages - 1 are those of mode i of the file
    keys : the sampler's table
    S : (N, N), as the sampler begins with it
    Q, alpha : of the chain; zeros (X, X) and 0 without one
    initial : (X,), the law of the first mode
    mean, covariance : (N,) and (N, N), of the start
    """

    scenario: Scenario
    stages: int
    keys: Any
    S: Array
    Q: Array
    alpha: float
    initial: Array
    mean: Array
    covariance: Array


def read_scenario(
    scenario: Scenario,
    sampler: str,
    *,
    at_given_skew: bool = False,
    linear: bool = False,
    without_skew: bool = False,
    walking: bool = False,
) -> Subject:
    """Return what theory is about.

    at_given_skew : S may move by its derivative, and is taken as it begins
    without_skew : whoever asks has an S of their own, and S = 0 takes the place of the sampler's
    linear : any sampler will do whose step is linear; else it must be an Euler step of theta alone
    walking : landscapes may drift by a random walk

    Raises
    ------
    OutOfScope
        For a sampler that is not of the known form, a schedule, fixed stays, a drift, interventions, a sweep.
    """
    for refusal in world_refusals(scenario, walking=walking):
        raise refusal
    keys = sampler_keys(scenario, sampler)
    _refuse_unknown_kind(scenario, keys, at_given_skew=at_given_skew, linear=linear)
    S = np.zeros((scenario.dimension,) * 2) if without_skew else _skew(scenario, keys)
    factor = scenario.start_factor
    stages = stages_of(scenario)
    scenario = in_stages(scenario)
    X, chain = len(scenario.modes), scenario.chain
    return Subject(
        scenario=scenario,
        stages=stages,
        keys=keys,
        S=S,
        Q=np.zeros((X, X)) if chain is None else np.array(chain.Q, dtype=np.float64),
        alpha=0.0 if chain is None else chain.alpha,
        initial=initial_law(scenario),
        mean=scenario.start_mean,
        covariance=np.asarray(factor @ factor.T),
    )


def in_stages(scenario: Scenario) -> Scenario:
    """Return the scenario with a mode for each stage of a stay."""
    try:
        return by_stages(scenario)
    except ScenarioError as error:
        states = f"{len(scenario.modes)} modes times {stages_of(scenario)} stages"
        raise OutOfScope(f"chain.dwell: {states} are too many: {error}", "take a smaller shape") from None


def put_together(by_mode: Array, stages: int, axis: int) -> Array:
    """Sum over the stages of each mode along ``axis``."""
    if stages == 1:
        return by_mode
    modes = np.moveaxis(by_mode, axis, 0)
    return np.moveaxis(modes.reshape(-1, stages, *modes.shape[1:]).sum(axis=1), 0, axis)


def world_refusals(scenario: Scenario, *, walking: bool = False) -> list[OutOfScope]:
    """Return a refusal for everything in the scenario, beside its sampler and costs, that theory does not know.

    walking : whoever asks knows landscapes that drift by a random walk
    """
    found = []
    if scenario.drift is not None and not (walking and scenario.drift.kind == "random-walk"):
        found.append(
            OutOfScope(
                f"drift: a {scenario.drift.kind} moves the landscapes by a given amount per step, and this theory is about "
                "landscapes that stand still between switches",
                "limits.stationary and limits.algorithm_moments know a random walk on quadratic costs, limits.transfer any motion "
                "of one quadratic mode by its spectrum; or simulate with tracker.run",
            )
        )
    if scenario.sweep:
        found.append(
            OutOfScope(
                "sweep: this file stands for many scenarios, and theory is about one",
                "take one of them: --set sweep={} and --set KEY=VALUE for what is swept; in Python scenario.replace(sweep=None)",
            )
        )
    if scenario.schedule is not None:
        found.append(
            OutOfScope(
                "schedule: theory is about modes that a Markov chain picks",
                "give a [chain], or simulate with tracker.run",
            )
        )
    if scenario.chain is not None and scenario.chain.law.fixed:
        found.append(
            OutOfScope(
                "chain.dwell: theory is about stays whose end is left to chance, not about fixed ones",
                'take dwell = { law = "erlang", shape = ... } with a large shape, or simulate with tracker.run',
            )
        )
    if scenario.interventions:
        advice = "leave them out with scenario.replace(interventions=[]), or simulate with tracker.run"
        found.append(OutOfScope("interventions: theory knows none", advice))
    return found


def sampler_keys(scenario: Scenario, sampler: str) -> Any:
    """Return the table of the sampler of that name."""
    for keys in scenario.samplers:
        if keys.name == sampler:
            return keys
    names = ", ".join(keys.name for keys in scenario.samplers)
    raise ValueError(f"sampler: {sampler!r} is none of the scenario's: {names}")


def refuse_no_skew(keys: Any, question: str) -> None:
    """Refuse a kind without an S that multiplies its gradient: there is nothing to vary."""
    if not (keys.euler or keys.tangent):
        raise OutOfScope(f"{question}: the kind {keys.kind} has no S that multiplies its gradient", "", keys.name)


def refuse_random_skew(keys: Any) -> None:
    """Refuse an S that is drawn for each trial."""
    if getattr(keys, "skew", None) == "random":
        reason = 'skew = "random" is drawn for each trial, and theory needs one S'
        raise OutOfScope(reason, "give a matrix (tracker.skew.tridiagonal makes one from its entries)", keys.name)


def _refuse_unknown_kind(scenario: Scenario, keys: Any, *, at_given_skew: bool, linear: bool) -> None:
    if keys.adapts and keys.skew_is != "moving":
        reason = f"theory needs a sampler that stays as it is, and {keys.kind} moves {keys.adapts}"
        raise OutOfScope(reason, "simulate it instead", keys.name)
    is_linear = keys.linear(keys.epsilon, np.zeros((scenario.dimension,) * 2)) is not None
    if not (keys.euler or keys.adapts or (is_linear and linear)):
        which = f"theory knows the kind {keys.kind} by its moments on quadratic costs only"
        reason = which if is_linear else f"theory is not known for the kind {keys.kind}"
        raise OutOfScope(reason, "simulate it instead", keys.name)
    if keys.adapts and not (keys.euler or (keys.tangent and at_given_skew)):
        advice = (
            "use limits.coupled for its law, limits.adaptive_path for (theta, D, S) at beta = inf, limits.skew_gain for the "
            "drift of S at a given S"
        )
        reason = f"theory needs an S that stands still, and {keys.kind} moves it"
        raise OutOfScope(reason, advice if keys.tangent else "simulate it instead", keys.name)


def _skew(scenario: Scenario, keys: Any) -> Array:
    refuse_random_skew(keys)
    S, bounds = skew_matrix(keys, scenario), getattr(keys, "skew_bounds", None)
    assert S is not None  # only a random one is not known
    return S if bounds is None else skew.clip(S, *bounds)
