"""The tables of a scenario file and their keys, each checked by itself.

``Scenario`` (``scenario.model``) has these keys and what can be done with a valid file.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Annotated, Any, Literal, Self

import numpy as np
from pydantic import BeforeValidator, Field, ValidationInfo, field_validator, model_validator

from tracker import chain as hidden_chain
from tracker.costs.base import CostKeys
from tracker.keys import Count, Keys, Matrix, Name, Number, Positive, Step, Vector, Whole, symmetric
from tracker.samplers.base import SamplerKeys
from tracker.samplers.baselines import baselines_that_apply
from tracker.scenario.complaints import ScenarioError

MOST_TABLES = 100
MOST_TRIALS = 10**9


def _tuple(value: Any) -> Any:
    value = value.tolist() if isinstance(value, np.ndarray) else value
    return tuple(value) if isinstance(value, list) else value


class Gaussian(Keys):
    """A start drawn from a Gaussian law, independently for each trial."""

    mean: Vector = Field(description="the mean of the start")
    covariance: Matrix = Field(description="the covariance of the start")

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        covariance = symmetric(self.covariance, "covariance", definite=False)
        if len(covariance) != len(self.mean):
            size = f"{len(covariance)} x {len(covariance)}"
            raise ValueError(f"covariance: {size}, but mean has {len(self.mean)} coordinates")
        return self


class Chain(Keys):
    """The hidden chain with transition matrix I + alpha Q."""

    alpha: Positive = Field(description="the chain's step: I + alpha Q is its transition matrix")
    Q: Matrix = Field(
        description="the chain's generator: a square matrix with rows that sum to 0, one row for each mode"
    )
    initial: Annotated[str | tuple[Number, ...], BeforeValidator(_tuple)] = Field(
        default="stationary",
        description='the law of the first mode: "stationary", the name of a mode, or a list of probabilities',
    )

    @field_validator("Q")
    @classmethod
    def _is_generator(cls, Q: Matrix, others: ValidationInfo) -> Matrix:
        # a check of this key, not of the table: an alpha or initial that is wrong by itself hides nothing of it
        if problems := hidden_chain.problems(Q, others.data.get("alpha")):
            raise ScenarioError(problems)
        return Q


Switch = Annotated[tuple[Step, Name], BeforeValidator(_tuple)]


class Schedule(Keys):
    """Known switches in place of the chain."""

    switches: Annotated[tuple[Switch, ...], BeforeValidator(_tuple), Field(min_length=1)] = Field(
        description='from which step on which mode holds, e.g. [[0, "left"], [50_000, "right"]]'
    )

    @model_validator(mode="after")
    def _increasing(self) -> Self:
        steps = [step for step, _ in self.switches]
        problems = [f"switches[0][0]: {steps[0]} must be 0: the schedule says the first mode too"] if steps[0] else []
        problems += [
            f"switches[{n + 1}][0]: {late} must be greater than {before}, the step before"
            for n, (before, late) in enumerate(pairwise(steps))
            if late <= before
        ]
        if problems:
            raise ScenarioError(problems)
        return self


class Intervention(Keys):
    """The keys that every [[interventions]] table has."""

    kind: str = Field(description="the kind of intervention")
    at: Step = Field(description="the step at which it happens")


class ForcedSwitch(Intervention):
    """The mode becomes ``to`` at step ``at``; the chain goes on from there."""

    kind: Literal["switch"]
    to: Name = Field(description="the name of the mode that is switched to")


class Outage(Intervention):
    """No gradient arrives for ``steps`` steps from ``at`` on."""

    kind: Literal["outage"]
    steps: Count = Field(description="for how many steps no gradient arrives")


INTERVENTIONS: dict[str, type[Intervention]] = {"switch": ForcedSwitch, "outage": Outage}


class ScenarioKeys(Keys):
    """The top level of a scenario file."""

    name: Name = Field(description="what it is called in results: letters, digits, _ and -")
    claim: str = Field(default="", max_length=1000, description="what the run is to show, on top of the page")
    description: str = Field(default="", max_length=10_000, description="a sentence or two for the report")
    seed: Annotated[Whole, Field(ge=0, lt=2**63)] = Field(
        default=0, description="the seed of all randomness; the same seed gives the same results"
    )
    trials: Annotated[Whole, Field(ge=1, le=MOST_TRIALS)] = Field(
        description="how many independent trials are simulated"
    )
    steps: Count = Field(description="how many steps each trial takes (K)")
    burn_in: Step = Field(default=0, description="how many steps are left out of time averages")
    record_every: Count = Field(
        default_factory=lambda data: max(1, int(data["steps"]) // 500),
        description="every how many steps a trace is recorded; max(1, steps // 500) if not given",
    )
    start: Vector | Gaussian = Field(description="theta at step 0: a point, or { mean = [...], covariance = [[...]] }")
    chain: Chain | None = Field(
        default=None, description="the hidden Markov chain that picks the mode, with transition matrix I + alpha Q"
    )
    schedule: Schedule | None = Field(default=None, description="known switches, in place of a chain")
    interventions: tuple[ForcedSwitch | Outage, ...] = Field(default=(), description="forced switches and outages")
    modes: tuple[CostKeys, ...] = Field(
        min_length=1,
        max_length=MOST_TABLES,
        description="the cost functions among which the world switches, in the order of Q's rows",
    )
    samplers: tuple[SamplerKeys, ...] = Field(
        min_length=1, max_length=MOST_TABLES, description="the algorithms that are compared"
    )
    baselines: Annotated[tuple[str, ...], BeforeValidator(_tuple)] = Field(
        default_factory=baselines_that_apply,  # of the keys above
        description='which baselines run beside the samplers: "frozen" never moves, "oracle" knows the hidden mode; '
        "all that apply if not given, [] for none",
    )
    sweep: dict[str, Annotated[tuple[Any, ...], BeforeValidator(_tuple), Field(min_length=1)]] = Field(
        description='lists of values by address, e.g. { "chain.alpha" = [1e-4, 1e-3] }', default_factory=dict
    )


PLAIN_TABLES: dict[str, type[Keys]] = {"chain": Chain, "schedule": Schedule, "start": Gaussian}
