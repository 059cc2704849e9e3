"""The contract of a sampler: its keys, its state, one step.

To add a kind: a file with a ``NamedTuple`` of parameters, a ``State`` (see ``samplers.state``), its step under
``@sampler(Parameters, State)`` and its keys with the facts that it can state; then one line in ``SAMPLERS``.
A step chooses between numbers of a trial with ``where`` and ``any_of``, never with ``if``: then trials may go side by side.

``step`` uses theta_k, the cost of mode x_k and the observation z_k, and leaves theta_{k+1}. All randomness is handed in.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple

import numpy as np
from pydantic import Field, ValidationInfo, model_validator

from tracker.compiled import generic, generic_with_default, inlined, where
from tracker.keys import Bounds, DottedName, InverseTemperature, Keys, Number, Positive, Skew, named_by_kind
from tracker.samplers.linear_step import linear_step
from tracker.samplers.state import (
    Recorded,
    begin_function,
    forget_function,
    parts_of,
    record_function,
    recorded_of,
    size_function,
    unpack_function,
    with_step_function,
    wraps,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from tracker.array_types import Array, Words
    from tracker.samplers.linear_step import LinearStep

# Rows of a trial's streams (4, 4) that belong to the sampler; rows 0 and 1 are the observations and the injected noise.
PERTURBED, AHEAD = 2, 3


@generic
def state_size(sampler: Any, dimension: int) -> int:  # type: ignore[empty-body]
    """Return how many floats a trial carries."""


@generic
def unpack(sampler: Any, dimension: int, buffer: Array) -> Any:
    """Return named views into ``buffer`` (state_size,) that do not overlap; the first N entries are the output theta."""


@generic
def begin(sampler: Any, state: Any, start: Array, skew: Array) -> None:
    """Set the state at k = 0: theta = ``start`` (N,), S = ``skew`` (N, N) clipped into the bounds."""


@generic
def step(sampler: Any, state: Any, cost: Any, k: int, z: Array, w: Array, streams: Words) -> None:
    """Go from k to k + 1 under ``cost`` with observation ``z`` and standard normal noise ``w`` (N,)."""


@generic_with_default
def idle(sampler: Any, state: Any, cost: Any, k: int, streams: Words) -> None:
    """Consume the random numbers of a step during which no gradient arrives; nothing moves."""
    return


@generic_with_default
def place(sampler: Any, state: Any, minimisers: Array) -> None:
    """Tell the current global minimisers (rows); every kind but the oracle ignores them."""
    return


@generic_with_default
def switched(sampler: Any, state: Any, k: int) -> None:
    """Tell that the mode of step k is a new one; only what raises alarms keeps it, to be judged by it, or is told the times."""
    return


@generic_with_default
def with_step(sampler: Any, epsilon: float) -> Any:
    """Return the sampler with another step: its ``epsilon``, and its ``noise``, which goes with the root of it."""
    return sampler


@generic_with_default
def forget(sampler: Any, state: Any) -> None:
    """Begin anew at theta: velocities, tangents and moments are 0; S and what else was given or learnt is kept."""
    return


@generic_with_default
def moves(sampler: Any) -> bool:
    """Tell whether steps use gradients and noise at all."""
    return True


@generic_with_default
def record_state(sampler: Any, state: Any, out: Array) -> None:
    """Write what the state declares as recorded, beside theta, to ``out``."""
    return


@generic_with_default
def resets_of(sampler: Any, state: Any) -> float:
    """Return how often a guard has reset the state."""
    return 0.0


def sampler(
    parameters: type, state: type, begins: Callable[..., None] | None = None
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return a decorator that makes a function the step of the kind with these parameters and this state.

    ``begins`` stands in place of the ``begin`` that follows from the declared state.
    """
    names = {f"{one.__name__}_of": one for one in (state_size, unpack, begin, record_state, forget, with_step)}

    def declare(function: Callable[..., None]) -> Callable[..., None]:
        step.register(parameters)(function)
        state_size.register(parameters)(size_function(state, names))
        unpack.register(parameters)(unpack_function(state, names))
        begin.register(parameters)(begins or begin_function(state, parameters, names))
        forget.register(parameters)(forget_function(state, names))
        with_step.register(parameters)(with_step_function(parameters, names))
        if recorded_of(state) or wraps(state):
            record_state.register(parameters)(record_function(state, names))
        if wraps(state):
            resets_of.register(parameters)(_count_inner_resets)
        elif "resets" in parts_of(state):
            resets_of.register(parameters)(_count_resets)
        STATES[parameters] = state
        return function

    return declare


def _count_resets(sampler: Any, state: Any) -> float:
    return state.resets[0]


def _count_inner_resets(sampler: Any, state: Any) -> float:
    return resets_of(sampler.inner, state.inner)


STATES: dict[type, type] = {}  # the declared state of each kind, by its parameters


def layers_of(parameters: Any) -> tuple[type, ...]:
    """Return the type of a sampler's parameters, then that of the one that it wraps, and so on."""
    state = STATES.get(type(parameters))
    return (type(parameters), *(layers_of(parameters.inner) if state is not None and wraps(state) else ()))


def learns_its_step(parameters: Any) -> bool:
    """Tell whether a sampler, or one that it wraps, keeps its step in its state."""
    states = [STATES[layer] for layer in layers_of(parameters) if layer in STATES]
    return any(part.start == "epsilon" for state in states for part in parts_of(state).values())


def recorded_by(*layers: type) -> tuple[Recorded, ...]:
    """Return what a sampler with parameters of these types, one around the other, records beside theta."""
    return tuple(one for layer in layers if layer in STATES for one in recorded_of(STATES[layer]))


@inlined
def langevin_move(theta: Array, S: Array, g: Array, w: Array, epsilon: float, noise: float) -> None:
    """Set theta to theta - epsilon (I + S) g + noise w."""
    for d in range(theta.size):
        drift = g[d]
        for e in range(theta.size):
            drift += S[d, e] * g[e]
        theta[d] = theta[d] + noise * w[d] - epsilon * drift


@inlined
def reset_where(condition: Any, tangent: Array, resets: Array) -> None:
    """Set a derivative process to 0 where ``condition`` holds, and count it."""
    for index in np.ndindex(tangent.shape):
        tangent[index] = where(condition, 0.0, tangent[index])
    resets[0] += where(condition, 1.0, 0.0)


# --- what a scenario file says of a sampler, and what theory may know of its kind


class Evaluations(NamedTuple):
    """How often a step asks the cost for each."""

    gradient: int
    cost: int = 0
    hessian: int = 0


SkewIs = Literal["none", "fixed", "moving"]


class SamplerKeys(Keys):
    """The keys that every [[samplers]] table has, and the facts about a kind that other rooms ask for.

    A kind that states no fact is asked for none: theory says "not known for this kind".
    """

    parameters: ClassVar[type | None] = None  # the NamedTuple that the kernels get; its fields are keys or properties
    skew_is: ClassVar[SkewIs] = "none"
    euler: ClassVar[bool] = False  # theta_{k+1} = theta_k - epsilon (I + S) g + noise w, S fixed
    tangent: ClassVar[bool] = False  # it carries D = d theta / d S, and S follows g'D
    adapts: ClassVar[str] = ""  # what moves beside theta, in words: "its S"
    observations: ClassVar[int] = 1  # fresh ones per step
    told_switches: ClassVar[bool] = False  # it is told when the mode changes, which no gradient says
    samples_gibbs: ClassVar[bool] = False  # in one mode that lasts it samples exp(-beta C), up to its step sizes

    name: DottedName = Field(description="what it is called in results: letters, digits, _, - and .")
    kind: str = Field(description="the kind of sampler")
    epsilon: Positive = Field(description="the step size")
    beta: InverseTemperature = Field(
        default=1.0, description='the inverse temperature; "inf" for plain stochastic gradient'
    )

    @model_validator(mode="before")
    @classmethod
    def _named(cls, data: Any, info: ValidationInfo) -> Any:
        return named_by_kind(cls, "kind", data, info.context)

    @property
    def noise(self) -> float:
        """The standard deviation sqrt(2 epsilon / beta) of the injected noise."""
        return float(np.sqrt(2.0 * self.epsilon / self.beta))

    @property
    def effective_step(self) -> float:
        """The step of the classical sampler that moves as fast."""
        return self.epsilon

    @property
    def classical_limit(self) -> bool:
        """Whether its step is stable where theta <- theta - epsilon (I + S) g is; not known of a kind that does not say so."""
        return self.euler or self.tangent or self.skew_is != "none"

    @property
    def evaluations(self) -> Evaluations:
        """Evaluations per step."""
        return Evaluations(gradient=1)

    def step_nanoseconds(self, N: int) -> float:
        """Return the rough time of a step on one core, fitted to docs/architecture, "Speed of a step"."""
        calls = self.evaluations
        # one derivative for each entry of S, or the one of the noise
        tangents = 0.3 * N * N * (N * (N - 1) / 2 if self.skew_is == "moving" else 1)
        return 20 + 8 * N + calls.gradient * (10 + 6 * N) + calls.cost * (10 + 6 * N) + calls.hessian * (20 + tangents)

    def linear(self, epsilon: float, S: Array) -> LinearStep | None:  # noqa: ARG002  (others need epsilon)
        """Return the matrices of a step with ``epsilon`` and a skew matrix ``S`` (N, N) that stays; None where it is not linear.

        A kind that has more state than theta, or moves otherwise, declares its own; see ``LinearStep``.
        """
        if not (self.euler or self.tangent):
            return None
        eye = np.eye(len(S))
        return linear_step(gain=eye + S, heat=2.0 / self.beta * eye)

    def side_by_side(self, N: int) -> bool:
        """Tell whether its step is worded for several trials side by side, with N coordinates; else they go one at a time."""
        return N > 0

    def build(self) -> Any:
        """Return the parameters for the kernels."""
        if self.parameters is None:
            raise TypeError("a kind of sampler names its parameters")
        return self.parameters(*(getattr(self, field) for field in self.parameters._fields))  # type: ignore[attr-defined]


class SkewKeys(SamplerKeys):
    """Samplers with a skew matrix: ``skew`` is a matrix, a number (N = 2), ``"random"`` or ``"optimal"``."""

    skew_is: ClassVar[SkewIs] = "fixed"
    samples_gibbs = True
    skew: Skew = Field(
        description='the matrix S: a skew matrix, a number s for [[0, -s], [s, 0]], "random" or "optimal"'
    )


class MovingSkewKeys(SkewKeys):
    """Samplers whose S moves: ``skew_step``, and the bounds ``skew_bounds = [lo, hi]`` of each S(i, j), i > j."""

    skew_is: ClassVar[SkewIs] = "moving"
    adapts = "its S"
    skew_step: Number = Field(description="the step size of S")
    skew_bounds: Bounds = Field(description="[lo, hi]: where the entries of S below the diagonal are kept")

    @property
    def low(self) -> float:
        """The lower bound of each S(i, j)."""
        return self.skew_bounds[0]

    @property
    def high(self) -> float:
        """The upper bound of each S(i, j)."""
        return self.skew_bounds[1]
