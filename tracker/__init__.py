"""A wind tunnel for constant-step stochastic-gradient Langevin samplers in a world that switches.

Symbols, here and in scenario files: ``epsilon`` step of the samplers, ``alpha`` step of the hidden chain with transition
matrix I + alpha Q, ratio = alpha / epsilon, ``beta`` inverse temperature, ``skew`` the matrix S, ``skew_step`` its step,
``perturbation`` SPSA's mu, N dimension of theta, X number of modes, K number of ``steps``.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tracker.convergence import Verdict, check_limit
    from tracker.runs import Run, Sweep, open_run, open_sweep, run, sweep
    from tracker.scenario import Scenario, ScenarioError, load, parse

__version__ = "0.1.0"

# Loaded when first used: importing numba and scipy takes a second.
_HOMES = {
    "Run": "tracker.runs",
    "Scenario": "tracker.scenario",
    "ScenarioError": "tracker.scenario",
    "Sweep": "tracker.runs",
    "Verdict": "tracker.convergence",
    "check_limit": "tracker.convergence",
    "load": "tracker.scenario",
    "open_run": "tracker.runs",
    "open_sweep": "tracker.runs",
    "parse": "tracker.scenario",
    "run": "tracker.runs",
    "sweep": "tracker.runs",
}
__all__ = [
    "Run",
    "Scenario",
    "ScenarioError",
    "Sweep",
    "Verdict",
    "check_limit",
    "load",
    "open_run",
    "open_sweep",
    "parse",
    "run",
    "sweep",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'tracker' has no attribute '{name}'")


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
