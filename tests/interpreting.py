"""Runs in the interpreter: tiny ones, for which nothing is worth compiling."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import tracker
from tracker.engine import simulate


def interpreted(scenario: tracker.Scenario, out: Path | None = None) -> tracker.Run:
    """Carry out ``scenario`` without numba."""
    loop = simulate.advance.interpreted

    def quietly(*arguments: object) -> None:
        with np.errstate(over="ignore"):  # streams count modulo 2^64
            loop(*arguments)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(simulate, "advance", quietly)
        return tracker.run(scenario, out, executor=1)
