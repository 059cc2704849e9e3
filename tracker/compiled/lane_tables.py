"""Modes for trials side by side: each lane holds the numbers of the mode that its trial is in.

What all modes share stays as it is, once for all lanes; of the rest there is a row of numbers for each mode (``LaneTable``), and
``in_modes`` sees a room of lanes, into which the rows are written, as a tuple of the mode's own type.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tracker.compiled.packed_tuples import leaves_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

OWN, COMMON = 0, None  # a leaf of the tuple that modes have of their own, as floats, or share
MOST_NUMBERS = 32_768  # of a mode: lanes of them still fit in a second-level cache


class LaneTable(NamedTuple):
    """Rows of numbers for lanes.

    width : as many zeros as there are lanes; rows : (X, P), what each mode has of its own; pattern : OWN or COMMON for each
    leaf; places : for each leaf that is OWN where it begins in a row, and its axes
    """

    width: tuple[int, ...]
    rows: NDArray[np.float64]
    pattern: tuple[int | None, ...]
    places: NDArray[np.int64]


def lane_table(tuples: Sequence[Any], count: int) -> LaneTable | None:
    """Return the table of ``tuples`` for ``count`` lanes; None where they are not alike enough to stand side by side."""
    leaves = [list(leaves_of(one)) for one in tuples]
    first = leaves[0]
    if any(len(one) != len(first) for one in leaves):
        return None
    pattern: list[int | None] = []
    places: list[int] = []
    columns: list[NDArray[np.float64]] = []
    end = 0
    for column in zip(*leaves, strict=True):
        pattern.append(COMMON if len(tuples) == 1 or _are_one(column) else OWN)
        if len({(np.shape(leaf), np.asarray(leaf).dtype) for leaf in column}) > 1:
            return None
        if pattern[-1] is COMMON:
            continue
        if np.asarray(column[0]).dtype != np.float64:  # sizes, choices, structures: lanes cannot differ in them
            if any(not np.array_equal(leaf, column[0]) for leaf in column):
                return None
            pattern[-1] = COMMON
            continue
        places += [end, *np.shape(column[0])]
        columns.append(np.array([np.ravel(leaf) for leaf in column]))
        end += columns[-1].shape[1]
        if end > MOST_NUMBERS:
            return None
    rows = np.concatenate(columns, axis=1) if columns else np.zeros((len(tuples), 0))
    return LaneTable((0,) * count, np.ascontiguousarray(rows), tuple(pattern), np.array(places or [0], dtype=np.int64))


def _are_one(column: Sequence[Any]) -> bool:
    return isinstance(column[0], np.ndarray) and all(leaf is column[0] for leaf in column)


def in_modes(mode: Any, room: Any, table: LaneTable) -> Any:
    """Return ``mode``, a tuple, with lanes of ``room`` (P, L) in place of what modes have of their own (compiled only)."""
    raise NotImplementedError


def as_lanes(array: Any, width: tuple[int, ...]) -> Any:
    """View an array (..., L) without gaps as an array (...) of lanes, as many as ``width`` has entries (compiled only)."""
    raise NotImplementedError
