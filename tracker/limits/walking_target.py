"""The matrices of a linear sampler on landscapes that drift by a random walk: d_{k+1} = d_k + N(0, steps).

Notes
-----
docs/mathematics, "Drift". The cost is a function of theta - d. Either theta - d takes the place of theta, which gets the steps
of the walk, negative, as noise of its own, and so does each part of the state that begins at theta: all places are told relative
to d; or d is one more part of the state, which the gradient is taken relative to.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tracker.samplers.linear_step import LinearStep

if TYPE_CHECKING:
    from collections.abc import Callable

    from tracker.array_types import Array

    Form = Callable[[float, Array], LinearStep]


def relative_to_walk(form: Form, steps: Array) -> Form:
    """Return the matrices of a sampler whose theta is told relative to d; ``steps`` (N, N) is the covariance of a step of d."""

    def relative(epsilon: float, S: Array) -> LinearStep:
        step = form(epsilon, S)
        return step._replace(heat=step.heat + step.begins @ _per_time(steps, epsilon) @ step.begins.T)

    return relative


def beside_walk(form: Form, steps: Array) -> Form:
    """Return the matrices of a sampler whose state ends with d, which begins at 0."""
    N = len(steps)

    def beside(epsilon: float, S: Array) -> LinearStep:
        step = form(epsilon, S)
        n = len(step.gain)
        heat = np.pad(step.heat, (0, N))
        heat[n:, n:] = _per_time(steps, epsilon)
        return LinearStep(
            gain=np.vstack([step.gain, np.zeros((N, N))]),
            heat=heat,
            drift=np.pad(step.drift, (0, N)),
            reads=np.hstack([step.reads, -np.eye(N)]),
            begins=np.vstack([step.begins, np.zeros((N, N))]),
            smooth=step.smooth,
        )

    return beside


def _per_time(steps: Array, epsilon: float) -> Array:
    """Heat is a covariance over epsilon; a walk with given steps has none in the limit, where nobody asks for it."""
    return steps / epsilon if epsilon > 0.0 else np.zeros_like(steps)
