"""What samplers and costs write in place of what only one number can do: the same source then serves trials side by side.

``where(condition, a, b)`` in place of ``a if condition else b``, ``if any_of(condition)`` in place of ``if condition``,
``pick(table, i)`` and ``entry(table, i, d)`` in place of ``table[i]`` and ``table[i, d]`` where i differs between trials, ``room_for(like, n)`` in place of
``np.empty(n)`` for numbers of trials. On plain numbers they mean just that. What a function does for lanes alone is said with
``in_lanes``.
"""

from __future__ import annotations

from functools import cache
from inspect import signature
from typing import TYPE_CHECKING, Any

import numpy as np

from tracker.compiled.numba_loading import with_numba
from tracker.compiled.numba_options import PLAIN, helper_options

if TYPE_CHECKING:
    from collections.abc import Callable


def where(condition: Any, a: Any, b: Any) -> Any:
    """Return ``a`` where ``condition`` holds, else ``b``; both are computed."""
    return a if condition else b


def any_of(condition: Any) -> Any:
    """Tell whether ``condition`` holds for any of the trials."""
    return condition


def pick(table: Any, index: Any) -> Any:
    """Return table[index], ``table`` flat and the same for all trials, ``index`` (a whole number, also as a float) a trial's own."""
    return table[int(index)]


def entry(table: Any, row: Any, column: int) -> Any:
    """Return table[row, column], ``table`` the same for all trials, ``row`` (a whole number, also as a float) a trial's own."""
    return table[int(row), column]


def truncated(x: Any) -> Any:
    """Return the whole part of x >= 0."""
    return int(x)


def room_for(like: Any, size: int) -> Any:
    """Return an array (size,) without content, for numbers of the kind that ``like`` is or holds."""
    return np.empty(size)


def bits_of(x: Any) -> Any:
    """Return the bits of a double as a whole number."""
    return np.float64(x).view(np.int64)


def double_of(bits: Any) -> Any:
    """Return the double with these bits."""
    return np.int64(bits).view(np.float64)


def in_lanes(function: Callable[..., Any], for_lanes: Callable[..., Any], *, inlined: bool = True) -> None:
    """Let kernels call ``function``, and where numbers are lanes what ``for_lanes`` returns.

    ``for_lanes`` is given the numba types of the arguments, of which one is lanes or an array of them; None: the function itself.
    """

    def declare() -> None:
        from numba.extending import overload

        known = lanes_are_known()

        def choose(*kinds: Any) -> Callable[..., Any]:
            if known:
                from tracker.compiled.lane_functions import laned

                if laned(*kinds):
                    return for_lanes(*kinds) or function
            return function

        choose.__signature__ = signature(function)  # type: ignore[attr-defined]
        overload(function, jit_options=helper_options(inlined=inlined), strict=False)(choose)

    with_numba(declare)


@cache
def lanes_are_known() -> bool:
    """Tell whether this numba can be taught lanes; where not, trials go one at a time."""
    if PLAIN:
        return False
    try:
        import tracker.compiled.lane_functions
    except Exception:  # whatever has moved in numba
        return False
    return tracker.compiled.lane_functions is not None


def _where(condition: Any, *_: Any) -> Callable[..., Any] | None:
    from tracker.compiled.lane_functions import laned, select

    return (lambda condition, a, b: select(condition, a, b)) if laned(condition) else None  # noqa: PLW0108  (numba wants a function)


def _any_of(_: Any) -> Callable[..., Any]:
    from tracker.compiled.lane_functions import bits_where

    return lambda condition: bits_where(condition) != 0


def _pick(_: Any, index: Any) -> Callable[..., Any] | None:
    from tracker.compiled.lane_functions import laned, look_up, whole

    return (lambda table, index: look_up(table, whole(index))) if laned(index) else None


def _entry(_: Any, row: Any, __: Any) -> Callable[..., Any] | None:
    from tracker.compiled.lane_functions import laned, look_up, whole

    if not laned(row):
        return None
    return lambda table, row, column: look_up(table.reshape(table.size), whole(row) * table.shape[1] + column)


def _truncated(_: Any) -> Callable[..., Any]:
    from tracker.compiled.lane_functions import whole

    return lambda x: whole(x)  # noqa: PLW0108  (numba wants a function)


def _room_for(*_: Any) -> Callable[..., Any]:
    from tracker.compiled.lane_functions import empty_lanes

    return lambda like, size: empty_lanes(like, size)  # noqa: PLW0108  (numba wants a function)


def _bits_of(_: Any) -> Callable[..., Any]:
    from tracker.compiled.lane_functions import words_in

    return lambda x: words_in(x)  # noqa: PLW0108  (numba wants a function)


def _double_of(_: Any) -> Callable[..., Any]:
    from tracker.compiled.lane_functions import floats_in

    return lambda bits: floats_in(bits)  # noqa: PLW0108  (numba wants a function)


in_lanes(where, _where)
in_lanes(any_of, _any_of)
in_lanes(pick, _pick)
in_lanes(entry, _entry)
in_lanes(truncated, _truncated)
in_lanes(room_for, _room_for)
in_lanes(bits_of, _bits_of)
in_lanes(double_of, _double_of)
