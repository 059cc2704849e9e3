"""The meaning of each key of a scenario file, for error messages and for the JSON schema.

The keys of a cost are explained where they are declared, in the cost's own file.
"""

from __future__ import annotations

MEANINGS: dict[str, str] = {
    # top
    "name": "what it is called in results: letters, digits, _ and -",
    "description": "a sentence or two for the report",
    "seed": "the seed of all randomness; the same seed gives the same results",
    "trials": "how many independent trials are simulated",
    "steps": "how many steps each trial takes (K)",
    "burn_in": "how many steps are left out of time averages",
    "record_every": "every how many steps a trace is recorded; max(1, steps // 500) if not given",
    "start": "theta at step 0: a point, or { mean = [...], covariance = [[...]] }",
    "mean": "the mean of the start",
    "covariance": "the covariance of the start",
    "chain": "the hidden Markov chain that picks the mode, with transition matrix I + alpha Q",
    "schedule": "known switches, in place of a chain",
    "interventions": "forced switches and outages",
    "modes": "the cost functions among which the world switches, in the order of Q's rows",
    "samplers": "the algorithms that are compared",
    "sweep": 'lists of values by address, e.g. { "chain.alpha" = [1e-4, 1e-3] }',
    # chain, schedule, interventions
    "alpha": "the chain's step: I + alpha Q is its transition matrix",
    "Q": "the chain's generator: a square matrix with rows that sum to 0, one row for each mode",
    "initial": 'the law of the first mode: "stationary", the name of a mode, or a list of probabilities',
    "switches": 'from which step on which mode holds, e.g. [[0, "left"], [50_000, "right"]]',
    "at": "the step at which it happens",
    "to": "the name of the mode that is switched to",
    # modes
    "cost": "the family of the cost function",
    # samplers
    "kind": "the kind of sampler",
    "epsilon": "the step size",
    "beta": 'the inverse temperature; "inf" for plain stochastic gradient',
    "skew": 'the matrix S: a skew matrix, a number s for [[0, -s], [s, 0]], "random" or "optimal"',
    "skew_step": "the step size of S",
    "skew_bounds": "[lo, hi]: where the entries of S below the diagonal are kept",
    "tangent_limit": "beyond max|D| > tangent_limit D is reset to 0",
    "noise_step": "the step size of sigma, the factor of the injected noise",
    "noise_bounds": "[lo, hi]: where sigma is kept",
    "noise_start": "sigma at step 0",
    "perturbation": "the size mu of the perturbation of S",
    "hold": "for how many steps a perturbation is kept",
    "cost_observation": "which observation the perturbed costs are compared under",
    "inner_steps": "how many steps the look-ahead takes",
}
