"""The column of a data file that says which mode holds at each row: text, which the rest of the file is not."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tracker.array_types import Integers


class RegimeColumn(NamedTuple):
    """The names in the column, by their first appearance, and the number of the name of each row, shape (n,)."""

    names: tuple[str, ...]
    code: Integers

    def own_rows(self, name: str) -> Integers:
        """Return the rows with this name."""
        return (
            np.flatnonzero(self.code == self.names.index(name)) if name in self.names else np.zeros(0, dtype=np.int64)
        )

    def places(self) -> Integers:
        """Return for each row its place among those of the same name, shape (n,)."""
        order, counts = np.argsort(self.code, kind="stable"), np.bincount(self.code)
        out = np.zeros(len(self.code), dtype=np.int64)
        out[order] = np.arange(len(self.code)) - np.repeat(np.cumsum(counts) - counts, counts)
        return out

    def switches(self) -> tuple[tuple[int, str], ...]:
        """Return from which row on which name holds."""
        first = np.flatnonzero(np.diff(self.code, prepend=-1) != 0)
        return tuple((int(k), self.names[self.code[k]]) for k in first)
