"""summary.json: what scripts rely on (DESIGN section 4)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tracker import chain as chain_statistics
from tracker.bins import WAIT_BITS, bin_edges
from tracker.loop import ERROR, INSIDE, SQUARE, STEPS
from tracker.metrics.accuracy import Classes, accuracy
from tracker.metrics.averages import final_moments, over_trials, pooled_moments, ratio, time_average
from tracker.metrics.recovery import recovery
from tracker.plain import jsonable
from tracker.runs.netcdf import array_hash
from tracker.runs.steps import steps_over_limits
from tracker.scenario import classifies, regimes

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from tracker.simulate import Contestant, Problem

    Arrays = Mapping[str, NDArray[Any]]


# the columns of ``by_mode`` and ``by_age`` are the loop's; who reads results takes them from here
__all__ = ["ERROR", "INSIDE", "SQUARE", "STEPS", "per_step", "summarise", "tracking_errors"]


def summarise(problem: Problem, arrays: Arrays, seconds: NDArray[np.float64]) -> dict[str, Any]:
    """Return the summary of a run from its arrays; axes are (trial, sampler, ...)."""
    scenario, relative = problem.scenario, steps_over_limits(problem, arrays, at_once=True)
    samplers = [
        {
            **summarise_sampler(problem, arrays, n, contestant),
            "step_over_limit": relative.get(contestant.name),
            **summarise_accuracy(problem, arrays, n),
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
    steps = per_trial[:, STEPS]
    recorded = np.arange(problem.records) * layout.record_every
    excess = time_average(arrays["excess"][kept, n], recorded, layout.burn_in, layout.steps)
    moments = pooled_moments(arrays["moments"][kept, n], float(steps.sum()), problem.origin)
    has_target = all(np.isfinite(mode.radius2) for mode in problem.modes)
    waits = recovery(arrays["waits"][kept, n], bin_edges(layout.steps, WAIT_BITS))
    keys = contestant.keys
    evaluations = keys.evaluations._asdict() if keys is not None else {"gradient": 0, "cost": 0, "hessian": 0}
    return {
        "name": contestant.name,
        "kind": keys.kind if keys is not None else contestant.name,
        "epsilon": keys.epsilon if keys is not None else None,
        "beta": keys.beta if keys is not None else None,
        "tracking_error": _average(ratio(per_trial[:, ERROR], steps)),
        "mean_square_error": _average(ratio(per_trial[:, SQUARE], steps)),
        "excess_cost": _average(excess),
        "inside_target": _average(ratio(per_trial[:, INSIDE], steps)) if has_target else None,
        "recovery": {
            key: _number(value) if has_target else None for key, value in waits._asdict().items()
        },
        "mean": moments.mean.tolist(),
        "covariance": moments.covariance.tolist(),
        "final": summarise_final(problem, arrays["final"][kept, n], arrays["final_mode"][kept]),
        "diverged": int((~kept).sum()),
        "first_divergence": int(arrays["diverged"][~kept, n].min()) if not kept.all() else None,
        "resets": int(arrays["resets"][:, n].sum()),
        "evaluations": evaluations,
    }  # fmt: skip


def summarise_accuracy(problem: Problem, arrays: Arrays, n: int) -> dict[str, Any]:
    """Return the time average of the accuracy under the current mode where all modes are classifiers, else nothing."""
    if not classifies(problem.modes):
        return {}
    layout, kept = problem.layout, arrays["diverged"][:, n] < 0
    classes = [Classes(mode.cost.rows, mode.cost.labels) for mode in problem.modes]
    trace = accuracy(classes, arrays["theta"][kept, n], arrays["mode"][kept])
    recorded = np.arange(problem.records) * layout.record_every
    return {"accuracy": _average(time_average(trace, recorded, layout.burn_in, layout.steps))}


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
    """Return a sum by mode as an average over the steps, shape (T, S); nan where a trial diverged."""
    sums = arrays["by_mode"].sum(axis=2)
    return np.where(arrays["diverged"] < 0, ratio(sums[..., column], sums[..., STEPS]), np.nan)


def tracking_errors(arrays: Arrays) -> NDArray[np.float64]:
    """Return the tracking error of each trial and sampler, shape (T, S): what paired comparisons are made of."""
    return per_step(arrays, ERROR)


def _average(values: NDArray[np.float64]) -> dict[str, float | None]:
    average = over_trials(values)
    return {"mean": _number(average.mean), "stderr": _number(average.stderr)}


def _number(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None
