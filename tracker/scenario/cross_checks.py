"""Check that the parts of a scenario agree: dimensions, names, the number of modes, times.

Each check reads only parts that are valid alone, so that one problem does not hide another.
"""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING, Any

from tracker import chain as hidden_chain
from tracker.costs.base import CostKeys
from tracker.costs.csv_rows import DataFile
from tracker.costs.data_columns import missing
from tracker.formatting import counted
from tracker.metrics.claims import read_side
from tracker.samplers.baselines import BASELINES
from tracker.scenario.complaints import first_few, name_of, place_of, say_unknown, show

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    Parts = Mapping[str, Any]

RESERVED = {
    "samplers": dict.fromkeys(BASELINES, "the name of a baseline"),
    "modes": {"stationary": "a value of chain.initial"},
}
PROBABILITY = 1e-9  # how far from 1 probabilities may sum


def disagreements(parts: Parts, given: Parts) -> list[str]:
    """Return a line for each disagreement among the valid ``parts``; ``given`` are the keys of the file, valid or not."""
    alone = (
        _names(given),
        _dimensions(parts),
        _skews(parts),
        _hessians(parts),
        _memories(parts),
        _times(parts),
        _baselines(parts),
        _orders(parts),
    )
    checks = (*alone, _claims(parts, given))
    return [*(problem for check in checks for problem in check), *_world(parts, given)]


def _named(given: Parts, table: str) -> list[str | None]:
    """Return the names in a table: an entry that is wrong in another key has its name still."""
    entries = given.get(table, ())
    return list(map(name_of, entries)) if isinstance(entries, (list, tuple)) else []


def _names(given: Parts) -> Iterator[str]:
    for table in ("modes", "samplers"):
        names = _named(given, table)
        counts = Counter(names)
        for index, name in enumerate(names):
            if name is not None and counts[name] > 1 and names.index(name) != index:
                yield f"{table}[{index}].name: {show(name)} is also the name of {table}[{names.index(name)}]"
            if name is not None and name in RESERVED[table]:
                yield f"{table}[{index}].name: {show(name)} is reserved: {RESERVED[table][name]}"


def _dimension(parts: Parts) -> tuple[int, str] | None:
    """Return N and who says so: the start, or else the first mode."""
    start = parts.get("start")
    if start is not None:
        point: tuple[float, ...] = start if isinstance(start, tuple) else start.mean
        return len(point), "start"
    for index, mode in enumerate(parts.get("modes", ())):
        if isinstance(mode, CostKeys) and mode.dimension:
            return mode.dimension, place_of("modes", index, mode)
    return None


def _dimensions(parts: Parts) -> Iterator[str]:
    known = _dimension(parts)
    if known is None:
        return
    modes = [mode for mode in parts.get("modes", ()) if mode is not None and mode.dimension]  # 0: it takes any
    sizes = {mode.dimension for mode in modes}
    if known[1] == "start" and len(modes) > 1 and len(sizes) == 1 and known[0] not in sizes:
        yield f"start: has {counted(known[0], 'coordinate')}, but theta has dimension {sizes.pop()} in all modes"
        return
    for index, mode in enumerate(parts.get("modes", ())):
        if mode in modes and mode.dimension != known[0]:
            place = place_of("modes", index, mode)
            yield f"{place}: theta has dimension {mode.dimension}, but {known[1]} has {known[0]}"
    drift = parts.get("drift")
    if drift is not None and drift.dimension not in (None, known[0]):
        yield f"drift: has {drift.dimension} coordinates, but {known[1]} has {known[0]}"


def _skews(parts: Parts) -> Iterator[str]:
    known = _dimension(parts)
    for index, sampler in enumerate(parts.get("samplers", ())):
        if getattr(sampler, "skew_is", "none") == "none":
            continue
        place = f"{place_of('samplers', index, sampler)}: skew"
        if isinstance(sampler.skew, float) and known is not None and known[0] != 2:
            yield f"{place}: a number ({sampler.skew:g}) is for dimension 2, but {known[1]} has {known[0]}: give a matrix"
        if isinstance(sampler.skew, tuple) and known is not None and len(sampler.skew) != known[0]:
            size = len(sampler.skew)
            yield f"{place}: a {size} x {size} matrix, but {known[1]} has dimension {known[0]}"
        if sampler.skew == "optimal" and "modes" in parts:
            modes = parts["modes"]
            if len(modes) != 1 or (modes[0] is not None and not modes[0].quadratic):
                yield f'{place}: "optimal" is known for one quadratic mode only'


def _hessians(parts: Parts) -> Iterator[str]:
    for index, mode in enumerate(parts.get("modes", ())):
        if mode is not None and not mode.has_hessian:
            users = [s.name for s in parts.get("samplers", ()) if s is not None and s.evaluations.hessian]
            if users:
                yield f"{place_of('modes', index, mode)}: {mode.why_no_hessian}, which sampler {', '.join(users)} needs"


def _memories(parts: Parts) -> Iterator[str]:
    """Observations that remember do so in all modes alike: there is one memory."""
    first: tuple[str, tuple[str, float, int]] | None = None
    for index, mode in enumerate(parts.get("modes", ())):
        if mode is None:
            continue
        place, (key, value, size) = place_of("modes", index, mode), mode.remembered
        if first is None:
            first = (place, mode.remembered)
        elif (value or first[1][1]) and (key, value) != first[1][:2]:
            name = key or first[1][0]
            yield f"{place}: {name}: {value:g}, but {first[0]} has {first[1][0] or name} = {first[1][1]:g}: one memory serves all modes"
        elif size != first[1][2]:
            yield (
                f"{place}: {key}: its noise has rank {size}, but that of {first[0]} {first[1][2]}: one memory serves all modes, so "
                "their covariances need the same rank"
            )


def _baselines(parts: Parts) -> Iterator[str]:
    names = parts.get("baselines", ())
    for index, name in enumerate(names):
        place = f"baselines[{index}]: {show(name)}"
        if name not in BASELINES:
            yield f"{place} is an {say_unknown(name, BASELINES, 'baseline')}"
        elif reason := BASELINES[name].why_not(parts):
            yield f"{place} does not apply: {reason}"
        elif name in names[:index]:
            yield f"{place} is named twice"


def _claims(parts: Parts, given: Parts) -> Iterator[str]:
    """Name each claim about a sampler that there is not; nothing is known where an entry has no name."""
    samplers = _named(given, "samplers")
    if None in samplers:
        return
    known = [name for name in (*samplers, *parts.get("baselines", BASELINES)) if name is not None]
    for index, claim in enumerate(parts.get("claims", ())):
        for key in ("left", "right") if claim is not None else ():
            side = getattr(claim, key)
            if isinstance(side, str) and (name := read_side(side).sampler) not in known:
                yield f"claims[{index}].{key}: {show(side)} is about an {say_unknown(name, known, 'sampler')}"


def _times(parts: Parts) -> Iterator[str]:
    steps = parts.get("steps")
    if steps is None:
        return
    burn_in = parts.get("burn_in", 0)
    if burn_in >= steps:
        yield f"burn_in: {burn_in} must be less than steps = {steps}"
    if (every := parts.get("record_every", 1)) > steps:
        yield f"record_every: {every} must be at most steps = {steps}"
    for index, event in enumerate(parts.get("interventions", ())):
        if event is not None and event.at >= steps:
            yield f"interventions[{index}].at: {event.at} must be less than steps = {steps}"


def _world(parts: Parts, given: Parts) -> Iterator[str]:
    """Check what decides the mode: chain or schedule, and the names of modes that they use."""
    if "modes" not in parts or not parts["modes"]:
        return
    modes = parts["modes"]
    if "chain" in given and "schedule" in given:
        yield "schedule: stands in place of chain: give one of the two"
    elif len(modes) > 1 and not given.keys() & {"chain", "schedule"}:
        yield f"chain: missing: {len(modes)} modes need a [chain] or a [schedule] that picks one of them"
    known = _named(given, "modes")
    names = [name for name in known if name is not None] if None not in known else None  # else: no claim on names
    if parts.get("chain") is not None:
        yield from _chain(parts["chain"], len(modes), names)
    if names is None:
        return
    if parts.get("schedule") is not None:
        switches = ((f"switches[{n}][1]", name) for n, (_, name) in enumerate(parts["schedule"].switches))
        yield from first_few(_strangers("schedule.", switches, names), "schedule.switches")
        if parts["schedule"].from_ is not None and None not in modes:
            yield from _read_from_data(parts, parts["schedule"].from_, names)
    events = ((f"[{n}].to", getattr(event, "to", None)) for n, event in enumerate(parts.get("interventions", ())))
    yield from first_few(_strangers("interventions", events, names), "interventions")


def _read_from_data(parts: Parts, column: str, names: list[str]) -> Iterator[str]:
    """Check a schedule that is read from a column of the data file."""
    files = [getattr(mode, "data", None) for mode in parts["modes"]]
    if not isinstance(files[0], DataFile) or len(set(map(str, files))) > 1:
        yield f'schedule.from: "{column}" is a column of one data file, which all modes must name as their data'
        return
    regimes = files[0].regimes
    if regimes is None:
        yield f"schedule.from: {missing(column, files[0].table)}"
        return
    strangers = (
        f'schedule.from: column "{column}" names {show(name)}, which is an {say_unknown(name, names, "mode")}'
        for name in regimes.names
        if name not in names
    )
    yield from first_few(strangers, "schedule.from")
    for name in names:
        if name not in regimes.names:
            yield f'schedule.from: no row of column "{column}" names the mode {show(name)}'
    rows = len(regimes.code)
    if parts.get("steps", 0) > rows:
        yield f"steps: {parts['steps']} is more than the {rows} rows of {files[0]}, which say the mode of each step"
    if any(getattr(event, "to", None) is not None for event in parts.get("interventions", ())):
        yield "interventions: a forced switch has no meaning where the rows of the data say which mode holds"


def _orders(parts: Parts) -> Iterator[str]:
    """All modes see their rows in the same way: a shuffle must not be disturbed by draws of another mode."""
    modes = [mode for mode in parts.get("modes", ()) if mode is not None]
    orders = {mode.rows_order for mode in modes}
    if len({mode.predicts for mode in modes}) > 1 and len(orders) == 1:
        yield "modes: some say what a forecast loses and others do not: register predicts and forecast_loss for all, or for none"
    for index, mode in enumerate(modes):
        if mode.no_distance and mode.target is not None:
            yield f"{place_of('modes', index, mode)}: target: has no meaning here, for the cost says of distances: {mode.no_distance}"
    if len(orders) > 1:
        yield f"modes: rows: {', '.join(sorted(map(show, orders)))} in different modes: give all the same"


def _strangers(table: str, places: Iterable[tuple[str, str | None]], names: list[str]) -> Iterator[str]:
    """Name each place that uses a mode that there is not."""
    known = set(names)
    for place, name in places:
        if name is not None and name not in known:
            yield f"{table}{place}: {show(name)} is an {say_unknown(name, names, 'mode')}"


def _chain(chain: Any, modes: int, names: list[str] | None) -> Iterator[str]:
    size = len(chain.Q)
    if size != modes:
        yield f"chain.Q: {size} x {size}, but there {'is 1 mode' if modes == 1 else f'are {modes} modes'}"
    initial = chain.initial
    if initial == "stationary":
        try:
            hidden_chain.stationary_law(chain.Q)
        except ValueError as error:
            yield f'chain.initial: "stationary": {error}'
    elif isinstance(initial, str):
        if names is not None and initial not in names:
            yield f"chain.initial: {show(initial)} is an {say_unknown(initial, ['stationary', *names], 'mode')}"
    else:
        yield from _probabilities(initial, modes)


def _probabilities(initial: tuple[float, ...], modes: int) -> Iterator[str]:
    if len(initial) != modes:
        yield f"chain.initial: {len(initial)} probabilities, but {modes} modes"
    if initial and min(initial) < 0:
        yield f"chain.initial: {min(initial):g} must be at least 0"
    elif initial and abs(math.fsum(initial) - 1) > PROBABILITY:
        yield f"chain.initial: the probabilities sum to {math.fsum(initial):.12g}, not 1"
