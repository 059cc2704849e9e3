"""Theory: what the samplers and their limits must do, to many digits and without simulation.

``sampler`` is a sampler's name in the scenario; modes stand in the order of the file; ``*_by_mode`` carry the indicator
of the mode and are not normalised. Nothing here imports the simulation, so that theory and simulation can check each other.

Quadratic costs, exact: ``moments``, ``algorithm_moments``, ``two_time``, ``leading_error``, ``stationary``, ``stability``,
``best_step``, ``regimes``, ``skew_gain``, ``slow_skew_path``. Any cost: ``density`` and ``algorithm_density`` (N = 1, 2), ``coupled``
(any N), ``adaptive_path`` (the triple theta, D, S at beta = inf). One mode alone: ``gibbs_marginal``,
``discretised_marginal``, ``curvature``, ``gradient_noise``.
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tracker.costs.minimise.local import curvature, gradient_noise
    from tracker.limits.adaptive_ode import adaptive_path
    from tracker.limits.best_constant_step import best_step
    from tracker.limits.coupled_levels import coupled
    from tracker.limits.density_solvers import algorithm_density, density
    from tracker.limits.exact_moments import algorithm_moments, leading_error, moments, two_time
    from tracker.limits.gibbs_law import discretised_marginal, gibbs_marginal
    from tracker.limits.regime_limits import regimes
    from tracker.limits.skew_gains import skew_gain, slow_skew_path
    from tracker.limits.stationary_moments import Unstable, stationary
    from tracker.limits.switched_stability import stability

# Loaded when first used: importing scipy takes time.
_HOMES = {
    "Unstable": "tracker.limits.stationary_moments",
    "adaptive_path": "tracker.limits.adaptive_ode",
    "algorithm_density": "tracker.limits.density_solvers",
    "algorithm_moments": "tracker.limits.exact_moments",
    "best_step": "tracker.limits.best_constant_step",
    "coupled": "tracker.limits.coupled_levels",
    "curvature": "tracker.costs.minimise.local",
    "density": "tracker.limits.density_solvers",
    "discretised_marginal": "tracker.limits.gibbs_law",
    "gibbs_marginal": "tracker.limits.gibbs_law",
    "gradient_noise": "tracker.costs.minimise.local",
    "leading_error": "tracker.limits.exact_moments",
    "moments": "tracker.limits.exact_moments",
    "regimes": "tracker.limits.regime_limits",
    "skew_gain": "tracker.limits.skew_gains",
    "slow_skew_path": "tracker.limits.skew_gains",
    "stability": "tracker.limits.switched_stability",
    "stationary": "tracker.limits.stationary_moments",
    "two_time": "tracker.limits.exact_moments",
}
__all__ = [
    "Unstable",
    "adaptive_path",
    "algorithm_density",
    "algorithm_moments",
    "best_step",
    "coupled",
    "curvature",
    "density",
    "discretised_marginal",
    "gibbs_marginal",
    "gradient_noise",
    "leading_error",
    "moments",
    "regimes",
    "skew_gain",
    "slow_skew_path",
    "stability",
    "stationary",
    "two_time",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'tracker.limits' has no attribute '{name}'")


def __dir__() -> list[str]:
    return list(__all__)


class _Names(ModuleType):
    """A package whose names are not hidden by files: importing the file moments.py must not hide the function moments."""

    def __setattr__(self, name: str, value: Any) -> None:
        if not (name in _HOMES and isinstance(value, ModuleType)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Names
