"""Make the JSON schema of scenario files, with which editors complete and check keys."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from tracker.costs import COSTS
from tracker.keys import meaning_of
from tracker.samplers import SAMPLERS
from tracker.scenario.drift_keys import Drift
from tracker.scenario.tables import INTERVENTIONS, Chain, Claim, Gaussian, ScenarioKeys, Schedule

# pydantic leaves its own words where a bound stands behind a function that checks the type
_WORDS = {"ge": "minimum", "le": "maximum", "gt": "exclusiveMinimum", "lt": "exclusiveMaximum"}
_HEAD_KEYS = (
    "name",
    "claim",
    "description",
    "seed",
    "trials",
    "steps",
    "burn_in",
    "record_every",
    "moments",
    "baselines",
)


def json_schema() -> dict[str, Any]:
    """Return the schema, draft 2020-12."""
    families: list[type[BaseModel]] = [*COSTS.values(), *SAMPLERS.values(), *INTERVENTIONS.values(), Claim]
    models: list[type[BaseModel]] = [*families, Chain, Schedule, Drift, Gaussian, ScenarioKeys]
    refs, definitions = models_json_schema([(model, "validation") for model in models])
    named = {refs[model, "validation"]["$ref"].rpartition("/")[2]: model for model in models}
    defs = {name: _described(named.get(name), table) for name, table in definitions["$defs"].items()}
    top = defs.pop("ScenarioKeys")
    for base in ("CostKeys", "SamplerKeys"):
        defs.pop(base, None)

    def one_of(table: Mapping[str, type[BaseModel]]) -> dict[str, Any]:
        return {"oneOf": [refs[model, "validation"] for model in table.values()]}

    properties = {key: top["properties"][key] for key in _HEAD_KEYS}
    vector = {"type": "array", "items": {"type": "number"}, "minItems": 1}
    properties |= {
        "start": {"anyOf": [vector, refs[Gaussian, "validation"]]},
        "chain": refs[Chain, "validation"],
        "schedule": refs[Schedule, "validation"],
        "drift": refs[Drift, "validation"],
        "interventions": {"type": "array", "items": one_of(INTERVENTIONS)},
        "modes": {"type": "array", "minItems": 1, "items": one_of(COSTS)},
        "samplers": {"type": "array", "minItems": 1, "items": one_of(SAMPLERS)},
        "claims": {"type": "array", "items": refs[Claim, "validation"]},
        "sweep": {"type": "object", "additionalProperties": {"type": "array", "minItems": 1}},
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "tracker scenario",
        "type": "object",
        "properties": {key: _with_meaning(ScenarioKeys, key, entry) for key, entry in properties.items()},
        "required": [key for key, field in ScenarioKeys.model_fields.items() if field.is_required()],
        "additionalProperties": False,
        "$defs": dict(sorted(defs.items())),
    }


def _described(model: type[BaseModel] | None, table: dict[str, Any]) -> dict[str, Any]:
    """Return a table's schema with the meaning of each key, and without pydantic's titles."""
    properties = {key: _with_meaning(model, key, entry) for key, entry in table.get("properties", {}).items()}
    return {**{key: entry for key, entry in table.items() if key != "title"}, "properties": properties}


def _with_meaning(model: type[BaseModel] | None, key: str, entry: dict[str, Any]) -> dict[str, Any]:
    kept = {_WORDS.get(k, k): _tidy(v) for k, v in entry.items() if k != "title" and not (k == "default" and v is None)}
    meaning = meaning_of(model, key)
    return {**kept, "description": meaning} if meaning else kept


def _tidy(value: Any) -> Any:
    """Return a piece of schema in the words of JSON schema only."""
    if isinstance(value, list):
        # None stands for an absent key; TOML cannot write it
        return [_tidy(entry) for entry in value if entry != {"type": "null"}]
    if isinstance(value, dict):
        return {_WORDS.get(key, key): _tidy(entry) for key, entry in value.items() if key != "title"}
    return value
