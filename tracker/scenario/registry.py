"""The costs, samplers and interventions that a scenario may name: the shipped ones, and those of allowed plugins."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from tracker.costs import COSTS
from tracker.costs.base import CostKeys
from tracker.keys import Keys
from tracker.samplers import SAMPLERS
from tracker.samplers.base import SamplerKeys
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


class Plugin(NamedTuple):
    """A family of costs or a kind of samplers from an installed package."""

    table: str
    name: str
    package: str
    version: str
    keys: type[Keys]


def families_with(plugins: Iterable[Plugin] = ()) -> dict[str, Families]:
    """Return the families of each array of tables."""
    found = dict(SHIPPED)
    for plugin in plugins:
        families = found[plugin.table]
        found[plugin.table] = families._replace(known={**families.known, plugin.name: plugin.keys})
    return found
