"""The table [drift]: a motion of all landscapes together, beside the jumps of the chain."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from tracker.costs.gaussian_noise import noise_factor
from tracker.keys import Keys, Matrix, Number, Positive, Several, Vector, symmetric

if TYPE_CHECKING:
    from tracker.array_types import Array

NEEDED = {"random-walk": ("covariance",), "sinusoid": ("amplitude", "period"), "ramp": ("velocity",)}
ALLOWED = {**NEEDED, "sinusoid": ("amplitude", "period", "phase")}


class Drift(Keys):
    """The cost at step k is c(theta - d_k, z), d_0 = 0: all minimisers move by d_k."""

    kind: Literal["random-walk", "sinusoid", "ramp"] = Field(
        description='"random-walk": d_{k+1} = d_k + N(0, covariance); "sinusoid": d_k = amplitude (sin(2 pi k/period + phase) '
        '- sin(phase)); "ramp": d_k = k velocity'
    )
    covariance: Number | Matrix | None = Field(
        default=None, description="of a step of the random walk: a matrix, or one variance for all coordinates"
    )
    amplitude: Vector | None = Field(default=None, description="of the sinusoid, by coordinate")
    period: Positive | None = Field(default=None, description="of the sinusoid, in steps")
    phase: Number = Field(default=0.0, description="of the sinusoid at step 0, in radians")
    velocity: Vector | None = Field(default=None, description="of the ramp per step, by coordinate")

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        given = self.model_fields_set - {"kind"}
        problems = [f'{key}: missing: kind = "{self.kind}" needs it' for key in NEEDED[self.kind] if key not in given]
        problems += [f'{key}: is not for kind = "{self.kind}"' for key in sorted(given - set(ALLOWED[self.kind]))]
        if problems:
            raise Several(problems)
        if isinstance(self.covariance, float) and self.covariance < 0.0:
            raise ValueError(f"covariance: a variance of {self.covariance:g} is negative")
        if isinstance(self.covariance, tuple):
            symmetric(self.covariance, "covariance", definite=False)
        return self

    @property
    def dimension(self) -> int | None:
        """N, where the table says it."""
        along = self.amplitude or self.velocity or (self.covariance if isinstance(self.covariance, tuple) else None)
        return None if along is None else len(along)

    def covariance_in(self, dimension: int) -> Array:
        """Return the covariance of a step of the random walk, shape (N, N); 0 for another kind."""
        if self.covariance is None:
            return np.zeros((dimension, dimension))
        if isinstance(self.covariance, float):
            return self.covariance * np.eye(dimension)
        return np.array(self.covariance, dtype=float)

    def factor_in(self, dimension: int) -> Array:
        """Return F (N, rank) with F F' the covariance of a step; rank 0 for another kind."""
        return noise_factor(self.covariance_in(dimension)) if self.covariance is not None else np.zeros((dimension, 0))

    def reach(self, dimension: int, steps: int) -> float:
        """Return how far the landscape goes, about, in any coordinate."""
        spread = 10.0 * float(np.sqrt(steps * self.covariance_in(dimension).diagonal().max()))
        return spread + 2.0 * max(map(abs, self.amplitude or (0.0,))) + steps * max(map(abs, self.velocity or (0.0,)))
