"""exp and log of the package against 100-digit arithmetic; the same bits compiled, interpreted and side by side."""

from __future__ import annotations

from decimal import Decimal, localcontext
from unittest import mock

import numpy as np
import pytest

import tracker
from tests.interpreting import interpreted
from tracker.compiled import as_lanes, kernel
from tracker.costs.mixture import likelihood
from tracker.exponential import LOWEST, decay, exponential, logarithm, logarithm_of_1_plus

ULPS = 1.5  # half a unit for the last rounding, and some of the steps before
TRUE = {
    exponential: lambda x: x.exp(),
    decay: lambda x: (-x).exp(),
    logarithm: lambda x: x.ln(),
    logarithm_of_1_plus: lambda x: (1 + x).ln(),
}
EDGES = [0.0, -1.0, 1.0, np.inf, -np.inf, np.nan, 5e-324, 2.2e-308, 1.7976931348623157e308, -745.2, -745.1, 709.78, 709.79,
         1e-300, 1e-17, -1e-17, 2.0**-53, -(2.0**-53), 0.5, 2.0, np.sqrt(0.5), np.nextafter(np.sqrt(0.5), 1.0)]  # fmt: skip


def arguments(function):
    """Numbers all over the domain: large, small, near 1, near 0, subnormal."""
    rng, n = np.random.default_rng(1), 400
    if function is decay:
        return np.concatenate([rng.uniform(0.0, -LOWEST, n), rng.uniform(0.0, 2.0, n), np.exp(rng.uniform(-60, 0, n))])
    if function is exponential:
        return np.concatenate(
            [
                rng.uniform(-745.5, 709.78, n),
                rng.uniform(-2, 2, n),
                rng.uniform(-745.5, -708, n),
                1e-5 * rng.normal(size=n),
            ]
        )
    if function is logarithm:
        near = np.concatenate([1.0 + 1e-5 * rng.normal(size=n), rng.uniform(0.5, 2.0, n)])
        return np.concatenate([np.exp(rng.uniform(-708, 709, n)), near, rng.integers(1, 2**52, n).view(np.float64)])
    near = np.concatenate([rng.uniform(-1.0, 2.0, n), rng.uniform(0.0, 1.0, n), 1e-5 * rng.normal(size=n)])
    small = np.exp(rng.uniform(-60, 0, n))
    return np.concatenate([np.exp(rng.uniform(-60, 709, n)), near, small, -small])


def ulps(function, x, found):
    """Distances to the true value, by 100-digit arithmetic, in units of its last place."""
    with localcontext() as context:
        context.prec, context.Emin, context.Emax = 100, -9999, 9999
        exact = [TRUE[function](Decimal(v)) for v in x.tolist()]
        last = [Decimal(float(np.spacing(abs(float(e))) if float(e) else 5e-324)) for e in exact]
        return max(float(abs(Decimal(f) - e) / u) for f, e, u in zip(found.tolist(), exact, last, strict=True))


def interpreting(function, x):
    with np.errstate(all="ignore"):
        return np.array([function(v) for v in x])


@kernel
def exponentials(x, out):
    for i in range(x.size):
        out[0, i], out[1, i] = exponential(x[i]), decay(abs(x[i]))
        out[2, i], out[3, i] = logarithm(x[i]), logarithm_of_1_plus(x[i])


@kernel
def exponentials_in_lanes(x, out, width):
    numbers, results = as_lanes(x, width), as_lanes(out, width)
    for i in range(numbers.size):
        results[0, i], results[1, i] = exponential(numbers[i]), decay(abs(numbers[i]))
        results[2, i], results[3, i] = logarithm(numbers[i]), logarithm_of_1_plus(numbers[i])


@pytest.mark.parametrize("function", TRUE)
def test_all_are_exact_to_the_last_place(function):
    x = arguments(function)
    assert ulps(function, x, interpreting(function, x)) < ULPS


@pytest.mark.parametrize("function", TRUE)
def test_a_polynomial_without_its_last_term_would_be_seen(function):
    """Control: a Taylor polynomial that ends one or two terms earlier is off by units of the last place."""
    names = ("_F13",) if function in (exponential, decay) else ("_R10", "_R11", "_R9", "_R8")
    x = arguments(function)
    with mock.patch.multiple("tracker.exponential", **dict.fromkeys(names, 0.0)):
        assert ulps(function, x, interpreting(function, x)) > ULPS


def test_the_edges_are_those_of_the_c_library():
    with np.errstate(all="ignore"):
        for function, library in ((exponential, np.exp), (logarithm, np.log), (logarithm_of_1_plus, np.log1p)):
            np.testing.assert_allclose(interpreting(function, np.array(EDGES)), library(EDGES), rtol=4.5e-16, atol=0.0)
    assert exponential(0.0) == decay(0.0) == 1.0
    assert logarithm(1.0) == logarithm_of_1_plus(0.0) == 0.0
    assert 0.0 < decay(np.inf) < 1e-307
    assert 1.0 + decay(800.0) == 1.0
    assert np.isnan(decay(np.float64(np.nan)))


def test_no_bit_differs_between_compiled_interpreted_and_side_by_side():
    x = np.concatenate([EDGES, *(arguments(function) for function in TRUE)])
    x = np.concatenate([x, np.ones(-x.size % 8)])
    alone, abreast = np.empty((4, x.size)), np.empty((4, x.size // 8, 8))
    exponentials(x, alone)
    exponentials_in_lanes(x.reshape(-1, 8), abreast, (0,) * 8)
    by_hand = [
        interpreting(f, np.abs(x) if f is decay else x) for f in (exponential, decay, logarithm, logarithm_of_1_plus)
    ]
    np.testing.assert_array_equal(alone, abreast.reshape(4, -1))
    np.testing.assert_array_equal(alone, by_hand)


def a_mixture():
    """500 steps of Example 1, from nearer by, with Algorithms 1 and 2: gradients, Hessians and values."""
    whole = tracker.load("scenarios/example_1.toml")
    kinds = {keys.kind: keys for keys in whole.samplers}
    return whole.replace(
        trials=2,
        steps=500,
        record_every=50,
        start=[1.0, 0.5],
        samplers=[kinds["langevin"], kinds["hessian"]],
        claims=[],
    )


def test_a_mixture_by_the_c_library_is_the_same_to_eleven_digits():
    """What changed when exp and log became the package's own: the last digits, 500 steps later not the eleventh."""
    ours = interpreted(a_mixture())
    library = {"decay": lambda size: np.exp(-size), "logarithm": np.log, "logarithm_of_1_plus": np.log1p}
    with mock.patch.multiple(likelihood, **library):
        theirs = interpreted(a_mixture())
    for name in ("theta_trace", "excess_trace", "error_trace", "S_trace"):
        if name in ours.dataset:
            a, b = ours.dataset[name].values, theirs.dataset[name].values
            np.testing.assert_allclose(a, b, rtol=1e-11, atol=1e-11 * np.nanmax(np.abs(b)))
    assert ours.summary["hash"] != theirs.summary["hash"]  # else nothing was compared
