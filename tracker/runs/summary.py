"""summary.json: what scripts rely on (docs/architecture, "What a run leaves")."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tracker import chain as chain_statistics
from tracker.baseline_names import FROZEN, LADDER, ORACLE, WHAT_THEY_KNOW
from tracker.engine.bins import WAIT_BITS, bin_edges
from tracker.engine.ledger import COLUMNS, CORRECT, ERROR, EXCESS, INSIDE, MEASURED, SQUARE, STEPS
from tracker.jsonable import jsonable
from tracker.metrics.averages import final_moments, pooled_moments
from tracker.metrics.claims import judge
from tracker.metrics.estimates import averages
from tracker.metrics.measured_run import MeasuredRun
from tracker.metrics.recovery import Waits, recovery
from tracker.metrics.table import metrics_of
from tracker.runs.detection_counts import detections_by_sampler
from tracker.runs.manifest import FORMAT
from tracker.runs.minimiser_path import path_lengths
from tracker.runs.netcdf import array_hash
from tracker.runs.stability_of_steps import steps_over_limits
from tracker.runs.state_means import state_means
from tracker.scenario import classifies, regimes
from tracker.scenario.data_files import notes_on_rows

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from tracker.array_types import Array, Integers
    from tracker.engine.simulate import Problem
    from tracker.metrics.table import Metric
    from tracker.runs.manifest import Part

    Arrays = Mapping[str, NDArray[Any]]


# the columns of ``by_mode`` and ``by_age`` are the loop's; who reads results takes them from here
__all__ = [
    "CORRECT", "ERROR", "EXCESS", "INSIDE", "MEASURED", "SQUARE", "STEPS", "measured_run", "summarise",
]  # fmt: skip
SHARES_AND_ENDS = ("already", "median", "low", "high", "censored")  # of ``Waits``, beside the count of switches


def summarise(problem: Problem, arrays: Arrays, seconds: Array, part: Part | None = None) -> dict[str, Any]:
    """Return the summary of a run, or of a ``part`` of it, from its arrays; axes are (trial, sampler, ...)."""
    scenario, relative = problem.scenario, steps_over_limits(problem, arrays, at_once=True)
    run = measured_run(problem, arrays)
    rows = summarise_metrics(problem, run)
    samplers = [
        {
            **summarise_sampler(problem, run, n, row),
            "step_over_limit": relative.get(contestant.name),
            "steps_per_second": _speed(problem, arrays, n, seconds[n]),
        }
        for n, (contestant, row) in enumerate(zip(problem.contestants, rows, strict=True))
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
        "claims": summarise_claims(problem, run),
        "cost_every": problem.layout.cost_every,
        "ladder": summarise_ladder(problem, samplers),
        "notes": [*problem.notes.values(), *_why_no_distance(problem), *notes_on_rows(scenario)],
        "format": FORMAT,
        "hash": array_hash(arrays),
    }
    if part is not None:
        own = part.share(scenario.trials)
        summary["part"] = {"number": part.number, "of": part.of, "first": own.start, "stop": own.stop}
    return dict(jsonable(summary))


def _why_no_distance(problem: Problem) -> list[str]:
    reason = problem.scenario.no_distance
    return [f"tracking error, mean square error and targets are left out: {reason}"] if reason else []


def summarise_claims(problem: Problem, run: MeasuredRun) -> list[dict[str, Any]]:
    """Return what became of each claim of the file, in its order."""
    names = [contestant.name for contestant in problem.contestants]
    return [
        {"text": claim.text, **judge(run, names, claim.left, claim.relation, claim.right)._asdict()}
        for claim in problem.scenario.claims
    ]


def summarise_ladder(problem: Problem, samplers: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the rungs that the run has, from knowing nothing to knowing the mode; theory has more (``tracker.limits.ladder``)."""
    rows = {row["name"]: row for row in samplers}
    return [
        {
            "rung": name,
            "knows": WHAT_THEY_KNOW[name],
            "mean_square_error": rows[name]["mean_square_error"],
            "exact": False,
            "bound": name in problem.bounds,
            "observations": rows[name]["observations"],
            "evaluations": rows[name]["evaluations"],
        }
        for name in LADDER
        if name in problem.scenario.baselines
    ]


def _speed(problem: Problem, arrays: Arrays, n: int, seconds: float) -> float | None:
    diverged = arrays["diverged"][:, n]
    steps = np.where(diverged < 0, problem.scenario.steps, diverged).sum(dtype=float)
    return steps / seconds if seconds > 0 else None


def summarise_sampler(problem: Problem, run: MeasuredRun, n: int, metrics: dict[str, Any]) -> dict[str, Any]:
    """Return the row of one contestant; diverged trials are counted and left out of every average."""
    contestant, arrays, kept = problem.contestants[n], run.arrays, run.kept[:, n]
    steps = float(run.total("steps")[kept, n].sum())
    moments = pooled_moments(arrays["moments"][kept, n], steps, problem.origin)
    keys = contestant.keys
    return {
        "name": contestant.name,
        "kind": keys.kind if keys is not None else contestant.name,
        "epsilon": keys.epsilon if keys is not None else None,
        "effective_step": keys.effective_step if keys is not None else None,
        "beta": keys.beta if keys is not None else None,
        **metrics,
        "mean": moments.mean.tolist(),
        "covariance": _list(moments.covariance),
        "final": summarise_final(problem, arrays["final"][kept, n], arrays["final_mode"][kept]),
        "diverged": int((~kept).sum()),
        "first_divergence": int(arrays["diverged"][~kept, n].min()) if not kept.all() else None,
        **state_means(problem, run.arrays, n, kept),
        "resets": int(arrays["resets"][:, n].sum()),
        "evaluations": contestant.evaluations._asdict(),
        "observations": contestant.observations,
    }  # fmt: skip


def summarise_metrics(problem: Problem, run: MeasuredRun) -> list[dict[str, Any]]:
    """Return the numbers of every metric, a row for each contestant."""
    rows: list[dict[str, Any]] = [{} for _ in problem.contestants]
    for metric in metrics_of(run):
        for n, (row, mean) in enumerate(zip(rows, averages(metric, run), strict=True)):
            told = {"mean": _number(mean.mean), "stderr": _number(mean.stderr)}
            if metric.kind == "time":
                row |= {metric.key: summarise_waits(problem, run, n, metric, told["mean"]), f"{metric.key}_mean": told}
            else:
                number = told if metric.told == "mean and stderr" else told["mean"]
                place = row if not metric.within else row.setdefault(metric.within, {})
                place[metric.key] = number if metric.applies(run) or "distance" in metric.needs else None
    for n, row in enumerate(rows):
        raises = run.detections is not None and not np.isnan(run.detections[:, n]).all()
        row["detection"] = row["detection"] if raises else None  # of what raises no alarms nothing is known
    return rows


def summarise_waits(problem: Problem, run: MeasuredRun, n: int, metric: Metric, mean: float | None) -> dict[str, Any]:
    """Return what the waits of one contestant were like; all is null where the metric does not apply.

    ``already`` is a share of all switches; all else, ``switches`` too, is about the others. ``mean`` is restricted to
    the run's horizon. What stands still never re-acquires anything, so it has no times; what knows the mode has nothing to
    re-acquire.
    """
    nothing = dict.fromkeys((*SHARES_AND_ENDS, "mean", *dict(metric.further), "switches", "by_mode"))
    if not metric.applies(run):
        return nothing
    name = problem.contestants[n].name
    whole, by_mode = recovery(metric.per_trial(run)[run.kept[:, n], n], run.wait_edges)
    if name == ORACLE:
        return nothing | {"already": _number(whole.already)}
    row = nothing | {"mean": mean, **{key: value(run, n) for key, value in metric.further}}
    row |= _waits(whole)
    if name == FROZEN:
        row |= dict.fromkeys(("median", "low", "high", "mean", *dict(metric.further)))
    modes = zip(problem.scenario.modes, by_mode, strict=True)
    return row | {"by_mode": [{"mode": keys.name, **_waits(one)} for keys, one in modes]}


def _waits(one: Waits) -> dict[str, Any]:
    return {key: _number(getattr(one, key)) for key in SHARES_AND_ENDS} | {"switches": one.switches}


def measured_run(problem: Problem, arrays: Arrays) -> MeasuredRun:
    """Return a run as metrics see it."""
    layout, radius2 = problem.layout, np.array([mode.radius2 for mode in problem.modes])
    contestants = problem.contestants
    return MeasuredRun(
        arrays=arrays,
        columns=COLUMNS,
        steps=layout.steps,
        burn_in=layout.burn_in,
        record_every=layout.record_every,
        cost_every=layout.cost_every,
        epsilon=np.array([one.keys.epsilon if one.keys is not None else np.nan for one in contestants]),
        waits_for_targets=np.array([one.recovers for one in contestants]),
        wait_edges=bin_edges(layout.steps, WAIT_BITS),
        floor=np.array([mode.floor for mode in problem.modes]),
        target_radius=np.sqrt(radius2) if np.isfinite(radius2).all() else None,
        classes=True if classifies(problem.modes) else None,
        detections=detections_by_sampler(problem, arrays),
        path=path_lengths(problem, arrays),
        distance=None if problem.scenario.no_distance else True,
    )


def summarise_final(problem: Problem, theta: Array, mode: Integers) -> dict[str, Any]:
    """Return the moments of theta_K over trials; null numbers where all diverged."""
    final = final_moments(theta, mode, len(problem.modes), problem.scenario.moments)
    by_mode = [
        {
            "mode": keys.name,
            "probability": final.probability[i],
            "mean": final.mean_by_mode[i].tolist(),
            "second": _list(final.second_by_mode[i]) if final.second_by_mode is not None else None,
        }
        for i, keys in enumerate(problem.scenario.modes)
    ]
    return {"mean": final.mean.tolist(), "second": _list(final.second), "by_mode": by_mode}


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
        **({} if plan.law.is_geometric else {"law": plan.law.word}),
    }
    if plan.Q is None or plan.alpha is None:
        return summary
    try:
        summary["stationary"] = chain_statistics.stationary_law(plan.Q).tolist()
    except ValueError:  # several closed classes: there is no one stationary law
        summary["stationary"] = None
    leaving = chain_statistics.exit_probability(plan.Q, plan.alpha)
    counts = chain_statistics.counts_of(arrays, leaving)
    mean = chain_statistics.estimate(counts, plan.alpha, leaving=leaving).mean_dwell
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


def _list(array: Array | None) -> Any:
    return array.tolist() if array is not None else None


def _number(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None
