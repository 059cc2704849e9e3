"""Runs in the interpreter: tiny ones, for which nothing is worth compiling."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

import tracker
from tracker.engine import simulate
from tracker.samplers.baselines import BASELINES


@contextmanager
def interpreting() -> Iterator[None]:
    """Let the engine run its loop without numba."""
    loop = simulate.advance.interpreted

    def quietly(*arguments: object) -> None:
        with np.errstate(over="ignore"):  # streams count modulo 2^64
            loop(*arguments)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(simulate, "advance", quietly)
        yield


def interpreted(scenario: tracker.Scenario, out: Path | None = None) -> tracker.Run:
    """Carry out ``scenario`` without numba."""
    with interpreting():
        return tracker.run(scenario, out, executor=1)


def no_baselines(patch: pytest.MonkeyPatch) -> None:
    """Leave out the baselines, each of which would be compiled."""
    for name in reversed(list(BASELINES)):  # undone the other way round, so that their order stays
        patch.delitem(BASELINES, name)
