"""Addresses of keys: ``chain.alpha``, ``samplers.*.epsilon``, ``modes.left.target.radius``; for --set and [sweep].

An entry of an array of tables is addressed by its name (an intervention by its index), or all of them by ``*``: then
every one whose family has the key.
"""

from __future__ import annotations

from functools import cache
from math import prod
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel

from tracker.costs.csv_rows import DataFile
from tracker.keys import Keys
from tracker.scenario import toml_text
from tracker.scenario.complaints import ScenarioError, name_of, nearest, shown, some
from tracker.scenario.custom_cost import OwnCost
from tracker.scenario.model import Chain, Gaussian, Scenario, Schedule
from tracker.scenario.registry import Families, families_with

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from tracker.scenario.plugins import Plugin

    Plugins = Sequence[Plugin]
    Table = Mapping[str, Families]

MOST_CASES = 10_000
MOST_AXES = 30  # arrays over all of them have hardly more dimensions
MOST_WORK = 1_000_000  # cases times what is checked at each: about a second
PLAIN_TABLES: dict[str, type[Keys]] = {"chain": Chain, "schedule": Schedule, "start": Gaussian}


def with_settings(scenario: Scenario, settings: Sequence[str]) -> Scenario:
    """Return the scenario with each ``"ADDRESS=VALUE"`` carried out; VALUE is TOML. Checked again."""
    from tracker.scenario.validation import checked

    return checked(assigned(scenario.parts(), settings, scenario.plugins), scenario.plugins)


def assigned(data: Mapping[str, Any], settings: Iterable[str], plugins: Plugins = ()) -> dict[str, Any]:
    """Return ``data`` with each ``"ADDRESS=VALUE"`` carried out in turn; VALUE is TOML."""
    changed, problems = dict(data), []
    for setting in settings:
        address, equals, text = setting.partition("=")
        if not equals:
            problems.append(f"--set {shown(setting)[1:-1]}: must be KEY=VALUE")
            continue
        try:
            changed = put(changed, address.strip(), toml_text.value(text.strip()), plugins)
        except ScenarioError as error:
            problems += [f"--set {address.strip()}: {problem}" for problem in error.problems]
    if problems:
        raise ScenarioError(problems)
    return changed


def put(data: Mapping[str, Any], address: str, value: Any, plugins: Plugins = ()) -> dict[str, Any]:
    """Return ``data`` with ``value`` at ``address``."""
    families = families_with(plugins)
    if (wrong := _unknown_address(data, address, families)) is not None:
        raise ScenarioError([wrong])
    top, *rest = address.split(".")
    if not rest:
        return {**data, top: value}
    if top in PLAIN_TABLES:
        return {**data, top: _within(data.get(top), rest, value)}
    chosen, *path = rest
    entries = [
        _within(entry, path, value) if _is_meant(entry, index, chosen, path[0], families) else entry
        for index, entry in enumerate(data[top])
    ]
    return {**data, top: entries}


def _unknown_address(data: Mapping[str, Any], address: str, families: Table) -> str | None:
    if _is_known(data, address, families):
        return None
    guess = nearest(address, dict.fromkeys(_addresses(data, families)))
    return f"unknown address{f'; did you mean {guess}?' if guess else ''}"


def _is_known(data: Mapping[str, Any], address: str, families: Table) -> bool:
    """Tell whether ``data`` has room for ``address``, without listing all that it has room for."""
    top, _, rest = address.partition(".")
    if not rest:
        return top in Scenario.model_fields
    if top in PLAIN_TABLES:
        return rest in _keys(PLAIN_TABLES[top])
    chosen, _, path = rest.partition(".")
    entries = data.get(top, ()) if top in families else ()
    return any(
        chosen in ("*", _label(entry, index)) and path in _keys(_model(entry, families))
        for index, entry in enumerate(entries if isinstance(entries, (list, tuple)) else ())
    )


def _within(table: Any, path: Sequence[str], value: Any) -> dict[str, Any]:
    content = toml_text.plain(table) if isinstance(table, Keys) else table
    content = dict(content) if isinstance(content, dict) else {}
    key, *rest = path
    content[key] = _within(content.get(key), rest, value) if rest else value
    return content


def _is_meant(entry: Any, index: int, chosen: str, key: str, families: Table) -> bool:
    return (chosen == "*" and key in _keys(_model(entry, families))) or chosen == _label(entry, index)


def _label(entry: Any, index: int) -> str:
    return name_of(entry) or str(index)


def _addresses(data: Mapping[str, Any], families: Table) -> Iterator[str]:
    """List every address that ``data`` has room for."""
    yield from Scenario.model_fields
    for table, model in PLAIN_TABLES.items():
        yield from (f"{table}.{key}" for key in _keys(model))
    for table in families:
        entries = data.get(table, ())
        for index, entry in enumerate(entries if isinstance(entries, (list, tuple)) else ()):
            for key in _keys(_model(entry, families)):
                yield f"{table}.{_label(entry, index)}.{key}"
                yield f"{table}.*.{key}"


def _model(entry: Any, families: Table) -> type[BaseModel] | None:
    if isinstance(entry, OwnCost):
        return None
    if isinstance(entry, Keys):
        return type(entry)
    if not isinstance(entry, dict):
        return None
    for key, known, _ in families.values():
        if isinstance(entry.get(key), str) and entry[key] in known:
            return known[entry[key]]
    return None


@cache
def _keys(model: type[BaseModel] | None) -> tuple[str, ...]:
    """List the keys of a table, and ``target.radius`` for a table in it."""
    found: list[str] = []
    for key, field in model.model_fields.items() if model is not None else ():
        found.append(key)
        inner = field.annotation
        for kind in (inner, *getattr(inner, "__args__", ())):
            if isinstance(kind, type) and issubclass(kind, BaseModel):
                found += (f"{key}.{deeper}" for deeper in _keys(kind))
    return tuple(found)


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
    return list(some(_sweep_problems(base, sweep, plugins, families, valid=valid), "sweep"))


def _weight(base: Mapping[str, Any], sweep: Mapping[str, Any], families: Table) -> int:
    """Count what is checked anew at each point: the entries of the file, and all that the tables hold that are swept."""
    whole = len(base.get("modes", ())) + len(base.get("samplers", ())) + _leaves(base.get("start"))
    for address in sweep:
        top, _, rest = address.partition(".")
        chosen, _, path = rest.partition(".")
        if top in PLAIN_TABLES:
            whole += _leaves(base.get(top))
        elif top in families and path:
            entries = enumerate(base.get(top, ()))
            whole += sum(_leaves(entry) for n, entry in entries if chosen in ("*", _label(entry, n)))
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
        place = f'sweep."{shown(address)[1:-1]}"'
        wrong = "a sweep cannot be swept" if address == "sweep" else _unknown_address(base, address, families)
        if wrong is None and valid:
            yield from _value_problems(place, base, address, values, plugins)
        elif wrong is not None and (valid or not _is_unclear(base, address, families)):
            yield f"{place}: {wrong}"


def _value_problems(
    place: str, base: Mapping[str, Any], address: str, values: Sequence[Any], plugins: Plugins
) -> Iterator[str]:
    from tracker.scenario.validation import problems_after

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
    return not isinstance(entries, (list, tuple)) or any(_model(entry, families) is None for entry in entries)
