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

import threading
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, TypeVar

import numpy as np

from tracker.compiled.borrowed_arrays import borrow
from tracker.compiled.caching import cache_folder, source_fingerprint
from tracker.compiled.generics import (
    changed_since_compiled,
    from_outside,
    generic,
    generic_with_default,
    hash_of_kinds,
    implementation_hash,
    kinds_in,
)
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
from tracker.compiled.numba_loading import load_numba, with_numba
from tracker.compiled.numba_options import OPTIONS, helper_options
from tracker.compiled.packed_tuples import Packed, pack, rebuild

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

__all__ = [
    "LaneTable",
    "Packed",
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
    "pack",
    "pick",
    "rebuild",
    "room_for",
    "source_fingerprint",
    "truncated",
    "where",
]

P = ParamSpec("P")
R = TypeVar("R")

READ_ONLY = "Cannot modify readonly array"  # numba's words

_compiling_lock = threading.Lock()


def literal_unroll(items: Any) -> Any:
    """Loop over a tuple of several types; in compiled code numba's own, which it knows by being that very function."""
    return items


def _declare_rebuild() -> None:
    import tracker.compiled.rebuilding

    if lanes_are_known():
        import tracker.compiled.lane_rebuilding  # noqa: F401  (and of ``in_modes``)


with_numba(_declare_rebuild)


def _with_numbas_unroll(function: Callable[P, R]) -> Callable[P, R]:
    names = function.__globals__
    if names is not globals() and names.get("literal_unroll") is literal_unroll:
        from numba import literal_unroll as of_numba

        names["literal_unroll"] = of_numba
    return function


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

        register_jitable(**helper_options(**options))(_with_numbas_unroll(function))

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


class Kernel(Generic[P, R]):
    """A compiled function; ``interpreted`` is the same function as plain Python."""

    def __init__(self, function: Callable[P, R]) -> None:
        self.__name__ = function.__name__
        self.__doc__ = function.__doc__
        self.__wrapped__ = function
        self.interpreted = function
        self._fresh: dict[tuple[type, ...], Any] = {}
        self._cached: Any = None

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Run the compiled function, compiling it for these types of arguments if need be."""
        try:
            return self._dispatcher(args)(*args, **kwargs)  # type: ignore[no-any-return]
        except Exception as error:
            if type(error).__name__ != "TypingError" or READ_ONLY not in str(error):
                raise
        raise TypeError("a cost must not write to its own arrays: all threads share them")

    def signature_of(self, *args: Any) -> tuple[Any, ...]:
        """Return the types of arguments for which code is compiled."""
        load_numba()
        from numba import typeof

        return tuple(typeof(one) for one in args)

    def is_kept(self, *args: Any) -> bool:
        """Tell whether there is compiled code for these types of arguments, in this process or on disk."""
        signature, dispatcher = self.signature_of(*args), self._dispatcher(args)
        holds = getattr(dispatcher._cache, "holds", lambda *_: False)  # noqa: SLF001
        return signature in dispatcher.overloads or holds(signature, dispatcher.targetctx)

    @property
    def signatures(self) -> list[Any]:
        """The argument types compiled or loaded so far."""
        dispatchers = {id(one): one for one in (*self._fresh.values(), self._cached) if one is not None}
        return [signature for one in dispatchers.values() for signature in one.signatures]

    def _dispatcher(self, args: tuple[Any, ...]) -> Any:
        if from_outside(args):
            # numba takes two classes of one name and the same fields for one: each gets a dispatcher of its own
            return self._of_kinds(tuple(kinds_in(args)))
        if self._cached is None:
            self._cached = _with_cache(self.interpreted) or self._without_cache(())
        return self._cached

    def _of_kinds(self, kinds: tuple[type, ...]) -> Any:
        if kinds not in self._fresh:
            found = _with_cache(self.interpreted, hash_of_kinds(kinds))
            with _compiling_lock:
                if found is not None:
                    self._fresh.setdefault(kinds, found)
        return self._without_cache(kinds)

    def _without_cache(self, kinds: tuple[type, ...]) -> Any:
        with _compiling_lock:
            if kinds not in self._fresh:
                self._fresh[kinds] = _dispatcher_of(self.interpreted)
            return self._fresh[kinds]


def kernel(function: Callable[P, R]) -> Kernel[P, R]:
    """Compile ``function`` when it is called; it releases the GIL."""
    return Kernel(function)


def _dispatcher_of(function: Callable[..., Any]) -> Any:
    load_numba()
    from numba import njit

    return njit(nogil=True, **OPTIONS)(_with_numbas_unroll(function))


def _with_cache(function: Callable[..., Any], outside: str = "") -> Any:
    from tracker.compiled.numba_cache import checked_cache

    folder = cache_folder()
    cache = None if folder is None else checked_cache(function, folder, outside)
    if cache is None:
        return None
    dispatcher = _dispatcher_of(function)
    dispatcher._cache = cache  # noqa: SLF001  (what numba's enable_caching sets)
    return dispatcher
