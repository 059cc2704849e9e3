"""Faults in what is measured and in what is said of it: metrics, the convergence check, words of verdicts."""

from __future__ import annotations

from planted.base import faults

CONVERGENCE = "test_verdicts.py test_convergence.py"

VERDICTS = {
    "convergence": [
        *faults(
            "tracker/convergence/extrapolation.py",
            CONVERGENCE,
            ("LEVEL = 0.01", "LEVEL = 0.001"),
            ("    if z > q:\n", "    if z > 2.0 * q:\n"),
            ("    if reached < delta:\n", "    if reached < 2.0 * delta:\n"),
            (
                "    covariance = sum(w**2 * tally.covariance / tally.trials for",
                "    covariance = sum(abs(w) * tally.covariance / tally.trials for",
            ),
            ('"rejected" if (low > delta).any() else', '"rejected" if (high > delta).any() else'),
            ("    truncation = np.abs(a - weights(h, top - 1) @ d)\n", "    truncation = np.zeros_like(a)\n"),
        ),
        *faults(
            "tracker/convergence/order.py",
            CONVERGENCE,
            (
                "    inside = POWERS[misfit <= misfit.min() + CHI2]\n",
                "    inside = POWERS[misfit <= misfit.min() + CHI2 / 4.0]\n",
            ),
            ("    if abs(b) <= abs(c) * h.max():\n", "    if False:\n"),
        ),
        *faults(
            "tracker/convergence/statistics.py",
            CONVERGENCE,
            ("        return here * (sample.early_mode == s.mode)\n", "        return here\n"),
            (
                "        return np.asarray(sample.early_theta[:, s.a] * theta[:, s.b])\n",
                "        return np.asarray(theta[:, s.a] * theta[:, s.b])\n",
            ),
        ),
        *faults(
            "tracker/convergence/rare.py",
            CONVERGENCE,
            ("    return bool(trials * lots < RARE)\n", "    return bool(trials * lots < RARE / 100.0)\n"),
        ),
    ],
    "metrics": [
        *faults(
            "tracker/metrics/distances.py",
            "test_metrics_distances.py",
            ("    crossing = begin * end < 0\n", "    crossing = begin * end > 1\n"),
            (
                '    empirical = np.searchsorted(x, left, side="right") / x.size\n',
                '    empirical = np.searchsorted(x, left, side="left") / x.size\n',
            ),
        ),
        *faults(
            "tracker/metrics/skewness.py",
            "test_metrics_skewness.py",
            (
                "    return epsilon * beta / 2.0 * max(largest, 0.0)\n",
                "    return epsilon * beta * max(largest, 0.0)\n",
            ),
        ),
    ],
}
