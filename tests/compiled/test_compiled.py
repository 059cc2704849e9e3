"""What `tracker.compiled` promises beside the loop: an exponential in vectors, arrays that do not overlap, helpers as parts."""

from __future__ import annotations

import os
import subprocess
import sys
from itertools import combinations
from typing import NamedTuple

import numba
import numpy as np
import pytest
from worlds import ROOT, SCENARIOS

import tracker
from tracker.compiled import borrow, borrowed_arrays, disjoint, helper, helper_parts, implementation_hash, kernel
from tracker.compiled.fingerprint import code_hash
from tracker.compiled.generics import hash_of_kinds
from tracker.compiled.numba_loading import load_numba
from tracker.costs import base
from tracker.costs.base import gradient, value
from tracker.costs.mixture.likelihood import _surprises
from tracker.engine.ledger import Layout
from tracker.engine.loop import floats_of, furnish
from tracker.samplers import SAMPLERS
from tracker.samplers.base import state_size, unpack
from tracker.scenario.own_checks import check_at_start

# One word for each kind of key; the numbers do not matter, only the layout of the state.
KEYS = {
    "epsilon": 1e-2, "skew": "random", "skew_step": 1e-3, "skew_bounds": (-1.0, 1.0), "inner_steps": 3,
    "noise_step": 1e-3, "noise_bounds": (0.1, 1.0), "epsilon_step": 1e-4, "epsilon_bounds": (1e-3, 1e-1), "friction": 1.0, "rate": 0.1,
    "sampler": {"kind": "hessian", "skew": "random", "skew_step": 1e-3, "skew_bounds": (-1.0, 1.0)},
    "threshold": 10.0, "shift": 1.0, "noise_variance": 1.0, "curvature": 1.0,
}  # fmt: skip


@kernel
def summed(p, q, nodes, half_precision):
    return _surprises(p, q, nodes, half_precision)


@pytest.mark.parametrize("count", [1, 31, 32, 33, 100, 5000])
def test_the_sum_of_surprises_in_chunks(count):
    """Against logaddexp, one node at a time; 5000 nodes need the logarithm of the product more than once."""
    y = np.random.default_rng(count).normal(0.0, 3.0, count)
    p, q, v = 0.3, -1.2, 2.0
    wanted = -np.logaddexp(-((y - p) ** 2) / (2 * v), -((y - q) ** 2) / (2 * v)).sum()
    for found in (summed(p, q, y, 0.5 / v), _surprises(p, q, y, 0.5 / v)):
        assert found == pytest.approx(wanted, rel=1e-12)


def views(state):
    """All arrays of a state, with those of the sampler within."""
    parts = [views(part) if isinstance(part, tuple) else [part] for part in state]
    return [view for part in parts for view in part if view.size]


@pytest.mark.parametrize("kind", sorted(SAMPLERS))
@pytest.mark.parametrize("N", [2, 5])
def test_the_views_of_a_state_do_not_overlap(kind, N):
    """``stretch`` promises it to the compiler."""
    keys = SAMPLERS[kind]
    given = {name: KEYS[name] for name, field in keys.model_fields.items() if name in KEYS}
    sampler = keys(name="x", kind=kind, **given).build()
    buffer = np.arange(float(state_size(sampler, N)))
    for a, b in combinations(views(unpack(sampler, N, buffer)), 2):
        assert not np.shares_memory(a, b)


def test_the_scratch_of_the_loop_does_not_overlap():
    layout = Layout(10, 0, 1, 0, 1, 8, 2, 5, 3, 2, 1e9, 0.1)
    room = np.zeros(floats_of(layout, 4, 7, 6, 8))
    rooms, bounds = furnish(layout, 4, 7, 6, 8, room, np.zeros((4, 4, 8)), np.zeros(66))
    for a, b in combinations((*rooms, *bounds), 2):
        assert not np.shares_memory(a, b)
    assert sum(one.size for one in (*rooms, *bounds)) == room.size + 4 * 4 * 8 + 66


@disjoint
def twice_disjoint(a, b):
    a[0] = 1.0
    b[0] = 2.0
    return a[0]


@helper
def twice(a, b):
    a[0] = 1.0
    b[0] = 2.0
    return a[0]


@kernel
def read_back(a, b):
    return twice(a, b), twice_disjoint(a, b)


def test_the_promise_is_believed():
    """Control: with one array in both places only the helper without the promise reads what was written last."""
    assert read_back(np.zeros(1), np.zeros(1)) == (1.0, 1.0)
    shared = np.zeros(1)
    assert read_back(shared, shared) == (2.0, 1.0)


TINY = """
import sys
{before}
import tracker
from tracker.compiled import numba_options
settings = ["trials=2", "steps=16", "record_every=8", "chain.alpha=0.2"]
run = tracker.run(tracker.load("scenarios/example_a.toml", settings), executor=1)
print(run.summary["hash"], "pipeline_class" in numba_options.helper_options())
"""
# as if numba had lost every name of its own that the package imports, at import and at first use alike
MOVED = """
import builtins
known = builtins.__import__
def without_internals(name, globals=None, locals=None, fromlist=(), level=0):
    ours = (globals or {}).get("__name__", "").startswith("tracker.")
    if ours and (name.startswith(("numba.core", "numba.np")) or "_dynfunc" in (fromlist or ())):
        raise ImportError(f"{name} has moved")
    return known(name, globals, locals, fromlist, level)
builtins.__import__ = without_internals
"""


def test_whatever_becomes_of_numba_the_numbers_are_the_same():
    """Compiled as parts; numba's own way by the switch; and where nothing of numba's internals can be imported."""
    usual, plain, moved = (
        subprocess.Popen(
            [sys.executable, "-c", TINY.format(before=before)],
            cwd=ROOT,
            env={**os.environ, **variables},
            stdout=subprocess.PIPE,
            text=True,
        )
        for before, variables in (("", {}), ("", {"TRACKER_PLAIN_NUMBA": "1"}), (MOVED, {"TRACKER_CACHE_DIR": "off"}))
    )
    found = [process.communicate()[0].split() for process in (usual, plain, moved)]
    assert [parts for _, parts in found] == ["True", "False", "False"]
    assert len({hashed for hashed, _ in found}) == 1


def test_a_numba_that_makes_no_parts_compiles_helpers_its_own_way(monkeypatch):
    """Control: without the trial the same helper is not compiled at all."""
    load_numba()  # declares what was marked before
    assert helper_parts.works()
    monkeypatch.setattr(helper_parts.PartLibrary, "finalize", None)
    helper_parts.works.cache_clear()
    try:
        assert not helper_parts.works()
        assert numba.njit(lambda x: 1 + by_parts(x))(2.0) == 7.0
        monkeypatch.setattr(helper_parts, "works", lambda: True)
        with pytest.raises(TypeError, match="not callable"):
            numba.njit(lambda x: 1 + by_parts(x))(2)
    finally:
        monkeypatch.undo()
        helper_parts.works.cache_clear()


@helper
def by_parts(x):
    return 3 * x


def test_arrays_keep_their_counts_where_numba_cannot_drop_them(monkeypatch):
    """At the first use too. Control: the place that fails is the one that is used."""
    load_numba()  # declares what was marked before
    tried = []
    monkeypatch.setattr(borrowed_arrays, "without_counts", lambda *args: tried.append(args) or cause())
    assert numba.njit(lambda x: borrow((x, x))[1][0])(np.array([3.0])) == 3.0
    assert len(tried) == 1


def cause():
    raise AttributeError("numba has moved")


# --- costs from outside


def bowl(centre):
    """A class that is defined anew at each call, always under the same name: as when a cell of a notebook is run again."""

    class Bowl(NamedTuple):
        stiffness: float
        scale: np.ndarray

    @base.value.register(Bowl)
    def _(cost, theta, z):
        return cost.stiffness * (theta[0] - centre) ** 2

    @base.gradient.register(Bowl)
    def _(cost, theta, z, out):
        out[0] = 2.0 * cost.stiffness * (theta[0] - centre)

    return Bowl


@kernel
def slope_at_zero(cost):
    out = np.zeros(1)
    base.gradient(cost, np.zeros(1), np.zeros(1), out)
    return out[0]


def test_a_class_defined_again_is_compiled_again():
    """Numba takes two classes of one name and the same fields for one."""
    first, second = bowl(1.0), bowl(6.0)
    one, two = first(0.5, np.ones(1)), second(0.5, np.ones(1))
    assert [slope_at_zero(cost) for cost in (one, two, one, two)] == [-1.0, -6.0, -1.0, -6.0]
    assert len(slope_at_zero.signatures) == 2


def no_step(cost, theta, z, out):
    return


def no_cost(cost, theta):
    return 0.0


def test_what_comes_after_the_first_run_is_refused():
    kind = bowl(1.0)
    slope_at_zero(kind(0.5, np.ones(1)))
    base.hessian.register(kind)(no_step)  # no kernel has asked for it yet
    with pytest.raises(TypeError, match="gradient is already defined for Bowl"):
        base.gradient.register(kind)(no_step)

    class Child(kind):
        __slots__ = ()

    base.gradient.register(Child)(no_step)
    expectation(kind(0.5, np.ones(1)))
    with pytest.raises(TypeError, match="expected for Bowl comes after its first run"):
        base.expected.register(kind)(no_cost)


@kernel
def expectation(cost):
    return base.expected(cost, np.zeros(1))


def test_a_hash_of_code_sees_constants_globals_closures_and_helpers():
    kinds = [bowl(1.0), bowl(1.0), bowl(2.0)]
    hashes = [implementation_hash(kind) for kind in kinds]
    assert hashes[0] == hashes[1] != hashes[2]
    texts = ["def f(x): return g(x) + 1", "def f(x): return g(x) + 2", "def f(x): return g(x) - 1"]
    helpers = ["c = 1.0\ndef g(x): return c * x", "c = 2.0\ndef g(x): return c * x", "def g(x): return 2 * x"]
    assert len({code_hash(made(f"{g}\n{f}")) for f in texts for g in helpers}) == 9
    assert code_hash(made(f"{helpers[0]}\n{texts[0]}")) == code_hash(made(f"# moved\n\n{helpers[0]}\n{texts[0]}"))
    loop = made("def f(n): return f(n - 1) if n else 0")
    assert code_hash(loop) == code_hash(loop)


def made(text):
    space = {}
    exec(compile(text, "outside.py", "exec"), space)  # noqa: S102
    return space["f"]


def test_the_scenario_knows_the_code_of_its_own_cost():
    scenario = tracker.parse((SCENARIOS / "example_b.toml").read_text())
    one, same, other = (
        scenario.replace(modes=[kind(0.5, np.ones(1)), kind(1.0, np.ones(1))])
        for kind in (bowl(1.0), bowl(1.0), bowl(2.0))
    )
    assert one.sha256 == same.sha256 != other.sha256


def test_a_cost_cannot_write_to_its_own_arrays():
    """Threads share them: the result would depend on the number of workers."""

    class Scratch(NamedTuple):
        room: np.ndarray

    @base.value.register(Scratch)
    def _(cost, theta, z):
        return theta[0] ** 2

    @base.gradient.register(Scratch)
    def _(cost, theta, z, out):
        cost.room[0] = theta[0]
        out[0] = 2.0 * cost.room[0]

    mine = np.zeros(1)
    scenario = tracker.parse((SCENARIOS / "example_b.toml").read_text())
    with pytest.raises(tracker.ScenarioError, match="must not write to its own arrays"):
        tracker.run(scenario.replace(modes=[Scratch(mine), Scratch(mine)]), executor=1)
    mine[0] = 1.0  # the caller's own array is left as it was


RATE = 1.0


class Reads(NamedTuple):
    """A cost that reads a constant."""

    centre: float


@value.register(Reads)
def _reads(cost, theta, z):
    return RATE * (theta[0] - cost.centre) ** 2


@gradient.register(Reads)
def _reads_gradient(cost, theta, z, out):
    out[0] = 2 * RATE * (theta[0] - cost.centre)


def test_a_constant_that_changes_after_compiling_is_told_not_ignored(monkeypatch):
    keys = {"kind": "langevin", "epsilon": 0.1}
    world = {"name": "reads", "trials": 1, "steps": 4, "start": [0.0], "baselines": []}
    scenario = tracker.parse({**world, "modes": {"one": Reads(1.0)}, "samplers": {"s": keys}})
    hash_of_kinds((Reads,))  # as if it had been compiled
    check_at_start(scenario)
    monkeypatch.setattr(sys.modules[__name__], "RATE", 2.0)
    with pytest.raises(tracker.ScenarioError, match="Reads: a function of it, or a helper or constant"):
        check_at_start(scenario)
