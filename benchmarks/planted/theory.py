"""Faults in the theory: moments, stationary laws, gains, best steps, stability, references."""

from __future__ import annotations

from planted.base import faults

MOMENTS = "test_limits_moments.py -k 'table or constants or two_times or all_paths or infinite'"
TRACKING = (
    "test_limits_tracking.py -k 'closed_form or example_a or slope or floor or scalar or gradient_is or slow_path'"
)
BEST = "test_best_step.py test_limits_tracking.py -k 'level_of or averaging or valley_above or first_of_two or cuts_the or best_steps or slope'"
STABILITY = (
    "test_limits_stability.py -k 'stable_means or limit_ends or a_band or printed or largest_skew or slow_chain or "
    "first_interval or without_skew or large_systems'"
)
POSTERIOR = "test_references.py -k 'issued or brute_force or follows or polynomials or has_missed or a_needle or lost or needles or cannot or narrow'"
GIBBS = "test_limits_gibbs.py test_references.py -k 'gibbs or lost or narrow or widens or is_a_law'"

THEORY = {
    "limits": [
        *faults(
            "tracker/limits/moment_system.py",
            MOMENTS,
            ("entries.add(2, 0, np.broadcast_to(heat,", "entries.add(2, 0, np.broadcast_to(0.5 * heat,"),
            (
                "entries.add(2, 0, (a[:, :, None] * a[:, None, :] + M @ problem.white @ M.T)",
                "entries.add(2, 0, (a[:, :, None] * a[:, None, :] + problem.white)",
            ),
            ("    return move + mix + mix @ move\n", "    return move + mix\n"),
            (
                "    entries.add(2, 1, -cross.reshape(X, n * n, n))\n    if order == 2:",
                "    entries.add(2, 1, cross.reshape(X, n * n, n))\n    if order == 2:",
            ),
            ("            E = 2.0 * E + E @ E\n", "            E = 2.0 * E\n"),
        ),
        *faults(
            "tracker/limits/exact_moments.py",
            MOMENTS,
            (
                '"mean_square_error": np.einsum("...iaa->...", around)',
                '"mean_square_error": np.einsum("...iaa->...", Pi)',
            ),
            ('"expected_cost": 0.5 * np.einsum(', '"expected_cost": np.einsum('),
            ("    return found if t1 <= t2 else found.T\n", "    return found\n"),
        ),
        *faults(
            "tracker/limits/stationary_moments.py",
            "test_limits_moments.py test_limits_tracking.py -k 'unstable or stable or destroy or slope_is'",
            ("    if not growth < 0.0:\n", "    if not growth < 0.1:\n"),
            (
                "        change[self.problem.X :] = -self._solve(change[self.problem.X :])\n",
                "        change[self.problem.X :] = self._solve(change[self.problem.X :])\n",
            ),
        ),
        *faults("tracker/limits/skew_gains.py", TRACKING, ("        slope = -_gain(", "        slope = _gain(")),
        *faults(
            "tracker/limits/adaptive_ode.py", "test_limits_adaptive.py -k projection", ("TOUCH = 1e-13", "TOUCH = 1e-2")
        ),
        *faults(
            "tracker/limits/best_constant_step.py",
            BEST,
            ("np.trace(X @ (spread[i] - spread[j]))", "np.trace(X @ spread[i])"),
            ("        X = _lyapunov(A[j].T, of_theta)\n", "        X = _lyapunov(A[j], of_theta)\n"),
            ("float(np.sqrt(problem.alpha * max(lag, 0.0) / noise))", "float(problem.alpha * max(lag, 0.0) / noise)"),
            ("    if not rises or errors[best] >= level * (1.0 - EQUAL):\n", "    if not rises:\n"),
            ("        searched=(0.0, end),\n", "        searched=(0.0, float('inf')),\n"),
            ("return spread + float(pi @", "return float(pi @"),
            (
                "if beyond.epsilon >= alone or not log_radius(",
                "if beyond.epsilon >= alone or log_radius(",
            ),
        ),
        *faults(
            "tracker/limits/switched_stability.py",
            STABILITY,
            ("return self.radius < 1.0 and self.abscissa < 0.0", "return self.radius < 1.0"),
            ("            if not margin(bottom) > 0.0:\n", "            if False:\n"),
            ("return min(found, switched_moments.margin(flow, X, here.limit.n))", "return found"),
            ("        here = seen[-1][0] * 10.0 ** (1.0 / PER_DECADE)\n", "        here = seen[-1][0] * 1e3\n"),
        ),
        *faults(
            "tracker/limits/epsilon_derivative.py",
            "test_leading_error.py -k 'digits or larger'",
            ("_second_order(problem) - L @ L / 2\n", "_second_order(problem) - L @ L\n"),
            ("2 * W + E @ W + W @ E", "2 * W + 2 * E @ W"),
            (
                "return np.asarray(-T / 2.0 * (half @ (half @ problem.p0)))",
                "return np.asarray(-T * (half @ (half @ problem.p0)))",
            ),
            ("L @ (w - Lu / 2.0) + K2 @ u", "L @ w + K2 @ u"),
        ),
        *faults(
            "tracker/limits/gibbs_law.py",
            GIBBS,
            (
                "axes = [np.linspace(low, high, points) for low, high in sides]",
                "axes = [np.linspace(low / 2, high / 2, points) for low, high in sides]",
            ),
            ("        if _coarser_change(weights) < RESOLVED:\n", "        if _coarser_change(weights) < 1.0:\n"),
            (
                "sides = automatic_box(field, np.vstack([mode.minimisers, wells]))",
                "sides = automatic_box(field)",
            ),
            ("weights = np.exp(-beta * np.maximum(", "weights = np.exp(-0.99 * beta * np.maximum("),
        ),
        *faults(
            "tracker/limits/grid_box.py",
            GIBBS,
            ("DEPTH = 34.0", "DEPTH = 4.0"),
        ),
    ],
    "references": [
        *faults(
            "tracker/costs/mixture/posterior_law.py",
            POSTERIOR,
            (
                "np.linalg.svd(cost.means * scale, full_matrices=False)",
                "np.linalg.svd(cost.means, full_matrices=False)",
            ),
            ("rest = scale[:, np.newaxis] * (np.eye(scale.size) - W @ W.T) * scale", "rest = np.diag(scale**2)"),
        ),
        *faults(
            "tracker/references/exact_posterior.py",
            POSTERIOR,
            ("0.5 + sici(np.pi * places / spacing)[0] / np.pi", "0.5 + sici(places / spacing)[0] / np.pi"),
            ("for factor in (1.0, 2.0, 4.0)])", "for factor in (1.0,)])"),
            (
                "wells = np.vstack([lowest.points, lowest.wells[lowest.depths <= lowest.value + DEPTH / beta]])",
                "wells = lowest.points[:1]",
            ),
            ("        return beta * out\n", "        return out\n"),
        ),
        *faults(
            "tracker/references/lattice_integrals.py",
            POSTERIOR,
            ("TOLERANCE = 1e-11", "TOLERANCE = 1e-2"),
            (
                "return np.asarray(centred.T @ (self.weight[:, np.newaxis] * centred))",
                "return np.asarray(self.points.T @ (self.weight[:, np.newaxis] * self.points))",
            ),
            (
                "settled = depth == DEPTH and bool((f(spacing * at_wells) < depths + MET).all())",
                "settled = depth == DEPTH",
            ),
            ("DEPTH = 46.0", "DEPTH = 6.0"),
        ),
        *faults(
            "tracker/costs/mixture/posterior_law.py",
            "test_references_sampled.py -k 'another_temperature or involution or same_call or finds_the_exact'",
            (
                "    return np.ascontiguousarray(np.eye(means.shape[1]) + K @ (P - np.eye(2)) @ means)",
                "    return np.ascontiguousarray(np.eye(means.shape[1]) + K @ P @ means)",
            ),
        ),
        *faults(
            "tracker/references/metropolis_hastings.py",
            "test_metropolis_naive.py",
            ("there[d] += proposal.factor[d, e] * n[e]", "there[d] += proposal.factor[e, d] * n[e]"),
            (
                "            if draw_uniform(stream) < np.exp(min(here - new, 0.0)):\n",
                "            if draw_uniform(stream) < np.exp(min(2.0 * (here - new), 0.0)):\n",
            ),
            ("                here = new\n", "                here = min(here, new)\n"),
        ),
    ],
}
