"""Check a user's own costs and samplers before the first step: a wrong one is refused by name, with both numbers.

First at the start and beside it, before anything is compiled; then at the minimisers and between them.
"""

from __future__ import annotations

import sys
import traceback
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tracker.compiled import changed_since_compiled, from_outside
from tracker.compiled.fingerprint import PACKAGE
from tracker.costs.base import observation_size
from tracker.costs.derivative_checks import WrongCost, check_cost
from tracker.printable import printable
from tracker.samplers.base import begin, state_size, step, unpack
from tracker.scenario.complaints import ScenarioError, nearest, place_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tracker.array_types import Array
    from tracker.scenario.builders import Mode
    from tracker.scenario.model import Scenario

MOST_MODES = 8  # that are checked: many modes of one type have the same functions
MOST_POINTS = 3
LONGEST_REASON = 200


def check_at_start(scenario: Scenario) -> None:
    """Check own costs at the start and beside it, and take one step of each own sampler; ``ScenarioError`` names what is wrong."""
    start = scenario.start_mean
    away = start + 0.37 * (1.0 + np.abs(start)) * np.where(np.arange(start.size) % 2, -1.0, 1.0)
    costs = [mode.build() for mode in scenario.modes]
    places = [place_of("modes", i, mode) for i, mode in enumerate(scenario.modes)]
    _refuse_changed(scenario)
    _check(costs, places, [[away, start]] * len(costs), thorough=True)
    problems = []
    for i, keys in enumerate(scenario.samplers):
        sampler = keys.build()
        if from_outside(sampler):
            problems += _problem(
                place_of("samplers", i, keys), sampler, "step", partial(_one_step, sampler, costs[0], start)
            )
    if problems:
        raise ScenarioError(problems)


def check_at_minimisers(scenario: Scenario, modes: Sequence[Mode]) -> None:
    """Check own costs at their minimisers, and between these and the start."""
    start = scenario.start_mean
    points = []
    for mode in modes:
        lowest = [np.array(point) for point in mode.minimisers[:MOST_POINTS]]
        points.append([*lowest, *(0.5 * (start + point) for point in lowest[:1])])
    places = [place_of("modes", i, keys) for i, keys in enumerate(scenario.modes)]
    _check([mode.cost for mode in modes], places, points, thorough=False)


def _check(costs: Sequence[Any], places: Sequence[str], points: Sequence[list[Array]], *, thorough: bool) -> None:
    problems, checked = list[str](), dict[type, int]()
    for cost, place, these in zip(costs, places, points, strict=True):
        kind = type(getattr(cost, "inner", cost))
        times = checked.get(kind, 0)
        if not from_outside(cost) or times >= MOST_MODES:
            continue
        checked[kind] = times + 1
        full = thorough and times == 0
        problems += _problem(place, cost, "its functions", partial(check_cost, cost, these, thorough=full))
    if problems:
        raise ScenarioError(problems)


def _refuse_changed(scenario: Scenario) -> None:
    """Compiled code holds the constants and helpers that it was compiled with: what was changed since is not used in silence."""
    built: list[Any] = [*(mode.build() for mode in scenario.modes), *(one.build() for one in scenario.samplers)]
    kinds = {type(getattr(one, "inner", one)) for one in built}
    if again := sorted(kind.__name__ for kind in kinds if _is_defined_again(kind)):
        raise ScenarioError(
            [
                f"{name}: the class was defined again after this scenario was made: make the scenario anew"
                for name in again
            ]
        )
    if changed := sorted(kind.__name__ for kind in kinds if changed_since_compiled(kind)):
        raise ScenarioError(
            [
                f"{name}: a function of it, or a helper or constant that it reads, was changed since it was compiled: run the class and "
                "its functions again (the cell that defines them), and make the scenario anew"
                for name in changed
            ]
        )


def _is_defined_again(kind: type) -> bool:
    """Tell whether the name of a class means another class by now: a cell was run again, and the scenario holds the old one."""
    now = getattr(sys.modules.get(kind.__module__), kind.__qualname__, kind)
    return now is not kind and isinstance(now, type)


def _problem(place: str, own: Any, what: str, check: Callable[[], None]) -> list[str]:
    kind = type(getattr(own, "inner", own))
    try:
        check()
    except WrongCost as wrong:
        return [f"{place}: {kind.__name__}: {wrong}"]
    except Exception as error:  # whatever a user's function does
        return [f"{place}: {what_went_wrong(error, kind, what)}"]
    return []


def what_went_wrong(error: Exception, kind: type, what: str) -> str:
    """Return what a user's function did wrong in one line: which, where, and how it may have been meant."""
    frames = [f for f in traceback.extract_tb(error.__traceback__) if not Path(f.filename).is_relative_to(PACKAGE)]
    where = f", used in {frames[-1].name.strip('_') or what}, line {frames[-1].lineno}" if frames else ""
    name = getattr(error, "name", None)
    if isinstance(error, AttributeError) and name and isinstance(getattr(error, "obj", None), kind):
        guess = nearest(name, kind._fields)  # type: ignore[attr-defined]
        hint = f"; did you mean {guess}?" if guess else f" (fields: {', '.join(kind._fields)})"  # type: ignore[attr-defined]
        return f"{kind.__name__} has no field {name!r}{where}{hint}"
    if isinstance(error, ValueError) and "read-only" in str(error):
        return f"{kind.__name__} must not write to its own arrays: all threads share them{where}"
    return printable(f"{kind.__name__}: {what}: {type(error).__name__}: {error}{where}", LONGEST_REASON)


def _one_step(sampler: Any, cost: Any, start: Array) -> None:
    N = start.size
    state = unpack(sampler, N, np.zeros(state_size(sampler, N)))
    with np.errstate(all="ignore"):
        begin(sampler, state, start, np.zeros((N, N)))
        streams = np.arange(1, 17, dtype=np.uint64).reshape(4, 4)
        step(sampler, state, cost, 0, np.zeros(max(1, observation_size(cost))), np.full(N, 0.5), streams)
    if not np.isfinite(state.theta).all():
        raise WrongCost("step", f"theta is {state.theta.tolist()} after one step from the start")
