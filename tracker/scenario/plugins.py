"""Costs and samplers of installed packages: entry points of the groups ``tracker.costs`` and ``tracker.samplers``.

The name of an entry point is the ``cost`` or ``kind`` that a scenario file writes; its object is a NamedTuple whose fields are
the keys, or a class of keys, a subclass of ``CostKeys`` or ``SamplerKeys`` with that name as its Literal. A package is allowed by the name under which it
is installed: to allow it is to run its code, all of it. What is offered is read from metadata, which runs nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from importlib import metadata
from typing import Any, NamedTuple, get_args

from tracker.keys import Keys
from tracker.scenario.complaints import ScenarioError, show
from tracker.scenario.own_kinds import keys_for
from tracker.scenario.registry import SHIPPED, Plugin

_WORD = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")


class PluginError(ScenarioError):
    """A package that cannot be used as asked for."""

    usage = True  # the command is wrong, not the file


class PluginOffer(NamedTuple):
    """What an installed package offers; nothing of it was imported."""

    table: str
    point: metadata.EntryPoint
    package: str
    version: str


def load_plugins(packages: Iterable[str]) -> tuple[Plugin, ...]:
    """Load what the named packages offer; ``PluginError`` where one offers nothing, or something that cannot be used."""
    names = {_normal(name): name for name in packages}
    if not names:
        return ()
    offers = [offer for offer in _offers() if _normal(offer.package) in names]
    missing = names.keys() - {_normal(offer.package) for offer in offers}
    problems = [f"--allow-plugins {show(names[name])[1:-1]}: {_why_not(names[name])}" for name in sorted(missing)]
    found: dict[tuple[str, str], Plugin] = {}
    for offer in offers:
        place = f"--allow-plugins {offer.package}: {offer.point.group} {show(offer.point.name)}"
        taken = found.get((offer.table, offer.point.name))
        if taken is not None:
            problems.append(f"{place}: {taken.package} offers the same name")
            continue
        try:
            found[offer.table, offer.point.name] = _loaded(offer)
        except Exception as error:  # it is another's code
            problems.append(f"{place}: {type(error).__name__}: {error}")
    if problems:
        raise PluginError(problems)
    return tuple(found.values())


def who_offers(table: str, name: str) -> str | None:
    """Return how to allow the installed package that offers ``name``, if one does."""
    for offer in _offers():
        if (offer.table, offer.point.name) == (table, name):
            return f"is not known, but {offer.package} {offer.version}, which is installed, offers it: --allow-plugins {offer.package}"
    return None


def _offers() -> Iterator[PluginOffer]:
    for table, families in SHIPPED.items():
        for point in metadata.entry_points(group=families.group) if families.group else ():
            if point.dist is not None:
                yield PluginOffer(table, point, point.dist.name, point.dist.version)


def _loaded(offer: PluginOffer) -> Plugin:
    name = offer.point.name
    if name in SHIPPED[offer.table].known:  # nothing of it is imported then
        raise ValueError("tracker has one of that name")
    return Plugin(offer.table, name, offer.package, offer.version, keys_of(offer.table, name, offer.point.load()))


def keys_of(table: str, name: Any, kind: Any) -> type[Keys]:
    """Return the keys of what is offered as ``name``: a NamedTuple's fields, or a class of keys itself."""
    families = SHIPPED[table]
    if not isinstance(name, str) or not _WORD.fullmatch(name):
        raise ValueError("the name must be letters, digits, _, - or .")
    if name in families.known:
        raise ValueError("tracker has one of that name")
    if isinstance(kind, type) and issubclass(kind, families.base):
        if get_args(kind.model_fields[families.key].annotation) != (name,):
            raise ValueError(f'{kind.__name__} must declare {families.key}: Literal["{name}"]')
        return kind
    if isinstance(kind, type) and issubclass(kind, tuple) and hasattr(kind, "_fields"):
        return keys_for(kind, table, name)
    raise TypeError(f"{show(kind)} must be a NamedTuple class, or a subclass of {families.base.__name__}")


def _why_not(name: str) -> str:
    try:
        metadata.version(name)
    except (metadata.PackageNotFoundError, ValueError):
        return "no such package is installed"
    return f"it offers nothing in {' or '.join(one.group for one in SHIPPED.values() if one.group)}"


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
