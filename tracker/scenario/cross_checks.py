"""Check that the parts of a scenario agree: dimensions, names, the number of modes, times.

Each check reads only parts that are valid alone, so that one problem does not hide another.
"""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING, Any

from tracker import chain as hidden_chain
from tracker.costs.base import CostKeys
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
    checks = (_names(given), _dimensions(parts), _skews(parts), _hessians(parts), _times(parts), _baselines(parts))
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
        if isinstance(mode, CostKeys):
            return mode.dimension, place_of("modes", index, mode)
    return None


def _dimensions(parts: Parts) -> Iterator[str]:
    known = _dimension(parts)
    if known is None:
        return
    for index, mode in enumerate(parts.get("modes", ())):
        if mode is not None and mode.dimension != known[0]:
            place = place_of("modes", index, mode)
            yield f"{place}: theta has dimension {mode.dimension}, but {known[1]} has {known[0]}"


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
                yield f"{place_of('modes', index, mode)}: has no hessian, which sampler {', '.join(users)} needs"


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
    events = ((f"[{n}].to", getattr(event, "to", None)) for n, event in enumerate(parts.get("interventions", ())))
    yield from first_few(_strangers("interventions", events, names), "interventions")


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
