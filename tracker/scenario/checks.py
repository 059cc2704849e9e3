"""From tables to a valid scenario: each key by itself, then the keys against each other, and all problems at once."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from pydantic import ConfigDict, TypeAdapter, ValidationError

from tracker.costs import COSTS
from tracker.costs.base import CostKeys
from tracker.keys import Keys
from tracker.samplers import SAMPLERS
from tracker.samplers.base import SamplerKeys
from tracker.scenario.agreement import disagreements
from tracker.scenario.errors import MOST_PER_TABLE, Problem, ScenarioError, line, place_of, problems_of, shown, unknown
from tracker.scenario.model import INTERVENTIONS, MOST_TABLES, Chain, Gaussian, Scenario, Schedule
from tracker.scenario.words import MEANINGS

if TYPE_CHECKING:
    from collections.abc import Mapping

# table -> (the key that chooses the family, the families, the class of all families)
FAMILIES: dict[str, tuple[str, Mapping[str, type[Keys]], type[Keys]]] = {
    "interventions": ("kind", INTERVENTIONS, Keys),
    "modes": ("cost", COSTS, CostKeys),
    "samplers": ("kind", SAMPLERS, SamplerKeys),
}


def checked(data: Mapping[str, Any]) -> Scenario:
    """Return the scenario that ``data`` describes; its tables are dicts, or models that are valid already."""
    from tracker.scenario.addresses import sweep_problems  # it comes back here for each value

    parts, problems = _fields(data)
    problems += disagreements(parts, data)
    problems += sweep_problems(parts.get("sweep", {}), parts if not problems else data, valid=not problems)
    if problems:
        raise ScenarioError(problems)
    return Scenario.model_validate(parts)


def _fields(data: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """Return the fields that are valid by themselves; an entry of an array of tables that is not stands as None."""
    known = Scenario.model_fields
    strangers = [key for key in data if key not in known]
    problems = [line("", Problem((key,), unknown(key, known, "key"))) for key in strangers[:MOST_PER_TABLE]]
    parts: dict[str, Any] = {}
    for key, field in known.items():
        if key not in data:
            if field.is_required():
                problems.append(f"{key}: missing: {MEANINGS[key]}")
        elif key in FAMILIES:
            parts[key], found = _entries(key, data[key])
            problems += found
        else:
            try:
                parts[key] = _adapter(key).validate_python(data[key])
            except ValidationError as error:
                nested = [Problem((key, *p.path), p.text) for p in problems_of(error, data[key], _table_model(key))]
                problems += [line("", problem) for problem in nested]
    return parts, problems


@cache
def _adapter(key: str) -> TypeAdapter[Any]:
    return TypeAdapter(Scenario.model_fields[key].rebuild_annotation(), config=ConfigDict(strict=True))


def _table_model(key: str) -> type[Keys] | None:
    models: dict[str, type[Keys]] = {"chain": Chain, "schedule": Schedule, "start": Gaussian}
    return models.get(key)


def _entries(table: str, raw: Any) -> tuple[tuple[Any, ...], list[str]]:
    required = Scenario.model_fields[table].is_required()
    if not isinstance(raw, (list, tuple)):
        return (), [f"{table}: {shown(raw)} must be a list of tables, written [[{table}]]"]
    if required and not raw:
        return (), [f"{table}: [] must have at least 1 entry"]
    if len(raw) > MOST_TABLES:
        return (), [f"{table}: {len(raw)} entries are too many, at most {MOST_TABLES}"]
    entries, problems = [], []
    for index, item in enumerate(raw):
        entry, found = _entry(table, item)
        place = place_of(table, index, item)
        entries.append(entry)
        problems += [line(place, problem) for problem in found]
    return tuple(entries), problems


def _entry(table: str, item: Any) -> tuple[Keys | None, list[Problem]]:
    key, families, base = FAMILIES[table]
    if isinstance(item, base):
        return item, []
    if not isinstance(item, dict):
        return None, [Problem((), f"{shown(item)} must be a table, written [[{table}]]")]
    if key not in item:
        missing = Problem((key,), f"missing: {MEANINGS[key]} (known: {', '.join(families)})")
        return None, [missing, *_common_problems(base, item, key)]
    chosen = item[key]
    if not isinstance(chosen, str) or chosen not in families:
        what = "family" if table == "modes" else "kind"
        wrong = Problem((key,), f"{shown(chosen)} is an {unknown(str(chosen), families, what)}")
        return None, [wrong, *_common_problems(base, item, key)]
    model = families[chosen]
    try:
        return model.model_validate(item), []
    except ValidationError as error:
        return None, problems_of(error, item, model)


def _common_problems(base: type[Keys], item: Mapping[str, Any], chosen: str) -> list[Problem]:
    """Check the keys that all families share, where nobody knows which family is meant."""
    shared = {**{key: item[key] for key in base.model_fields if key in item}, chosen: ""}
    try:
        base.model_validate({key: value for key, value in shared.items() if key in base.model_fields})
    except ValidationError as error:
        return problems_of(error, shared, base)
    return []
