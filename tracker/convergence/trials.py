"""Simulate the trials of a check, one step size after another, and keep sums only, so that memory stays bounded."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from tracker.convergence.check_request import MOST_STEPS, TooManySteps
from tracker.convergence.residuals import StepLaw, Sums, gather, join_sums, path_floats
from tracker.convergence.statistics import Panel, Sample, evaluate
from tracker.engine import simulate
from tracker.engine.compiling import cores
from tracker.runs.executors import Threads
from tracker.runs.workers import Task

if TYPE_CHECKING:
    from tracker.array_types import Array, Arrays, Integers
    from tracker.convergence.check_request import Progress
    from tracker.convergence.step_ladder import Ladder
    from tracker.scenario import Scenario


LEVEL_ROLE = 101  # of the seeds of the rungs: a stream of its own, far from the roles of the simulation
SHARD = 1000  # trials
ROUNDING = 1e-12  # of a mean: a smaller standard deviation is none
WATCHED_FLOATS = 2_000_000  # of the paths of a shard whose every step is looked at: 16 MB


class Tally(NamedTuple):
    """Statistics over the trials of one rung.

    mean : (J,); covariance : (J, J), of one trial; theta, mode : the trials at T themselves, kept for N = 1 only
    steps : sums over single steps, where they were watched
    """

    trials: int
    mean: Array
    covariance: Array
    theta: Array
    mode: Integers
    steps: Sums | None = None

    @property
    def stderr(self) -> Array:
        """Of the mean."""
        return np.asarray(np.sqrt(np.diag(self.covariance) / self.trials))


class Diverged(ValueError):
    """Trials ran away, so that means over trials mean nothing."""


def rung_seed(seed: int, rung: int) -> int:
    """Return the seed of a rung: independent of the other rungs and of a run of the same scenario."""
    words = np.random.SeedSequence(seed, spawn_key=(LEVEL_ROLE, rung)).generate_state(1, np.uint64)
    return int(words[0] >> np.uint64(1))


class RungTrials:
    """Simulates rungs of a ladder and tells how far it is."""

    every_step = False  # whether the whole path is needed even where single steps are not watched

    def __init__(
        self,
        ladder: Ladder,
        panel: Panel,
        trials: int,
        rungs: list[int],
        progress: Progress | None = None,
        workers: int | None = None,
        max_steps: float = MOST_STEPS,
    ) -> None:
        self.ladder, self.panel, self.trials = ladder, panel, trials
        self.total = float(trials) * sum(ladder.steps[rung] for rung in rungs)
        if self.total > max_steps:
            raise TooManySteps(
                f"trials: {trials} trials x {sum(ladder.steps[rung] for rung in rungs)} steps = {self.total:.3g} steps are "
                f"more than {max_steps:.3g}; raise it with --max-steps, or ask for fewer --trials or a larger --resolution"
            )
        self._done = 0.0
        self._tell = progress or (lambda *_: None)
        self._workers = workers

    def run(self, rung: int, watched: StepLaw | None = None) -> Tally:
        """Return the tally of a rung; with the law of a step every step is watched. The paths are the same."""
        whole = self.every_step or watched is not None
        recorded = {"record_every": 1} if whole else {}
        scenario = self.ladder.at(rung, trials=self.trials, seed=rung_seed(self.ladder.scenario.seed, rung), **recorded)
        problem = without_baselines(scenario)
        simulate.compile_kernels(
            problem, lambda note: self._tell(self._done, self.total, note), self._workers or cores()
        )
        size = min(SHARD, simulate.most_trials(problem))
        if whole:
            size = min(size, max(2, WATCHED_FLOATS // path_floats(scenario)))
        firsts = range(0, self.trials, size)
        tasks = [Task(n, first, min(first + size, self.trials), None) for n, first in enumerate(firsts)]
        tallies: list[Tally] = []
        # BLAS on one thread: trials are what runs in parallel, and sums must not depend on the number of threads
        with threadpool_limits(1, user_api="blas"):
            pool = Threads(problem, self._workers, then=lambda done: self._tally(problem, done.arrays, watched))
            try:
                # in the order of trials, so that sums do not depend on who finishes first
                for future in [pool.submit(task) for task in tasks]:
                    tallies.append(future.result())
                    done = self._done + sum(pool.steps(task.shard) for task in tasks)
                    self._tell(done, self.total, f"simulating epsilon = {self.ladder.epsilons[rung]:g}")
            finally:
                pool.close(at_once=len(tallies) < len(tasks))
        self._done += float(self.trials) * self.ladder.steps[rung]
        return _joined(tallies)

    def _tally(self, problem: Any, arrays: Arrays, watched: StepLaw | None) -> Tally:
        lost = int(np.sum(arrays["diverged"] >= 0))
        if lost:
            epsilon = problem.scenario.samplers[0].epsilon
            raise Diverged(
                f"epsilons: at {epsilon:g} {lost} of {len(arrays['trial'])} trials ran away, so their mean says nothing: "
                "begin with a smaller epsilon"
            )
        theta, mode = arrays["theta"][:, 0], arrays["mode"].astype(np.int64)
        whole = theta.shape[1] > problem.layout.steps
        half = -2 if not whole else problem.layout.steps // 2 if self.ladder.halves else 0
        minima = np.array([mode.minimisers[0] for mode in problem.modes])
        values = evaluate(self.panel, self.sample(problem, arrays, half), minima)
        mean = values.mean(axis=0)
        centred = values - mean
        kept = theta[:, -1, 0] if theta.shape[2] == 1 else np.zeros(0)
        steps = None if watched is None else gather(watched, theta, mode)
        return Tally(len(values), mean, centred.T @ centred, kept, mode[:, -1] if kept.size else mode[:0, -1], steps)

    def sample(self, problem: Any, arrays: Arrays, half: int) -> Sample:
        """Return what statistics are taken of; ``half`` is the record at T / 2."""
        theta, mode = arrays["theta"][:, 0], arrays["mode"].astype(np.int64)
        sums = arrays["moments"][:, 0, 0] + problem.layout.steps * problem.origin
        spent = problem.scenario.samplers[0].epsilon * sums
        return Sample(theta[:, -1], mode[:, -1], theta[:, half], mode[:, half], spent)


def without_baselines(scenario: Scenario) -> Any:
    """Return the problem for the kernels without the baselines, of which nothing is asked here."""
    problem = simulate.prepare(scenario)
    return problem._replace(contestants=problem.contestants[:1])


def _joined(parts: list[Tally]) -> Tally:
    """Join the shards; their ``covariance`` still is the sum of squares about their own mean."""
    trials, mean, squares = parts[0].trials, parts[0].mean, parts[0].covariance
    for part in parts[1:]:
        gap = part.mean - mean
        both = trials + part.trials
        squares = squares + part.covariance + np.outer(gap, gap) * (trials * part.trials / both)
        mean, trials = mean + gap * (part.trials / both), both
    covariance = squares / max(1, trials - 1)
    flat = np.diag(covariance) <= (ROUNDING * np.abs(mean)) ** 2  # equal in all trials, but for the rounding of sums
    covariance[flat], covariance[:, flat] = 0.0, 0.0
    theta = np.concatenate([part.theta for part in parts])
    mode = np.concatenate([part.mode for part in parts])
    sums = [part.steps for part in parts if part.steps is not None]
    return Tally(trials, mean, covariance, theta, mode, join_sums(sums) if sums else None)
