"""The contract of a cost: the functions that samplers, the engine and theory call.

A cost is a ``NamedTuple`` of parameters (floats and C-contiguous arrays, which all threads share and nobody writes to).
``value``, ``gradient`` and, for Algorithm 1, ``hessian`` are registered for its type; all else has a default. At step k the
cost hands out an observation z, and c(theta, z) is unbiased: E c(theta, z) = C(theta), the ``expected`` cost.
A cost chooses between numbers of a trial with ``where`` (tracker.compiled), not with ``if``: then trials may go side by side.
What theory may know of a cost it asks in ``facts.py``; nobody asks for a type.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Self

import numpy as np
from pydantic import Field, ValidationInfo, model_validator

from tracker.compiled import generic, generic_with_default
from tracker.costs.matrix_keys import SymmetricMatrix, matrix_of
from tracker.keys import DottedName, Keys, Positive, named_by_kind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tracker.array_types import Array, Words


SELDOM = 17  # steps between two looks at a cost that takes long: few enough for averages, a prime against accidents


@generic
def value(cost: Any, theta: Array, z: Array) -> float:  # type: ignore[empty-body]
    """Return c(theta, z)."""


@generic
def gradient(cost: Any, theta: Array, z: Array, out: Array) -> None:
    """Write the gradient of c(., z) at theta to ``out`` (N,)."""


@generic
def hessian(cost: Any, theta: Array, z: Array, out: Array) -> None:
    """Write the Hessian of c(., z) at theta to ``out`` (N, N)."""


@generic_with_default
def has_hessian(cost: Any) -> bool:
    """Tell whether ``hessian`` may be asked (interpreted only)."""
    return hessian.defined_for(type(cost))


@generic_with_default
def observation_size(cost: Any) -> int:
    """Return the length of an observation z."""
    return 0


@generic_with_default
def observe(cost: Any, k: int, count: int, stream: Words, out: Array) -> None:
    """Write the observations of steps k, ..., k + count - 1 to the rows of ``out`` (>= count, >= observation_size)."""
    return


@generic_with_default
def memory_size(cost: Any) -> int:
    """Return how many numbers observations remember from one step to the next; 0 where they are drawn afresh."""
    return 0


@generic_with_default
def observe_on(cost: Any, k: int, count: int, stream: Words, memory: Array, out: Array) -> None:
    """Write the observations of steps k, ..., k + count - 1 to ``out``, as ``observe`` does, going on from ``memory``.

    The memory is one for all modes of a world, and is that of step k - 1; step 0 begins it.
    """
    observe(cost, k, count, stream, out)


@generic_with_default
def expected(cost: Any, theta: Array) -> float:
    """Return C(theta) = E c(theta, z)."""
    return value(cost, theta, np.zeros(max(1, observation_size(cost))))


@generic_with_default
def expected_gradient(cost: Any, theta: Array, out: Array) -> None:
    """Write the gradient of C at theta to ``out`` (N,)."""
    gradient(cost, theta, np.zeros(max(1, observation_size(cost))), out)


@expected_gradient.where_own(expected)
def _by_differences(cost: Any, theta: Array, out: Array) -> None:
    """Where C was written down, and its gradient not: z = 0 need not give it. Central differences of order 4."""
    point = theta.copy()
    for d in range(theta.size):
        h = 1e-3 * (1.0 + abs(theta[d]))
        slope = 0.0
        for far, weight in ((1.0, 8.0), (2.0, -1.0)):
            point[d] = theta[d] + far * h
            slope += weight * expected(cost, point)
            point[d] = theta[d] - far * h
            slope -= weight * expected(cost, point)
        point[d] = theta[d]
        out[d] = slope / (12.0 * h)


@generic_with_default
def correct(cost: Any, theta: Array) -> float:
    """Return the share of the labels that theta gets right, a tie being half right; 0 where there are none."""
    return 0.0


@generic_with_default
def expected_of_each(cost: Any, thetas: Array) -> Array:
    """Return ``expected`` for each of ``thetas`` (n, N), shape (n,): a cost with many rows does it at once (interpreted only)."""
    return np.array([expected(cost, theta) for theta in thetas])


@generic_with_default
def right_shares(cost: Any, thetas: Array) -> Array:
    """Return ``correct`` for each of ``thetas`` (n, N), shape (n,), at once; empty where a cost does not tell (interpreted only)."""
    return np.empty(0)


@generic_with_default
def classes(cost: Any) -> int:
    """Return how many different labels ``correct`` looks at; 0 where the cost classifies nothing (interpreted only)."""
    return 0


@generic_with_default
def cost_every(cost: Any) -> int:
    """Return every how many steps ``expected`` and ``correct`` are asked for (interpreted only).

    1 where they take less than a tenth of a step of the classical sampler, else ``SELDOM``. It is declared, not timed: what a
    run measures must not depend on the machine.
    """
    return SELDOM


@generic_with_default
def period(cost: Any) -> int:
    """Return after how many steps the observations repeat themselves; 1 where they never do (interpreted only)."""
    return 1


@generic_with_default
def one_at_a_time(cost: Any) -> bool:
    """Tell whether it is worded for one trial only: then trials do not go side by side (interpreted only)."""
    return False


@generic_with_default
def measure_size(cost: Any, dimension: int) -> int:
    """Return the length of what ``measure`` writes."""
    return dimension


@generic_with_default
def measure(cost: Any, theta: Array, out: Array) -> None:
    """Write the coordinates of theta in which distances to a minimiser are taken."""
    for d in range(theta.size):
        out[d] = theta[d]


@generic_with_default
def twins(cost: Any, point: Array) -> Array:
    """Return, as rows, all points of the ``measure`` space that stand for the same parameter as ``point``."""
    return point[np.newaxis]


@generic_with_default
def stored_observations(cost: Any) -> Array | None:
    """Return all observations as rows, where they are stored and equally likely, else None (interpreted only)."""
    return None


@generic_with_default
def known_minimisers(cost: Any) -> Array | None:
    """Return the global minimisers of C as rows where they are known in closed form, else None (interpreted only)."""
    return None


@generic_with_default
def search_region(cost: Any, start: Array) -> tuple[Array, Array]:
    """Return a centre (N,) and a scale (N,) that cover where minimisers may be (interpreted only)."""
    return start, 3.0 * np.maximum(1.0, np.abs(start))


# --- what a scenario file says of a mode


class Target(Keys):
    """The set around the minimisers that counts as re-acquired."""

    radius: Positive = Field(description="how near to a global minimiser counts as re-acquired")


class CostKeys(Keys):
    """The keys that every [[modes]] table has, and what they tell before anything is built.

    ``files`` are the keys that may name a data file beside the scenario, as text or as { file = ... }.
    """

    files: ClassVar[tuple[str, ...]] = ()

    name: DottedName = Field(description="what it is called in results: letters, digits, _, - and .")
    cost: str = Field(description="the family of the cost function")
    target: Target | None = Field(
        default=None, description="the set around the minimisers that counts as re-acquired: { radius = r }"
    )

    @model_validator(mode="before")
    @classmethod
    def _named(cls, data: Any, info: ValidationInfo) -> Any:
        return named_by_kind(cls, "cost", data, info.context)

    @property
    def dimension(self) -> int:
        """N."""
        raise TypeError("a family of costs says its dimension")

    def build(self) -> Any:
        """Return the parameters for the kernels."""
        raise TypeError("a family of costs builds its parameters")

    @property
    def quadratic(self) -> bool:
        """Whether ``as_quadratic`` knows what is built."""
        return False

    @property
    def has_hessian(self) -> bool:
        """Whether ``hessian`` is registered for what is built."""
        return True

    @property
    def why_no_hessian(self) -> str:
        """What a sampler that needs a Hessian is told where there is none."""
        return "has no hessian"

    @property
    def rows_order(self) -> str:
        """In which order stored rows are seen: "random", "in-order" or "shuffle"; "random" where there are none."""
        return "random"

    @property
    def no_distance(self) -> str:
        """Why the distance to a minimiser says nothing of how good theta is; empty where it does."""
        return ""

    @property
    def predicts(self) -> bool:
        """Whether rows are predicted before they are learnt from: they come in an order of their own."""
        return self.rows_order != "random"

    @property
    def remembered(self) -> tuple[str, float, int]:
        """The key that gives observations a memory, its value, and how many numbers are remembered; 0 for none."""
        return "", 0.0, 0

    @property
    def period(self) -> int:
        """After how many steps the observations repeat themselves; 1 where they never do."""
        return 1

    def average(self, weights: Sequence[float], modes: Sequence[CostKeys]) -> CostKeys | None:  # noqa: ARG002
        """Return the mode whose cost is sum_i weights[i] C_i of ``modes``; None where the family cannot write it down."""
        return None

    def draw_from_prior(self, rng: np.random.Generator) -> tuple[Array, Self] | None:  # noqa: ARG002
        """Return a parameter drawn from the prior, and the same mode with data drawn from it; None without a prior."""
        return None

    def search_size(self) -> int:
        """Return how many terms a gradient looks at while minimisers are searched for; 0 where they need no search."""
        return 0


GradientNoise = Annotated[
    SymmetricMatrix,
    Field(
        description="the covariance of the gradient noise: a matrix, a list (its diagonal), one variance for all coordinates, "
        'or { file = "NAME.csv" } with N lines of N numbers'
    ),
]


def noise_covariance(noise: Any, dimension: int) -> Array:
    """Return the covariance that ``gradient_noise`` means."""
    if noise is None:
        return np.zeros((dimension, dimension))
    return matrix_of(noise, "gradient_noise", dimension, definite=False)
