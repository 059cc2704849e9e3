"""Find the global minimisers of a mode's expected cost: in closed form, or by a deterministic search from many starts.

Notes
-----
Starting points: the start of the run, the centre of the cost's ``search_region``, and the first points of a Kronecker
sequence in the box centre +- scale: fixed, so the same scenario always has the same minimisers. From each, BFGS in
the coordinates (theta - centre)/scale. A cost whose lowest end lies in its rounding errors is refused. The share of
descents that end where no other did estimates the chance that the next one finds a new well (Good and Turing): while it
is large, the search goes on, to 1024 descents. Then the lowest ends take over coordinates of the others, one by one, as long as that leads to new ends as low: where wells come in all
combinations of signs, their number grows faster than any number of starting points. The ends that may win are polished
by Newton's method with a Hessian of central differences of the exact gradient, to about 1e-9 in theta (1e-5 where the
Hessian is singular). Minimisers are the ends whose cost is within tolerance (1 + |lowest|) of the lowest. Nothing can
prove that a smooth function has no deeper well; ``settled`` tells whether the search found nothing new in the end. Of a
continuum of minimisers, the points found are returned; ``local.neighbour`` tells that.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tracker.compiled import from_outside
from tracker.compiled.fingerprint import content_hash
from tracker.costs.base import known_minimisers, search_region
from tracker.costs.minimise.descent import (
    EQUAL_COSTS,
    FLAT_CURVATURE,
    Descent,
    descend,
    expected_hessian,
    falls_on,
    polish,
    rounding,
    same_well,
    value_and_gradient,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tracker.array_types import Array

# Points farther apart than this, in units of the search scale, are two: before and after polishing. Nearer ones are one only
# if nothing lies between them: the search box may be a million times wider than the wells.
COARSE, SAME = 1e-3, 1e-4
WORTH_POLISHING = 1e-4  # descents that end within this times (1 + |cost|) of the lowest are polished
STARTS = 64  # at first, and each time that the search goes on
MOST_DESCENTS = 1024  # from starting points, and as many from exchanged coordinates
CHANCE_OF_AN_UNSEEN_WELL = 0.05  # chance of a new well in the next descent with which the search may end
APART_IN_A_COORDINATE = 0.1  # of the range of a coordinate: values farther apart belong to different wells
FARTHEST = 1e4  # a descent that leads this far, in units of the search scale, has met no minimum
SEARCHES_REMEMBERED = 64  # searches
MOST_COORDINATES_SHOWN = 6
LARGEST_LAST_STEP = 1e-2  # Newton's last step at a minimiser, in units of the search scale, is smaller


class Minimisers(NamedTuple):
    """points (m, N), sorted lexicographically, the cost there, and whether the search ended for want of anything new.

    wells (w, N), depths (w,) : where descents ended, one end of each well that was met, and the cost there, lowest first. Local
    minima, less exact than ``points``
    """

    points: Array
    value: float
    settled: bool
    wells: Array
    depths: Array


_answers: dict[bytes, Minimisers] = {}  # of earlier searches, by their question


def global_minimisers(cost: Any, start: Array, *, tolerance: float = EQUAL_COSTS) -> Minimisers:
    """Return all global minimisers of the expected cost.

    Parameters
    ----------
    cost : NamedTuple
        Parameters of a cost, any type with ``value`` and ``gradient``.
    start : ndarray, shape (N,)
        One of the starting points; without a ``search_region`` of the cost's own, the centre of the search.
    tolerance : float
        Points whose costs differ by less than tolerance (1 + |cost|) are all global minimisers.

    Raises
    ------
    ValueError
        If the cost is unbounded below or has no minimiser within reach.
    """
    start = np.ascontiguousarray(start, dtype=float)
    if from_outside(cost):  # what its functions read may change between two searches
        return _search(cost, start, tolerance)
    # every point of a sweep or a ladder asks for the same costs again
    question = content_hash((type(cost).__module__, cost, start, tolerance))
    if question not in _answers:
        while len(_answers) >= SEARCHES_REMEMBERED:
            _answers.pop(next(iter(_answers)), None)
        _answers[question] = _search(cost, start, tolerance)
    answer = _answers[question]
    return answer._replace(points=answer.points.copy(), wells=answer.wells.copy(), depths=answer.depths.copy())


def _search(cost: Any, start: Array, tolerance: float) -> Minimisers:
    known = known_minimisers(cost)
    if known is not None:
        points = np.ascontiguousarray(known, dtype=float)
        values = np.array([value_and_gradient(cost, point, np.empty(start.size)) for point in points])
        ordered = points[_order(points, np.ones(start.size))]
        return Minimisers(ordered, float(values.min()), settled=True, wells=ordered.copy(), depths=np.sort(values))
    centre, scale = search_region(cost, start)
    with np.errstate(all="ignore"):  # a descent may visit places where the cost overflows
        wells = _Wells(cost, start, centre, scale)
        settled = wells.search()
        met = sorted(wells.ends, key=lambda e: e.value)
        ends = _distinct(cost, _within(met, WORTH_POLISHING + tolerance), scale, COARSE)
        ends = sorted((polish(cost, end, scale) for end in ends), key=lambda e: e.value)
        _refuse_if_unsettled(ends[0], scale)
        _refuse_if_falling_on(cost, ends[0], scale)
        points = np.array([end.point for end in _distinct(cost, _within(ends, tolerance), scale, SAME)])
    places = sorted(wells.places, key=lambda e: e.value)
    return Minimisers(
        points=points[_order(points, scale)],
        value=float(ends[0].value),
        settled=settled,
        wells=np.array([end.point for end in places]),
        depths=np.array([end.value for end in places]),
    )


class _Wells:
    """The ends of all descents, and how often each place was met."""

    def __init__(self, cost: Any, start: Array, centre: Array, scale: Array) -> None:
        self._cost, self._start, self._centre, self._scale = cost, start, centre, scale
        self._lowest = np.inf
        self._descents = 0
        self._places = np.empty((0, start.size))  # in units of the scale
        self.places: list[Descent] = []  # the end that was met first at each
        self._met: list[int] = []
        self._firm: list[bool] = []  # wells, and not points in a plain or a valley
        self.ends: list[Descent] = []  # of the first search all, then one for each new place

    def search(self) -> bool:
        """Descend from starting points, then from exchanged coordinates; return whether that led to an end."""
        points = [self._start, self._centre, *_kronecker(self._centre, self._scale, 0, STARTS)]
        values = (value_and_gradient(self._cost, point, np.empty(point.size)) for point in points)
        self._lowest = float(np.nanmin([np.inf, *values]))
        for point in points:
            self._descend(point, keep=True)
        if not self.ends:
            message = f"the cost is not finite at any of {len(points)} starting points around {_show(self._centre)}"
            raise ValueError(message)
        _refuse_if_rounding(self._cost, min(self.ends, key=lambda e: e.value))
        drawn = STARTS
        while self._unseen() > CHANCE_OF_AN_UNSEEN_WELL and self._descents < MOST_DESCENTS:
            for point in _kronecker(self._centre, self._scale, drawn, drawn + STARTS):
                self._descend(point)
            drawn += STARTS
        return self._exchange() and self._unseen() <= CHANCE_OF_AN_UNSEEN_WELL

    def _unseen(self) -> float:
        alone = sum(firm and times == 1 for firm, times in zip(self._firm, self._met, strict=True))
        return alone / max(1, self._descents)

    def _descend(self, point: Array, *, keep: bool = False) -> None:
        end = descend(self._cost, np.ascontiguousarray(point), self._centre, self._scale)
        self._descents += 1
        # a descent that is lost in a plain, no lower than where others start, does no harm
        if end.value < self._lowest or end.value == -np.inf:
            self._lowest = end.value
            _refuse_if_bottomless(end, np.maximum(self._scale, np.abs(self._start - self._centre)), self._centre)
        if not end.value < np.inf:
            return
        place = end.point / self._scale
        near = np.flatnonzero((np.abs(self._places - place) <= COARSE).all(axis=1))
        known = next((n for n in near if same_well(self._cost, self.places[n], end)), None)
        if known is not None:
            self._met[known] += 1
        else:
            self.places.append(end)
            self._places = np.vstack([self._places, place])
            self._met.append(1)
            self._firm.append(self._is_firm(end))
        if keep or known is None:
            self.ends.append(end)

    def _is_firm(self, end: Descent) -> bool:
        H = expected_hessian(self._cost, end.point, self._scale) * np.outer(self._scale, self._scale)
        if not np.isfinite(H).all():
            return False
        values = np.linalg.eigvalsh(H)
        return bool(values[0] > max(FLAT_CURVATURE * abs(values[-1]), EQUAL_COSTS * (1.0 + abs(end.value))))

    def _exchange(self) -> bool:
        """Give the lowest ends coordinates of other wells, until that leads to no new end as low; False if it does not end."""
        done: set[bytes] = set()
        stop = self._descents + MOST_DESCENTS
        while sum(self._firm) > 1:
            best = _within(sorted(self.ends, key=lambda e: e.value), EQUAL_COSTS)
            waiting = [
                end for end in _distinct(self._cost, best, self._scale, COARSE) if end.point.tobytes() not in done
            ]
            if not waiting:
                return True
            wells = self._places[self._firm] * self._scale
            for end in waiting:
                done.add(end.point.tobytes())
                for d, values in enumerate(wells.T):
                    gap = APART_IN_A_COORDINATE * np.ptp(values)
                    for value in (
                        values[values < end.point[d] - gap].max(initial=-np.inf),
                        values[values > end.point[d] + gap].min(initial=np.inf),
                    ):
                        if self._descents >= stop:
                            return False
                        if np.isfinite(value):
                            moved = end.point.copy()
                            moved[d] = value
                            self._descend(moved)
        return True


def _refuse_if_bottomless(lowest: Descent, reach: Array, centre: Array) -> None:
    if lowest.value == -np.inf or not np.abs((lowest.point - centre) / reach).max() < FARTHEST:
        raise ValueError(f"the cost has no minimum: it is {lowest.value:.6g} at {_show(lowest.point)}, still falling")


def _refuse_if_rounding(cost: Any, lowest: Descent) -> None:
    if (jump := rounding(cost, lowest)) > WORTH_POLISHING * (1.0 + abs(lowest.value)):
        raise ValueError(
            f"the cost cannot be told from its rounding errors at {_show(lowest.point)}, where it is {lowest.value:.6g} and "
            f"jumps by {jump:.6g} from one number to the next: large terms cancel; start closer to the minimum"
        )


def _refuse_if_unsettled(lowest: Descent, scale: Array) -> None:
    if np.abs(lowest.step / scale).max() > LARGEST_LAST_STEP:
        raise ValueError(
            f"the cost has no minimiser within reach: at {_show(lowest.point)} it is {lowest.value:.6g}, "
            f"and Newton's next step is {_show(-lowest.step)}"
        )


def _refuse_if_falling_on(cost: Any, lowest: Descent, scale: Array) -> None:
    if not from_outside(cost) and (far := falls_on(cost, lowest, scale)) is not None:
        where = f"{lowest.value:.6g} at {_show(lowest.point)}"
        raise ValueError(
            f"the cost has no minimum: it is {where} and falls on towards {_show(far)}; a term that grows would end that"
        )


def _kronecker(centre: Array, scale: Array, first: int, stop: int) -> Array:
    """Return points of the box as rows: x_n = n a mod 1, a_i = g^-(i + 1), g the root of g^(N + 1) = g + 1."""
    N = centre.size
    g = 2.0
    for _ in range(100):
        g = (1.0 + g) ** (1.0 / (N + 1))
    n = np.arange(first + 1, stop + 1)[:, np.newaxis]
    x = np.mod(0.5 + n * g ** -np.arange(1.0, N + 1), 1.0)
    return np.asarray(centre + scale * (2.0 * x - 1.0))


def _within(ends: list[Descent], tolerance: float) -> list[Descent]:
    """Return the first of the sorted ``ends``: those that tie with the lowest."""
    return [end for end in ends if end.value <= ends[0].value + tolerance * (1.0 + abs(ends[0].value))]


def _distinct(cost: Any, ends: list[Descent], scale: Array, distance: float) -> list[Descent]:
    """Return the first of each group of ``ends`` of one well, nearer than ``distance`` in units of the scale."""
    kept: list[Descent] = []
    for end in ends:
        near = [other for other in kept if np.abs((end.point - other.point) / scale).max() <= distance]
        if not any(same_well(cost, other, end) for other in near):
            kept.append(end)
    return kept


def _order(points: Array, scale: Array) -> NDArray[np.intp]:
    """Return the lexicographic order of the rows; rounding errors do not decide it."""
    return np.lexsort(np.round(points / scale, 6).T[::-1])


def _show(point: Array) -> str:
    shown = ", ".join(f"{x:.6g}" for x in point[:MOST_COORDINATES_SHOWN])
    return f"({shown}, ...)" if point.size > MOST_COORDINATES_SHOWN else f"({shown})"
