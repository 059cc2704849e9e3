"""Whether the samplers of a run with one mode found its law: W1 of a coordinate, the error of the mean, effective draws."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tracker.metrics.averages import over_trials
from tracker.metrics.effective_size import effective_draws
from tracker.metrics.wasserstein import w1, w1_quantile

if TYPE_CHECKING:
    from tracker.array_types import Array, Booleans
    from tracker.limits.gibbs_law import Marginal
    from tracker.metrics.averages import Average
    from tracker.reports.run_view import View

MOST_SAMPLES = 200_000  # per sampler and mode: W1 of more would only take longer
LAW_POINTS = 1000  # of the grid on which the noise of W1 is simulated
VAGUE = 0.25  # of the standard deviation of the law: a W1 that chance alone explains
POSTERIOR_POINTS, POSTERIOR_DEVIATIONS = 2001, 9.0  # of a law that is tabulated here


class Distance(NamedTuple):
    """W1 of a sample to a law, how many independent draws the sample is worth, and what W1 a perfect sample of as many has.

    draws : nan for what never moves
    noise : the 95 % quantile of W1 for so many independent draws from the law itself; nan where draws are
    spread : the standard deviation of the law
    """

    w1: float
    draws: float
    noise: float
    spread: float = float("nan")

    @property
    def is_told(self) -> bool:
        """Whether the sample is further from the law than chance explains."""
        return self.w1 > self.noise

    @property
    def is_vague(self) -> bool:
        """Whether chance is so large beside the law that being within it says little."""
        return self.noise > VAGUE * self.spread


class LawFound(NamedTuple):
    """What the samplers of a run made of the law of its one mode.

    distances : by sampler, for those whose law is known
    mean_errors : distance of the time average of each trial to the mean of the law, shape (T, S); nan where not known
    one_law : whether all samplers have the same law
    """

    distances: dict[str, Distance]
    mean_errors: Array
    one_law: bool

    def mean_error(self, n: int) -> Average:
        """Return the error of the mean of sampler ``n``, over trials."""
        return over_trials(self.mean_errors[:, n])

    @property
    def within_chance(self) -> list[str]:
        """The samplers whose points are not told from the law."""
        return [name for name, one in self.distances.items() if not one.is_told]


def law_found(view: View) -> LawFound:
    """Compare each sampler with the law of the mode at its own temperature; ValueError where no law is known."""
    laws: dict[float, tuple[Marginal, Array]] = {}
    problem: ValueError | None = None
    errors = np.full(view.kept.shape, np.nan)
    distances = {}
    for keys in view.scenario.samplers:
        beta, n = float(keys.beta), view.index(keys.name)
        try:
            if beta not in laws:
                laws[beta] = law_of_mode(view, beta)
        except ValueError as reason:
            problem = reason
            continue
        law, mean = laws[beta]
        if (sample := samples(view, keys.name, 0)).size:
            distances[keys.name] = distance_to(view, keys.name, 0, sample, law)
            errors[:, n] = _errors_of_means(view, n, mean)
    if not distances:
        raise problem or ValueError("every trial of every sampler diverged")
    return LawFound(distances, errors, len(laws) == 1 and problem is None)


def law_of_mode(view: View, beta: float) -> tuple[Marginal, Array]:
    """Return the law of the shown coordinate in the first mode, and the mean of all; ValueError where it is not known."""
    from tracker.limits import gibbs_marginal

    try:
        laws = [gibbs_marginal(view.modes[0], beta, d) for d in range(view.scenario.dimension)]
    except ValueError:
        if not np.isfinite(beta):
            raise
        return _posterior(view, beta)
    mean = np.array([float(np.trapezoid(law.points * law.density, law.points)) for law in laws])
    return laws[view.coordinate], mean


def _posterior(view: View, beta: float) -> tuple[Marginal, Array]:
    """The law by the exact posterior of stored data, for dimensions that a grid does not reach."""
    from tracker.limits.gibbs_law import Marginal
    from tracker.references import posterior

    exact, d = posterior(view.scenario, beta=beta), view.coordinate
    reach = POSTERIOR_DEVIATIONS * float(np.sqrt(exact.covariance[d, d]))
    points = np.linspace(exact.mean[d] - reach, exact.mean[d] + reach, POSTERIOR_POINTS)
    cdf = np.clip(np.maximum.accumulate(np.asarray(exact.cdf(d, points), dtype=float)), 0.0, 1.0)
    return Marginal(points, np.gradient(cdf, points), cdf), np.asarray(exact.mean, dtype=float)


def _errors_of_means(view: View, n: int, mean: Array) -> Array:
    """The distance of each trial's mean of the recorded points to the law's; diverged trials are nan."""
    points = view.seen(n)[:, view.averaged & (view.recorded > 0)]
    if points.shape[1] == 0:
        return np.full(len(points), np.nan)
    with np.errstate(invalid="ignore", over="ignore"):
        away = np.sqrt(((points.mean(axis=1) - mean) ** 2).sum(axis=1))
    return np.where(view.kept[:, n], away, np.nan)


def distance_to(view: View, name: str, x: int, sample: Array, law: Marginal) -> Distance:
    """Return how far the records of a sampler in mode x are from a law."""
    draws = effective_draws(view.seen(view.index(name))[:, :, view.coordinate], _here(view, name, x))
    step = max(1, law.points.size // LAW_POINTS)  # an even grid: what the quantile is taken on
    size = max(1, round(draws)) if np.isfinite(draws) else 0
    noise = w1_quantile(law.points[::step], law.cdf[::step], size) if size else float("nan")
    weights = law.density / law.density.sum()
    mean = float(weights @ law.points)
    spread = float(np.sqrt(weights @ (law.points - mean) ** 2))
    return Distance(w1(sample, law.points, law.cdf), draws, noise, spread)


def samples(view: View, name: str, x: int) -> Array:
    """Return the recorded values of the coordinate while mode x held, after the start and the burn-in, evenly thinned."""
    values = view.seen(view.index(name))[:, :, view.coordinate][_here(view, name, x)]
    return np.asarray(values[:: max(1, -(-len(values) // MOST_SAMPLES))])


def _here(view: View, name: str, x: int) -> Booleans:
    """Which records count, shape (T, R)."""
    n = view.index(name)
    here = (view.arrays["mode"] == x) & view.averaged & view.kept[:, n, np.newaxis] & (view.recorded > 0)
    return np.asarray(here & np.isfinite(view.arrays["theta"][:, n, :, view.coordinate]))
