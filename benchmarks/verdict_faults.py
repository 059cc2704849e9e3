"""Faults to be planted in the compiled engine, at what its kernels are given: parameters, skew, costs, starts, streams, modes.

Each is a context manager: inside it the engine has the fault, and theory has not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import Any
from unittest import mock

import numpy as np

from tracker.compiled import helper, kernel, pack
from tracker.engine import simulate
from tracker.environment import Environment, Timeline, hidden_chains


@contextmanager
def prepared(change: Callable[[Any], Any]) -> Iterator[None]:
    """Give the kernels another problem than the one they were asked for."""
    honest = simulate.prepare
    with mock.patch.object(simulate, "prepare", lambda scenario: change(honest(scenario))):
        yield


def sampler_changed(**how: Callable[[Any], Any]) -> Any:
    """Change entries of what a sampler is: ``parameters`` or ``skew``."""

    def change(problem: Any) -> Any:
        first, *others = problem.contestants
        first = first._replace(**{key: f(getattr(first, key)) for key, f in how.items()})
        return problem._replace(contestants=(first, *others))

    return prepared(change)


def chain_faster(factor: float) -> Any:
    return prepared(lambda problem: problem._replace(plan=replace(problem.plan, Q=factor * problem.plan.Q)))


def drift_changed(matrix: Callable[[Any], Any], modes: tuple[int, ...]) -> Any:
    """Let (I + S) grad C be W grad C in some modes, by giving the kernel (I + S)^-1 W H as the curvature there."""

    def change(problem: Any) -> Any:
        S = problem.contestants[0].skew
        turn = np.linalg.solve(np.eye(2) + S, matrix(S))
        changed = list(problem.modes)
        for x in modes:
            cost = changed[x].cost
            changed[x] = changed[x]._replace(cost=cost._replace(curvature=np.ascontiguousarray(turn @ cost.curvature)))
        return problem._replace(modes=tuple(changed), packed_modes=pack(changed))

    return prepared(change)


def without_second_row(S: Any) -> Any:
    return np.eye(2) + np.array([S[0], [0.0, 0.0]])


class Ahead(Environment):
    """Hands out x_{k+1} where x_k is due; the mode at the end stays right."""

    def advance(self, stop: int) -> Timeline:
        """Go on to step `stop`, with the fault."""
        t = super().advance(stop)
        at = t.offsets[1:]  # a segment for x_stop goes in at the end of each trial
        end = np.insert(t.end - 1, at, stop)
        mode = np.insert(t.mode, at, self.present)
        since = np.insert(t.since, at, t.since[at - 1])
        trial = np.insert(np.repeat(np.arange(len(at)), np.diff(t.offsets)), at, np.arange(len(at)))
        keep = end > t.start
        offsets = np.searchsorted(trial[keep], np.arange(len(at) + 1))
        return Timeline(t.start, t.stop, offsets, mode[keep], end[keep], since[keep], np.ones(keep.sum(), dtype=bool))


class Behind(Environment):
    """Hands out x_{k-1} where x_k is due (x_0 at first); the mode at the end stays right. One block only."""

    def advance(self, stop: int) -> Timeline:
        """Go on to step `stop`, with the fault."""
        t = super().advance(stop)
        trial = np.repeat(np.arange(len(t.offsets) - 1), np.diff(t.offsets))
        begin = np.concatenate([[0], t.end[:-1]])
        begin[t.offsets[:-1]] = t.start
        keep = (begin == t.start) | (begin + 1 < stop)
        offsets = np.searchsorted(trial[keep], np.arange(len(t.offsets)))
        end = np.minimum(t.end + 1, stop)[keep]
        return Timeline(t.start, t.stop, offsets, t.mode[keep], end, t.since[keep], t.live[keep])


class EverySecond(Environment):
    """The chain moves at every second step only."""

    def advance(self, stop: int) -> Timeline:
        """Go on to step `stop`, with the fault."""
        t = super().advance(stop // 2)
        since = np.where(t.since >= 0, 2 * t.since, t.since)
        return Timeline(2 * t.start, stop, t.offsets, t.mode, 2 * t.end, since, t.live)


def world(kind: type[Environment]) -> Any:
    return mock.patch.object(simulate, "Environment", kind)


@contextmanager
def nothing() -> Iterator[None]:
    yield


def noise_times(factor: float) -> Any:
    """The injected noise, and it alone, is larger."""
    return sampler_changed(parameters=lambda p: p._replace(noise=factor * p.noise))


def drift_times(factor: float) -> Any:
    """The gradient is larger (quadratic costs)."""

    def change(problem: Any) -> Any:
        modes = [m._replace(cost=m.cost._replace(curvature=factor * m.cost.curvature)) for m in problem.modes]
        return problem._replace(modes=tuple(modes))

    return prepared(change)


def start_variance_times(factor: float) -> Any:
    honest = simulate.start_points

    def wider(problem: Any, trials: Any) -> Any:
        mean = problem.scenario.start_mean
        return np.ascontiguousarray(mean + np.sqrt(factor) * (honest(problem, trials) - mean))

    return mock.patch.object(simulate, "start_points", wider)


def pairs_share_noise() -> Any:
    """Trials 2 n and 2 n + 1 draw from the same streams; their chains and starts stay their own."""
    honest = simulate.advance

    def paired(sampler: Any, modes: Any, entropy: Any, trials: Any, *rest: Any) -> None:
        honest(sampler, modes, entropy, trials - trials % 2, *rest)

    return mock.patch.object(simulate, "advance", paired)


def a_tenth_stays_longer() -> Any:
    """Every tenth dwell, by a digit of the number it is made of, lasts one step longer."""
    honest = hidden_chains.stay_length

    @helper
    def longer(exponential: float, rate: float) -> int:
        return honest(exponential, rate) + int(exponential * 1e6 % 10.0 < 1.0)

    faulty = ExitStack()
    faulty.enter_context(mock.patch.object(hidden_chains, "stay_length", longer))
    for name in ("begin_chains", "walk_chains", "renew_stays"):
        own = kernel(getattr(hidden_chains, name).interpreted)
        own._cached = own._without_cache(())  # noqa: SLF001  (compiled here, with the fault, and not kept on disk)
        faulty.enter_context(mock.patch.object(hidden_chains, name, own))
    return faulty
