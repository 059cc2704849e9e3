"""A wind tunnel for constant-step stochastic-gradient Langevin samplers in a world that switches.

Symbols, here and in scenario files: ``epsilon`` step of the samplers, ``alpha`` step of the hidden chain with transition
matrix I + alpha Q, ratio = alpha / epsilon, ``beta`` inverse temperature, ``skew`` the matrix S, ``skew_step`` its step,
``perturbation`` SPSA's mu, N dimension of theta, X number of modes, K number of ``steps``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tracker.lazy_names import lazy_names

if TYPE_CHECKING:
    from tracker import chain, limits, references, reports, skew
    from tracker.advice import advise
    from tracker.convergence import Verdict, check_limit
    from tracker.runs import Run, Sweep, merge, open_run, open_sweep, run, sweep
    from tracker.scenario import Scenario, ScenarioError, ScenarioWarning, load, parse
else:  # what a type checker must not see: it would take any name for granted
    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "advice": ["advise"],
            "convergence": ["Verdict", "check_limit"],
            "runs": ["Run", "Sweep", "merge", "open_run", "open_sweep", "run", "sweep"],
            "scenario": ["Scenario", "ScenarioError", "ScenarioWarning", "load", "parse"],
        },
        modules=["chain", "limits", "references", "reports", "skew"],
    )

__version__ = "0.2.0"
__all__ = [
    "Run",
    "Scenario",
    "ScenarioError",
    "ScenarioWarning",
    "Sweep",
    "Verdict",
    "advise",
    "chain",
    "check_limit",
    "limits",
    "load",
    "merge",
    "open_run",
    "open_sweep",
    "parse",
    "references",
    "reports",
    "run",
    "skew",
    "sweep",
]
