"""Check the addresses and the values of a [sweep], each value in its place."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

from tracker.costs.csv_rows import DataFile
from tracker.keys import Keys
from tracker.scenario.complaints import ScenarioError, first_few, show
from tracker.scenario.overrides import label_of, model_of, put, split_address, unknown_address
from tracker.scenario.registry import families_with
from tracker.scenario.tables import PLAIN_TABLES
from tracker.scenario.validation import problems_after

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tracker.scenario.overrides import Plugins, Table

MOST_CASES = 10_000
MOST_AXES = 30  # arrays over all of them have hardly more dimensions
MOST_WORK = 1_000_000  # cases times what is checked at each: about a second


def sweep_problems(
    sweep: Mapping[str, Sequence[Any]], given: Mapping[str, Any], plugins: Plugins, *, valid: bool
) -> list[str]:
    """Check the addresses of a sweep; each value in its place, too, where what is ``given`` is ``valid`` otherwise."""
    cases = prod(len(values) for values in sweep.values())
    if len(sweep) > MOST_AXES:
        return [f"sweep: {len(sweep)} addresses are too many, at most {MOST_AXES}"]
    if cases > MOST_CASES:
        return [f"sweep: {cases} cases are too many, at most {MOST_CASES}"]
    base = {key: part for key, part in given.items() if key != "sweep"}
    families = families_with(plugins)
    if valid and (work := cases * _weight(base, sweep, families)) > MOST_WORK:
        line = f"sweep: {cases} cases of so large a file are too many"
        return [f"{line}: {work} numbers would be checked, at most {MOST_WORK}"]
    return list(first_few(_sweep_problems(base, sweep, plugins, families, valid=valid), "sweep"))


def _weight(base: Mapping[str, Any], sweep: Mapping[str, Any], families: Table) -> int:
    """Count what is checked anew at each point: the entries of the file, and all that the tables hold that are swept."""
    whole = len(base.get("modes", ())) + len(base.get("samplers", ())) + _leaves(base.get("start"))
    for address in sweep:
        top, *rest = split_address(address)
        chosen, path = rest[0] if rest else "", rest[1:]
        if top in PLAIN_TABLES:
            whole += _leaves(base.get(top))
        elif top in families and path:
            entries = enumerate(base.get(top, ()))
            whole += sum(_leaves(entry) for n, entry in entries if chosen in ("*", label_of(entry, n)))
    return max(1, whole)


def _leaves(part: Any) -> int:
    """Count numbers and texts; a data file counts by its size."""
    if isinstance(part, DataFile):
        return 1 + len(part.content or b"") // 100
    if isinstance(part, Keys):
        return sum(_leaves(getattr(part, key)) for key in part.model_fields_set)
    return sum(map(_leaves, part)) if isinstance(part, (list, tuple)) else 1


def _sweep_problems(
    base: Mapping[str, Any], sweep: Mapping[str, Sequence[Any]], plugins: Plugins, families: Table, *, valid: bool
) -> Iterator[str]:
    for address, values in sweep.items():
        place = f'sweep."{show(address)[1:-1]}"'
        wrong = "a sweep cannot be swept" if address == "sweep" else unknown_address(base, address, families)
        if wrong is None and valid:
            yield from _value_problems(place, base, address, values, plugins)
        elif wrong is not None and (valid or not _is_unclear(base, address, families)):
            yield f"{place}: {wrong}"


def _value_problems(
    place: str, base: Mapping[str, Any], address: str, values: Sequence[Any], plugins: Plugins
) -> Iterator[str]:
    top = address.partition(".")[0]
    for index, value in enumerate(values):
        found = problems_after(put(base, address, value, plugins), top, plugins)
        if found:
            yield from (f"{place}[{index}]: {problem}" for problem in ScenarioError(found).problems)


def _is_unclear(given: Mapping[str, Any], address: str, families: Table) -> bool:
    """Tell whether an address goes into a table with an entry of which nobody can say what keys it has."""
    table = address.partition(".")[0]
    entries = given.get(table, ())
    if table not in families:
        return False
    return not isinstance(entries, (list, tuple)) or any(model_of(entry, families) is None for entry in entries)
