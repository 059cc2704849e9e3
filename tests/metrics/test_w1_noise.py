"""W1 to a law beside what a perfect sample of as many effective draws would have; no ranking by Monte Carlo error."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import ndtr

import tracker
from tracker.metrics import wasserstein
from tracker.metrics.effective_size import effective_draws
from tracker.metrics.wasserstein import w1, w1_quantile
from tracker.reports.exhibit import Exhibit
from tracker.reports.exhibits import densities
from tracker.reports.run_view import View

STEPS = (1e-3, 1e-2, 1e-1)


@pytest.fixture(scope="module")
def view() -> View:
    """One mode, C = theta^2 / 2, beta = 1, three steps, 4 trials x 20000 steps of which every 100th is recorded."""
    text = """
        name = "bowl"
        trials = 4
        steps = 20_000
        record_every = 100
        start = [0.0]
        modes = [{ name = "a", cost = "quadratic", minimum = [0.0], curvature = [[1.0]] }]
        samplers = [{ name = "x", kind = "langevin", epsilon = 0.1, beta = 1.0 }]
    """
    samplers = [{"name": f"e{n}", "kind": "langevin", "epsilon": e, "beta": 1.0} for n, e in enumerate(STEPS)]
    return View(tracker.run(tracker.parse(text).replace(samplers=samplers), executor=1))


def rows(view: View) -> dict[str, dict[str, float]]:
    found = densities.exhibit(view)
    assert isinstance(found, Exhibit)
    return {str(row[0]): dict(zip(found.table.columns, row, strict=True)) for row in found.table.rows}  # type: ignore[misc]


def test_draws_that_are_few_do_not_rank(view: View) -> None:
    """The bias (sigma - 1) sqrt(2 / pi) grows with the step, the noise falls: by W1 alone the order was reversed."""
    found = rows(view)
    distance = [found[f"e{n}"]["W1 to Gibbs"] for n in range(3)]
    noise = [found[f"e{n}"]["W1 of a perfect sample, 95 %"] for n in range(3)]
    bias = [(1.0 / np.sqrt(1.0 - e / 2.0) - 1.0) * np.sqrt(2.0 / np.pi) for e in STEPS]
    assert bias[2] > 10 * bias[0]
    assert distance[0] > distance[2]  # what the page ranked by
    assert distance[0] < noise[0]
    assert distance[1] < noise[1]
    caption = densities.exhibit(view).caption  # type: ignore[union-attr]
    assert "nearer to it than" not in caption
    assert "effective draws: up to" in caption
    assert "told from the law" in caption or "which is nearer is not told" in caption


def test_effective_draws_are_those_of_the_autocorrelation(view: View) -> None:
    """tau = 2 / epsilon steps, so 40 and 400 draws of 80000 steps; at 0.1 the records, 800 of them, are independent."""
    found = rows(view)
    draws = [found[f"e{n}"]["effective draws"] for n in range(3)]
    assert 10 < draws[0] < 160
    assert 200 < draws[1] < 800
    assert 500 < draws[2] < 1300
    assert np.isnan(found["frozen"]["effective draws"])


def test_a_law_that_is_far_off_is_still_ranked() -> None:
    """The control: W1 beyond the noise of both is a ranking."""
    near, far = densities.Distance(0.02, 4000.0, 0.03), densities.Distance(0.4, 900.0, 0.06)
    assert densities._nearest({"far": far, "near": near}).endswith("so near is nearer to it than far")
    close = densities.Distance(0.1, 900.0, 0.06)
    told = densities._nearest({"far": close, "near": near})
    assert told.endswith("further than chance explains for far, and which is nearer is not told")
    small = densities.Distance(0.05, 900.0, 0.06)
    assert densities._nearest({"one": small, "near": near}).endswith("none is told from the law by so few draws")


def test_the_noise_is_the_quantile_of_perfect_samples() -> None:
    """Against 400 fresh samples of 200 normal draws, and the exact W1."""
    x = np.linspace(-8.5, 8.5, 4001)
    rng = np.random.default_rng(77)
    fresh = [w1(rng.standard_normal(200), x, ndtr(x)) for _ in range(400)]
    noise = w1_quantile(x[::4], ndtr(x)[::4], 200)
    above = np.mean(np.array(fresh) > noise)
    assert abs(above - 0.05) < 4 * np.sqrt(0.05 * 0.95 / 400)


def test_the_noise_of_many_trials_is_scaled_from_fewer(monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond ``MOST_DRAWS`` trials the quantile is that of smaller samples, divided by the root: here 800 from 50."""
    x = np.linspace(-8.5, 8.5, 4001)
    rng = np.random.default_rng(78)
    fresh = np.quantile([w1(rng.standard_normal(800), x, ndtr(x)) for _ in range(400)], 0.95)
    monkeypatch.setattr(wasserstein, "MOST_DRAWS", 50)
    assert w1_quantile(x, ndtr(x), 800) == pytest.approx(fresh, rel=0.1)
    assert w1_quantile(x, ndtr(x), 50) > 3.0 * fresh  # control


def test_effective_draws_of_visits_that_come_and_go() -> None:
    """The variance of the mean over the picked entries of AR(1) paths, exactly: the picked pairs of one trial."""
    rho, length, trials = 0.8, 400, 400
    rng = np.random.default_rng(5)
    here = np.zeros((trials, length), dtype=bool)
    for start in range(0, length, 25):
        here[:, start : start + 10] = True  # visits of 10, gaps of 15
    noise = rng.standard_normal((trials, length))
    values = np.empty_like(noise)
    values[:, 0] = noise[:, 0]
    for k in range(1, length):
        values[:, k] = rho * values[:, k - 1] + np.sqrt(1 - rho**2) * noise[:, k]
    picked = np.flatnonzero(here[0])
    pairs = float((rho ** np.abs(picked[:, None] - picked[None, :])).sum())
    exact = trials * picked.size**2 / pairs
    assert effective_draws(values, here) == pytest.approx(exact, rel=0.1)
    whole = effective_draws(values, np.ones_like(here))
    assert whole == pytest.approx(trials * length * (1 - rho) / (1 + rho), rel=0.1)
    assert np.isnan(effective_draws(np.ones((2, 5)), np.ones((2, 5), dtype=bool)))
    assert np.isnan(effective_draws(values, np.zeros_like(here)))
