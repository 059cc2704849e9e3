"""Give the hidden modes of the trials block by block, run-length encoded, and count the chain's visits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from tracker import chain
from tracker.array_types import Array, Booleans, Integers
from tracker.environment.hidden_chains import HiddenChains
from tracker.environment.landscape_drift import LandscapeDrift
from tracker.environment.plan import Plan, Switch
from tracker.environment.simpy_processes import World

MOST_VISITS = 200_000  # that wait to be counted
STILL = np.zeros((1, 0, 0))  # the shift of a landscape that does not drift


class Timeline(NamedTuple):
    """Hidden modes of T trials over the steps start, ..., stop - 1, run-length encoded.

    Attributes
    ----------
    offsets : ndarray of int64, shape (T + 1,)
        Segments of trial t are offsets[t]:offsets[t + 1]; they cover the block.
    mode : ndarray of int64, shape (S,)
    end : ndarray of int64, shape (S,)
        First step after the segment, counted from step 0 of the trial.
    since : ndarray of int64, shape (S,)
        Step of the switch that brought the mode; -1 before the trial's first switch.
    live : ndarray of bool, shape (S,)
        False inside an outage.
    shift : ndarray, shape (T, stop - start + 1, N), or (1, 0, 0) without drift
        d_k at the steps start, ..., stop.
    """

    start: int
    stop: int
    offsets: Integers
    mode: Integers
    end: Integers
    since: Integers
    live: Booleans
    shift: Array = STILL


def dwell_ages(plan: Plan) -> Integers:
    """Return the first age of each bin in which dwells are counted."""
    if plan.Q is None or plan.alpha is None:
        return chain.age_edges(np.zeros(plan.modes))
    return chain.age_edges(chain.exit_probability(plan.Q, plan.alpha))


class Environment:
    """The hidden modes of some trials, block by block.

    Parameters
    ----------
    plan : Plan
    seed : int
    trials : sequence of int
        Indices of T trials; the path of one does not depend on the others.
    """

    def __init__(self, plan: Plan, seed: int, trials: Sequence[int]) -> None:
        self._plan = plan
        self._trials = len(trials)
        # Without chance nothing is drawn, and all trials share one path.
        mode, chains = np.array([np.argmax(plan.initial)], dtype=np.int64), None
        if plan.Q is not None and plan.alpha is not None and plan.modes > 1:
            chains = HiddenChains(plan.Q, plan.alpha, plan.initial, seed, trials, plan.law, aged=plan.aged)
            mode = chains.mode
        paths, self._by_chance = len(mode), chains is not None
        self._stop, self._closed = 0, False
        self._mode = mode.copy()  # of the visits that go on ...
        self._entered = np.zeros(paths, dtype=np.int64)  # ... and when they began
        # the age of a visit that was going on at step 0 is not known, and counts only where it does not matter
        self._whole = np.full(paths, not plan.aged or plan.law.is_geometric)
        self._since = np.full(paths, -1, dtype=np.int64)
        self._changes = np.zeros(paths, dtype=np.int64)
        self._edges = dwell_ages(plan)
        self._visits: list[
            tuple[Integers, Integers, Integers, Booleans, Integers]
        ] = []  # that ended, and are not counted yet
        self._counts: chain.DwellCounts | None = None
        self._drift = LandscapeDrift(plan.drift, seed, trials) if plan.drift is not None else None
        self._world: World | None = None
        if self._by_chance or plan.switches or plan.interventions:
            self._world = World(plan, mode, chains)
        self._take_in(self._log_through(0))

    @property
    def present(self) -> Integers:
        """Mode in effect at the step where the last block stopped, shape (T,)."""
        return self._for_trials(self._mode)

    @property
    def switches(self) -> Integers:
        """Changes of mode at steps 1, ..., stop, shape (T,)."""
        return self._for_trials(self._changes)

    @property
    def counts(self) -> chain.DwellCounts:
        """Visits of the chain, with a leading axis of T trials; those that go on are in after `close`."""
        c = self._count()
        if self._by_chance:
            return c
        parts = (c.jumps, c.censored, c.exits, c.at_risk, *(() if c.expected is None else (c.expected,)))
        return chain.DwellCounts(c.edges, *map(self._for_trials, parts))

    def advance(self, stop: int) -> Timeline:
        """Go on to step `stop` and give the modes since the last one."""
        start = self._stop
        if self._closed or stop <= start:
            raise ValueError(f"stop: {stop} must be > {start}, and the environment not closed")
        self._stop = stop
        opening = np.stack([np.arange(len(self._mode)), np.full_like(self._mode, start), self._mode, self._since])
        path, step, to = self._take_in(self._log_through(stop))
        switched = np.stack([path, step, to, step])[:, step < stop]  # a switch at `stop` opens the next block
        segments = np.concatenate([opening, switched], axis=1)
        return self._timeline(start, segments[:, np.argsort(segments[0], kind="stable")])

    def close(self) -> None:
        """Count the visits that go on: x_stop is known, so they were seen for stop - entered + 1 steps."""
        if not self._closed:
            path = np.flatnonzero(self._whole)
            mode, length = self._mode[path], self._stop - self._entered[path] + 1
            self._visits.append((path, mode, length, path < 0, mode))
        self._closed = True

    def _log_through(self, step: int) -> Integers:
        if self._world is None:  # a world of one mode: nothing ever happens
            return np.zeros((0, 4), dtype=np.int64)
        return self._world.run_through(step)

    def _take_in(self, log: Integers) -> tuple[Integers, Integers, Integers]:
        """Count the visits that ended in the log, and give (path, step, mode) of the changes of mode."""
        paths = np.arange(len(self._mode))
        going_on = np.stack([paths, self._entered, self._mode, np.zeros_like(paths)], axis=1)
        rows = np.concatenate([going_on, log])
        path, step, mode, by_chain = rows[np.argsort(rows[:, 0], kind="stable")].T
        first = np.searchsorted(path, paths)  # of each path, the visit that was going on
        ended = np.setdiff1d(np.flatnonzero(_followed(path)), first[~self._whole])
        completed = (by_chain[ended + 1] > 0) & ~self._overruled(step[ended + 1], mode[ended])
        length = step[ended + 1] - step[ended]
        self._visits.append((path[ended], mode[ended], length, completed, mode[ended + 1]))
        if sum(len(visit) for visit, *_ in self._visits) > MOST_VISITS:
            self._count()
        self._entered, self._mode = step[~_followed(path)], mode[~_followed(path)]
        self._whole |= np.bincount(path, minlength=len(paths)) > 1

        settled = ~(_followed(path) & (np.roll(step, -1) == step))  # what the step ends with
        path, step, mode = path[settled], step[settled], mode[settled]
        changed = np.flatnonzero(_followed(path) & (np.roll(mode, -1) != mode)) + 1
        np.maximum.at(self._since, path[changed], step[changed])
        self._changes += np.bincount(path[changed], minlength=len(paths))
        return path[changed], step[changed], mode[changed]

    def _overruled(self, step: Integers, before: Integers) -> Booleans:
        """Whether a forced switch leads elsewhere at `step` than to the mode before it."""
        overruled = np.zeros(len(step), dtype=bool)
        for event in self._plan.interventions:
            if isinstance(event, Switch):
                overruled |= (step == event.at) & (before != event.to)
        return overruled

    def _count(self) -> chain.DwellCounts:
        """Add the visits that are waiting to the counts: seldom, because counts of many trials take long to add."""
        if self._counts is not None and not self._visits:
            return self._counts
        path, mode, length, completed, target = map(np.concatenate, zip(*self._visits, strict=True))
        self._visits.clear()
        told = slice(None) if self._plan.Q is not None else slice(0)  # a schedule has no visits to count
        visits = mode[told], length[told], completed[told], target[told]
        plan, paths = self._plan, len(self._changes)
        leaving = chain.exit_probability(plan.Q, plan.alpha) if plan.Q is not None and plan.alpha is not None else None
        found = chain.count_dwells(*visits, self._edges, plan.modes, path[told], paths, leaving, plan.law)
        self._counts = found if self._counts is None else self._counts + found
        return self._counts

    def _for_trials(self, by_path: Integers) -> Integers:
        return by_path.copy() if self._by_chance else np.repeat(by_path, self._trials, axis=0)

    def _timeline(self, start: int, segments: Integers) -> Timeline:
        """Cut segments (path, begin, mode, since) at the edges of outages; repeat a path that all trials share."""
        path, begin, mode, since = segments
        end = np.where(_followed(path), np.roll(begin, -1), self._stop)
        edges = np.array([] if self._world is None else self._world.outage_edges, dtype=np.int64)
        passed = np.searchsorted(edges, begin, side="right")
        pieces = np.searchsorted(edges, end, side="left") - passed + 1
        segment = np.repeat(np.arange(len(path)), pieces)
        # Edges passed at the start of each piece; the next one ends it, unless the segment does.
        passed = passed[segment] + np.arange(len(segment)) - np.repeat(np.cumsum(pieces) - pieces, pieces)
        ends = np.minimum(end[segment], np.append(edges, chain.NEVER)[passed])
        columns = [mode[segment], ends, since[segment], passed % 2 == 0]
        offsets = np.searchsorted(path[segment], np.arange(len(self._mode) + 1))
        if not self._by_chance:
            columns = [np.tile(column, self._trials) for column in columns]
            offsets = np.arange(self._trials + 1) * len(segment)
        shift = STILL if self._drift is None else self._drift.advance(self._stop)
        modes, stops, begun, live = columns
        return Timeline(start, self._stop, offsets, modes, stops, begun, live, shift)


def _followed(path: Integers) -> Booleans:
    """Whether the next row belongs to the same path."""
    return np.append(path[1:] == path[:-1], False)[: len(path)]  # of no path at all, nothing
