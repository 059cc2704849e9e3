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
from tracker.scenario.complaints import ScenarioError

MOST_TABLES = 100
MOST_TRIALS = 10**9


def _tuple(value: Any) -> Any:
    value = value.tolist() if isinstance(value, np.ndarray) else value
    return tuple(value) if isinstance(value, list) else value


class Gaussian(Keys):
    """A start drawn from a Gaussian law, independently for each trial."""

    mean: Vector
    covariance: Matrix

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        covariance = symmetric(self.covariance, "covariance", definite=False)
        if len(covariance) != len(self.mean):
            size = f"{len(covariance)} x {len(covariance)}"
            raise ValueError(f"covariance: {size}, but mean has {len(self.mean)} coordinates")
        return self


class Chain(Keys):
    """The hidden chain with transition matrix I + alpha Q."""

    alpha: Positive
    Q: Matrix
    initial: Annotated[str | tuple[Number, ...], BeforeValidator(_tuple)] = "stationary"

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

    switches: Annotated[tuple[Switch, ...], BeforeValidator(_tuple), Field(min_length=1)]

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


class ForcedSwitch(Keys):
    """The mode becomes ``to`` at step ``at``; the chain goes on from there."""

    kind: Literal["switch"]
    at: Step
    to: Name


class Outage(Keys):
    """No gradient arrives for ``steps`` steps from ``at`` on."""

    kind: Literal["outage"]
    at: Step
    steps: Count = Field(description="for how many steps no gradient arrives")


INTERVENTIONS: dict[str, type[Keys]] = {"switch": ForcedSwitch, "outage": Outage}


class ScenarioKeys(Keys):
    """The top level of a scenario file."""

    name: Name
    description: str = Field(default="", max_length=10_000)
    seed: Annotated[Whole, Field(ge=0, lt=2**63)] = 0
    trials: Annotated[Whole, Field(ge=1, le=MOST_TRIALS)]
    steps: Count
    burn_in: Step = 0
    record_every: Count = Field(default_factory=lambda data: max(1, int(data["steps"]) // 500))
    start: Vector | Gaussian
    chain: Chain | None = None
    schedule: Schedule | None = None
    interventions: tuple[ForcedSwitch | Outage, ...] = ()
    modes: tuple[CostKeys, ...] = Field(min_length=1, max_length=MOST_TABLES)
    samplers: tuple[SamplerKeys, ...] = Field(min_length=1, max_length=MOST_TABLES)
    sweep: dict[str, Annotated[tuple[Any, ...], BeforeValidator(_tuple), Field(min_length=1)]] = Field(
        default_factory=dict
    )


PLAIN_TABLES: dict[str, type[Keys]] = {"chain": Chain, "schedule": Schedule, "start": Gaussian}
