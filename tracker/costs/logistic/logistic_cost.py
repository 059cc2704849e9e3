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

from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import BeforeValidator, Field, StringConstraints, model_validator

from tracker.costs.base import CostKeys
from tracker.costs.csv_rows import CsvFile, DataTable
from tracker.costs.logistic.rows import CLASSES, Logistic
from tracker.keys import MAX_DIMENSION, Count, Keys, Number, Positive, Several, together

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tracker.array_types import Array

__all__ = ["Logistic", "LogisticKeys"]


def _tuple(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


Column = Annotated[str, StringConstraints(min_length=1, max_length=200)]
Columns = Annotated[tuple[Column, ...], BeforeValidator(_tuple), Field(min_length=1, max_length=MAX_DIMENSION - 1)]


class Relabel(Keys):
    """Labels by a column: +1 above the threshold, -1 elsewhere."""

    column: Column = Field(description="the column that decides the label")
    threshold: Number = Field(description="the label is +1 above it")


class LogisticKeys(CostKeys):
    """Logistic regression on the rows of a CSV file beside the scenario, one random row a step.

    ``data``, ``features``, ``label``, ``relabel`` (``"flip"``, or a column and threshold), ``intercept``,
    ``standardize``, ``prior_variance``, ``horizon`` = T.
    """

    files: ClassVar[tuple[str, ...]] = ("data",)

    cost: Literal["logistic"]
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

    @model_validator(mode="after")
    def _consistent(self) -> LogisticKeys:
        if problems := list(self._wrong_columns(self.data.table)):
            raise Several(problems)
        together(self.labels, self.rows)
        return self

    def _wrong_columns(self, table: DataTable) -> Iterator[str]:
        for index, name in enumerate(self.features):
            if name not in table.columns:
                yield f"features[{index}]: {_missing(name, table)}"
            if name in self.features[:index]:
                yield f'features[{index}]: "{name}" is there twice'
            if name == self.label:
                yield f'features[{index}]: "{name}" is the label, which is to be predicted'
        if self.label not in table.columns:
            yield f"label: {_missing(self.label, table)}"
        if isinstance(self.relabel, Relabel) and self.relabel.column not in table.columns:
            yield f"relabel: {_missing(self.relabel.column, table)}"

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

    def rows(self) -> Array:
        """Return x_1, ..., x_n, shape (n, N); modes on the same data share one array."""
        key = (self.features, self.intercept, self.standardize)
        known = self.data.derived
        if key not in known:
            known[key] = self._rows()
        return np.asarray(known[key])

    def _rows(self) -> Array:
        columns = []
        for index, name in enumerate(self.features):
            x = self.data.table.column(name)
            if self.standardize:
                deviation = float(x.std())
                if not deviation > 1e-12 * float(np.abs(x).max()):
                    raise ValueError(
                        f'features[{index}]: "{name}" is constant: set standardize = false, or leave it out'
                    )
                x = (x - x.mean()) / deviation
            columns.append(x)
        if self.intercept:
            columns.append(np.ones(len(columns[0])))
        return np.ascontiguousarray(np.array(columns).T)

    def search_size(self) -> int:
        """Return the rows times the coefficients."""
        return self.rows().size

    def build(self) -> Logistic:
        """Return the parameters for the kernels."""
        return Logistic(self.rows(), self.labels(), 1.0 / self.prior_variance, float(self.horizon))


def _missing(name: str, table: DataTable) -> str:
    some = ", ".join(table.columns[:12]) + (", ..." if len(table.columns) > 12 else "")
    return f'no column "{name}" in the data (there are: {some})'
