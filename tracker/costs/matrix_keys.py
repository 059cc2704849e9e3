"""A symmetric matrix in a scenario file: all of it, its diagonal, one number times I, or a file of its numbers.

However it is spelt, the same matrix gives the same path: all spellings become one array.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from pydantic import BeforeValidator, PlainValidator, TypeAdapter

from tracker.costs.csv_rows import DataFile, plain_name
from tracker.costs.csv_table import numbers_in
from tracker.keys import MAX_DIMENSION, SMALLEST, Keys, Matrix, Vector, number, symmetric

if TYPE_CHECKING:
    from tracker.array_types import Array

FORMS = 'must be a matrix, a list (its diagonal), a number (times I) or { file = "NAME.csv" }'


def _matrix_file(value: Any) -> DataFile:
    file = plain_name(value)
    try:
        _numbers(file)
    except ValueError as error:
        raise ValueError(f"{file}: {error}") from None
    return file


def _numbers(file: DataFile) -> Array:
    """Return the numbers of a file without a row of names; read once, however many modes use them."""
    if "matrix" not in file.derived:
        if file.content is None:
            raise ValueError(file.problem)
        rows = numbers_in(file.content)
        if len(rows) != rows.shape[1]:
            raise ValueError(f"{len(rows)} lines of {rows.shape[1]} numbers are no square matrix")
        if len(rows) > MAX_DIMENSION:
            raise ValueError(f"{len(rows)} lines are too many, at most {MAX_DIMENSION}")
        file.derived["matrix"] = rows
    return np.asarray(file.derived["matrix"])


class MatrixFile(Keys):
    """A file beside the scenario with N lines of N numbers."""

    file: Annotated[DataFile, PlainValidator(_matrix_file, json_schema_input_type=str)]

    @property
    def numbers(self) -> Array:
        """What the file holds, shape (N, N)."""
        return _numbers(self.file)


def _matrix(value: Any) -> Any:
    value = value.tolist() if isinstance(value, np.ndarray) else value
    if value is None or isinstance(value, MatrixFile):
        return value
    if isinstance(value, dict):
        if set(value) != {"file"}:
            raise ValueError(FORMS)
        return MatrixFile.model_validate(value)
    if isinstance(value, (list, tuple)):
        nested = any(isinstance(entry, (list, tuple)) for entry in value)
        return (_MATRIX if nested else _VECTOR).validate_python(value)
    if isinstance(value, (bool, str)):
        raise ValueError(FORMS)  # noqa: TRY004  (pydantic collects ValueErrors only)
    return number(value)


_MATRIX: TypeAdapter[Any] = TypeAdapter(Matrix)
_VECTOR: TypeAdapter[Any] = TypeAdapter(Vector)
_INPUT = float | list[float] | list[list[float]] | dict[str, str]
SymmetricMatrix = Annotated[Any, BeforeValidator(_matrix, json_schema_input_type=_INPUT)]


def matrix_of(given: Any, name: str, dimension: int, *, definite: bool) -> Array:
    """Return the matrix that the key ``name`` means, shape (N, N), after checking that it is positive (semi-)definite."""
    counted = f"minimum has {dimension} coordinates" if definite else f"theta has {dimension}"
    if isinstance(given, float):
        given = (given,) * dimension
    if isinstance(given, tuple) and not isinstance(given[0], tuple):
        if len(given) != dimension:
            raise ValueError(f"{name}: {len(given)} numbers, but {counted}")
        lowest = min(given)
        if lowest < 0.0 or (definite and lowest < SMALLEST):
            what = f"not positive definite: its smallest eigenvalue is {lowest:g}"
            raise ValueError(f"{name}: {what if definite else f'a variance of {lowest:g} is negative'}")
        return np.diag(np.array(given, dtype=float))
    if isinstance(given, MatrixFile) and len(given.numbers) == dimension:
        derived = given.file.derived  # judged once, however many modes use it
        if ("symmetric", definite) not in derived:
            derived["symmetric", definite] = symmetric(given.numbers, name, definite=definite)
        return np.asarray(derived["symmetric", definite])
    array = given.numbers if isinstance(given, MatrixFile) else symmetric(given, name, definite=definite)
    if len(array) != dimension:
        raise ValueError(f"{name}: {len(array)} x {len(array)}, but {counted}")
    return array


def diagonal_if_long(matrix: Array) -> Array:
    """Return the diagonal as one row where the matrix is square, has many columns and nothing beside it; else the matrix."""
    many = len(matrix) == matrix.shape[1] >= MANY_COORDINATES
    if many and np.count_nonzero(matrix) == np.count_nonzero(np.diag(matrix)):
        return np.ascontiguousarray(np.diag(matrix)[np.newaxis])
    return matrix


def whole_matrix(stored: Array, dimension: int) -> Array:
    """Return the matrix of which ``diagonal_if_long`` stored perhaps only the diagonal."""
    return np.diag(stored[0]) if len(stored) == 1 < dimension else np.asarray(stored)


MANY_COORDINATES = 8  # from here on a product with a diagonal matrix is worth its own loop
