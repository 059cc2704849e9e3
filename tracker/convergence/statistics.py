"""The statistics that a verdict rests on (docs/mathematics, "Limit verdict").

They are moments of theta and the mode at T, products of T / 2 and T, and moments of the time that the path spends:
A = int_0^T theta dt. One of the p_i is dropped, or their correlation is singular.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from tracker.array_types import Array, Integers
    from tracker.limits.exact_moments import Moments
    from tracker.limits.grid_law import Law
    from tracker.limits.occupation_moments import Occupation


SPENT = {"spent": "A_{a}", "spent_second": "A_{a} A_{b}", "spent_with": "theta_{a} A_{b}"}
WHOLE_MATRICES = 8  # dimensions up to which every product theta_a theta_b is a statistic; beyond, the squares only


class Sample(NamedTuple):
    """Trials at T and, where the ladder has it, at T / 2: theta (trials, N), mode (trials,).

    occupation : A (trials, N), the sum of epsilon theta_k over the steps before T
    """

    theta: Array
    mode: Integers
    early_theta: Array
    early_mode: Integers
    occupation: Array


@dataclass(frozen=True)
class Statistic:
    """One statistic of theta, the mode and A.

    kind : probability, mean, second, fourth, cosine, square_error; lagged (theta_a(T/2) theta_b(T)), stay (x(T/2) = x(T) = i);
        spent (A_a), spent_second (A_a A_b), spent_with (theta_a A_b)
    mode : the indicator, None for all modes; a, b : coordinates; early : at T / 2
    """

    kind: str
    mode: int | None = None
    a: int = 0
    b: int = 0
    early: bool = False


@dataclass(frozen=True)
class Panel:
    """All statistics of a check: ``tested`` first, then the ``shown`` ones, which are sums of tested ones.

    letter : what stands in the place of theta
    """

    tested: tuple[Statistic, ...]
    shown: tuple[Statistic, ...]
    modes: tuple[str, ...]
    letter: str = "theta"

    @property
    def all(self) -> tuple[Statistic, ...]:
        """Tested and shown."""
        return self.tested + self.shown

    @property
    def names(self) -> tuple[str, ...]:
        """What each is called."""
        return tuple(self._name(s) for s in self.all)

    def _name(self, s: Statistic) -> str:
        where = "" if s.mode is None else f"; {self.modes[s.mode]}"
        time = "(T/2)" if s.early else ""
        a, b = f"{self.letter}_{s.a + 1}{time}", f"{self.letter}_{s.b + 1}{time}"
        product = f"{a}^2" if s.a == s.b else f"{a} {b}"
        inside = {"mean": a, "second": product, "fourth": f"{a}^4", "square_error": "|theta - m_x|^2"}
        if s.kind == "probability":
            return f"P(x = {self.modes[s.mode or 0]})"
        if s.kind == "stay":
            return f"P(x(T/2) = x(T) = {self.modes[s.mode or 0]})"
        if s.kind == "lagged":
            return f"E[theta_{s.a + 1}(T/2) theta_{s.b + 1}(T)]"
        if s.kind == "cosine":
            return "E[cos(sum theta)]"
        if s.kind in SPENT:
            return "E[" + SPENT[s.kind].format(a=s.a + 1, b=s.b + 1) + "]"
        return f"E[{inside[s.kind]}{where}]"


def moment_panel(N: int, modes: tuple[str, ...], *, halves: bool) -> Panel:
    """The panel of quadratic costs."""
    X = len(modes)
    products = [(a, b) for a in range(N) for b in range(a, N) if N <= WHOLE_MATRICES or a == b]
    lags = [(a, b) for a in range(N) for b in range(N) if N <= WHOLE_MATRICES or a == b]
    tested = [Statistic("probability", i) for i in range(X - 1)]
    tested += [Statistic("mean", i, a) for i in range(X) for a in range(N)]
    tested += [Statistic("second", i, a, b) for i in range(X) for a, b in products]
    if halves:
        tested += [Statistic("lagged", None, a, b) for a, b in lags]
        tested += [Statistic("stay", i) for i in range(X) if X > 1]
    if N <= WHOLE_MATRICES:
        tested += [Statistic("spent", None, a) for a in range(N)]
        tested += [Statistic("spent_second", None, a, b) for a, b in products]
        tested += [Statistic("spent_with", None, a, b) for a, b in lags]
    return Panel(tuple(tested), (*_sums(N, X, products), Statistic("square_error")), modes)


def density_panel(N: int, modes: tuple[str, ...], *, halves: bool) -> Panel:
    """The panel of other costs, N = 1, 2."""
    X = len(modes)
    products = [(a, b) for a in range(N) for b in range(a, N)]
    tested = [Statistic("probability", i) for i in range(X - 1)]
    tested += [Statistic("mean", i, a) for i in range(X) for a in range(N)]
    tested += [Statistic("second", i, a, b) for i in range(X) for a, b in products]
    tested.append(Statistic("cosine"))
    if halves:
        tested += [Statistic("mean", None, a, early=True) for a in range(N)]
        tested += [Statistic("second", None, a, b, early=True) for a, b in products]
        tested += [Statistic("stay", i) for i in range(X) if X > 1]
    shown = [*_sums(N, X, products), *([Statistic("fourth")] if N == 1 else [])]
    return Panel(tuple(tested), tuple(shown), modes)


def _sums(N: int, X: int, products: list[tuple[int, int]]) -> list[Statistic]:
    """Over modes; with one mode they are the tested ones."""
    if X == 1:
        return []
    return [Statistic("mean", None, a) for a in range(N)] + [Statistic("second", None, a, b) for a, b in products]


def evaluate(panel: Panel, sample: Sample, minima: Array) -> Array:
    """Return every statistic of every trial, shape (trials, J); minima : (X, N), of the modes."""
    return np.stack([_column(s, sample, minima) for s in panel.all], axis=1)


def _column(s: Statistic, sample: Sample, minima: Array) -> Array:
    theta, mode = (sample.early_theta, sample.early_mode) if s.early else (sample.theta, sample.mode)
    here = np.ones(len(mode)) if s.mode is None else (mode == s.mode).astype(np.float64)
    if s.kind == "probability":
        return here
    if s.kind == "stay":
        return here * (sample.early_mode == s.mode)
    if s.kind == "lagged":
        return np.asarray(sample.early_theta[:, s.a] * theta[:, s.b])
    if s.kind == "square_error":
        return np.asarray(np.sum((theta - minima[mode]) ** 2, axis=1))
    if s.kind == "spent":
        return sample.occupation[:, s.a]
    if s.kind in SPENT:
        first = sample.occupation if s.kind == "spent_second" else theta
        return np.asarray(first[:, s.a] * sample.occupation[:, s.b])
    return np.asarray(here * function(s, tuple(theta.T)))


def of_moments(panel: Panel, moments: Moments, lagged: Array, stay: Array, spent: Occupation | None) -> Array:
    """The statistics from moments at T (no leading axis), E[theta(T/2) theta(T)'], P(x(T/2) = x(T) = i) and A, shape (J,)."""

    def value(s: Statistic) -> float:
        if s.kind in SPENT:
            assert spent is not None  # or the panel has no such statistic
            of = {"spent": spent.mean, "spent_second": spent.second, "spent_with": spent.with_theta}[s.kind]
            return float(of[s.a] if s.kind == "spent" else of[s.a, s.b])
        if s.kind == "lagged":
            return float(lagged[s.a, s.b])
        if s.kind == "square_error":
            return float(moments.mean_square_error)
        if s.kind == "stay":
            return float(stay[s.mode or 0])
        if s.kind == "probability":
            return float(moments.probability[s.mode or 0])
        if s.kind == "mean":
            return float(moments.mean[s.a] if s.mode is None else moments.mean_by_mode[s.mode, s.a])
        return float(moments.second[s.a, s.b] if s.mode is None else moments.second_by_mode[s.mode, s.a, s.b])

    return np.array([value(s) for s in panel.all])


def of_law(panel: Panel, law: Law, stay: Array) -> Array:
    """The statistics from a law at T / 2 and T (or at T alone), shape (J,)."""

    def value(s: Statistic) -> float:
        if s.kind == "stay":
            return float(stay[s.mode or 0])
        when = 0 if s.early else -1
        if s.kind == "probability":
            return float(law.probability[when, s.mode or 0])
        return float(law.extrapolated(lambda *theta: function(s, theta), s.mode)[when])

    return np.array([value(s) for s in panel.all])


def function(s: Statistic, theta: tuple[Any, ...]) -> Any:
    """What is averaged, without its indicator; theta : N arrays."""
    if s.kind == "mean":
        return theta[s.a]
    if s.kind == "second":
        return theta[s.a] * theta[s.b]
    return theta[s.a] ** 4 if s.kind == "fourth" else np.cos(sum(theta))
