"""
The best constant step
======================

At beta = inf the error of a constant step is noise (grows with epsilon) plus lag (grows with alpha / epsilon). Both are known exactly.
"""

import matplotlib.pyplot as plt
import numpy as np

import tracker
from tracker import limits

scenario = tracker.parse(
    {
        "name": "two-points",
        "trials": 1,
        "steps": 1,
        "start": [0.0],
        "chain": {"alpha": 1e-3, "Q": [[-1.0, 1.0], [1.0, -1.0]]},
        "modes": [
            {"name": "left", "cost": "quadratic", "minimum": [-1.0], "curvature": [[1.0]], "gradient_noise": [[1.0]]},
            {"name": "right", "cost": "quadratic", "minimum": [1.0], "curvature": [[1.0]], "gradient_noise": [[1.0]]},
        ],
        "samplers": [{"name": "lms", "kind": "langevin", "epsilon": 0.01, "beta": "inf"}],
    }
)
steps = np.geomspace(2e-3, 1.0, 60)
errors = [limits.stationary(scenario.set("samplers.lms.epsilon", e), "lms").mean_square_error for e in steps]
best = limits.best_step(scenario, "lms")

figure, axes = plt.subplots(figsize=(6, 3.5), layout="constrained")
axes.loglog(steps, errors, label="exact")
axes.loglog(steps, best.noise * steps + best.lag * 1e-3 / steps, "--", label="noise + lag")
axes.plot(best.epsilon, best.mean_square_error, "o", label=f"best: epsilon = {best.epsilon:.3f}")
axes.set_xlabel("epsilon")
axes.set_ylabel("mean square error")
axes.legend()
plt.show()
