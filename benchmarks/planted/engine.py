"""Faults in the samplers and the loop."""

from __future__ import annotations

from planted.base import faults

QUADRATIC = "test_kernels.py -k 'interpreted-quadratic'"
STORED = "test_kernels.py -k 'interpreted-stored'"
LOOP = "test_kernels.py -k 'interpreted-quadratic or interpreted-polynomial or outage or blocks or runs_away or last_point'"

ENGINE = {
    "samplers": [
        *faults(
            "tracker/samplers/langevin.py",
            QUADRATIC,
            ("theta[d] + sampler.noise * w[d]", "theta[d] + 1.0001 * sampler.noise * w[d]"),
        ),
        *faults(
            "tracker/samplers/base.py",
            QUADRATIC,
            ("            drift += S[d, e] * g[e]\n", "            drift -= S[d, e] * g[e]\n"),
            ("    S[j, i] = -s\n", "    S[j, i] = s\n"),
            ("    s = min(max(s, low), high)\n", "    s = min(max(s, low), high + 1e-3)\n"),
            (
                "quotient = sampler.skew_step * difference / (2.0 * sampler.perturbation)",
                "quotient = sampler.skew_step * difference / sampler.perturbation",
            ),
            ("            M[d, e] = S[d, e] - mu * Delta[d, e]\n", "            M[d, e] = S[d, e]\n"),
        ),
        *faults(
            "tracker/samplers/hessian.py",
            "test_tangent.py test_kernels.py -k 'interpreted-quadratic or test_tangent.py'",
            ("            D[i, p] -= epsilon * g[j]\n", "            D[i, p] += epsilon * g[j]\n"),
            (
                "                D[d, p] -= epsilon * AD[d, p]\n",
                "                D[d, p] -= 2.0 * epsilon * AD[d, p]\n",
            ),
            ("abs(D[d, p]) <= sampler.tangent_limit", "abs(D[d, p]) <= 2.0 * sampler.tangent_limit"),
            ("                total += S[r, d] * h[d, c]\n", "                total += S[d, r] * h[d, c]\n"),
            ("S[i, j] - sampler.skew_step * AD[N, p]", "S[i, j] - sampler.skew_step * AD[0, p]"),
        ),
        *faults(
            "tracker/samplers/spsa.py",
            QUADRATIC,
            ("    redraws = k % sampler.hold == 0\n", "    redraws = (k + 1) % sampler.hold == 0\n"),
            (
                "    if sampler.hold > 1 and (redraws or owed[REDRAW] == 1.0):\n",
                "    if redraws or owed[REDRAW] == 1.0:\n",
            ),
            ("        state.owed[REDRAW] = 1.0\n", "        state.owed[REDRAW] = 0.0\n"),
            ("    if owed[UPDATE] == 1.0:\n        descend", "    if owed[UPDATE] == 2.0:\n        descend"),
        ),
        *faults(
            "tracker/samplers/two_timescale.py",
            STORED,
            ("        seen = Z[n + sampler.next]\n", "        seen = Z[n]\n"),
            (
                "    observe(cost, k, steps + 1, streams[AHEAD], Z)\n",
                "    observe(cost, k + 1, steps + 1, streams[AHEAD], Z)\n",
            ),
            ("    copy(state.theta, state.minus)\n", "    copy(state.minus, state.minus)\n"),
        ),
        *faults(
            "tracker/samplers/wandering.py",
            QUADRATIC,
            ("    return low + min(x, 2.0 * width - x)\n", "    return low + min(x, width - x)\n"),
        ),
    ],
    "loop": [
        *faults(
            "tracker/loop.py",
            LOOP,
            ("        if best <= radius2:\n", "        if best <= 1.01 * radius2:\n"),
            (
                "                    moments[d + 1, e] += c * (theta[e] - origin[e])\n",
                "                    moments[d + 1, e] += c * theta[e]\n",
            ),
            ("            averaged = k >= layout.burn_in\n", "            averaged = k > layout.burn_in\n"),
            ("        best = min(best, distance)\n", "        best = distance\n"),
            ("            idle(sampler, state, cost, k, streams)\n", "            pass\n"),
        ),
    ],
}
