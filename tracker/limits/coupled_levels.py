"""Estimate how fast E f of a sampler converges as its step goes to 0, by coupled pairs of paths; any cost, any N.

docs/mathematics, "Coupling". At level n the step is 1/n of a unit of time and alpha = ratio / n. Level n is run beside level
2n, or beside the limit on cells of 1/(16 n), trial by trial. Level differences never validate the limit.
"""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from tracker.limits.coupled_paths import Adaptation, LimitPaths, Paths, SamplerPaths, draw_visits
from tracker.limits.drift_field import Field, read_field
from tracker.limits.level_differences import Coupled, summarise
from tracker.limits.scope import OutOfScope, sampler_keys

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import ArrayLike

    from tracker.array_types import Array
    from tracker.scenario import Scenario


LIMIT_CELLS = 16
AT_ONCE = 10_000  # trials
WHOLE = 1e-9
COUPLING_ROLE = 100  # a stream of its own, far from the roles of the simulation


def coupled(
    scenario: Scenario,
    sampler: str,
    f: Callable[..., Any],
    times: ArrayLike,
    levels: Sequence[int] | int,
    trials: int,
    *,
    against: Literal["next", "limit"] = "next",
    seed: int | None = None,
) -> Coupled:
    """Return multilevel differences of E f with confidence intervals.

    Parameters
    ----------
    f : callable
        f(theta) of theta, shape (trials, N), giving shape (trials,); or f(x, y, ...) of the N coordinates. For Algorithm 1
        (kind hessian) also f(theta, D, S), D : (trials, pairs, N), S : (trials, N, N).
    times : array_like
        Increasing; every time must be a whole number of steps at every level.
    levels : sequence of int, or int
        Steps n per unit of time; a number L means 8, 16, ..., L of them.
    trials : int
        For each level, independent from level to level.
    against : "next" or "limit"
        The partner of level n: level 2n, or the switched diffusion on cells of 1/(16 n).

    Examples
    --------
    >>> import tracker
    >>> scenario = tracker.load("scenarios/example_a.toml")
    >>> found = tracker.limits.coupled(scenario, "skewed", lambda x, y: x * x, [1.0], [8], trials=50)
    >>> found.mean.shape, bool((found.stderr < 0.1).all())
    ((1, 1), True)
    """
    return coupled_together(scenario, sampler, [f], times, levels, trials, against=against, seed=seed)[0]


def coupled_together(
    scenario: Scenario,
    sampler: str,
    functions: Sequence[Callable[..., Any]],
    times: ArrayLike,
    levels: Sequence[float] | int,
    trials: int,
    *,
    against: Literal["next", "limit"] = "next",
    seed: int | None = None,
) -> list[Coupled]:
    """Return what ``coupled`` does for each of several functions, taken along the same paths, which are run once.

    Steps per unit of time need not be whole numbers here.

    Raises
    ------
    ValueError
        Also where paths run away.
    """
    field, adaptation = _read(scenario, sampler)
    at = np.atleast_1d(np.asarray(times, dtype=np.float64))
    steps_per_unit = [8 * 2**l for l in range(levels)] if isinstance(levels, int) else list(levels)
    _check(field, at, steps_per_unit, trials)
    if against not in ("next", "limit"):
        raise ValueError(f'against: {against!r} must be "next" or "limit"')
    factors = [_factor(field, i) for i in range(len(field.costs))]
    known = [F for F in factors if F is not None]
    noise = "left out" if len(known) < len(factors) else "gaussian" if any(F.any() for F in known) else "none"
    used = [np.zeros((len(field.M), 0)) if F is None else F for F in factors]
    each = [_evaluator(f, len(field.M), adaptation is not None) for f in functions]

    def evaluate(paths: Paths) -> Array:
        return np.array([one(paths) for one in each])

    root = scenario.seed if seed is None else seed
    results = []
    for n in steps_per_unit:
        blocks = []
        for first in range(0, trials, AT_ONCE):
            key = (COUPLING_ROLE, round(n), first)
            rng = np.random.Generator(np.random.SFC64(np.random.SeedSequence(root, spawn_key=key)))
            count = min(AT_ONCE, trials - first)
            with np.errstate(over="ignore", invalid="ignore"):  # of paths that run away
                pair = _pair(field, adaptation, n, at, count, against == "limit", used, evaluate, rng)
            lost = int(np.sum(~np.isfinite(pair[2])))
            if lost:
                raise ValueError(
                    f"epsilons: at {1 / n:g} {lost} of {count} coupled paths ran away: begin with a smaller epsilon"
                )
            blocks.append(pair)
        results.append([np.concatenate(parts, axis=-1) for parts in zip(*blocks, strict=True)])
    return [
        summarise(at, steps_per_unit, [(here[j], there[j], *rest) for here, there, *rest in results], trials, noise)
        for j in range(len(functions))
    ]


def _read(scenario: Scenario, sampler: str) -> tuple[Field, Adaptation | None]:
    field, keys = read_field(scenario, sampler, at_given_skew=True), sampler_keys(scenario, sampler)
    if not keys.tangent:
        return field, None
    if any(_factor(field, i) is None for i in range(len(field.costs))):
        raise OutOfScope("the Hessian of a cost with data is not its expectation's", "use tracker.run", sampler)
    low, high = keys.skew_bounds
    return field, Adaptation(float(keys.skew_step) / field.epsilon, float(low), float(high))


def _factor(field: Field, mode: int) -> Array | None:
    Sigma = field.gradient_covariance(mode)
    return None if Sigma is None else np.asarray(getattr(field.costs[mode], "noise", np.zeros((len(Sigma), 0))))


def _check(field: Field, times: Array, levels: list[float], trials: int) -> None:
    if trials < 2:
        raise ValueError(f"trials: {trials} must be at least 2")
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


def _evaluator(f: Callable[..., Any], N: int, adaptive: bool) -> Callable[[Paths], Array]:
    try:
        taken = [p for p in inspect.signature(f).parameters.values() if p.kind <= p.POSITIONAL_OR_KEYWORD]
        count = sum(p.default is p.empty for p in taken)
    except (TypeError, ValueError):  # of builtins and ufuncs
        count = 1

    def evaluate(paths: Paths) -> Array:
        if adaptive and count == 3:
            out = f(paths.theta, paths.D, paths.S)
        elif N > 1 and count == N:
            out = f(*paths.theta.T)
        else:
            out = f(paths.theta)
        return np.asarray(out, dtype=np.float64).reshape(len(paths.theta))

    return evaluate


def _pair(
    field: Field, adaptation: Adaptation | None, n: float, times: Array, trials: int, limit: bool,
    factors: list[Array], evaluate: Callable[[Paths], Array], rng: np.random.Generator,
) -> tuple[Array, Array, Array, Array]:  # fmt: skip
    """Terms of each E f at level n and of the partner, (functions, times, trials); largest distance and mismatch, (trials,)."""
    m = LIMIT_CELLS if limit else 2
    N = len(field.M)
    visits = draw_visits(field, trials, float(times[-1]), field.alpha / field.epsilon / n, rng)
    values, vectors = np.linalg.eigh(field.covariance)
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    theta = field.mean + rng.standard_normal((trials, N)) @ root.T
    coarse = SamplerPaths(field, adaptation, n, visits, theta)
    fine = (LimitPaths if limit else SamplerPaths)(field, adaptation, m * n, visits, theta)
    noisy = any(F.shape[1] for F in factors)
    scale = np.sqrt(2.0 / (field.beta * m * n))
    wanted = np.rint(times * n).astype(int)
    here, there = [], []
    farthest = np.zeros(trials)
    for k in range(int(wanted[-1]) + 1):
        for _ in np.flatnonzero(wanted == k):
            here.append(evaluate(coarse))
            there.append(evaluate(fine))
        if k == wanted[-1]:
            break
        w = scale * rng.standard_normal((m, trials, N))
        z = rng.standard_normal((m, trials, N)) if noisy else None
        coarse.step(w.sum(axis=0), None if z is None else z.sum(axis=0) / np.sqrt(m), factors)
        for part in range(m):
            fine.step(w[part], None if z is None else z[part], factors)
        farthest = np.maximum(farthest, np.linalg.norm(coarse.theta - fine.theta, axis=1))
    return np.stack(here, axis=1), np.stack(there, axis=1), farthest, (coarse.mode != fine.mode).astype(np.float64)
