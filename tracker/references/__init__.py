"""Ground truth for one mode without switching: its exact law, and Metropolis-Hastings as in the paper.

``posterior`` integrates exp(-beta C) by quadrature: mixtures in any dimension, polynomials for N = 1 and 2, quadratic
costs in closed form. ``metropolis`` draws from exp(-beta C) for any cost. ``calibration`` checks both against data sets
drawn from the prior, where ranks of the true parameter must be uniform.
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tracker.references.exact_posterior import Posterior, posterior
    from tracker.references.metropolis_hastings import Draws, metropolis
    from tracker.references.simulation_based_calibration import (
        Calibration,
        calibration,
        draw_problems,
        exact_ranks,
        sampled_ranks,
    )

# Loaded when first used: importing numba takes time.
_HOMES = {
    "Calibration": "tracker.references.simulation_based_calibration",
    "Draws": "tracker.references.metropolis_hastings",
    "Posterior": "tracker.references.exact_posterior",
    "calibration": "tracker.references.simulation_based_calibration",
    "draw_problems": "tracker.references.simulation_based_calibration",
    "exact_ranks": "tracker.references.simulation_based_calibration",
    "metropolis": "tracker.references.metropolis_hastings",
    "posterior": "tracker.references.exact_posterior",
    "sampled_ranks": "tracker.references.simulation_based_calibration",
}
__all__ = [
    "Calibration",
    "Draws",
    "Posterior",
    "calibration",
    "draw_problems",
    "exact_ranks",
    "metropolis",
    "posterior",
    "sampled_ranks",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'tracker.references' has no attribute '{name}'")


def __dir__() -> list[str]:
    return list(__all__)


class _Names(ModuleType):
    """A package whose names are not hidden by files: importing the file posterior.py must not hide the function."""

    def __setattr__(self, name: str, value: Any) -> None:
        if not (name in _HOMES and isinstance(value, ModuleType)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Names
