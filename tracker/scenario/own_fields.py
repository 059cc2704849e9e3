"""The fields of a user's own NamedTuple: their declared types, and the values that a file or a script gives them."""

from __future__ import annotations

import math
import sys
from typing import Any

import numpy as np
from pydantic import TypeAdapter, ValidationError

from tracker.keys import Number, Whole


def field_types(own: type) -> dict[str, Any]:
    """Return the declared type of each field; None where the annotation names what is not there when the code runs."""
    names = vars(sys.modules[own.__module__]) if own.__module__ in sys.modules else {}
    return {key: _resolved(hint, names) for key, hint in own.__annotations__.items()}


def _resolved(hint: Any, names: dict[str, Any]) -> Any:
    text = getattr(hint, "__forward_arg__", hint)
    if not isinstance(text, str):
        return hint
    simple = {"float": float, "int": int, "bool": bool, "str": str}
    return simple.get(text) or names.get(text)


def field_value(kind: Any, given: Any) -> Any:
    """Return ``given`` as kernels want it: floats, whole numbers, arrays of floats that nobody writes to."""
    if kind is bool:
        if not isinstance(given, (bool, np.bool_)):
            raise ValueError("must be true or false")
        return bool(given)
    if kind is str:
        if not isinstance(given, str):
            raise ValueError("must be text")
        return given
    if kind is int:
        return _checked(Whole, given)
    if kind is float:
        return given if _is_infinite(given) else _checked(Number, given)
    if isinstance(given, (list, np.ndarray)):
        return _array(given)
    if isinstance(given, tuple):
        return read_only(given)
    if isinstance(given, (bool, int, float, np.number)):
        return given if isinstance(given, bool) or _is_infinite(given) else _checked(Number, given)
    raise ValueError("must be a number, or a list of numbers")


def _is_infinite(given: Any) -> bool:
    return isinstance(given, (float, np.floating)) and bool(np.isinf(given))


def _checked(kind: Any, given: Any) -> Any:
    try:
        return TypeAdapter(kind).validate_python(given)
    except ValidationError as error:
        raise ValueError(str(error.errors()[0]["ctx"]["error"])) from None


def _array(given: Any) -> Any:
    try:
        array = np.ascontiguousarray(given)
        array = array if array.dtype.kind in "iub" and isinstance(given, np.ndarray) else array.astype(np.float64)
    except (ValueError, TypeError):
        raise ValueError("must hold numbers only, in rows of equal length") from None
    return read_only(array)


def read_only(value: Any) -> Any:
    """Return views that cannot be written to: all threads share them."""
    if isinstance(value, np.ndarray):
        view = value.view()
        view.flags.writeable = False
        return view
    if isinstance(value, tuple):
        items = map(read_only, value)
        return value._make(items) if hasattr(value, "_make") else type(value)(items)
    return value


def _shown_number(value: float) -> float | str:
    """Return a number as a table holds it: infinity is text."""
    return "inf" if math.isinf(value) else value


def as_flat(entry: Any) -> dict[str, Any]:
    """Return the fields of a tuple that was handed over, as its table holds them."""
    return {
        key: _shown_number(float(item)) if isinstance(item, (float, np.floating)) else item
        for key, item in zip(entry._fields, entry, strict=True)
    }
