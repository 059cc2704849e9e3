"""Count the visits of a path: how many there were, how long they lasted, where they led."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from tracker.array_types import Array, Booleans, Integers
from tracker.chain.dwell_laws import BILLIONTHS, DwellLaw, expected_ends

GEOMETRIC = DwellLaw()
EXPECTED = "expected_exits"  # the array that a run has only where the chance to leave depends on the age


def age_edges(a: ArrayLike) -> Integers:
    """First age of each bin of dwell ages, shape (B,); the last bin is open.

    Ages 1 to 4 stand alone, where a dwell that is off by one shows; then bins double
    until 16 times the longest mean dwell. They depend on `a` alone, so that counts of
    different blocks and trials add up.

    >>> from tracker import chain
    >>> chain.age_edges([0.5])
    array([ 1,  2,  3,  4,  5,  9, 17, 33])
    """
    exits = np.asarray(a, dtype=np.float64)
    if not np.any(exits > 0.0):
        return np.array([1], dtype=np.int64)
    oldest = min(16.0 / float(exits[exits > 0.0].min()), 2.0**62)
    doublings = range(2, max(3, int(oldest).bit_length()))
    return np.array([1, 2, 3, 4, *(2**n + 1 for n in doublings)], dtype=np.int64)


@dataclass(frozen=True, eq=False)
class DwellCounts:
    """Sufficient counts of the visits of a path; they add up over blocks and trials.

    Leading axes (trials) are allowed in front of every shape but that of `edges`.

    Attributes
    ----------
    edges : ndarray of int64, shape (B,)
        `age_edges`.
    jumps : ndarray of int64, shape (X, X)
        Jumps i -> j made by the chain.
    censored : ndarray of int64, shape (X,)
        Visits whose end was not seen.
    exits, at_risk : ndarray of int64, shape (X, B)
        Visits of mode i that ended at an age in the bin, and steps taken at such ages.
    expected : ndarray of int64, shape (X, B, 2), or None
        Where the chance to leave depends on the age: how many visits were to end at ages in the bin, and the variance of
        that number, in billionths.
    """

    edges: Integers
    jumps: Integers
    censored: Integers
    exits: Integers
    at_risk: Integers
    expected: Integers | None = None

    @property
    def steps(self) -> Integers:
        """n_i, shape (X,): transitions made by the chain from i, stays included."""
        return np.asarray(self.at_risk.sum(axis=-1))

    @property
    def completed(self) -> Integers:
        """Visits that the chain ended, shape (X,)."""
        return np.asarray(self.jumps.sum(axis=-1))

    def __add__(self, other: DwellCounts) -> DwellCounts:
        if not np.array_equal(self.edges, other.edges):
            raise ValueError(f"age bins differ: {self.edges} and {other.edges}")
        return DwellCounts(
            self.edges,
            self.jumps + other.jumps,
            self.censored + other.censored,
            self.exits + other.exits,
            self.at_risk + other.at_risk,
            None if self.expected is None or other.expected is None else self.expected + other.expected,
        )

    def pooled(self) -> DwellCounts:
        """The sum over a leading axis of trials."""
        return DwellCounts(
            self.edges,
            self.jumps.sum(axis=0),
            self.censored.sum(axis=0),
            self.exits.sum(axis=0),
            self.at_risk.sum(axis=0),
            None if self.expected is None else self.expected.sum(axis=0),
        )


def counts_of(arrays: Mapping[str, Integers], a: ArrayLike) -> DwellCounts:
    """The counts over all trials, from arrays with a leading axis of trials that bear the names of the counts.

    >>> import numpy as np
    >>> from tracker import chain
    >>> one = {"jumps": np.ones((1, 2, 2), int), "censored": np.zeros((1, 2), int)}
    >>> chain.counts_of({**one, "exits": np.ones((1, 2, 8), int), "at_risk": np.ones((1, 2, 8), int)}, [0.5, 0.5]).steps
    array([8, 8])
    """
    total = {name: arrays[name].sum(axis=0) for name in ("jumps", "censored", "exits", "at_risk")}
    expected = arrays.get(EXPECTED)
    return DwellCounts(age_edges(a), **total, expected=None if expected is None else expected.sum(axis=0))


def count_dwells(
    mode: Integers,
    length: Integers,
    completed: Booleans,
    target: Integers,
    edges: Integers,
    modes: int,
    trial: Integers | None = None,
    trials: int = 1,
    leaving: Array | None = None,
    law: DwellLaw = GEOMETRIC,
) -> DwellCounts:
    """Count S visits.

    Parameters
    ----------
    mode, length, target : ndarray of int64, shape (S,)
        Where, for how many steps, and where to. `target` is read where `completed`.
        A visit of no step (overruled at once) tells nothing and is left out.
    completed : ndarray of bool, shape (S,)
        Whether the chain ended the visit: l steps are then l transitions, the last of
        them the exit. A censored visit is known for its l - 1 stays only.
    edges : ndarray of int64, shape (B,)
    modes : int
        X.
    trial : ndarray of int64, shape (S,), optional
        Gives all counts a leading axis of size `trials`.
    leaving : ndarray, shape (X,), and law
        The chance a_i to leave, and the law of a visit: what is expected of visits whose chance to end depends on their age.

    Examples
    --------
    >>> import numpy as np
    >>> from tracker import chain
    >>> visits = np.array([0, 1]), np.array([3, 5]), np.array([True, False]), np.array([1, -1])
    >>> chain.count_dwells(*visits, chain.age_edges([0.2]), modes=2).jumps.tolist()
    [[0, 1], [0, 0]]
    """
    seen = (
        length - ~completed if not law.fixed else length * completed
    )  # how long a fixed visit lasts is seen at its end
    owner = mode if trial is None else trial * modes + mode
    shape = (modes,) if trial is None else (trials, modes)
    size, bins = int(np.prod(shape)), len(edges)

    def tally(key: Integers, width: int) -> Integers:
        return np.bincount(key, minlength=size * width).astype(np.int64)

    some = seen > 0
    bin_ = np.searchsorted(edges, seen[some], side="right") - 1
    cell = owner[some] * bins + bin_
    reached = tally(cell, bins).reshape(size, bins)
    beyond = reached[:, ::-1].cumsum(axis=1)[:, ::-1] - reached
    within = np.bincount(cell, seen[some] - edges[bin_] + 1, minlength=size * bins)
    at_risk = within.astype(np.int64).reshape(size, bins)
    at_risk[:, :-1] += beyond[:, :-1] * np.diff(edges)
    return DwellCounts(
        edges=edges,
        jumps=tally((owner * modes + target)[completed], modes).reshape(*shape, modes),
        censored=tally(owner[~completed & (length > 0)], 1).reshape(shape),
        exits=tally(cell[completed[some]], bins).reshape(*shape, bins),
        at_risk=at_risk.reshape(*shape, bins),
        expected=None
        if law.is_geometric or leaving is None
        else _expected(seen[some], cell, beyond, at_risk, edges, np.asarray(leaving), law).reshape(*shape, bins, 2),
    )


def _expected(
    seen: Integers,
    cell: Integers,
    beyond: Integers,
    at_risk: Integers,
    edges: Integers,
    leaving: Array,
    law: DwellLaw,
) -> Integers:
    """How many of the visits, seen for ``seen`` steps, were to end in each bin, and the variance, (owners x bins, 2) in billionths.

    ``cell``: the bin of the last age seen, of the visit's owner; ``beyond`` (owners, bins): visits that outlasted the bin.
    """
    size, bins = beyond.shape
    total = np.zeros((size * bins, 2), dtype=np.int64)
    if law.fixed:  # certain: only whole visits are counted, 1 / a_i steps each, and nothing varies
        total[:, 0] = np.round(BILLIONTHS * at_risk * np.tile(leaving, size // len(leaving))[:, None]).ravel()
        return total
    oldest = max(int(seen.max(initial=1)), int(edges[-1]))
    starts = np.append(edges, edges[-1]) - 1
    for i, a in enumerate(leaving):
        sums = expected_ends(min(law.shape * float(a), 1.0), law.shape, oldest)
        own = cell // bins % len(leaving) == i
        bin_ = cell[own] % bins
        rows = np.arange(size) % len(leaving) == i
        for c, (at_start, at_end) in enumerate(zip(sums.up_to(starts), sums.up_to(seen[own]), strict=True)):
            part = np.round(BILLIONTHS * (at_end - at_start[bin_])).astype(np.int64)
            np.add.at(total[:, c], cell[own], part)
            whole = np.round(BILLIONTHS * np.diff(at_start)).astype(np.int64)
            total.reshape(size, bins, 2)[rows, :, c] += beyond[rows] * whole
    return total
