"""The results of a shard of trials, as they are kept and joined."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tracker.regular_files import read_regular
from tracker.runs.array_shapes import reason_impossible
from tracker.runs.file_names import SHARDS, shard_name
from tracker.runs.npz import most_bytes, unpack_arrays
from tracker.runs.run_identity import sha256

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from numpy.typing import NDArray

    from tracker.array_types import Array
    from tracker.runs.array_shapes import Shapes
    from tracker.runs.journal import Entry
    from tracker.scenario import Scenario

    Arrays = dict[str, NDArray[Any]]


class Stored(NamedTuple):
    """The results of a shard, and the seconds that each contestant took."""

    arrays: Arrays
    seconds: Array


def read_shard(path: Path, entry: Entry, scenario: Scenario, expected: Shapes, trials: range) -> Arrays:
    """Return the arrays of ``trials`` of the run in ``path`` that a line of its journal tells of.

    ``OSError`` where the file cannot be read, ``ValueError`` where it is another than the journal says, or holds what no
    run of ``scenario`` leaves: only what has the ``expected`` shapes is unpacked.
    """
    data = read_regular(path / SHARDS / shard_name(entry.shard), most_bytes(expected))
    if sha256(data) != entry.sha256:
        raise ValueError("other bytes than the journal says")
    arrays = unpack_arrays(data, expected)
    if (reason := reason_impossible(scenario, arrays, trials)) is not None:
        raise ValueError(reason)
    return arrays


def join(shards: Iterable[Arrays]) -> Arrays:
    """Join shards along the trial axis; array by array, each forgotten once it is joined, so that no array is held twice."""
    parts = [dict(part) for part in shards]
    return {name: np.concatenate([part.pop(name) for part in parts]) for name in list(parts[0])}
