"""Import numba when the first kernel is called, not when a function is declared: it takes a quarter of a second.

What is declared before that waits; whoever compiles calls ``load_numba`` first.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

_lock = threading.RLock()
_waiting: list[Callable[[], Any]] | None = []  # None: numba is here


def with_numba(declare: Callable[[], Any]) -> None:
    """Call ``declare`` as soon as numba is here, now if it is."""
    with _lock:
        if _waiting is not None:
            _waiting.append(declare)
            return
    declare()


def load_numba() -> None:
    """Import numba, and declare to it all that waits for it."""
    global _waiting  # noqa: PLW0603  (once in a process)
    if _waiting is None:
        return
    with _lock:
        import numba  # noqa: F401

        while _waiting:
            _waiting.pop(0)()
        _waiting = None
