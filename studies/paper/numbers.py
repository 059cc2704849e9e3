"""The numbers behind the page about the paper: what ``studies/paper`` measured, and paired comparisons of it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from studies.paper.primary import CORRECTED
from tracker.formatting import number
from tracker.metrics.paired import difference

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from tracker.array_types import Array


CONVINCING = CORRECTED  # an exploratory p-value below this counts as shown


@dataclass(frozen=True)
class Measured:
    """One sampler in one experiment; T trials, C checkpoints.

    steps (C,); mean and mean_spread (C, 2): the running posterior mean over trials and its standard deviation;
    error_curve and w1_curve (2, C): mean and standard error; error (T,) at some steps; area, last_error, w1, spread (T,);
    skew_curve (C,): rms of S; last_skew, skew_3000 (T,); iact (2, T) in steps, for the first two coordinates.
    """

    name: str
    steps: Array
    mean: Array
    mean_spread: Array
    error_curve: Array
    w1_curve: Array
    error: Mapping[str, Array]
    area: Array
    last_error: Array
    w1: Array
    spread: Array
    gradients: int
    diverged: int
    resets: int
    nanoseconds: float
    seconds: float
    skew_curve: Array | None = None
    last_skew: Array | None = None
    skew_3000: Array | None = None
    iact: Array | None = None


@dataclass(frozen=True)
class Experiment:
    """A scenario at full size: its exact mean and standard deviation in two coordinates, and its samplers by name."""

    trials: int
    steps: int
    truth: Array
    deviation: Array
    samplers: Mapping[str, Measured]

    def __getitem__(self, name: str) -> Measured:
        return self.samplers[name]


@dataclass(frozen=True)
class Check:
    """Metropolis-Hastings against quadrature in one example: means, standard errors, and how well it mixed."""

    exact: Array
    deviation: Array
    error: float
    sampled: Array
    stderr: Array
    effective_size: Array
    acceptance: float
    points: Array


@dataclass(frozen=True)
class PrimaryRun:
    """The comparisons that were fixed beforehand, in one example, by sampler; ``w1`` by condition, sampler and trial."""

    evaluations: Mapping[str, int]
    scan: Mapping[str, list[float | None]]
    chosen: Mapping[str, float]
    w1: Mapping[str, Mapping[str, Array]]


class Numbers(NamedTuple):
    """All of the file."""

    experiments: Mapping[str, Experiment]
    checks: Mapping[str, Check]
    primary: Mapping[str, PrimaryRun]


def read(path: Path) -> Numbers:
    """Read the file that ``studies/paper`` wrote."""
    data: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    checks = {name: Check(**_arrays(check)) for name, check in data.pop("truth").items()}
    fixed = {}
    for file, entry in data.pop("primary").items():
        w1 = {condition: _arrays(by_name) for condition, by_name in entry["w1"].items()}
        fixed[file] = PrimaryRun(entry["evaluations"], entry["scan"], entry["chosen"], w1)
    experiments = {}
    for name, entry in data.items():
        samplers = {key: _measured(key, one) for key, one in entry["samplers"].items()}
        truth, deviation = np.array(entry["truth"]), np.array(entry["deviation"])
        experiments[name] = Experiment(entry["trials"], entry["steps"], truth, deviation, samplers)
    return Numbers(experiments, checks, fixed)


def _measured(name: str, one: Mapping[str, Any]) -> Measured:
    fields = {key: value for key, value in one.items() if key in Measured.__dataclass_fields__ and key != "error"}
    error = {step: np.array(values, dtype=float) for step, values in one["error"].items()}
    return Measured(name=name, error=error, **_arrays(fields))


def _arrays(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {key: np.array(value, dtype=float) if isinstance(value, list) else value for key, value in fields.items()}


class Comparison(NamedTuple):
    """The paired difference of a mean over trials, its 95 % interval, and Wilcoxon's two-sided p-value."""

    estimate: float
    low: float
    high: float
    p: float

    @property
    def better(self) -> bool:
        """Whether the first is shown to have the smaller number."""
        return self.p < CONVINCING and self.high < 0.0

    @property
    def worse(self) -> bool:
        """Whether it is shown to have the larger one."""
        return self.p < CONVINCING and self.low > 0.0

    def __str__(self) -> str:
        ends = f"{signed(self.low)}, {signed(self.high)}"
        return f"{signed(self.estimate)} [{ends}], {p_text(self.p)}"


def compare(a: Array, b: Array, trials: int | None = None) -> Comparison:
    """Compare two samplers on the trials that both have, or on the first ``trials`` of them."""
    from scipy.stats import wilcoxon

    count = min(len(a), len(b), trials or len(a))
    a, b = a[:count], b[:count]
    both = np.isfinite(a) & np.isfinite(b)
    found = difference(a, b)
    return Comparison(found.estimate, found.low, found.high, float(wilcoxon(a[both], b[both]).pvalue))


def against(experiment: Experiment, name: str, other: str, what: str = "area", trials: int | None = None) -> Comparison:
    """Compare two samplers of an experiment, trial by trial."""
    return compare(getattr(experiment[name], what), getattr(experiment[other], what), trials)


def signed(value: float) -> str:
    """Return a difference with its sign, two or three digits."""
    text = number(value, 3 if abs(value) >= 0.1 else 2)
    return text if text.startswith("−") else f"+{text}"


def p_text(p: float) -> str:
    """Return "p = 0.02", "p = 2e-5"."""
    if p < 1e-3:
        mantissa, _, exponent = f"{p:.0e}".partition("e")
        return f"p = {mantissa}e−{abs(int(exponent))}"
    return f"p = {p:.2g}"


def average(values: Array) -> str:
    """Return "0.466 ± 0.021": mean and standard error over trials."""
    finite = values[np.isfinite(values)]
    if finite.size == 0:
        return "–"
    return f"{finite.mean():.3f} ± {finite.std(ddof=1) / np.sqrt(finite.size):.3f}".replace("-", "−")
