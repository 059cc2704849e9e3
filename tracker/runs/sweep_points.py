"""The points of a sweep: all combinations of the values of ``[sweep]``, each checked as a scenario."""

from __future__ import annotations

import json
import math
import operator
import re
from collections import Counter
from dataclasses import dataclass, replace
from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tracker.scenario import ScenarioError, build_modes
from tracker.scenario.complaints import show
from tracker.scenario.overrides import put
from tracker.scenario.toml_text import as_tables

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tracker.array_types import Array
    from tracker.scenario import Scenario

    Settings = tuple[tuple[str, Any], ...]

LONGEST_FOLDER = 80
MOST_PROBLEMS_LISTED = 50  # lines; the same problem may stand at thousands of points


class Axis(NamedTuple):
    """An address that is swept, and the values it takes."""

    address: str
    values: tuple[Any, ...]

    @property
    def numbers(self) -> Array | None:
        """The values, if all are finite numbers."""
        numeric = [isinstance(value, (int, float)) and not isinstance(value, bool) for value in self.values]
        if not all(numeric) or not all(map(math.isfinite, self.values)):
            return None
        return np.array(self.values, dtype=float)

    @property
    def labels(self) -> tuple[str, ...]:
        """The values as text, each different."""
        return tuple(json.dumps(as_tables(value)) if not isinstance(value, str) else value for value in self.values)


@dataclass(frozen=True)
class Point:
    """One run of a sweep.

    place : the index of its value along each axis
    settings : (address, value) for each axis
    folder : a name for its run directory, safe on any file system
    """

    index: int
    place: tuple[int, ...]
    settings: tuple[tuple[str, Any], ...]
    folder: str
    scenario: Scenario

    @property
    def label(self) -> str:
        """What tells it from the others."""
        return point_label(self.index, self.settings)


def point_label(index: int, settings: Settings) -> str:
    """Return what tells a point from the others."""
    return f"point {index} ({', '.join(f'{address} = {show(value)}' for address, value in settings)})"


def axes_of(scenario: Scenario) -> tuple[Axis, ...]:
    """Return the axes in the order of the file."""
    return axes_in(scenario.sweep)


def axes_in(sweep: Mapping[str, Sequence[Any]]) -> tuple[Axis, ...]:
    """Return the axes of a ``[sweep]`` table."""
    return tuple(Axis(address, tuple(values)) for address, values in sweep.items())


def combinations_of(axes: Sequence[Axis]) -> Iterator[tuple[tuple[int, ...], Settings]]:
    """Give the place and the settings of each point, the last axis running fastest."""
    for place in product(*(range(len(axis.values)) for axis in axes)):
        yield place, tuple((axis.address, axis.values[n]) for axis, n in zip(axes, place, strict=True))


def points_of(scenario: Scenario) -> tuple[Point, ...]:
    """Return all points, the last axis running fastest; a ``ScenarioError`` lists the problems of all of them."""
    axes = axes_of(scenario)
    if not axes:
        raise ScenarioError(['sweep: missing: what to sweep, as in [sweep] with "chain.alpha" = [1e-4, 1e-3]'])
    problems = [problem for axis in axes for problem in _repeated(axis)]
    base = scenario.replace(sweep=None)
    count = math.prod(len(axis.values) for axis in axes)
    points: list[Point] = []
    built: set[str] = set()
    for index, (place, chosen) in enumerate(combinations_of(axes)):
        point = Point(index, place, chosen, _folder(index, count, chosen), base)
        try:
            points.append(replace(point, scenario=_changed(base, chosen, built)))
        except ScenarioError as error:
            problems += [f"{point.label}: {problem}" for problem in error.problems]
    if problems:
        more = len(problems) - MOST_PROBLEMS_LISTED
        raise ScenarioError(
            [*problems[:MOST_PROBLEMS_LISTED], *([f"... and {more} more problems"] if more > 0 else [])]
        )
    return tuple(points)


def scenario_at(sweep: Scenario, chosen: Settings) -> Scenario:
    """Return the scenario of a sweep with these settings, which need not be among its points."""
    return _changed(sweep.replace(sweep=None), chosen, set())


def _changed(base: Scenario, chosen: Settings, built: set[str]) -> Scenario:
    from tracker.scenario.model import make_scenario

    data = base.parts()
    for address, value in chosen:
        data = put(data, address, value, base.plugins)
    scenario = make_scenario(data, base.plugins)
    # The minimisers of a mode are part of being valid, but finding them takes a while: once for all points that share them.
    unchanged = all(map(operator.is_, scenario.modes, base.modes))
    modes = "" if unchanged else json.dumps([as_tables(mode) for mode in scenario.modes], sort_keys=True, default=repr)
    if modes not in built:
        build_modes(scenario)
        built.add(modes)
    return scenario


def _repeated(axis: Axis) -> list[str]:
    labels = axis.labels if axis.numbers is None else tuple(axis.numbers.tolist())
    times = Counter(labels)
    twice = {label: value for value, label in zip(axis.values, labels, strict=True) if times[label] > 1}
    return [f'sweep."{axis.address}": {show(value)} stands there more than once' for value in twice.values()]


def numeral(index: int, count: int) -> str:
    """Return the number of a point of ``count`` as the name of its folder begins, before a ``_``."""
    return f"{index:0{len(str(count - 1))}d}"


def _folder(index: int, count: int, chosen: Settings) -> str:
    values = "_".join(f"{address.rpartition('.')[2]}={show(value)}" for address, value in chosen)
    name = f"{numeral(index, count)}_{re.sub(r'[^A-Za-z0-9.=+-]+|[.]{2,}', '_', values)}"
    return name[:LONGEST_FOLDER].rstrip("._")
