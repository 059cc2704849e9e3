"""Random streams: bit for bit numpy's, compiled and interpreted; indices are fair."""

from __future__ import annotations

import math

import naive
import numpy as np
import pytest

from tracker import streams, ziggurat
from tracker.compiled import kernel
from tracker.streams import (
    draw_bits,
    draw_index,
    draw_normals,
    draw_uniform,
    entropy_words,
    normals_by_trial,
    seed_stream,
)

SEEDS = [0, 1, 12345, 2**32 - 1, 2**32, 2**32 + 17, 2**53 + 1, 2**62, 2**63 - 1]
ROLES = range(7)
TRIALS = [0, 1, 2, 1000, 2**31 - 1, 2**31, 2**32 - 1]
TAIL = 3.6541528853610088  # where numpy's ziggurat ends and its tail begins
REJECT = 1e-6  # p-value; fixed seeds


@kernel
def draw_all(words, role, trial, bits, uniforms, normals, indices, n):
    """Draw bits, uniforms, normals and indices below n from one stream, one after the other."""
    stream = np.empty(4, dtype=np.uint64)
    seed_stream(words, role, trial, stream)
    for i in range(bits.size):
        bits[i] = draw_bits(stream)
    for i in range(uniforms.size):
        uniforms[i] = draw_uniform(stream)
    draw_normals(stream, normals)
    for i in range(indices.size):
        indices[i] = draw_index(stream, n)


def drawn(draw, seed, role, trial, sizes, n=10):
    out = (
        np.zeros(sizes[0], dtype=np.uint64), np.zeros(sizes[1]), np.zeros(sizes[2]), np.zeros(sizes[3], dtype=np.int64)
    )  # fmt: skip
    with np.errstate(over="ignore"):  # 64-bit words are meant to overflow
        draw(entropy_words(seed), role, trial, *out, n)
    return out


def numpys(seed, role, trial, sizes, n=10):
    rng = naive.stream(seed, role, trial)
    return (
        rng.bit_generator.random_raw(sizes[0]), rng.random(sizes[1]), rng.standard_normal(sizes[2]),
        np.minimum((rng.random(sizes[3]) * n).astype(np.int64), n - 1),
    )  # fmt: skip


def assert_same(got, wanted):
    for a, b in zip(got, wanted, strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("seed", SEEDS)
def test_every_stream_is_numpys(seed):
    for role in ROLES:
        for trial in TRIALS:
            sizes = (5, 5, 40, 5)
            assert_same(drawn(draw_all, seed, role, trial, sizes), numpys(seed, role, trial, sizes))


def test_streams_differ():
    """Control for the above: seed, role and trial all matter."""
    first = [
        drawn(draw_all, seed, role, trial, (1, 0, 0, 0))[0][0] for seed in SEEDS for role in ROLES for trial in TRIALS
    ]
    assert len(set(first)) == len(SEEDS) * len(ROLES) * len(TRIALS)


def test_the_roles_are_published():
    assert list(range(7)) == [
        streams.CHAIN, streams.OBSERVATIONS, streams.NOISE, streams.PERTURBATIONS, streams.SKEW, streams.START,
        streams.INNER,
    ]  # fmt: skip


def test_a_million_normals_and_uniforms():
    sizes = (0, 10**6, 10**6, 0)
    got = drawn(draw_all, 2**40 + 3, streams.NOISE, 5, sizes)
    assert_same(got, numpys(2**40 + 3, streams.NOISE, 5, sizes))
    assert (got[2] > TAIL).any()
    assert (got[2] < -TAIL).any()
    assert got[1].min() >= 0.0
    assert got[1].max() < 1.0


@pytest.mark.parametrize(("trial", "place"), [(1367, 18), (2249, 11)])
@pytest.mark.parametrize("draw", [draw_all, draw_all.interpreted], ids=["compiled", "interpreted"])
def test_the_tail_turns_down_as_numpy_does(draw, trial, place):
    """Two draws from the tail: of one the proposal is taken by a narrow margin, of the other the first one is turned down."""
    got = drawn(draw, 7, streams.NOISE, trial, (0, 0, 40, 5))
    assert_same(got, numpys(7, streams.NOISE, trial, (0, 0, 40, 5)))
    assert abs(got[2][place]) > TAIL


def test_normals_by_trial_are_the_first_of_each_stream():
    trials, out = np.array([0, 3, 2**32 - 1, 4]), np.zeros((4, 300))
    normals_by_trial(entropy_words(9), streams.START, trials, out)
    for row, trial in zip(out, trials, strict=True):
        np.testing.assert_array_equal(row, naive.stream(9, streams.START, int(trial)).standard_normal(300))


def test_normals_continue_where_they_stopped():
    """Draws in pieces are the draws at once: cells of any size give the same path."""
    whole, pieces, words = np.zeros(1000), np.zeros(1000), entropy_words(3)
    with np.errstate(over="ignore"):
        one, other = np.empty(4, dtype=np.uint64), np.empty(4, dtype=np.uint64)
        seed_stream(words, 2, 0, one)
        seed_stream(words, 2, 0, other)
        draw_normals(one, whole)
        for begin, end in [(0, 1), (1, 1), (1, 400), (400, 999), (999, 1000)]:
            draw_normals(other, pieces[begin:end])
    np.testing.assert_array_equal(pieces, whole)
    np.testing.assert_array_equal(one, other)


def test_interpreted_equals_compiled():
    sizes = (100, 100, 20_000, 100)
    got = drawn(draw_all.interpreted, 8, streams.INNER, 6, sizes)
    assert_same(got, drawn(draw_all, 8, streams.INNER, 6, sizes))
    assert np.abs(got[2]).max() > TAIL  # the tail is met in the interpreter too


# --- indices


@pytest.mark.parametrize("n", [1, 2, 3, 7, 100, 2**31, 2**52 + 1])
def test_indices_at_the_ends(n):
    """A stream whose next bits are all 1 gives the last index, one whose bits are all 0 the first."""
    with np.errstate(over="ignore"):
        ones = np.array([2**64 - 1, 0, 5, 0], dtype=np.uint64)
        assert draw_uniform(ones.copy()) == 1.0 - 2.0**-53
        assert draw_index(ones, n) == n - 1
        assert draw_index(np.array([0, 0, 5, 0], dtype=np.uint64), n) == 0


def chi_square(indices, n):
    """p-value of the hypothesis that all indices are equally likely."""
    from scipy.stats import chi2

    expected = indices.size / n
    counts = np.bincount(indices, minlength=n)
    return float(chi2.sf(((counts - expected) ** 2 / expected).sum(), n - 1))


@pytest.mark.parametrize("n", [2, 3, 10, 97])
def test_indices_are_fair(n):
    draws = 200_000
    indices = drawn(draw_all, 4, streams.OBSERVATIONS, n, (0, 0, 0, draws), n)[3]
    assert indices.min() >= 0
    assert indices.max() < n
    assert chi_square(indices, n) > REJECT
    # control: 2 % of the draws moved from the last index to the first are found out
    biased = np.where((indices == n - 1) & (np.arange(draws) % 50 < max(1, n // 2)), 0, indices)
    assert chi_square(biased, n) < REJECT


# --- the tables of the ziggurat, read out of numpy


def numpys_normal(first: int, second: int = 1) -> tuple[float, int]:
    """Return the normal that numpy makes of two given words, and the number of words that it took.

    SFC64 gives a + b + counter; the next word from (a, 0, c, 0) is 9 c + 1.
    """
    source = np.random.SFC64()
    state = source.state
    state["state"]["state"] = np.array([first, 0, (second - 1) * pow(9, -1, 2**64) % 2**64, 0], dtype=np.uint64)
    source.state = state
    return np.random.Generator(source).standard_normal(), int(source.state["state"]["state"][3])


def word(layer: int, size: int) -> int:
    """The word that asks for ``size`` widths of a layer, on the positive side."""
    return size << 9 | layer


def test_numpy_reads_the_words_that_it_is_given() -> None:
    assert numpys_normal(word(2, 0)) == (0.0, 1)
    source = np.random.SFC64(1)
    state = source.state
    state["state"]["state"] = np.array([5, 0, 7, 0], dtype=np.uint64)
    source.state = state
    assert source.random_raw(2).tolist() == [5, 9 * 7 + 1]


def test_the_widths_are_numpys() -> None:
    assert [numpys_normal(word(i, 1))[0] for i in range(256)] == ziggurat.NORMAL_WIDTH.tolist()


def test_what_numpy_accepts_at_once_is_the_table() -> None:
    """Below the table's number one word is enough, at it numpy looks again; layer 1 accepts nothing at once."""
    quick = ziggurat.NORMAL_QUICK.tolist()
    assert quick[1] == 0
    assert all(numpys_normal(word(i, quick[i] - 1))[1] == 1 for i in range(256) if i != 1)
    assert all(numpys_normal(word(i, quick[i]))[1] > 1 for i in range(256))


@pytest.mark.parametrize("planted", [None, 100])
def test_the_heights_are_numpys(planted) -> None:
    """In the wedge of each layer numpy accepts exactly below the threshold that two heights give; control: one is off."""
    heights = ziggurat.NORMAL_HEIGHT.copy()
    if planted is not None:
        heights[planted] *= 1 + 1e-12
    agreed = [accepts_alike(i, heights) for i in range(1, 256)]
    assert [i for i, alike in enumerate(agreed, 1) if not alike] == ([] if planted is None else [planted, planted + 1])


def accepts_alike(i, heights):
    size = (int(ziggurat.NORMAL_QUICK[i]) + 2**52) // 2
    x = size * float(ziggurat.NORMAL_WIDTH[i])
    above, below = float(heights[i - 1]), float(heights[i])

    def ours(share):  # share: of 2**53
        return (above - below) * (share * 2.0**-53) + below < math.exp(-0.5 * x * x)

    low, high = 0, 2**53 - 1
    assert ours(low)
    assert not ours(high)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if ours(middle) else (low, middle)
    return [numpys_normal(word(i, size), share << 11)[1] == 2 for share in (low, high)] == [True, False]


def test_the_tail_begins_where_the_last_layer_ends() -> None:
    assert ziggurat.NORMAL_WIDTH[255] * 2.0**52 == pytest.approx(ziggurat.NORMAL_TAIL, rel=1e-15)
    assert pytest.approx(1 / ziggurat.NORMAL_TAIL, rel=1e-15) == ziggurat.NORMAL_TAIL_INVERSE
