"""The trial player: what it weighs at its largest, that its numbers are the records, and that a keyboard can operate it."""

from __future__ import annotations

import base64
import json
import re

import numpy as np
import pytest
from interpreting import interpreted
from worlds import plane

from tracker.reports.run_page import report
from tracker.reports.run_view import View
from tracker.reports.trial_player import LARGEST, MOST_RECORDS, MOST_SAMPLERS, MOST_TRIALS, player_of, script

MOST_A_TRIAL, MOST_OF_SCRIPT = 25_000, 8_000  # characters
MANY = [{"name": f"s{n}", "kind": "langevin", "epsilon": 0.01 * (n + 1), "beta": 2.0} for n in range(MOST_SAMPLERS + 1)]


@pytest.fixture(scope="module")
def large() -> View:
    """More samplers, trials and records than a player takes."""
    return View(interpreted(plane(samplers=MANY, trials=7, steps=MOST_RECORDS - 1, record_every=1)))


def test_the_largest_player_is_within_its_bounds(large: View) -> None:
    """8 samplers over 501 records in 5 trials at most, 25 kB a trial, and 8 kB of script."""
    player = player_of(large)
    assert player is not None
    data = json.loads(player.data)
    assert data["records"] == MOST_RECORDS == 501
    assert len(data["samplers"]) == MOST_SAMPLERS == 8
    assert 3 <= len(data["trials"]) == len(player.trials) <= MOST_TRIALS == 5
    assert {len(trial["paths"]) for trial in data["trials"]} == {8}
    assert len(player.data) <= MOST_A_TRIAL * len(data["trials"])
    assert len(script().encode()) <= MOST_OF_SCRIPT
    full = len(player.data) / len(data["trials"])
    assert full > 0.8 * MOST_A_TRIAL  # control: it is near the bound, so one sampler more would not do


def test_a_longer_run_is_thinned_and_its_numbers_are_the_records(large: View) -> None:
    longer = View(interpreted(plane(trials=3, steps=2 * MOST_RECORDS, record_every=1)))
    for view, every in ((large, 1), (longer, 3)):
        player = player_of(view)
        assert player is not None
        data = json.loads(player.data)
        assert data["every"] == every
        assert data["records"] <= MOST_RECORDS
        for label, trial in zip(player.trials, data["trials"], strict=True):
            number = int(re.findall(r"^trial (\d+) \(", label)[0])
            for name, packed in zip(view.samplers, trial["paths"], strict=False):
                found = np.frombuffer(base64.b64decode(packed), "<u2").reshape(-1, 2) / LARGEST
                low, high = view.plane.limits.T
                places = view.plane.places(view.arrays["theta"][number, view.index(name), ::every])
                exact = np.clip((places - low) / (high - low), 0.0, 1.0)
                np.testing.assert_allclose(found, exact, atol=0.51 / LARGEST)  # rounded to 16 bit


def test_a_keyboard_can_operate_it(large: View) -> None:
    """Its controls are the browser's own, each with a name; nothing of it is seen until its script runs."""
    page = report(large.run)
    block = re.search(r'<article class="player" id="player" hidden>(.*?)</article>', page, re.DOTALL)
    assert block is not None
    assert '<button type="button" data-play>Play</button>' in block[1]
    assert re.search(r"<label>trial <select data-trial>", block[1])
    assert re.search(
        r'<label class="time">step <input type="range" data-time min="0" value="0" step="1"></label>', block[1]
    )
    assert "tabindex" not in block[1]  # in the order of the page
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page)
    assert policy is not None
    allowed = dict(one.strip().split(" ", 1) for one in policy[1].split(";"))
    assert allowed["default-src"] == "'none'"
    assert re.fullmatch(r"'sha256-[A-Za-z0-9+/=]+'", allowed["script-src"])
