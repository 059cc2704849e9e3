"""The keys of a mixture in a scenario file, its stored data, and the parameters built from them.

Notes
-----
c(theta, y) = -log prior(theta) - T log p(y | theta), normalising constants kept; ``likelihood`` has the formulas.
Stored data are listed in ``observations``, or drawn: rng = default_rng(data_seed);
component = rng.integers(0, 2, size=T); y = means[component] @ truth + sqrt(variance) * rng.standard_normal(T).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
from pydantic import BeforeValidator, Field, model_validator

from tracker.costs.base import CostKeys
from tracker.costs.mixture import observations, posterior_law
from tracker.costs.mixture.likelihood import SHUFFLE, STREAM, SWEEP, FullMixture, Mixture
from tracker.keys import MAX_DIMENSION, Count, Matrix, Positive, Series, Several, Vector, Whole, together

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tracker.array_types import Array

__all__ = ["FullMixture", "Mixture", "MixtureKeys", "observations", "posterior_law"]  # the last two register

MAX_DATA = 10**5
COMPONENTS = 2

# The true law by the trapezoidal rule around each component, in units of sqrt v. The integrand is analytic in a strip
# of half-width pi v/|q - p|, so the error is about exp(-2 pi^2 sqrt(v)/(h |q - p|)); measured at theta = truth, for
# |q - p| from 0.7 to 14 sqrt v: below 1e-12 of the cost. Gauss-Hermite with as many nodes was off by up to 5e-9.
_OUTSIDE = 10.0  # times the reach of the prior
_SPACING, _REACH = 0.1, 8.6


def _spread(value: Any) -> Any:
    return tuple(value) if isinstance(value, (list, tuple, np.ndarray)) else (value,)


# one number for all coordinates, or one for each
Variances = Annotated[
    tuple[Positive, ...],
    BeforeValidator(_spread),
    Field(min_length=1, max_length=MAX_DIMENSION),
]


class MixtureKeys(CostKeys):
    """Two Gaussians whose means depend on theta, with a Gaussian prior: the paper's Examples 1 and 2.

    ``means`` (2 rows), ``variance``, ``prior_mean``, ``prior_variance`` (one number, or one for each coordinate),
    ``horizon`` = T, ``data``, and ``truth``, ``observations``, ``data_seed`` as ``data`` needs them.
    """

    cost: Literal["mixture"]
    also_called = ("gaussian-mixture",)
    means: Matrix = Field(description="two rows: y is around means[0]'theta or means[1]'theta")
    variance: Positive = Field(description="the variance of each component of the mixture")
    prior_mean: Vector = Field(description="the mean of the Gaussian prior")
    prior_variance: Variances = Field(
        description="the variance of the Gaussian prior: one number, or one for each coordinate"
    )
    horizon: Count = Field(description="the number T of observations that the posterior is made of")
    data: Literal["stream", "sweep", "shuffle", "full"] = Field(description="where observations come from")
    truth: Vector | None = Field(default=None, description="the parameter that observations are drawn from")
    observations: Series | None = Field(default=None, description="the stored observations")
    data_seed: Annotated[Whole, Field(ge=0, lt=2**63)] | None = Field(
        default=None, description="the seed of stored observations that are drawn from the truth"
    )

    @model_validator(mode="after")
    def _consistent(self) -> MixtureKeys:
        together(self._check_sizes, self._one_source_of_data)
        return self

    def _check_sizes(self) -> None:
        if problems := list(self._wrong_sizes()):
            raise Several(problems)

    def _wrong_sizes(self) -> Iterator[str]:
        if len(self.means) != COMPONENTS:
            yield f"means: {len(self.means)} rows, but a mixture has {COMPONENTS} components, one row each"
        for key, entries in (("prior_mean", self.prior_mean), ("truth", self.truth)):
            if entries is not None and len(entries) != self.dimension:
                yield f"{key}: {len(entries)} numbers, but the rows of means have {self.dimension}"
        if len(self.prior_variance) not in (1, self.dimension):
            yield (
                f"prior_variance: {len(self.prior_variance)} numbers, but it takes one, "
                f"or as many as the rows of means, {self.dimension}"
            )

    def _one_source_of_data(self) -> None:
        if self.data == "stream":
            if self.truth is None:
                raise ValueError('truth: missing, but data = "stream" draws each observation from it')
            for key in ("observations", "data_seed"):
                if getattr(self, key) is not None:
                    raise ValueError(f'{key}: of no use with data = "stream", which stores no data')
        elif self.observations is not None:
            if self.data_seed is not None:
                raise ValueError("data_seed: of no use beside observations: give one of the two")
            if len(self.observations) != self.horizon:
                raise ValueError(f"horizon: {self.horizon}, but there are {len(self.observations)} observations")
        elif self.data_seed is None or self.truth is None:
            raise ValueError(
                f'data = "{self.data}" needs observations, or data_seed and truth to draw them; '
                f"missing: {'truth' if self.data_seed is not None else 'data_seed'}"
            )
        elif self.horizon > MAX_DATA:
            raise ValueError(f"horizon: {self.horizon} observations are too many to store, at most {MAX_DATA}")

    @property
    def dimension(self) -> int:
        """N."""
        return len(self.means[0])

    def stored_data(self) -> Array:
        """Return the stored observations, shape (T,), or none for a stream."""
        if self.data == "stream":
            return np.empty(0)
        if self.observations is not None:
            return np.array(self.observations, dtype=float)
        return self._drawn(np.array(self.truth, dtype=float), np.random.default_rng(self.data_seed))

    def _drawn(self, truth: Array, rng: np.random.Generator) -> Array:
        component = rng.integers(0, 2, size=self.horizon)
        clean = np.array(self.means, dtype=float)[component] @ truth
        return np.ascontiguousarray(clean + np.sqrt(self.variance) * rng.standard_normal(self.horizon))

    @property
    def period(self) -> int:
        """T where the stored data are swept over."""
        return self.horizon if self.data == "sweep" else 1

    def draw_from_prior(self, rng: np.random.Generator) -> tuple[Array, MixtureKeys] | None:
        """Return a parameter of the prior, and the mode with T observations drawn from it; None for a stream."""
        if self.data == "stream":
            return None
        mean = np.array(self.prior_mean, dtype=float)
        deviation = np.sqrt(np.broadcast_to(np.array(self.prior_variance, dtype=float), mean.shape))
        truth = mean + deviation * rng.standard_normal(mean.size)
        stored = tuple(self._drawn(truth, rng).tolist())
        return truth, self.model_copy(update={"observations": stored, "data_seed": None, "truth": None})

    def search_size(self) -> int:
        """Return the observations, or the nodes that stand for a stream of them, times the coordinates."""
        nodes = 2 * round(2 * _REACH / _SPACING) if self.data == "stream" else self.horizon
        return nodes * self.dimension

    def build(self) -> Any:
        """Return the parameters for the kernels."""
        means = np.array(self.means, dtype=float)
        prior_mean = np.array(self.prior_mean, dtype=float)
        prior_variance = np.broadcast_to(np.array(self.prior_variance, dtype=float), prior_mean.shape).copy()
        data = self.stored_data()
        centres = np.zeros(2)
        scale = 3.0 * np.sqrt(prior_variance)
        if self.truth is not None:
            truth = np.array(self.truth, dtype=float)
            centres = means @ truth
            scale = np.maximum(scale, np.abs(truth - prior_mean))
        if data.size:
            scale = _reaching(data, means, prior_mean, scale)
        if self.data == "stream":
            nodes, weights = _quadrature(centres, float(np.sqrt(self.variance)))
            weights = self.horizon * weights
        else:
            nodes, weights = data, np.ones(data.size)
        family = FullMixture if self.data == "full" else Mixture
        return family(
            means=means,
            prior_mean=prior_mean,
            precision=1.0 / prior_variance,
            constant=float(
                0.5 * np.log(2.0 * np.pi * prior_variance).sum()
                + self.horizon * (np.log(2.0) + 0.5 * np.log(2.0 * np.pi * self.variance))
            ),
            half_precision=0.5 / self.variance,
            slope=self.horizon / self.variance,
            horizon=float(self.horizon),
            source={"stream": STREAM, "sweep": SWEEP, "shuffle": SHUFFLE, "full": SWEEP}[self.data],
            centres=centres,
            deviation=float(np.sqrt(self.variance)),
            nodes=nodes,
            weights=weights,
            data=data,
            scale=scale,
        )


def _reaching(data: Array, means: Array, prior_mean: Array, scale: Array) -> Array:
    """Return ``scale``, larger where the components can only meet the ends of the data far outside it."""
    ends = np.array([[data.min(), data.max()], [data.max(), data.min()]]).T
    away = np.abs(np.linalg.lstsq(means, ends, rcond=None)[0].T - prior_mean).max(axis=0)
    return np.where(away > _OUTSIDE * scale, away, scale)


def _quadrature(centres: Array, deviation: float) -> tuple[Array, Array]:
    """Return nodes and weights (sum 1) that integrate against N(centres[0], v)/2 + N(centres[1], v)/2."""
    steps = round(_REACH / _SPACING)
    x = _SPACING * np.arange(-steps, steps + 1)
    weights = np.exp(-0.5 * x * x)
    weights /= 2.0 * weights.sum()
    return np.concatenate([c + deviation * x for c in centres]), np.concatenate([weights, weights])
