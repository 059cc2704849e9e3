"""The scaled error: verdicts on u at beta = inf, closed numbers of a fast chain, and faults that are rejected."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import tracker
from tracker import limits
from tracker.convergence import scaled_check
from tracker.scenario import ScenarioError

WORLD: dict[str, Any] = {
    "name": "scaled",
    "trials": 10,
    "steps": 64,
    "start": [0.3, -0.2],
    "chain": {"alpha": 1.5 / 64, "Q": [[-1.0, 1.0], [1.0, -1.0]]},
    "modes": [
        {
            "name": "one",
            "cost": "quadratic",
            "minimum": [1.0, -1.0],
            "curvature": [[2.0, 0.3], [0.3, 1.0]],
            "gradient_noise": [[0.5, 0.0], [0.0, 0.2]],
        },
        {
            "name": "two",
            "cost": "quadratic",
            "minimum": [-1.0, 0.5],
            "curvature": [[1.0, -0.2], [-0.2, 1.5]],
            "gradient_noise": [[0.3, 0.0], [0.0, 0.6]],
        },
    ],
    "samplers": [{"name": "skewed", "kind": "accelerated", "epsilon": 1 / 64, "beta": "inf", "skew": 0.4}],
}
COARSE = {"resolution": 0.1, "scaled": True}


@pytest.fixture(scope="module")
def verdict() -> Any:
    return tracker.check_limit(tracker.parse(WORLD), **COARSE)


def test_the_scaled_error_is_confirmed_with_the_published_sum(verdict: Any) -> None:
    """docs/mathematics, "Scaled error": the sum of U over the modes at t = 1."""
    assert verdict.scaled
    assert (verdict.limit_verdict, verdict.implementation_verdict) == ("confirmed", "confirmed")
    assert verdict.order.exact == pytest.approx(1.04, abs=0.03)
    at = {o.name: o.limit for o in verdict.observables}
    assert at["E[u_1^2; one]"] + at["E[u_1^2; two]"] == pytest.approx(0.148243446, abs=1e-8)
    assert at["E[u_1 u_2; one]"] + at["E[u_1 u_2; two]"] == pytest.approx(-0.0034610924, abs=1e-9)
    assert at["E[u_2^2; one]"] + at["E[u_2^2; two]"] == pytest.approx(0.1661924426, abs=1e-8)
    assert verdict.json()["scaled"] is True


def test_a_wrong_noise_covariance_is_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    """The limit of a world whose first mode has a noise 1.2 times as large."""
    right = limits.scaled_error
    louder = {
        **WORLD,
        "modes": [{**WORLD["modes"][0], "gradient_noise": [[0.72, 0.0], [0.0, 0.288]]}, WORLD["modes"][1]],
    }
    wrong = tracker.parse(louder)

    def planted(scenario: Any, name: str, times: Any, of: str = "limit") -> Any:
        return right(wrong if of == "limit" else scenario, name, times, of=of)

    monkeypatch.setattr(limits, "scaled_error", planted, raising=False)
    found = tracker.check_limit(tracker.parse(WORLD), **COARSE)
    assert found.limit_verdict == "rejected"
    assert found.implementation_verdict == "confirmed"


def test_a_drift_of_the_wrong_mode_is_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    right = scaled_check._without_noise
    monkeypatch.setattr(scaled_check, "_without_noise", lambda field, start, mode: right(field, start, 1 - mode))
    found = tracker.check_limit(tracker.parse(WORLD), **COARSE)
    assert found.implementation_verdict == "rejected"


def test_what_has_no_scaled_error_is_refused_by_name() -> None:
    warm = tracker.parse(WORLD).set("samplers.skewed.beta", 2.0)
    with pytest.raises(ScenarioError, match="beta = inf"):
        tracker.check_limit(warm, scaled=True)
    with pytest.raises(ValueError, match="below 1"):
        tracker.check_limit(tracker.parse(WORLD), scaled=True, path=2.0)


# --- the fast chain


def two_points(alpha: float, epsilon: float) -> tracker.Scenario:
    def mode(name: str, place: float) -> dict[str, Any]:
        noise = [[0.01]]
        return {"name": name, "cost": "quadratic", "minimum": [place], "curvature": [[2.0]], "gradient_noise": noise}

    return tracker.parse(
        {
            "name": "fast",
            "trials": 10,
            "steps": 100,
            "start": [0.0],
            "chain": {"alpha": alpha, "Q": [[-0.5, 0.5], [0.5, -0.5]]},
            "modes": [mode("left", -3.0), mode("right", 3.0)],
            "samplers": [{"name": "plain", "kind": "langevin", "epsilon": epsilon, "beta": "inf"}],
        }
    )


def test_the_variance_of_a_fast_chain_has_its_closed_form() -> None:
    """h d^2 / (2 q) with h = 2, d = 3, q = 1/2, after a long time; the algorithm gets there."""
    found = limits.fast_chain_error(two_points(1e-2, 1e-4), "plain", [0.0, 10.0]).second[:, 0, 0]
    np.testing.assert_allclose(found, [0.0, 18.0], rtol=1e-9)
    errors = [
        float(limits.fast_chain_error(two_points(e**0.5, e), "plain", round(10 / e), of="algorithm").second[0, 0])
        - 18.0
        for e in (1e-4, 1e-4 / 16)
    ]
    assert abs(errors[1] / errors[0]) == pytest.approx(0.25, abs=0.02)


def test_the_fast_chain_is_confirmed_at_its_own_scale_and_not_at_another(monkeypatch: pytest.MonkeyPatch) -> None:
    ladder = {"epsilons": [2.0**-10, 2.0**-12, 2.0**-14], "horizon": 1.0, "path": 0.5, **COARSE}
    found = tracker.check_limit(two_points(1e-2, 1e-4), **ladder)
    assert (found.limit_verdict, found.implementation_verdict) == ("confirmed", "confirmed")
    right = limits.fast_chain_error

    def planted(scenario: Any, name: str, times: Any, of: str = "limit") -> Any:
        law = right(scenario, name, times, of=of)
        return replace(law, second=2.0 * law.second) if of == "limit" else law

    monkeypatch.setattr(limits, "fast_chain_error", planted, raising=False)
    assert tracker.check_limit(two_points(1e-2, 1e-4), **ladder).limit_verdict == "rejected"
