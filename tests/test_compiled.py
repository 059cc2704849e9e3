"""What `tracker.compiled` promises beside the loop: an exponential in vectors, arrays that do not overlap, helpers as parts."""

from __future__ import annotations

from decimal import Decimal, localcontext
from itertools import combinations

import numpy as np
import pytest

from tracker.compiled import deferred, disjoint, helper, kernel
from tracker.costs.mixture_kernels import _surprises
from tracker.exponential import HIGHEST, LOWEST, exponential
from tracker.loop import Layout, furnish
from tracker.samplers import SAMPLERS
from tracker.samplers.base import state_size, unpack

# One word for each kind of key; the numbers do not matter, only the layout of the state.
KEYS = {
    "epsilon": 1e-2, "skew": "random", "skew_step": 1e-3, "skew_bounds": (-1.0, 1.0), "inner_steps": 3,
    "noise_step": 1e-3, "noise_bounds": (0.1, 1.0),
}  # fmt: skip


@kernel
def exponentials(x, out):
    for i in range(x.size):
        out[i] = exponential(x[i])


def ulps(x, found):
    """Distances to the true exponential (by 60-digit arithmetic), in units of its last place."""
    with localcontext() as context:
        context.prec = 60
        wanted = [Decimal(v).exp() for v in x.tolist()]
        return [
            float(abs(Decimal(f) - w) / Decimal(float(np.spacing(float(w)))))
            for f, w in zip(found, wanted, strict=True)
        ]


@pytest.fixture(scope="module")
def arguments():
    rng = np.random.default_rng(1)
    return np.concatenate(
        [rng.uniform(LOWEST, HIGHEST, 800), rng.uniform(-2.0, 0.0, 800), [LOWEST, HIGHEST, 0.0, -0.0, 1e-300]]
    )


def test_the_exponential_is_exact_to_the_last_place(arguments):
    """The docstring's 1.5: half a unit for the last rounding, and some of the steps before."""
    found = np.empty_like(arguments)
    exponentials(arguments, found)
    assert max(ulps(arguments, found.tolist())) < 1.5
    assert exponential(0.0) == 1.0


def test_a_missing_term_would_be_seen(arguments):
    """Control: Taylor's polynomial without its last term is off by several units."""
    short = [v - np.exp(n * np.log(2.0)) * (v0**13 / 6227020800) for v, n, v0 in _reduced(arguments)]
    assert max(ulps(arguments, short)) > 1.5


def _reduced(x):
    for v in x:
        n = np.round(v / np.log(2.0))
        yield exponential(v), n, v - n * np.log(2.0)


def test_the_exponential_in_vectors_changes_no_bit(arguments):
    found = np.empty_like(arguments)
    exponentials(arguments, found)
    np.testing.assert_array_equal(found, [exponential(v) for v in arguments])


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
    return [view for view in state if view.size]


@pytest.mark.parametrize("kind", sorted(SAMPLERS))
@pytest.mark.parametrize("N", [2, 5])
def test_the_views_of_a_state_do_not_overlap(kind, N):
    """``stretch`` promises it to the compiler."""
    keys = SAMPLERS[kind]
    given = {name: KEYS[name] for name, field in keys.model_fields.items() if field.is_required() and name in KEYS}
    sampler = keys(name="x", kind=kind, **given).build()
    buffer = np.arange(float(state_size(sampler, N)))
    for a, b in combinations(views(unpack(sampler, N, buffer)), 2):
        assert not np.shares_memory(a, b)


def test_the_scratch_of_the_loop_does_not_overlap():
    layout = Layout(10, 0, 1, 8, 2, 3, 2, 1e9)
    work = furnish(layout, 4, np.zeros(8 * (3 + 4) + 2), np.zeros(4))
    for a, b in combinations(work, 2):
        assert not np.shares_memory(a, b)


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


def test_an_unknown_numba_compiles_helpers_its_own_way(monkeypatch):
    assert deferred.part_options() == {"pipeline_class": deferred.PartCompiler}
    assert deferred.part_options(disjoint=True) == {"pipeline_class": deferred.DisjointPartCompiler}
    monkeypatch.setitem(deferred._NEEDED, deferred.Part, ("a_name_that_numba_has_dropped",))
    assert deferred.part_options(disjoint=True) == {}
