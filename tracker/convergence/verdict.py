"""The result of a check: the fields that ``tracker limit --json`` prints (docs/architecture, "What a run leaves").

Verdicts are ``confirmed``, ``rejected``, ``inconclusive`` or ``unavailable`` (no exact law to compare with).
"""

from __future__ import annotations

from dataclasses import dataclass, fields, is_dataclass
from html import escape
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, Self

import numpy as np

from tracker.jsonable import jsonable

if TYPE_CHECKING:
    from tracker.array_types import Array

Word = Literal["confirmed", "rejected", "inconclusive", "unavailable"]
Reference = Literal["moments", "density", "diffusion"]


class Fields:
    """A record (a dataclass) whose fields can be asked for by name, as in the JSON object it becomes."""

    __dataclass_fields__: ClassVar[dict[str, Any]]

    def __getitem__(self, name: str) -> Any:
        if name not in self.keys():
            raise KeyError(name)
        return getattr(self, name)

    @classmethod
    def keys(cls) -> list[str]:
        """The names of the fields."""
        return list(cls.__dataclass_fields__)


@dataclass(frozen=True)
class Order(Fields):
    """The slope of log |error| against log epsilon.

    estimate, low, high : fitted over the ladder, with a 95 % interval; None where there is no slope to speak of
    exact : the same fit to the exact errors, None where they are not known. It is what the estimate is compared with: over
        a finite ladder it is not 1.
    """

    estimate: float | None = None
    low: float | None = None
    high: float | None = None
    exact: float | None = None


@dataclass(frozen=True)
class Observable(Fields):
    """An expectation, in the limit and for the algorithm at each epsilon; error = algorithm - limit.

    stderr, error_stderr : of the algorithm's value and of the error; 0 for exact values. Coupled paths share their noise with
        the limit's, so that their error is known far better than their value.
    exact_error : the error without the noise of trials, where theory has it
    tested : whether the verdicts rest on it; the others are sums of tested ones, shown because people ask for them
    scale : the standard deviation of one trial, the unit of the resolution
    intercept, intercept_stderr : the error extrapolated to epsilon = 0
    order : None for a functional without a leading term, which has no slope
    """

    name: str
    limit: float | None
    algorithm: tuple[float, ...]
    stderr: tuple[float, ...]
    error: tuple[float | None, ...]
    error_stderr: tuple[float, ...] = ()
    exact_error: tuple[float, ...] | None = None
    tested: bool = True
    scale: float | None = None
    intercept: float | None = None
    intercept_stderr: float | None = None
    order: Order | None = None

    @classmethod
    def over_ladder(cls, name: str, limit: float | None, values: Array, stderr: Array, **more: Any) -> Self:
        """Return the expectation with these ``values`` at each epsilon; the error, if not given, is as certain as the value."""
        if limit is None:
            more["error"] = (None,) * len(values)
        else:
            more = {"error": values - limit, "error_stderr": stderr, **more}
        lists = {key: tuple(value.tolist()) for key, value in more.items() if isinstance(value, np.ndarray)}
        return cls(
            name=name,
            limit=None if limit is None else float(limit),
            algorithm=tuple(values.tolist()),
            stderr=tuple(stderr.tolist()),
            **{**more, **lists},
        )


@dataclass(frozen=True)
class Distances(Fields):
    """Distance at the smallest epsilon from the algorithm to each limit; None where it is not computed."""

    frozen: float | None = None
    switched: float | None = None
    averaged: float | None = None


@dataclass(frozen=True)
class LawDistance(Fields):
    """N = 1, at one epsilon: exact distances between the laws of theta, of the algorithm and of the limit."""

    epsilon: float
    w1: float
    ks: float


class Statement(NamedTuple):
    """A sentence of a verdict: what it is about, and what it says after the word of the verdict, if it begins with one."""

    topic: str
    sentence: str
    reason: str = ""

    def __str__(self) -> str:
        return f"{self.topic}: {self.sentence}" if self.topic else self.sentence


@dataclass(frozen=True)
class Bound(Fields):
    """N = 1: a distance from the simulated trials to the limit, and what it proves.

    found : between the sample and the limit
    band : half-width at 95 %: the algorithm's own distance is within ``band`` of ``found``
    bound : the distance is at most this, with 95 % confidence
    exact : the algorithm's exact distance; None where not known
    """

    distance: Literal["ks", "w1"]
    epsilon: float
    trials: int
    found: float
    band: float
    bound: float
    exact: float | None
    verdict: Word


@dataclass(frozen=True)
class LawGap(Fields):
    """N = 1, for a figure: F - F_limit along (mode, theta) at the smallest epsilon; one row of numbers for each mode.

    theta : where; found : of the trials; exact : of the algorithm's own law, None where not known
    """

    theta: tuple[float, ...]
    modes: tuple[str, ...]
    found: tuple[tuple[float, ...], ...]
    exact: tuple[tuple[float, ...], ...] | None


@dataclass(frozen=True)
class Residual(Fields):
    """A statistic of single steps of the engine, jumps or starts.

    z : standard normal for the right engine; None where there is no chance in it
    """

    name: str
    z: float | None
    rejected: bool


@dataclass(frozen=True)
class PassageLadder(Fields):
    """N = 1: P(theta stays below ``level`` up to T).

    algorithm, raised : at each epsilon, of the algorithm, and of the limit at the level that is raised by .5826 deviations of a step
    order, order_raised : slope of the error to the limit, which tends to 1/2, and to the limit at the raised level, which tends to 1;
        None where an error is nothing or changes its sign
    """

    level: float
    limit: float
    algorithm: tuple[float, ...]
    raised: tuple[float, ...]
    order: float | None
    order_raised: float | None


@dataclass(frozen=True)
class Modulus(Fields):
    """The largest E|theta(t + delta) - theta(t)|^4 / (delta + epsilon)^2 over a grid of ``parts`` equal times up to T.

    It stays bounded as epsilon -> 0, so paths have no jumps in the limit.
    """

    parts: int
    limit: float
    algorithm: tuple[float, ...]


@dataclass(frozen=True)
class Sees(Fields):
    """The smallest relative error of the noise, the drift and the rate of jumps that would have been rejected (in 95 %).

    None where there is no such thing, or nothing was looked at.
    """

    noise: float | None = None
    drift: float | None = None
    rate: float | None = None


@dataclass(frozen=True, kw_only=True)
class Verdict(Fields):
    """The answer to "does the algorithm converge weakly to its limit?".

    limit_verdict : whether what the algorithm tends to, by extrapolation in epsilon, is the limit
    implementation_verdict : whether the engine at the largest epsilon has the law that theory gives it there
    resolution : delta; a discrepancy below delta standard deviations of a statistic is not looked for
    resolution_reached : the largest discrepancy that was not excluded, in the same unit
    deterministic : without noise the diffusion is an ODE, and is solved
    trials : per epsilon that was simulated; ``simulated`` says which
    trials_needed : would decide, where a verdict is inconclusive
    rates : order in epsilon at which each of ``distances`` shrinks; about 0 for a wrong limit
    residuals, sees : statistics of single steps at the largest epsilon, and the smallest fault that they would have rejected
    laws, bounds, law_gap : distances between laws, N = 1
    first_passage, modulus : functionals of whole paths; None where theory does not know them
    scaled : whether the observables are of u = (theta - vartheta) / sqrt(epsilon)
    statements : the result in sentences; notes : what was left out, and why
    topics : the statements with what each is about

    What pages alone read, ``law_gap`` and ``topics``, is not in the JSON object.
    """

    scenario: str
    sampler: str
    ratio: float | None
    regime: str = "switched"
    horizon: float
    reference: Reference = "diffusion"
    epsilons: tuple[float, ...]
    observables: tuple[Observable, ...]
    order: Order = Order()
    distances: Distances = Distances()
    limit_verdict: Word = "unavailable"
    implementation_verdict: Word = "unavailable"
    resolution: float
    resolution_reached: float | None = None
    deterministic: bool = False
    path: float | None = None
    alphas: tuple[float, ...] = ()
    trials: int = 0
    simulated: tuple[float, ...] = ()
    trials_needed: int | None = None
    largest_z: float | None = None
    implementation_z: float | None = None
    residuals: tuple[Residual, ...] = ()
    sees: Sees = Sees()
    rates: Distances = Distances()
    laws: tuple[LawDistance, ...] = ()
    bounds: tuple[Bound, ...] = ()
    law_gap: LawGap | None = None
    first_passage: PassageLadder | None = None
    modulus: Modulus | None = None
    scaled: bool = False
    statements: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    topics: tuple[Statement, ...] = ()

    @property
    def rejected(self) -> bool:
        """Whether either verdict says no."""
        return "rejected" in (self.limit_verdict, self.implementation_verdict)

    def json(self) -> dict[str, Any]:
        """Return the object that ``tracker limit --json`` prints."""
        return {key: value for key, value in jsonable(_plain(self)).items() if key not in ("law_gap", "topics")}

    def __str__(self) -> str:
        return "\n".join([f"{self.scenario}, {self.sampler}", *self.statements, *(f"note: {n}" for n in self.notes)])

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td>{escape(o.name)}</td><td>{_number(o.limit)}</td><td>{_number(o.algorithm[-1])}</td>"
            f"<td>{_number(o.error[-1])}</td></tr>"
            for o in self.observables
        )
        lines = "".join(f"<p>{escape(line)}</p>" for line in (*self.statements, *(f"Note: {n}" for n in self.notes)))
        head = f"<tr><th></th><th>limit</th><th>algorithm at {self.epsilons[-1]:g}</th><th>error</th></tr>"
        return f"<div><b>{escape(self.scenario)}, {escape(self.sampler)}</b>{lines}<table>{head}{rows}</table></div>"


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.6g}"


def _plain(value: Any) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: _plain(getattr(value, field.name)) for field in fields(value)}
    return [_plain(entry) for entry in value] if isinstance(value, tuple) else value
