"""A run as the exhibits read it: numbers per trial and sampler, names, colours, and the coordinate to show."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from tracker.baseline_names import BASELINES
from tracker.engine.bins import AGE_BITS, bin_edges
from tracker.formatting import counted, listed
from tracker.metrics.estimates import Contender, trial_values, trial_waits
from tracker.metrics.table import METRICS
from tracker.reports.figure_style import Look, looks
from tracker.runs.stability_of_steps import steps_over_limits

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from tracker.array_types import Array, Booleans, Integers
    from tracker.limits import OutOfScope
    from tracker.limits.gibbs_law import Marginal
    from tracker.metrics.measured_run import MeasuredRun
    from tracker.reports.cost_plane import Plane
    from tracker.reports.exhibits.best_step import StepTheory
    from tracker.reports.judged_by import Score
    from tracker.reports.law_found import LawFound
    from tracker.runs import Run
    from tracker.scenario import Mode, Scenario


@dataclass(frozen=True)
class View:
    """A run, and what many exhibits need of it; axes are (trial, sampler, ...). Diverged trials are nan."""

    run: Run

    @property
    def scenario(self) -> Scenario:
        """What was asked for."""
        return self.run.scenario

    @property
    def arrays(self) -> Mapping[str, NDArray[Any]]:
        """All results."""
        return self.run.arrays

    @property
    def modes(self) -> tuple[Mode, ...]:
        """The modes, with their minimisers."""
        return self.run.problem.modes

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Of the samplers, then of the baselines."""
        return tuple(row["name"] for row in self.run.summary["samplers"])

    @cached_property
    def samplers(self) -> tuple[str, ...]:
        """The names without the baselines."""
        return tuple(name for name in self.names if name not in BASELINES)

    @cached_property
    def mode_names(self) -> tuple[str, ...]:
        """In the order of the file."""
        return tuple(mode.name for mode in self.scenario.modes)

    @cached_property
    def looks(self) -> dict[str, Look]:
        """How each sampler is drawn."""
        return looks(self.names, {keys.name: keys.kind for keys in self.scenario.samplers})

    def gid(self, name: str) -> str:
        """The mark of a sampler in a drawing, by which a page shows and hides it; nothing for a baseline."""
        return f"s{self.samplers.index(name)}" if name in self.samplers else ""

    @cached_property
    def summary(self) -> dict[str, dict[str, Any]]:
        """The row of each sampler in summary.json."""
        return {row["name"]: row for row in self.run.summary["samplers"]}

    def index(self, name: str) -> int:
        """The place of a sampler in the arrays."""
        return self.names.index(name)

    @cached_property
    def trials(self) -> int:
        """How many there are."""
        return len(self.arrays["diverged"])

    @property
    def kept(self) -> Booleans:
        """Undiverged, shape (T, S)."""
        return self.measured.kept

    def lasting(self, name: str) -> int:
        """In how many trials a sampler did not diverge."""
        return int(self.kept[:, self.index(name)].sum())

    @cached_property
    def alive(self) -> tuple[str, ...]:
        """The samplers with a trial that did not diverge."""
        return tuple(name for name in self.samplers if self.lasting(name))

    @cached_property
    def recorded(self) -> Integers:
        """The steps of the records, shape (R,)."""
        return np.arange(self.arrays["mode"].shape[1]) * self.scenario.record_every

    @cached_property
    def averaged(self) -> Booleans:
        """The records that averages are taken over, shape (R,)."""
        return (self.recorded >= self.scenario.burn_in) & (self.recorded < self.scenario.steps)

    @cached_property
    def switches(self) -> int:
        """Over all trials."""
        return int(self.run.summary["chain"]["switches"])

    @property
    def no_distance(self) -> str:
        """Why distances to minimisers say nothing; empty where they do."""
        return self.scenario.no_distance

    @property
    def has_targets(self) -> bool:
        """Whether re-acquisition is defined."""
        return self.measured.has("target_radius")

    @cached_property
    def evaluations(self) -> Array:
        """Gradient evaluations per step, shape (S,); ``other_evaluations`` come on top."""
        return np.array([self.summary[name]["evaluations"]["gradient"] for name in self.names], dtype=float)

    @cached_property
    def other_evaluations(self) -> dict[str, str]:
        """What samplers evaluate in a step beside gradients, e.g. "2 costs"; by name, for those that do."""
        kinds = (("hessian", "Hessian"), ("cost", "cost"))
        calls = {name: self.summary[name]["evaluations"] for name in self.samplers}
        found = {
            name: listed([counted(row[key], noun) for key, noun in kinds if row[key]]) for name, row in calls.items()
        }
        return {name: text for name, text in found.items() if text}

    @cached_property
    def epsilons(self) -> dict[str, float]:
        """The step of each sampler."""
        return {keys.name: keys.epsilon for keys in self.scenario.samplers}

    @cached_property
    def effective_steps(self) -> dict[str, float]:
        """The step of the classical sampler that moves as fast as each."""
        return {keys.name: keys.effective_step for keys in self.scenario.samplers}

    @cached_property
    def steps_over_limits(self) -> dict[str, float]:
        """Each step over its stability limit; nan where that is not known."""
        return steps_over_limits(self.run.problem, self.arrays)

    @cached_property
    def theories(self) -> tuple[dict[str, StepTheory], dict[str, OutOfScope]]:
        """What is known exactly, by sampler, and why not for the others: solved once for all exhibits."""
        from tracker.reports.exhibits.best_step import theories

        return theories(self)

    @cached_property
    def theory(self) -> dict[str, Any]:
        """What theory says for the page, as it was solved before: rungs, split, stability, regime, escape, advice."""
        from tracker.advice.theory_of_run import (
            theory_of,  # here: the terminal's verdict needs no theory, nor scipy's solvers
        )

        return theory_of(self.run)

    @cached_property
    def _gibbs(self) -> dict[tuple[int, float], Marginal]:
        return {}

    def gibbs(self, x: int, beta: float) -> Marginal:
        """Return Gibbs' law of the shown coordinate in mode x: solved once for all exhibits and samplers; ValueError where it is not known."""
        from tracker.limits import gibbs_marginal

        if (x, beta) not in self._gibbs:
            self._gibbs[x, beta] = gibbs_marginal(self.modes[x], beta, self.coordinate)
        return self._gibbs[x, beta]

    # --- metrics

    @property
    def measured(self) -> MeasuredRun:
        """The run as metrics see it."""
        return self.run.measured

    def contender(self, name: str, price: float = 1.0) -> Contender:
        """A sampler, to be compared with another."""
        return Contender(self.measured, self.index(name), price)

    def values(self, key: str) -> Array:
        """The values of a metric that is a mean, one for each trial and sampler, shape (T, S)."""
        return trial_values(METRICS[key], self.measured)

    @property
    def asks_for_law(self) -> bool:
        """Whether there is nothing to track: with one mode that stays where it is, was its law found?"""
        return len(self.modes) == 1 and self.scenario.drift is None

    @cached_property
    def law(self) -> LawFound | None:
        """How near the samplers of a run with one mode came to its law; None where that is not known."""
        from tracker.reports.law_found import law_found

        try:
            return law_found(self) if self.asks_for_law else None
        except ValueError:
            return None

    @cached_property
    def plane(self) -> Plane:
        """Where landscapes are drawn."""
        from tracker.reports.cost_plane import plane_of

        return plane_of(self)

    @cached_property
    def score(self) -> Score:
        """What the samplers are ranked by."""
        from tracker.reports.judged_by import score_of

        return score_of(self)

    @cached_property
    def tracking_error(self) -> Array:
        """Time averages of the distance to the nearest global minimiser, shape (T, S)."""
        return self.values("tracking_error")

    @property
    def horizon(self) -> int:
        """To how many steps mean waits are restricted."""
        return self.measured.horizon

    def waits(self, name: str) -> Integers:
        """Counts of the waits for the target, shape (T, X, bins, 2), in the undiverged trials of a sampler."""
        return trial_waits(METRICS["recovery"], self.contender(name))

    @property
    def wait_edges(self) -> Integers:
        """Of the bins of waits."""
        return self.measured.wait_edges

    @cached_property
    def age_edges(self) -> Integers:
        """Of the bins of steps since a switch."""
        return bin_edges(self.scenario.steps, AGE_BITS)

    @cached_property
    def shift(self) -> Array:
        """Where a drift has moved the landscapes, shape (T, records, N); zeros where there is none, (1, 1, N)."""
        return np.asarray(self.arrays.get("shift", np.zeros((1, 1, self.scenario.dimension))))

    @cached_property
    def theta(self) -> Array:
        """The recorded theta as the costs see it, relative to the drift, shape (T, S, records, N)."""
        theta = self.arrays["theta"]
        return theta if self.scenario.drift is None else np.asarray(theta - self.shift[:, np.newaxis])

    def seen(self, n: int) -> Array:
        """Return the recorded theta of sampler ``n`` as the costs see it, relative to the drift, shape (T, records, N)."""
        return np.asarray(self.arrays["theta"][:, n] - self.shift)

    @cached_property
    def coordinate(self) -> int:
        """The coordinate to show: where the minimisers of the modes are furthest apart, or the iterates spread most."""
        points = np.concatenate([mode.minimisers for mode in self.modes])
        spread = np.ptp(points, axis=0)
        if len(self.modes) == 1 or not spread.any():
            final = self.run.arrays["final"][:, 0]
            variance = self.run.summary["samplers"][0]["covariance"]
            if variance is None:  # not measured: over trials
                spread = np.nan_to_num(final.var(axis=0))
            else:
                covariance = np.array(variance, dtype=float)
                spread = np.nan_to_num(np.diag(covariance) if covariance.ndim == 2 else covariance)
        return int(np.argmax(spread))

    @property
    def coordinate_name(self) -> str:
        """As a label, e.g. θ₁."""
        return "θ" + "".join("₀₁₂₃₄₅₆₇₈₉"[int(digit)] for digit in str(self.coordinate + 1))
