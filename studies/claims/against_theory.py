"""What a scenario's own claims cannot say: its numbers beside those that theory knows exactly."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

import tracker
from tracker import limits
from tracker.formatting import number, plus_minus

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

STANDARD_ERRORS = 4.0


class Row(NamedTuple):
    """A line of the table."""

    claim: str
    found: str
    outcome: str


def compared(what: str, found: Mapping[str, float], exact: float) -> Row:
    """Return the row of a measured mean beside its exact value."""
    z = (found["mean"] - exact) / found["stderr"]
    numbers = f"{plus_minus(found['mean'], found['stderr'])}, exact {number(exact, 4)}"
    return Row(f"exact: {what}", numbers, "agrees" if abs(z) < STANDARD_ERRORS else "differs")


def sampler_row(summary: Mapping[str, Any], name: str) -> Any:
    """Return what a summary says of a sampler."""
    return next(row for row in summary["samplers"] if row["name"] == name)


def three_regimes(sweep: tracker.Sweep) -> list[Row]:
    """Stationary errors at each speed of the chain, and which limit is the nearest."""
    rows = []
    for point in sweep.outcomes:
        assert point.summary is not None
        scenario = point.point.scenario
        ratio = f"alpha / epsilon = {point.summary['regime'][0]['ratio']:g}"
        for name in ("classical", "skewed"):
            exact = limits.stationary(scenario, name, of="algorithm").mean_square_error
            found = sampler_row(point.summary, name)["mean_square_error"]
            rows.append(compared(f"mean square error of {name} at {ratio}", found, float(exact)))
        # the frozen limit holds up to times far below a stay, not in stationarity
        horizon = 5.0 if point.summary["regime"][0]["class"] == "slow" else 10.0
        distance = limits.regimes(scenario, "classical", horizon).distance
        numbers = ", ".join(f"{key} {number(far)}" for key, far in distance.items())
        nearest = min(distance, key=lambda key: distance[key])
        rows.append(Row(f"exact: the nearest limit at time {horizon:g}, {ratio}", numbers, nearest))
    return rows


def scheduled(run: tracker.Run) -> list[Row]:
    """The mean square error of the classical sampler over a schedule of diagonal bowls.

    Coordinates are independent and linear: E(theta - m)^2 = (E theta - m)^2 + variance, both by their recursions.
    """
    scenario = run.scenario
    keys = scenario.samplers[0]
    modes: tuple[Any, ...] = scenario.modes  # quadratic
    curvature, noise = np.diag(np.array(modes[0].curvature)), modes[0].gradient_noise
    minima = {mode.name: np.array(mode.minimum) for mode in modes}
    assert scenario.schedule is not None
    switches = dict(scenario.schedule.switches)
    shrink = 1.0 - keys.epsilon * curvature
    added = 2.0 * keys.epsilon / keys.beta + keys.epsilon**2 * noise
    mean, variance, m, total = scenario.start_mean, np.zeros(2), np.zeros(2), 0.0
    for k in range(scenario.steps):
        m = minima[switches[k]] if k in switches else m
        if k >= scenario.burn_in:
            total += float(((mean - m) ** 2 + variance).sum())
        mean, variance = m + shrink * (mean - m), shrink**2 * variance + added
    found = sampler_row(run.summary, keys.name)["mean_square_error"]
    return [compared(f"mean square error of {keys.name}", found, total / (scenario.steps - scenario.burn_in))]


def global_minimum(run: tracker.Run) -> list[Row]:
    """The share of time in the right well beside Gibbs' law, at each temperature."""
    rows = []
    settled = run.dataset["theta_trace"].isel(theta=0)
    settled = settled.sel(time=settled["time"] >= run.scenario.burn_in)
    for keys in run.scenario.samplers:
        if np.isfinite(keys.beta):
            share = (settled.sel(sampler=keys.name) > 0).mean("time").to_numpy()
            law = limits.gibbs_marginal(run.problem.modes[0], keys.beta, 0)
            exact = 1.0 - float(np.interp(0.0, law.points, law.cdf))
            found = {"mean": float(share.mean()), "stderr": float(share.std(ddof=1) / np.sqrt(share.size))}
            rows.append(compared(f"share of time in the right well of {keys.name}, by Gibbs' law", found, exact))
    return rows


def example_a(run: tracker.Run) -> list[Row]:
    """The distance to the limit, over epsilon."""
    keys = run.scenario.samplers[0]
    found = limits.regimes(run.scenario, keys.name, 1.0)
    far, rate = found.distance["switched"], found.rate["switched"]
    numbers = f"{number(far)} = {number(far / keys.epsilon)} epsilon, order {number(rate)}"
    return [
        Row(
            "exact: distance of the moments at T = 1 from the limit's",
            numbers,
            "agrees" if abs(rate - 1.0) < 0.1 else "differs",
        )
    ]


def example_b(run: tracker.Run) -> list[Row]:
    """W1 between the sampler's law and its limit's, both by quadrature."""
    keys = run.scenario.samplers[0]
    law = limits.density(run.scenario, keys.name, [1.0])
    own = limits.algorithm_density(run.scenario, keys.name, [round(1 / keys.epsilon)])
    x = np.linspace(-4.0, 4.0, 8001)
    w1 = float(np.abs(law.cdf(x)[0] - own.cdf(x)[0]).sum() * (x[1] - x[0])) / keys.epsilon
    return [
        Row("exact: W1 at T = 1, below 0.15 epsilon", f"{number(w1)} epsilon", "agrees" if w1 < 0.15 else "differs")
    ]


CHECKS: dict[str, Callable[[Any], list[Row]]] = {
    "three_regimes": three_regimes, "drift": scheduled, "drift_jumps": scheduled, "global_minimum": global_minimum,
    "example_a": example_a, "example_b": example_b,
}  # fmt: skip
