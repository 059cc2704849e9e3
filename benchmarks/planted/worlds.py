"""Faults in what the world is made of: costs, the chain, the environment, streams, scenario rules."""

from __future__ import annotations

from planted.base import faults


def _on(world: str, *files: str) -> str:
    """The loop against its naive transcription, interpreted, in one world; and whole files."""
    chosen = " or ".join([f"interpreted-{world}", *(f"{file}.py" for file in files)])
    return " ".join([f"{file}.py" for file in files] + [f"test_kernels.py -k '{chosen}'"])


WORLDS = {
    "costs": [
        *faults(
            "tracker/costs/quadratic.py",
            _on("quadratic", "test_costs"),
            ("g = z[d]\n", "g = 1.001 * z[d]\n"),
            ("c += 0.5 * (theta[d] - m[d]) * slope + z[d] * theta[d]", "c += 0.5 * (theta[d] - m[d]) * slope"),
            ("            out[d, e] = H[d, e]\n", "            out[d, e] = H[d, d]\n"),
        ),
        *faults(
            "tracker/costs/polynomial_kernels.py",
            _on("polynomial", "test_costs"),
            ("out[d] = _row(cost.terms, 1 + d, theta) + z[d]", "out[d] = _row(cost.terms, 1 + d, theta) - z[d]"),
            ("            out[e, d] = out[d, e]\n", "            out[e, d] = 0.0\n"),
        ),
        *faults(
            "tracker/costs/polynomial_kernels.py",
            _on("basis", "test_costs"),
            ("_add_outer(curvature if i != j else 0.5 * curvature,", "_add_outer(curvature,"),
            ("u += basis[i, d] * theta[d]", "u += basis[d, i] * theta[d]"),
        ),
        *faults(
            "tracker/costs/mixture_kernels.py",
            _on("stored", "test_costs"),
            ("t = t + 1 if t + 1 < cost.data.size else 0", "t = t + 1 if t + 2 < cost.data.size else 0"),
            ("pq = factor * (w * rest * a * b)", "pq = factor * (w * rest * a * a)"),
            (
                "c += 0.5 * precision[d] * (theta[d] - prior_mean[d]) * (theta[d] - prior_mean[d])",
                "c += 0.5 * precision[d] * theta[d] * (theta[d] - prior_mean[d])",
            ),
        ),
        *faults(
            "tracker/costs/mixture_kernels.py",
            _on("stream", "test_costs"),
            ("out[i, 0] = centre + cost.deviation * n[0]", "out[i, 0] = centre - cost.deviation * n[0]"),
            ("        pull_q += cost.weights[i] * rest * (q - y)", "        pull_q += cost.weights[i] * w * (q - y)"),
        ),
        *faults(
            "tracker/costs/logistic_kernels.py",
            _on("logistic", "test_logistic"),
            ("weight = cost.horizon * s * (1.0 - s)", "weight = cost.horizon * s * (1.0 + s)"),
            (
                "out[i, 0] = draw_index(stream, cost.labels.size)",
                "out[i, 0] = draw_index(stream, cost.labels.size - 1)",
            ),
        ),
        *faults(
            "tracker/costs/bounded.py",
            "test_formula.py -k bounded",
            ("return (-1 if value < -NEGATIVE", "return (-1 if value < -1e9 * NEGATIVE"),
        ),
    ],
    "chain": [
        *faults(
            "tracker/chain/generator.py",
            "test_chain.py test_bad_input.py -k 'test_chain.py or each_problem'",
            ("if fastest > 1.0 + ROUNDING:", "if fastest > 1.001 + ROUNDING:"),
            ("return np.minimum(alpha * rates, 1.0)", "return np.minimum(0.99 * alpha * rates, 1.0)"),
            ("steps = np.ceil(np.asarray(exponential)", "steps = 1.0 + np.ceil(np.asarray(exponential)"),
            (
                "found = np.sum(sums <= np.asarray(u)[..., None], axis=-1)",
                "found = np.sum(sums < np.asarray(u)[..., None], axis=-1)",
            ),
            ("law[n] = law[:n] @ rates[:n, n]", "law[n] = law[:n] @ rates[n, :n]"),
            ("ROW_SUM = 1e-9", "ROW_SUM = 1e-3"),
        ),
        *faults(
            "tracker/chain/dwells.py",
            "test_chain.py",
            ("seen = length - ~completed", "seen = length"),
            ("tail = (1.0 - confidence) / 2.0", "tail = 1.0 - confidence"),
            ("mean_dwell = n / exits", "mean_dwell = n / (exits + 1)"),
            ("2.0 * np.minimum(at_least, at_most)", "np.minimum(at_least, at_most)"),
        ),
    ],
    "environment": [
        *faults(
            "tracker/environment/world.py",
            "test_environment.py",
            ("yield timeout(visit[modes + present[path]])", "yield timeout(visit[modes + present[path]] + 1)"),
            ("self._enter(path, visit[present[path]], by_chain=True)", "self._enter(path, visit[0], by_chain=True)"),
            ("yield self._clock.timeout(0)  #", "yield self._clock.timeout(1)  #"),
            ("spawn_key=(CHAIN_ROLE, trial)", "spawn_key=(CHAIN_ROLE, trial + 1)"),
        ),
        *faults(
            "tracker/environment/timeline.py",
            "test_environment.py",
            ("length = self._stop - self._entered + 1", "length = self._stop - self._entered"),
            ("since[segment], passed % 2 == 0]", "since[segment], passed % 2 == 1]"),
            ("overruled |= (step == event.at) & (before != event.to)", "overruled |= step == event.at"),
        ),
    ],
    "streams": [
        *faults(
            "tracker/streams.py",
            "test_streams.py",
            ("if height + height > beyond * beyond:", "if height > beyond * beyond:"),
            ("    for _ in range(12):\n", "    for _ in range(11):\n"),
            ("word = _U(role)", "word = _U(role + 1)"),
            (
                "return min(int(draw_uniform(stream) * n), n - 1)",
                "return min(int(draw_uniform(stream) * (n + 1)), n - 1)",
            ),
        ),
        *faults(
            "tracker/bins.py",
            "test_bins.py",
            ("while number >> shift >= 2 << bits:", "while number >> shift > 2 << bits:"),
        ),
    ],
    "skew": [
        *faults(
            "tracker/skew/choice.py",
            "test_skew.py",
            ("np.tanh(a * gap[upper] / 2.0)", "np.tanh(a * gap[upper])"),
            ("column = np.array([b + np.copysign(root, b), -a])", "column = np.array([b + np.copysign(root, b), a])"),
        ),
        *faults(
            "tracker/skew/stability.py",
            "test_skew.py test_logistic.py",
            ("(2.0 * values.real / np.abs(values) ** 2).min()", "(2.0 / np.abs(values)).min()"),
            (
                "np.abs(1.0 - epsilon * _eigenvalues(H, S)).max()",
                "np.abs(1.0 - epsilon * _eigenvalues(H, S).real).max()",
            ),
        ),
        *faults(
            "tracker/skew/matrices.py",
            "test_skew.py",
            ("E[i, j], E[j, i] = 1.0, -1.0", "E[i, j], E[j, i] = -1.0, 1.0"),
        ),
    ],
}
