"""Where S lets a switched world blow up: the sign of the growth rate of second moments over (s, alpha/epsilon).

Curvatures diag(K, 1) and diag(1, K), K = 10, as in scenarios/skew_instability.toml, whose samplers are marked. Each mode alone is stable
for every S.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

import tracker
from tracker import limits
from tracker.formatting import number
from tracker.reports.exhibit import Exhibit, Section, Table
from tracker.reports.figure_style import INK, figure
from tracker.reports.html_page import render, write

SCENARIO = Path(__file__).parents[1] / "scenarios" / "skew_instability.toml"
SIZES = np.linspace(0.0, 8.0, 41)  # s
RATIOS = np.geomspace(0.5, 200.0, 41)  # alpha / epsilon


def abscissa(scenario: tracker.Scenario, s: float, ratio: float) -> float:
    """Return the largest rate at which second moments of the limit grow."""
    alpha = ratio * 1e-4
    sampler = {"name": "s", "kind": "accelerated", "epsilon": 1e-4, "skew": s}
    assert scenario.chain is not None
    chain = {"alpha": alpha, "Q": scenario.chain.Q}
    return float(limits.stability(scenario.replace(samplers=[sampler], chain=chain, claims=None), "s").abscissa)


def exhibit() -> Exhibit:
    """Draw the phase diagram."""
    scenario = tracker.load(SCENARIO)
    rates = np.array([[abscissa(scenario, float(s), float(r)) for s in SIZES] for r in RATIOS])
    assert scenario.chain is not None
    marks = {
        keys.name: (float(getattr(keys, "skew", 0.0)), scenario.chain.alpha / keys.epsilon)
        for keys in scenario.samplers
    }
    with figure(height=4.0) as fig:
        ax = fig.subplots()
        far = float(np.abs(rates).max())
        shades = ax.pcolormesh(
            SIZES, RATIOS, rates, cmap="RdBu_r", vmin=-far, vmax=far, shading="gouraud", rasterized=True
        )
        ax.contour(SIZES, RATIOS, rates, levels=[0.0], colors=INK, linewidths=1.5)
        for name, (s, ratio) in marks.items():
            ax.plot([s], [ratio], "o", color=INK, markersize=5)
            ax.annotate(name, (s, ratio), xytext=(4, 5), textcoords="offset points")
        ax.set_yscale("log")
        ax.set_xlabel("s, size of the skew matrix")
        ax.set_ylabel("α/ε")
        fig.colorbar(shades, ax=ax, label="growth rate of second moments")
    unstable = np.argwhere(rates > 0.0)
    first = min(unstable, key=lambda at: (SIZES[at[1]], -rates[tuple(at)]))
    caption = (
        f"Right of the line second moments of the limit grow, though each mode alone is stable for every s. On this grid it begins at s = {number(SIZES[first[1]])}, "
        f"at alpha/epsilon = {number(RATIOS[first[0]])}; chains that are much slower or much faster are safe with the same S."
    )
    rows = tuple((float(r), *(float(x) for x in rates[k, ::5])) for k, r in enumerate(RATIOS) if k % 5 == 0)
    columns = ("α/ε", *(f"s = {number(float(s))}" for s in SIZES[::5]))
    alt = "A map of growth rates over s and alpha over epsilon with the line between stable and unstable, and the samplers of the scenario."
    return Exhibit("skew-phases", "Where does S let a switched world blow up?", caption, alt, fig, Table(columns, rows))


def write_page(path: Path) -> None:
    """Write the page."""
    one = exhibit()
    subtitle = "curvatures diag(10, 1) and diag(1, 10), rates 1; exact"
    write(path, lambda: render("Stability of the switched system", subtitle, [Section("", (), (one,))]))
