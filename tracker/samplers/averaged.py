"""A running average around any sampler, with a constant rate of forgetting.

Notes
-----
With theta_{k+1} the next point of the inner sampler, bar_0 = theta_0 (Polyak and Juditsky, 1992, average all points; a constant
rate, so that old ones are forgotten: Yin, Krishnamurthy and Ion, 2003):

    bar_{k+1} = (1 - rate) bar_k + rate theta_{k+1}

The output is bar. On quadratic costs the pair (bar, theta) is linear where the inner sampler is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple

import numpy as np
from pydantic import Field

from tracker.keys import Positive
from tracker.samplers.base import idle, sampler, step, switched
from tracker.samplers.linear_step import linear_step
from tracker.samplers.state import carried, nested
from tracker.samplers.wrapper_keys import WrapperKeys

if TYPE_CHECKING:
    from tracker.array_types import Array, Words
    from tracker.samplers.linear_step import LinearStep


class Averaged(NamedTuple):
    """Parameters: those of the inner sampler, and the rate."""

    inner: Any
    rate: float


class State(NamedTuple):
    """The average, and the state of the inner sampler."""

    theta: Array = carried("N")
    inner: Any = nested()


@sampler(Averaged, State)
def _step(sampler: Averaged, state: State, cost: Any, k: int, z: Array, w: Array, streams: Words) -> None:
    bar, theta, rate = state.theta, state.inner.theta, sampler.rate
    step(sampler.inner, state.inner, cost, k, z, w, streams)
    for d in range(bar.size):
        bar[d] = (1.0 - rate) * bar[d] + rate * theta[d]


@idle.register(Averaged)
def _idle(sampler: Averaged, state: State, cost: Any, k: int, streams: Words) -> None:
    idle(sampler.inner, state.inner, cost, k, streams)


@switched.register(Averaged)
def _switched(sampler: Averaged, state: State, k: int) -> None:
    switched(sampler.inner, state.inner, k)


class AveragedKeys(WrapperKeys):
    """A running average of any sampler: ``sampler`` and the ``rate`` at which old points are forgotten."""

    kind: Literal["averaged"]
    also_called = ("polyak", "polyak-ruppert", "averaging")
    parameters = Averaged
    rate: Annotated[Positive, Field(le=1)] = Field(description="the weight of the newest point in the average")

    def build(self) -> Averaged:
        """Return the parameters for the kernels."""
        return Averaged(self.inner.build(), self.rate)

    def linear(self, epsilon: float, S: Array) -> LinearStep | None:
        """The state is (bar, u), u that of the inner sampler, theta its first N; what moves u moves bar by rate times as much.

        As epsilon -> 0 at this rate, bar becomes theta: in the limit all that moves theta moves bar alike, and the pull between the
        two, which then has nothing to do, is that of the sampler's own epsilon.
        """
        within = self.inner.linear(epsilon, S)
        if within is None:
            return None
        n, N = within.gain.shape
        eye, theta = np.eye(N), np.eye(N, n)
        rate, pull = (1.0, self.rate / self.epsilon) if epsilon == 0.0 else (self.rate, self.rate / epsilon)
        follow = np.vstack([rate * theta, np.eye(n)])
        return linear_step(
            gain=follow @ within.gain,
            heat=follow @ within.heat @ follow.T,
            drift=np.vstack([pull * np.hstack([-eye, theta]), np.zeros((n, N + n))])
            + follow @ within.drift @ np.eye(n, N + n, N),
            reads=np.hstack([np.zeros((N, N)), within.reads]),
            begins=np.vstack([eye, within.begins]),
            smooth=False,
        )
