"""Theory: what the samplers and their limits must do, to many digits and without simulation.

What theory does not cover is refused by ``OutOfScope``, with a reason and an advice.

``sampler`` is a sampler's name in the scenario; modes stand in the order of the file; ``*_by_mode`` carry the indicator
of the mode and are not normalised. Nothing here imports the simulation, so that theory and simulation can check each other.

Quadratic costs, exact: ``moments``, ``algorithm_moments``, ``two_time``, ``leading_error``, ``stationary``, ``stability``,
``best_step``, ``best_skew``, ``regimes``, ``skew_gain``, ``slow_skew_path``, ``occupation``, ``increments``, ``scaled_error``, ``fast_chain_error``, ``wander``. Any cost: ``density``
and ``algorithm_density`` (N = 1, 2), ``first_passage`` (N = 1), ``spectrum`` and ``relative`` (N = 1, 2, or quadratic), ``escape``, ``coupled``
(any N), ``adaptive_path`` (the triple theta, D, S at beta = inf). One mode alone: ``gibbs_marginal``,
``discretised_marginal``. What could be known: ``gibbs_error`` (what temperature costs), ``error_split``, ``best_linear``,
``best_filter``, and all of them as ``ladder``. How a linear kind follows a moving minimum: ``transfer``. A CUSUM detector: ``run_length``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tracker.lazy_names import lazy_names

if TYPE_CHECKING:
    from tracker.limits.adaptive_ode import adaptive_path
    from tracker.limits.best_constant_step import best_step
    from tracker.limits.best_skew_matrix import best_skew
    from tracker.limits.coupled_levels import coupled
    from tracker.limits.density_solvers import algorithm_density, density
    from tracker.limits.error_parts import error_split
    from tracker.limits.escape_rates import escape
    from tracker.limits.exact_moments import algorithm_moments, leading_error, moments, two_time
    from tracker.limits.fast_chains import fast_chain_error
    from tracker.limits.filter_quadrature import best_filter
    from tracker.limits.first_passages import first_passage
    from tracker.limits.generator_spectrum import relative, spectrum
    from tracker.limits.gibbs_law import discretised_marginal, gibbs_marginal
    from tracker.limits.increment_moments import increments
    from tracker.limits.knowledge_ladder import ladder
    from tracker.limits.occupation_moments import occupation
    from tracker.limits.regime_limits import regimes
    from tracker.limits.riccati_filter import best_linear
    from tracker.limits.run_lengths import run_length
    from tracker.limits.scaled_errors import scaled_error
    from tracker.limits.scope import OutOfScope
    from tracker.limits.skew_gains import skew_gain, slow_skew_path
    from tracker.limits.stationary_moments import Unstable, stationary
    from tracker.limits.switched_stability import stability
    from tracker.limits.temperature_error import gibbs_error
    from tracker.limits.transfer_functions import transfer
    from tracker.limits.wandering_skew import wander
else:  # what a type checker must not see: it would take any name for granted
    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "adaptive_ode": ["adaptive_path"],
            "best_constant_step": ["best_step"],
            "best_skew_matrix": ["best_skew"],
            "run_lengths": ["run_length"],
            "filter_quadrature": ["best_filter"],
            "riccati_filter": ["best_linear"],
            "coupled_levels": ["coupled"],
            "density_solvers": ["algorithm_density", "density"],
            "escape_rates": ["escape"],
            "exact_moments": ["algorithm_moments", "leading_error", "moments", "two_time"],
            "fast_chains": ["fast_chain_error"],
            "first_passages": ["first_passage"],
            "gibbs_law": ["discretised_marginal", "gibbs_marginal"],
            "generator_spectrum": ["relative", "spectrum"],
            "increment_moments": ["increments"],
            "occupation_moments": ["occupation"],
            "regime_limits": ["regimes"],
            "scaled_errors": ["scaled_error"],
            "scope": ["OutOfScope"],
            "skew_gains": ["skew_gain", "slow_skew_path"],
            "stationary_moments": ["Unstable", "stationary"],
            "switched_stability": ["stability"],
            "error_parts": ["error_split"],
            "knowledge_ladder": ["ladder"],
            "temperature_error": ["gibbs_error"],
            "transfer_functions": ["transfer"],
            "wandering_skew": ["wander"],
        },
    )

__all__ = [
    "OutOfScope",
    "Unstable",
    "adaptive_path",
    "algorithm_density",
    "algorithm_moments",
    "best_filter",
    "best_linear",
    "best_skew",
    "best_step",
    "coupled",
    "density",
    "discretised_marginal",
    "error_split",
    "escape",
    "fast_chain_error",
    "first_passage",
    "gibbs_error",
    "gibbs_marginal",
    "increments",
    "ladder",
    "leading_error",
    "moments",
    "occupation",
    "regimes",
    "relative",
    "run_length",
    "scaled_error",
    "skew_gain",
    "slow_skew_path",
    "spectrum",
    "stability",
    "stationary",
    "transfer",
    "two_time",
    "wander",
]
