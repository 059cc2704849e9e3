"""Addresses of keys: ``chain.alpha``, ``samplers.*.epsilon``, ``modes.left.target.radius``; for --set and [sweep].

An entry of an array of tables is addressed by its name (an intervention by its index), or all of them by ``*``: then
every one whose family has the key.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel

from tracker.keys import Keys
from tracker.scenario import toml_text
from tracker.scenario.complaints import ScenarioError, name_of, nearest, show
from tracker.scenario.custom_cost import OwnCost
from tracker.scenario.registry import Families, families_with
from tracker.scenario.tables import PLAIN_TABLES, ScenarioKeys

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from tracker.scenario.registry import Plugin

    Plugins = Sequence[Plugin]
    Table = Mapping[str, Families]


def apply_settings(data: Mapping[str, Any], settings: Iterable[str], plugins: Plugins = ()) -> dict[str, Any]:
    """Return ``data`` with each ``"ADDRESS=VALUE"`` carried out in turn; VALUE is TOML."""
    changed, problems = dict(data), []
    for setting in settings:
        address, equals, text = setting.partition("=")
        if not equals:
            problems.append(f"--set {show(setting)[1:-1]}: must be KEY=VALUE")
            continue
        try:
            changed = put(changed, address.strip(), toml_text.read_value(text.strip()), plugins)
        except ScenarioError as error:
            problems += [f"--set {address.strip()}: {problem}" for problem in error.problems]
    if problems:
        raise ScenarioError(problems)
    return changed


def put(data: Mapping[str, Any], address: str, value: Any, plugins: Plugins = ()) -> dict[str, Any]:
    """Return ``data`` with ``value`` at ``address``."""
    families = families_with(plugins)
    if (wrong := unknown_address(data, address, families)) is not None:
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


def unknown_address(data: Mapping[str, Any], address: str, families: Table) -> str | None:
    """Return what is wrong with an address that ``data`` has no room for; None where it has."""
    if _is_known(data, address, families):
        return None
    guess = nearest(address, dict.fromkeys(_addresses(data, families)))
    return f"unknown address{f'; did you mean {guess}?' if guess else ''}"


def _is_known(data: Mapping[str, Any], address: str, families: Table) -> bool:
    """Tell whether ``data`` has room for ``address``, without listing all that it has room for."""
    top, _, rest = address.partition(".")
    if not rest:
        return top in ScenarioKeys.model_fields
    if top in PLAIN_TABLES:
        return rest in _keys(PLAIN_TABLES[top])
    chosen, _, path = rest.partition(".")
    entries = data.get(top, ()) if top in families else ()
    return any(
        chosen in ("*", label_of(entry, index)) and path in _keys(model_of(entry, families))
        for index, entry in enumerate(entries if isinstance(entries, (list, tuple)) else ())
    )


def _within(table: Any, path: Sequence[str], value: Any) -> dict[str, Any]:
    content = toml_text.as_tables(table) if isinstance(table, Keys) else table
    content = dict(content) if isinstance(content, dict) else {}
    key, *rest = path
    content[key] = _within(content.get(key), rest, value) if rest else value
    return content


def _is_meant(entry: Any, index: int, chosen: str, key: str, families: Table) -> bool:
    return (chosen == "*" and key in _keys(model_of(entry, families))) or chosen == label_of(entry, index)


def label_of(entry: Any, index: int) -> str:
    """Return how an entry of an array of tables is addressed."""
    return name_of(entry) or str(index)


def _addresses(data: Mapping[str, Any], families: Table) -> Iterator[str]:
    """List every address that ``data`` has room for."""
    yield from ScenarioKeys.model_fields
    for table, model in PLAIN_TABLES.items():
        yield from (f"{table}.{key}" for key in _keys(model))
    for table in families:
        entries = data.get(table, ())
        for index, entry in enumerate(entries if isinstance(entries, (list, tuple)) else ()):
            for key in _keys(model_of(entry, families)):
                yield f"{table}.{label_of(entry, index)}.{key}"
                yield f"{table}.*.{key}"


def model_of(entry: Any, families: Table) -> type[BaseModel] | None:
    """Return the class of an entry's keys; None where nobody can say."""
    if isinstance(entry, OwnCost):
        return None
    if isinstance(entry, Keys):
        return type(entry)
    if not isinstance(entry, dict):
        return None
    for one in families.values():
        chosen = entry.get(one.key)
        if isinstance(chosen, str) and chosen in one.known:
            return one.known[chosen]
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
