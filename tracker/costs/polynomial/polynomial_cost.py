"""The keys of a polynomial cost in a scenario file, and the parameters built from them.

Notes
-----
C(theta) = p(u), u = basis theta (u = theta without ``basis``), c(theta, z) = C(theta) + z'theta, z ~ N(0, Sigma).
``monomials`` evaluates p and its derivatives.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
from pydantic import BeforeValidator, Field, model_validator

from tracker.costs.base import CostKeys, GradientNoise, noise_covariance
from tracker.costs.gaussian_noise import noise_factor
from tracker.costs.noise_memory import NoiseMemory, remembered_by
from tracker.costs.one_form import in_form_of
from tracker.costs.polynomial.common_terms import in_common_terms
from tracker.costs.polynomial.monomials import PolynomialCost, PolynomialInBasis, Terms
from tracker.costs.polynomial.products import multiplied_out
from tracker.keys import MAX_DIMENSION, Matrix, together

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tracker.array_types import Array
    from tracker.costs.polynomial.expanded import Polynomial

__all__ = ["PolynomialCost", "PolynomialInBasis", "PolynomialKeys"]

SINGULAR = 1e12  # condition number of a basis that counts as not invertible


def _tuple(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


Variables = Annotated[tuple[str, ...], BeforeValidator(_tuple), Field(min_length=1, max_length=MAX_DIMENSION)]


class PolynomialKeys(CostKeys):
    """Any polynomial: ``variables``, ``formula``, ``gradient_noise``, and ``basis`` (the formula is in u = basis theta)."""

    cost: Literal["polynomial"]
    variables: Variables = Field(description='the names of the coordinates of theta, e.g. ["a", "b"]')
    formula: str = Field(description="the cost as a polynomial in the variables: numbers, + - * / ^ and parentheses")
    gradient_noise: GradientNoise = None
    files = ("gradient_noise",)
    noise_memory: NoiseMemory = 0.0
    basis: Matrix | None = Field(default=None, description="the formula is in u = basis @ theta")

    @model_validator(mode="after")
    def _consistent(self) -> PolynomialKeys:
        together(
            self._check_formula,
            lambda: _check_basis(self.basis, self.dimension),
            lambda: noise_covariance(self.gradient_noise, self.dimension),
        )
        return self

    def _check_formula(self) -> None:
        multiplied_out(self.formula, self.variables)

    @property
    def dimension(self) -> int:
        """N."""
        return len(self.variables)

    @property
    def remembered(self) -> tuple[str, float, int]:
        """The noise, where it has a memory."""
        return remembered_by(self.noise_memory, self.gradient_noise, self.dimension)

    def search_size(self) -> int:
        """Return the terms times the variables."""
        return multiplied_out(self.formula, self.variables).exponents.size

    def average(self, weights: Sequence[float], modes: Sequence[CostKeys]) -> PolynomialKeys | None:
        """Return the sum of the formulas, each times its weight; None unless all are in the same variables."""
        formulas = []
        for weight, keys in zip(weights, modes, strict=True):
            if not isinstance(keys, PolynomialKeys) or (keys.variables, keys.basis) != (self.variables, self.basis):
                return None
            formulas.append(f"{float(weight):.17f}*({keys.formula})")
        return self.model_copy(update={"formula": " + ".join(formulas)})

    def build(self) -> Any:
        """Return the parameters for the kernels."""
        N = self.dimension
        basis = np.eye(N) if self.basis is None else np.array(self.basis, dtype=float)
        family = PolynomialCost if self.basis is None else PolynomialInBasis
        return family(
            terms=_terms_of(self.formula, self.variables),
            noise=noise_factor(noise_covariance(self.gradient_noise, N)),
            basis=basis,
            scale=np.abs(np.linalg.inv(basis)) @ _reach(self.formula, self.variables),
            memory=self.noise_memory,
        )


def _check_basis(given: Matrix | None, dimension: int) -> None:
    if given is None:
        return
    basis = np.array(given, dtype=float)
    if basis.shape != (dimension, dimension):
        raise ValueError(f"basis: {basis.shape[0]} x {basis.shape[1]}, but there are {dimension} variables")
    if not np.linalg.cond(basis) < SINGULAR:
        raise ValueError(f"basis: not invertible: its smallest singular value is {np.linalg.svd(basis)[1][-1]:g}")


in_form_of.register(PolynomialCost)(in_common_terms)


@lru_cache(maxsize=16)
def _terms_of(formula: str, variables: tuple[str, ...]) -> Terms:
    """Return the formula with its derivatives; modes with one formula share the arrays."""
    p, N = multiplied_out(formula, variables), len(variables)
    slopes = [p.derivative(d) for d in range(N)]
    return _terms([p, *slopes, *(slopes[d].derivative(e) for d in range(N) for e in range(d + 1))])


def _terms(polynomials: Sequence[Polynomial]) -> Terms:
    """Return the sparse form of several polynomials."""
    exponents = np.concatenate([p.exponents for p in polynomials])
    column = np.broadcast_to(np.arange(exponents.shape[1]), exponents.shape)
    return Terms(
        rows=np.cumsum([0, *(len(p.coefficients) for p in polynomials)], dtype=np.int64),
        coefficients=np.concatenate([p.coefficients for p in polynomials]).astype(float),
        starts=np.concatenate([[0], np.cumsum(exponents.sum(axis=1))]).astype(np.int64),
        factors=np.repeat(column.ravel(), exponents.ravel()).astype(np.int64),
    )


@lru_cache(maxsize=1000)
def _reach(formula: str, variables: tuple[str, ...]) -> Array:
    """Return how far from 0, in each coordinate (N,), minimisers are to be looked for; the points of a sweep share it.

    On the ray r v a minimiser is a root of d/dr p(r v). The largest roots along the axes and along fixed random
    directions v are taken, with half as much again; a coordinate without any gets a tenth of the others.
    """
    p, N = multiplied_out(formula, variables), len(variables)
    random = np.random.Generator(np.random.SFC64(0)).standard_normal((64, N))
    directions = np.concatenate([np.eye(N), random / np.linalg.norm(random, axis=1, keepdims=True)])
    degrees = p.exponents.sum(axis=1)
    term, variable = np.nonzero(p.exponents)
    reach = np.zeros(N)
    for v in directions:
        monomials = p.coefficients.copy()
        np.multiply.at(monomials, term, v[variable] ** p.exponents[term, variable])
        along = np.bincount(degrees, monomials, minlength=2)
        slope = np.polynomial.polynomial.polyder(along)
        slope[np.abs(slope) <= 1e-12 * np.abs(slope).max()] = 0.0  # rounding must not invent a far root
        roots = np.roots(slope[::-1])
        size = np.abs(roots[np.abs(roots.imag) <= 1e-3 * np.abs(roots)]).max(initial=0.0)
        reach = np.maximum(reach, size * np.abs(v))
    return 1.5 * np.maximum(reach, 0.1 * reach.max() if reach.any() else 1.0)
