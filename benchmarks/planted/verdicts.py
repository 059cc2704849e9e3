"""Faults in what is measured and in how the limit is judged: metrics, the convergence check."""

from __future__ import annotations

from planted.base import faults

WORDS = "test_convergence.py test_extrapolation.py -k 'test_extrapolation or three_words or inflates or quantile or never_varies or without_noise or exact_errors or slope'"
PANEL = "test_convergence.py -k 'statistics or rare'"
STEPS = "test_residuals.py test_extrapolation.py -k 'test_extrapolation or naive or whitened or tails or standard or named_is or statistic_is or signs or rounding'"
RECOVERY = "test_metrics.py test_metrics_edges.py -k 'test_metrics_edges or kaplan or censored or median or recovery_of or apart or mixture or ends_are or biased'"
SWITCHES = "test_metrics_switches.py test_metrics_edges.py"
PAIRED = "test_metrics_paired.py test_metrics_edges.py"

VERDICTS = {
    "convergence": [
        *faults(
            "tracker/convergence/extrapolation.py",
            WORDS,
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
            WORDS,
            (
                "    inside = POWERS[misfit <= misfit.min() + CHI2]\n",
                "    inside = POWERS[misfit <= misfit.min() + CHI2 / 4.0]\n",
            ),
            ("    if abs(b) <= abs(c) * h.max():\n", "    if False:\n"),
        ),
        *faults(
            "tracker/convergence/statistics.py",
            PANEL,
            ("        return here * (sample.early_mode == s.mode)\n", "        return here\n"),
            (
                "        return np.asarray(sample.early_theta[:, s.a] * theta[:, s.b])\n",
                "        return np.asarray(theta[:, s.a] * theta[:, s.b])\n",
            ),
        ),
        *faults(
            "tracker/convergence/rare_events.py",
            PANEL,
            ("    return bool(trials * lots < RARE)\n", "    return bool(trials * lots < RARE / 100.0)\n"),
        ),
        *faults(
            "tracker/convergence/residuals.py",
            STEPS,
            ("given = 2.0 * epsilon / field.beta * np.eye(N)", "given = 2.06 * epsilon / field.beta * np.eye(N)"),
            ("root = vectors[:, live] / np.sqrt(values[live])", "root = vectors[:, live] / values[live]"),
            ("        to, back = root @ vectors.T, np.eye(N)\n", "        to, back = root.T, np.eye(N)\n"),
            ("MEDIAN = 0.6744897501960817", "MEDIAN = 0.7"),
            ("        raw = new - old + drift\n", "        raw = new - old + 1.05 * drift\n"),
            ("k - entered + 1, side=", "k - entered, side="),
        ),
        *faults(
            "tracker/convergence/step_tests.py",
            STEPS,
            ("q = -float(ndtri(level / (2 * max(1, len(known)))))", "q = -float(ndtri(level / 2))"),
            ("abs(z) > q) for name, z in known]", "z > q) for name, z in known]"),
            ("2.0 * (n @ law.injected) / math.sqrt(2.0 * samples)", "(n @ law.injected) / math.sqrt(2.0 * samples)"),
            ("[(q + ONE_SIDED) / drift]", "[q / drift]"),
            ("return max(0.0, -float(ndtri_exp(log_p - math.log(2.0))))", "return max(0.0, -float(ndtri_exp(log_p)))"),
            ("    spread = 2.0 / (9.0 * df)\n", "    spread = 2.0 / (3.0 * df)\n"),
            (
                '"confirmed" if self.reached < delta else "inconclusive"',
                '"confirmed" if self.reached < 2.0 * delta else "inconclusive"',
            ),
        ),
        *faults(
            "tracker/convergence/implementation_verdict.py",
            "test_extrapolation.py",
            ('    word = "rejected" if steps.rejected else panel.verdict\n', "    word = panel.verdict\n"),
            ("return LEVEL if self.law is None else PANEL", "return LEVEL"),
        ),
        *faults(
            "tracker/convergence/budget.py",
            "test_budgets.py -k 'too_long or memory or counted'",
            ("    if trials * steps > request.max_steps:\n", "    if trials > request.max_steps:\n"),
            ("    if need > most:\n", "    if need > 1e9 * most:\n"),
        ),
    ],
    "metrics": [
        *faults(
            "tracker/line_area.py",
            "test_metrics_distances.py",
            ("np.where(begin * end < 0, crossing, size)", "np.where(begin * end > 1, crossing, size)"),
        ),
        *faults(
            "tracker/metrics/wasserstein.py",
            "test_metrics_distances.py",
            (
                '    empirical = np.searchsorted(x, left, side="right") / x.size\n',
                '    empirical = np.searchsorted(x, left, side="left") / x.size\n',
            ),
        ),
        *faults(
            "tracker/metrics/skew_matrix.py",
            "test_metrics_skewness.py",
            (
                "    return epsilon * beta / 2.0 * max(largest, 0.0)\n",
                "    return epsilon * beta * max(largest, 0.0)\n",
            ),
        ),
        *faults(
            "tracker/metrics/recovery.py",
            RECOVERY,
            ("ended, leaving = waits[..., 0], waits.sum(axis=-1)", "ended, leaving = waits[..., 0], waits[..., 0]"),
            ("    found[..., 0, 0] = 0\n", "    found[..., 0, :] = 0\n"),
            ("    found[..., 0, 0] = 0\n", ""),
            (
                "    count = waits.sum(axis=(-1, -2), dtype=float)\n",
                "    count = waits[..., 0].sum(axis=-1, dtype=float)\n",
            ),
            (
                "    reached = alive < 0.5 - ROUNDING if last else alive <= 0.5 + ROUNDING\n",
                "    reached = alive <= 0.5 + ROUNDING\n",
            ),
            ("first[b] + share * (width[b] - 1)", "first[b] + share * width[b]"),
            ("        if met >= FEWEST_TRIALS:\n", "        if met >= 2:\n"),
            ("-np.sqrt(trials / (trials - 1.0)) * stdtrit", "-1.0 * stdtrit"),
            (
                "inside / switches if switches else np.nan, cut / waiting if waiting else np.nan",
                "inside / switches if switches else np.nan, cut / switches if waiting else np.nan",
            ),
        ),
        *faults(
            "tracker/metrics/recovery.py",
            RECOVERY,
            ("        if trials[-1] >= FEWEST_TRIALS:\n", "        if trials[-1] >= 2:\n"),
            equivalent="It saves time only: _ends asks the same of all modes together, and of each, which has no more trials.",
        ),
        *faults(
            "tracker/metrics/after_switch.py",
            SWITCHES,
            ("    free = np.divide(trials, trials - 1,", "    free = np.divide(trials, trials,"),
            ("(after - before) * (width + 1) / 2.0", "(after - before) * width / 2.0"),
            (
                "found = (shares_of_modes(waits) * np.nan_to_num(means)).sum(axis=-1)",
                "found = np.nan_to_num(means).mean(axis=-1)",
            ),
            (
                "np.asarray(count * statistic(total) - (count - 1) * without)",
                "np.asarray(count * statistic(total) - count * without)",
            ),
            (
                "    met = a.any(axis=(1, 2, 3)) | b.any(axis=(1, 2, 3))\n",
                "    met = np.ones(len(a), dtype=bool)\n",
            ),
            ("    met = waits.any(axis=(1, 2, 3))\n", "    met = np.ones(len(waits), dtype=bool)\n"),
            (
                "price[n] * mixed_mean(part, edges, horizon) for n, part in enumerate(parts)",
                "mixed_mean(part, edges, horizon) for n, part in enumerate(parts)",
            ),
        ),
        *faults(
            "tracker/metrics/averages.py",
            "test_metrics.py -k 'half_width or curve or scales or over_trials or final_moments or pooled'",
            ("FEWEST_TRIALS = 5", "FEWEST_TRIALS = 3"),
            ("stdtrit(count - 1.0, 0.5 + confidence / 2.0)", "stdtrit(count, 0.5 + confidence / 2.0)"),
            (
                "stderr = values.std(ddof=1) / np.sqrt(values.size) if",
                "stderr = values.std(ddof=0) / np.sqrt(values.size) if",
            ),
            ("high = np.where(middle > 0.0, middle * np.exp(reach / middle), high)", "high = high + 0.0"),
            (
                "np.minimum(low, 1.0 / (1.0 + np.exp(wide - logit)))",
                "np.maximum(low, 1.0 / (1.0 + np.exp(wide - logit)))",
            ),
            ("    second = lower + np.tril(lower, -1).T\n", "    second = lower + lower.T\n"),
        ),
        *faults(
            "tracker/metrics/paired.py",
            PAIRED,
            ("    influence = a / a.mean() - b / b.mean()\n", "    influence = a / a.mean() + b / b.mean()\n"),
            ("    residual = above - (1.0 - share) * gap\n", "    residual = above\n"),
            ("half_width(one.stderr, trials, 0.5 + confidence / 2.0)", "half_width(one.stderr, trials, confidence)"),
            ("    wins = int((a < b).sum())\n", "    wins = int((a <= b).sum())\n"),
        ),
        *faults(
            "tracker/metrics/accuracy.py",
            "test_cost_average.py test_logistic.py test_metrics_edges.py -k 'tie or waits_by_hand or not_above'",
            ("+ 0.5 * (margin == 0).sum(axis=1)", ""),
            ("levels[start:stop] > level", "levels[start:stop] >= level"),
            ("else stop - start - 1)", "else stop - start)"),
        ),
        *faults(
            "tracker/metrics/effective_size.py",
            "test_w1_noise.py test_metrics_edges.py -k 'come_and_go or elsewhere'",
            ("values - values[here].mean(), 0.0)", "values - values.mean(), 0.0)"),
        ),
        *faults(
            "tracker/metrics/multiple_tests.py",
            "test_dwell_tests.py -k smallest_of_many",
            ("return min(1.0, self.tests * p_value)", "return min(1.0, p_value)"),
            ("Family(len(known), min(1.0, len(known) * min(known))", "Family(len(known), min(1.0, min(known))"),
        ),
    ],
}
