"""What Algorithms 1-3 learn: the exact numbers again, a short run that learns and its twin that does not, and the committed page."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from worlds import ROOT

import tracker
from studies import learned_skew, markdown
from tracker import limits

GALLERY = ROOT / "reports" / "gallery"


@pytest.fixture(scope="module")
def numbers() -> dict[str, Any]:
    return json.loads((GALLERY / "learned_skew.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("regime", learned_skew.REGIMES)
def test_exact_numbers_of_the_table(numbers: dict[str, Any], regime: str) -> None:
    """A scan of the exact error finds the same best S, on either side of 0."""
    found, world = numbers[regime], learned_skew.world(regime)
    errors = {
        s: float(limits.stationary(world.set("samplers.constant.skew", s), "constant").mean_square_error)
        for s in np.linspace(-4, 4, 81).round(6).tolist()
    }
    least = min(errors, key=lambda s: errors[s])
    assert abs(least) == pytest.approx(found["best"], abs=0.06)
    assert found["value"] <= errors[least] + 1e-12
    assert found["without"] == pytest.approx(errors[0.0], rel=1e-12)


def test_in_short_algorithm_1_goes_to_the_best_s_and_its_twin_does_not() -> None:
    pair = learned_skew.learners()[:2]
    run = tracker.run(
        learned_skew.world("matched", *pair).replace(trials=20, steps=12_000, burn_in=0, record_every=12_000)
    )
    best = abs(float(limits.best_skew(learned_skew.world("matched"), "constant").skew[1, 0]))
    found = {"best": best, "ends": {keys["name"]: run.arrays["skew"][:, k, -1, 0] for k, keys in enumerate(pair)}}
    assert learned_skew.learned(found, 0) == "yes"
    assert learned_skew.away(found, "a0-twin").mean() > best - learned_skew.START


def test_what_counts_as_learned() -> None:
    rng = np.random.default_rng(1)
    near, start, far = (x + 0.1 * rng.standard_normal(20) for x in (-2.0, 0.5, 4.0))
    judge = learned_skew.learned
    assert judge({"best": 2.0, "ends": {"a0": near, "a0-twin": start}}, 0) == "yes"
    assert judge({"best": 2.0, "ends": {"a0": near, "a0-twin": near[::-1]}}, 0) == "no"
    assert judge({"best": 2.0, "ends": {"a0": start, "a0-twin": far}}, 0) == "no"
    assert judge({"best": 2.0, "ends": {"a0": far, "a0-twin": start}}, 0) == "no: it leaves the best S"


def test_the_committed_page_says_what_the_numbers_say(numbers: dict[str, Any]) -> None:
    text = markdown.render(learned_skew.TITLE, learned_skew.SUBTITLE, learned_skew.sections(numbers), None, "")
    assert (GALLERY / "learned_skew.md").read_text(encoding="utf-8") == text
    told = {regime: [learned_skew.learned(found, n) for n in range(4)] for regime, found in numbers.items()}
    assert told["matched"][0] == "yes"  # Algorithm 1
    assert told["slow"] != ["yes"] * 4
    assert numbers["fast"]["best"] == 0.0
