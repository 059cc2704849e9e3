"""What studies/claims measures of a run: re-acquisition, accuracy, time in the right place, exact mean squares."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import tracker
from tracker.metrics import paired
from tracker.metrics.accuracy import Classes, accuracy, accuracy_waits
from tracker.metrics.after_switch import compare_waits
from tracker.metrics.averages import time_average
from tracker.metrics.estimates import trial_values
from tracker.metrics.recovery import waits_of_switches_out
from tracker.metrics.table import METRICS

ROOT = Path(__file__).resolve().parents[2]
SCENARIOS = ROOT / "scenarios"
STORE = ROOT / "reports" / "claims"  # not committed
LEVEL = 0.85  # of accuracy that counts as re-acquired
WORKERS = 2


class Claim(NamedTuple):
    """One line of the table; ``holds`` is None for a number that is only reported."""

    claim: str
    numbers: str
    holds: bool | None


def path_of(name: str) -> Path:
    return SCENARIOS / f"{name}.toml"


def carried_out(name: str, *settings: str) -> Measured:
    """Run a scenario at full size, with ``settings`` in place of its sweep; a run of the same scenario and commit is resumed or reused."""
    scenario = tracker.load(path_of(name), ["sweep={}", *settings] if settings else [])
    folder = STORE / f"{name}-{scenario.sha256[:12]}-{commit()}"
    return Measured(tracker.run(scenario, out=folder, executor=WORKERS, resume=True))


@cache
def commit() -> str:
    """Return the commit that is checked out, and whether files differ from it."""
    git = ["git", "describe", "--always", "--dirty", "--exclude=*"]
    return subprocess.run(git, cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()


@dataclass
class Measured:
    """A finished run, asked by the names of its samplers; every answer has one number per trial unless it says otherwise."""

    run: tracker.Run

    def place(self, name: str) -> int:
        """Return its index among the contestants."""
        return [c.name for c in self.run.problem.contestants].index(name)

    def row(self, name: str) -> dict[str, Any]:
        """Return its row of the summary."""
        return next(row for row in self.run.summary["samplers"] if row["name"] == name)

    def mean(self, key: str, name: str) -> float:
        """Return the mean over trials of an average in the summary: one number."""
        return float(self.row(name)[key]["mean"])

    # --- re-acquisition

    @cached_property
    def edges(self) -> Any:
        """The edges of the bins of waits."""
        return self.run.measured.wait_edges

    @cached_property
    def horizon(self) -> float:
        """One mean dwell."""
        chain = self.run.scenario.chain
        return float(1.0 / (chain.alpha * np.abs(np.diag(np.array(chain.Q))).mean()))

    def reacquisition(self, one: str, other: str) -> paired.Paired:
        """Return the ratio of restricted mean waits."""
        waits = [waits_of_switches_out(self.run.arrays["waits"][:, self.place(n)]) for n in (one, other)]
        return compare_waits(*waits, self.edges, self.horizon).ratio

    def right_place(self) -> list[Claim]:
        """The share of time in the target set, for the table."""
        rows = []
        for keys in self.run.scenario.samplers:
            share = self.run.measured.mean("inside")[:, self.place(keys.name)]
            rows.append(f"{keys.name} {share.mean():.3f} ({share.std(ddof=1) / np.sqrt(share.size):.3f})")
        return [Claim("share of time in the target set (se)", ", ".join(rows), None)]

    # --- costs, noise

    def excess(self, name: str) -> Any:
        """Return the time average of the excess cost."""
        return trial_values(METRICS["excess_cost"], self.run.measured)[:, self.place(name)]

    @cached_property
    def bounds(self) -> tuple[float, float]:
        """The bounds of sigma."""
        return next(keys.noise_bounds for keys in self.run.scenario.samplers if keys.kind == "tempered")

    def sigma(self, name: str = "tempered") -> float:
        """The mean over trials and the second half of the run: one number."""
        moving = [c.name for c in self.run.problem.contestants if c.records("sigma")]
        trace = self.run.arrays["sigma"][:, moving.index(name)]
        return float(trace[:, trace.shape[1] // 2 :].mean())

    def share_right(self, name: str) -> Any:
        """The share of recorded time with theta_1 > 0."""
        layout = self.run.problem.layout
        recorded = np.arange(self.run.problem.records) * layout.record_every
        right = (self.run.arrays["theta"][:, self.place(name), :, 0] > 0).astype(float)
        return time_average(right, recorded, layout.burn_in, layout.steps)

    # --- accuracy

    def accuracies(self, name: str) -> Any:
        """Return the accuracy at the recorded steps, shape (T, R)."""
        classes = [Classes(mode.cost.rows, mode.cost.labels) for mode in self.run.problem.modes]
        return accuracy(classes, self.run.arrays["theta"][:, self.place(name)], self.run.arrays["mode"])

    def accuracy(self, name: str) -> Any:
        """Return the time average of the accuracy."""
        return trial_values(METRICS["accuracy"], self.run.measured)[:, self.place(name)]

    def accuracy_gain(self, one: str, other: str) -> Claim:
        """Return the difference of accuracies, for the table."""
        gain = paired.difference(self.accuracy(one), self.accuracy(other))
        return Claim(f"accuracy: {one} - {other}", f"{gain.estimate:+.4f} [{gain.low:+.4f}, {gain.high:+.4f}]", None)

    def more_accurate(self, one: str, other: str) -> Claim:
        """The same, with the claim that it is positive."""
        text, numbers, _ = self.accuracy_gain(one, other)
        gain = paired.difference(self.accuracy(one), self.accuracy(other))
        return Claim(f"{text} above 0", numbers, gain.low > 0.0)

    def accuracy_reacquisition(self, one: str, other: str) -> paired.Paired:
        """Return the ratio of restricted mean waits for an accuracy above ``LEVEL``."""
        every, mode = self.run.scenario.record_every, self.run.arrays["mode"]
        waits = [accuracy_waits(self.accuracies(n), mode, every, LEVEL, self.edges) for n in (one, other)]
        return compare_waits(*(counts[:, np.newaxis] for counts in waits), self.edges, self.horizon).ratio


def rising(per_trial: list[Any]) -> bool:
    """Tell whether each list of numbers is above the one before, with 95 % confidence."""
    return all(paired.difference(b, a).low > 0.0 for a, b in pairwise(per_trial))


def scheduled_mean_square(scenario: tracker.Scenario) -> tuple[float, float]:
    """Return the exact mean square error of the classical sampler over a schedule of diagonal bowls, and its noise floor.

    Coordinates are independent and linear: E(theta - m)^2 = (E theta - m)^2 + variance, both by their recursions.
    """
    keys = scenario.samplers[0]
    curvature, noise = np.diag(np.array(scenario.modes[0].curvature)), scenario.modes[0].gradient_noise
    minima = {mode.name: np.array(mode.minimum) for mode in scenario.modes}
    switches = dict(scenario.schedule.switches)
    shrink = 1.0 - keys.epsilon * curvature
    added = 2.0 * keys.epsilon / keys.beta + keys.epsilon**2 * noise
    mean, variance, m, total = scenario.start_mean, np.zeros(2), None, 0.0
    for k in range(scenario.steps):
        m = minima[switches[k]] if k in switches else m
        if k >= scenario.burn_in:
            total += float(((mean - m) ** 2 + variance).sum())
        mean, variance = m + shrink * (mean - m), shrink**2 * variance + added
    return total / (scenario.steps - scenario.burn_in), float((added / (1.0 - shrink**2)).sum())
