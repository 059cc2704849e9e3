"""The check of a user's own cost: right ones pass within 50 ms, each kind of mistake is refused by the name of its function."""

# ruff: noqa: ARG005  (costs in one line)

from __future__ import annotations

import time
from typing import Any, NamedTuple

import numpy as np
import pytest
import right_costs
from right_costs import RIGHT
from worlds import shipped

import tracker
from tracker.costs.base import expected, expected_gradient, gradient, hessian, observation_size, observe, value
from tracker.costs.derivative_checks import WrongCost, check_cost
from tracker.scenario import build_modes
from tracker.scenario.own_checks import check_at_start
from tracker.streams import draw_index

GENERICS = {"value": value, "gradient": gradient, "hessian": hessian, "expected": expected,
            "observation_size": observation_size, "observe": observe}  # fmt: skip


def points(size: int) -> list[Any]:
    away = np.where(np.arange(size) % 2, -0.4, 0.7)
    return [away, np.zeros(size), 0.5 * away]


@pytest.mark.parametrize("name", RIGHT)
def test_right_costs_are_accepted_within_50_ms(name: str) -> None:
    cost, size = RIGHT[name]
    begun = time.process_time()
    check_cost(cost, points(size), thorough=True)
    assert time.process_time() - begun < 0.15, "50 ms, and three times that on a busy machine"


@pytest.mark.parametrize("name", ["example_a", "swapping_wells", "example_1", "logistic_stream"])
def test_shipped_costs_pass_the_same_check(name: str) -> None:
    scenario = shipped(name)
    for mode in scenario.modes[:1]:
        check_cost(mode.build(), points(scenario.dimension), thorough=True)


def changed(kind: type, **functions: Any) -> Any:
    """A cost like ``kind`` with other functions; None takes one away."""
    fields = {key: (object, default) for key, default in kind._field_defaults.items()}  # type: ignore[attr-defined]
    other = NamedTuple(kind.__name__, [(key, Any) for key in fields])  # type: ignore[misc]
    for name, generic in GENERICS.items():
        own = functions.get(name, generic._implementations.get(kind))
        if own is not None:
            generic.register(other)(own)
    return other(*(default for _, default in fields.values()))


def scaled(function: Any, place: Any, factor: float) -> Any:
    def wrong(cost, theta, z, out):
        function(cost, theta, z, out)
        out[place] *= factor

    return wrong


def of(generic: Any, kind: type) -> Any:
    return generic._implementations[kind]


def lost(cost, theta, z, out):
    out = 2 * theta  # noqa: F841  (the mistake)


def returned(cost, theta, z, out):
    return 2 * theta


WRONG: dict[str, tuple[Any, int, str, str]] = {
    "gradient twice too large": (
        changed(right_costs.Rastrigin, gradient=scaled(of(gradient, right_costs.Rastrigin), 1, 2.0)), 3,
        "gradient", "coordinate 1 at theta"),
    "gradient 0.1 % off": (
        changed(right_costs.Rosenbrock, gradient=scaled(of(gradient, right_costs.Rosenbrock), 1, 1.001)), 5, "gradient", "coordinate 1"),
    "sign of the gradient": (
        changed(right_costs.Huber, gradient=scaled(of(gradient, right_costs.Huber), 0, -1.0)), 1, "gradient", "coordinate 0"),
    "out is a new array": (changed(right_costs.Large, gradient=lost), 2, "gradient", "it wrote no number to out[0]"),
    "the gradient is returned": (changed(right_costs.Large, gradient=returned), 2, "gradient", "out[:] = ..."),
    "a coordinate is forgotten": (
        changed(right_costs.Large, gradient=lambda c, th, z, out: out.__setitem__(0, 2 * th[0])), 2, "gradient", "out[1]"),
    "sign of the Hessian": (
        changed(right_costs.Wells, hessian=scaled(of(hessian, right_costs.Wells), slice(None), -1.0)), 2, "hessian", "entry [0, 0]"),
    "one entry of the Hessian": (
        changed(right_costs.Wells, hessian=scaled(of(hessian, right_costs.Wells), (1, 0), 3.0)), 2, "hessian", "entry [1, 0]"),
    "no expected": (changed(right_costs.Network, expected=None), 9, "expected", "expected_draws = 4096"),
    "expected of the first row": (
        changed(right_costs.Network, expected=lambda c, th: value(c, th, np.zeros(1))), 9, "expected", "the mean of value over"),
    "expected 0": (changed(right_costs.Lms, expected=lambda c, th: 0.0), 1, "expected", "it gives 0"),
    "value returns nothing": (changed(right_costs.Huber, value=lambda c, th, z: None), 2, "value", "None"),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_wrong_costs_are_refused_by_the_name_of_the_function(name: str) -> None:
    cost, size, function, text = WRONG[name]
    with pytest.raises(WrongCost) as found:
        check_cost(cost, points(size), thorough=True)
    assert found.value.function == function
    assert text in str(found.value), str(found.value)


def world(cost: Any, size: int, **more: Any) -> tracker.Scenario:
    return tracker.parse(
        {"name": "own", "trials": 2, "steps": 20, "start": [0.4] * size, "modes": {"one": cost},
         "samplers": {"s": {"kind": "langevin", "epsilon": 0.01}}, **more}
    )  # fmt: skip


class Typo(NamedTuple):
    """A field is misspelt in its gradient."""

    center: float


value.register(Typo)(lambda cost, theta, z: float(((theta - cost.center) ** 2).sum()))


@gradient.register(Typo)
def _gradient(cost, theta, z, out):
    out[:] = 2 * (theta - cost.centre)


def test_a_misspelt_field_is_one_line() -> None:
    with pytest.raises(tracker.ScenarioError) as found:
        tracker.run(world(Typo(0.0), 1))
    line = _gradient.__code__.co_firstlineno + 2
    assert found.value.problems == [
        f"modes[0] \"one\": Typo has no field 'centre', used in gradient, line {line}; did you mean center?"
    ]


def test_a_run_is_refused_before_its_first_step_and_checks_can_be_turned_off() -> None:
    cost = WRONG["gradient twice too large"][0]
    with pytest.raises(tracker.ScenarioError, match=r'modes\[0\] "one": Rastrigin: gradient: coordinate 1'):
        tracker.run(world(cost, 3))
    with pytest.raises(tracker.ScenarioError, match="expected"):
        tracker.run(world(WRONG["no expected"][0], 9))


def test_the_gradient_of_an_expected_cost_is_that_of_expected_and_not_the_one_at_z_0() -> None:
    """Least squares on pairs: at z = 0 the gradient is 0 everywhere; and a network, against the mean over its rows."""
    (mode,) = build_modes(world(right_costs.Lms(1.5), 1))
    np.testing.assert_allclose(mode.minimisers, [[1.5]], rtol=1e-9)
    assert mode.relaxation == pytest.approx(1.0, rel=1e-6)
    cost, theta = right_costs.Network(), np.linspace(-0.7, 0.9, 9)
    rows, one, found = [], np.empty(9), np.empty(9)
    for i in range(len(right_costs.X)):
        gradient(cost, theta, np.array([float(i)]), one)
        rows.append(one.copy())
    expected_gradient(cost, theta, found)
    np.testing.assert_allclose(found, np.mean(rows, axis=0), atol=1e-10)
    gradient(cost, theta, np.zeros(1), one)
    assert np.abs(one - found).max() > 0.01  # control: that of the first row is another


def test_an_expected_gradient_of_ones_own_is_used_and_checked() -> None:
    right, wrong = (changed(right_costs.Lms) for _ in range(2))
    expected_gradient.register(type(right))(lambda c, th, out: out.__setitem__(0, th[0] - c.truth))
    expected_gradient.register(type(wrong))(lambda c, th, out: out.__setitem__(0, 2 * (th[0] - c.truth)))
    check_cost(right, points(1), thorough=True)
    with pytest.raises(WrongCost, match=r"expected_gradient: .* differences of expected give"):
        check_cost(wrong, points(1), thorough=True)


class Rows(NamedTuple):
    """A cost of stored rows whose expected cost nobody wrote down."""

    y: Any


value.register(Rows)(lambda cost, theta, z: 0.5 * (theta[0] - cost.y[int(z[0])]) ** 2)
gradient.register(Rows)(lambda cost, theta, z, out: out.__setitem__(0, theta[0] - cost.y[int(z[0])]))
observation_size.register(Rows)(lambda cost: 1)


@observe.register(Rows)
def _observe(cost, k, count, stream, out):
    for i in range(count):
        out[i, 0] = draw_index(stream, len(cost.y))


def test_stored_draws_define_the_expected_cost() -> None:
    """The minimiser is the mean over the draws, not over the rows; they belong to the identity."""
    y = np.array([0.0, 1.0, 5.0])
    scenario = world(Rows(y), 1)
    with pytest.raises(tracker.ScenarioError, match="expected_draws=4096"):
        check_at_start(scenario)
    drawn = scenario.set("modes.one.expected_draws", 50)
    check_at_start(drawn)
    cost = drawn.modes[0].build()
    rows = y[cost.draws[:, 0].astype(int)]
    assert set(rows) == {0.0, 1.0, 5.0}
    theta = np.array([0.7])
    assert expected(cost, theta) == pytest.approx(np.mean(0.5 * (0.7 - rows) ** 2), rel=1e-12)
    assert drawn.sha256 != scenario.sha256
    assert drawn.set("modes.one.expected_draws", 51).sha256 != drawn.sha256
    same = drawn.replace(seed=7)
    np.testing.assert_array_equal(same.modes[0].build().draws, cost.draws)
