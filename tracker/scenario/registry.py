"""The costs and samplers that a scenario may name: the shipped ones, and those of allowed plugins."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from tracker.keys import Keys
from tracker.scenario.model import INTERVENTIONS
from tracker.scenario.plugins import SHELVES, Plugin


class Families(NamedTuple):
    """The key that chooses the family, the families by name, and the class of all of them."""

    key: str
    known: Mapping[str, type[Keys]]
    base: type[Keys]


def families_with(plugins: Iterable[Plugin] = ()) -> dict[str, Families]:
    """Return the families of each array of tables."""
    more = [(plugin.table, plugin.name, plugin.keys) for plugin in plugins]
    return {
        "interventions": Families("kind", INTERVENTIONS, Keys),
        **{
            table: Families(shelf.key, {**shelf.own, **{n: keys for t, n, keys in more if t == table}}, shelf.base)
            for table, shelf in SHELVES.items()
        },
    }
