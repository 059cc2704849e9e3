"""Columns of a data file as regressors: which ones, in which order, standardised or not, with or without a constant."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from pydantic import BeforeValidator, Field, StringConstraints

from tracker.keys import MAX_DIMENSION

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tracker.array_types import Array, Integers
    from tracker.costs.csv_rows import DataFile
    from tracker.costs.csv_table import DataTable

COLUMNS_SHOWN = 12
NEWTON_SAVES = 20  # a search looks at all rows some 4,000 times, Newton's method on a convex cost at most 200 times


def _tuple(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


Column = Annotated[str, StringConstraints(min_length=1, max_length=200)]
Columns = Annotated[tuple[Column, ...], BeforeValidator(_tuple), Field(min_length=1, max_length=MAX_DIMENSION - 1)]


def wrong_features(features: tuple[str, ...], data: DataFile, predicted: str, role: str) -> Iterator[str]:
    """Say what is wrong with ``features``; ``predicted`` is the column that is to be predicted, ``role`` its key."""
    table = data.table
    for name in dict.fromkeys((*features, predicted)):
        if name in table.words:
            yield f"data: {data}: {table.words[name]}"
    for index, name in enumerate(features):
        if name not in table.columns:
            yield f"features[{index}]: {missing(name, table)}"
        if name in features[:index]:
            yield f'features[{index}]: "{name}" is there twice'
        if name == predicted:
            yield f'features[{index}]: "{name}" is the {role}, which is to be predicted'
    if predicted not in table.columns:
        yield f"{role}: {missing(predicted, table)}"


def missing(name: str, table: DataTable) -> str:
    """Say that there is no such column."""
    more = ", ..." if len(table.columns) > COLUMNS_SHOWN else ""
    return f'no column "{name}" in the data (there are: {", ".join(table.columns[:COLUMNS_SHOWN])}{more})'


def feature_rows(data: DataFile, features: tuple[str, ...], *, intercept: bool, standardize: bool) -> Array:
    """Return x_1, ..., x_n, shape (n, N); modes on the same data share one array."""
    key = (features, intercept, standardize)
    if key not in data.derived:
        data.derived[key] = _feature_rows(data.table, features, intercept=intercept, standardize=standardize)
    return np.asarray(data.derived[key])


def _feature_rows(table: DataTable, features: tuple[str, ...], *, intercept: bool, standardize: bool) -> Array:
    rows = np.ones((len(table.numbers), len(features) + int(intercept)))
    for index, name in enumerate(features):
        x = table.column(name)
        if standardize:
            deviation = float(x.std())
            if not deviation > 1e-12 * float(np.abs(x).max()):
                raise ValueError(f'features[{index}]: "{name}" is constant: set standardize = false, or leave it out')
            x = (x - x.mean()) / deviation
        rows[:, index] = x
    return rows


def own_rows(data: DataFile, mode: str) -> Integers | None:
    """Return the rows whose regime is ``mode``; None where no column says so, and all rows are the mode's."""
    regimes = data.regimes
    if regimes is None:
        return None
    own = regimes.own_rows(mode)
    if own.size == 0:
        raise ValueError(f'name: no row of {data} has "{mode}" in its column "{data.regime}"')
    return own


def places(data: DataFile) -> Integers | None:
    """Return for each row of the file its place among those of its regime."""
    return None if data.regimes is None else data.regimes.places()
