"""Compute the exact stationary error for those points of a sweep that theory covers."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from tracker.formatting import number
from tracker.reports.exhibit import Table
from tracker.reports.figure_style import INK
from tracker.reports.sweep_axes import positions
from tracker.reports.sweep_figures import picture_of

if TYPE_CHECKING:
    from tracker.array_types import Array
    from tracker.reports.exhibit import Exhibit
    from tracker.runs.sweep_result import Sweep


METRIC = "mean_square_error"
MOST_POINTS = 400  # of which the exact value is computed: some milliseconds each


def exact_errors(sweep: Sweep) -> dict[str, Array]:
    """Return E|theta - m_x|^2 of each sampler whose S stands still over the axes; nan where no stationary law is known."""
    from tracker.limits import stationary

    if len(sweep.outcomes) > MOST_POINTS:
        return {}
    shape = tuple(len(axis.values) for axis in sweep.axes)
    found: dict[str, Array] = {}
    for outcome in (outcome for outcome in sweep.outcomes if outcome.summary is not None):
        scenario = outcome.point.scenario
        for name in (keys.name for keys in scenario.samplers):
            try:
                value = float(stationary(scenario, name).mean_square_error)
            except (ValueError, np.linalg.LinAlgError):  # no theory covers it, or its second moments grow without bound
                continue
            found.setdefault(name, np.full(shape, np.nan))[outcome.point.place] = value
    return found


def with_theory(exhibit: Exhibit, sweep: Sweep) -> Exhibit:
    """Add the exact values to the exhibit of the mean square error: a stroke at each point of a line, columns, a sentence."""
    known = exact_errors(sweep)
    if not known:
        return exhibit
    drawn = picture_of(sweep, METRIC)
    one = len(drawn.axes) == 1
    if one:
        _strokes(exhibit, sweep, known)
    mark = "Thin strokes: the exact" if one else "In the table: the exact"
    caption = f"{exhibit.caption} {mark} stationary value. {_agreement(sweep, known)}".rstrip()
    return replace(exhibit, caption=caption, table=_beside(exhibit.table, sweep, known))


def _beside(table: Table, sweep: Sweep, known: dict[str, Array]) -> Table:
    """Return the table with a column of exact values to the right of each measured one."""
    columns, rows = list(table.columns), [list(row) for row in table.rows]
    for name, values in known.items():
        place = columns.index(name, len(sweep.axes)) + 1  # a swept key may have the name of a sampler
        columns.insert(place, f"{name}, exact")
        for row, outcome in zip(rows, sweep.outcomes, strict=True):
            row.insert(place, float(values[outcome.point.place]))
    return Table(tuple(columns), tuple(map(tuple, rows)))


def _strokes(exhibit: Exhibit, sweep: Sweep, known: dict[str, Array]) -> None:
    ax = exhibit.figure.axes[0]
    drawn = picture_of(sweep, METRIC)
    others = tuple(slice(None) if axis in drawn.axes else 0 for axis in sweep.axes)
    x, highest = positions(drawn.axes[0]), ax.get_ylim()[1]
    for values in known.values():
        line = values[others]
        ax.plot(x, line, "_", color=INK, markersize=11.0, markeredgewidth=0.8, zorder=4)
        highest = max(highest, 1.05 * float(np.nanmax(line, initial=0.0)))
    ax.set_ylim(top=highest)


def _agreement(sweep: Sweep, known: dict[str, Array]) -> str:
    """Tell where measured and exact differ most, in standard errors; the measured average may hold the way from the start."""
    data = sweep.dataset
    worst, about = -1.0, ""
    for name, exact in known.items():
        one = data.sel(sampler=name)
        measured, stderr = one[METRIC].values, one[f"{METRIC}_stderr"].values
        away = np.abs(measured - exact) / np.where(stderr > 0, stderr, np.nan)
        if not np.isfinite(away).any():
            continue
        place = np.unravel_index(int(np.nanargmax(away)), away.shape)
        if away[place] > worst:
            where = ", ".join(
                f"{axis.address} = {axis.labels[n]}" for axis, n in zip(sweep.axes, map(int, place), strict=True)
            )
            worst = float(away[place])
            about = f"{name} at {where}: {number(float(measured[place]), 4)} measured, {number(float(exact[place]), 4)} exact"
    if not about:
        return ""
    start = " The measured averages hold the way from the start, too." if sweep.scenario.burn_in == 0 else ""
    return f"They differ by at most {number(worst, 2)} standard errors ({about}).{start}"
