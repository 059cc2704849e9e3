"""summary.json: what scripts rely on (docs/architecture, "What a run leaves")."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tracker import chain as chain_statistics
from tracker.engine.bins import WAIT_BITS, bin_edges
from tracker.engine.loop import CORRECT, ERROR, EXCESS, INSIDE, MEASURED, SQUARE, STEPS
from tracker.jsonable import jsonable
from tracker.metrics.after_switch import pooled_mean
from tracker.metrics.averages import final_moments, over_trials, pooled_moments, ratio
from tracker.metrics.recovery import others, recovery
from tracker.names import FROZEN, ORACLE
from tracker.runs.manifest import FORMAT
from tracker.runs.netcdf import array_hash
from tracker.runs.step_sizes import steps_over_limits
from tracker.scenario import classifies, regimes

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from tracker.engine.simulate import Contestant, Problem

    Arrays = Mapping[str, NDArray[Any]]


# the columns of ``by_mode`` and ``by_age`` are the loop's; who reads results takes them from here
__all__ = [
    "CORRECT", "ERROR", "EXCESS", "INSIDE", "MEASURED", "SQUARE", "STEPS", "horizon", "per_step", "summarise",
    "tracking_errors",
]  # fmt: skip
RECOVERY = ("already", "median", "low", "high", "censored", "mean", "stayed", "switches", "by_mode")
BY_MODE = ("already", "median", "low", "high", "censored", "switches")


def summarise(problem: Problem, arrays: Arrays, seconds: NDArray[np.float64]) -> dict[str, Any]:
    """Return the summary of a run from its arrays; axes are (trial, sampler, ...)."""
    scenario, relative = problem.scenario, steps_over_limits(problem, arrays, at_once=True)
    samplers = [
        {
            **summarise_sampler(problem, arrays, n, contestant),
            "step_over_limit": relative.get(contestant.name),
            "steps_per_second": _speed(problem, arrays, n, seconds[n]),
        }
        for n, contestant in enumerate(problem.contestants)
    ]
    summary = {
        "scenario": {
            "name": scenario.name,
            "sha256": scenario.sha256,
            "seed": scenario.seed,
            "trials": scenario.trials,
            "steps": scenario.steps,
        },
        "chain": summarise_chain(problem, arrays),
        "regime": regimes(scenario),
        "samplers": samplers,
        "cost_every": problem.layout.cost_every,
        "format": FORMAT,
        "hash": array_hash(arrays),
    }
    return dict(jsonable(summary))


def _speed(problem: Problem, arrays: Arrays, n: int, seconds: float) -> float | None:
    diverged = arrays["diverged"][:, n]
    steps = np.where(diverged < 0, problem.scenario.steps, diverged).sum(dtype=float)
    return steps / seconds if seconds > 0 else None


def summarise_sampler(problem: Problem, arrays: Arrays, n: int, contestant: Contestant) -> dict[str, Any]:
    """Return the row of one contestant; diverged trials are counted and left out of every average."""
    layout = problem.layout
    kept = arrays["diverged"][:, n] < 0
    by_mode = arrays["by_mode"][kept, n]
    per_trial = by_mode.sum(axis=1)
    steps, measured = per_trial[:, STEPS], per_trial[:, MEASURED]
    moments = pooled_moments(arrays["moments"][kept, n], float(steps.sum()), problem.origin)
    has_target = all(np.isfinite(mode.radius2) for mode in problem.modes)
    keys = contestant.keys
    accuracy = {"accuracy": _average(ratio(per_trial[:, CORRECT], measured))} if classifies(problem.modes) else {}
    evaluations = keys.evaluations._asdict() if keys is not None else {"gradient": 0, "cost": 0, "hessian": 0}
    return {
        "name": contestant.name,
        "kind": keys.kind if keys is not None else contestant.name,
        "epsilon": keys.epsilon if keys is not None else None,
        "beta": keys.beta if keys is not None else None,
        "tracking_error": _average(ratio(per_trial[:, ERROR], steps)),
        "mean_square_error": _average(ratio(per_trial[:, SQUARE], steps)),
        "excess_cost": _average(ratio(per_trial[:, EXCESS], measured)),
        "regret": _average(layout.cost_every * per_trial[:, EXCESS]),
        **accuracy,
        "inside_target": _average(ratio(per_trial[:, INSIDE], steps)) if has_target else None,
        **summarise_recovery(problem, arrays, n, contestant.name),
        "mean": moments.mean.tolist(),
        "covariance": moments.covariance.tolist(),
        "final": summarise_final(problem, arrays["final"][kept, n], arrays["final_mode"][kept]),
        "diverged": int((~kept).sum()),
        "first_divergence": int(arrays["diverged"][~kept, n].min()) if not kept.all() else None,
        "resets": int(arrays["resets"][:, n].sum()),
        "evaluations": evaluations,
    }  # fmt: skip


def summarise_recovery(problem: Problem, arrays: Arrays, n: int, name: str) -> dict[str, Any]:
    """Return what re-acquisition was like: ``recovery``, and its mean once more with a standard error.

    ``already`` is a share of all switches; all else, ``switches`` too, is about the others. ``mean`` is restricted to
    ``horizon``. What stands still never re-acquires anything, so it has no times; what knows the mode has nothing to re-acquire.
    """
    kept = arrays["diverged"][:, n] < 0
    nothing: dict[str, Any] = {"recovery": dict.fromkeys(RECOVERY), "recovery_mean": {"mean": None, "stderr": None}}
    if not all(np.isfinite(mode.radius2) for mode in problem.modes):
        return nothing
    waits, edges = arrays["waits"][kept, n], bin_edges(problem.layout.steps, WAIT_BITS)
    whole, by_mode = recovery(waits, edges)
    if name == ORACLE:
        nothing["recovery"]["already"] = _number(whole.already)
        return nothing
    looked, still = arrays["stays"][kept, n].sum(axis=(0, 1))
    mean = pooled_mean(others(waits), edges, horizon(problem, arrays))
    row: dict[str, Any] = {key: _number(value) for key, value in whole._asdict().items()}
    row |= {"mean": _number(mean.mean), "stayed": still / looked if looked else None, "switches": whole.switches}
    if name == FROZEN:
        row |= dict.fromkeys(("median", "low", "high", "mean", "stayed"))
        mean = over_trials(np.empty(0))
    row["by_mode"] = [
        {"mode": keys.name, **{key: _number(getattr(one, key)) for key in BY_MODE}, "switches": one.switches}
        for keys, one in zip(problem.scenario.modes, by_mode, strict=True)
    ]
    return {
        "recovery": {key: row[key] for key in RECOVERY},
        "recovery_mean": {"mean": _number(mean.mean), "stderr": _number(mean.stderr)},
    }


def horizon(problem: Problem, arrays: Arrays) -> int:
    """Return to how many steps mean waits are restricted: the mean time between two switches, so that few are cut by the next."""
    trials = len(arrays["switches"])
    return max(1, int(trials * problem.layout.steps / (int(arrays["switches"].sum()) + trials)))


def summarise_final(problem: Problem, theta: NDArray[np.float64], mode: NDArray[np.int64]) -> dict[str, Any]:
    """Return the moments of theta_K over trials; null numbers where all diverged."""
    final = final_moments(theta, mode, len(problem.modes))
    by_mode = [
        {
            "mode": keys.name,
            "probability": final.probability[i],
            "mean": final.mean_by_mode[i].tolist(),
            "second": final.second_by_mode[i].tolist(),
        }
        for i, keys in enumerate(problem.scenario.modes)
    ]
    return {"mean": final.mean.tolist(), "second": final.second.tolist(), "by_mode": by_mode}


def summarise_chain(problem: Problem, arrays: Arrays) -> dict[str, Any]:
    """Return what the hidden path was, and whether it looks like the chain it should be.

    ``switches`` counts the changes of mode that a step met, at k = 1, ..., K - 1; ``completed`` also a jump into x_K.
    """
    scenario, plan = problem.scenario, problem.plan
    names = [mode.name for mode in scenario.modes]
    summary: dict[str, Any] = {
        "alpha": plan.alpha,
        "modes": names,
        "stationary": None,
        "switches": int(arrays["switches"].sum()),
        "dwell": [],
    }
    if plan.Q is None or plan.alpha is None:
        return summary
    try:
        summary["stationary"] = chain_statistics.stationary_law(plan.Q).tolist()
    except ValueError:  # several closed classes: there is no one stationary law
        summary["stationary"] = None
    leaving = chain_statistics.exit_probability(plan.Q, plan.alpha)
    pooled = {name: arrays[name].sum(axis=0) for name in ("jumps", "censored", "exits", "at_risk")}
    counts = chain_statistics.DwellCounts(chain_statistics.age_edges(leaving), **pooled)
    mean = chain_statistics.estimate(counts, plan.alpha).mean_dwell
    p_value = chain_statistics.hazard_test(counts).p_value
    rate_p_value = chain_statistics.rate_test(counts, leaving)
    summary["dwell"] = [
        {
            "mode": name,
            "completed": int(counts.completed[i]),
            "censored": int(counts.censored[i]),
            "mean": _number(mean[i]),
            "expected": _number(1.0 / leaving[i]) if leaving[i] > 0 else None,
            "p_value": _number(p_value[i]),
            "rate_p_value": _number(rate_p_value[i]),
        }
        for i, name in enumerate(names)
    ]
    return summary


def per_step(arrays: Arrays, column: int) -> NDArray[np.float64]:
    """Return a sum by mode as an average over its steps, shape (T, S); nan where a trial diverged."""
    sums = arrays["by_mode"].sum(axis=2)
    steps = sums[..., MEASURED if column in (EXCESS, CORRECT) else STEPS]
    return np.where(arrays["diverged"] < 0, ratio(sums[..., column], steps), np.nan)


def tracking_errors(arrays: Arrays) -> NDArray[np.float64]:
    """Return the tracking error of each trial and sampler, shape (T, S): what paired comparisons are made of."""
    return per_step(arrays, ERROR)


def _average(values: NDArray[np.float64]) -> dict[str, float | None]:
    average = over_trials(values)
    return {"mean": _number(average.mean), "stderr": _number(average.stderr)}


def _number(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None
