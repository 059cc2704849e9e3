"""Jumps and a random walk of equal quadratic variation: what cannot tell them apart, and what can.

The worlds of scenarios/equal_jumps.toml and equal_walk.toml. Samplers that are linear in the gradients have, to first order, the
same error and the same best step in both; a filter that knows the jumps, and a restart that looks for them, have not.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar

import tracker
from tracker import limits
from tracker.array_types import Array
from tracker.formatting import number
from tracker.reports.exhibit import Exhibit, Section, Table
from tracker.reports.figure_style import figure, legend, log_axis
from tracker.reports.html_page import render, write

SCENARIOS = Path(__file__).parents[1] / "scenarios"
WORLDS = {"jumps": "equal_jumps", "walk": "equal_walk"}
LINEAR: dict[str, dict[str, Any]] = {
    "langevin": {"kind": "langevin"},
    "kinetic": {"kind": "kinetic", "friction": 0.5},
    "averaged": {"kind": "averaged", "rate": 0.1, "sampler": {"kind": "langevin"}},
}
COLOURS = ("#0072b2", "#009e73", "#cc79a7")
MARKS = {"best-step": ("o", "langevin"), "restart": ("s", "restart"), "filter": ("^", "Bayes filter")}
GRID = np.geomspace(3e-3, 0.2, 30)  # effective steps


def error(world: tracker.Scenario, keys: dict[str, Any], step: float) -> float:
    """Return the exact mean square error of a linear kind at an effective step."""
    epsilon = step * keys.get("friction", 1.0)
    sampler = {"name": "one", "epsilon": float(epsilon), "beta": "inf", **keys}
    return float(limits.stationary(world.replace(samplers=[sampler], claims=None), "one").mean_square_error)


def least(world: tracker.Scenario, keys: dict[str, Any]) -> tuple[float, float]:
    """Return the best effective step of a linear kind, and its error."""
    around = (float(np.log(GRID[0])), float(np.log(GRID[-1])))
    found = minimize_scalar(lambda log: error(world, keys, float(np.exp(log))), bounds=around, method="bounded", options={"xatol": 1e-6})  # fmt: skip
    return float(np.exp(found.x)), float(found.fun)


def measured(run: tracker.Run) -> dict[str, tuple[float, float]]:
    """Return mean and standard error of the mean square error, by sampler."""
    rows = {row["name"]: row["mean_square_error"] for row in run.summary["samplers"]}
    return {name: (rows[name]["mean"], rows[name]["stderr"]) for name in MARKS if name in rows}


def exhibit(worlds: dict[str, tracker.Scenario]) -> Exhibit:
    """Draw exact errors against the step in both worlds, and what was measured."""
    best = {kind: {name: least(world, keys) for name, world in worlds.items()} for kind, keys in LINEAR.items()}
    found = {name: measured(tracker.run(world)) for name, world in worlds.items()}
    with figure(height=4.2) as fig:
        ax = fig.subplots()
        for (kind, keys), colour in zip(LINEAR.items(), COLOURS, strict=True):
            for (name, world), style in zip(worlds.items(), ("-", "--"), strict=True):
                errors: Array = np.array([error(world, keys, float(step)) for step in GRID])
                ax.plot(GRID, errors, style, color=colour, label=f"{kind}, {name}")
        for name, filled in (("jumps", True), ("walk", False)):
            for sampler, (mean, stderr) in found[name].items():
                mark, what = MARKS[sampler]
                look: dict[str, Any] = {
                    "markerfacecolor": "#222" if filled else "none",
                    "color": "#222",
                    "markersize": 6,
                }
                ax.errorbar([worlds[name].samplers[0].epsilon], [mean], yerr=[1.96 * stderr], fmt=mark, label=f"{what}, {name}, run", **look)  # fmt: skip
        log_axis(ax)
        ax.set_yscale("log")
        ax.set_xlabel("effective step")
        ax.set_ylabel("mean square error")
        legend(fig, ax)
    rows: list[tuple[str | float | None, ...]] = [
        (kind, *(x for name in WORLDS for x in best[kind][name])) for kind in LINEAR
    ]
    told: list[tuple[str | float | None, ...]] = [(f"{what}, run", *(x for name in WORLDS for x in _row(found[name].get(sampler)))) for sampler, (_, what) in MARKS.items()]  # fmt: skip
    columns = ("", "best step, jumps", "error, jumps", "best step, walk", "error, walk")
    alt = "Mean square error against the step: equal curves on jumps and on a walk; the filter and the restart far below, on jumps only."
    return Exhibit("equal-variation", "Jumps, or a walk?", _caption(worlds, best, found), alt, fig, Table(columns, (*rows, *told)))  # fmt: skip


def _row(one: tuple[float, float] | None) -> tuple[None, str | None]:
    return None, None if one is None else f"{number(one[0])} ± {number(one[1], 2)}"


def _caption(worlds: dict[str, Any], best: dict[str, Any], found: dict[str, dict[str, tuple[float, float]]]) -> str:
    steps, errors = ([abs(one["walk"][n] / one["jumps"][n] - 1) for one in best.values()] for n in (0, 1))
    ratio = {name: _ratio(found[name]["restart"], found[name]["best-step"]) for name in WORLDS}
    exact = limits.best_filter(worlds["jumps"]).mean_square_error
    return (
        f"Exact curves: on a walk of the jumps' quadratic variation a linear sampler has the same best step within {100 * max(steps):.1f} %, and the same least "
        f"error within {100 * max(errors):.1f} %. What is not linear tells them apart: the Bayes filter's error on the jumps is {number(exact)} (exact), "
        f"{number(best['langevin']['jumps'][1] / exact)} times below the best constant step's. A restart, measured over trials, has "
        f"{ratio['jumps']} times that step's error on the jumps, and {ratio['walk']} times on the walk (95 % intervals of independent means)."
    )


def _ratio(one: tuple[float, float], other: tuple[float, float]) -> str:
    """Return a ratio of means with its interval on the logarithmic scale."""
    log, spread = np.log(one[0] / other[0]), 1.96 * np.hypot(one[1] / one[0], other[1] / other[0])
    return f"{number(np.exp(log))} [{number(np.exp(log - spread))}, {number(np.exp(log + spread))}]"


def write_page(path: Path) -> None:
    """Write the page."""
    one = exhibit({name: tracker.load(SCENARIOS / f"{file}.toml") for name, file in WORLDS.items()})
    subtitle = "minima at ±1 that are exchanged at rate 10⁻⁴, or one that walks with variance 4 × 10⁻⁴ a step; curvature and noise 1, beta = inf"
    write(path, lambda: render("Equal quadratic variation", subtitle, [Section("", (), (one,))]))
