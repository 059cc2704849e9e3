"""The answers about one sampler: each a value and its basis, "exact", "asymptotic", "measured" or "not known"."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.optimize import brentq

from tracker.limits import OutOfScope
from tracker.metrics.averages import FEWEST_TRIALS
from tracker.metrics.estimates import trial_values
from tracker.metrics.table import METRICS
from tracker.scenario.builders import skew_matrix
from tracker.scenario.step_warnings import least_limit, linearise

if TYPE_CHECKING:
    from collections.abc import Callable

    from tracker.advice.bounded_theory import Theory
    from tracker.runs import Run

Answer = dict[str, Any]
TENTH = 0.1  # of all other parts of the error: a temperature that costs no more is irrelevant
SELDOM = 0.03  # escapes in a stay: with fewer no S is worth anything
WORTH_A_WORD = 1e-3  # of the error that S would save
LEVEL = 1.96  # standard errors: the level of 5 %


def answer_of(value: Any, basis: str) -> Answer:
    """Return an answer."""
    return {"value": value, "basis": basis}


NOT_KNOWN = answer_of(None, "not known")


class SamplerAnswers:
    """What is said of the sampler ``name``; ``run`` is a finished run of the scenario, if there is one.

    reasons : why something is not known, by its key
    """

    def __init__(self, theory: Theory, name: str, run: Run | None) -> None:
        self.theory, self.name, self.run = theory, name, run
        self.keys = theory.keys(name)
        self.reasons: dict[str, str] = {}

    def all(self) -> dict[str, Any]:
        """Return all of them, in the order in which they are told."""
        questions = {
            "stable_below": self._stable_below,
            "switched_stable": self._switched_stable,
            "relative": self._relative,
            "best_epsilon": self._best_epsilon,
            "best_error": self._best_error,
            "error": self._error,
            "floor": self._floor,
            "beta_enough": self._beta_enough,
            "skew_helps": self._skew_helps,
            "skew": self._skew,
            "trials_needed": self._trials_needed,
            "seconds": self._seconds,
        }
        return {"name": self.name, **{key: self._asked(key, answer) for key, answer in questions.items()}}

    def _asked(self, key: str, answer: Callable[[], Answer]) -> Answer:
        try:
            return answer()
        except OutOfScope as refusal:
            self.reasons[key] = refusal.reason
            return dict(NOT_KNOWN)

    @property
    def _declared_linear(self) -> bool:
        N = self.theory.scenario.dimension
        return not self.keys.adapts and self.keys.linear(self.keys.epsilon, np.zeros((N, N))) is not None

    # --- stability and regime

    def _stable_below(self) -> Answer:
        scenario = self.theory.scenario
        if scenario.quadratic and self._declared_linear and scenario.drift is None and scenario.schedule is None:
            return answer_of(self.theory.largest_epsilon(self.name) or 0.0, "exact")
        # how minima move has no say in what is stable; a schedule only picks modes, each of which must be
        if not (self.keys.euler or self.keys.tangent):
            raise OutOfScope(f"the kind {self.keys.kind} does not say how its step moves")
        S = skew_matrix(self.keys, scenario)
        if S is None:
            raise OutOfScope("S is drawn for each trial")
        found = [
            least_limit(linearise(keys, mode), S) for keys, mode in zip(scenario.modes, self._modes(), strict=True)
        ]
        if not np.isfinite(found).all():
            raise OutOfScope("a mode is flat at its minimiser, or its curvature is not known")
        return answer_of(float(min(found)), "exact" if scenario.quadratic and len(found) == 1 else "asymptotic")

    def _modes(self) -> Any:
        from tracker.scenario.builders import build_modes

        return self.run.problem.modes if self.run is not None else build_modes(self.theory.scenario)

    def _switched_stable(self) -> Answer:
        return answer_of(self.theory.stability(self.name).stable, "exact")

    def _relative(self) -> Answer:
        return answer_of(self.theory.relative(self.name), "exact")

    # --- errors

    def _best_epsilon(self) -> Answer:
        return answer_of(self.theory.best_step(self.name).epsilon, "exact")

    def _best_error(self) -> Answer:
        return answer_of(self.theory.best_step(self.name).mean_square_error, "exact")

    def _error(self) -> Answer:
        try:
            return answer_of(self.theory.split(self.name).total, "exact")
        except OutOfScope:
            pass
        try:  # known also where its parts are not: minima that walk at random, outputs that are averages
            return answer_of(self.theory.error(self.name), "exact")
        except OutOfScope:
            return answer_of(self._measured_error(), "measured")

    def _measured_error(self) -> float:
        row = None if self.run is None else next(r for r in self.run.summary["samplers"] if r["name"] == self.name)
        mean = None if row is None else row["mean_square_error"]["mean"]
        if mean is None or not math.isfinite(mean):
            raise OutOfScope("the error is known by a finished run only, and there is none")
        return float(mean)

    def _floor(self) -> Answer:
        try:
            return answer_of(self.theory.split(self.name).temperature, "exact")
        except OutOfScope:
            if not self.keys.samples_gibbs:
                raise OutOfScope(f"the kind {self.keys.kind} does not say that it samples exp(-beta C)") from None
            return answer_of(self.theory.at_beta(self.name).mean_square_error, "exact")

    def _beta_enough(self) -> Answer:
        """The beta at which temperature costs a tenth of all else."""
        scenario = self.theory.scenario
        if scenario.quadratic and self._declared_linear:
            return answer_of(self._quadratic_beta(), "exact")
        if not self.keys.samples_gibbs:
            raise OutOfScope(f"the kind {self.keys.kind} does not say that it samples exp(-beta C)")
        rest = self._measured_error() - self.theory.at_beta(self.name).mean_square_error
        if not rest > 0.0:
            raise OutOfScope("the measured error is not above what temperature costs")

        def excess(log_beta: float) -> float:
            return math.log(self.theory.at_beta(self.name, math.exp(log_beta)).mean_square_error / (TENTH * rest))

        return answer_of(_crossing(excess, self._first_beta(), 1e-3), "measured")

    def _quadratic_beta(self) -> float:
        from tracker import limits

        self.theory.split(self.name)  # refused if it is too large

        def excess(log_beta: float) -> float:
            parts = limits.error_split(self.theory.with_beta(self.name, math.exp(log_beta)), self.name)
            rest = parts.total - parts.temperature
            return math.log(parts.temperature / (TENTH * rest)) if rest > 0.0 else math.inf

        return _crossing(excess, self._first_beta(), 1e-9)

    def _first_beta(self) -> float:
        return float(self.keys.beta) if math.isfinite(self.keys.beta) else 1.0

    # --- S

    def _skew_helps(self) -> Answer:
        if self.theory.scenario.dimension == 1:
            return answer_of(False, "exact")
        if not (self.keys.euler or self.keys.tangent):
            raise OutOfScope(f"the kind {self.keys.kind} has no S that multiplies its gradient")
        if self.theory.scenario.quadratic:
            best = self.theory.best_skew(self.name)
            return answer_of(bool(best.value < (1.0 - WORTH_A_WORD) * best.without), "exact")
        if self.keys.adapts or skew_matrix(self.keys, self.theory.scenario) is None:
            raise OutOfScope("S is not fixed")
        rates = self.theory.escape(self.name).rates
        if not any(np.isfinite(mode).any() for mode in rates):
            raise OutOfScope("no mode has two wells, and theory knows what S is worth in bowls and between wells only")
        # every S leaves wells faster; that helps where wells are left within a stay at all
        return answer_of(self._escapes_a_stay(rates) >= SELDOM, "asymptotic")

    def _escapes_a_stay(self, rates: Any) -> float:
        """How often the wells of a mode are left while the mode lasts, at the most."""
        chain = self.theory.scenario.chain
        if chain is None:
            return float("inf")
        leaving = chain.alpha * np.abs(np.diag(np.array(chain.Q, dtype=np.float64)))
        return float(
            np.max([np.nanmax(own, initial=0.0) * self.keys.epsilon / q for own, q in zip(rates, leaving, strict=True)])
        )

    def _skew(self) -> Answer:
        if self.theory.scenario.dimension == 1:
            raise OutOfScope("N = 1 has no S")
        return answer_of(self.theory.best_skew(self.name).skew.tolist(), "exact")

    # --- from a finished run

    def _trials_needed(self) -> Answer:
        """After how many trials the paired difference to the best other sampler would leave 0, at the level of 5 %."""
        if self.run is None:
            raise OutOfScope("no finished run of this scenario stands in its default directory")
        rows = self.run.summary["samplers"]
        chosen = [n for n, row in enumerate(rows) if row["epsilon"] is not None]
        values = trial_values(METRICS["tracking_error"], self.run.measured)
        own = next(n for n in chosen if rows[n]["name"] == self.name)
        others = [n for n in chosen if n != own and np.isfinite(values[:, n]).sum() >= FEWEST_TRIALS]
        if not others:
            raise OutOfScope("there is no other sampler to be told from")
        best = min(others, key=lambda n: float(np.nanmean(values[:, n])))
        apart = values[:, own] - values[:, best]
        apart = apart[np.isfinite(apart)]
        if len(apart) < FEWEST_TRIALS or not abs(apart.mean()) > 0.0:
            raise OutOfScope(f"fewer than {FEWEST_TRIALS} trials in which both lasted, or no difference at all")
        spread = float(apart.std(ddof=1)) / abs(float(apart.mean()))
        return answer_of(max(FEWEST_TRIALS, math.ceil((LEVEL * spread) ** 2)), "measured")

    def _seconds(self) -> Answer:
        """Of one core, for that many trials of this sampler."""
        trials = self._trials_needed()["value"]
        assert self.run is not None  # or no number of trials would be known
        row = next(row for row in self.run.summary["samplers"] if row["name"] == self.name)
        speed = row["steps_per_second"]
        if not speed:
            raise OutOfScope("the run does not tell its speed")
        return answer_of(trials * self.run.scenario.steps / speed, "measured")


def _crossing(excess: Callable[[float], float], beta: float, tolerance: float) -> float:
    """Return the beta at which a falling function of log beta vanishes, looked for from ``beta`` on in both directions."""
    low = high = math.log(beta)
    for _ in range(60):
        if excess(low) > 0.0:
            break
        low -= 1.5
    for _ in range(60):
        if excess(high) < 0.0:
            return math.exp(float(brentq(excess, low, high, rtol=tolerance)))
        high += 1.5
    raise OutOfScope("temperature stays above a tenth of the error at every beta")
