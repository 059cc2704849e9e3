"""Build what the loop needs from a scenario: costs with minimisers, samplers, the plan of the world, the layout."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tracker.compiled import pack
from tracker.costs.base import cost_every, measure_size, memory_size, observation_size, period
from tracker.costs.one_form import in_one_form
from tracker.engine.beside import bounds_of, leave_out_baselines, world_of
from tracker.engine.ledger import Layout
from tracker.environment import DriftLaw, DwellLaw, Plan, PlannedOutage, Switch
from tracker.samplers.alarms import raises_alarms
from tracker.samplers.base import layers_of, recorded_by
from tracker.samplers.baselines import BASELINES
from tracker.scenario import build_modes, initial_law, skew_matrix
from tracker.streams import entropy_words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tracker.array_types import Array, Words
    from tracker.compiled import Packed
    from tracker.samplers.base import Evaluations, SamplerKeys
    from tracker.samplers.state import Recorded
    from tracker.scenario import Mode, Scenario


RUNAWAY = 1e8  # times the scale of a scenario: a trial so far away has diverged
CELL_FLOATS = 1280  # normals drawn at a time: few enough to stay in the first-level cache
LARGEST_CELL, SMALLEST_CELL = 128, 8


class Contestant(NamedTuple):
    """A sampler or a baseline of a run; ``keys`` is None for a baseline, ``skew`` None where S_0 is drawn."""

    name: str
    keys: SamplerKeys | None
    parameters: Any
    skew: Array | None

    @property
    def epsilon(self) -> float:
        """The step; 0 for a baseline, which takes none."""
        return self.keys.epsilon if self.keys is not None else 0.0

    @property
    def has_skew(self) -> bool:
        """Whether it carries an S."""
        return self.keys is not None and self.keys.skew_is != "none"

    @property
    def evaluations(self) -> Evaluations:
        """Evaluations per step."""
        return self.keys.evaluations if self.keys is not None else BASELINES[self.name].evaluations

    @property
    def observations(self) -> int:
        """Fresh observations per step."""
        return self.keys.observations if self.keys is not None else self.evaluations.gradient

    @property
    def recovers(self) -> bool:
        """Whether it has times of re-acquisition: what stands still, or is always there, has none."""
        return self.keys is not None or BASELINES[self.name].recovers

    @property
    def raises_alarms(self) -> bool:
        """Whether it raises alarms, or holds P(mode), whose likeliest mode changes."""
        return raises_alarms(layers_of(self.parameters))

    @property
    def recorded(self) -> tuple[Recorded, ...]:
        """What is recorded of its state beside theta."""
        return recorded_by(*layers_of(self.parameters))

    def records(self, name: str) -> bool:
        """Tell whether it records the array ``name``."""
        return any(one.name == name for one in self.recorded)


class Problem(NamedTuple):
    """A scenario, built: all that shards share."""

    scenario: Scenario
    modes: tuple[Mode, ...]
    contestants: tuple[Contestant, ...]
    plan: Plan
    layout: Layout
    origin: Array
    entropy: Words
    packed_modes: Packed  # ``modes`` for the loop, written alike
    left_out: dict[str, str]  # baselines, and why
    bounds: tuple[str, ...]  # baselines whose mean square error nobody who sees one gradient a step can be below

    @property
    def records(self) -> int:
        """How many points of a trial are recorded."""
        return self.layout.steps // self.layout.record_every + 1

    @property
    def notes(self) -> dict[str, str]:
        """A sentence on each baseline that was left out, by its name."""
        return {name: f"the baseline {name} was left out: {why}" for name, why in self.left_out.items()}


def prepare(scenario: Scenario, modes: tuple[Mode, ...] | None = None, origin: Array | None = None) -> Problem:
    """Build the costs, find their minimisers unless ``modes`` brings them, and lay out what is measured."""
    modes = build_modes(scenario) if modes is None else modes
    N = scenario.dimension
    contestants = [Contestant(s.name, s, s.build(), skew_matrix(s, scenario)) for s in scenario.samplers]
    plan = plan_of(scenario)
    world = world_of(plan, modes, N)
    scenario, left_out = leave_out_baselines(scenario, world)
    contestants += [
        Contestant(name, None, offer.build(world), np.zeros((N, N)))
        for name, offer in BASELINES.items()
        if name in scenario.baselines
    ]
    every = steps_between_looks([mode.cost for mode in modes])
    layout = Layout(
        steps=scenario.steps,
        burn_in=scenario.burn_in,
        record_every=scenario.record_every,
        first_look=first_look(scenario.burn_in, scenario.steps, every),
        cost_every=every,
        cell=min(LARGEST_CELL, max(SMALLEST_CELL, CELL_FLOATS // N)),
        modes=len(modes),
        moments=moment_rows(scenario),
        observation_size=max(1, *(observation_size(mode.cost) for mode in modes)),
        measure_size=max(measure_size(mode.cost, N) for mode in modes),
        runaway=runaway(scenario, modes),
        epsilon=0.0,  # each contestant's own when it runs
        memory_size=max(memory_size(mode.cost) for mode in modes),
    )
    # Moments are taken about a point near the action: no digits are lost where theta is large and moves little.
    if origin is None:
        origin = np.mean([mode.minimisers.mean(axis=0) for mode in modes], axis=0)
    return Problem(
        scenario, modes, tuple(contestants), plan, layout, origin, entropy_words(scenario.seed), pack(in_one_form(modes)), left_out,
        bounds_of(scenario, world),
    )  # fmt: skip


def moment_rows(scenario: Scenario) -> int:
    """Return how many rows of sums a trial keeps: of theta, and of its products, its squares or neither."""
    return {"full": scenario.dimension + 1, "diagonal": 2, "none": 1}[scenario.moments]


def steps_between_looks(costs: Sequence[Any]) -> int:
    """Return c: excess cost and accuracy are measured at every c-th step from burn_in on, in all modes.

    The largest that a cost of the run declares, and next to it the first that meets all places of stored data that
    samplers sweep over: with a common factor only some of them would ever be looked at.
    """
    every = max(cost_every(cost) for cost in costs)
    periods = [period(cost) for cost in costs]
    while every > 1 and any(math.gcd(every, one) > 1 for one in periods):
        every += 1
    return every


def first_look(burn_in: int, steps: int, every: int) -> int:
    """Return the first step at which the cost is measured: the middle of the first ``every`` averaged steps.

    Looks at the first of every ``every`` steps would give the start, or whatever a burn-in leaves of it, too much weight.
    """
    return burn_in + min(every // 2, (steps - burn_in - 1) // 2)


def runaway(scenario: Scenario, modes: Sequence[Mode]) -> float:
    """Return the squared distance beyond which a trial has diverged: far outside all places that the scenario names."""
    places = [scenario.start_mean, *(point for mode in modes for point in (*mode.minimisers, *mode.targets))]
    reach = 0.0 if scenario.drift is None else scenario.drift.reach(scenario.dimension, scenario.steps)
    return RUNAWAY**2 * (1.0 + reach + max(float(np.abs(place).max()) for place in places)) ** 2


def drift_law(scenario: Scenario) -> DriftLaw | None:
    """Return the motion of the landscapes; None where they stand still."""
    drift, N = scenario.drift, scenario.dimension
    if drift is None:
        return None
    return DriftLaw(
        factor=drift.factor_in(N),
        amplitude=np.array(drift.amplitude or (0.0,) * N),
        frequency=2.0 * np.pi / drift.period if drift.period is not None else 0.0,
        phase=drift.phase,
        velocity=np.array(drift.velocity or (0.0,) * N),
    )


def plan_of(scenario: Scenario) -> Plan:
    """Translate the names of modes into indices."""
    index = {mode.name: i for i, mode in enumerate(scenario.modes)}
    chain = scenario.chain
    interventions = tuple(
        Switch(event.at, index[event.to]) if event.kind == "switch" else PlannedOutage(event.at, event.steps)
        for event in scenario.interventions
    )
    return Plan(
        modes=len(index),
        initial=initial_law(scenario),
        Q=np.array(chain.Q, dtype=float) if chain is not None else None,
        alpha=chain.alpha if chain is not None else None,
        law=chain.law if chain is not None else DwellLaw(),
        aged=chain is not None and chain.initial == "stationary",
        drift=drift_law(scenario),
        switches=tuple((step, index[name]) for step, name in scenario.switches),
        interventions=interventions,
    )
