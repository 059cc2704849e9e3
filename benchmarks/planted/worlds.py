"""Faults in what the world is made of: costs, the chain, the environment, streams, scenario rules."""

from __future__ import annotations

from planted.base import faults


def _on(family: str, *more: str) -> str:
    """The cost's own equations and derivatives; and more of test_costs.py."""
    own = f"{family} and (value_is or expected_is or derivatives_are)"
    return f"test_costs.py -k '{' or '.join([f'({own})', *more])}'"


WORLDS = {
    "costs": [
        *faults(
            "tracker/costs/quadratic.py",
            _on("quadratic"),
            ("g = z[d]\n", "g = 1.001 * z[d]\n"),
            ("z[d] * theta[d]", "0.5 * z[d] * theta[d]"),
            ("            out[d, e] = H[d, e]\n", "            out[d, e] = H[d, d]\n"),
        ),
        *faults(
            "tracker/costs/polynomial/monomials.py",
            _on("polynomial"),
            ("out[d] = _row(cost.terms, 1 + d, theta) + z[d]", "out[d] = _row(cost.terms, 1 + d, theta) - z[d]"),
            ("            out[e, d] = out[d, e]\n", "            out[e, d] = 0.0\n"),
        ),
        *faults(
            "tracker/costs/polynomial/monomials.py",
            _on("polynomial"),
            ("_add_outer(curvature if i != j else 0.5 * curvature,", "_add_outer(curvature,"),
            ("u += basis[i, d] * theta[d]", "u += basis[d, i] * theta[d]"),
        ),
        *faults(
            "tracker/costs/mixture/observations.py",
            _on("mixture", "recipe", "chunks"),
            ("t = t + 1 if t + 1 < cost.data.size else 0", "t = t + 1 if t + 2 < cost.data.size else 0"),
        ),
        *faults(
            "tracker/costs/mixture/likelihood.py",
            _on("mixture", "recipe", "chunks"),
            ("pq = factor * (w * rest * a * b)", "pq = factor * (w * rest * a * a)"),
            (
                "c += 0.5 * precision[d] * (theta[d] - prior_mean[d]) * (theta[d] - prior_mean[d])",
                "c += 0.5 * precision[d] * theta[d] * (theta[d] - prior_mean[d])",
            ),
        ),
        *faults(
            "tracker/costs/mixture/likelihood.py",
            _on("mixture", "true_law"),
            ("        pull_q += cost.weights[i] * rest * (q - y)", "        pull_q += cost.weights[i] * w * (q - y)"),
        ),
        *faults(
            "tracker/costs/mixture/observations.py",
            "test_kernels.py -k 'path_equals and interpreted-stream-langevin'",
            ("out[i, 0] = centre + cost.deviation * n[0]", "out[i, 0] = centre - cost.deviation * n[0]"),
        ),
        *faults(
            "tracker/costs/logistic/rows.py",
            _on("logistic", "(logistic and unbiased)"),
            ("weight = cost.horizon * s * (1.0 - s)", "weight = cost.horizon * s * (1.0 + s)"),
        ),
        *faults(
            "tracker/costs/row_order.py",
            _on("logistic", "(logistic and unbiased)"),
            ("return draw_index(stream, n)", "return draw_index(stream, n - 1)"),
        ),
        *faults(
            "tracker/costs/minimise/search.py",
            "test_minimisers.py -k 'into_a_valley or ties or tolerance or without_minimum or many_wells or narrower'",
            ("COARSE, SAME = 1e-3, 1e-4", "COARSE, SAME = 1e-3, 1e-1"),
            (
                "        if not any(same_well(cost, other, end) for other in near):\n",
                "        if not near:\n",
            ),
            (
                "return np.lexsort(np.round(points / scale, 6).T[::-1])",
                "return np.lexsort(np.round(points / scale, 6).T)",
            ),
            ("if lowest.value == -np.inf or not", "if lowest.value == -np.inf and not"),
            (
                "        return self._exchange() and self._unseen() <= CHANCE_OF_AN_UNSEEN_WELL\n",
                "        return True\n",
            ),
        ),
        *faults(
            "tracker/costs/polynomial/bounded_below.py",
            "test_formula.py -k bounded",
            ("return (-1 if value < -CERTAINLY_NEGATIVE", "return (-1 if value < -1e9 * CERTAINLY_NEGATIVE"),
        ),
    ],
    "chain": [
        *faults(
            "tracker/chain/generator.py",
            "test_chain.py -k 'not cover and not size'",
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
            "tracker/chain/dwell_counts.py",
            "test_chain.py -k 'not cover'",
            ("length - ~completed if not law.fixed", "length if not law.fixed"),
        ),
        *faults(
            "tracker/chain/dwell_times.py",
            "test_chain.py -k 'not cover'",
            ("tail = (1.0 - confidence) / 2.0", "tail = 1.0 - confidence"),
            ("mean_dwell = n / exits", "mean_dwell = n / (exits + 1)"),
            ("2.0 * np.minimum(at_least, at_most)", "np.minimum(at_least, at_most)"),
        ),
    ],
    "environment": [
        *faults(
            "tracker/environment/simpy_processes.py",
            "test_environment.py -k 'paths_and_counts or cuts_into or forced or schedule_then or outage'",
            ("yield self._clock.timeout(0)  #", "yield self._clock.timeout(1)  #"),
            ("self._clock.now <= at < stop", "self._clock.now < at < stop"),
        ),
        *faults(
            "tracker/environment/hidden_chains.py",
            "test_environment.py -k 'paths_and_counts or cuts_into or forced or schedule_then or outage'",
            ("draw_uniform(stream), leave[mode[path]])", "draw_uniform(stream), leave[0])"),
            ("seed_stream(entropy, CHAIN, trials[path],", "seed_stream(entropy, CHAIN, trials[path] + 1,"),
        ),
        *faults(
            "tracker/environment/hidden_chains.py",
            "test_environment.py -k powers",
            ("now = now + steps if", "now = now + steps + 1 if"),
        ),
        *faults(
            "tracker/environment/timeline.py",
            "test_environment.py -k 'paths_and_counts or cuts_into or forced or schedule_then or outage'",
            ("self._stop - self._entered[path] + 1", "self._stop - self._entered[path]"),
            ("since[segment], passed % 2 == 0]", "since[segment], passed % 2 == 1]"),
            ("overruled |= (step == event.at) & (before != event.to)", "overruled |= step == event.at"),
        ),
    ],
    "streams": [
        *faults(
            "tracker/sfc64.py",
            "test_streams.py -k 'tail_turns or every_stream or indices or continue or published'",
            ("if height + height > beyond * beyond:", "if height > beyond * beyond:"),
        ),
        *faults(
            "tracker/streams.py",
            "test_streams.py -k 'tail_turns or every_stream or indices or continue or published'",
            ("    for _ in range(12):\n", "    for _ in range(11):\n"),
            ("word = _U(role)", "word = _U(role + 1)"),
            (
                "return min(truncated(draw_uniform(stream) * n), n - 1)",
                "return min(truncated(draw_uniform(stream) * (n + 1)), n - 1)",
            ),
        ),
        *faults(
            "tracker/engine/bins.py",
            "test_bins.py",
            ("while number >> shift >= 2 << bits:", "while number >> shift >= 4 << bits:"),
            ("max((bin_ >> bits) - 1, 0)", "max(bin_ >> bits, 0)"),
        ),
        *faults(
            "tracker/engine/bins.py",
            "test_bins.py",
            ("while number >> shift >= 2 << bits:", "while number >> shift > 2 << bits:"),
            equivalent="Where number >> shift is 2 << bits, one more shift adds 1 << bits and takes as much away: the same bin.",
        ),
    ],
    "skew": [
        *faults(
            "tracker/skew/optimal_skew.py",
            "test_skew.py -k 'closed_form or rotation_takes or optimal_spectrum'",
            ("np.tanh(a * gap[upper] / 2.0)", "np.tanh(a * gap[upper])"),
            ("column = np.array([b + np.copysign(root, b), -a])", "column = np.array([b + np.copysign(root, b), a])"),
        ),
        *faults(
            "tracker/skew/contraction_rates.py",
            "test_skew.py -k 'contraction or stability_limit or separates'",
            ("(2.0 * values.real / np.abs(values) ** 2).min()", "(2.0 / np.abs(values)).min()"),
            (
                "np.abs(1.0 - epsilon * _eigenvalues(H, S)).max()",
                "np.abs(1.0 - epsilon * _eigenvalues(H, S).real).max()",
            ),
        ),
        *faults(
            "tracker/skew/matrices.py",
            "test_skew.py -k 'optimal or best_for_step_in_two or basis or clip'",
            ("E[i, j], E[j, i] = 1.0, -1.0", "E[i, j], E[j, i] = -1.0, 1.0"),
        ),
    ],
    "scenario": [
        *faults(
            "tracker/scenario/switching_check.py",
            "test_limits_stability.py -k 'stable_means or sentence_says or tightest or before_a_run or validate_does'",
            ("bool(growth < 0.0 and abscissa < 0.0), alone)", "bool(growth < 0.0), alone)"),
            ("bool(growth < 0.0 and abscissa < 0.0), alone)", "bool(abscissa < 0.0), alone)"),
            ("or self.epsilon >= self.alone:", "or self.epsilon < self.alone:"),
            ("        if self.radius >= 1.0:\n", "        if self.radius >= 1.1:\n"),
            ("generator(of_limit, Q, alpha / epsilon)", "generator(of_limit, Q, epsilon / alpha)"),
            ("min(limit_alone(bowl, S) for bowl in bowls)", "max(limit_alone(bowl, S) for bowl in bowls)"),
        ),
        *faults(
            "tracker/scenario/switching_check.py",
            "test_scenario.py -k clipped_first_skew",
            ("skew.clip(S, *bounds)", "S"),
        ),
        *faults(
            "tracker/scenario/step_warnings.py",
            "test_scenario.py -k 'regimes or stability or tightest or warnings or target_far or records_that or reducible'",
            ("    if ratio < SLOW * (1.0 - ROUNDING):\n", "    if ratio <= SLOW:\n"),
            ('return "fast" if ratio > FAST * (1.0 + ROUNDING)', 'return "fast" if ratio > 20.0'),
            (" if s.epsilon >= s.limit]", " if s.epsilon >= 2.0 * s.limit]"),
            ("return float(np.min(limits)) if limits", "return float(np.max(limits)) if limits"),
            ("met = length // math.gcd(length, every)", "met = length // every"),
            ("TOO_SMALL**2 * mode.radius2 * float(sampler.beta)", "TOO_SMALL * mode.radius2 * float(sampler.beta)"),
            (
                "(skew.cyclic_limit if one.cyclic else skew.independent_limit)",
                "(skew.independent_limit if one.cyclic else skew.cyclic_limit)",
            ),
        ),
        *faults(
            "tracker/engine/problem.py",
            "test_cost_average.py -k 'shortest or meet_every or declare'",
            ("while every > 1 and any(", "while every > 100 and any("),
            ("burn_in + min(every // 2,", "burn_in + min(0,"),
        ),
    ],
}
