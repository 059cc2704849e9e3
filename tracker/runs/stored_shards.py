"""The results of a shard of trials, as they are kept and joined."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from tracker.array_types import Array

    Arrays = dict[str, NDArray[Any]]


class Stored(NamedTuple):
    """The results of a shard, and the seconds that each contestant took."""

    arrays: Arrays
    seconds: Array


def join(shards: Iterable[Arrays]) -> Arrays:
    """Join shards along the trial axis; array by array, each forgotten once it is joined, so that no array is held twice."""
    parts = [dict(part) for part in shards]
    return {name: np.concatenate([part.pop(name) for part in parts]) for name in list(parts[0])}
