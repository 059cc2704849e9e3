"""Which baselines run beside the samplers, and why the others do not."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tracker.environment import Switch
from tracker.samplers.baselines import BASELINES
from tracker.samplers.known_world import KnownWorld
from tracker.scenario import ScenarioError
from tracker.scenario.complaints import show

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tracker.environment import Plan
    from tracker.scenario import Mode, Scenario


def world_of(plan: Plan, modes: Sequence[Mode], dimension: int) -> KnownWorld:
    """Return what a baseline may know of the world; a stay of several stages is as many states of the chain."""
    return KnownWorld(
        costs=tuple(mode.cost for mode in modes),
        minimisers=tuple(mode.minimisers for mode in modes),
        transition=plan.transition,
        initial=plan.initial_states,
        dimension=dimension,
        forced=any(isinstance(event, Switch) for event in plan.interventions),
    )


def leave_out_baselines(scenario: Scenario, world: KnownWorld) -> tuple[Scenario, dict[str, str]]:
    """Return the scenario with the baselines that it has, and for each that was left out the reason.

    Raises
    ------
    ScenarioError
        If the file lists one that does not apply.
    """
    parts = {key: getattr(scenario, key) for key in type(scenario).model_fields}
    listed = "baselines" in scenario.model_fields_set
    asked = {name: offer for name, offer in BASELINES.items() if not listed or name in scenario.baselines}
    why_not = {name: offer.why_not(parts) or offer.why_not_here(world) for name, offer in asked.items()}
    if listed:
        problems = [
            f"baselines[{index}]: {show(name)} does not apply: {why_not[name]}"
            for index, name in enumerate(scenario.baselines)
            if why_not[name]
        ]
        if problems:
            raise ScenarioError(problems)
        return scenario, {}
    left_out = {name: why for name, why in why_not.items() if why}
    if scenario.baselines_settled:
        return scenario, left_out
    return scenario.with_baselines([name for name in asked if name not in left_out]), left_out


def bounds_of(scenario: Scenario, world: KnownWorld) -> tuple[str, ...]:
    """Return the baselines whose mean square error is a bound for whatever sees one gradient a step."""
    return tuple(name for name in scenario.baselines if BASELINES[name].is_bound(world))
