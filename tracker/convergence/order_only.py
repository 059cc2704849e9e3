"""Estimate only the order, by coupled levels, where no independent law of the limit is known.

docs/mathematics, "Coupling", caution (ii): level differences shrink with slope 1 whatever limit the code has, right or
wrong. So no verdict comes from here but ``unavailable``.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tracker.convergence import implementation_verdict, order, sentences
from tracker.convergence.exact_values import algorithm_laws, stay_algorithm
from tracker.convergence.implementation_verdict import Implementation
from tracker.convergence.statistics import Panel, Statistic, density_panel, of_law
from tracker.convergence.step_ladder import LEAST_RUNGS
from tracker.convergence.trials import RungTrials
from tracker.convergence.verdict import Observable, Order
from tracker.limits.coupled_levels import LIMIT_CELLS, coupled
from tracker.limits.drift_field import numbers_of
from tracker.scenario import ScenarioError

if TYPE_CHECKING:
    from collections.abc import Callable

    from tracker.array_types import Array
    from tracker.convergence.check_request import Request
    from tracker.convergence.step_ladder import Ladder
    from tracker.convergence.verdict import Verdict
    from tracker.limits.level_differences import Coupled


TRIALS = 4000  # for each level on average, at most
LEAST_TRIALS = 100  # or the finest levels are left out
PILOT_TRIALS = 200  # for each level, that tell how the trials are shared out
PILOT_ROLE = 102  # of the seed of the pilot: a stream of its own
# Steps of coupled paths, some 4 s; a step takes as long again for every NUMBERS that its cost, and its S, are made of.
MOST_WORK, NUMBERS = 6e7, 60
MOST_COORDINATES = 3  # of theta, and of D and S, whose order is shown
STATEMENT = "order only, limit not independently validated"


class Functional(NamedTuple):
    """A function of theta (trials, N), or of theta, D (trials, pairs, N) and S (trials, N, N), and its name."""

    name: str
    f: Callable[..., Any]


def of_theta(N: int) -> list[Functional]:
    """The first coordinates and the squared length."""

    def coordinate(a: int) -> Callable[[Array], Array]:
        return lambda theta: theta[:, a]

    found = [Functional(f"E[theta_{a + 1}]", coordinate(a)) for a in range(min(N, MOST_COORDINATES))]
    return [*found, Functional("E[|theta|^2]", lambda theta: np.sum(theta**2, axis=1))]


def of_triple(N: int) -> list[Functional]:
    """The first coordinates of theta and of the first D, and the first S(i, j), for Algorithm 1."""

    def entry(part: int, *where: int) -> Callable[[Array, Array, Array], Array]:
        def f(theta: Array, D: Array, S: Array) -> Array:
            return np.asarray([trial[where] for trial in (theta, D, S)[part]])

        return f

    first = range(min(N, MOST_COORDINATES))
    found = [Functional(f"E[theta_{a + 1}]", entry(0, a)) for a in first]
    if N == 1:  # there are no pairs, and S = 0
        return found
    found += [Functional(f"E[D(2,1)_{a + 1}]", entry(1, 0, a)) for a in first]
    return [*found, Functional("E[S(2,1)]", entry(2, 1, 0))]


def check(rungs: Ladder, request: Request, reason: str) -> Verdict:
    """Return the order with its interval; the implementation is judged where the algorithm's own law is known."""
    if rungs.path is not None:
        raise ScenarioError(
            ["path: exact laws are needed, and exist for quadratic costs or N = 1, 2: leave --path out"]
        )
    N = rungs.scenario.dimension
    functionals = of_triple(N) if rungs.adaptive else of_theta(N)
    rungs, count, cut = affordable(rungs, request.trials)
    request.note(f"coupled levels: on average {count} pairs of paths at each of {len(rungs.steps)} step sizes")
    asked = [functional.f for functional in functionals]
    try:
        counts = [count] * len(rungs.steps) if request.trials else shared_out(rungs, asked, count, request.workers)
        found = _coupled(rungs, asked, counts, rungs.scenario.seed, request.workers)
    except ValueError as error:
        raise ScenarioError([str(error)]) from error
    observables = [_observable(rungs, each.name, own) for each, own in zip(functionals, found, strict=True)]
    noise = found[0].gradient_noise
    judged, size, trials = _implementation(rungs, request)
    notes = [f"{STATEMENT}: {reason}", "limit and algorithm are values of coupled paths, not of the engine", *cut]
    notes += judged.notes
    if noise == "left out":
        notes.append("the gradient noise of costs with data is left out of the coupled paths; it vanishes in the limit")
    sharpest = min((o.order for o in observables if o.order is not None), key=_width, default=Order())
    return sentences.verdict_of(
        rungs,
        request.resolution,
        size,
        judged,
        observables=tuple(observables),
        order=sharpest,
        trials=trials or count,
        simulated=rungs.epsilons,
        trials_needed=judged.needed,
        notes=tuple(notes),
    )


def _coupled(
    rungs: Ladder, asked: list[Callable[..., Any]], counts: list[int], seed: int, workers: int | None
) -> list[Coupled]:
    levels = [1.0 / epsilon for epsilon in rungs.epsilons]
    at = [rungs.horizon]
    return coupled(rungs.at(0), rungs.sampler, asked, at, levels, counts, against="limit", seed=seed, workers=workers)


def shared_out(rungs: Ladder, asked: list[Callable[..., Any]], count: int, workers: int | None) -> list[int]:
    """The trials of each level: together they take as many steps as ``count`` at each, and tell the order best.

    The error is about b epsilon, so that a slope asks for the variance v of difference / epsilon, which a pilot estimates
    from a seed of its own. Trials in proportion to sqrt(v / steps) make the sum of all v / trials smallest. Functions are
    put on one scale by their mean v.
    """
    words = np.random.SeedSequence(rungs.scenario.seed, spawn_key=(PILOT_ROLE,)).generate_state(1, np.uint64)
    pilot = min(PILOT_TRIALS, count)
    found = _coupled(rungs, asked, [pilot] * len(rungs.steps), int(words[0] >> np.uint64(1)), workers)
    v = np.array([each.variance[0] for each in found]) / np.square(rungs.epsilons)
    size = v.mean(axis=1, keepdims=True)
    v = (v / np.where(size > 0.0, size, 1.0)).mean(axis=0)
    steps = np.asarray(rungs.steps, dtype=np.float64)
    share = np.sqrt(np.maximum(v, v.max() / 100.0) / steps) if v.max() > 0.0 else np.ones(len(steps))
    wanted = share * (count * steps.sum() / (share * steps).sum())
    return [max(LEAST_TRIALS, int(each)) for each in wanted]


def _width(slope: Order) -> float:
    return float("inf") if slope.high is None or slope.low is None else slope.high - slope.low


def affordable(rungs: Ladder, trials: int | None) -> tuple[Ladder, int, list[str]]:
    """The rungs and the trials of each that coupled paths can afford, and in words what was cut.

    Trials that were asked for are taken as they are. Otherwise there are as many as the cost of a path allows; where that is
    too few, the finest levels, each as dear as all before it together, are left out first.
    """
    if trials is not None:
        return rungs, trials, []
    each, levels = _numbers(rungs), len(rungs.steps)
    while True:
        steps = (1 + LIMIT_CELLS) * sum(rungs.steps[:levels])
        count = int(MOST_WORK / steps / (1.0 + each / NUMBERS))
        if count >= LEAST_TRIALS or levels <= LEAST_RUNGS:
            break
        levels -= 1
    count = min(TRIALS, max(LEAST_TRIALS, count))
    cut = []
    if count < TRIALS:
        cut.append(
            f"the order rests on about {count} pairs of paths a step size, not {TRIALS}, because a pair takes {steps} steps: "
            "ask for more with --trials"
        )
    if levels < len(rungs.steps):
        cut.append(f"the smallest {len(rungs.steps) - levels} step sizes are left out for the same reason")
    return replace(rungs, steps=rungs.steps[:levels]), count, cut


def _numbers(rungs: Ladder) -> int:
    """How many numbers the largest cost, and S with its D, are made of: a step looks at each of them."""
    N = rungs.scenario.dimension
    return max(numbers_of(mode.build()) for mode in rungs.scenario.modes) + (N**3 if rungs.adaptive else N**2)


def _observable(rungs: Ladder, name: str, found: Any) -> Observable:
    mean, stderr = found.mean[0], found.stderr[0]
    value, last = found.value[0], len(found.levels) - 1
    slope = order.sampled_order(rungs.epsilons, mean, stderr, None)
    return Observable.over_ladder(
        name,
        value[last] - mean[last],
        value,
        found.value_stderr[0],
        error=mean,
        error_stderr=stderr,
        tested=False,
        order=slope,
    )


def _implementation(rungs: Ladder, request: Request) -> tuple[Implementation, int, int]:
    """The engine at the largest step: against the algorithm's own law where that is known, and step by step.

    Also returns how many statistics the panel has, and the trials; both 0 where nothing is run.
    """
    watched = implementation_verdict.watch(rungs)
    names = tuple(mode.name for mode in rungs.scenario.modes)
    exact, why_not = own_law(rungs, request)
    if exact is None and watched.law is None:
        return Implementation("unavailable", notes=(f"the implementation is not judged: {watched.reason}",)), 0, 0
    if exact is not None:
        panel = density_panel(rungs.scenario.dimension, names, halves=rungs.halves)
    else:
        panel = Panel((), (Statistic("mean"),), names)  # nothing is tested: only the steps are
    tested = len(panel.tested)
    count = request.trials or watched.trials(request.resolution, tested)
    engine = RungTrials(rungs, panel, count, [0], request.tell, request.workers, request.max_steps)
    tally = engine.run(0, watched.law)
    return implementation_verdict.judge(tally, exact, tested, request.resolution, watched, why_not), tested, count


def own_law(rungs: Ladder, request: Request) -> tuple[Array | None, str]:
    """Exact values of the panel for N = 1, 2, which a point start does not keep away; else None, and why."""
    N = rungs.scenario.dimension
    if rungs.adaptive:
        return None, f"a {rungs.keys.kind} sampler moves its S"
    if N > 2:
        return None, f"it is computed for N = 1 and 2, and N = {N}"
    laws, why_not = algorithm_laws(replace(rungs, steps=rungs.steps[:1]), request.note, work=request.max_work)
    if not laws:
        return None, why_not
    panel = density_panel(N, tuple(mode.name for mode in rungs.scenario.modes), halves=rungs.halves)
    return of_law(panel, laws[0], stay_algorithm(rungs, 0)), ""
