"""The contract of a sampler: its keys, its state, one step.

To add a kind: a file with a ``NamedTuple`` of parameters, a ``State`` (see ``samplers.state``), its step under
``@sampler(Parameters, State)`` and its keys with the facts that it can state; then one line in ``SAMPLERS``.

A step chooses between numbers of a trial with ``where`` and ``any_of``, never with ``if``: then trials may go side by side.

``step`` uses theta_k, the cost of mode x_k and the observation z_k, and leaves theta_{k+1}. All randomness is handed in.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple

import numpy as np
from pydantic import Field

from tracker.compiled import generic, generic_with_default, inlined, where
from tracker.costs.base import gradient
from tracker.keys import Bounds, InverseTemperature, Keys, Name, Number, Positive, Skew
from tracker.samplers.linear_step import linear_step
from tracker.samplers.state import (
    Recorded,
    begin_function,
    parts_of,
    record_function,
    recorded_of,
    set_skew,
    size_function,
    unpack_function,
)
from tracker.streams import draw_bits

if TYPE_CHECKING:
    from collections.abc import Callable

    from tracker.array_types import Array, Words
    from tracker.samplers.linear_step import LinearStep

_ONE = np.uint64(1)


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


def sampler(parameters: type, state: type) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return a decorator that makes a function the step of the kind with these parameters and this state."""

    def declare(function: Callable[..., None]) -> Callable[..., None]:
        step.register(parameters)(function)
        state_size.register(parameters)(size_function(state))
        unpack.register(parameters)(unpack_function(state))
        begin.register(parameters)(begin_function(state, parameters))
        if recorded_of(state):
            record_state.register(parameters)(record_function(state))
        if "resets" in parts_of(state):
            resets_of.register(parameters)(_count_resets)
        STATES[parameters] = state
        return function

    return declare


def _count_resets(sampler: Any, state: Any) -> float:
    return state.resets[0]


STATES: dict[type, type] = {}  # the declared state of each kind, by its parameters


def recorded_by(parameters: type) -> tuple[Recorded, ...]:
    """Return what the kind with these parameters records beside theta."""
    state = STATES.get(parameters)
    return () if state is None else recorded_of(state)


# --- shared algebra


@inlined
def langevin_move(theta: Array, S: Array, g: Array, w: Array, epsilon: float, noise: float) -> None:
    """Set theta to theta - epsilon (I + S) g + noise w."""
    for d in range(theta.size):
        drift = g[d]
        for e in range(theta.size):
            drift += S[d, e] * g[e]
        theta[d] = theta[d] + noise * w[d] - epsilon * drift


@inlined
def langevin_pair(plus: Array, minus: Array, state: Any, cost: Any, z: Array, w: Array, sampler: Any) -> None:
    """Move theta+ and theta- with the same z and w under S + mu Delta and S - mu Delta."""
    S, Delta, M, g = state.S, state.Delta, state.M, state.g
    mu = sampler.perturbation
    for d in range(plus.size):
        for e in range(plus.size):
            M[d, e] = S[d, e] + mu * Delta[d, e]
    gradient(cost, plus, z, g)
    langevin_move(plus, M, g, w, sampler.epsilon, sampler.noise)
    for d in range(plus.size):
        for e in range(plus.size):
            M[d, e] = S[d, e] - mu * Delta[d, e]
    gradient(cost, minus, z, g)
    langevin_move(minus, M, g, w, sampler.epsilon, sampler.noise)


@inlined
def descend_skew(S: Array, Delta: Array, difference: float, sampler: Any) -> None:
    """Set S(i, j) to S(i, j) - skew_step difference / (2 mu Delta(i, j)), i > j, projected."""
    quotient = sampler.skew_step * difference / (2.0 * sampler.perturbation)
    for i in range(S.shape[0]):
        for j in range(i):
            # Delta is +1 or -1: dividing by it is multiplying by it
            set_skew(S, i, j, S[i, j] - quotient * Delta[i, j], sampler.low, sampler.high)


@inlined
def reset_where(condition: Any, tangent: Array, resets: Array) -> None:
    """Set a derivative process to 0 where ``condition`` holds, and count it."""
    for index in np.ndindex(tangent.shape):
        tangent[index] = where(condition, 0.0, tangent[index])
    resets[0] += where(condition, 1.0, 0.0)


@inlined
def draw_perturbation(stream: Words, Delta: Array) -> None:
    """Fill Delta (N, N), skew, with independent signs below the diagonal, row by row, 64 from each draw of bits."""
    bits, left = _ONE, 0
    for i in range(Delta.shape[0]):
        for j in range(i):
            if left == 0:
                bits, left = draw_bits(stream), 64
            sign = where((bits & _ONE) == _ONE, 1.0, -1.0)
            bits >>= _ONE
            left -= 1
            Delta[i, j] = sign
            Delta[j, i] = -sign


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

    name: Name = Field(description="what it is called in results: letters, digits, _ and -")
    kind: str = Field(description="the kind of sampler")
    epsilon: Positive = Field(description="the step size")
    beta: InverseTemperature = Field(
        default=1.0, description='the inverse temperature; "inf" for plain stochastic gradient'
    )

    @property
    def noise(self) -> float:
        """The standard deviation sqrt(2 epsilon / beta) of the injected noise."""
        return float(np.sqrt(2.0 * self.epsilon / self.beta))

    @property
    def effective_step(self) -> float:
        """The step of the classical sampler that moves as fast."""
        return self.epsilon

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

    def build(self) -> Any:
        """Return the parameters for the kernels."""
        if self.parameters is None:
            raise TypeError("a kind of sampler names its parameters")
        return self.parameters(*(getattr(self, field) for field in self.parameters._fields))  # type: ignore[attr-defined]


class SkewKeys(SamplerKeys):
    """Samplers with a skew matrix: ``skew`` is a matrix, a number (N = 2), ``"random"`` or ``"optimal"``."""

    skew_is: ClassVar[SkewIs] = "fixed"
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
