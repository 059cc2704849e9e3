"""Costs and samplers of one's own, handed over in Python: by name, in lists, with targets; their keys are the tuple's fields."""

from __future__ import annotations

import pickle
import sys
import time
from pathlib import Path
from types import ModuleType
from typing import Any, Literal, NamedTuple

import numpy as np
import own_world
import pytest
from interpreting import interpreted
from own_world import Ripple, Sghmc, Tuned
from worlds import bowls

import tracker
from tracker import ScenarioError, limits
from tracker.costs.base import gradient, value
from tracker.reports.exhibits import state_paths
from tracker.reports.run_view import View
from tracker.samplers.langevin import LangevinKeys
from tracker.samplers.linear_step import linear_step
from tracker.scenario.overrides import split_address
from tracker.scenario.own_checks import check_at_start


@pytest.fixture
def base() -> tracker.Scenario:
    chain = {"alpha": 0.01, "Q": [[-1.0, 1.0], [1.0, -1.0]]}
    return tracker.load("scenarios/example_a.toml").replace(
        trials=2,
        steps=40,
        start=[0.0],
        chain=chain,
        modes={"left": Ripple(-2.0), "right": Ripple(2.0)},
        samplers={"mine": Sghmc(epsilon=1e-2, friction=2.0)},
    )


def problems(call: Any) -> list[str]:
    with pytest.raises(ScenarioError) as found:
        call()
    return found.value.problems


def test_a_dict_gives_the_names(base: tracker.Scenario) -> None:
    assert [mode.name for mode in base.modes] == ["left", "right"]
    assert [mode.cost for mode in base.modes] == ["Ripple", "Ripple"]
    assert [mode.build() for mode in base.modes] == [Ripple(-2.0), Ripple(2.0)]
    assert (base.samplers[0].name, base.samplers[0].kind) == ("mine", "Sghmc")
    assert base.samplers[0].build() == Sghmc(1e-2, 2.0, 1.0)
    assert base.modes[0].dimension == 1
    assert base.replace(start=[0.0, 0.0]).modes[0].dimension == 2  # it takes what the start says


def test_lists_tables_and_targets(base: tracker.Scenario) -> None:
    made = base.replace(
        modes=[
            {"name": "left", "cost": Ripple(-2.0), "target": {"radius": 0.35}},
            {"name": "right", "cost": "quadratic", "minimum": [1.0], "curvature": [[2.0]]},
        ],
        samplers=[Sghmc(1e-2, 2.0), Sghmc(2e-2, 2.0), {"name": "calm", "kind": "langevin", "epsilon": 0.01}],
    )
    assert made.modes[0].target is not None
    assert made.modes[0].target.radius == 0.35
    assert [sampler.name for sampler in made.samplers] == ["Sghmc-1", "Sghmc-2", "calm"]
    again = tracker.parse(
        {**base.content(), "modes": {"left": Ripple(-2.0), "right": Ripple(2.0)}, "samplers": base.samplers}
    )
    assert again.sha256 == base.replace(samplers=base.samplers).sha256
    mixed = base.replace(samplers={"own": Sghmc(0.01, 1.0), "classical": LangevinKeys(epsilon=0.1)})
    assert [(one.name, one.kind) for one in mixed.samplers] == [("own", "Sghmc"), ("classical", "langevin")]


def test_keys_made_in_python_need_no_name_and_those_of_a_file_do() -> None:
    assert LangevinKeys(epsilon=0.1).name == "langevin"
    text = "[[samplers]]\nkind = 'langevin'\nepsilon = 0.1\n"
    assert any("samplers[0].name: missing" in line for line in problems(lambda: tracker.parse(text)))


def test_numbers_are_what_the_fields_say(base: tracker.Scenario) -> None:
    """A whole number for a float would compile the kernels once more."""
    whole = base.replace(modes={"left": Ripple(-2), "right": Ripple(np.float32(2))})
    assert [type(mode.build().centre) for mode in whole.modes] == [float, float]
    assert whole.sha256 == base.replace(samplers=base.samplers).sha256


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"modes": {"left": Ripple, "right": Ripple(1.0)}}, "Ripple is a class: hand over Ripple(...)"),
        ({"modes": {"a b": Ripple(1.0)}}, '"a b" must be 1 to 64 letters, digits, _, - or .'),
        ({"modes": {"left": Ripple("x"), "right": Ripple(1.0)}}, 'modes[0] "left": centre: "x" must be a number'),
        ({"samplers": {"mine": Sghmc(-1.0, 2.0)}}, 'samplers[0] "mine": epsilon: -1.0 must be greater than 0'),
        ({"samplers": {"frozen": Sghmc(0.1, 2.0)}}, '"frozen" is reserved'),
        ({"samplers": {"mine": Ripple(1.0)}}, "samplers: Ripple: it must have a field epsilon"),
        ({"modes": {"left": Sghmc(0.1, 2.0)}}, "Sghmc: value and gradient must be registered for its type"),
        ({"samplers": {"mine": {"kind": Sghmc(0.1, 2.0), "fricton": 3.0}}}, "fricton: unknown key, with 3.0; did you mean friction?"),
        ({"modes": 3}, "modes: 3 must be a list of tables"),
    ],
)  # fmt: skip
def test_what_cannot_be_handed_over_is_told(base: tracker.Scenario, change: dict[str, Any], told: str) -> None:
    assert any(told in line for line in problems(lambda: base.replace(**change))), problems(
        lambda: base.replace(**change)
    )


def test_addresses_reach_the_fields_and_a_sweep_too(base: tracker.Scenario) -> None:
    assert base.set("modes.*.height", 0.1).modes[1].build() == Ripple(2.0, 0.1)
    assert base.set("modes.left.target.radius", 0.5).modes[0].target.radius == 0.5  # type: ignore[union-attr]
    assert base.set("samplers.mine.friction", 3).samplers[0].build() == Sghmc(1e-2, 3.0)
    swept = base.replace(sweep={"samplers.*.epsilon": [0.01, 0.02], "modes.right.centre": [2.0, 3.0]})
    assert len(swept.sweep) == 2
    assert problems(lambda: base.set("samplers.mine.fricton", 1.0)) == [
        "samplers.mine.fricton: unknown address; did you mean samplers.mine.friction?"
    ]


def test_names_may_have_dots_which_addresses_quote(base: tracker.Scenario) -> None:
    assert split_address('samplers."lms-0.01".epsilon') == ["samplers", "lms-0.01", "epsilon"]
    assert split_address("modes.left.target.radius") == ["modes", "left", "target", "radius"]
    named = base.replace(samplers={"lms-0.01": Sghmc(0.01, 2.0), "lms-0.02": LangevinKeys(epsilon=0.02)})
    assert named.set('samplers."lms-0.01".epsilon', 0.03).samplers[0].epsilon == 0.03
    changed = tracker.scenario.with_settings(named, ['samplers."lms-0.02".epsilon=0.5'])
    assert [one.epsilon for one in changed.samplers] == [0.01, 0.5]
    assert problems(lambda: named.set("samplers.lms-0.01.epsilon", 0.1)) == [
        'samplers.lms-0.01.epsilon: unknown address; did you mean samplers."lms-0.01".epsilon?'
    ]
    assert any("the first a letter" in line for line in problems(lambda: named.replace(name="a.b")))


def test_facts_are_asked_of_the_type_and_nothing_is_made_up(base: tracker.Scenario) -> None:
    mine, tuned = base.replace(samplers={"a": Sghmc(0.01, 2.0), "b": Tuned(0.01)}).samplers
    assert (mine.effective_step, tuned.effective_step) == (0.005, 0.01)
    step = mine.linear(0.01, np.zeros((1, 1)))
    assert step is not None
    kick = np.array([[0.01], [1.0]])
    same = linear_step(gain=kick, heat=4.0 * kick @ kick.T, drift=np.array([[0.0, 0.98], [0.0, -2.0]]))
    np.testing.assert_array_equal(step.gain, same.gain)
    np.testing.assert_array_equal(step.drift, same.drift)
    assert tuned.linear(0.01, np.zeros((1, 1))) is None
    assert (tuned.euler, tuned.tangent, tuned.skew_is) == (False, False, "none")


def test_an_own_sghmc_is_exact_and_drawn_from_a_script_a_file_and_a_package(tmp_path, monkeypatch):
    """Its moments and its path are those of ``kinetic``, which is the same step; control: another friction."""
    keys = {"name": "mine", "kind": "kinetic", "epsilon": 0.1, "friction": 2.0, "beta": 4.0}
    known = bowls(samplers=[keys], steps=60, trials=2, baselines=[])
    (tmp_path / "world.toml").write_text(known.toml().replace('"kinetic"', '"sghmc"'))
    source = Path(own_world.__file__).read_text()
    (tmp_path / "mine.py").write_text(source + 'samplers = {"sghmc": Sghmc}\n')
    info = tmp_path / "own_sghmc.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: own-sghmc\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[tracker.samplers]\nsghmc = own_world:Sghmc\n")
    monkeypatch.syspath_prepend(tmp_path)
    path, exact = interpreted(known).arrays["theta"], limits.stationary(known, "mine").second_by_mode
    for one in (
        known.replace(samplers={"mine": Sghmc(0.1, 2.0, 4.0)}),
        tracker.load(tmp_path / "world.toml", code=tmp_path / "mine.py"),
        tracker.load(tmp_path / "world.toml", plugins=("own-sghmc",)),
    ):
        np.testing.assert_allclose(limits.stationary(one, "mine").second_by_mode, exact, rtol=1e-12)
        run = interpreted(one)
        np.testing.assert_allclose(run.arrays["theta"], path, rtol=0, atol=1e-12)
        assert [item.key for item in state_paths.exhibits(View(run))] == ["state-own-velocity"]
        assert limits.stability(one, "mine").stable
    other = known.replace(samplers={"mine": Sghmc(0.1, 2.5, 4.0)})
    assert np.abs(limits.stationary(other, "mine").second_by_mode / exact - 1.0).max() > 1e-3


CELL = """
from typing import NamedTuple
from tracker.costs.base import gradient, value

class Bump(NamedTuple):
    centre: float

@value.register(Bump)
def _value(cost, theta, z):
    return STEEP * (theta[0] - cost.centre) ** 2
"""
SLOPE = """
@gradient.register(Bump)
def _gradient(cost, theta, z, out):
    out[0] = FACTOR * (theta[0] - cost.centre)
"""


def test_cells_are_run_again(base: tracker.Scenario, monkeypatch: pytest.MonkeyPatch) -> None:
    """A function before the first run, the class at any time; the scenario that holds the old class says so."""
    notebook = ModuleType("notebook_of_tests")
    monkeypatch.setitem(sys.modules, notebook.__name__, notebook)

    def cell(text: str) -> Any:
        exec(compile(text, "<cell>", "exec"), vars(notebook))  # noqa: S102
        return vars(notebook)["Bump"]

    old = cell(CELL.replace("STEEP", "0.5"))
    cell(SLOPE.replace("FACTOR", "2.0"))
    cell(SLOPE.replace("FACTOR", "1.0"))  # it was refused: "already defined for Bump"
    first = base.replace(modes={"left": old(-2.0), "right": old(2.0)})
    assert interpreted(first) is not None
    new = cell(CELL.replace("STEEP", "1.0"))
    cell(SLOPE.replace("FACTOR", "2.0"))
    assert problems(lambda: check_at_start(first)) == [
        "Bump: the class was defined again after this scenario was made: make the scenario anew"
    ]
    second = first.replace(modes={"left": new(-2.0), "right": new(2.0)})
    check_at_start(second)
    assert [mode.cost for mode in second.modes] == ["Bump", "Bump"]  # and not Bump-2, which no directory would know


def test_a_name_is_found_at_once(base: tracker.Scenario) -> None:
    """A million names were made up for each class."""
    begun = time.process_time()
    base.replace(modes={"left": Ripple(-2.0), "right": Ripple(2.0)}, samplers={"mine": Tuned(epsilon=1e-2)})
    assert time.process_time() - begun < 0.15


def test_stored_draws_are_of_costs_that_observe(base: tracker.Scenario) -> None:
    assert problems(lambda: tracker.run(base, expected_draws=10)) == [
        "expected_draws: no mode is a cost of one's own that has observations"
    ]


def test_the_code_belongs_to_the_identity_and_scenarios_travel(base: tracker.Scenario) -> None:
    assert pickle.loads(pickle.dumps(base)).sha256 == base.sha256  # noqa: S301  (our own)
    one, other = _bowl(1.0), _bowl(2.0)
    first, second = (base.replace(modes={"left": kind(), "right": Ripple(2.0)}) for kind in (one, other))
    assert first.sha256 != second.sha256
    table = first.content()["modes"][0]
    assert first.set("modes.left.code", table["code"]).sha256 == first.sha256
    assert any("had the hash" in line for line in problems(lambda: first.set("modes.left.code", "0" * 64)))


def _bowl(depth: float) -> type:
    class Deep(NamedTuple):
        centre: float = 0.0

    @value.register(Deep)
    def _value(cost, theta, z):
        return depth * (theta[0] - cost.centre) ** 2

    @gradient.register(Deep)
    def _gradient(cost, theta, z, out):
        out[0] = 2 * depth * (theta[0] - cost.centre)

    return Deep


class HotKeys(LangevinKeys):
    """Keys of a script, in no table."""

    kind: Literal["hot"]


def test_keys_of_a_script_are_taken_and_their_code_counts(base: tracker.Scenario) -> None:
    made = base.replace(samplers={"hot": HotKeys(epsilon=0.1)})
    assert (made.samplers[0].name, made.samplers[0].kind) == ("hot", "hot")
    assert made.sha256 != base.replace(samplers={"hot": LangevinKeys(epsilon=0.1)}).sha256
