"""The claims of a scenario: what a file may say, how they are judged, and where the page shows it."""

from __future__ import annotations

import numpy as np
import pytest
from interpreting import interpreted
from worlds import SCENARIOS, bowls

import tracker
from tracker.metrics.averages import FEWEST_TRIALS
from tracker.metrics.table import METRICS
from tracker.reports import run_page
from tracker.reports.what_was_asked import asked_at_points, head_of_page
from tracker.scenario import ScenarioError

CLAIM = "the <b>small</b> step tracks better"
NEARER = {
    "text": "the <i>large</i> step is nearer",
    "left": "tracking_error.quick",
    "relation": "<",
    "right": "tracking_error.slow",
}


def claiming(*claims: dict[str, object], **changes: object) -> tracker.Scenario:
    return bowls(claims=[{**NEARER, **claim} for claim in claims], **changes)


def test_the_claim_is_on_the_page_and_changes_no_result() -> None:
    bare, claimed = interpreted(bowls()), interpreted(bowls().replace(claim=CLAIM, description="Two bowls."))
    assert bare.summary["hash"] == claimed.summary["hash"]
    assert bare.summary["scenario"]["sha256"] != claimed.summary["scenario"]["sha256"]
    top = run_page.report(claimed).partition("</header>")[0]
    assert "the &lt;b&gt;small&lt;/b&gt; step tracks better" in top
    assert "<b>small" not in top
    assert "Two bowls." in top
    assert 'class="claim"' not in run_page.report(bare).partition("</header>")[0]


def test_claims_are_judged_by_the_interval_and_stand_in_the_order_of_the_file() -> None:
    """Against the interval recomputed from the trials: Student's on the logarithm of the ratio of means (delta method)."""
    from scipy.stats import t

    run = interpreted(
        claiming(
            {},
            {"relation": ">"},
            {"right": 1e-3},
            {"right": 1e-3, "relation": ">"},
            {"left": 5.0, "relation": ">", "right": "tracking_error.quick"},
            {"left": "tracking_error.slow", "right": "tracking_error.slow"},
            trials=8,
            steps=400,
        )
    )
    claims = run.summary["claims"]
    assert [c["outcome"] for c in claims] == [
        "holds", "does not hold", "does not hold", "holds", "holds", "not told",
    ]  # fmt: skip
    assert [set(c) for c in claims] == [{"text", "outcome", "estimate", "low", "high"}] * 6
    sums = run.arrays["by_mode"].sum(axis=2)
    steps, error = (sums[..., run.measured.columns.index(name)] for name in ("steps", "error"))
    slow, quick = (error / steps)[:, 0], (error / steps)[:, 1]
    values = np.log(quick.mean() / slow.mean()) + quick / quick.mean() - slow / slow.mean()
    reach = t.ppf(0.975, 7) * values.std(ddof=1) / np.sqrt(8)
    expected = np.exp([values.mean(), values.mean() - reach, values.mean() + reach])
    np.testing.assert_allclose([claims[0][key] for key in ("estimate", "low", "high")], expected, rtol=1e-9)  # oracle
    np.testing.assert_allclose(claims[2]["estimate"], quick.mean(), rtol=1e-12)  # identity
    np.testing.assert_allclose(
        claims[2]["low"], quick.mean() - t.ppf(0.975, 7) * quick.std(ddof=1) / np.sqrt(8), rtol=1e-9
    )
    top = run_page.report(run).partition("</header>")[0]
    assert top.count('<span class="mark">holds</span>') == 3
    assert "the &lt;i&gt;large&lt;/i&gt; step is nearer" in top
    assert "tracking error, ratio 0." in top


def test_too_few_trials_a_diverged_side_and_nothing_to_measure_are_not_told() -> None:
    few = interpreted(claiming({}, trials=FEWEST_TRIALS - 1)).summary["claims"][0]
    assert few["outcome"] == "not told"
    assert few["estimate"] is not None
    assert few["low"] is few["high"] is None
    wild = bowls().samplers[1].model_copy(update={"epsilon": 50.0})
    lost = claiming({}, {"left": "recovery.frozen", "right": "recovery.slow"}, samplers=[bowls().samplers[0], wild])
    for claim in interpreted(lost).summary["claims"]:
        assert {**claim, "text": ""} == {"text": "", "outcome": "not told", "estimate": None, "low": None, "high": None}


@pytest.mark.parametrize(
    ("claim", "complaint"),
    [
        ({"left": "tracking_eror.quick"}, 'claims[0].left: "tracking_eror.quick" begins with an unknown quantity; did you mean tracking_error?'),
        ({"left": "tracking_error"}, 'claims[0].left: "tracking_error" must be QUANTITY.SAMPLER'),
        ({"left": "tracking_error.quik"}, 'claims[0].left: "tracking_error.quik" is about an unknown sampler; did you mean quick?'),
        ({"right": "recovery.slow"}, "claims[0].right: tracking_error and recovery are two quantities"),
        ({"left": 1, "right": 2}, "claims[0].left: two numbers claim nothing"),
        ({"relation": "="}, 'claims[0].relation: "=" must be'),
        ({"right": True}, "claims[0].right: true must be"),
        ({"txt": "x"}, 'claims[0].txt: unknown key, with "x"; did you mean text?'),
    ],
)  # fmt: skip
def test_a_wrong_claim_is_an_error_that_names_the_key(claim: dict[str, object], complaint: str) -> None:
    with pytest.raises(ScenarioError) as error:
        claiming(claim)
    assert any(line.startswith(complaint) for line in error.value.problems), error.value.problems


def test_claims_about_samplers_that_a_change_takes_away_go_with_them() -> None:
    asked = claiming({}, {"right": 1.0})
    assert [len(asked.claims), len(asked.replace(samplers=asked.samplers[1:]).claims)] == [2, 1]
    assert len(asked.set("samplers", asked.samplers[1:]).claims) == 1
    assert len(asked.replace(trials=7).claims) == 2
    with pytest.raises(ScenarioError):  # control: a claim that never had a sampler stays an error
        bowls(claims=[{**NEARER, "left": "tracking_error.nobody"}])


def test_shipped_scenarios_say_what_they_claim() -> None:
    files = sorted(SCENARIOS.glob("*.toml"))
    loaded = {path.stem: tracker.load(path) for path in files}
    assert all(len(s.claim) > 30 and len(s.description) > 30 for s in loaded.values())
    assert loaded["swapping_wells"].claim == (
        "Non-reversible samplers re-acquire the deeper well after a switch sooner than classical Langevin."
    )
    first, *_, last = loaded["swapping_wells"].claims
    assert (first.left, first.relation, first.right) == ("recovery.accelerated", "<", "recovery.classical")
    assert last.text.startswith("Fairer:")
    assert METRICS.keys() >= {str(c.left).partition(".")[0] for s in loaded.values() for c in s.claims}


def test_a_claim_that_nothing_judges_is_marked_so() -> None:
    alone = bowls(claim="It follows.")
    assert [(one.word, one.text) for one in head_of_page(alone, []).outcomes] == [
        ("not judged", "the scenario has no [[claims]]")
    ]
    assert [one.word for one in asked_at_points(alone, [[], []]).outcomes] == ["not judged"]
    judged = claiming({}, claim="It follows.")
    (outcome,) = head_of_page(judged, [{"outcome": "holds", "estimate": None, "low": None, "high": None}]).outcomes
    assert outcome.word == "holds"
    assert head_of_page(bowls(), []).outcomes == ()  # no claim, no mark
