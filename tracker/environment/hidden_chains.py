"""The hidden chains of all trials: dwells and jumps drawn in compiled code, each chain from its own stream.

A visit takes one pair (u, v) of the stream: u chooses the mode, -log(1 - v) is the exponential of its dwell. The laws are
those of ``chain.next_mode`` and ``chain.dwell``, number by number.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tracker import chain
from tracker.compiled import helper, kernel
from tracker.streams import CHAIN, draw_uniform, entropy_words, seed_stream

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tracker.array_types import Array, Integers, Words

NEVER = chain.NEVER
BY_CHAIN = 1
ROWS = 4096  # of the log that one call may fill


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
def end_of_stay(now: int, stream: Words, rate: float) -> int:
    """Draw the dwell that begins ``now``, and return the step at which it ends."""
    steps = stay_length(-np.log1p(-draw_uniform(stream)), rate)
    return now + steps if steps < NEVER - now else NEVER


@kernel
def begin_chains(
    entropy: Words, trials: Integers, initial: Array, rates: Array, streams: Words, mode: Integers, end: Integers
) -> None:
    """Seed ``streams`` (T, 4), and draw the modes of step 0 with the ends of their dwells."""
    for path in range(trials.size):
        seed_stream(entropy, CHAIN, trials[path], streams[path])
        mode[path] = choose_mode(draw_uniform(streams[path]), initial)
        end[path] = end_of_stay(0, streams[path], rates[mode[path]])


@kernel
def walk_chains(
    first: int, stop: int, leave: Array, rates: Array, streams: Words, mode: Integers, end: Integers, log: Integers
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
            end[path] = end_of_stay(now, stream, rates[mode[path]])
            log[written, 0], log[written, 1], log[written, 2], log[written, 3] = path, now, mode[path], BY_CHAIN
            written += 1
    return mode.size, written


@kernel
def renew_stays(now: int, paths: Integers, rates: Array, streams: Words, mode: Integers, end: Integers) -> None:
    """Begin a dwell anew in the present modes of ``paths``; the pair's choice of a mode is not used."""
    for n in range(paths.size):
        path = paths[n]
        draw_uniform(streams[path])
        end[path] = end_of_stay(now, streams[path], rates[mode[path]])


class HiddenChains:
    """The chains of some trials: where they are, and how long they stay there."""

    def __init__(self, Q: Array, alpha: float, initial: Array, seed: int, trials: Sequence[int]) -> None:
        with np.errstate(divide="ignore"):  # a mode that is left at every step
            self._rates = -np.log1p(-chain.exit_probability(Q, alpha))
        self._leave = np.cumsum(chain.embedded_law(Q), axis=1)
        self._streams = np.zeros((len(trials), 4), dtype=np.uint64)
        self._end = np.zeros(len(trials), dtype=np.int64)
        self.mode = np.zeros(len(trials), dtype=np.int64)
        index = np.array(trials, dtype=np.int64)
        begin_chains(entropy_words(seed), index, np.cumsum(initial), self._rates, self._streams, self.mode, self._end)

    def walk(self, stop: int) -> list[Integers]:
        """Let everything up to step ``stop`` happen; rows (path, step, mode, by chain), by path and then by step."""
        parts, path = [], 0
        while path < self.mode.size:
            log = np.empty((ROWS, 4), dtype=np.int64)
            path, written = walk_chains(path, stop, self._leave, self._rates, self._streams, self.mode, self._end, log)
            parts.append(log[:written])
        return parts

    def stay(self, paths: Integers, now: int) -> None:
        """Go on from the modes that ``paths`` were forced into, with fresh dwells."""
        renew_stays(now, paths, self._rates, self._streams, self.mode, self._end)
