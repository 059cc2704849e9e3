"""Faults in the theory: moments, stationary laws, gains, densities."""

from __future__ import annotations

from planted.base import faults

MOMENTS = "test_limits_moments.py"
TRACKING = "test_limits_tracking.py"

THEORY = {
    "limits": [
        *faults(
            "tracker/limits/system.py",
            MOMENTS,
            ("entries.add(2, 0, np.tile(2.0 / problem.beta", "entries.add(2, 0, np.tile(1.0 / problem.beta"),
            (
                "entries.add(2, 0, (a[:, :, None] * a[:, None, :] + M @ problem.Sigma @ M.T)",
                "entries.add(2, 0, (a[:, :, None] * a[:, None, :] + problem.Sigma)",
            ),
            ("    return move + mix + mix @ move\n", "    return move + mix\n"),
            (
                "    entries.add(2, 1, -cross.reshape(X, N * N, N))\n",
                "    entries.add(2, 1, cross.reshape(X, N * N, N))\n",
            ),
            ("            E = 2.0 * E + E @ E\n", "            E = 2.0 * E\n"),
        ),
        *faults(
            "tracker/limits/moments.py",
            MOMENTS,
            (
                '"mean_square_error": np.einsum("...iaa->...", around)',
                '"mean_square_error": np.einsum("...iaa->...", Pi)',
            ),
            ('"expected_cost": 0.5 * np.einsum(', '"expected_cost": np.einsum('),
            ("    return found if t1 <= t2 else found.T\n", "    return found\n"),
        ),
        *faults(
            "tracker/limits/steady.py",
            TRACKING + " " + MOMENTS,
            ("    if not growth < 0.0:\n", "    if not growth < 0.1:\n"),
            (
                "        change[self.problem.X :] = -self._solve(change[self.problem.X :])\n",
                "        change[self.problem.X :] = self._solve(change[self.problem.X :])\n",
            ),
        ),
        *faults(
            "tracker/limits/gain.py",
            TRACKING,
            ("        slope = -_gain(", "        slope = _gain("),
        ),
        *faults(
            "tracker/limits/adaptive.py",
            "test_limits_adaptive.py",
            ("TOUCH = 1e-13", "TOUCH = 1e-2"),
        ),
    ],
}
