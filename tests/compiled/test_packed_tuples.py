"""Tuples come back from a table as they were: interpreted and compiled, shared arrays once, kinds told apart."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest

import tracker
from tracker.compiled import kernel, literal_unroll, pack, rebuild
from tracker.engine.turns import stretch


class Inner(NamedTuple):
    table: Any
    whole: int


class Outer(NamedTuple):
    inner: Inner
    number: float
    vector: Any
    flag: bool
    single: Any
    name: str
    cube: Any


def outer(seed: int, rows: int, shared: Any) -> Outer:
    rng = np.random.default_rng(seed)
    inner = Inner(rng.standard_normal((rows, 3)), seed - 7)
    cube = rng.integers(0, 9, (2, rows, 2)).astype(np.int32)
    return Outer(inner, float(rng.random()), shared, seed % 2 == 0, np.float32(seed) / 3, "same", cube)


@kernel
def sums(packed: Any, out: Any) -> None:
    """Weigh every number of every tuple, so that one in another place gives another sum."""
    for x in range(packed.families.size):
        here = 0
        for template in literal_unroll(packed.templates):
            if here == packed.families[x]:
                one = rebuild(template, packed.store, packed.places[x])
                total = one.number + 100.0 * one.inner.whole + (1000.0 if one.flag else 0.0) + one.single
                for i in range(one.inner.table.shape[0]):
                    for j in range(one.inner.table.shape[1]):
                        total += (1 + i) * (3 + j) * one.inner.table[i, j]
                for i in range(one.vector.size):
                    total += (7 + i) * one.vector[i]
                for i in range(one.cube.shape[0]):
                    for j in range(one.cube.shape[1]):
                        for k in range(one.cube.shape[2]):
                            total += (i + 11 * j + 5 * k) * one.cube[i, j, k]
                out[x] = total
            here += 1  # noqa: SIM113  (numba unrolls the plain loop only)


def naive(one: Outer) -> float:
    table, cube = one.inner.table, one.cube
    total = one.number + 100.0 * one.inner.whole + 1000.0 * one.flag + float(one.single)
    total += sum((1 + i) * (3 + j) * t for (i, j), t in np.ndenumerate(table))
    total += sum((7 + i) * v for i, v in enumerate(one.vector))
    return total + sum((i + 11 * j + 5 * k) * c for (i, j, k), c in np.ndenumerate(cube))


def test_tuples_of_unequal_shapes_come_back_as_they_were() -> None:
    shared = np.linspace(0.0, 1.0, 5)
    tuples = [outer(seed, rows, shared) for seed, rows in ((1, 4), (2, 1), (3, 0))]
    packed = pack(tuples)
    assert len(packed.templates) == 1
    assert packed.store.ctypes.data % 64 == 0
    for one, places in zip(tuples, packed.places, strict=True):
        again = rebuild(packed.templates[0], packed.store, places)
        assert type(again) is Outer
        assert (again.number, again.flag, again.single, again.name) == (one.number, one.flag, one.single, "same")
        assert type(again.single) is np.float32
        assert again.inner.whole == one.inner.whole
        for mine, given in ((again.inner.table, one.inner.table), (again.vector, shared), (again.cube, one.cube)):
            assert mine.dtype == given.dtype
            assert np.array_equal(mine, given)
            assert mine.base is not None
    out = np.zeros(3)
    sums(packed, out)
    assert out == pytest.approx([naive(one) for one in tuples], rel=1e-12)


def test_an_array_that_tuples_share_is_kept_once() -> None:
    shared = np.zeros(1000)
    together = pack([outer(seed, 1, shared) for seed in range(9)])
    apart = pack([outer(seed, 1, shared.copy()) for seed in range(9)])
    assert apart.store.size - together.store.size == 8 * 8000


def test_other_kinds_and_other_words_have_templates_of_their_own() -> None:
    one = outer(1, 2, np.zeros(2))
    frozen = np.zeros(2)
    frozen.flags.writeable = False
    others = [one._replace(name="other"), one._replace(vector=frozen), one._replace(number=1), one]
    packed = pack([one, *others])
    assert packed.families.tolist() == [0, 1, 2, 3, 0]
    assert not rebuild(packed.templates[2], packed.store, packed.places[2]).vector.flags.writeable


def test_two_and_fifty_modes_of_one_family_are_the_same_code() -> None:
    mode = (
        '[[modes]]\nname = "m{0}"\ncost = "quadratic"\nminimum = [{0}.0]\ncurvature = [[1.{0}]]\ngradient_noise = {1}\n'
    )
    sampler = '[[samplers]]\nname = "classical"\nkind = "langevin"\nepsilon = 0.05\n'
    counts = []
    for X in (2, 50):
        Q = [[1.0 - X if i == j else 1.0 for j in range(X)] for i in range(X)]
        head = f'name = "many"\nseed = 5\ntrials = 2\nsteps = 60\nstart = [0.0]\nbaselines = []\n[chain]\nalpha = {0.5 / X}\nQ = {Q}\n'
        modes = "".join(mode.format(i, i % 2) for i in range(X))  # every other one has no noise: a factor of rank 0
        tracker.run(tracker.parse(head + modes + sampler), executor=1)
        counts.append(len(stretch.signatures))
    assert counts[0] == counts[1]
