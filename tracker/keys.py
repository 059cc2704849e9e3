"""Strict types for the keys of a scenario file: numbers, vectors, matrices, names.

A boolean, a string, nan or inf is never a number; integers are accepted for floats. Each family of costs and kind of
samplers declares its keys with these types, in its own file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Annotated, Any, ClassVar, Literal, get_args

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, StringConstraints, TypeAdapter
from pydantic.functional_validators import AfterValidator, BeforeValidator

MAX_DIMENSION = 1000
SYMMETRY_TOLERANCE = 1e-12
LARGEST, SMALLEST = 1e30, 1e-30  # of numbers, and of positive numbers: beyond, squares and quotients overflow in places


class Keys(BaseModel):
    """A table of a scenario file: frozen, strict, closed."""

    model_config = ConfigDict(strict=True, frozen=True, extra="forbid", arbitrary_types_allowed=True)

    also_called: ClassVar[tuple[str, ...]] = ()  # what others call the family: told to who looks for it under that name

    @classmethod
    def key_names(cls) -> list[str]:
        """Return the keys that the table may have, as a file spells them."""
        return [field.alias or name for name, field in cls.model_fields.items()]


FROM_A_FILE = {"file": True}  # context of a validation: every key that is required must be there


def named_by_kind(table: type[BaseModel], word: str, data: Any, context: Any) -> Any:
    """Return the keys of an entry that a script makes, with the family and the name that a file would have to say."""
    if context or not isinstance(data, dict):
        return data
    says = get_args(table.model_fields[word].annotation)  # of Literal["langevin"]
    family = data.get(word, says[0] if says else None)
    return {**({} if family is None else {word: family, "name": family}), **data}


def meaning_of(table: type[BaseModel] | None, key: str) -> str:
    """Return what a key means: as the table says it, or a table that it extends."""
    for one in table.__mro__ if table is not None else ():
        field = one.model_fields.get(key) if issubclass(one, BaseModel) else None
        if field is not None and field.description:
            return field.description
    return ""


class Several(ValueError):
    """More than one thing is wrong; ``problems`` lists them."""

    def __init__(self, problems: Iterable[str]) -> None:
        self.problems = list(problems)
        super().__init__("; ".join(self.problems))


def together(*checks: Callable[[], object]) -> None:
    """Make all checks of a table, and raise what any of them find together."""
    problems: list[str] = []
    for check in checks:
        try:
            check()
        except ValueError as error:
            problems += getattr(error, "problems", [str(error)])
    if problems:
        raise Several(problems)


def number(value: Any) -> Any:
    """Return ``value`` as a float after checking that it is a finite number of a possible size."""
    if isinstance(value, bool) or not isinstance(value, (int, float, np.integer, np.floating)):
        raise ValueError("must be a number")  # noqa: TRY004  (pydantic collects ValueErrors only)
    try:
        number = float(value)
    except OverflowError:
        number = float("inf")
    if not np.isfinite(number):
        raise ValueError("must be a finite number")
    if abs(number) > LARGEST:
        raise ValueError(f"must be at most {LARGEST:g} in size")
    return number


def _not_tiny(value: float) -> float:
    if value < SMALLEST:
        raise ValueError(f"must be at least {SMALLEST:g}")
    return value


def _whole(value: Any) -> Any:
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
        way = f", written {int(value)}" if isinstance(value, float) and value.is_integer() else ""
        raise ValueError(f"must be a whole number{way}")  # noqa: TRY004  (pydantic collects ValueErrors only)
    return int(value)


def _rows(value: Any) -> Any:
    return value.tolist() if isinstance(value, np.ndarray) else value


def _list(value: Any) -> Any:
    value = _rows(value)
    return tuple(value) if isinstance(value, list) else value


Number = Annotated[float, Field(allow_inf_nan=False), BeforeValidator(number)]
Positive = Annotated[Number, Field(gt=0), AfterValidator(_not_tiny)]
Whole = Annotated[int, BeforeValidator(_whole)]
Count = Annotated[Whole, Field(ge=1, le=10**15)]
Step = Annotated[Whole, Field(ge=0, le=10**15)]
Name = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$")]
DottedName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$")]  # of modes and samplers
Vector = Annotated[tuple[Number, ...], BeforeValidator(_list), Field(min_length=1, max_length=MAX_DIMENSION)]
Series = Annotated[tuple[Number, ...], BeforeValidator(_list), Field(min_length=1, max_length=10**6)]


def _rectangular(rows: tuple[tuple[float, ...], ...]) -> tuple[tuple[float, ...], ...]:
    widths = {len(row) for row in rows}
    if len(widths) > 1:
        raise ValueError(f"has rows of different lengths {sorted(widths)}")
    return rows


Matrix = Annotated[
    tuple[Vector, ...],
    BeforeValidator(_list),
    Field(min_length=1, max_length=MAX_DIMENSION),
    AfterValidator(_rectangular),
]


def _infinite(value: Any) -> Any:
    if isinstance(value, str) and value == "inf":
        return float("inf")
    if isinstance(value, str) or (isinstance(value, float) and np.isposinf(value)):
        raise ValueError('must be a finite number, or "inf" as text')
    return number(value)


# beta = "inf" switches the injected noise off
InverseTemperature = Annotated[
    float,
    BeforeValidator(_infinite, json_schema_input_type=Literal["inf"] | Annotated[float, Field(gt=0)]),
    Field(gt=0),
    AfterValidator(_not_tiny),
]


def symmetric(matrix: Any, name: str, *, definite: bool) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Return ``matrix`` as an array after checking that it is symmetric and positive (semi-)definite."""
    array = np.array(matrix, dtype=float)
    if array.shape[0] != array.shape[1]:
        raise ValueError(f"{name}: a {array.shape[0]} x {array.shape[1]} matrix is not square")
    scale = float(np.abs(array).max())
    i, j = np.unravel_index(int(np.abs(array - array.T).argmax()), array.shape)
    if abs(array[i, j] - array[j, i]) > SYMMETRY_TOLERANCE * scale:
        raise ValueError(f"{name}: not symmetric: [{i}][{j}] = {array[i, j]:g} but [{j}][{i}] = {array[j, i]:g}")
    array = np.asarray((array + array.T) / 2, dtype=float)
    lowest = float(np.linalg.eigvalsh(array)[0])
    if definite and lowest < SMALLEST:
        raise ValueError(f"{name}: not positive definite: its smallest eigenvalue is {lowest:g}")
    if lowest < -SYMMETRY_TOLERANCE * scale:
        raise ValueError(f"{name}: not a covariance: its smallest eigenvalue is {lowest:g} < 0")
    return array


def _ordered(bounds: tuple[float, float]) -> tuple[float, float]:
    if not bounds[0] < bounds[1]:
        raise ValueError(f"the lower bound {bounds[0]:g} is not below the upper bound {bounds[1]:g}")
    return bounds


Bounds = Annotated[tuple[Number, Number], BeforeValidator(_list), AfterValidator(_ordered)]
CostObservation = Literal["next", "same"]


FORMS_OF_SKEW = 'a matrix (N lists of N numbers), a number (for N = 2), "random" or "optimal"'


def _skew(value: Any) -> Any:
    value = _rows(value)
    if isinstance(value, str):
        if value not in ("random", "optimal"):
            raise ValueError(f"must be {FORMS_OF_SKEW}")
        return value
    if not isinstance(value, (list, tuple)):
        return number(value)
    if not all(isinstance(_rows(row), (list, tuple)) for row in value):
        raise ValueError(f"must be {FORMS_OF_SKEW}, not a list of numbers")
    matrix = TypeAdapter(Matrix).validate_python(value)
    if len(matrix) != len(matrix[0]):
        raise ValueError(f"a {len(matrix)} x {len(matrix[0])} matrix is not square")
    for i, row in enumerate(matrix):
        for j, entry in enumerate(row[: i + 1]):
            if entry != -matrix[j][i]:
                raise ValueError(f"not skew: [{i}][{j}] = {entry:g} but [{j}][{i}] = {matrix[j][i]:g}")
    return matrix


# a matrix, a number s that means [[0, -s], [s, 0]], "random" or "optimal"
Skew = Annotated[
    Any, BeforeValidator(_skew, json_schema_input_type=Literal["random", "optimal"] | float | list[list[float]])
]
