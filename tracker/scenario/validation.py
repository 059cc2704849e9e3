"""Check the tables of a scenario: each key alone, then keys against each other; report all problems at once."""

from __future__ import annotations

from functools import cache, partial
from typing import TYPE_CHECKING, Any

from pydantic import ConfigDict, TypeAdapter, ValidationError

from tracker.keys import FROM_A_FILE, Keys, meaning_of
from tracker.samplers.wrapper_keys import KINDS, WrapperKeys
from tracker.scenario.complaints import (
    MOST_PER_TABLE,
    Complaint,
    line,
    place_of,
    problems_of,
    say_unknown,
    say_unknown_key,
    show,
)
from tracker.scenario.cross_checks import disagreements
from tracker.scenario.plugins import who_offers
from tracker.scenario.registry import Families, families_with
from tracker.scenario.tables import ARRAYS_OF_TABLES, MOST_TABLES, PLAIN_TABLES, ScenarioKeys

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from tracker.scenario.registry import Plugin


def problems_after(data: Mapping[str, Any], key: str, plugins: Sequence[Plugin] = ()) -> list[str]:
    """Return what is wrong with ``data``, of which all but ``key`` is known to be valid."""
    parts, problems = valid_parts({key: data[key]}, plugins, only=key)
    return problems + disagreements({**{k: v for k, v in data.items() if k != key}, **parts}, data)


def valid_parts(
    data: Mapping[str, Any], plugins: Sequence[Plugin] = (), only: str | None = None
) -> tuple[dict[str, Any], list[str]]:
    """Return the fields that are valid by themselves; an entry of an array of tables that is not stands as None."""
    families = families_with(plugins)
    known = ScenarioKeys.model_fields if only is None else {only: ScenarioKeys.model_fields[only]}
    strangers = [key for key in data if key not in known]
    problems = [
        line("", Complaint((key,), say_unknown_key(key, data[key], known))) for key in strangers[:MOST_PER_TABLE]
    ]
    parts: dict[str, Any] = {}
    for key, field in known.items():
        if key not in data:
            if field.is_required():
                problems.append(f"{key}: missing: {field.description}")
        elif key in families:
            parts[key], found = _entries(key, data[key], partial(_entry, key, families=families[key]))
            problems += found
        elif key in ARRAYS_OF_TABLES:
            parts[key], found = _entries(key, data[key], partial(_plain_entry, key))
            problems += found
        else:
            try:
                parts[key] = _adapter(key).validate_python(data[key])
            except ValidationError as error:
                nested = [
                    Complaint((key, *p.path), p.text) for p in problems_of(error, data[key], PLAIN_TABLES.get(key))
                ]
                problems += [line("", problem) for problem in nested]
    return parts, problems


@cache
def _adapter(key: str) -> TypeAdapter[Any]:
    return TypeAdapter(ScenarioKeys.model_fields[key].rebuild_annotation(), config=ConfigDict(strict=True))


def _entries(
    table: str, raw: Any, read: Callable[[Any], tuple[Keys | None, list[Complaint]]]
) -> tuple[tuple[Any, ...], list[str]]:
    """Return what ``read`` makes of each entry of an array of tables, and what is wrong with them."""
    required = ScenarioKeys.model_fields[table].is_required()
    if not isinstance(raw, (list, tuple)):
        return (), [f"{table}: {show(raw)} must be a list of tables, written [[{table}]]"]
    if required and not raw:
        return (), [f"{table}: [] must have at least 1 entry"]
    if len(raw) > MOST_TABLES:
        return (), [f"{table}: {len(raw)} entries are too many, at most {MOST_TABLES}"]
    entries, problems = [], []
    for index, item in enumerate(raw):
        entry, found = read(item)
        place = place_of(table, index, item)
        entries.append(entry)
        problems += [line(place, problem) for problem in found]
    return tuple(entries), problems


def _plain_entry(table: str, item: Any) -> tuple[Keys | None, list[Complaint]]:
    model = ARRAYS_OF_TABLES[table]
    if isinstance(item, model):
        return item, []
    if not isinstance(item, dict):
        return None, [Complaint((), f"{show(item)} must be a table, written [[{table}]]")]
    try:
        return model.model_validate(item), []
    except ValidationError as error:
        return None, problems_of(error, item, model)


def _entry(table: str, item: Any, families: Families) -> tuple[Keys | None, list[Complaint]]:
    key, known, base, group = families
    if isinstance(item, base):
        return item, []
    if not isinstance(item, dict):
        return None, [Complaint((), f"{show(item)} must be a table, written [[{table}]]")]
    if key not in item:
        missing = Complaint((key,), f"missing: {meaning_of(base, key)} (known: {', '.join(known)})")
        return None, [missing, *_common_problems(base, item, key)]
    chosen = item[key]
    if not isinstance(chosen, str) or chosen not in known:
        what = "family" if table == "modes" else "kind"
        word = chosen if isinstance(chosen, str) else show(chosen)
        meant = next((name for name, model in known.items() if word.casefold() in model.also_called), None)
        way = who_offers(table, word) or f"is an {say_unknown(word, known, what, meant)}"
        way += "; one of your own: --code FILE.py" if group and "--allow-plugins" not in way else ""
        return None, [Complaint((key,), f"{show(chosen)} {way}"), *_common_problems(base, item, key)]
    model = known[chosen]
    if found := _problems_inside(table, item, families):
        return None, found
    try:
        return model.model_validate(item, context={**FROM_A_FILE, KINDS: known}), []
    except ValidationError as error:
        return None, problems_of(error, item, model)


def _problems_inside(table: str, item: Mapping[str, Any], families: Families) -> list[Complaint]:
    """Return what is wrong with the sampler that another one wraps; what it has from the wrapper is complained of there."""
    model = families.known[item[families.key]]
    inside = model.table_inside(item) if issubclass(model, WrapperKeys) else None
    if inside is None or any(key in item["sampler"] for key in WrapperKeys.shared):
        return []
    found = _entry(table, inside, families)[1]
    return [
        Complaint(("sampler", *one.path), one.text)
        for one in found
        if one.path[:1] not in {(key,) for key in WrapperKeys.shared}
    ]


def _common_problems(base: type[Keys], item: Mapping[str, Any], chosen: str) -> list[Complaint]:
    """Check the keys that all families share, where nobody knows which family is meant."""
    shared = {**{key: item[key] for key in base.model_fields if key in item}, chosen: ""}
    try:
        base.model_validate({k: v for k, v in shared.items() if k in base.model_fields}, context=FROM_A_FILE)
    except ValidationError as error:
        return problems_of(error, shared, base)
    return []
