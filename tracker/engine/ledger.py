"""What the loop is given and what it keeps: the layout of a run, a block of steps, and the ledger of all that is measured."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from tracker.array_types import Array, Booleans, Integers, Words

COLUMNS = ("steps", "error", "square", "inside", "measured", "excess", "correct")  # of Ledger.sums
STEPS, ERROR, SQUARE, INSIDE, MEASURED, EXCESS, CORRECT = range(7)
WAITING, DIVERGED, RESETS, AWAITED, RETURN = range(5)  # entries of Ledger.marks
UNMARKED = (-1, -1, 0, -1, -1)  # Ledger.marks before the first step


class Layout(NamedTuple):
    """What a run measures: the same for all samplers and trials."""

    steps: int
    burn_in: int
    record_every: int
    first_look: int  # excess cost and accuracy are measured at first_look, first_look + cost_every, ...
    cost_every: int
    cell: int  # draws are made, and blocks end, at multiples of it
    modes: int
    moments: int  # rows of the sums of theta and of its products: N + 1, 2 for squares only, 1 for neither
    observation_size: int
    measure_size: int
    runaway: float  # beyond this squared distance from the minimisers a trial has diverged
    epsilon: float  # of the sampler, or 0 for a baseline: it has no relaxation time
    memory_size: int = 0  # numbers that observations remember from step to step


class Block(NamedTuple):
    """A range of steps for a batch of trials, run-length encoded (see ``environment.Timeline``)."""

    start: int
    stop: int
    offsets: Integers
    mode: Integers
    end: Integers
    since: Integers
    live: Booleans
    present: Integers  # (T,): the mode at ``stop``
    shift: Array  # (T, stop - start + 1, N): where the landscapes are; (1, 0, 0) where they stand still


class Ledger(NamedTuple):
    """All that a sampler's trials carry and have measured; the first axis is the trial, and absent for one trial.

    Saving these arrays saves the run. They are few because each costs compile time at every call it passes through.
    """

    state: Array  # (T, state_size + ...): what the sampler carries, where rows are foretold ``Work.lost``, and what observations remember
    streams: Words  # (T, 4, 4)
    marks: Integers  # (T, 5): see ``events.enter``
    sums: Array  # (T, X + ages, 7): COLUMNS, by mode and by age
    waits: Integers  # (T, X, waits, 2): by new mode: re-acquisitions by duration, censored waits by the age at the last look
    stays: Integers  # (T, X, 2): re-acquisitions looked at again a relaxation time later, and those still inside then
    moments: Array  # (T, Layout.moments, N): sum of theta - origin; lower triangle of its outer products, its squares, or nothing
    trace: Array  # (T, records, 3 + N + ...): mode, error, excess cost, theta, and what the state declares as recorded


class Span(NamedTuple):
    """Steps start, ..., stop - 1; Z begins with the draw of step ``drawn``, W with that of ``cell``.

    The cost is measured at step ``look`` and every ``look_every`` steps from there.
    """

    start: int
    stop: int
    live: bool
    averaged: bool
    drawn: int
    cell: int
    look: int
    look_every: int
