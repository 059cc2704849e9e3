"""Run kernels in the interpreter: for tiny runs, for which nothing is worth compiling."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tracker
from tracker.compiled import Kernel, Unit
from tracker.engine.loop import drive


@contextmanager
def interpreting(kernels: Collection[Kernel[..., Any]] | None = (drive,)) -> Iterator[None]:
    """Run ``kernels`` without numba: the engine's loop, or all of them (None)."""
    compiled = Kernel.__call__

    def call(kernel: Kernel[..., Any], *arguments: Any, **keywords: Any) -> Any:
        if kernels is not None and kernel not in kernels:
            return compiled(kernel, *arguments, **keywords)
        with np.errstate(over="ignore"):  # streams count modulo 2^64
            return kernel.interpreted(*arguments, **keywords)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Kernel, "__call__", call)
        if kernels is None or drive in kernels:  # only the engine's loop calls units
            patch.setattr(Unit, "at", Unit.in_python)
        yield


def interpreted(scenario: tracker.Scenario, out: Path | None = None) -> tracker.Run:
    """Carry out ``scenario`` without numba."""
    with interpreting():
        return tracker.run(scenario, out, executor=1)
