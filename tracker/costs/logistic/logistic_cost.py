"""The keys of a logistic regression in a scenario file, and the parameters built from them.

Notes
-----
c(theta, i) = |theta|^2/(2 prior_variance) + T log(1 + exp(-label_i x_i'theta)), row i drawn at each step with equal
probabilities; ``rows`` has the formulas. x_i are the ``features`` of row i in the order given, standardised (mean
0, population standard deviation 1) unless ``standardize = false``, with a 1 behind them unless ``intercept = false``.
The column ``label`` has two values, of which the larger is +1. ``relabel`` makes another mode of the same rows:
``"flip"`` exchanges the labels, ``{ column = "c", threshold = t }`` makes them +1 where c > t and -1 elsewhere.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np
from pydantic import Field, model_validator

from tracker.costs.base import CostKeys
from tracker.costs.csv_rows import CsvFile
from tracker.costs.csv_table import DataTable
from tracker.costs.data_columns import (
    NEWTON_SAVES,
    Column,
    Columns,
    feature_rows,
    missing,
    own_rows,
    places,
    wrong_features,
)
from tracker.costs.logistic.rows import CLASSES, Logistic
from tracker.costs.row_order import MEANING, row_order
from tracker.costs.row_order import Rows as RowsKey
from tracker.keys import Count, Keys, Number, Positive, Several, together

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tracker.array_types import Array, Integers

__all__ = ["Logistic", "LogisticKeys"]


class Relabel(Keys):
    """Labels by a column: +1 above the threshold, -1 elsewhere."""

    column: Column = Field(description="the column that decides the label")
    threshold: Number = Field(description="the label is +1 above it")


class LogisticKeys(CostKeys):
    """Logistic regression on the rows of a CSV file beside the scenario, one row a step.

    ``data``, ``features``, ``label``, ``relabel`` (``"flip"``, or a column and threshold), ``intercept``,
    ``standardize``, ``prior_variance``, ``horizon`` = T, ``rows`` (``"random"``, ``"in-order"``, ``"shuffle"``).
    """

    files: ClassVar[tuple[str, ...]] = ("data",)

    cost: Literal["logistic"]
    also_called = ("classification", "classifier")
    data: CsvFile = Field(description="where observations come from")
    features: Columns = Field(description="the columns that theta weighs, in this order")
    label: Column = Field(description="the column with the two classes; the larger value is +1")
    relabel: Literal["flip"] | Relabel | None = Field(
        default=None,
        description='other labels for the same rows: "flip", or { column = "c", threshold = t } for +1 where c > t',
    )
    intercept: bool = Field(default=True, description="whether a constant 1 stands behind the features")
    standardize: bool = Field(
        default=True, description="whether each feature is shifted to mean 0 and scaled to standard deviation 1"
    )
    prior_variance: Positive = Field(
        description="the variance of the Gaussian prior: one number, or one for each coordinate"
    )
    horizon: Count = Field(description="the number T of observations that the posterior is made of")
    rows: RowsKey = Field(default="random", description=MEANING)

    @model_validator(mode="after")
    def _consistent(self) -> LogisticKeys:
        if problems := list(self._wrong_columns(self.data.table)):
            raise Several(problems)
        together(self.labels, self.feature_rows)
        self._own()
        return self

    def _own(self) -> Integers | None:
        return own_rows(self.data, self.name)

    @property
    def rows_order(self) -> str:
        """As the key says."""
        return self.rows

    @property
    def period(self) -> int:
        """The rows of the file, where they come in order."""
        return len(self.data.table.numbers) if self.rows == "in-order" else 1

    def _wrong_columns(self, table: DataTable) -> Iterator[str]:
        yield from wrong_features(self.features, self.data, self.label, "label")
        if isinstance(self.relabel, Relabel) and self.relabel.column not in table.columns:
            yield f"relabel: {missing(self.relabel.column, table)}"

    @property
    def dimension(self) -> int:
        """N."""
        return len(self.features) + int(self.intercept)

    def labels(self) -> Array:
        """Return the labels of this mode, shape (n,), +1 or -1."""
        column = self.data.table.column(self.label)
        values = np.unique(column)
        if values.size != CLASSES:
            raise ValueError(f'label: "{self.label}" has {values.size} different values, but a label has {CLASSES}')
        labels = np.where(column == values[1], 1.0, -1.0)
        if self.relabel == "flip":
            return -labels
        if isinstance(self.relabel, Relabel):
            labels = np.where(self.data.table.column(self.relabel.column) > self.relabel.threshold, 1.0, -1.0)
            if np.abs(labels.sum()) == labels.size:
                side = "above" if labels[0] > 0 else "at or below"
                raise ValueError(
                    f'relabel: all of "{self.relabel.column}" is {side} the threshold {self.relabel.threshold:g}'
                )
        return labels

    def feature_rows(self) -> Array:
        """Return x_1, ..., x_n, shape (n, N); modes on the same data share one array."""
        return feature_rows(self.data, self.features, intercept=self.intercept, standardize=self.standardize)

    def search_size(self) -> int:
        """Return the rows times the coefficients, as few as Newton's method needs."""
        return self.feature_rows().size // NEWTON_SAVES

    def build(self) -> Logistic:
        """Return the parameters for the kernels."""
        rows, labels, own = self.feature_rows(), self.labels(), self._own()
        order = row_order(self.rows, None if own is None else places(self.data))
        if own is not None:
            rows, labels = np.ascontiguousarray(rows[own]), np.ascontiguousarray(labels[own])
        return Logistic(rows, labels, 1.0 / self.prior_variance, float(self.horizon), order)
