"""Types of arrays, as annotations everywhere name them."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[np.float64]
Integers: TypeAlias = NDArray[np.int64]
Words: TypeAlias = NDArray[np.uint64]
Booleans: TypeAlias = NDArray[np.bool_]
Arrays: TypeAlias = dict[str, NDArray[Any]]
