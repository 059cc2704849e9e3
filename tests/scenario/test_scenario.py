"""Scenarios: what is read, changed, hashed, built, foreseen and warned of."""

from __future__ import annotations

import hashlib
import math
import tomllib
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from worlds import SCENARIOS, shipped

from tracker import skew
from tracker.costs.base import gradient, value
from tracker.costs.minimise.descent import expected_hessian
from tracker.runs.forecast import ResourceLimits, array_bytes, predicted_cost, refusals
from tracker.scenario import (
    Mode,
    Scenario,
    ScenarioError,
    build_modes,
    initial_law,
    load,
    parse,
    regime,
    regimes,
    skew_matrix,
    stability_limits,
    warnings,
    with_settings,
)
from tracker.scenario.step_warnings import least_limit
from tracker.scenario.toml_text import to_toml

FILES = sorted(SCENARIOS.glob("*.toml"))
IDENTITY = 1e-12

TEXT = """\
name = "two-bowls"
trials = 3
steps = 5000
start = [0.5, 0]

[chain]
alpha = 0.1
Q = [[-1, 1], [0.5, -0.5]]

[[modes]]
name = "one"
cost = "quadratic"
minimum = [1, -1]
curvature = [[2.0, 0.3], [0.3, 1.0]]
gradient_noise = 0.5

[[modes]]
name = "two"
cost = "quadratic"
minimum = [-1.0, 0.5]
curvature = [[1.0, -0.2], [-0.2, 1.5]]

[[samplers]]
name = "classical"
kind = "langevin"
epsilon = 0.01
beta = "inf"

[[samplers]]
name = "adaptive"
kind = "hessian"
epsilon = 0.01
skew = 0.7
skew_step = 1e-3
skew_bounds = [-0.5, 0.5]
"""


@pytest.fixture
def scenario() -> Scenario:
    return parse(TEXT)


def one_mode(text: str = TEXT) -> str:
    """Return the text without its chain and its second mode."""
    head, rest = text.split("[chain]")
    first = rest.index("[[modes]]")
    second = rest.index("[[modes]]", first + 1)
    return head + rest[first:second] + rest[rest.index("[[samplers]]") :]


# --- reading


def test_integers_are_floats_and_defaults_are_filled_in(scenario: Scenario) -> None:
    assert scenario.start == (0.5, 0.0)
    assert isinstance(scenario.start[1], float)
    assert (scenario.seed, scenario.burn_in, scenario.description) == (0, 0, "")
    assert scenario.record_every == 10
    assert scenario.dimension == 2
    assert scenario.samplers[0].beta == math.inf
    assert scenario.chain is not None
    assert scenario.chain.initial == "stationary"


def test_a_scenario_is_frozen(scenario: Scenario) -> None:
    with pytest.raises(ValueError, match="frozen"):
        scenario.trials = 4  # type: ignore[misc]


def test_one_mode_needs_neither_chain_nor_schedule() -> None:
    single = parse(one_mode())
    assert (single.chain, single.schedule) == (None, None)
    assert initial_law(single).tolist() == [1.0]
    assert math.isnan(build_modes(single)[0].radius2)
    assert regimes(single) == []


def test_optimal_skew_is_for_one_quadratic_mode() -> None:
    single = parse(one_mode().replace("skew = 0.7", 'skew = "optimal"'))
    S = skew_matrix(single.samplers[1], single)
    np.testing.assert_array_equal(S, skew.optimal([[2.0, 0.3], [0.3, 1.0]]))


def test_a_gaussian_start() -> None:
    random = parse(TEXT.replace("start = [0.5, 0]", "start = { mean = [0.5, 0], covariance = [[4, 2], [2, 1]] }"))
    assert random.dimension == 2
    F = random.start_factor
    np.testing.assert_allclose(F @ F.T, [[4, 2], [2, 1]], rtol=IDENTITY)
    assert parse(TEXT).start_factor.shape == (2, 0)


@pytest.mark.parametrize("covariance", ["[[1, 0], [0, -1]]", "[[1, 2], [3, 4]]", "[[1]]"])
def test_a_start_whose_covariance_is_none(covariance: str) -> None:
    with pytest.raises(ScenarioError, match=r"^start\.covariance: "):
        parse(TEXT.replace("start = [0.5, 0]", f"start = {{ mean = [0.5, 0], covariance = {covariance} }}"))


def test_a_schedule_in_place_of_the_chain() -> None:
    head, rest = TEXT.split("[chain]")
    schedule = '[schedule]\nswitches = [[0, "two"], [100, "one"]]\n'
    text = head + schedule + rest[rest.index("[[modes]]") :]
    assert initial_law(parse(text)).tolist() == [0.0, 1.0]
    for wrong, says in [
        ('[[1, "two"]]', "switches[0][0]: 1 must be 0"),
        ('[[0, "two"], [0, "one"]]', "switches[1][0]: 0 must be greater than 0"),
        ('[[0, "three"]]', 'switches[0][1]: "three" is an unknown mode'),
        ("[]", "switches: [] must have at least 1 entry"),
    ]:
        with pytest.raises(ScenarioError) as found:
            parse(text.replace('[[0, "two"], [100, "one"]]', wrong))
        assert found.value.problems[0].startswith(f"schedule.{says}")


def test_parts_that_are_valid_are_checked_even_beside_parts_that_are_not() -> None:
    bad = TEXT.replace("trials = 3", "trials = 0").replace("[0.5, 0]", "[0.5, 0, 0]").replace("minimum = [1, -1]", "")
    with pytest.raises(ScenarioError) as found:
        parse(bad)
    assert found.value.problems == [
        "trials: 0 must be at least 1",
        'modes[0] "one": minimum: missing: the minimiser of the cost',
        'modes[1] "two": theta has dimension 2, but start has 3',
        'samplers[1] "adaptive": skew: a number (0.7) is for dimension 2, but start has 3: give a matrix',
    ]


def test_an_unnamed_table_is_addressed_by_its_index() -> None:
    with pytest.raises(ScenarioError) as found:
        parse(TEXT.replace('name = "one"\n', "").replace("[[2.0, 0.3]", "[[2.0, 0.4]"))
    assert found.value.problems[0].startswith("modes[0].name: missing")
    with pytest.raises(ScenarioError, match=r'^modes\[0\]\.name: "a/b" must be 1 to 64'):
        parse(TEXT.replace('name = "one"', 'name = "a/b"'))


# --- changing, hashing, writing


def test_the_hash_of_a_file_is_that_of_its_text(scenario: Scenario) -> None:
    assert scenario.source == TEXT
    assert scenario.sha256 == hashlib.sha256(TEXT.encode()).hexdigest()
    assert parse(TEXT + "# a comment\n").sha256 != scenario.sha256


def test_replace_checks_again_and_has_a_hash_of_its_content(scenario: Scenario) -> None:
    changed = scenario.replace(steps=50_000)
    assert (changed.steps, changed.record_every, scenario.steps) == (50_000, 100, 5000)
    assert changed.source is None
    assert changed.sha256 not in (scenario.sha256, scenario.replace(steps=50_001).sha256)
    assert changed.sha256 == scenario.replace(steps=1).replace(steps=50_000).sha256
    with pytest.raises(ScenarioError, match="steps: -1 must be at least 1"):
        scenario.replace(steps=-1)
    with pytest.raises(ScenarioError, match="stepz: unknown key, with 1; did you mean steps"):
        scenario.replace(stepz=1)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_changed_scenario_can_be_written_and_read_again(path: Path) -> None:
    original = load(path)
    assert original.toml() == path.read_text()
    changed = original.replace(description='quotes " and \\ and \x7f and \U0001f40e')
    again = parse(changed.toml(), folder=path.parent)
    assert again.content() == changed.content()
    assert again.replace(seed=changed.seed).sha256 == changed.sha256


@given(st.dictionaries(st.text(st.characters(exclude_categories=["Cs"]), max_size=5), st.text(max_size=5), max_size=3))
def test_any_text_can_be_written(table: dict[str, str]) -> None:
    clean = {key: entry.encode("utf-8", "replace").decode() for key, entry in table.items()}
    assert tomllib.loads(to_toml({"top": 1, "table": clean})) == {"top": 1, "table": clean}


def test_settings_take_the_addresses_of_a_sweep(scenario: Scenario) -> None:
    settings = [
        "chain.alpha=1e-4",
        "samplers.*.epsilon = 1e-3",
        "samplers.*.skew_step=0.5",  # only the one that has it
        "modes.two.minimum=[0, 1]",
        "modes.one.target.radius=0.25",
        "burn_in=7",
        "chain.initial='two'",
    ]
    changed = with_settings(scenario, settings)
    assert changed.chain is not None
    assert (changed.chain.alpha, changed.chain.initial, changed.burn_in) == (1e-4, "two", 7)
    assert [s.epsilon for s in changed.samplers] == [1e-3, 1e-3]
    content = changed.content()
    assert content["samplers"][1]["skew_step"] == 0.5
    assert content["samplers"][0]["beta"] == "inf"
    assert content["modes"][1]["minimum"] == [0.0, 1.0]
    assert content["modes"][0]["target"] == {"radius": 0.25}
    assert parse(TEXT, settings=settings).content() == content


@pytest.mark.parametrize(
    ("setting", "says"),
    [
        ("samplers.clasical.epsilon=1", "did you mean samplers.classical.epsilon?"),
        ("samplers.classical.skew=1", "unknown address"),
        ("modes.one=1", "unknown address"),
        ("steps=1\nname='x'", "is not a TOML value"),
        (f"start={'[' * 20_000}", "is not a TOML value"),
        ("chain.alpha=-1", "chain.alpha: -1 must be greater than 0"),
    ],
)
def test_settings_that_are_wrong(scenario: Scenario, setting: str, says: str) -> None:
    with pytest.raises(ScenarioError) as found:
        with_settings(scenario, [setting])
    assert says in found.value.problems[0]


def test_a_sweep_is_checked_value_by_value(scenario: Scenario) -> None:
    swept = scenario.replace(sweep={"chain.alpha": [0.1, 0.2], "modes.one.minimum": [[0, 0], [1, 1]]})
    assert set(swept.sweep) == {"chain.alpha", "modes.one.minimum"}
    with pytest.raises(ScenarioError) as found:
        scenario.replace(sweep={"modes.one.minimum": [[0, 0], [1]], "modes.oen.minimum": [1], "chain.alpha": []})
    assert found.value.problems == ['sweep."chain.alpha": [] must have at least 1 entry']
    with pytest.raises(ScenarioError) as found:
        scenario.replace(sweep={"modes.one.minimum": [[0, 0], [1]], "modes.oen.minimum": [1]})
    assert found.value.problems == [
        'sweep."modes.one.minimum"[1]: modes[0] "one": curvature: 2 x 2, but minimum has 1 coordinates',
        'sweep."modes.oen.minimum": unknown address; did you mean modes.one.minimum?',
    ]
    with pytest.raises(ScenarioError, match="1000000 cases are too many"):
        scenario.replace(sweep={"seed": list(range(1000)), "trials": list(range(1, 1001))})


# --- from Python: a dict in place of the text, and the addresses of --set


def test_a_dict_says_what_the_text_says(scenario: Scenario) -> None:
    for path in FILES:
        text = path.read_text()
        said = parse(tomllib.loads(text), folder=SCENARIOS)
        read = parse(text, folder=SCENARIOS)
        assert said.content() == read.content()
        assert said.sha256 == read.replace().sha256  # the same content, not the same text
        assert said.source is None
    assert parse(scenario.content(), settings=["trials=3"]).trials == 3


def test_a_dict_is_refused_in_the_words_of_the_text(scenario: Scenario) -> None:
    wrong = {**scenario.content(), "trails": 5, "steps": 5e3}
    with pytest.raises(ScenarioError) as of_text:
        parse(to_toml(wrong))
    with pytest.raises(ScenarioError) as of_dict:
        parse(wrong)
    assert of_dict.value.problems == of_text.value.problems
    assert any("did you mean trials?" in problem for problem in of_dict.value.problems)
    with pytest.raises(ScenarioError, match=r"scenario: 7 must be TOML text or a dict"):
        parse(7)  # type: ignore[arg-type]
    with pytest.raises(ScenarioError, match="scenario: 7 must be text: it stands for a key"):
        parse({7: 1})  # type: ignore[dict-item]


def test_a_dict_may_hold_costs_of_ones_own(scenario: Scenario) -> None:
    bowls = [Bowl(np.array([1.0, 0.0])), Bowl(np.array([-1.0, 0.0]))]
    content = {**scenario.content(), "modes": bowls, "samplers": scenario.content()["samplers"][:1]}
    assert parse(content).sha256 == scenario.replace(modes=bowls, samplers=scenario.samplers[:1]).sha256


def test_set_has_the_addresses_of_the_command_line(scenario: Scenario) -> None:
    for address, value_, text in [
        ("samplers.*.epsilon", 0.02, "0.02"),
        ("modes.one.minimum", np.array([3.0, 4.0]), "[3.0, 4.0]"),
        ("chain.alpha", 2e-3, "2e-3"),
        ("seed", 99, "99"),
    ]:
        changed = scenario.set(address, value_)
        assert changed.content() == with_settings(scenario, [f"{address}={text}"]).content()
        assert changed.sha256 != scenario.replace().sha256  # control: something changed
    with pytest.raises(ScenarioError, match=r"unknown address; did you mean samplers\.\*\.epsilon\?"):
        scenario.set("samplers.*.epsilom", 0.01)
    with pytest.raises(ScenarioError, match="epsilon: -1 must be greater than 0"):
        scenario.set("samplers.*.epsilon", -1)


# --- a cost of one's own


class Bowl(NamedTuple):
    """C = |theta - centre|^2 / 2."""

    centre: np.ndarray[Any, Any]


class NoCost(NamedTuple):
    """Nothing is registered for it."""

    x: float


@value.register(Bowl)
def _bowl(cost: Bowl, theta: Any, z: Any) -> float:
    return 0.5 * float(((theta - cost.centre) ** 2).sum())


@gradient.register(Bowl)
def _bowl_gradient(cost: Bowl, theta: Any, z: Any, out: Any) -> None:
    out[:] = theta - cost.centre


def test_a_cost_of_ones_own_is_a_mode_like_any_other(scenario: Scenario) -> None:
    bowls = [Bowl(np.array([1.0, 0.0])), Bowl(np.array([-1.0, 0.0]))]
    own = scenario.replace(modes=bowls, samplers=scenario.samplers[:1])
    assert [mode.name for mode in own.modes] == ["Bowl-1", "Bowl-2"]
    assert [mode.dimension for mode in own.modes] == [2, 2]
    assert type(own.modes[0].build()) is type(bowls[0])
    np.testing.assert_array_equal(own.modes[0].build().centre, bowls[0].centre)
    other = own.replace(modes=[Bowl(np.array([2.0, 0.0])), bowls[1]])
    assert own.sha256 != other.sha256
    assert own.replace(seed=own.seed).sha256 == own.replace(seed=own.seed).sha256
    with pytest.raises(ScenarioError, match="unknown family"):
        parse(own.toml())


def test_a_cost_of_ones_own_must_have_what_samplers_ask_for(scenario: Scenario) -> None:
    with pytest.raises(ScenarioError, match="NoCost: value and gradient must be registered"):
        scenario.replace(modes=[NoCost(1.0), *scenario.modes[1:]])
    with pytest.raises(ScenarioError, match=r'modes\[0\] "Bowl": has no hessian, which sampler adaptive needs'):
        scenario.replace(modes=[Bowl(np.zeros(2)), scenario.modes[1]])


# --- building


def test_modes_are_plain_arrays_and_floats(scenario: Scenario) -> None:
    modes = build_modes(scenario)
    for mode, minimum in zip(modes, ([1.0, -1.0], [-1.0, 0.5]), strict=True):
        assert isinstance(mode, Mode)
        np.testing.assert_array_equal(mode.minimisers, [minimum])
        np.testing.assert_array_equal(mode.targets, [minimum])
        assert type(mode.radius2) is float
        assert type(mode.floor) is float
        assert mode.floor == 0.0
        assert mode.radius2 == pytest.approx((math.hypot(2, 1.5) / 4) ** 2, rel=IDENTITY)
        for array in (mode.minimisers, mode.targets):
            assert array.dtype == np.float64
            assert array.flags["C_CONTIGUOUS"]


def test_modes_that_share_a_minimiser_have_no_default_radius(scenario: Scenario) -> None:
    same = with_settings(scenario, ["modes.two.minimum=[1, -1]"])
    assert all(math.isnan(mode.radius2) for mode in build_modes(same))
    given_one = with_settings(same, ["modes.one.target={radius=0.5}"])
    assert build_modes(given_one)[0].radius2 == 0.25


def test_the_twins_of_a_mixture_are_targets_too() -> None:
    mode = build_modes(shipped("example_1"))[0]
    assert mode.targets.shape == (2 * len(mode.minimisers), 2)
    p, q = mode.targets[0]
    np.testing.assert_array_equal(mode.targets[1], [q, p])


def test_the_initial_law(scenario: Scenario) -> None:
    np.testing.assert_allclose(initial_law(scenario), [1 / 3, 2 / 3], rtol=IDENTITY)
    assert initial_law(with_settings(scenario, ["chain.initial='two'"])).tolist() == [0.0, 1.0]
    assert initial_law(with_settings(scenario, ["chain.initial=[0.25, 0.75]"])).tolist() == [0.25, 0.75]


def test_skew_matrices(scenario: Scenario) -> None:
    assert skew_matrix(scenario.samplers[0], scenario) is not None
    np.testing.assert_array_equal(skew_matrix(scenario.samplers[1], scenario), [[0, -0.7], [0.7, 0]])
    random = with_settings(scenario, ["samplers.adaptive.skew='random'"])
    assert skew_matrix(random.samplers[1], random) is None
    matrix = with_settings(scenario, ["samplers.adaptive.skew=[[0, 2], [-2, 0]]"])
    np.testing.assert_array_equal(skew_matrix(matrix.samplers[1], matrix), [[0, 2], [-2, 0]])


# --- foreseeing


@pytest.mark.parametrize(
    ("ratio", "name"), [(0.0999, "slow"), (0.1, "matched"), (10.0, "matched"), (10.1, "fast"), (3e-4 / 3e-3, "matched")]
)
def test_regimes(ratio: float, name: str) -> None:
    assert regime(ratio) == name


def test_stability_is_judged_with_the_clipped_first_skew(scenario: Scenario) -> None:
    H = np.array([[2.0, 0.3], [0.3, 1.0]])
    limits = {(s.sampler, s.mode): s for s in stability_limits(scenario)}
    assert limits["classical", "one"].limit == pytest.approx(skew.stability_limit(H, np.zeros((2, 2))), rel=IDENTITY)
    clipped = np.array([[0.0, -0.5], [0.5, 0.0]])
    assert limits["adaptive", "one"].limit == pytest.approx(skew.stability_limit(H, clipped), rel=IDENTITY)


def test_the_tightest_minimiser_of_a_mode_tells_its_limit() -> None:
    """Without S a step is stable below 2 over the largest curvature: that of the first minimum, of the second, of both."""
    wide, tight, still = np.diag([1.0, 4.0]), np.diag([8.0, 2.0]), np.zeros((2, 2))
    for nearby, limit in (([wide], 0.5), ([wide, tight], 0.25), ([tight, wide], 0.25)):
        assert least_limit(nearby, still) == pytest.approx(limit, rel=1e-12)
    assert np.isnan(least_limit([], still))


def test_warnings_state_the_limit(scenario: Scenario) -> None:
    assert warnings(scenario) == []
    limit = stability_limits(scenario)[0].limit
    found = warnings(with_settings(scenario, [f"samplers.classical.epsilon={limit * 1.01}"]))
    assert len(found) == 1
    assert f"the limit is {limit:.6g}" in found[0]
    assert warnings(with_settings(scenario, [f"samplers.classical.epsilon={limit * 0.99}"])) == []


def test_stability_counts_observations_one_by_one() -> None:
    """Logistic regression: a row at a time is stable up to a 27th of the step that its mean would allow.

    Independent: E[theta theta'] of theta <- (I - epsilon h_z) theta over the rows, moved by a dense N^2 x N^2 matrix.
    """
    scenario = shipped("logistic_stream")
    modes = build_modes(scenario)
    mode, keys = modes[0], scenario.modes[0]
    limit = stability_limits(scenario, modes)[0].limit
    x, y, theta = mode.cost.rows, mode.cost.labels, mode.minimisers[0]
    share = 1.0 / (1.0 + np.exp(-y * (x @ theta)))
    hessians = keys.horizon * (share * (1.0 - share))[:, None, None] * x[:, :, None] * x[:, None, :]
    hessians = hessians + np.eye(theta.size) / keys.prior_variance
    steps = np.eye(theta.size) - limit * hessians
    radius = np.abs(np.linalg.eigvals(np.mean([np.kron(B, B) for B in steps], axis=0))).max()
    assert radius == pytest.approx(1.0, abs=1e-6)
    assert limit < skew.stability_limit(hessians.mean(axis=0), np.zeros_like(hessians[0])) / 20


def test_a_reducible_chain_is_a_warning(scenario: Scenario) -> None:
    absorbed = with_settings(scenario, ["chain.Q=[[-1, 1], [0, 0]]"])
    assert warnings(absorbed)[0].startswith("chain.Q: reducible")
    assert initial_law(absorbed).tolist() == [0.0, 1.0]
    apart = ["chain.Q=[[0, 0], [0, 0]]", "chain.initial='one'"]
    assert len(warnings(with_settings(scenario, apart))) == 1


def test_the_numerical_hessian_is_that_of_the_cost(scenario: Scenario) -> None:
    mode = build_modes(scenario)[0]
    H = expected_hessian(mode.cost, mode.minimisers[0], np.ones(scenario.dimension))
    np.testing.assert_allclose(H, [[2.0, 0.3], [0.3, 1.0]], atol=1e-9)


def test_cost_grows_with_what_is_asked(scenario: Scenario) -> None:
    cost = predicted_cost(scenario)
    assert cost.steps == 3 * 5000 * 2
    more = predicted_cost(scenario.replace(trials=30))
    assert array_bytes(scenario.replace(trials=30)).held == 10 * array_bytes(scenario).held
    assert more.memory > cost.memory > array_bytes(scenario).held
    assert more.disk > cost.disk > 0
    assert more.disk_running > cost.disk_running > array_bytes(scenario).held
    assert more.seconds > cost.seconds > 0


def test_limits_refuse_and_can_be_raised(scenario: Scenario) -> None:
    assert refusals(scenario) == []
    large = scenario.replace(trials=10**8, record_every=5000)
    assert refusals(large)[0].startswith("steps: 100000000 trials x 5000 steps x 2 samplers = 1e+12 is more than 1e+11")
    assert refusals(large, ResourceLimits(max_steps=1e13, max_memory=1e14, max_disk=1e14)) == []


def test_a_target_far_smaller_than_what_temperature_does_is_warned_of() -> None:
    """N = 10, H = I, beta = 2: sqrt(tr(H^-1) / beta) = sqrt 5 = 2.24 away, and the default radius is a quarter of 4."""
    bowls = [
        {"name": name, "cost": "quadratic", "minimum": [x, *[0.0] * 9], "curvature": np.eye(10).tolist()}
        for name, x in (("left", -2.0), ("right", 2.0))
    ]
    base = load(FILES[0].with_name("example_a.toml"))
    sampler = {"name": "plain", "kind": "langevin", "epsilon": 0.01, "beta": 2.0}
    warm = base.replace(modes=bowls, samplers=[sampler], start=[0.0] * 10, chain={"alpha": 0.1, "Q": base.chain.Q})
    found = warnings(warm, build_modes(warm))
    assert len(found) == 1
    assert found[0].startswith(
        "ignore waits for the target and time inside it: the sampler is too warm to stay within it"
    )
    assert 'modes "left": target.radius = 1; temperature alone keeps "plain" 2.24 away' in found[0]
    cold = warm.replace(samplers=[{**sampler, "beta": 4.0}])
    assert warnings(cold, build_modes(cold)) == []


def test_records_that_always_meet_the_same_data_are_warned_of() -> None:
    base = load(FILES[0].with_name("example_1.toml"))
    found = warnings(base.replace(record_every=200))
    assert len(found) == 1
    assert "record_every: 200 meets 1 of the 100 observations" in found[0]
    assert found[0].endswith("201 meets all")
    assert warnings(base.replace(record_every=202)) == []  # half of them


def test_a_valley_of_minimisers_is_warned_of() -> None:
    """The distance to 66 points on a line is not the distance to the line."""
    table = {"name": "one", "cost": "polynomial", "variables": ["a", "b"], "formula": "(a - b)^2"}
    valley = load(FILES[0].with_name("example_d.toml")).replace(modes=[table], chain=None)
    assert "not isolated points" in warnings(valley, build_modes(valley))[0]
    bowl = valley.replace(modes=[{**table, "formula": "(a - b)^2 + b^2"}])
    assert warnings(bowl, build_modes(bowl)) == []
