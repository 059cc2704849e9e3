"""Formulas: derivatives against high precision, hostile text, kinks, domains, and code that is shared."""

from __future__ import annotations

import itertools
import random
import time
from typing import Any

import mpmath
import numpy as np
import pytest
from formulas import hostile_formula, spoken
from interpreting import interpreted, interpreting
from pydantic import ValidationError
from worlds import scenario_of

import tracker
from tracker.costs import COSTS, base
from tracker.costs.formula import expression_graph, generated_code
from tracker.costs.formula.formula_cost import derive
from tracker.engine.turns import stretch
from tracker.samplers import SAMPLERS
from tracker.scenario import build_modes, stability_limits

SECONDS = 2.0  # of CPU, for one formula
CLASSICAL = {"name": "s", "kind": "langevin", "epsilon": 0.01, "beta": 4.0}


def keys_of(formula: str, variables: Any = ("a", "b"), **keys: Any) -> Any:
    return COSTS["formula"](name="m", cost="formula", variables=list(variables), formula=formula, **keys)


def refusal(formula: str, variables: Any = ("a", "b"), **keys: Any) -> str:
    with pytest.raises(ValidationError) as caught:
        keys_of(formula, variables, **keys)
    return str(caught.value)


def world(formula: str, start: Any = (0.5,), variables: Any = ("a",), sampler: Any = CLASSICAL, **keys: Any) -> Any:
    mode = {"name": "m", "cost": "formula", "variables": list(variables), "formula": formula, **keys}
    return tracker.parse(
        {
            "name": "w",
            "trials": 3,
            "steps": 400,
            "start": list(start),
            "baselines": [],
            "modes": [mode],
            "samplers": [sampler],
        }
    )


def test_derivatives_of_200_random_formulas() -> None:
    """Value, gradient and Hessian against differences of 40 digits, each relative to the size of the formula's own numbers."""
    rng, names = random.Random(5), ["a", "b", "c"]
    depths = []
    with mpmath.workdps(40):
        for _ in range(200):
            one = spoken(rng, rng.choice((2, 3, 4, 5)), names)
            cost = keys_of(one.text, names).build()
            theta = np.array([rng.uniform(-1.5, 1.5) for _ in names])
            point = [mpmath.mpf(float(t)) for t in theta]
            g, H, z = np.empty(3), np.empty((3, 3)), np.zeros(3)
            base.gradient(cost, theta, z, g)
            base.hessian(cost, theta, z, H)
            f = lambda *x, of=one.of: of(x)  # noqa: E731
            exact = float(f(*point))
            scale = 1.0 + abs(exact)
            assert base.value(cost, theta, z) == pytest.approx(exact, rel=1e-12, abs=1e-12)
            for i in range(3):
                order = tuple(int(i == d) for d in range(3))
                assert g[i] == pytest.approx(float(mpmath.diff(f, point, order)), rel=1e-9, abs=1e-9 * scale)
                for j in range(i + 1):
                    order = tuple(int(i == d) + int(j == d) for d in range(3))
                    wanted = float(mpmath.diff(f, point, order))
                    assert H[i, j] == pytest.approx(wanted, rel=1e-9, abs=1e-9 * scale)
                    assert H[i, j] == H[j, i]
            depths.append(len(one.text))
    assert max(depths) > 150  # they are not all trivial


def test_a_wrong_rule_would_be_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Control: with the derivative of sin changed to -cos the same comparison fails."""
    right = expression_graph.Graph._slope
    monkeypatch.setattr(
        expression_graph.Graph, "_slope",
        lambda self, function, n, x: self.negative(self.call("cos", x)) if function == "sin" else right(self, function, n, x),
    )  # fmt: skip
    cost, g = keys_of("sin(a)*1.0625 + b^2").build(), np.empty(2)
    base.gradient(cost, np.array([0.3, 0.1]), np.zeros(2), g)
    assert g[0] == pytest.approx(-1.0625 * np.cos(0.3))


@pytest.mark.parametrize("x", [-800.0, -30.0, -1e-9, 0.0, 1e-9, 2.0, 30.0, 800.0])
def test_logcosh_and_its_derivatives_neither_overflow_nor_cancel(x: float) -> None:
    cost, theta = keys_of("logcosh(a)", ["a"]).build(), np.array([x])
    g, H = np.empty(1), np.empty((1, 1))
    base.gradient(cost, theta, np.zeros(1), g)
    base.hessian(cost, theta, np.zeros(1), H)
    with mpmath.workdps(800):
        wanted = [float(mpmath.log(mpmath.cosh(x))), float(mpmath.tanh(x)), float(mpmath.sech(x) ** 2)]
    np.testing.assert_allclose([base.value(cost, theta, np.zeros(1)), g[0], H[0, 0]], wanted, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize(
    ("formula", "said"),
    [
        ("a + c", "formula: 'c' at position 4 is not known; there are a, b, p, q, pi, e and exp, log"),
        ("a + q", "q: a list of 2: write q[0] to q[1], at position 4"),
        ("a + q[2]", "'2' at position 6: an index from 0 to 1 was expected"),
        ("exp a", "'a' at position 4: '(' was expected after exp"),
        ("exp(a, b)", "exp(a, b): exp takes one number, not 2, at position 0"),
        ("min(a)", "min(a): min takes two numbers or more"),
        ("log(-1)*a", "log(-1): no finite number comes of it"),
        ("a/(2-2)", "a divisor must not be zero, at position 2"),
        ("a^2 + 1e400", "1e400: no finite number comes of it"),
        ("9^9^9^9*a", "no finite number comes of it"),
        ("a b", "'b' at position 2: an operator was expected"),
        ("__import__('os')", "'__import__' at position 0 is not known"),
        ("a.real", "'.' at position 1: an operator was expected"),
        ("(a", "the end at position 2: ')' was expected for '(' at position 0"),
        ("", "the end at position 0"),
        ("*".join(["sin(a*b)*exp(b)"] * 500), "more than 6000 operations"),
    ],
)
def test_what_is_no_formula_is_refused_with_its_place(formula: str, said: str) -> None:
    assert said in refusal(formula, parameters={"p": 1.0, "q": [1.0, 2.0]})


def test_names_that_would_be_ambiguous_are_refused() -> None:
    assert "variables: 'exp' is the name of a function" in refusal("exp^2", ["exp"])
    assert "parameters: 'a' is not a name, or is that of a variable" in refusal("a^2", parameters={"a": 1.0})
    assert "parameters" in refusal("a^2", parameters={"x": True})
    assert keys_of("e^2 + pi", ["e"]).build() is not None  # a variable may be called e


def test_hostile_formulas_are_refused_or_derived_in_no_time() -> None:
    """The short version of the soak's stage ``formulas``."""
    kept = 0
    for seed in range(600):
        began = time.process_time()
        found = derive(hostile_formula(seed), ("a", "b", "c"), (("p", None), ("q", 2)))
        assert time.process_time() - began < SECONDS
        kept += found.code is not None
        for text in found.code.functions.values() if isinstance(found.code, generated_code.Code) else ():
            assert set(text) <= set("\n abcdefghijklmnopqrstuvwxyz_0123456789()[]=+-*/.,:"), (
                "only arithmetic is written"
            )
    assert 100 < kept < 500  # both happen


def test_modes_and_sweeps_share_the_compiled_code() -> None:
    formula = "h*logcosh(a - m[0]) + exp(-b^2)*m[1] + b^2"
    one, two = (keys_of(formula, parameters={"h": h, "m": [h, 0.1]}).build() for h in (1.0, 2.0))
    assert type(one) is type(two)
    assert type(keys_of(formula + " + 0*a", parameters={"h": 1.0, "m": [0.0, 1.0]}).build()) is type(one)
    assert type(keys_of("a^2 + b^2").build()) is not type(one)
    scenario = world("h*(a - m)^2/2", parameters={"h": 1.0, "m": 0.3})
    tracker.run(scenario)
    before = len(stretch.signatures)
    tracker.run(scenario.set("modes.m.parameters.m", -2.0))
    assert len(stretch.signatures) == before
    text = scenario.toml()
    assert tracker.parse(text).modes[0].parameters == {"h": 1.0, "m": 0.3}


def test_a_class_of_another_process_is_found_by_its_name() -> None:
    import pickle

    cost = keys_of("a^2 + cosh(b)").build()
    again = pickle.loads(pickle.dumps(cost))  # noqa: S301
    assert type(again) is type(cost)
    unknown = getattr(generated_code, generated_code.PREFIX + "0" * 24)
    assert unknown._fields == cost._fields
    assert not base.value.defined_for(unknown)
    with pytest.raises(AttributeError):
        _ = generated_code.Formula_x__y


def test_kinds_that_need_a_hessian_are_refused_by_name_where_the_gradient_jumps() -> None:
    needs = {
        **CLASSICAL,
        "name": "learner",
        "kind": "adaptive-step",
        "epsilon_step": 1e-6,
        "epsilon_bounds": [1e-3, 0.1],
    }
    for formula, why in (("abs(a) + max(a, 2*a)", "abs and max"), ("min(a^2, (a - 3)^2)", "min")):
        with pytest.raises(tracker.ScenarioError) as caught:
            world(formula, sampler=needs)
        assert f"formula: has no Hessian where the gradient of {why} jumps, which sampler learner needs" in str(
            caught.value
        )
        assert world(formula).modes[0].has_hessian is False
    assert world("abs(p)*a^2", sampler=needs, parameters={"p": -2.0}).modes[0].has_hessian  # only of a number


def test_the_gradient_of_a_kink_is_one_sided() -> None:
    cost, g = keys_of("abs(a) + 2*max(a, b) + min(a, b, 0.5)").build(), np.empty(2)
    base.gradient(cost, np.array([1.0, -2.0]), np.zeros(2), g)
    np.testing.assert_array_equal(g, [1.0 + 2.0, 1.0])
    base.gradient(cost, np.array([-1.0, 2.0]), np.zeros(2), g)
    np.testing.assert_array_equal(g, [-1.0 + 1.0, 2.0])


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # the interpreter's own words about nan
def test_leaving_the_domain_marks_the_trial_with_the_step() -> None:
    """a^2/2 - log(a) has its minimum at 1; a hot sampler steps below 0, where there is no logarithm."""
    scenario = world("a^2/2 - log(a)", start=[0.05], sampler={**CLASSICAL, "beta": 0.05, "epsilon": 0.05})
    run = interpreted(scenario)
    assert run.summary["samplers"][0]["diverged"] == 3
    steps = run.dataset["diverged"].to_numpy()[:, 0]
    assert ((steps > 0) & (steps < 400)).all()
    cool = world("a^2/2 - log(a)", start=[1.0], sampler={**CLASSICAL, "beta": 400.0})
    assert interpreted(cool).summary["samplers"][0]["diverged"] == 0  # control


@pytest.mark.parametrize(
    "formula", ["a", "a^3", "-exp(a)", "log(a)", "1/a", "exp(-a)", "tanh(a)", "exp(-a^2)", "log(1 + exp(a)) - 2"]
)
def test_a_formula_without_a_minimum_is_said_to_have_none(formula: str) -> None:
    with pytest.raises(tracker.ScenarioError) as caught:
        world(formula).minimisers  # noqa: B018
    assert "has no minim" in str(caught.value) or "not finite" in str(caught.value)


@pytest.mark.parametrize("formula", ["max(a, 0)", "max(abs(a), 1)", "a^4", "cosh(a) + cos(a)", "0*a"])
def test_a_minimum_that_is_flat_is_one(formula: str) -> None:
    """Control: what does not fall on and on has been found."""
    scenario = world(formula)
    cost = scenario.modes[0].build()
    lowest = min(base.expected(cost, np.array([a])) for a in np.linspace(-20, 20, 401))
    assert base.expected(cost, scenario.minimisers[0][0]) == pytest.approx(lowest, abs=1e-8)


@pytest.mark.parametrize("formula", ["log(abs(a))", "-1/a^2"])
def test_a_formula_that_is_minus_infinity_at_the_start_is_said_to_have_no_minimum(formula: str) -> None:
    with pytest.raises(tracker.ScenarioError, match="has no minimum: it is -inf"):
        world(formula, start=[0.0]).minimisers  # noqa: B018


def test_a_kink_at_the_minimiser_has_no_stability_limit_and_no_relaxation_time() -> None:
    """Differences across a kink are as large as they are narrow; a kink elsewhere does no harm."""
    for formula, known in (("2*abs(a - 1)", False), ("max((a - 1)^2, a - 5)", True)):
        scenario = world(formula)
        modes = build_modes(scenario)
        limits = [limit.limit for limit in stability_limits(scenario, modes)]
        assert limits == (pytest.approx([1.0], rel=1e-6) if known else [])
        assert modes[0].relaxation == (pytest.approx(0.5, rel=1e-6) if known else np.inf)


def test_the_average_of_modes_is_the_weighted_sum() -> None:
    modes = [keys_of("h*(a - m[1])^2 + b^2", parameters={"h": h, "m": [9.0, h]}) for h in (0.5, -0.25)]
    both = modes[0].average([0.25, 0.75], modes).build()
    theta = np.array([0.3, -0.7])
    wanted = sum(w * base.expected(mode.build(), theta) for w, mode in zip((0.25, 0.75), modes, strict=True))
    assert base.expected(both, theta) == pytest.approx(wanted, rel=1e-14)
    assert modes[0].average([1.0], [keys_of("a^2", ["a"])]) is None


# --- a formula that is a polynomial

MOVING = {"skew": "random", "skew_step": 1e-2, "skew_bounds": [-2.0, 2.0]}
EVERY_KIND: list[dict[str, Any]] = [
    {"kind": "langevin"},
    {"kind": "accelerated", "skew": 0.7},
    {"kind": "hessian", **MOVING},
    {"kind": "spsa", **MOVING},
    {"kind": "two-timescale-spsa", "inner_steps": 3, **MOVING},
    {"kind": "wandering", **MOVING},
    {"kind": "tempered", "noise_step": 1e-2, "noise_bounds": [0.1, 2.0]},
    {"kind": "adaptive-step", "epsilon_step": 1e-5, "epsilon_bounds": [1e-4, 0.05]},
    {"kind": "kinetic", "friction": 20.0},
    {"kind": "psgld"},
    {"kind": "averaged", "rate": 0.1, "sampler": {"kind": "hessian", **MOVING}},
    {"kind": "restart", "sampler": {"kind": "langevin"}, "detector": "true-times", "action": "mean", "curvature": 8.0},
]


def wells(family: str, tilt: float = 0.35) -> Any:
    modes = [
        {"cost": family, "variables": ["a", "b"], "formula": f"(a^2 - 1)^2 {sign} {tilt}*a + 2.5*b^2 + a*b^3/8 + b^4", "gradient_noise": [[1.0, 0.3], [0.3, 0.4]]}
        for sign in "-+"
    ]  # fmt: skip
    chain = {"alpha": 0.05, "Q": [[-1.0, 1.0], [1.0, -1.0]]}
    return scenario_of(modes, EVERY_KIND, chain=chain, trials=1, steps=60).set("samplers.*.epsilon", 5e-3)


def test_a_formula_that_is_a_polynomial_gives_its_path_for_every_kind() -> None:
    assert {one["kind"] for one in EVERY_KIND} == set(SAMPLERS)
    with interpreting():
        one, two, other = (tracker.run(world, executor=1) for world in (wells("polynomial"), wells("formula"), wells("formula", 0.36)))  # fmt: skip
    assert len(one.summary["samplers"]) == len(EVERY_KIND) + 3
    np.testing.assert_allclose(two.arrays["theta"], one.arrays["theta"], rtol=0, atol=1e-12)
    np.testing.assert_allclose(two.arrays["skew"], one.arrays["skew"], rtol=0, atol=1e-12)
    apart = np.abs(other.arrays["theta"] - one.arrays["theta"]).max(axis=(0, 2, 3))
    assert (apart[: len(EVERY_KIND)] > 1e-5).all()  # control: another tilt, another path


def test_the_zeros_of_a_wide_hessian_are_one_line_of_code() -> None:
    """900 variables were 405,000 lines: 2.7 GB to read them, before anything was compiled."""
    names = tuple(f"x{n}" for n in range(20))
    text = "+".join(f"(1-{a})^2+{a}^2*{b}^2" for a, b in itertools.pairwise(names))
    code = derive(text, names, ()).code
    assert code is not None
    assert code.functions["hessian"].count("out[") == 1 + 20 + 2 * 19
    theta, H = np.linspace(-1.0, 1.0, 20), np.full((20, 20), np.nan)
    cost = generated_code.class_of(code)(np.zeros(0), np.zeros((20, 0)))
    base.hessian(cost, theta, np.zeros(20), H)
    wanted = np.zeros((20, 20))
    for i in range(19):
        wanted[i, i] += 2.0 + 2.0 * theta[i + 1] ** 2
        wanted[i + 1, i + 1] += 2.0 * theta[i] ** 2
        wanted[i, i + 1] = wanted[i + 1, i] = 4.0 * theta[i] * theta[i + 1]
    np.testing.assert_allclose(H, wanted, rtol=1e-12)
    names = tuple(f"x{n}" for n in range(120))
    assert derive(f"({'+'.join(names)})^2", names, ()).problem == (
        "formula: its Hessian has more than 6000 entries that are not zero"
    )
