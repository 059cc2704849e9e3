"""Turn values into JSON types: nan becomes null, infinities become text."""

from __future__ import annotations

import math
from typing import Any


def jsonable(value: Any) -> Any:
    """Return ``value`` (dicts, lists, tuples, numpy arrays and scalars) in JSON's own types."""
    if isinstance(value, dict):
        return {str(key): jsonable(entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [jsonable(entry) for entry in value]
    if hasattr(value, "tolist"):
        return jsonable(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else ("inf" if value > 0 else "-inf")
    return value
