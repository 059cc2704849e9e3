"""The keys of a regression in a scenario file, and the parameters built from them.

Notes
-----
c(theta, (phi, y)) = loss(y - phi'theta) + ridge |theta|^2 / 2. Regressors are drawn (``truth``, ``regressor_covariance``,
``noise_variance``) or stored (``data``, ``features``, ``response``, ...): one of the two.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field, model_validator

from tracker.costs.base import CostKeys
from tracker.costs.csv_rows import CsvFile
from tracker.costs.data_columns import NEWTON_SAVES, Column, Columns, feature_rows, own_rows, places, wrong_features
from tracker.costs.gaussian_noise import noise_factor
from tracker.costs.noise_memory import Memory
from tracker.costs.regression.gaussian_regressors import AbsoluteDrawn, HuberDrawn, SquaredDrawn
from tracker.costs.regression.stored_regressors import AbsoluteStored, HuberStored, SquaredStored
from tracker.costs.row_order import MEANING, row_order
from tracker.costs.row_order import Rows as RowsKey
from tracker.keys import Matrix, Number, Positive, Several, Vector, symmetric

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tracker.array_types import Array

LOSSES = {
    "squared": (SquaredDrawn, SquaredStored),
    "huber": (HuberDrawn, HuberStored),
    "absolute": (AbsoluteDrawn, AbsoluteStored),
}
DRAWN = ("truth", "regressor_covariance", "noise_variance")
OF_DRAWN = (*DRAWN, "regressor_memory")
STORED = ("data", "features", "response")
OF_STORED = (*STORED, "intercept", "standardize", "rows")


class RegressionKeys(CostKeys):
    """Linear regression whose coefficients are theta: least mean squares, and its robust relatives.

    ``loss`` (``"squared"``, ``"huber"`` with ``threshold``, ``"absolute"``), ``ridge``; either Gaussian regressors: ``truth``,
    ``regressor_covariance``, ``noise_variance``; or the rows of a CSV file beside the scenario: ``data``, ``features``,
    ``response``, ``intercept``, ``standardize``, ``rows`` (``"random"``, ``"in-order"``, ``"shuffle"``).
    """

    files: ClassVar[tuple[str, ...]] = ("data",)

    cost: Literal["regression"]
    also_called = ("linear", "lms", "least-squares", "huber")
    loss: Literal["squared", "huber", "absolute"] = Field(
        default="squared",
        description='what a residual r costs: "squared" r^2/2 (LMS), "huber", or "absolute" |r| (sign-error LMS)',
    )
    threshold: Positive | None = Field(
        default=None, description='beyond this residual the loss "huber" is a straight line; for "huber" only'
    )
    ridge: Annotated[Number, Field(ge=0)] = Field(default=0.0, description="adds ridge |theta|^2 / 2 to the cost")
    truth: Vector | None = Field(default=None, description="the coefficients that observations are drawn with")
    regressor_covariance: Number | Matrix | None = Field(
        default=None, description="the covariance of Gaussian regressors, or one variance for all of them"
    )
    noise_variance: Annotated[Number, Field(ge=0)] | None = Field(
        default=None, description="the variance of the noise in y = phi'truth + noise"
    )
    regressor_memory: Memory = Field(
        default=0.0,
        description="the correlation of a Gaussian regressor with that of the next step (an AR(1)), the same in all modes; 0: drawn afresh",
    )
    data: CsvFile | None = Field(default=None, description="where observations come from")
    features: Columns | None = Field(default=None, description="the columns that theta weighs, in this order")
    response: Column | None = Field(default=None, description="the column that is to be predicted")
    intercept: bool = Field(default=True, description="whether a constant 1 stands behind the features")
    standardize: bool = Field(
        default=True, description="whether each feature is shifted to mean 0 and scaled to standard deviation 1"
    )
    rows: RowsKey = Field(default="random", description=MEANING)

    @model_validator(mode="after")
    def _consistent(self) -> RegressionKeys:
        if problems := [*self._wrong_threshold(), *self._wrong_source()]:
            raise Several(problems)
        if self.stored:
            self._check_rows()
        else:
            self.covariance()
        return self

    def _wrong_threshold(self) -> Iterator[str]:
        if self.loss == "huber" and self.threshold is None:
            yield 'threshold: missing: the loss "huber" needs one'
        if self.loss != "huber" and self.threshold is not None:
            yield f'threshold: {self.threshold:g} is for the loss "huber", and this one is "{self.loss}"'

    def _wrong_source(self) -> Iterator[str]:
        drawn = [key for key in OF_DRAWN if key in self.model_fields_set]
        stored = [key for key in OF_STORED if key in self.model_fields_set]
        if drawn and stored:
            yield f"{stored[0]}: is for stored rows, and {drawn[0]} for drawn regressors: give one of the two"
        elif not (drawn or stored):
            yield f"truth: missing: give {', '.join(DRAWN)}, or {', '.join(STORED)} for the rows of a file"
        else:
            needed = DRAWN if drawn else STORED
            yield from (
                f"{key}: missing: goes with {(drawn or stored)[0]}" for key in needed if getattr(self, key) is None
            )

    @property
    def stored(self) -> bool:
        """Whether regressors are rows of a file."""
        return self.data is not None

    def _check_rows(self) -> None:
        assert self.data is not None and self.features is not None and self.response is not None  # noqa: PT018
        if problems := list(wrong_features(self.features, self.data, self.response, "response")):
            raise Several(problems)
        rows = self.feature_rows()
        if self.ridge == 0.0 and np.linalg.matrix_rank(rows) < rows.shape[1]:
            raise ValueError("features: some of them are combinations of others: leave them out, or give a ridge")

    def feature_rows(self) -> Array:
        """Return x_1, ..., x_n, shape (n, N); modes on the same data share one array."""
        assert self.data is not None and self.features is not None  # noqa: PT018
        return feature_rows(self.data, self.features, intercept=self.intercept, standardize=self.standardize)

    def covariance(self) -> Array:
        """Return R, the covariance of drawn regressors."""
        given, N = self.regressor_covariance, self.dimension
        if given is None or isinstance(given, float):
            if not (given or 0.0) > 0.0:
                raise ValueError(f"regressor_covariance: a variance of {given} is not positive")
            return float(given or 0.0) * np.eye(N)
        R = symmetric(given, "regressor_covariance", definite=True)
        if len(R) != N:
            raise ValueError(f"regressor_covariance: {len(R)} x {len(R)}, but truth has {N} coordinates")
        return R

    @property
    def rows_order(self) -> str:
        """As the key says."""
        return self.rows

    @property
    def period(self) -> int:
        """The rows of the file, where they come in order."""
        return len(self.data.table.numbers) if self.data is not None and self.rows == "in-order" else 1

    @property
    def dimension(self) -> int:
        """N."""
        return len(self.truth) if self.truth is not None else len(self.features or ()) + int(self.intercept)

    @property
    def quadratic(self) -> bool:
        """Whether theory knows all moments: the squared loss of Gaussian regressors that are drawn afresh."""
        return self.loss == "squared" and not self.stored and self.regressor_memory == 0.0

    @property
    def remembered(self) -> tuple[str, float, int]:
        """The regressors, where they have a memory."""
        return "regressor_memory", self.regressor_memory, self.dimension if self.regressor_memory != 0.0 else 0

    @property
    def has_hessian(self) -> bool:
        """Whether the Hessian of one observation means anything."""
        return self.loss != "absolute"

    @property
    def why_no_hessian(self) -> str:
        """What to tell a sampler that needs one."""
        return 'loss: "absolute" has no Hessian (it is 0 almost everywhere)'

    def search_size(self) -> int:
        """Return the rows times the coefficients of stored data, as few as Newton's method needs."""
        return self.feature_rows().size // NEWTON_SAVES if self.stored else 0

    def build(self) -> Any:
        """Return the parameters for the kernels."""
        drawn, stored = LOSSES[self.loss]
        threshold = self.threshold if self.threshold is not None else 0.0
        if self.stored:
            assert self.data is not None and self.response is not None  # noqa: PT018
            rows, y, own = self.feature_rows(), self.data.table.column(self.response), own_rows(self.data, self.name)
            order = row_order(self.rows, None if own is None else places(self.data))
            if own is not None:
                rows, y = rows[own], y[own]
            return stored(np.ascontiguousarray(rows), np.ascontiguousarray(y), self.ridge, threshold, order)
        R = self.covariance()
        return drawn(
            np.array(self.truth, dtype=float),
            R,
            noise_factor(R),
            float(self.noise_variance or 0.0),
            self.ridge,
            threshold,
            self.regressor_memory,
        )
