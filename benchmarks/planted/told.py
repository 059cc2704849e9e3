"""Faults in what is said of a run: the words of verdicts, summaries, tables of sweeps, exit codes."""

from __future__ import annotations

from planted.base import faults

NUMBERS = "test_report_numbers.py -k 'best_of_three or alone or worlds or horizon or survive'"
BOX = "test_report.py -k 'three_questions or still_is or belong or bounds_and or below_the_minimum or weighs'"
TRACKED = "test_tracked.py"
TUNING = "test_steps.py -k 'tuned or allow_for or gradient or refused or own_best_steps or in_words'"
SUMMARY = (
    "test_runs.py test_recording.py -k 'test_recording or averages_are or waits_are or left_out or outage or censors'"
)

TOLD = {
    "reports": [
        *faults(
            "tracker/reports/verdict_box.py",
            TRACKED,
            (
                "for cut, word, tone in WORDS_FOR_THE_WAY if closed.low > cut",
                "for cut, word, tone in WORDS_FOR_THE_WAY if closed.estimate > cut",
            ),
            ('    if mark == "no":\n', "    if False:\n"),
            ("    if closed.high < 0.0:\n", "    if closed.estimate < 0.0:\n"),
            ("SHARE_THAT_COUNTS_AS_TRACKING = 0.5", "SHARE_THAT_COUNTS_AS_TRACKING = 0.4"),
        ),
        *faults(
            "tracker/reports/checks.py",
            TRACKED,
            (
                "unstable = [name for name, h in health.items() if h.step >= 1.0]",
                "unstable = [name for name, h in health.items() if h.step >= 9.0]",
            ),
        ),
        *faults(
            "tracker/reports/verdict_box.py",
            NUMBERS,
            ("closed_gap(view, best, confidence_of_each(len(view.alive)))", "closed_gap(view, best)"),
            (
                "level = [name for name, gain in found.items() if not gain.low > 0.0]",
                "level = [name for name, gain in found.items() if not gain.estimate > 0.0]",
            ),
            ("    confidence = confidence_of_best([len(view.alive)])\n", "    confidence = confidence_of_best([2])\n"),
        ),
        *faults(
            "tracker/reports/checks.py",
            BOX,
            (
                "if difference is not None and difference > WRONG_RECORDS:",
                "if difference is not None and difference > 1e9:",
            ),
            ("BELOW_THE_LEAST = -1e-6", "BELOW_THE_LEAST = -1e6"),
            ("if early > 2.0 * late and abs(whole_run - late) > 0.05 * late:", "if early > 200.0 * late:"),
        ),
        *faults(
            "tracker/reports/judged_by.py",
            "test_comparison.py -k 'diverged or survivor or judged_by'",
            ('kept = [name for name in means if view.summary[name]["diverged"] == whole]', "kept = list(means)"),
        ),
        *faults(
            "tracker/reports/best_of_sweep.py",
            NUMBERS,
            (
                "return confidence_of_each(sum(max(0, size - 1) for size in sizes))",
                "return confidence_of_each(len(sizes))",
            ),
            ("gap_closed(own, still, known, confidence_of_each(self.candidates))", "gap_closed(own, still, known)"),
            (
                "for other, pair in self.against if not pair.high < 1.0)",
                "for other, pair in self.against if not pair.estimate < 1.0)",
            ),
        ),
        *faults(
            "tracker/reports/best_of_sweep.py",
            "test_sweep_page.py -k 'decide or undecided or has_its_best'",
            (
                "    best = min(entries, key=lambda one: one.error.mean)\n",
                "    best = max(entries, key=lambda one: one.error.mean)\n",
            ),
            ("    if one is not None and two is not None:\n", "    if one is None and two is None:\n"),
        ),
        *faults(
            "tracker/reports/sweep_verdict.py",
            TRACKED,
            (
                "most, some = (sum(gap.low > least for _, gap in known)",
                "most, some = (sum(gap.estimate > least for _, gap in known)",
            ),
        ),
        *faults(
            "tracker/reports/checks_of_sweep.py",
            "test_sweep_page.py test_dwell_tests.py -k 'decide or end_of_the_range or gap_that or went_wrong or sweep_reads or sweep_flags'",
            ("numbers[n] in (numbers.min(), numbers.max())", "numbers[n] == numbers.min()"),
            ("together.correct(dwell[key])) for outcome, dwell in dwells", "dwell[key]) for outcome, dwell in dwells"),
        ),
        *faults(
            "tracker/reports/exhibits/dwells.py",
            "test_dwell_tests.py -k 'smallest or page or terminal or one_in_a_thousand'",
            ("return family([*self.rate.tolist(), *self.age.tolist()])", "return family(self.rate.tolist())"),
            ("if together.correct(float(rate)) < SUSPICIOUS_P_VALUE:", "if together.correct(float(rate)) < 0.0:"),
            ("SUSPICIOUS_P_VALUE = 1e-3", "SUSPICIOUS_P_VALUE = 0.5"),
        ),
        *faults(
            "tracker/reports/exhibits/densities.py",
            "test_w1_noise.py -k 'far_off or rank or autocorrelation'",
            (
                "known[best].w1 + known[best].noise < known[last].w1 - known[last].noise",
                "known[best].w1 < known[last].w1",
            ),
        ),
        *faults(
            "tracker/reports/law_found.py",
            "test_w1_noise.py -k 'far_off or rank or autocorrelation'",
            ("        return self.w1 > self.noise\n", "        return self.w1 > 0.0\n"),
            ("size = max(1, round(draws)) if", "size = max(1, round(100 * draws)) if"),
        ),
        *faults(
            "tracker/metrics/wasserstein.py",
            "test_w1_noise.py test_convergence.py -k 'quantile_of_perfect or noise_of_many or w1_of'",
            ("* float(np.sqrt(size / trials))", ""),
        ),
        *faults(
            "tracker/convergence/law_bounds.py",
            "test_w1_noise.py test_convergence.py -k 'quantile_of_perfect or band or brute_force or w1_of'",
            (
                "        base, below = base + row[-1], below + len(points) / R\n",
                "        base, below = base + row[-1], below\n",
            ),
        ),
        *faults(
            "tracker/reports/tuning.py",
            TUNING,
            ("return min(entries, key=lambda one: one.error.mean)", "return min(entries, key=lambda one: one.epsilon)"),
            (
                "_Confidence(confidence_of_each(looked_at), confidence_of_each(pairs))",
                "_Confidence(confidence_of_each(1), confidence_of_each(1))",
            ),
            ("needed = {one: m * law.alpha for", "needed = {one: law.alpha / m for"),
            ("    if own == base == 1:\n", "    if own == base:\n"),
            ("self.best.epsilon in (min(self.tried), max(self.tried))", "self.best.epsilon == max(self.tried)"),
        ),
        *faults(
            "tracker/reports/sampler_vs_sampler.py",
            "test_comparison.py -k 'not_the_estimate or side_of or means_of_all or per_gradient or without_an_interval or best_of_two'",
            ('sure = "" if pair.high < 1 else', 'sure = "" if pair.estimate < 1 else'),
            ("confidence_of_best([1 + len(real)])", "confidence_of_best([2])"),
            (
                "contender(name), contender(reference), confidence",
                "contender(reference), contender(name), confidence",
            ),
        ),
        *faults(
            "tracker/reports/exhibits/switches.py",
            "test_exhibit_numbers.py test_report_numbers.py -k 'after_a_switch or back_inside'",
            (
                "curve = mean_per_step(sums[..., ERROR], sums[..., STEPS])",
                "curve = mean_per_step(sums[..., ERROR + 1], sums[..., STEPS])",
            ),
            ("FEWEST_VISITS = 10", "FEWEST_VISITS = 1"),
        ),
        *faults(
            "tracker/reports/own_best_step.py",
            TUNING,
            ("best = min(tuned, key=lambda n: tuned[n].least)", "best = max(tuned, key=lambda n: tuned[n].least)"),
            ("_over(own.least, base.least)", "_over(base.least, own.least)"),
        ),
        *faults(
            "tracker/reports/fail_conditions.py",
            "test_compare.py -k 'star_looks or reason_for or conditions_decide or not_known'",
            ("            if isnan(condition.value(change)):\n", "            if False:\n"),
            ('getattr(change.ratio, self.end or "estimate")', 'getattr(change.ratio, "estimate")'),
        ),
    ],
    "runs": [
        *faults("tracker/runs/summary.py", SUMMARY, ("    if name == FROZEN:\n", "    if name == ORACLE:\n")),
        *faults(
            "tracker/metrics/measured_run.py",
            SUMMARY,
            ('(self.arrays["diverged"] < 0)', '(self.arrays["diverged"] < 10**9)'),
            (
                'self.steps / (int(self.arrays["switches"].sum()) + trials)',
                'self.steps / (int(self.arrays["switches"].sum()) + 1)',
            ),
        ),
        *faults(
            "tracker/metrics/estimates.py",
            SUMMARY,
            (
                "return waits_of_switches_out(counts[:, n] if chosen.all() else counts[chosen, n])",
                "return counts[chosen, n]",
            ),
        ),
        *faults(
            "tracker/metrics/table.py",
            SUMMARY,
            ('run.mean("excess", over="measured")', 'run.mean("excess")'),
            ("return still / looked if looked else None", "return 1 - still / looked if looked else None"),
        ),
        *faults(
            "tracker/metrics/table.py",
            "test_recording.py",
            ('run.cost_every * run.total("excess")', 'run.total("excess")'),
        ),
        *faults(
            "tracker/runs/stability_of_steps.py",
            "test_report_details.py test_steps.py -k 'skew_of_the_trials or table_says or takes_seconds'",
            ("found[keys.name] = max(known, default=", "found[keys.name] = min(known, default="),
            ("keys.epsilon / limit if limit > 0.0", "limit / keys.epsilon if limit > 0.0"),
        ),
        *faults(
            "tracker/runs/sweep_table.py",
            "test_steps.py -k 'own_key or of_its_arrays'",
            ('yield key, (*metric.place, "mean"), metric.label', 'yield key, ("tracking_error", "mean"), metric.label'),
            ('("low", "lower end', '("median", "lower end'),
            ('alpha / variables["epsilon"].values', 'variables["epsilon"].values / alpha'),
            ("state[outcome.point.place] = STATES.index(outcome.state)", "state[outcome.point.place] = 0"),
        ),
    ],
    "cli": [
        *faults(
            "tracker/cli/limit.py",
            "test_verdicts.py -k 'exit_code_6 or one_line_and'",
            ("    if verdict.rejected:\n", "    if False:\n"),
            ('raise Refused(CHECK, "rejected: see above")', 'raise Refused(USAGE, "rejected: see above")'),
        ),
        *faults(
            "tracker/cli/compare.py",
            "test_compare.py -k 'conditions_decide or not_known'",
            ("    if failed:\n", "    if len(failed) > 1:\n"),
            ("        raise Refused(CHECK, *failed)\n", "        raise Refused(USAGE, *failed)\n"),
        ),
        *faults(
            "tracker/cli/error_messages.py",
            "test_verdicts.py -k exit_code_6",
            (
                "DEFECT, USAGE, INVALID, REFUSED, FAILED, CHECK, EXISTS",
                "DEFECT, USAGE, INVALID, REFUSED, CHECK, FAILED, EXISTS",
            ),
        ),
    ],
}
