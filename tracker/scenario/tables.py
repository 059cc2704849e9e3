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
from tracker.keys import Count, DottedName, Keys, Matrix, Name, Number, Positive, Step, Vector, Whole, symmetric
from tracker.metrics.claims import read_side
from tracker.metrics.table import METRICS
from tracker.samplers.base import SamplerKeys
from tracker.samplers.baselines import baselines_that_apply
from tracker.scenario.complaints import ScenarioError, say_unknown, show
from tracker.scenario.drift_keys import Drift

MOST_TABLES = 200  # modes, samplers, claims
MOST_TRIALS = 10**9
MOST_STAGES = 1000  # of a stay


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


class Dwell(Keys):
    """The law of a stay in a mode; its mean is that of alpha and Q."""

    law: Literal["geometric", "erlang", "fixed"] = Field(
        description='"geometric"; "erlang": shape geometric stages in a row; "fixed": always 1/(alpha |q_ii|) steps'
    )
    shape: Annotated[Whole, Field(ge=1, le=MOST_STAGES)] = Field(
        default=1, description='how many stages a stay has, each left with probability shape alpha |q_ii|; for "erlang"'
    )

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.law == "erlang" and "shape" not in self.model_fields_set:
            raise ValueError('shape: missing: an "erlang" stay has so many stages')
        if self.law != "erlang" and "shape" in self.model_fields_set:
            raise ValueError(f'shape: {self.shape}: only an "erlang" stay has stages, and the law is "{self.law}"')
        return self


def _law(value: Any) -> Any:
    return {"law": value} if isinstance(value, str) else value


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
    dwell: Annotated[Dwell | None, BeforeValidator(_law)] = Field(
        default=None,
        description='the law of a stay in a mode, geometric if not given: { law = "erlang", shape = 3 }, or "fixed"',
    )

    @field_validator("Q")
    @classmethod
    def _is_generator(cls, Q: Matrix, others: ValidationInfo) -> Matrix:
        # a check of this key, not of the table: an alpha or initial that is wrong by itself hides nothing of it
        if problems := hidden_chain.problems(Q, others.data.get("alpha")):
            raise ScenarioError(problems)
        return Q

    @field_validator("dwell")
    @classmethod
    def _fits(cls, dwell: Dwell | None, others: ValidationInfo) -> Dwell | None:
        if dwell is None or not {"alpha", "Q"} <= others.data.keys():
            return dwell
        leaving = hidden_chain.exit_probability(others.data["Q"], others.data["alpha"])
        if dwell.law == "fixed":
            hidden_chain.fixed_lengths(leaving)
        fastest = dwell.shape * float(leaving.max())
        if fastest > 1.0 + 1e-12:
            raise ValueError(
                f"shape: {dwell.shape} stages are too many: shape alpha max|q_ii| = {fastest:.12g} > 1, so a stay of "
                f"{1.0 / float(leaving.max()):g} steps cannot have so many; a smaller alpha lets it"
            )
        return dwell

    @property
    def law(self) -> hidden_chain.DwellLaw:
        """The law of a stay."""
        if self.dwell is None:
            return hidden_chain.DwellLaw()
        return hidden_chain.DwellLaw(self.dwell.shape, self.dwell.law == "fixed")


Switch = Annotated[tuple[Step, DottedName], BeforeValidator(_tuple)]


class Schedule(Keys):
    """Known switches in place of the chain: listed, or read from a column of the data file."""

    switches: Annotated[tuple[Switch, ...], BeforeValidator(_tuple)] = Field(
        default=(),
        min_length=1,
        description='from which step on which mode holds, e.g. [[0, "left"], [50_000, "right"]]',
    )
    from_: Annotated[str, Field(min_length=1, max_length=200)] | None = Field(
        default=None,
        alias="from",
        description='a column of the data file that names the mode of each row: that of step k is the mode of row k; all modes name that file, with rows = "in-order" where step k is to learn from row k (else rows are drawn)',
    )

    @model_validator(mode="after")
    def _increasing(self) -> Self:
        if bool(self.switches) == (self.from_ is not None):
            raise ScenarioError(["switches: give either switches or from, a column of the data file"])
        steps = [step for step, _ in self.switches]
        problems = (
            [f"switches[0][0]: {steps[0]} must be 0: the schedule says the first mode too"] if any(steps[:1]) else []
        )
        problems += [
            f"switches[{n + 1}][0]: {late} must be greater than {before}, the step before"
            for n, (before, late) in enumerate(pairwise(steps))
            if late <= before
        ]
        if problems:
            raise ScenarioError(problems)
        return self

    def as_tables(self) -> dict[str, Any]:
        """Return the table as a file has it."""
        return {"from": self.from_} if self.from_ is not None else {"switches": [list(one) for one in self.switches]}


class Intervention(Keys):
    """The keys that every [[interventions]] table has."""

    kind: str = Field(description="the kind of intervention")
    at: Step = Field(description="the step at which it happens")


class ForcedSwitch(Intervention):
    """The mode becomes ``to`` at step ``at``; the chain goes on from there."""

    kind: Literal["switch"]
    to: DottedName = Field(description="the name of the mode that is switched to")


class Outage(Intervention):
    """No gradient arrives for ``steps`` steps from ``at`` on."""

    kind: Literal["outage"]
    steps: Count = Field(description="for how many steps no gradient arrives")


INTERVENTIONS: dict[str, type[Intervention]] = {"switch": ForcedSwitch, "outage": Outage}


Claimed = Annotated[str | Number, Field(union_mode="left_to_right")]


class Claim(Keys):
    """A sentence that a run can bear out or refute: ``left`` ``relation`` ``right``."""

    text: str = Field(min_length=1, max_length=1000, description="the claim in words, as the page shows it")
    left: Claimed = Field(description='what is claimed to be smaller or larger: "QUANTITY.SAMPLER", or a number')
    relation: Literal["<", ">"] = Field(description='"<" or ">"')
    right: Claimed = Field(
        description='"QUANTITY.SAMPLER" of the same quantity (the ratio left / right is then judged against 1), or a number'
    )

    @model_validator(mode="after")
    def _says_something(self) -> Self:
        if problems := [*_side_problems("left", self.left), *_side_problems("right", self.right)]:
            raise ScenarioError(problems)
        sides = [read_side(side) for side in (self.left, self.right) if isinstance(side, str)]
        if not sides:
            raise ScenarioError(["left: two numbers claim nothing of a run: give QUANTITY.SAMPLER for one of them"])
        if len(sides) == 2 and sides[0].quantity != sides[1].quantity:
            what = f"{sides[0].quantity} and {sides[1].quantity}"
            raise ScenarioError([f"right: {what} are two quantities: a ratio of them says nothing"])
        return self


def _side_problems(key: str, side: str | float) -> list[str]:
    if not isinstance(side, str):
        return []
    quantity, sampler = read_side(side)
    if quantity not in METRICS:
        return [f"{key}: {show(side)} begins with an {say_unknown(quantity, METRICS, 'quantity')}"]
    return [] if sampler else [f"{key}: {show(side)} must be QUANTITY.SAMPLER, e.g. {quantity}.classical, or a number"]


class ScenarioKeys(Keys):
    """The top level of a scenario file."""

    name: Name = Field(description="what it is called in results: letters, digits, _ and -")
    claim: str = Field(default="", max_length=1000, description="what the run is to show, on top of the page")
    description: str = Field(
        default="", max_length=10_000, description="a sentence or two on the world, on top of the page"
    )
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
    moments: Literal["full", "diagonal", "none"] = Field(
        default="full",
        description='which second moments of theta are kept: "full" covariances, "diagonal" (variances only) or "none", '
        "for many dimensions",
    )
    start: Vector | Gaussian = Field(description="theta at step 0: a point, or { mean = [...], covariance = [[...]] }")
    chain: Chain | None = Field(
        default=None, description="the hidden Markov chain that picks the mode, with transition matrix I + alpha Q"
    )
    schedule: Schedule | None = Field(default=None, description="known switches, in place of a chain")
    drift: Drift | None = Field(
        default=None, description="moves all landscapes together by d_k: the cost of step k is c(theta - d_k, z)"
    )
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
        description='which baselines run beside the samplers: "frozen" never moves, "oracle" knows the hidden mode, '
        '"filter" infers it from one gradient a step and all else that is known; '
        "all that apply if not given, [] for none",
    )
    claims: Annotated[tuple[Claim, ...], BeforeValidator(_tuple)] = Field(
        default=(), max_length=MOST_TABLES, description="what the run is to show, in a form that it can be judged by"
    )
    sweep: dict[str, Annotated[tuple[Any, ...], BeforeValidator(_tuple), Field(min_length=1)]] = Field(
        description='lists of values by address, e.g. { "chain.alpha" = [1e-4, 1e-3] }', default_factory=dict
    )


ARRAYS_OF_TABLES: dict[str, type[Keys]] = {"claims": Claim}  # whose entries are all of one kind
PLAIN_TABLES: dict[str, type[Keys]] = {"chain": Chain, "schedule": Schedule, "drift": Drift, "start": Gaussian}
