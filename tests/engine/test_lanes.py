"""Trials that go side by side give what they give alone, bit for bit: with any number of lanes, and where one of them is lost."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numba
import numpy as np
import pytest
from interpreting import interpreting

import tracker
from tracker.compiled import Blueprint, Unit, as_lanes, kernel, lane_table, pack, pick
from tracker.costs.base import gradient, hessian, value
from tracker.costs.gaussian_noise import columns_drawn, noise_in_form
from tracker.costs.one_form import in_one_form
from tracker.engine import side_by_side
from tracker.engine.side_by_side import LANES_VARIABLE, lanes_of
from tracker.engine.simulate import compile_kernels, prepare, simulate
from tracker.engine.turns import stretch
from tracker.runs.trials_abreast import filled, told
from tracker.streams import draw_index, draw_normals

WORLD = """
name = "abreast"
seed = 7
trials = 11
steps = 400
burn_in = 90
record_every = 23
start = [0.5, 0.0]
baselines = []
[chain]
alpha = 0.03
Q = [[-1.0, 1.0], [1.0, -1.0]]
[[modes]]
name = "one"
cost = "quadratic"
minimum = [1.0, -1.0]
curvature = [[2.0, 0.3], [0.3, 1.0]]
gradient_noise = [[0.5, 0.1], [0.1, 0.4]]
target = { radius = 0.8 }
[[modes]]
name = "two"
cost = "quadratic"
minimum = [-1.0, 0.5]
curvature = [[1.0, -0.2], [-0.2, 1.5]]
gradient_noise = [[0.3, 0.0], [0.0, 0.6]]
target = { radius = 0.8 }
[[interventions]]
kind = "outage"
at = 60
steps = 41
[[interventions]]
kind = "switch"
at = 170
to = "two"
"""
MOVING = 'beta = 4.0\nskew = "random"\nskew_step = 0.01\nskew_bounds = [-5.0, 5.0]\n'
SAMPLERS = {
    "langevin": 'kind = "langevin"\nepsilon = 0.05\nbeta = 4.0\n',
    "runs away": 'kind = "langevin"\nepsilon = 1.2\nbeta = 4.0\n',
    "hessian": 'kind = "hessian"\nepsilon = 0.05\n' + MOVING,
    "spsa": 'kind = "spsa"\nepsilon = 0.05\nhold = 3\n' + MOVING,
    "two-timescale": 'kind = "two-timescale-spsa"\nepsilon = 0.05\ninner_steps = 3\n' + MOVING,
    "averaged wandering": (
        'kind = "averaged"\nepsilon = 0.05\nbeta = 4.0\nrate = 0.1\n[samplers.sampler]\nkind = "wandering"\n'
        "skew = 0.5\nskew_step = 0.3\nskew_bounds = [-1.0, 1.0]\n"
    ),
}


def world(sampler: str, text: str = WORLD) -> tracker.Scenario:
    return tracker.parse(f'{text}[[samplers]]\nname = "one"\n{SAMPLERS[sampler]}')


@pytest.fixture(autouse=True)
def _nothing_refused() -> Iterator[None]:
    before = dict(side_by_side.refused)
    yield
    side_by_side.refused.clear()
    side_by_side.refused.update(before)


def alone(scenario: tracker.Scenario) -> dict[str, Any]:
    with pytest.MonkeyPatch.context() as patch, interpreting():
        patch.setenv(LANES_VARIABLE, "1")
        return simulate(prepare(scenario), range(scenario.trials))[0]


def abreast(scenario: tracker.Scenario, lanes: int) -> dict[str, Any]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(LANES_VARIABLE, str(lanes))
        problem = prepare(scenario)
        table, why = lanes_of(problem, problem.contestants[0])
        assert table is not None, why
        assert len(table.width) == lanes
        found = simulate(problem, range(scenario.trials))[0]
        assert any(f"UniTuple(int64 x {lanes})" in str(signature[0]) for signature in stretch.signatures)
        return found


def assert_same(found: dict[str, Any], expected: dict[str, Any]) -> None:
    assert found.keys() == expected.keys()
    for name, array in expected.items():
        np.testing.assert_array_equal(found[name], array, err_msg=name)


@pytest.mark.parametrize("sampler", list(SAMPLERS))
def test_every_array_is_that_of_trials_alone(sampler: str) -> None:
    scenario = world(sampler)
    expected = alone(scenario)
    lost = int((expected["diverged"] >= 0).sum())
    assert (0 < lost < scenario.trials) == (sampler == "runs away")
    assert_same(abreast(scenario, 8), expected)


# Modes that differ in more than numbers: a term that one lacks, noise in one coordinate, in both, in none.
UNEQUAL = WORLD[: WORLD.index("[[modes]]")].replace(
    "Q = [[-1.0, 1.0], [1.0, -1.0]]", "Q = [[-2.0, 1.0, 1.0], [1.0, -2.0, 1.0], [1.0, 1.0, -2.0]]"
)
for _name, _formula, _noise in (
    ("one", "(a^2 - 1)^2 - 0.35*a + 2*b^2", "[[1.0, 0.0], [0.0, 0.0]]"),
    ("two", "0.5*(a^2 - 1)^2 + 0.3*a*b + b^2 + 0.1*b^4", "[[0.5, 0.1], [0.1, 0.4]]"),
    ("three", "a^2 + b^2 + 0.2*a", "0.0"),
):
    UNEQUAL += (
        f'[[modes]]\nname = "{_name}"\ncost = "polynomial"\nvariables = ["a", "b"]\nformula = "{_formula}"\n'
        f"gradient_noise = {_noise}\ntarget = {{ radius = 0.5 }}\n"
    )
UNEQUAL += WORLD[WORLD.index("[[interventions]]") :]
ROWS = UNEQUAL[: UNEQUAL.index("[[modes]]")].replace(
    "Q = [[-2.0, 1.0, 1.0], [1.0, -2.0, 1.0], [1.0, 1.0, -2.0]]", "Q = [[-1.0, 1.0], [1.0, -1.0]]"
)
for _name, _more in (("one", ""), ("two", 'relabel = "flip"\n')):
    ROWS += (
        f'[[modes]]\nname = "{_name}"\ncost = "logistic"\ndata = "rows.csv"\nfeatures = ["x"]\nlabel = "side"\nhorizon = 2\n'
        f"prior_variance = 1.0\ntarget = {{ radius = 0.2 }}\n{_more}"
    )


def as_written(scenario: tracker.Scenario) -> dict[str, Any]:
    """Trials alone, in modes that are not written alike."""
    problem = prepare(scenario)
    with interpreting():
        return simulate(problem._replace(packed_modes=pack(problem.modes)), range(scenario.trials))[0]


@pytest.mark.parametrize("sampler", ["hessian", "two-timescale"])
def test_modes_with_other_terms_and_other_ranks_of_noise_go_side_by_side(sampler: str) -> None:
    """In an outage and at a forced switch too; Algorithm 3 looks ahead with a stream of its own."""
    scenario = world(sampler, UNEQUAL)
    assert_same(abreast(scenario, 8), as_written(scenario))


def test_modes_that_show_rows_of_data_at_random_go_side_by_side(tmp_path: Path) -> None:
    rows = "\n".join(f"{np.sin(n):.6f},{int(n % 3 > 0)}" for n in range(40))
    (tmp_path / "rows.csv").write_text(f"x,side\n{rows}\n")
    text = f'{ROWS}[[samplers]]\nname = "one"\n{SAMPLERS["hessian"]}'
    scenario = tracker.parse(text, folder=tmp_path)
    assert_same(abreast(scenario, 8), as_written(scenario))


def test_what_a_mode_lacks_is_written_as_zero() -> None:
    modes = prepare(world("langevin", UNEQUAL)).modes
    alike = in_one_form(modes)
    assert len({mode.cost.terms.factors.tobytes() for mode in modes}) == 3
    assert len({mode.cost.terms.factors.tobytes() for mode in alike}) == 1
    theta, z, found, expected = np.array([0.7, -1.3]), np.zeros(2), np.zeros((2, 2)), np.zeros((2, 2))
    for mode, other, rank in zip(modes, alike, (1, 2, 0), strict=True):
        gradient(mode.cost, theta, z, expected[0])
        gradient(other.cost, theta, z, found[0])
        np.testing.assert_array_equal(found[0], expected[0])
        hessian(mode.cost, theta, z, expected)
        hessian(other.cost, theta, z, found)
        np.testing.assert_array_equal(found, expected)
        assert value(mode.cost, theta, z) == value(other.cost, theta, z)
        assert mode.cost.noise.shape == (2, rank)
        assert other.cost.noise.shape == (2, 2)
        assert columns_drawn(other.cost.noise) == rank
        np.testing.assert_array_equal(other.cost.noise[:, :rank], mode.cost.noise)
    assert in_one_form(modes[:1])[0].cost is modes[0].cost


def test_a_diagonal_of_noise_beside_none_stays_a_diagonal_and_beside_a_matrix_becomes_one() -> None:
    class Cost(NamedTuple):
        noise: Any

    diagonal, none, whole = Cost(np.array([[1.0, 2.0, 3.0]])), Cost(np.zeros((3, 0))), Cost(np.ones((3, 2)))
    np.testing.assert_array_equal(noise_in_form(none, [diagonal, none]).noise, np.zeros((1, 3)))
    np.testing.assert_array_equal(noise_in_form(diagonal, [diagonal, none]).noise, diagonal.noise)
    np.testing.assert_array_equal(noise_in_form(diagonal, [diagonal, whole]).noise, np.diag([1.0, 2.0, 3.0]))
    np.testing.assert_array_equal(noise_in_form(whole, [diagonal, whole]).noise, [[1, 1, 0]] * 3)


@pytest.mark.parametrize("lanes", [4, 16])
def test_it_does_not_matter_how_many_go_side_by_side(lanes: int) -> None:
    scenario = world("langevin")
    assert_same(abreast(scenario, lanes), alone(scenario))


def test_modes_that_differ_in_more_than_numbers_have_no_table() -> None:
    one, other = (np.zeros(2), 1.0, 3), (np.ones(2), 2.0, 3)
    table = lane_table([one, other], 8)
    assert table is not None
    np.testing.assert_array_equal(table.rows, [[0, 0, 1], [1, 1, 2]])
    assert table.pattern == (0, 0, None)
    assert lane_table([one, (np.ones(3), 2.0, 3)], 8) is None
    assert lane_table([one, (np.ones(2), 2.0, 4)], 8) is None
    assert lane_table([one, one], 8).pattern == (None, 0, None)


def test_what_is_worded_for_one_trial_goes_alone_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """A step of one's own that asks a number with ``if``: numba refuses it in lanes, and the numbers are the same."""
    monkeypatch.setenv(LANES_VARIABLE, "8")
    problem = prepare(world("langevin"))
    assert lanes_of(problem, problem.contestants[0])[0] is not None
    refusal = numba.core.errors.TypingError("if")
    monkeypatch.setattr(Unit, "at", _refusing(refusal))
    compile_kernels(problem)
    assert lanes_of(problem, problem.contestants[0]) == (
        None,
        "its code, or that of the costs, is worded for one trial",
    )


def _refusing(error: Exception) -> Any:
    at = Unit.at

    def refuse(self: Unit, kinds: Blueprint) -> Any:
        if self is stretch and len(kinds.template[3]) > 1:
            raise error
        return at(self, kinds)

    return refuse


@kernel
def _draw(words, normals, whole, width):
    streams, out = as_lanes(words, width), as_lanes(normals, width)
    draw_normals(streams, out)
    for i in range(whole.shape[0]):
        index = as_lanes(whole, width)
        index[i] = draw_index(streams, 1000)


def test_streams_side_by_side_are_the_streams_alone() -> None:
    trials, count = 8, 40_000
    words = np.random.SFC64(3).random_raw(4 * trials).reshape(4, trials)
    alone = words.T.copy()
    normals, whole = np.zeros((count, trials)), np.zeros((50, trials), dtype=np.uint64)
    _draw(words, normals, whole, (0,) * trials)
    _fill_alone(alone, expected := np.zeros((trials, count)), places := np.zeros((trials, 50), dtype=np.uint64))
    np.testing.assert_array_equal(normals.T, expected)
    np.testing.assert_array_equal(whole.T, places)
    np.testing.assert_array_equal(words.T, alone)
    assert np.abs(normals).max() > 3.6542  # the tail was met


@kernel
def _fill_alone(words, normals, whole):
    for t in range(words.shape[0]):
        draw_normals(words[t], normals[t])
        for i in range(whole.shape[1]):
            whole[t, i] = draw_index(words[t], 1000)


@kernel
def _pick(tables, common, places, found, shared, width):
    own, index = as_lanes(tables, width), as_lanes(places, width)
    out, other = as_lanes(found, width), as_lanes(shared, width)
    for i in range(places.shape[0]):
        out[i] = pick(own, index[i])
        other[i] = pick(common, index[i])


def test_each_lane_looks_up_in_its_own_table_or_in_the_one_of_all() -> None:
    rng = np.random.default_rng(5)
    tables, common, places = rng.random((7, 8)), rng.random(7), rng.integers(0, 7, (20, 8), dtype=np.uint64)
    found, shared = np.zeros((20, 8)), np.zeros((20, 8))
    _pick(tables, common, places, found, shared, (0,) * 8)
    np.testing.assert_array_equal(found, np.take_along_axis(tables, places.astype(np.int64), axis=0))
    np.testing.assert_array_equal(shared, common[places])


def test_a_run_says_how_many_go_side_by_side_and_fills_its_shards(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = prepare(world("langevin"))
    assert told(problem) == ["one: one trial at a time: so few steps or trials are not worth more"]
    assert filled(problem, 3) == 3
    monkeypatch.setenv(LANES_VARIABLE, "8")
    assert told(problem) == ["one: 8 trials side by side"]
    assert [filled(problem, size) for size in (1, 8, 11, 20)] == [8, 8, 8, 16]
    monkeypatch.setenv(LANES_VARIABLE, "3")  # no vector without gaps: as if it were not there
    assert told(problem)[0].startswith("one: one trial at a time")
    long = problem._replace(scenario=problem.scenario.replace(steps=10_000_000))
    monkeypatch.delenv(LANES_VARIABLE)
    assert told(long) == ["one: 8 trials side by side"]
