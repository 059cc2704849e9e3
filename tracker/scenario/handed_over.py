"""What a script hands to ``replace`` or ``parse``: costs and samplers as tuples or keys, in a list or by name, made tables.

A dict of modes or samplers gives their names; a list takes them from the entries, or from the class of a tuple. A table may
hold the tuple in place of the family: ``{"name": "left", "cost": Ripple(-2.0), "target": {"radius": 0.35}}``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import chain, count
from typing import TYPE_CHECKING, Any

from pydantic import TypeAdapter, ValidationError

from tracker.compiled import implementation_hash
from tracker.keys import DottedName, Keys
from tracker.scenario.complaints import ScenarioError, show
from tracker.scenario.own_fields import as_flat
from tracker.scenario.own_kinds import OwnKeys, is_own_tuple, keys_for
from tracker.scenario.registry import Plugin, families_with

if TYPE_CHECKING:
    from collections.abc import Sequence

    Plugins = tuple[Plugin, ...]

WORDS = {"modes": "cost", "samplers": "kind"}


def handed_over(data: Mapping[str, Any], plugins: Sequence[Plugin]) -> tuple[dict[str, Any], Plugins]:
    """Return ``data`` with modes and samplers as lists of tables and keys, and the families that they bring with them."""
    found, known = dict(data), tuple(plugin for plugin in plugins if _is_wanted(plugin, data))
    for table in WORDS:
        if table in found:
            found[table], known = _entries(table, found[table], known)
    return found, known


def _is_wanted(plugin: Plugin, data: Mapping[str, Any]) -> bool:
    """Tell whether a family is still used; those of files and packages stay. A cell that is run again makes its class anew."""
    if plugin.package or plugin.code is not None or not issubclass(plugin.keys, OwnKeys):
        return True
    given = data.get(plugin.table)
    entries = given.values() if isinstance(given, Mapping) else given if isinstance(given, (list, tuple)) else ()
    return any(_names(plugin, WORDS[plugin.table], entry) for entry in entries)


def _names(plugin: Plugin, word: str, entry: Any) -> bool:
    chosen = entry.get(word) if isinstance(entry, Mapping) else entry
    own: Any = plugin.keys  # an ``OwnKeys``, so it knows its tuple
    return isinstance(chosen, (own, own.own)) or chosen == plugin.name


def _entries(table: str, given: Any, plugins: Plugins) -> tuple[Any, Plugins]:
    if is_own_tuple(given):  # one cost without a list is a tuple too
        given = [given]
    if isinstance(given, Mapping) and given and all(map(_is_entry, given.values())):
        named: list[tuple[str | None, Any]] = [(_sound_name(table, name), entry) for name, entry in given.items()]
    elif isinstance(given, (list, tuple)):
        named = [(None, entry) for entry in given]
    else:
        return given, plugins
    kinds = [_kind_name(entry) if name is None and is_own_tuple(entry) else "" for name, entry in named]
    made = []
    for index, (name, entry) in enumerate(named):
        kind = kinds[index]
        title = name or (f"{kind}-{index + 1}" if kind and kinds.count(kind) > 1 else kind)
        item, plugins = _entry(table, title, entry, plugins)
        made.append(item)
    return made, plugins


def _is_entry(entry: Any) -> bool:
    return is_own_tuple(entry) or isinstance(entry, (Keys, Mapping, type))


def _entry(table: str, name: str, entry: Any, plugins: Plugins) -> tuple[Any, Plugins]:
    word = WORDS[table]
    if isinstance(entry, type) and hasattr(entry, "_fields"):
        raise ScenarioError(
            [f'{table}: "{name or entry.__name__}": {entry.__name__} is a class: hand over {entry.__name__}(...)']
        )
    if is_own_tuple(entry):
        return _table(table, {"name": name}, entry, plugins)
    if isinstance(entry, Mapping):
        named = {**({"name": name} if name else {}), **entry}
        if is_own_tuple(named.get(word)):
            own = named.pop(word)
            return _table(table, {"name": _kind_name(own), **named}, own, plugins)
        return named, plugins
    if isinstance(entry, OwnKeys) and all(plugin.keys is not type(entry) for plugin in plugins):
        plugins = (*plugins, Plugin(table, entry.family, "", "", type(entry)))
    if isinstance(entry, Keys) and name:
        return entry.model_copy(update={"name": name}), plugins
    return entry, plugins


def _table(table: str, rest: dict[str, Any], own: Any, plugins: Plugins) -> tuple[dict[str, Any], Plugins]:
    """Return the table of a tuple, and the family that it belongs to among the others."""
    family, plugins = _family(table, type(own), plugins)
    return {**as_flat(own), **rest, WORDS[table]: family, "code": implementation_hash(type(own))}, plugins


def _family(table: str, own: type, plugins: Plugins) -> tuple[str, Plugins]:
    for plugin in plugins:
        if plugin.table == table and issubclass(plugin.keys, OwnKeys) and plugin.keys.own is own:
            return plugin.name, plugins
    taken, word = families_with(plugins)[table].known, _clean(own.__name__)
    name = next(one for one in chain([word], (f"{word}-{n}" for n in count(2))) if one not in taken)
    return name, (*plugins, Plugin(table, name, "", "", keys_for(own, table, name)))


def _kind_name(entry: Any) -> str:
    return _clean(type(entry).__name__)


def _clean(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9_-]", "", name).lstrip("_-")[:60] or "own"


def _sound_name(table: str, name: Any) -> str:
    try:
        return str(TypeAdapter(DottedName).validate_python(name, strict=True))
    except ValidationError:
        rule = "must be 1 to 64 letters, digits, _, - or ., the first a letter or a digit"
        raise ScenarioError([f"{table}: {show(name)} {rule}: it is a name"]) from None
