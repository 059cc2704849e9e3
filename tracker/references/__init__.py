"""Ground truth for one mode without switching: its exact law, and Metropolis-Hastings as in the paper.

``posterior`` integrates exp(-beta C) by quadrature: mixtures in any dimension, polynomials for N = 1 and 2, quadratic
costs in closed form. ``metropolis`` draws from exp(-beta C) for any cost. ``calibration`` checks both against data sets
drawn from the prior, where ranks of the true parameter must be uniform.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tracker.lazy_names import lazy_names

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
else:  # what a type checker must not see: it would take any name for granted
    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "exact_posterior": ["Posterior", "posterior"],
            "metropolis_hastings": ["Draws", "metropolis"],
            "simulation_based_calibration": [
                "Calibration",
                "calibration",
                "draw_problems",
                "exact_ranks",
                "sampled_ranks",
            ],
        },
    )

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
