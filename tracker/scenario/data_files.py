"""Read the data files that modes name, once, from beside the scenario. Their content then belongs to the scenario."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

from tracker.costs.csv_rows import DataFile, read_data
from tracker.scenario.registry import families_with

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from tracker.costs.base import CostKeys
    from tracker.scenario.registry import Plugin


def read_data_files(data: Mapping[str, Any], folder: Path, plugins: Sequence[Plugin] = ()) -> dict[str, Any]:
    """Return ``data`` with the files that its modes name read from ``folder``; a file that several name is read once."""
    modes = data.get("modes")
    if not isinstance(modes, (list, tuple)):
        return dict(data)
    read: dict[str, DataFile] = {}
    costs = families_with(plugins)["modes"].known
    return {**data, "modes": [_with_files(mode, folder, read, costs) for mode in modes]}


def _with_files(mode: Any, folder: Path, read: dict[str, DataFile], costs: Mapping[str, Any]) -> Any:
    family = costs.get(mode["cost"]) if isinstance(mode, dict) and isinstance(mode.get("cost"), str) else None
    if family is None:
        return mode
    named = {key: mode[key] for key in family.files if isinstance(mode.get(key), str)}
    for name in named.values():
        # only a plain name is followed: one that climbs out of the folder is left for the check, which refuses it
        if (
            name not in read
            and not isinstance(name, DataFile)
            and (folder / name).parent == folder
            and "\0" not in name
        ):
            read[name] = read_data(folder / name)
    return {**mode, **{key: read.get(name, name) for key, name in named.items()}}


def files_of(modes: Iterable[CostKeys]) -> dict[str, bytes]:
    """Return the content of all data files by name."""
    files = [getattr(mode, key) for mode in modes for key in mode.files]
    return {str(file): file.content for file in sorted(files)}


def fingerprint(text: str, files: Mapping[str, bytes]) -> str:
    """Return the sha256 of a scenario's text and of its data files."""
    digest = hashlib.sha256(text.encode())
    for name, content in files.items():
        digest.update(f"\0{name}\0{hashlib.sha256(content).hexdigest()}".encode())
    return digest.hexdigest()
