"""The options that numba gets: plainer ones where numba has changed, or where ``TRACKER_PLAIN_NUMBA=1`` asks for them.

Two things reach into numba: helpers that are compiled as parts (``helper_parts``) and arrays without reference counts
(``borrowed_arrays``). Without them kernels take longer to compile and to run, and give the same numbers.
"""

from __future__ import annotations

import os
from typing import Any

PLAIN_VARIABLE = "TRACKER_PLAIN_NUMBA"
PLAIN = os.environ.get(PLAIN_VARIABLE, "0") not in ("", "0")
# error_model "numpy": a division that may raise keeps numba from pruning reference counts in the loop (3 times slower).
OPTIONS: dict[str, Any] = {"error_model": "numpy"}


def helper_options(*, disjoint: bool = False, inlined: bool = False) -> dict[str, Any]:
    """Return the options of a helper: compiled as a part wherever numba allows."""
    if PLAIN:
        return OPTIONS
    options = {**OPTIONS, "no_cfunc_wrapper": True, **({"forceinline": True} if inlined else {})}
    try:
        from tracker.compiled.helper_parts import DisjointPartCompiler, PartCompiler
    except Exception:  # whatever has moved in numba
        return options
    return {**options, "pipeline_class": DisjointPartCompiler if disjoint else PartCompiler}
