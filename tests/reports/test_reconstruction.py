"""The cost read back from the samples, and waits by theory beside measured ones: numbers by loops over the records."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from interpreting import interpreted
from scipy.special import ndtr
from worlds import bowls, shipped

import tracker
from tracker import limits, skew
from tracker.reports.exhibit import Exhibit, Omitted
from tracker.reports.exhibits import escape_times, reconstruction
from tracker.reports.run_view import View


@pytest.fixture(scope="module")
def run() -> tracker.Run:
    return tracker.run(
        bowls(trials=20, steps=400, record_every=1, chain={"alpha": 0.005, "Q": [[-1.0, 1.0], [1.0, -1.0]]})
    )


def test_distances_to_gibbs_law_by_hand(run: tracker.Run) -> None:
    """Mode right of ``bowls`` alone has the law N(1, 1/10)."""
    view = View(run)
    found = reconstruction.exhibit(view)
    assert isinstance(found, Exhibit)
    row = next(r for r in found.table.rows if r[:2] == ("quick", "right"))
    values, stay = [], 400 * 20 / (view.switches + 20)
    for trial in range(20):
        since, switched = 0, False
        for k in range(400):
            if k and run.arrays["mode"][trial, k] != run.arrays["mode"][trial, k - 1]:
                since, switched = k, True
            old = not switched or k - since >= 0.1 * stay
            if old and run.arrays["mode"][trial, k] == 1:
                values.append(run.arrays["theta"][trial, 1, k, 0])
    deviation = math.sqrt(0.1)
    reach = 3.719016485455709 * deviation  # 1e-4 of the mass beyond it
    edges = np.linspace(1 - reach, 1 + reach, 49)
    cdf = ndtr((edges - 1) / deviation)
    cdf[0], cdf[-1] = 0.0, 1.0
    p, q = np.histogram(np.clip(values, edges[0], edges[-1]), edges)[0] / len(values), np.diff(cdf)
    assert row[2] == len(values)
    assert row[3] == pytest.approx(np.abs(np.cumsum(p - q)).sum() * (edges[1] - edges[0]), rel=1e-3)
    assert row[4] == pytest.approx(np.abs(p - q).sum(), rel=1e-3)
    assert row[5] == pytest.approx(sum(a * math.log(a / b) for a, b in zip(p, q, strict=True) if a > 0), rel=1e-3)


def test_a_perfect_sample_reads_the_cost_back(run: tracker.Run) -> None:
    """Draws of Gibbs' law itself: small distances; the same draws moved by a deviation: large ones."""
    view = View(run)
    law = limits.gibbs_marginal(view.modes[1], 10.0, 0)
    draws = 1.0 + np.sqrt(0.1) * np.random.default_rng(1).standard_normal((20, 401))
    everywhere = np.ones((20, 401), dtype=bool)

    def read(theta: Any) -> Any:
        arrays = {"mode": np.ones((20, 401)), "theta": theta[:, None, :, None]}
        fake: Any = SimpleNamespace(arrays=arrays, kept=np.ones((20, 1), dtype=bool), index=lambda _: 0, coordinate=0)
        return reconstruction._read(fake, "x", 1, everywhere, law)

    assert read(draws).l1 < 0.08
    assert read(draws + math.sqrt(0.1)).l1 > 0.5
    assert read(draws).kl < 0.01 < read(draws + math.sqrt(0.1)).kl


def test_without_temperature_nothing_is_read_back(run: tracker.Run) -> None:
    cold = bowls().replace(samplers=[{"name": "a", "kind": "langevin", "epsilon": 0.1, "beta": "inf"}])
    found = reconstruction.exhibit(View(tracker.run(cold)))
    assert isinstance(found, Omitted)


def test_where_the_law_has_no_mass_nothing_is_read_back() -> None:
    """A sampler that begins a million deviations away: a logarithm of no density at all was drawn, with a warning."""
    settings = {"trials": 2, "steps": 400, "record_every": 1, "burn_in": 0}
    far = View(interpreted(bowls(**settings, start=[-1e6]).set("samplers.*.epsilon", 1e-6)))
    found = reconstruction.exhibit(far)
    assert isinstance(found, Omitted)
    assert found.reason[found.reason.index(" ") :] == " was never where Gibbs' law has its mass."
    near = View(interpreted(bowls(**settings)))
    assert isinstance(reconstruction.exhibit(near), Exhibit)  # control


def test_predicted_waits_are_medians_of_exponentials() -> None:
    wells = [{"mode": "right", "barrier": 3.0, "rate": rate, "speed_up": 2.0, "minimum": [0.0]} for rate in (0.01, 0.2)]
    waits = {
        "recovery": {
            "by_mode": [
                {"mode": "right", "median": 400.0, "low": 300.0, "high": 500.0},
                {"mode": "left", "median": 5.0, "low": None, "high": None},
            ]
        }
    }
    view: Any = SimpleNamespace(
        alive=("a",),
        mode_names=("right", "left"),
        summary={"a": waits},
        epsilons={"a": 1e-2},
        theory={"escape": {"a": wells}},
    )
    found = escape_times.shown(view)
    assert found is not None
    assert len(found.table.rows) == 1
    assert found.table.rows[0][4] == pytest.approx(math.log(2) / (0.2 * 1e-2))
    view.theory["escape"]["a"] = None
    assert escape_times.shown(view) is None


def test_the_shipped_instability_is_one_of_the_switched_world_only() -> None:
    world = shipped("skew_instability")
    found = {keys.name: limits.stability(world, keys.name) for keys in world.samplers}
    assert {name: each.stable for name, each in found.items()} == {
        "classical": True,
        "skewed-2": True,
        "skewed-4": False,
    }
    assert found["skewed-4"].abscissa == pytest.approx(4.2729870, abs=1e-6)
    for mode in world.modes:
        assert skew.stability_limit(np.array(mode.curvature), skew.from_pairs([4.0], 2)) > 1e-2
    assert abs(limits.best_skew(world, "skewed-4").skew[1, 0]) < 2.62
