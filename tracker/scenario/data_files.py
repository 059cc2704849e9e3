"""Read the data files that modes name, once, from beside the scenario. Their content then belongs to the scenario."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

from tracker.costs.csv_rows import DataFile, read_data
from tracker.formatting import few
from tracker.scenario.registry import families_with

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from tracker.costs.base import CostKeys
    from tracker.scenario.model import Scenario
    from tracker.scenario.registry import Plugin

DRAWN = "random"  # rows of a file, where nothing else is said


def read_data_files(data: Mapping[str, Any], folder: Path, plugins: Sequence[Plugin] = ()) -> dict[str, Any]:
    """Return ``data`` with the files that its modes name read from ``folder``; a file that several name is read once."""
    modes = data.get("modes")
    if not isinstance(modes, (list, tuple)):
        return dict(data)
    read: dict[str, DataFile] = {}
    regime = regime_column(data)
    costs = families_with(plugins)["modes"].known
    return {**data, "modes": [_with_files(mode, folder, read, costs, regime) for mode in modes]}


def regime_column(data: Mapping[str, Any]) -> str | None:
    """Return the column of the data that names the mode of each step, if a schedule says so."""
    schedule = data.get("schedule")
    column = schedule.get("from") if isinstance(schedule, dict) else getattr(schedule, "from_", None)
    return column if isinstance(column, str) else None


def notes_on_rows(scenario: Scenario) -> list[str]:
    """Return what surprises whoever follows a column: the modes come in its order, and the rows do not, unless they are asked to."""
    column = regime_column({"schedule": scenario.schedule})
    drawn = [
        mode.name
        for mode in scenario.modes
        if getattr(mode, "rows", None) == DRAWN and "rows" not in mode.model_fields_set
    ]
    if column is None or not drawn:
        return []
    which = few(drawn, "mode", len(scenario.modes))
    text = f'step k is in the mode that "{column}" names in row k, and learns from a row of that mode drawn at random, as rows is not given'
    return [f'{text} ({which}); rows = "in-order" learns from row k itself']


def _with_files(
    mode: Any, folder: Path, read: dict[str, DataFile], costs: Mapping[str, Any], regime: str | None
) -> Any:
    family = costs.get(mode["cost"]) if isinstance(mode, dict) and isinstance(mode.get("cost"), str) else None
    if family is None:
        return mode
    given = {key: mode[key] for key in family.files if key in mode}
    tables = {key: one["file"] for key, one in given.items() if isinstance(one, dict) and list(one) == ["file"]}
    named = {key: name for key, name in {**given, **tables}.items() if isinstance(name, str)}
    for name in named.values():
        # only a plain name is followed: one that climbs out of the folder is left for the check, which refuses it
        if (
            name not in read
            and not isinstance(name, DataFile)
            and (folder / name).parent == folder
            and "\0" not in name
        ):
            read[name] = read_data(folder / name, regime)
    found = {key: read.get(name, name) for key, name in named.items()}
    return {**mode, **{key: {"file": file} if key in tables else file for key, file in found.items()}}


def files_of(modes: Iterable[CostKeys]) -> dict[str, DataFile]:
    """Return all data files that were read, by name."""
    given = [getattr(mode, key) for mode in modes for key in mode.files]
    files = [file for one in given if isinstance(file := getattr(one, "file", one), DataFile)]
    return {str(file): file for file in sorted(files) if file.content is not None}


def fingerprint(text: str, files: Mapping[str, str]) -> str:
    """Return the sha256 of a scenario's text and of the hashes of its files."""
    digest = hashlib.sha256(text.encode())
    for name, own in files.items():
        digest.update(f"\0{name}\0{own}".encode())
    return digest.hexdigest()
