"""Addresses of keys: ``chain.alpha``, ``samplers.*.epsilon``, ``modes.left.target.radius``; for --set and [sweep].

A name with a dot stands in quotes: ``samplers."lms-0.01".epsilon``.

An entry of an array of tables is addressed by its name (an intervention by its index), or all of them by ``*``: then
every one whose family has the key.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel

from tracker.keys import Keys
from tracker.metrics.claims import read_side
from tracker.samplers.baselines import BASELINES
from tracker.scenario import toml_text
from tracker.scenario.complaints import ScenarioError, name_of, nearest, show
from tracker.scenario.registry import Families, families_with
from tracker.scenario.tables import PLAIN_TABLES, ScenarioKeys

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from tracker.scenario.registry import Plugin

    Plugins = Sequence[Plugin]
    Table = Mapping[str, Families]

_PART = re.compile(r"\"([^\"]+)\"|([^.\"]+)")
_PARTS = re.compile(rf"(?:{_PART.pattern})(?:\.(?:{_PART.pattern}))*")


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
    top, *rest = split_address(address)
    if not rest:
        return without_stale_claims(data, {**data, top: value})
    if top in PLAIN_TABLES:
        return {**data, top: _within(data.get(top), rest, value)}
    chosen, *path = rest
    entries = [
        _within(entry, path, value) if _is_meant(entry, index, chosen, ".".join(path), families) else entry
        for index, entry in enumerate(data[top])
    ]
    return without_stale_claims(data, {**data, top: entries})


def split_address(address: str) -> list[str]:
    """Return the parts of an address; a dot in quotes divides nothing."""
    found = _PARTS.fullmatch(address)
    return [quoted_ or bare for quoted_, bare in _PART.findall(address)] if found else address.split(".")


def quote(name: str) -> str:
    """Return a name as an address writes it."""
    return f'"{name}"' if "." in name else name


def without_stale_claims(before: Mapping[str, Any], after: dict[str, Any]) -> dict[str, Any]:
    """Return ``after`` without the claims about samplers and baselines that ``before`` had and the change took away."""
    claims: Any = after.get("claims")
    same, gone = claims is before.get("claims"), _contestants(before) - _contestants(after)
    if not (same and gone and isinstance(claims, (list, tuple))):
        return after
    return {**after, "claims": [claim for claim in claims if not gone & _about(claim)]}


def _contestants(data: Mapping[str, Any]) -> set[str]:
    samplers, baselines = data.get("samplers"), data.get("baselines")
    named = map(name_of, samplers) if isinstance(samplers, (list, tuple)) else ()
    beside: Iterable[Any] = baselines if isinstance(baselines, (list, tuple)) else BASELINES
    return {name for name in (*named, *beside) if isinstance(name, str)}


def _about(claim: Any) -> set[str]:
    """Return the samplers that a claim is about, a table of the file or a model."""
    keys = claim if isinstance(claim, dict) else dict(claim) if isinstance(claim, Keys) else {}
    sides = (keys.get(key) for key in ("left", "right"))
    return {read_side(side).sampler for side in sides if isinstance(side, str)}


def unknown_address(data: Mapping[str, Any], address: str, families: Table) -> str | None:
    """Return what is wrong with an address that ``data`` has no room for; None where it has."""
    if _is_known(data, address, families):
        return None
    known = dict.fromkeys(_addresses(data, families))
    everywhere = (one for one in known if one.endswith(f".*.{address}"))  # "epsilon" is a key of each sampler
    guess = next(everywhere, None) or nearest(address, known)
    return f"unknown address{f'; did you mean {guess}?' if guess else ''}"


def _is_known(data: Mapping[str, Any], address: str, families: Table) -> bool:
    """Tell whether ``data`` has room for ``address``, without listing all that it has room for."""
    top, *rest = split_address(address)
    if not rest:
        return top in ScenarioKeys.model_fields
    if top in PLAIN_TABLES:
        return ".".join(rest) in _keys(PLAIN_TABLES[top])
    chosen, path = rest[0], ".".join(rest[1:])
    entries = data.get(top, ()) if top in families else ()
    return any(
        chosen in ("*", label_of(entry, index)) and path in _keys_of(entry, families)
        for index, entry in enumerate(entries if isinstance(entries, (list, tuple)) else ())
    )


def _within(table: Any, path: Sequence[str], value: Any) -> dict[str, Any]:
    flat = getattr(table, "flat", None)  # of a user's own kind: arrays and tuples stay what they are
    content = flat() if flat is not None else toml_text.as_tables(table) if isinstance(table, Keys) else table
    content = dict(content) if isinstance(content, dict) else {}
    key, *rest = path
    content[key] = _within(content.get(key), rest, value) if rest else value
    return content


def _is_meant(entry: Any, index: int, chosen: str, key: str, families: Table) -> bool:
    return (chosen == "*" and key in _keys_of(entry, families)) or chosen == label_of(entry, index)


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
            for key in _keys_of(entry, families):
                yield f"{table}.{quote(label_of(entry, index))}.{key}"
                yield f"{table}.*.{key}"


def model_of(entry: Any, families: Table) -> type[BaseModel] | None:
    """Return the class of an entry's keys; None where nobody can say."""
    if isinstance(entry, Keys):
        return type(entry)
    if not isinstance(entry, dict):
        return None
    for one in families.values():
        chosen = entry.get(one.key)
        if isinstance(chosen, str) and chosen in one.known:
            return one.known[chosen]
    return None


def _keys_of(entry: Any, families: Table) -> tuple[str, ...]:
    """List the keys that an entry has room for, with the names that it gives in tables of its own: ``parameters.a``."""
    model = model_of(entry, families)
    found = _keys(model)
    for key in found if model is not None else ():
        content = entry.get(key) if isinstance(entry, dict) else getattr(entry, key, None)
        if isinstance(content, dict) and not any(deeper.startswith(f"{key}.") for deeper in found):
            found += tuple(f"{key}.{name}" for name in content)
    return found


@cache
def _keys(model: type[BaseModel] | None) -> tuple[str, ...]:
    """List the keys of a table, and ``target.radius`` for a table in it."""
    found: list[str] = []
    for key in model.key_names() if model is not None and issubclass(model, Keys) else ():
        found.append(key)
        inner = model.model_fields[key].annotation if model is not None and key in model.model_fields else None
        for kind in (inner, *getattr(inner, "__args__", ())):
            if isinstance(kind, type) and issubclass(kind, BaseModel):
                found += (f"{key}.{deeper}" for deeper in _keys(kind))
    return tuple(found)
