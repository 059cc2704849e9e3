"""Mark plain Python functions that numba may compile: `generic`, `helper` and `kernel`.

This room is the only one that imports numba, and it does so when the first kernel is called. Everything marked here stays
an ordinary function that runs, and can be debugged, in the interpreter.

- ``generic`` functions have one implementation per type of their first argument, a ``NamedTuple`` of parameters.
  The type chooses the implementation in the interpreter and in compiled code alike. ``generic_with_default``: the body of
  the declaration serves every type that has none.
- ``helper`` functions are called from kernels (``inlined``: at no cost; ``disjoint``: with arrays that do not overlap).
- ``kernel`` functions are the compiled entry points.

A step and a cost choose between numbers with ``where`` and ``any_of``, not with ``if`` (see ``lane_choices``).

The disk cache is never stale: numba looks only at a kernel's own file when it decides whether a cached binary is still
good, so the cache folder is named by a hash of all sources of this package (but for the rooms that hold no compiled
code). What is compiled for a type from outside is kept under a hash of the functions that serve it and of all that they read:
helpers, constants, closures, to any depth. The cache is never trusted blindly: folder, owner and digest are checked before numba gets the bytes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

import numpy as np

from tracker.compiled.borrowed_arrays import borrow
from tracker.compiled.caching import cache_folder, source_fingerprint
from tracker.compiled.generics import (
    changed_since_compiled,
    from_outside,
    generic,
    generic_with_default,
    implementation_hash,
    kinds_in,
)
from tracker.compiled.kernels import Kernel, kernel, literal_unroll, with_numbas_unroll
from tracker.compiled.lane_choices import (
    any_of,
    bits_of,
    double_of,
    entry,
    in_lanes,
    lanes_are_known,
    pick,
    room_for,
    truncated,
    where,
)
from tracker.compiled.lane_tables import LaneTable, as_lanes, in_modes, lane_table
from tracker.compiled.numba_loading import with_numba
from tracker.compiled.numba_options import helper_options
from tracker.compiled.one_or_lanes import mode_of, numbers_of
from tracker.compiled.packed_tuples import Packed, pack, rebuild
from tracker.compiled.units import Blueprint, Pinned, Unit, pin, template_of, unit

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

__all__ = [
    "Blueprint",
    "Kernel",
    "LaneTable",
    "Packed",
    "Pinned",
    "Unit",
    "any_of",
    "as_lanes",
    "bits_of",
    "borrow",
    "cache_folder",
    "changed_since_compiled",
    "copy",
    "copy_where",
    "disjoint",
    "double_of",
    "entry",
    "from_outside",
    "generic",
    "generic_with_default",
    "helper",
    "implementation_hash",
    "in_lanes",
    "in_modes",
    "inlined",
    "kernel",
    "kinds_in",
    "lane_table",
    "lanes_are_known",
    "literal_unroll",
    "mode_of",
    "numbers_of",
    "pack",
    "pick",
    "pin",
    "rebuild",
    "room_for",
    "source_fingerprint",
    "template_of",
    "truncated",
    "unit",
    "where",
]

P = ParamSpec("P")
R = TypeVar("R")


def _declare_rebuild() -> None:
    import tracker.compiled.rebuilding
    import tracker.compiled.unit_calls

    if lanes_are_known():
        import tracker.compiled.lane_rebuilding  # noqa: F401  (and of ``in_modes``)


with_numba(_declare_rebuild)


def helper(function: Callable[P, R]) -> Callable[P, R]:
    """Let kernels call a plain function."""
    return _declared(function)


def disjoint(function: Callable[P, R]) -> Callable[P, R]:
    """Let kernels call a plain function whose arrays, those in tuples too, share no memory that it writes.

    The compiler then keeps their elements in registers; where the promise is broken, the numbers are wrong.
    """
    return _declared(function, disjoint=True)


def inlined(function: Callable[P, R]) -> Callable[P, R]:
    """Let kernels call a small function at no cost: its code goes where it is called."""
    return _declared(function, inlined=True)


def _declared(function: Callable[P, R], **options: bool) -> Callable[P, R]:
    def declare() -> None:
        from numba.extending import register_jitable

        register_jitable(**helper_options(**options))(with_numbas_unroll(function))

    with_numba(declare)
    return function


@inlined
def copy(source: NDArray[Any], out: NDArray[Any]) -> None:
    """Write ``source`` to ``out``, same shape (slice assignment would compile numba's messages about shapes with it)."""
    for index in np.ndindex(out.shape):
        out[index] = source[index]


@inlined
def copy_where(condition: Any, source: NDArray[Any], out: NDArray[Any]) -> None:
    """Write ``source`` to ``out``, same shape, where ``condition`` holds."""
    for index in np.ndindex(out.shape):
        out[index] = where(condition, source[index], out[index])
