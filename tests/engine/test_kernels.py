"""The loop against a naive transcription (naive.py), step by step; and compiled against interpreted.

Compiling a pair (sampler, family of costs) takes seconds, so by default every sampler and every family is compiled at
least once, and all pairs run interpreted. ``TRACKER_ALL_KERNELS=1`` compiles all pairs.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Mapping
from contextlib import nullcontext
from functools import cache
from typing import Any

import naive
import numpy as np
import pytest
from interpreting import interpreting
from stepping import Steps
from worlds import scenario_of

import tracker
from tracker.costs.csv_rows import DataFile
from tracker.engine import blocks
from tracker.engine import simulate as engine
from tracker.metrics.averages import pooled_moments
from tracker.samplers import SAMPLERS

ORACLE = 1e-12  # relative to the largest entry of the path: the order of additions differs
QUADRATURE = 1e-10  # of the expected cost of a streaming mixture: two quadratures
STEPS, BURN_IN, SEED, TRIALS = 500, 60, 2**40 + 11, (0, 7)
CHAIN = {"alpha": 0.03, "Q": [[-1.0, 1.0], [0.6, -0.6]], "initial": [0.5, 0.5]}
OUTAGE, FORCED = (101, 37), 333
LOW, HIGH = -0.45, 0.6

MOVING = {"skew": 0.8, "skew_bounds": [LOW, HIGH]}  # S_0 is outside the bounds
KINDS: dict[str, dict[str, Any]] = {
    "langevin": {"kind": "langevin"},
    "accelerated": {"kind": "accelerated", "skew": "random"},
    "hessian": {"kind": "hessian", **MOVING, "skew_step": 0.05},
    "ascent": {"kind": "hessian", **MOVING, "skew": "random", "skew_step": -0.05},
    "resets": {"kind": "hessian", **MOVING, "skew_step": 0.02, "tangent_limit": 0.25},
    "spsa": {"kind": "spsa", **MOVING, "skew_step": 0.3},
    "spsa-same": {"kind": "spsa", **MOVING, "skew_step": 0.3, "cost_observation": "same"},
    "spsa-hold": {"kind": "spsa", **MOVING, "skew": "random", "skew_step": 0.3, "hold": 7, "perturbation": 0.2},
    "spsa-hold-same": {"kind": "spsa", **MOVING, "skew_step": 0.3, "hold": 4, "cost_observation": "same"},
    "two": {"kind": "two-timescale-spsa", **MOVING, "skew_step": 0.2, "inner_steps": 3},
    "two-same": {
        "kind": "two-timescale-spsa", **MOVING, "skew_step": 0.2, "inner_steps": 2, "cost_observation": "same",
        "perturbation": 0.3,
    },
    "wandering": {"kind": "wandering", **MOVING, "skew_step": 0.2},
    "tempered": {"kind": "tempered", "noise_step": 0.05, "noise_bounds": [0.3, 1.6]},
    "tempered-ascent": {"kind": "tempered", "noise_step": -0.04, "noise_bounds": [0.0, 1.6], "noise_start": 0.7},
    "tempered-resets": {"kind": "tempered", "noise_step": 0.02, "noise_bounds": [0.3, 1.6], "tangent_limit": 0.3},
    "adaptive-step": {"kind": "adaptive-step", "epsilon_step": 1e-6, "epsilon_bounds": [1e-3, 0.1]},
    "adaptive-step-resets": {
        "kind": "adaptive-step", "epsilon_step": 1e-5, "epsilon_bounds": [1e-3, 0.1], "tangent_limit": 3.0, "beta": "inf",
    },
    "kinetic": {"kind": "kinetic", "friction": 2.5},
    "heavy-ball": {"kind": "kinetic", "friction": 2.5, "beta": "inf"},
    "psgld": {"kind": "psgld"},
    "psgld-short": {"kind": "psgld", "second_decay": 0.5, "floor": 0.1},
    "averaged": {"kind": "averaged", "sampler": {"kind": "kinetic", "friction": 2.5}, "rate": 0.2},
    "restart": {
        "kind": "restart", "sampler": {"kind": "langevin"}, "threshold": 11.0, "shift": 1.0, "noise_variance": 0.5,
        "curvature": 30.0, "floor": 0.001,
    },
    "restart-hot": {
        "kind": "restart", "sampler": {"kind": "hessian", "skew": 0.0, "skew_bounds": [LOW, HIGH], "skew_step": 0.05},
        "threshold": 4.0, "shift": 1.0, "noise_variance": 0.5, "action": "hot", "hot_beta": 0.5, "hot_steps": 5,
    },
    "restart-told": {
        "kind": "restart", "sampler": {"kind": "kinetic", "friction": 2.5}, "detector": "true-times", "action": "hot", "hot_beta": 0.5,
        "hot_steps": 9,
    },
}  # fmt: skip
BASELINES = ["frozen", "oracle"]

H = [[2.0, 0.3], [0.3, 1.0]], [[1.0, -0.2], [-0.2, 1.5]]
M = [1.0, -1.0], [-1.0, 0.5]
COVARIANCE = [[0.5, 0.1], [0.1, 0.4]]
WELLS = "(a^2 - 1)^2/2 {} 0.4*a + 2*b^2 + 0.3*a*b + b^4/4"
BASIS = np.array([[0.8, 0.6], [-0.5, 0.9]])
EXAMPLE_1 = {
    "cost": "mixture", "means": [[1, 0], [1, 1]], "variance": 2, "prior_mean": [0, 0.5], "prior_variance": [10, 1],
    "horizon": 12, "target": {"radius": 0.5},
}  # fmt: skip
STREAM = {**EXAMPLE_1, "truth": [0, 1], "data": "stream"}
STORED = {**EXAMPLE_1, "truth": [1.5, -2], "data_seed": 4}


DATA = "label,x\n1,0.5\n1,-1.5\n0,2.0\n1,1.0\n0,-0.25\n0,-2.0\n"
ROWS = {
    "cost": "logistic", "data": DataFile("rows.csv", DATA.encode()), "features": ["x"], "label": "label",
    "standardize": False, "prior_variance": 4, "horizon": 6, "target": {"radius": 0.5},
}  # fmt: skip


def wells(sign: str, **keys: Any) -> dict[str, Any]:
    return {
        "cost": "polynomial", "variables": ["a", "b"], "formula": WELLS.format(sign), "gradient_noise": COVARIANCE,
        "target": {"radius": 0.4}, **keys,
    }  # fmt: skip


WORLDS: dict[str, list[dict[str, Any]]] = {
    "quadratic": [
        {"cost": "quadratic", "curvature": h, "minimum": m, "gradient_noise": COVARIANCE}
        for h, m in zip(H, M, strict=True)
    ],
    "polynomial": [wells("-"), wells("+")],
    "formula": [
        {
            **wells("+"),
            "cost": "formula",
            "formula": WELLS.format("+").replace("0.4", "tilt"),
            "parameters": {"tilt": tilt},
        }
        for tilt in (-0.4, 0.4)
    ],
    "basis": [wells(sign, basis=BASIS.tolist()) for sign in "-+"],
    "stored": [{**STORED, "data": "sweep"}, {**STORED, "data": "shuffle", "data_seed": 5, "truth": [0, 1]}],
    "stream": [STREAM, {**STREAM, "truth": [1.5, -2]}],
    "full": [{**STORED, "data": "full"}, {**STORED, "data": "full", "data_seed": 5, "truth": [0, 1]}],
    "logistic": [ROWS, {**ROWS, "relabel": "flip"}],
}
WRAPPERS = ["averaged", "restart", "restart-hot", "restart-told"]
RIVALS = ["adaptive-step", "adaptive-step-resets", "kinetic", "heavy-ball", "psgld", "psgld-short"]
EVERY = [*KINDS, *BASELINES]
FEW = ["langevin", "accelerated", "hessian", "spsa", "two", "tempered", "adaptive-step", "kinetic", "psgld", "oracle"]
INTERPRETED = {**dict.fromkeys(WORLDS, EVERY), "stream": ["langevin", "two", "oracle"], "full": FEW, "basis": FEW}
INTERPRETED["logistic"] = FEW
COMPILED = {
    "quadratic": [
        "langevin",
        "accelerated",
        "wandering",
        "tempered",
        "tempered-ascent",
        "tempered-resets",
        *RIVALS,
        *WRAPPERS,
        *BASELINES,
    ],
    "polynomial": ["hessian", "ascent", "resets", "spsa", "spsa-same", "spsa-hold", "spsa-hold-same"],
    "formula": ["hessian"],
    "stored": ["two", "two-same"],
    "stream": ["two"],
}
if os.environ.get("TRACKER_ALL_KERNELS") == "1":
    INTERPRETED = COMPILED = dict.fromkeys(WORLDS, EVERY)
EXACT = {"quadratic", "polynomial"}  # + - * / sqrt only: compiled and interpreted agree bit for bit

CASES = [
    *(
        pytest.param(world, name, False, id=f"interpreted-{world}-{name}")
        for world in WORLDS
        for name in INTERPRETED[world]
    ),
    *(pytest.param(world, name, True, id=f"compiled-{world}-{name}") for world in COMPILED for name in COMPILED[world]),
]


def keys_of(world: str, name: str) -> dict[str, Any]:
    """The keys of a sampler; the costs of a mixture are larger, and so are their differences, hence shorter steps."""
    shorter = 0.2 if "means" in WORLDS[world][0] else 1.0
    keys = {"epsilon": 0.04 * shorter, "beta": 3.0, **KINDS.get(name, {"kind": name})}
    if KINDS.get(name, {}).get("kind") in ("spsa", "two-timescale-spsa"):
        keys["skew_step"] *= shorter
    return keys


@cache
def problem_of(world: str) -> engine.Problem:
    return engine.prepare(
        scenario_of(
            WORLDS[world],
            [{"name": name, **keys_of(world, name)} for name in KINDS],
            burn_in=BURN_IN,
            start={"mean": [0.5, 0.0], "covariance": [[0.3, 0.1], [0.1, 0.2]]},
            chain=CHAIN,
            interventions=[
                {"kind": "outage", "at": OUTAGE[0], "steps": OUTAGE[1]},
                {"kind": "switch", "at": FORCED, "to": "mode-0"},
                {"kind": "switch", "at": FORCED + 20, "to": "mode-1"},
            ],
        )
    )


class Arrays(Mapping[str, dict[str, Any]]):
    """What ``simulate`` returns of each contestant, first axis the trial; each is simulated when it is asked for."""

    def __init__(self, world: str, *, compiled: bool) -> None:
        self._world, self._compiled = world, compiled
        names = (COMPILED if compiled else INTERPRETED)[world]
        self._alone = {c.name: (c,) for c in problem_of(world).contestants if c.name in names}
        self._found: dict[str, dict[str, Any]] = {}

    def __getitem__(self, name: str) -> dict[str, Any]:
        if name not in self._found:
            problem = problem_of(self._world)._replace(contestants=self._alone[name])
            with nullcontext() if self._compiled else interpreting():
                arrays, _ = engine.simulate(problem, TRIALS)
            shared = {"trial", "mode", "final_mode", "switches", "jumps", "censored", "exits", "at_risk"}
            mine = {
                key: array if key in shared else array[:, 0]
                for key, array in arrays.items()
                if array.shape[1:2] != (0,)
            }
            nothing = {"skew": np.zeros((len(TRIALS), STEPS + 1, 0)), "sigma": np.zeros((len(TRIALS), 0))}
            self._found[name] = {**nothing, **mine}
        return self._found[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._alone)

    def __len__(self) -> int:
        return len(self._alone)


@cache
def arrays_of(world: str, compiled: bool, /) -> Arrays:
    return Arrays(world, compiled=compiled)


def naive_costs(world: str) -> list[Any]:
    """The modes of a world, transcribed; only the minimisers are the engine's (test_minimisers checks them)."""
    built = problem_of(world).modes
    if world == "quadratic":
        quarter = float(np.linalg.norm(np.subtract(*M))) / 4
        return [naive.quadratic(h, m, COVARIANCE, quarter) for h, m in zip(H, M, strict=True)]
    if world in ("polynomial", "basis", "formula"):
        costs = [naive_wells(sign, mode.minimisers) for sign, mode in zip((-1, 1), built, strict=True)]
        return costs if world != "basis" else [naive.in_basis(cost, BASIS) for cost in costs]
    if world == "logistic":
        return [naive_logistic(sign, mode.minimisers) for sign, mode in zip((1, -1), built, strict=True)]
    return [naive_mixture(keys, mode.minimisers) for keys, mode in zip(WORLDS[world], built, strict=True)]


def naive_wells(sign: int, minimisers: np.ndarray) -> naive.Smooth:
    return naive.Smooth(
        C=lambda u: (u[0] ** 2 - 1) ** 2 / 2 + sign * 0.4 * u[0] + 2 * u[1] ** 2 + 0.3 * u[0] * u[1] + u[1] ** 4 / 4,
        slope=lambda u: np.array(
            [2 * u[0] * (u[0] ** 2 - 1) + sign * 0.4 + 0.3 * u[1], 4 * u[1] + 0.3 * u[0] + u[1] ** 3]
        ),
        curvature=lambda u: np.array([[6 * u[0] ** 2 - 2, 0.3], [0.3, 4 + 3 * u[1] ** 2]]),
        factor=np.linalg.cholesky(np.array(COVARIANCE)),
        minimisers=minimisers,
        radius=0.4,
    )


def naive_logistic(sign: int, minimisers: np.ndarray) -> naive.Logistic:
    label, x = np.array([line.split(",") for line in DATA.split()[1:]], dtype=float).T
    rows = np.stack([x, np.ones(x.size)], axis=1)
    return naive.Logistic(rows, sign * (2 * label - 1), 4.0, 6, minimisers, 0.5)


def naive_mixture(keys: dict[str, Any], minimisers: np.ndarray) -> naive.Mixture:
    means, truth, T = np.array(keys["means"], dtype=float), np.array(keys["truth"], dtype=float), keys["horizon"]
    y = np.zeros(0)
    if "data_seed" in keys:
        rng = np.random.default_rng(keys["data_seed"])
        component = rng.integers(0, 2, size=T)
        y = means[component] @ truth + np.sqrt(keys["variance"]) * rng.standard_normal(T)
    return naive.Mixture(
        means, keys["variance"], np.array(keys["prior_mean"]), np.array(keys["prior_variance"]), T, keys["data"], truth,
        y, minimisers, keys["target"]["radius"],
    )  # fmt: skip


@cache
def modes_of(world: str, trial: int) -> tuple[int, ...]:
    """x_0, ..., x_K of a trial, from the environment alone (test_environment checks it)."""
    environment = engine.Environment(problem_of(world).plan, SEED, [trial])
    timeline = environment.advance(STEPS)
    lengths = np.diff(timeline.end, prepend=0)
    return (*np.repeat(timeline.mode, lengths).tolist(), int(environment.present[0]))


@cache
def naive_trial(world: str, name: str, trial: int) -> naive.Trial:
    start = np.linalg.cholesky([[0.3, 0.1], [0.1, 0.2]]) @ naive.stream(SEED, naive.START, trial).standard_normal(2)
    keys = keys_of(world, name)
    drawn = naive.stream(SEED, naive.SKEW, trial).standard_normal(1)
    skew = [keys["skew"]] if isinstance(keys.get("skew"), float) else drawn if "skew" in keys else [0.0]
    sampler = naive.SAMPLERS[keys["kind"]](keys, np.array([0.5, 0.0]) + start, naive.skew_from(skew, 2), SEED, trial)
    dark = [OUTAGE[0] <= k < sum(OUTAGE) for k in range(STEPS)]
    return naive.run(sampler, naive_costs(world), modes_of(world, trial), dark)


@cache
def measured(world: str, name: str, trial: int) -> naive.Metrics:
    epsilon = keys_of(world, name)["epsilon"] if name in KINDS else 0.0
    relaxation = [1 / (epsilon * naive.softest(cost)) if epsilon else np.inf for cost in naive_costs(world)]
    every = 1 if world == "quadratic" else 17
    return naive.measure(
        naive_trial(world, name, trial), naive_costs(world), modes_of(world, trial), BURN_IN, every, relaxation
    )


def assert_close(got: Any, wanted: Any, tolerance: float = ORACLE) -> None:
    scale = max(1.0, float(np.abs(wanted).max(initial=0.0)))
    np.testing.assert_allclose(got, wanted, rtol=0, atol=tolerance * scale)


# --- the loop against the transcription


def test_every_sampler_is_compiled_and_transcribed():
    kinds = {keys["kind"] for keys in KINDS.values()}
    compiled = {KINDS[name]["kind"] for names in COMPILED.values() for name in names if name in KINDS}
    assert kinds == compiled == set(SAMPLERS)
    assert kinds | set(BASELINES) == set(naive.SAMPLERS)


@pytest.mark.parametrize("trial", TRIALS)
def test_the_world_is_eventful(trial):
    modes = np.array(modes_of("quadratic", trial))
    assert (np.diff(modes) != 0).sum() >= 6
    assert modes[FORCED] == 0
    assert modes[FORCED + 20] == 1
    assert (arrays_of("quadratic", False)["langevin"]["mode"][TRIALS.index(trial)] == modes).all()


@pytest.mark.parametrize(("world", "name", "compiled"), CASES)
def test_path_equals_naive(world, name, compiled):
    got = arrays_of(world, compiled)[name]
    for t, trial in enumerate(TRIALS):
        wanted = naive_trial(world, name, trial)
        assert got["diverged"][t] == wanted.diverged == -1
        assert_close(got["theta"][t], wanted.theta)
        assert_close(got["final"][t], wanted.theta[-1])
        assert_close(got["error"][t], wanted.error)
        if got["skew"].shape[-1]:
            assert_close(got["skew"][t], wanted.S[:, [1], [0]])
        if "skew" in KINDS.get(name, {}):
            assert_close(got["final_skew"][t], wanted.S[-1][[1], [0]])
        if got["sigma"].shape[-1]:
            assert_close(got["sigma"][t], wanted.sigma)
            assert np.ptp(wanted.sigma) > 0.1
        assert got["resets"][t] == wanted.resets
        assert (wanted.resets > 0) == name.endswith("resets")


@pytest.mark.parametrize(("world", "name", "compiled"), CASES)
def test_sums_equal_naive(world, name, compiled):
    got, problem = arrays_of(world, compiled)[name], problem_of(world)
    for t, trial in enumerate(TRIALS):
        wanted = measured(world, name, trial)
        sums = QUADRATURE if world == "stream" else ORACLE
        for x in range(2):
            assert_close(got["by_mode"][t, x], wanted.by_mode[x], sums)
        ages = np.zeros_like(got["by_age"][t])
        for age, row in wanted.by_age.items():
            ages[np.searchsorted(naive.edges(STEPS, 4), age, side="right") - 1] += row
        assert_close(got["by_age"][t], ages, sums)
        counts = np.zeros_like(got["waits"][t])
        for mode, wait, censored in wanted.waits:
            counts[mode, np.searchsorted(naive.edges(STEPS, 32), wait, side="right") - 1, int(censored)] += 1
        np.testing.assert_array_equal(got["waits"][t], counts)
        stays = np.zeros_like(got["stays"][t])
        for mode, still in wanted.stays:
            stays[mode] += [1, int(still)]
        np.testing.assert_array_equal(got["stays"][t], stays)
        moments = pooled_moments(got["moments"][t][np.newaxis], STEPS - BURN_IN, problem.origin)
        assert_close(moments.mean, wanted.mean)
        assert_close(moments.covariance, wanted.second - np.outer(wanted.mean, wanted.mean))


@pytest.mark.parametrize("name", KINDS)
def test_a_formula_that_is_a_polynomial_goes_the_same_way(name):
    one, two = arrays_of("polynomial", False)[name], arrays_of("formula", False)[name]
    np.testing.assert_allclose(one["theta"], two["theta"], rtol=0, atol=ORACLE * np.abs(one["theta"]).max())
    np.testing.assert_array_equal(one["mode"], two["mode"])


def test_waits_of_both_kinds_occur():
    """Controls for the counts above: re-acquisitions at once, later, and censored ones."""
    waits = sum(arrays_of("polynomial", False)[name]["waits"].sum(axis=0) for name in KINDS)
    assert (waits.sum(axis=(1, 2)) > 0).all()
    assert waits[:, 0, 0].sum() > 0
    assert waits[:, 1:, 0].sum() > 0
    assert waits[:, :, 1].sum() > 0


def test_stays_of_both_kinds_occur():
    """Controls: some are inside still, some are not; the baselines have no relaxation time and are not looked at."""
    looked, still = sum(arrays_of("quadratic", False)[name]["stays"].sum(axis=(0, 1)) for name in KINDS)
    assert looked > still > 0
    assert not any(arrays_of("quadratic", False)[name]["stays"].any() for name in BASELINES)


@pytest.mark.parametrize("world", WORLDS)
def test_excess_cost_equals_naive(world):
    """At the recorded steps, C(theta_k, x_k) less its minimum; every 25th is compared."""
    got = arrays_of(world, False)["langevin"]["excess"][0]
    costs, modes = naive_costs(world), modes_of(world, TRIALS[0])
    theta = naive_trial(world, "langevin", TRIALS[0]).theta
    for k in range(0, STEPS + 1, 25):
        cost = costs[modes[k]]
        wanted = cost.expected(theta[k]) - cost.expected(cost.minimisers[0])
        assert_close(
            got[k], wanted, QUADRATURE if world == "stream" else ORACLE * max(1.0, abs(cost.expected(theta[k])))
        )


@pytest.mark.parametrize("world", WORLDS)
def test_an_outage_stops_everything_but_the_chain(world):
    arrays, dark = arrays_of(world, False), slice(OUTAGE[0], sum(OUTAGE) + 1)
    for name in set(KINDS) & set(arrays):
        for key in ("theta", "skew", "sigma"):
            stretch = arrays[name][key][:, dark]
            assert (stretch == stretch[:, :1]).all()
            if stretch.size and key == "theta":
                assert (arrays[name][key][:, dark.stop] != stretch[:, -1]).all()


@pytest.mark.parametrize("name", [name for name, keys in KINDS.items() if "skew_bounds" in keys])
def test_bounds_hold_and_are_met(name):
    S = arrays_of("polynomial", False)[name]["skew"]
    assert S.min() >= LOW
    assert S.max() <= HIGH
    if KINDS[name]["skew"] == 0.8 and name != "wandering":
        assert (S[:, 0] == HIGH).all()  # S_0 is clipped
    if KINDS[name]["kind"] in ("spsa", "two-timescale-spsa"):
        assert ((S[:, 1:] == LOW) | (S[:, 1:] == HIGH)).any()


# --- compiled against interpreted


@pytest.mark.parametrize(("world", "name"), [(world, name) for world in COMPILED for name in COMPILED[world]])
def test_compiled_equals_interpreted(world, name):
    """Oracle: bit for bit where only + - * / and square roots occur."""
    got, wanted = arrays_of(world, True)[name], arrays_of(world, False)[name]
    assert set(got) == set(wanted)
    for key, array in got.items():
        if world in EXACT:
            np.testing.assert_array_equal(array, wanted[key], err_msg=key)
        else:
            assert_close(array, wanted[key])


# --- step by step: one-step blocks, so that the whole state can be seen


def test_skew_is_exactly_antisymmetric_in_four_dimensions():
    kinds = ["hessian", "spsa-hold", "spsa-same"]
    formula = "w^4 + x^2 + 2*y^2 + z^4/4 + w*x/2 - y*z/3 + x*z/4"
    mode = {"cost": "polynomial", "variables": list("wxyz"), "formula": formula, "gradient_noise": 0.5}
    other = {**mode, "formula": formula + " - w + z", "target": {"radius": 0.3}}
    samplers = [{**KINDS[kind], "skew": "random"} for kind in kinds]
    problem = engine.prepare(scenario_of([mode, other], samplers, steps=200, start=[1.0, -1.0, 0.5, 2.0], chain=CHAIN))
    for contestant in problem.contestants[: len(kinds)]:
        S = Steps(problem._replace(contestants=(contestant,)), trial=3).stack("S")
        np.testing.assert_array_equal(S, -np.transpose(S, (0, 2, 1)))
        lower = S[:, *np.tril_indices(4, -1)]
        assert lower.min() >= LOW
        assert lower.max() <= HIGH
        assert np.ptp(lower, axis=0).min() > 0  # all of it moves


def test_blocks_and_cells_do_not_matter():
    """Blocks of one step give the path and, up to the order of additions, the sums of one block; the next test is exact."""
    whole = problem_of("polynomial")
    contestants = tuple(c for c in whole.contestants if c.name == "spsa-hold")
    steps = Steps(whole._replace(contestants=contestants), TRIALS[1])
    wanted = arrays_of("polynomial", True)["spsa-hold"]
    np.testing.assert_array_equal(steps.stack("theta"), wanted["theta"][1][1:])
    np.testing.assert_array_equal(steps.ledger.waits[0], wanted["waits"][1])
    assert_close(steps.ledger.sums[0], np.concatenate([wanted["by_mode"][1], wanted["by_age"][1]]))


def test_blocks_of_whole_cells_change_no_bit(monkeypatch):
    wanted = arrays_of("polynomial", True)["hessian"]
    whole = problem_of("polynomial")
    monkeypatch.setattr(blocks, "whole_cells", lambda problem, *_: problem.layout.cell)
    got, _ = engine.simulate(
        whole._replace(contestants=tuple(c for c in whole.contestants if c.name == "hessian")), TRIALS
    )
    for key, array in got.items():
        if array.size == 0:  # of samplers that are not here
            continue
        alone = array[:, 0] if array.ndim > wanted[key].ndim else array
        np.testing.assert_array_equal(alone, wanted[key], err_msg=key)


def test_a_trial_does_not_depend_on_its_neighbours():
    whole = problem_of("polynomial")
    problem = whole._replace(contestants=tuple(c for c in whole.contestants if c.name == "spsa"))
    other, _ = engine.simulate(problem, [TRIALS[1], 5, 2])
    together = arrays_of("polynomial", True)["spsa"]
    for key in ("theta", "waits", "by_mode", "by_age", "moments"):
        np.testing.assert_array_equal(other[key][0, 0], together[key][1], err_msg=key)
        assert (other[key][1, 0] != together[key][1]).any()  # control: another trial is another path


def test_a_large_product_goes_through_blas():
    """N = 6: compiled and interpreted call the same product, within rounding."""
    names = list("abcdef")
    formula = " + ".join(f"{n + 1}*{v}^2/4 + {v}^4/8" for n, v in enumerate(names)) + " + a*b/3 - c*f/4 + d*e/5"
    mode = {
        "cost": "polynomial",
        "variables": names,
        "formula": formula,
        "gradient_noise": 0.3,
        "target": {"radius": 1},
    }
    scenario = scenario_of(
        [mode, {**mode, "formula": formula + " - a + 2*d"}], [{**KINDS["hessian"], "skew": "random"}], steps=120,
        start=[1.0, -1.0, 0.5, 2.0, 0.0, -0.5], chain=CHAIN,
    )  # fmt: skip
    problem = engine.prepare(scenario)
    problem = problem._replace(contestants=problem.contestants[:1])
    got, _ = engine.simulate(problem, [0, 1])
    with interpreting():
        wanted, _ = engine.simulate(problem, [0, 1])
    assert np.ptp(got["skew"], axis=2).min() > 0
    for key, array in got.items():
        assert_close(array, wanted[key])


# --- trials that run away


def test_an_unstable_step_marks_the_trial_and_the_others_go_on():
    """x - eps 4 x^3 runs away from |x| > 1/sqrt(2 eps): some starts do, others do not."""
    mode = {"cost": "polynomial", "variables": ["x", "y"], "formula": "x^4 + y^2", "target": {"radius": 0.5}}
    sampler = {"kind": "spsa", "skew": 0.0, "skew_step": 0.0, "skew_bounds": [-1, 1], "beta": "inf", "epsilon": 0.05,
               "perturbation": 1e-12}  # fmt: skip
    start = {"mean": [2.5, 0.3], "covariance": [[4.0, 0.0], [0.0, 0.01]]}
    scenario = scenario_of([mode, mode], [sampler], steps=60, start=start, schedule={"switches": [[0, "mode-0"]]})
    problem = engine.prepare(scenario)
    problem = problem._replace(contestants=problem.contestants[:1])
    trials = range(8)
    arrays, _ = engine.simulate(problem, trials)
    cost = naive.Smooth(
        C=lambda u: u[0] ** 4 + u[1] ** 2,
        slope=lambda u: np.array([4 * u[0] ** 3, 2 * u[1]]),
        curvature=lambda u: np.diag([12 * u[0] ** 2, 2.0]),
        factor=np.zeros((2, 0)),
        minimisers=np.zeros((1, 2)),
        radius=0.5,
    )
    found = []
    for trial in trials:
        normals = naive.stream(SEED, naive.START, trial).standard_normal(2)
        theta = np.array([2.5, 0.3]) + np.sqrt([4.0, 0.01]) * normals
        runaway = 1e16 * (1 + 2.5) ** 2  # 1e8 times the largest coordinate that the scenario names, plus 1
        naive_sampler = naive.Spsa(sampler, theta, np.zeros((2, 2)), SEED, trial)
        wanted = naive.run(naive_sampler, [cost], [0] * 61, [False] * 60, runaway)
        found.append(wanted.diverged)
        assert arrays["diverged"][trial, 0] == wanted.diverged
        kept = len(wanted.theta) if wanted.diverged < 0 else wanted.diverged
        np.testing.assert_allclose(arrays["theta"][trial, 0, :kept], wanted.theta[:kept], rtol=1e-9)
        assert np.isnan(arrays["theta"][trial, 0, kept + 1 :]).all()
        assert arrays["by_mode"][trial, 0, 0, 0] == (60 if wanted.diverged < 0 else wanted.diverged)
    assert min(found) == -1  # control: both fates occur, and not all at one step
    assert len(set(found)) >= 3


def test_a_trial_that_runs_away_in_its_last_step_is_marked_too():
    """theta_K takes no further step, and is looked at all the same: it would enter the moments of `final`."""
    mode = {"cost": "polynomial", "variables": ["x", "y"], "formula": "x^4 + y^2", "target": {"radius": 0.5}}
    sampler = {"kind": "spsa", "skew": 0.0, "skew_step": 0.0, "skew_bounds": [-1, 1], "beta": "inf", "epsilon": 0.05,
               "perturbation": 1e-12}  # fmt: skip
    marks = []
    for steps in (3, 4, 5):  # from x = 4, |x| passes 5e8 in the fourth step
        scenario = scenario_of(
            [mode, mode], [sampler], steps=steps, start=[4.0, 0.3], schedule={"switches": [[0, "mode-0"]]}
        )
        problem = engine.prepare(scenario)
        arrays, _ = engine.simulate(problem._replace(contestants=problem.contestants[:1]), range(2))
        marks.append(arrays["diverged"][:, 0].tolist())
    assert marks == [[-1, -1], [4, 4], [4, 4]]


@pytest.mark.parametrize(("steps", "mark"), [(3, -1), (4, 4), (5, 4)])
def test_a_last_point_between_the_two_limits_is_looked_at(steps, mark):
    """From 1, times -125 in each step: theta_4 = 2.44e8 is too far from the minimiser, by the limit of 2e8.

    The look after each step is at all coordinates together, and lets pass up to 2e8 sqrt(2). So only the look at theta_K, or the
    next step, sees it.
    """
    text = f"""
name = "last"
trials = 2
steps = {steps}
record_every = 1
start = [1.0, 0.0]
[[modes]]
name = "only"
cost = "quadratic"
minimum = [0.0, 0.0]
curvature = [[126.0, 0.0], [0.0, 1.0]]
[[samplers]]
name = "classical"
kind = "langevin"
epsilon = 1.0
beta = "inf"
"""
    assert 2e8 < 125.0**4 < 2e8 * math.sqrt(2)
    arrays = interpreted_arrays(text)
    assert arrays["diverged"][:, 0].tolist() == [mark, mark]
    np.testing.assert_allclose(arrays["theta"][0, 0, :4, 0], [1.0, -125.0, 125.0**2, -(125.0**3)], rtol=1e-12)
    assert np.isnan(arrays["theta"][0, 0, 5:]).all()
    if steps == 4:
        assert np.isnan(arrays["theta"][:, 0, 4]).all()  # no record of it either


def diverged_of(text):
    """Steps of divergence of the first sampler."""
    return interpreted_arrays(text)["diverged"][:, 0]


def interpreted_arrays(text):
    """What the first sampler leaves, by the interpreted loop: nothing to compile."""
    problem = engine.prepare(tracker.parse(text))
    problem = problem._replace(contestants=problem.contestants[:1])
    with interpreting(), np.errstate(all="ignore"):
        arrays, _ = engine.simulate(problem, range(2))
    return arrays


BLIND = """
name = "blind"
trials = 2
steps = 60
start = [0.5, 0.1]
[[modes]]
name = "only"
cost = "mixture"
means = [[1.0, 0.0], [2.0, 0.0]]
variance = 1.0
prior_mean = [0.0, 0.0]
prior_variance = [10.0, {variance}]
horizon = 20
data = "sweep"
data_seed = 1
truth = [0.3, 0.0]
[[samplers]]
name = "classical"
kind = "langevin"
epsilon = 0.01
"""


def test_running_away_where_distances_are_blind_is_seen():
    """The mixture measures (means[0]'theta, means[1]'theta): theta_2 is in neither, and explodes at epsilon > 2 v."""
    assert (diverged_of(BLIND.format(variance="1e-3")) > 0).all()
    assert (diverged_of(BLIND.format(variance="1.0")) == -1).all()  # control: the same without the instability


@pytest.mark.parametrize("minimum", [1.0, 1e9])
def test_far_is_measured_in_the_scale_of_the_scenario(minimum):
    text = f"""
name = "far"
trials = 2
steps = 10
start = [0.0, 0.0]
[[modes]]
name = "only"
cost = "quadratic"
minimum = [{minimum}, 0.0]
curvature = [[1.0, 0.0], [0.0, 1.0]]
[[samplers]]
name = "classical"
kind = "langevin"
epsilon = 0.1
"""
    assert (diverged_of(text) == -1).all()
