"""Metropolis-Hastings for the law proportional to exp(-beta C), as the paper used it, and for any cost.

docs/mathematics, "Metropolis-Hastings". During the warm-up F is tuned: its shape to the covariance of all chains so far, its
size to the acceptance rate ``target``; then it is frozen. ``labels=False`` leaves out the exchange of labels: the paper's
plain sampler.

A limit that is known: with Example 1's mixture at variance 0.3 in place of 2, one chain from a draw of the prior failed
calibration over 600 data sets (p = 7e-9 for the spread of p + q; 3e-6 with a longer warm-up). The cause was not looked into;
chains stuck in local modes would do that. Compare several chains, whose ``effective_size`` collapses where they disagree,
and prefer ``posterior`` where it applies.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tracker.autocorrelation import estimate_mixing
from tracker.compiled import kernel
from tracker.costs.base import expected, search_region
from tracker.costs.facts import label_exchange
from tracker.references.exact_posterior import chosen_mode
from tracker.streams import NOISE, START, draw_normals, draw_uniform

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tracker.array_types import Array, Words
    from tracker.scenario.model import Scenario


EXCHANGE_EVERY = 10  # proposals
ROUNDS = 9  # of the warm-up; each is longer than the one before
FIRST_ROUND = 200  # steps, times sqrt(N)
GROWTH = 1.3
GAIN = 2.0  # how strongly a round's acceptance moves the size of the proposals
PARTS = 3.0  # a cost's search scale is about three standard deviations


@dataclass(frozen=True)
class Draws:
    """Draws after the warm-up.

    Attributes
    ----------
    theta : ndarray, shape (chains, draws, N)
    acceptance : float
        The share of random-walk proposals accepted after the warm-up.
    exchanged : float
        The share of label exchanges accepted; nan where there are none.
    thin : int
        Steps between draws.
    """

    theta: Array
    acceptance: float
    exchanged: float
    thin: int

    @property
    def mean(self) -> Array:
        """The mean, shape (N,)."""
        return np.asarray(self.theta.mean(axis=(0, 1)))

    @property
    def covariance(self) -> Array:
        """The covariance, shape (N, N)."""
        N = self.theta.shape[2]
        return np.atleast_2d(np.cov(self.theta.reshape(-1, N).T))

    @cached_property
    def autocorrelation_time(self) -> Array:
        """The integrated autocorrelation time of each coordinate, in draws, shape (N,)."""
        return np.array([estimate_mixing(self.theta[:, :, d]).time for d in range(self.theta.shape[2])])

    @property
    def effective_size(self) -> Array:
        """How many independent draws the chains are worth for the mean of each coordinate, shape (N,)."""
        return self.theta.shape[0] * self.theta.shape[1] / self.autocorrelation_time

    @property
    def stderr(self) -> Array:
        """The standard error of ``mean``, shape (N,)."""
        return np.sqrt(np.diag(self.covariance) / self.effective_size)


class Proposal(NamedTuple):
    """factor (N, N): F; exchange (N, N): the involution, or (0, 0) for none."""

    factor: Array
    exchange: Array


@kernel
def _walk(
    cost: Any, beta: float, theta: Array, proposal: Proposal, stream: Words, thin: int, out: Array, counts: Array
) -> None:
    """Take thin * len(out) steps from ``theta`` and write every thin-th point to ``out`` (n, N).

    counts (4,): random-walk proposals and how many were accepted, exchanges and how many were accepted.
    """
    N = theta.size
    n, there = np.empty(N), np.empty(N)
    here = beta * expected(cost, theta)
    step = 0
    for i in range(out.shape[0]):
        for _ in range(thin):
            step += 1
            kind = 2 if proposal.exchange.size > 0 and step % EXCHANGE_EVERY == 0 else 0
            draw_normals(stream, n)
            for d in range(N):
                if kind == 2:
                    there[d] = 0.0
                    for e in range(N):
                        there[d] += proposal.exchange[d, e] * theta[e]
                else:
                    there[d] = theta[d]
                    for e in range(d + 1):
                        there[d] += proposal.factor[d, e] * n[e]
            new = beta * expected(cost, there)
            counts[kind] += 1.0
            if draw_uniform(stream) < np.exp(min(here - new, 0.0)):
                here = new
                counts[kind + 1] += 1.0
                for d in range(N):
                    theta[d] = there[d]
        for d in range(N):
            out[i, d] = theta[d]


def metropolis(
    scenario: Scenario,
    mode: int | str | None = None,
    beta: float = 1.0,
    *,
    draws: int = 20_000,
    thin: int = 1,
    chains: int = 4,
    seed: int = 0,
    labels: bool = True,
) -> Draws:
    """Draw from the law proportional to exp(-beta C) of a mode.

    Parameters
    ----------
    mode : str or int, optional
        The mode's name or its place in the file, from 0; may be left out where there is one mode.
    draws, thin : int
        Draws of each chain after the warm-up, and steps from one to the next.
    chains, seed : int
        Chain c uses the streams of trial c (``tracker.streams``): the same call gives the same draws.
    labels : bool
        Whether labels are exchanged now and then, where a cost has any.

    Examples
    --------
    >>> import tracker
    >>> scenario = tracker.load("scenarios/example_a.toml")
    >>> tracker.references.metropolis(scenario, "one", 2.0, draws=20, chains=1).theta.shape
    (1, 20, 2)
    """
    _, cost = chosen_mode(scenario, mode)
    for name, count in (("draws", draws), ("thin", thin), ("chains", chains)):
        if count < 1:
            raise ValueError(f"{name}: {count} must be at least 1")
    if not (np.isfinite(beta) and beta > 0.0):
        raise ValueError(f"beta: {beta} must be positive and finite")
    return draws_of(cost, beta, scenario.start_mean, draws=draws, thin=thin, chains=chains, seed=seed, labels=labels)


def draws_of(
    cost: Any,
    beta: float,
    start: Array,
    *,
    draws: int,
    thin: int = 1,
    chains: int = 4,
    seed: int = 0,
    labels: bool = True,
) -> Draws:
    """Draw as ``metropolis`` does, for built parameters; ``thin = 0`` takes three autocorrelation times of the warm-up."""
    streams = [_stream(seed, NOISE, c) for c in range(chains)]
    theta = _starts(cost, start, chains, seed)
    exchange = label_exchange(cost) if labels else None
    exchange = np.zeros((0, 0)) if exchange is None else exchange
    proposal, last = _warm_up(cost, beta, theta, exchange, streams)
    if thin == 0:
        thin = int(np.ceil(3.0 * np.nanmax([estimate_mixing(last[:, :, d]).time for d in range(start.size)])))
    out, counts = np.empty((chains, draws, start.size)), np.zeros(4)
    for c in range(chains):
        _walk(cost, float(beta), theta[c], proposal, streams[c], thin, out[c], counts)
    exchanged = counts[3] / counts[2] if counts[2] else float("nan")
    return Draws(out, float(counts[1] / max(counts[0], 1.0)), float(exchanged), thin)


def target(N: int) -> float:
    """Return the acceptance rate to tune for: 0.44 on a line, 0.234 in many dimensions."""
    return 0.234 + 0.206 / N


def _warm_up(cost: Any, beta: float, theta: Array, exchange: Array, streams: Sequence[Words]) -> tuple[Proposal, Array]:
    """Move ``theta`` (chains, N) into the law; return the tuned proposal and the last round's points."""
    chains, N = theta.shape
    _, scale = search_region(cost, theta[0])
    shape, size = np.diag(np.asarray(scale, dtype=float) / PARTS), 0.5
    out = np.empty((chains, 0, N))
    for r in range(ROUNDS):
        proposal = Proposal(np.ascontiguousarray(size * shape), exchange)
        out = np.empty((chains, int(FIRST_ROUND * np.sqrt(N) * GROWTH**r), N))
        counts = np.zeros(4)
        for c in range(chains):
            _walk(cost, float(beta), theta[c], proposal, streams[c], 1, out[c], counts)
        accepted = counts[1] / max(counts[0], 1.0)
        size *= float(np.exp(GAIN * (accepted - target(N))))
        if accepted > 0.05:  # otherwise the points say nothing about the shape yet
            covariance = np.atleast_2d(np.cov(out.reshape(-1, N).T))
            before = np.linalg.norm(shape)
            shape = np.linalg.cholesky(covariance + 1e-10 * np.trace(covariance) / N * np.eye(N))
            if r < ROUNDS // 2:
                size = 2.4 / np.sqrt(N)  # the best size for a Gaussian law of this shape
            elif before > 0.0:
                size *= float(before / np.linalg.norm(shape))
    return Proposal(np.ascontiguousarray(size * shape), exchange), out


def _starts(cost: Any, start: Array, chains: int, seed: int) -> Array:
    """Return scattered starting points (chains, N): draws from the prior, where the search region is made of one."""
    centre, scale = search_region(cost, start)
    normals = np.empty((chains, start.size))
    for c in range(chains):
        generator = np.random.Generator(np.random.SFC64(np.random.SeedSequence(seed, spawn_key=(START, c))))
        normals[c] = generator.standard_normal(start.size)
    return np.ascontiguousarray(centre + normals * np.asarray(scale) / PARTS)


def _stream(seed: int, role: int, chain: int) -> Words:
    state: Any = np.random.SFC64(np.random.SeedSequence(seed, spawn_key=(role, chain))).state
    return np.array(state["state"]["state"], dtype=np.uint64)
