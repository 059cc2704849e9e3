"""Estimate how fast E f of a sampler converges as its step goes to 0, by coupled pairs of paths; any cost, any N.

docs/mathematics, "Coupling". At level n the step is 1/n of a unit of time and alpha = ratio / n. Level n is run beside level
2n, or beside the limit on cells of 1/(16 n), trial by trial. Level differences never validate the limit.
"""

from __future__ import annotations

import inspect
import os
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np

from tracker.costs.facts import additive_noise
from tracker.limits.coupled_kernel import Adaptation, FixedSkew, Path, run_pair
from tracker.limits.coupled_paths import draw_visits, paths_of
from tracker.limits.drift_field import Field, read_field
from tracker.limits.level_differences import Coupled, summarise
from tracker.limits.scope import OutOfScope, sampler_keys

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import ArrayLike

    from tracker.array_types import Array
    from tracker.scenario import Scenario


LIMIT_CELLS = 16
AT_ONCE = 500  # trials that a thread takes, from a stream of their own
NORMALS_AT_ONCE = 2**16  # that a thread draws
WHOLE = 1e-9
COUPLING_ROLE = 100  # a stream of its own, far from the roles of the simulation


@overload
def coupled(
    scenario: Scenario, sampler: str, f: Callable[..., Any], times: ArrayLike, levels: Sequence[float] | int,
    trials: int | Sequence[int], *, against: Literal["next", "limit"] = "next", seed: int | None = None,
    workers: int | None = None,
) -> Coupled: ...  # fmt: skip
@overload
def coupled(
    scenario: Scenario, sampler: str, f: Sequence[Callable[..., Any]], times: ArrayLike, levels: Sequence[float] | int,
    trials: int | Sequence[int], *, against: Literal["next", "limit"] = "next", seed: int | None = None,
    workers: int | None = None,
) -> list[Coupled]: ...  # fmt: skip
def coupled(
    scenario: Scenario,
    sampler: str,
    f: Callable[..., Any] | Sequence[Callable[..., Any]],
    times: ArrayLike,
    levels: Sequence[float] | int,
    trials: int | Sequence[int],
    *,
    against: Literal["next", "limit"] = "next",
    seed: int | None = None,
    workers: int | None = None,
) -> Coupled | list[Coupled]:
    """Return multilevel differences of E f with confidence intervals; a list of them for a list of functions.

    Parameters
    ----------
    f : callable
        f(theta) of theta, shape (trials, N), giving shape (trials,); or f(x, y, ...) of the N coordinates. For Algorithm 1
        (kind hessian) also f(theta, D, S), D : (trials, pairs, N), S : (trials, N, N). Of several functions all are taken
        along the same paths, which are run once.
    times : array_like
        Increasing; every time must be a whole number of steps at every level.
    levels : sequence of numbers, or int
        Steps n per unit of time; a number L means 8, 16, ..., L of them.
    trials : int, or a sequence of them
        For each level, independent from level to level.
    against : "next" or "limit"
        The partner of level n: level 2n, or the switched diffusion on cells of 1/(16 n).
    workers : int, optional
        Threads; the numbers do not depend on it.

    Raises
    ------
    ValueError
        Also where paths run away.

    Examples
    --------
    >>> import tracker
    >>> scenario = tracker.load("scenarios/example_a.toml")
    >>> found = tracker.limits.coupled(scenario, "skewed", lambda x, y: x * x, [1.0], [8], trials=50)
    >>> found.mean.shape, bool((found.stderr < 0.1).all())
    ((1, 1), True)
    """
    field, rule = _read(scenario, sampler)
    at = np.atleast_1d(np.asarray(times, dtype=np.float64))
    steps_per_unit = [8 * 2**l for l in range(levels)] if isinstance(levels, int) else list(levels)
    counts = [trials] * len(steps_per_unit) if isinstance(trials, int) else list(trials)
    _check(field, at, steps_per_unit, counts)
    if against not in ("next", "limit"):
        raise ValueError(f'against: {against!r} must be "next" or "limit"')
    factors, noise = _factors(field)
    functions = [f] if callable(f) else list(f)
    each = [_evaluator(one, len(field.M), isinstance(rule, Adaptation)) for one in functions]

    def evaluate(paths: Path) -> Array:
        return np.array([one(paths) for one in each])

    root = scenario.seed if seed is None else seed

    def block(task: tuple[int, int]) -> tuple[Array, Array, Array, Array]:
        level, first = task
        n, count = steps_per_unit[level], min(AT_ONCE, counts[level] - first)
        key = (COUPLING_ROLE, round(n), first)
        rng = np.random.Generator(np.random.SFC64(np.random.SeedSequence(root, spawn_key=key)))
        with np.errstate(over="ignore", invalid="ignore"):  # of paths that run away
            pair = _pair(field, rule, n, at, count, against == "limit", factors, evaluate, rng)
        lost = int(np.sum(~np.isfinite(pair[2])))
        if lost:
            raise ValueError(
                f"epsilons: at {1 / n:g} {lost} of {count} coupled paths ran away: begin with a smaller epsilon"
            )
        return pair

    tasks = [(level, first) for level in range(len(counts)) for first in range(0, counts[level], AT_ONCE)]
    with ThreadPoolExecutor(workers or os.cpu_count()) as pool:
        blocks = list(pool.map(block, tasks))
    results = [
        [np.concatenate(parts, axis=-1) for parts in zip(*_of_level(blocks, tasks, level), strict=True)]
        for level in range(len(counts))
    ]
    found = [
        summarise(at, steps_per_unit, [(here[j], there[j], *rest) for here, there, *rest in results], noise)
        for j in range(len(functions))
    ]
    return found[0] if callable(f) else found


def _of_level(blocks: list[Any], tasks: list[tuple[int, int]], level: int) -> list[Any]:
    return [block for block, task in zip(blocks, tasks, strict=True) if task[0] == level]


def _read(scenario: Scenario, sampler: str) -> tuple[Field, FixedSkew | Adaptation]:
    field, keys = read_field(scenario, sampler, at_given_skew=True), sampler_keys(scenario, sampler)
    if not keys.tangent:
        return field, FixedSkew(is_zero=not (field.M - np.eye(len(field.M))).any())
    if any(field.gradient_covariance(i) is None for i in range(len(field.costs))):
        raise OutOfScope("the Hessian of a cost with data is not its expectation's", "use tracker.run", sampler)
    low, high = keys.skew_bounds
    return field, Adaptation(float(keys.skew_step) / field.epsilon, float(low), float(high))


def _factors(field: Field) -> tuple[Array, str]:
    """The factors of the gradient noise, shape (X, N, rank), and what is done about it."""
    N = len(field.M)
    factors = [additive_noise(cost, N) for cost in field.costs]
    known = [np.asarray(F) for F in factors if F is not None]
    out = np.zeros((len(factors), N, max((F.shape[1] for F in known if F.any()), default=0)))
    for mode, F in enumerate(factors):
        if F is not None and F.any():
            out[mode, :, : F.shape[1]] = F
    return out, "left out" if len(known) < len(factors) else "gaussian" if out.size else "none"


def _check(field: Field, times: Array, levels: list[float], trials: list[int]) -> None:
    if len(trials) != len(levels):
        raise ValueError(f"trials: {len(trials)} numbers for {len(levels)} levels")
    if min(trials, default=2) < 2:
        raise ValueError(f"trials: {min(trials)} must be at least 2")
    if not levels or min(levels) < 1:
        raise ValueError(f"levels: {levels} must be whole numbers >= 1")
    if np.any(np.diff(times) < 0) or times[0] < 0:
        raise ValueError(f"times: {times} must be >= 0 and increasing")
    fastest = float(-np.diag(field.generator).min()) if len(field.Q) else 0.0
    for n in levels:
        if fastest / n > 1.0 + WHOLE:
            raise ValueError(
                f"levels: at {n} alpha * max|q_ii| = {fastest / n:.4g} > 1: begin at {int(np.ceil(fastest))}"
            )
        if np.any(np.abs(times * n - np.rint(times * n)) > WHOLE * np.maximum(1.0, times * n)):
            raise ValueError(f"times: {times} are not whole numbers of steps at level {n}")


def _evaluator(f: Callable[..., Any], N: int, adaptive: bool) -> Callable[[Path], Array]:
    try:
        taken = [p for p in inspect.signature(f).parameters.values() if p.kind <= p.POSITIONAL_OR_KEYWORD]
        count = sum(p.default is p.empty for p in taken)
    except (TypeError, ValueError):  # of builtins and ufuncs
        count = 1

    def evaluate(paths: Path) -> Array:
        if adaptive and count == 3:
            out = f(paths.theta, paths.D, paths.S)
        elif N > 1 and count == N:
            out = f(*paths.theta.T)
        else:
            out = f(paths.theta)
        return np.asarray(out, dtype=np.float64).reshape(len(paths.theta))

    return evaluate


def _pair(
    field: Field, rule: FixedSkew | Adaptation, n: float, times: Array, trials: int, limit: bool,
    factors: Array, evaluate: Callable[[Path], Array], rng: np.random.Generator,
) -> tuple[Array, Array, Array, Array]:  # fmt: skip
    """Terms of each E f at level n and of the partner, (functions, times, trials); largest distance and mismatch, (trials,)."""
    m = LIMIT_CELLS if limit else 2
    N = len(field.M)
    parts = 0 if factors.shape[2] == 0 else 1 if limit else m
    visits = draw_visits(field, trials, float(times[-1]), field.alpha / field.epsilon / n, rng)
    values, vectors = np.linalg.eigh(field.covariance)
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    theta = field.mean + rng.standard_normal((trials, N)) @ root.T
    tangent = isinstance(rule, Adaptation)
    coarse = paths_of(field, n, visits, theta, factors, limit=False, tangent=tangent)
    fine = paths_of(field, m * n, visits, theta, factors, limit=limit, tangent=tangent)
    scale = float(np.sqrt(2.0 / (field.beta * m * n)))
    most = max(1, NORMALS_AT_ONCE // (trials * m * N))
    here, there = [], []
    farthest, k = np.zeros(trials), 0
    for wanted in np.rint(times * n).astype(int):
        while k < wanted:
            steps = min(most, wanted - k)
            w = rng.standard_normal((trials, steps, m, N))
            z = rng.standard_normal((trials, steps, parts, N))
            run_pair(rule, field.costs, coarse, fine, k, w, z, scale, farthest)
            k += steps
        here.append(evaluate(coarse))
        there.append(evaluate(fine))
    rows = np.arange(trials)
    apart = coarse.modes[rows, coarse.visit] != fine.modes[rows, fine.visit]
    return np.stack(here, axis=1), np.stack(there, axis=1), farthest, apart.astype(np.float64)
