"""The engine step by step: blocks of one step, so that the whole state can be seen."""

from __future__ import annotations

import numpy as np

from tracker.engine import simulate as engine
from tracker.samplers.base import unpack


class Steps:
    """The states of one trial of the first contestant after each step, from blocks of one step; S_0 may be replaced."""

    def __init__(self, problem: engine.Problem, trial: int = 0, skew: np.ndarray | None = None) -> None:
        problem = problem._replace(layout=problem.layout._replace(cell=1))
        contestant = problem.contestants[0]
        index, N = np.array([trial]), problem.origin.size
        starts = engine.start_points(problem, index)
        skews = engine.start_skews(problem, contestant, index).copy() if skew is None else skew[np.newaxis].copy()
        self.ledger = engine.empty_ledger(problem, contestant, 1)
        environment = engine.Environment(problem.plan, problem.scenario.seed, [trial])
        self.states = []
        for k in range(problem.layout.steps):
            block = engine._block(environment.advance(k + 1), environment)
            engine._advance(problem, engine.packed_modes(problem), contestant, index, starts, skews, block, self.ledger)
            self.states.append(unpack(contestant.parameters, N, self.ledger.state[0].copy()))

    def stack(self, name: str) -> np.ndarray:
        return np.array([getattr(state, name) for state in self.states])
