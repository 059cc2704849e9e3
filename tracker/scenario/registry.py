"""The costs, samplers and interventions that a scenario may name: the shipped ones, and those of allowed plugins."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from tracker.costs import COSTS
from tracker.costs.base import CostKeys
from tracker.keys import Keys
from tracker.samplers import SAMPLERS
from tracker.samplers.base import SamplerKeys
from tracker.scenario.own_kinds import OwnKeys, keys_for
from tracker.scenario.tables import INTERVENTIONS, Intervention


class Families(NamedTuple):
    """What an array of tables may hold.

    key : the key that chooses the family
    known : the families by name
    base : the class of all of them
    group : the group of entry points where installed packages offer more; empty where they cannot
    """

    key: str
    known: Mapping[str, type[Keys]]
    base: type[Keys]
    group: str = ""


SHIPPED = {
    "interventions": Families("kind", INTERVENTIONS, Intervention),
    "modes": Families("cost", COSTS, CostKeys, "tracker.costs"),
    "samplers": Families("kind", SAMPLERS, SamplerKeys, "tracker.samplers"),
}


def kind_places() -> dict[str, int]:
    """Return the place of each shipped kind of sampler in its table: what has to look the same everywhere goes by it."""
    return {kind: n for n, kind in enumerate(SAMPLERS)}


class Plugin(NamedTuple):
    """A family of costs or a kind of samplers from an installed package, or a user's own; then ``package`` is empty."""

    table: str
    name: str
    package: str
    version: str
    keys: type[Keys]
    code: Any = None  # the CodeFile that it comes from

    def __reduce__(self) -> Any:
        """Pickle the class of a user's own kind by its tuple: the class is made again on the other side."""
        made = issubclass(self.keys, OwnKeys)
        return _plugin, (*self[:4], self.keys.own if made else self.keys, self.code, made)  # type: ignore[attr-defined]


def _plugin(table: str, name: str, package: str, version: str, keys: type, code: Any, made: bool) -> Plugin:
    return Plugin(table, name, package, version, keys_for(keys, table, name) if made else keys, code)


def families_with(plugins: Iterable[Plugin] = ()) -> dict[str, Families]:
    """Return the families of each array of tables."""
    found = dict(SHIPPED)
    for plugin in plugins:
        families = found[plugin.table]
        found[plugin.table] = families._replace(known={**families.known, plugin.name: plugin.keys})
    return found
