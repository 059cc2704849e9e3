"""Compute the exact stationary error for those points of a sweep that theory covers."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from tracker.formatting import number
from tracker.reports.exhibit import Table
from tracker.reports.sweep_axes import is_geometric, positions
from tracker.reports.sweep_figures import picture_of
from tracker.runs.sweep_points import scenario_at

if TYPE_CHECKING:
    from tracker.array_types import Array
    from tracker.reports.exhibit import Exhibit
    from tracker.reports.sweep_figures import SweepPicture
    from tracker.runs.sweep_result import Sweep
    from tracker.scenario import Scenario

METRIC = "mean_square_error"
MOST_POINTS = 400  # of which the exact value is computed: some milliseconds each
CURVE_POINTS = 49


def exact_errors(sweep: Sweep) -> dict[str, Array]:
    """Return E|theta - m_x|^2 of each sampler whose S stands still over the axes; nan where no stationary law is known."""
    if len(sweep.outcomes) > MOST_POINTS:
        return {}
    shape = tuple(len(axis.values) for axis in sweep.axes)
    found: dict[str, Array] = {}
    for outcome in (outcome for outcome in sweep.outcomes if outcome.summary is not None):
        scenario = outcome.point.scenario
        for name in (keys.name for keys in scenario.samplers):
            if np.isnan(value := _exact(scenario, name)):
                continue
            found.setdefault(name, np.full(shape, np.nan))[outcome.point.place] = value
    return found


def _exact(scenario: Scenario, name: str) -> float:
    """Return the stationary error; nan where no theory covers it, or second moments grow without bound."""
    from tracker.limits import stationary

    try:
        return float(stationary(scenario, name).mean_square_error)
    except (ValueError, np.linalg.LinAlgError):
        return float("nan")


def with_theory(exhibit: Exhibit, sweep: Sweep) -> Exhibit:
    """Add the exact values to the exhibit of the mean square error: a curve behind the dots, columns, a sentence."""
    known = exact_errors(sweep)
    if not known:
        return exhibit
    if one := len(picture_of(sweep, METRIC).axes) == 1:
        _curves(exhibit, sweep, known)
    mark = "Curves: the exact" if one else "In the table: the exact"
    agreement = f"{mark} stationary value. {_agreement(sweep, known)}".rstrip()
    return replace(
        exhibit,
        caption=f"{exhibit.caption} {mark} stationary value; dots are measured." if one else exhibit.caption,
        method=f"{exhibit.method} {agreement}",
        table=_beside(exhibit.table, sweep, known),
    )


def _beside(table: Table, sweep: Sweep, known: dict[str, Array]) -> Table:
    """Return the table with a column of exact values to the right of each measured one."""
    columns, rows = list(table.columns), [list(row) for row in table.rows]
    for name, values in known.items():
        place = columns.index(name, len(sweep.axes)) + 1  # a swept key may have the name of a sampler
        columns.insert(place, f"{name}, exact")
        for row, outcome in zip(rows, sweep.outcomes, strict=True):
            row.insert(place, float(values[outcome.point.place]))
    return Table(tuple(columns), tuple(map(tuple, rows)))


def _curves(exhibit: Exhibit, sweep: Sweep, known: dict[str, Array]) -> None:
    """Draw what is exact as a curve in the place of the lines between dots."""
    ax, drawn = exhibit.figure.axes[0], picture_of(sweep, METRIC)
    bars: dict[str, Any] = {str(one.get_label()): one for one in ax.containers}
    highest = ax.get_ylim()[1]
    for name, values in known.items():
        x, exact = _curve(sweep, drawn, name, values)
        dots = bars[name].lines[0]
        ax.plot(x, exact, color=dots.get_color(), linestyle=dots.get_linestyle(), linewidth=1.2)
        dots.set_linestyle("none")
        highest = max(highest, 1.05 * float(np.nanmax(exact, initial=0.0)))
    ax.set_ylim(top=highest)


def _curve(sweep: Sweep, drawn: SweepPicture, name: str, values: Array) -> tuple[Array, Array]:
    """Return the exact value along the axis that is drawn: between the points, too, where its values are no counts."""
    (number,) = [n for n, axis in enumerate(sweep.axes) if len(axis.values) > 1] or [0]
    axis, x = sweep.axes[number], positions(drawn.axes[0])
    order = np.argsort(x)
    line = values[tuple(slice(None) if n == number else 0 for n in range(len(sweep.axes)))]
    if not all(isinstance(value, float) for value in axis.values) or axis.numbers is None or axis.numbers.size < 2:
        return x[order], line[order]
    spaced = np.geomspace if is_geometric(axis.numbers) else np.linspace
    at = np.union1d(spaced(axis.numbers.min(), axis.numbers.max(), CURVE_POINTS), axis.numbers)
    held = [(other.address, other.values[0]) for n, other in enumerate(sweep.axes) if n != number]
    worlds = [scenario_at(sweep.scenario, ((axis.address, float(value)), *held)) for value in at]
    scale = 1.0 if axis.address == drawn.axes[0].address else x.max() / axis.numbers.max()
    return scale * at, np.array([_exact(world, name) for world in worlds])


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
