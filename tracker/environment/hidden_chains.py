"""The hidden chains of all trials: dwells and jumps drawn in compiled code, each chain from its own stream.

A visit takes one pair (u, v) of the stream: u chooses the mode, -log(1 - v) is the exponential of its dwell. The laws are
those of ``chain.next_mode`` and ``chain.dwell``, number by number. A visit in stages takes a v for each of them; one of a fixed
length takes its v and does not use it. Where the first visit is already going on, one more uniform between u and v draws its age.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tracker import chain
from tracker.compiled import helper, kernel
from tracker.streams import CHAIN, draw_index, draw_uniform, entropy_words, seed_stream

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tracker.array_types import Array, Integers, Words

NEVER = chain.NEVER
BY_CHAIN = 1
GEOMETRIC = chain.DwellLaw()
ROWS = 4096  # of the log that one call may fill


class VisitLaw(NamedTuple):
    """rates (X,): -log(1 - a) of a stage; lengths (X,): fixed ones, 0 where they are drawn; aged: the first is going on."""

    rates: Array
    lengths: Integers
    stages: int
    aged: bool


@helper
def choose_mode(u: float, sums: Array) -> int:
    """Return the first mode whose cumulative probability exceeds ``u``; never one of probability 0."""
    last = sums.size - 1
    while last > 0 and sums[last - 1] == sums[last]:
        last -= 1
    mode = 0
    while mode < last and sums[mode] <= u:
        mode += 1
    return mode


@helper
def stay_length(exponential: float, rate: float) -> int:
    """Return the steps of a dwell, max(1, ceil(E / rate)), for rate = -log(1 - a); NEVER for a = 0."""
    if rate == 0.0:
        return NEVER
    steps = np.ceil(exponential / rate)
    return max(1, int(steps)) if steps < NEVER else NEVER


@helper
def end_of_stay(now: int, stream: Words, rate: float, stages: int) -> int:
    """Draw the dwell of ``stages`` stages that begins ``now``, and return the step at which it ends."""
    for _ in range(stages):
        steps = stay_length(-np.log1p(-draw_uniform(stream)), rate)
        now = now + steps if steps < NEVER - now else NEVER
    return now


@helper
def end_of_visit(now: int, stream: Words, mode: int, law: VisitLaw) -> int:
    """Return the step at which the visit of ``mode`` that begins ``now`` ends."""
    if law.lengths[mode] > 0:
        draw_uniform(stream)
        return now + law.lengths[mode]
    return end_of_stay(now, stream, law.rates[mode], law.stages)


@helper
def end_of_first_visit(stream: Words, mode: int, law: VisitLaw) -> int:
    """Return the step at which the visit that is going on at step 0 ends; a part of it may have passed."""
    if not law.aged:
        return end_of_visit(0, stream, mode, law)
    if law.lengths[mode] > 0:
        passed = draw_index(stream, law.lengths[mode])
        draw_uniform(stream)
        return law.lengths[mode] - passed
    return end_of_stay(0, stream, law.rates[mode], law.stages - draw_index(stream, law.stages))


@kernel
def begin_chains(
    entropy: Words, trials: Integers, initial: Array, law: VisitLaw, streams: Words, mode: Integers, end: Integers
) -> None:
    """Seed ``streams`` (T, 4), and draw the modes of step 0 with the ends of their dwells."""
    for path in range(trials.size):
        seed_stream(entropy, CHAIN, trials[path], streams[path])
        mode[path] = choose_mode(draw_uniform(streams[path]), initial)
        end[path] = end_of_first_visit(streams[path], mode[path], law)


@kernel
def walk_chains(
    first: int, stop: int, leave: Array, law: VisitLaw, streams: Words, mode: Integers, end: Integers, log: Integers
) -> tuple[int, int]:
    """Let the chains from path ``first`` on jump up to step ``stop``.

    Returns the path that was reached, and how many rows (path, step, mode, by chain) of ``log`` were written: a full log
    ends the call, and the next one goes on from there.
    """
    written = 0
    for path in range(first, mode.size):
        while end[path] <= stop:
            if written == log.shape[0]:
                return path, written
            now, stream = end[path], streams[path]
            mode[path] = choose_mode(draw_uniform(stream), leave[mode[path]])
            end[path] = end_of_visit(now, stream, mode[path], law)
            log[written, 0], log[written, 1], log[written, 2], log[written, 3] = path, now, mode[path], BY_CHAIN
            written += 1
    return mode.size, written


@kernel
def renew_stays(now: int, paths: Integers, law: VisitLaw, streams: Words, mode: Integers, end: Integers) -> None:
    """Begin a dwell anew in the present modes of ``paths``; the pair's choice of a mode is not used."""
    for n in range(paths.size):
        path = paths[n]
        draw_uniform(streams[path])
        end[path] = end_of_visit(now, streams[path], mode[path], law)


class HiddenChains:
    """The chains of some trials: where they are, and how long they stay there."""

    def __init__(
        self,
        Q: Array,
        alpha: float,
        initial: Array,
        seed: int,
        trials: Sequence[int],
        law: chain.DwellLaw = GEOMETRIC,
        *,
        aged: bool = False,
    ) -> None:
        leaving = chain.exit_probability(Q, alpha)
        with np.errstate(divide="ignore"):  # a stage that is left at every step
            rates = -np.log1p(-np.minimum(law.shape * leaving, 1.0))
        lengths = chain.fixed_lengths(leaving) if law.fixed else np.zeros(len(leaving), dtype=np.int64)
        self._law = VisitLaw(rates, lengths, law.shape, aged and not law.is_geometric)
        self._leave = np.cumsum(chain.embedded_law(Q), axis=1)
        self._streams = np.zeros((len(trials), 4), dtype=np.uint64)
        self._end = np.zeros(len(trials), dtype=np.int64)
        self.mode = np.zeros(len(trials), dtype=np.int64)
        index = np.array(trials, dtype=np.int64)
        begin_chains(entropy_words(seed), index, np.cumsum(initial), self._law, self._streams, self.mode, self._end)

    def walk(self, stop: int) -> list[Integers]:
        """Let everything up to step ``stop`` happen; rows (path, step, mode, by chain), by path and then by step."""
        parts, path = [], 0
        while path < self.mode.size:
            log = np.empty((ROWS, 4), dtype=np.int64)
            path, written = walk_chains(path, stop, self._leave, self._law, self._streams, self.mode, self._end, log)
            parts.append(log[:written])
        return parts

    def stay(self, paths: Integers, now: int) -> None:
        """Go on from the modes that ``paths`` were forced into, with fresh dwells."""
        renew_stays(now, paths, self._law, self._streams, self.mode, self._end)
