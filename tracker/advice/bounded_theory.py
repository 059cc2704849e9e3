"""Ask theory about a scenario's samplers within a bound on the work, and remember what samplers have in common.

The bound is counted from sizes (coordinates, modes, cells), about 10 seconds of one core for everything that a page says. It never
looks at a clock, so that the same scenario always gets the same answers. What is larger is "not computed".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from threadpoolctl import threadpool_limits

from tracker import limits
from tracker.limits import OutOfScope
from tracker.limits.drift_field import numbers_of
from tracker.limits.knowledge_ladder import bounds, row_of
from tracker.limits.moment_system import DENSE
from tracker.limits.rung_names import AT_BETA, BEST_FILTER, BEST_LINEAR, BEST_STEP
from tracker.limits.scope import refusal_of
from tracker.scenario.builders import skew_matrix

if TYPE_CHECKING:
    from collections.abc import Callable

    from tracker.samplers.base import SamplerKeys
    from tracker.scenario import Scenario

MOST_WORK = 12.0  # seconds or so, of one core
NUMBERS = 300  # that a cost is made of: a look at it takes as long again
MOST_MINIMA = 8
MOST_SKEW_DIMENSION = 3
T = TypeVar("T")


class Theory:
    """What theory says of one scenario; every question is answered once, or refused by ``OutOfScope``."""

    def __init__(self, scenario: Scenario, most_work: float = MOST_WORK) -> None:
        self.scenario = scenario
        self._left = most_work
        self._answers: dict[tuple[Any, ...], Any] = {}
        self._keys = {keys.name: keys for keys in scenario.samplers}
        self._size = sum(numbers_of(mode.build()) for mode in scenario.modes) / (NUMBERS * len(scenario.modes))

    def keys(self, name: str) -> SamplerKeys:
        """Return the table of a sampler."""
        return self._keys[name]

    def stability(self, name: str) -> Any:
        """Of the switched system."""
        return self._ask(("stability", name), self._moments, lambda: limits.stability(self.scenario, name))

    def largest_epsilon(self, name: str) -> float | None:
        """The end of the first interval of stable steps."""
        found = self.stability(name)
        return self._ask(("largest", name), self._moments, lambda: found.largest_epsilon)

    def best_step(self, name: str) -> Any:
        """The best constant step."""
        return self._ask(("best_step", name), 4.0 * self._moments, lambda: limits.best_step(self.scenario, name))

    def split(self, name: str) -> Any:
        """What the error of a sampler is made of."""
        return self._ask(("split", name), self._moments, lambda: limits.error_split(self.scenario, name))

    def error(self, name: str) -> float:
        """The stationary mean square error."""
        return self._ask(
            ("error", name), self._moments, lambda: float(limits.stationary(self.scenario, name).mean_square_error)
        )

    def at_beta(self, name: str, beta: float | None = None) -> Any:
        """What temperature costs."""
        world = self.scenario if beta is None else self.with_beta(name, beta)
        key = ("gibbs", float(self._keys[name].beta) if beta is None else beta)
        return self._ask(key, self._grid(0.1), lambda: limits.gibbs_error(world, name))

    def with_beta(self, name: str, beta: float) -> Scenario:
        """Return the scenario with another beta of one sampler."""
        samplers = [
            keys.model_copy(update={"beta": beta}) if keys.name == name else keys for keys in self.scenario.samplers
        ]
        return self.scenario.replace(samplers=samplers)

    def relative(self, name: str) -> float:
        """How often a mode is left while theta settles in it."""
        keys = self._keys[name]
        S = skew_matrix(keys, self.scenario)
        turns = S is not None and bool(np.any(S))
        key = ("gap", keys.kind, float(keys.beta), None if S is None else S.tobytes(), self._more(keys))
        work = self._moments if self.scenario.quadratic else self._grid(1.5 if turns else 0.3)
        # alpha |q_ii| over gap_i does not depend on the step: samplers that differ in it only share the eigenvalues
        slowest = self._ask(key, work, lambda: limits.relative(self.scenario, name) * keys.epsilon)
        return float(slowest / keys.epsilon)

    def best_skew(self, name: str) -> Any:
        """The S that tracks best."""
        N, keys = self.scenario.dimension, self._keys[name]
        if N > MOST_SKEW_DIMENSION:
            raise OutOfScope(f"not computed: the best of {N * (N - 1) // 2} entries of S", "ask limits.best_skew")
        work = 0.2 if N <= 2 else 5.0
        key = ("best_skew", keys.epsilon, float(keys.beta), keys.euler or keys.tangent)
        return self._ask(key, work, lambda: limits.best_skew(self.scenario, name))

    def escape(self, name: str) -> Any:
        """Rates out of wells."""
        work = 0.05 * self.scenario.dimension * len(self.scenario.modes) * (1.0 + self._size)
        return self._ask(("escape", name), work, lambda: limits.escape(self.scenario, name, most_minima=MOST_MINIMA))

    def best_linear(self) -> Any:
        """The best linear filter of the mode."""
        return self._ask(("best_linear",), 0.1, lambda: limits.best_linear(self.scenario))

    def best_filter(self) -> Any:
        """The Bayes filter of the mode."""
        return self._ask(("best_filter",), 1.5, lambda: limits.best_filter(self.scenario))

    def ladder(self, name: str) -> tuple[list[dict[str, Any]], dict[str, str]]:
        """The rungs, and why some are missing, by rung."""
        keys = self._keys[name]
        questions: dict[str, Callable[[], dict[str, Any]]] = {
            AT_BETA: lambda: row_of(AT_BETA, self.at_beta(name).mean_square_error, keys),
            BEST_STEP: lambda: row_of(BEST_STEP, self.best_step(name).mean_square_error, keys),
            BEST_LINEAR: lambda: row_of(BEST_LINEAR, self.best_linear().mean_square_error, keys),
            BEST_FILTER: lambda: row_of(
                BEST_FILTER, self.best_filter().mean_square_error, keys, bound=bounds(self.best_filter(), keys)
            ),
        }
        rows, missing = [], {}
        for rung, question in questions.items():
            try:
                rows.append(question())
            except OutOfScope as refusal:
                missing[rung] = str(refusal)
        return rows, missing

    # --- sizes

    @property
    def _moments(self) -> float:
        """Work on the moments of a sampler in quadratic costs."""
        N, X = self.scenario.dimension, len(self.scenario.modes)
        unknowns = X * (1 + 2 * N + 4 * N * N) if not self.scenario.quadratic else X * (1 + N + N * N)
        if self.scenario.quadratic and unknowns > DENSE:
            raise OutOfScope(f"not computed: {unknowns} unknown moments are more than {DENSE}")
        return 0.1 * (unknowns / DENSE) ** 3 if self.scenario.quadratic else 0.01

    def _grid(self, seconds: float) -> float:
        N = self.scenario.dimension
        if self.scenario.quadratic or N not in (1, 2):
            return 0.01
        return seconds * len(self.scenario.modes) * (1.0 + self._size) * (1.0 if N == 2 else 0.1)

    def _more(self, keys: SamplerKeys) -> str:
        """All that a kind has beside what every sampler has: a friction, a rate."""
        return repr(keys.model_dump(exclude={"name", "kind", "epsilon", "beta", "skew"}))

    def _ask(self, key: tuple[Any, ...], work: float, solve: Callable[[], T]) -> T:
        if key not in self._answers:
            if work > self._left:
                raise OutOfScope("not computed: the answers before this one were work enough")
            self._left -= work
            try:
                with threadpool_limits(1, user_api="blas"):
                    self._answers[key] = solve()
            except (ValueError, ArithmeticError) as error:
                self._answers[key] = refusal_of(error)
        answer = self._answers[key]
        if isinstance(answer, OutOfScope):
            raise answer
        return answer  # type: ignore[no-any-return]
