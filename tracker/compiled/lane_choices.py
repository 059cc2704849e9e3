"""Choose without branching: the wording for numbers that may differ between trials that are advanced side by side.

``where(condition, a, b)`` in place of ``a if condition else b``, ``if any_of(condition)`` in place of ``if condition``. On plain
numbers they mean just that.
"""

from __future__ import annotations

from typing import Any

from tracker.compiled.numba_loading import with_numba
from tracker.compiled.numba_options import helper_options


def where(condition: Any, a: Any, b: Any) -> Any:
    """Return ``a`` where ``condition`` holds, else ``b``; both are computed."""
    return a if condition else b


def any_of(condition: Any) -> Any:
    """Tell whether ``condition`` holds for any of the trials."""
    return condition


def _declare() -> None:
    from numba.extending import register_jitable

    for choice in (where, any_of):
        register_jitable(**helper_options(inlined=True))(choice)


with_numba(_declare)
