"""Random-walk Metropolis-Hastings against a plain transcription with numpy's own streams, in the interpreter."""

from __future__ import annotations

import numpy as np

from tracker.costs.quadratic import Quadratic
from tracker.references.metropolis_hastings import Proposal, _stream, _walk
from tracker.streams import NOISE

CURVATURE = np.array([[2.0, 0.6], [0.6, 1.0]])
FACTOR = np.array([[0.9, 0.0], [-0.7, 0.8]])
SWAP = np.array([[0.0, 1.0], [1.0, 0.0]])


def cost(theta: np.ndarray) -> float:
    return float(theta @ CURVATURE @ theta) / 2.0


def test_a_walk_is_that_of_the_transcription() -> None:
    """Every tenth proposal exchanges the coordinates; a proposal is taken with probability min(1, exp(beta (C - C')))."""
    beta, thin, draws, seed = 1.7, 3, 40, 12
    built = Quadratic(CURVATURE, np.zeros(2), np.zeros((2, 2)))
    out, counts = np.empty((draws, 2)), np.zeros(4)
    with np.errstate(over="ignore"):  # streams count modulo 2^64
        _walk.interpreted(
            built, beta, np.array([1.0, -2.0]), Proposal(FACTOR, SWAP), _stream(seed, NOISE, 0),
            thin, out, counts,
        )  # fmt: skip
    rng = np.random.Generator(np.random.SFC64(np.random.SeedSequence(seed, spawn_key=(NOISE, 0))))
    theta, wanted, tally = np.array([1.0, -2.0]), [], np.zeros(4)
    for step in range(1, thin * draws + 1):
        n = rng.standard_normal(2)
        kind = 2 if step % 10 == 0 else 0
        there = SWAP @ theta if kind == 2 else theta + FACTOR @ n
        tally[kind] += 1
        if np.log(rng.random()) < beta * (cost(theta) - cost(there)):
            theta = there
            tally[kind + 1] += 1
        if step % thin == 0:
            wanted.append(theta)
    np.testing.assert_allclose(out, wanted, rtol=0, atol=1e-12)
    np.testing.assert_array_equal(counts, tally)
    assert 0 < counts[1] < counts[0]  # some are taken, some not
    assert 0 < counts[3] < counts[2]
