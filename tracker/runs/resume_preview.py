"""Tell from outside what a resumed run would take over: finished shards, and snapshots of others."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from tracker.regular_files import is_own_folder, is_regular, read_regular, stands_there
from tracker.runs.checkpoints import place_of, steps_held
from tracker.runs.file_names import CHECKPOINTS, JOURNAL, RESULT, SHARDS, SUMMARY, shard_name
from tracker.runs.manifest import MOST_LINES, count_of_shards, largest_journal, read_journal, shards_of
from tracker.runs.run_errors import CorruptRun
from tracker.runs.run_identity import hash_of_file

if TYPE_CHECKING:
    from pathlib import Path

    from tracker.runs.manifest import Entry, Manifest

CHEAP = 300e6  # bytes that are read and checked without being asked: a second or so


class Kept(NamedTuple):
    """What is kept of a run.

    Attributes
    ----------
    part : float
        Of all steps, 0 to 1: those that a resume would not compute again.
    unusable : tuple of str
        Files that should hold something and do not.
    verified : bool
        Whether the content of the files was checked, not only whether they are there.
    """

    trials: int
    shards: int
    part: float
    unusable: tuple[str, ...]
    verified: bool


def kept_of(path: Path, manifest: Manifest, verify: bool | None) -> Kept:
    """Return what is kept of the run in ``path``; ``verify`` None: where that is cheap."""
    checked = verify if verify is not None else bytes_of(path, manifest) <= CHEAP
    return (_finished if manifest.complete else _under_way)(path, manifest, checked)


def bytes_of(path: Path, manifest: Manifest) -> float:
    """Return how much there is to read in order to verify what is kept."""
    names = (RESULT, SUMMARY) if manifest.complete else (SHARDS, CHECKPOINTS)
    return sum(_size(path / name) for name in names)


def _finished(path: Path, manifest: Manifest, verify: bool) -> Kept:
    unusable = tuple(name for name, sha256 in manifest.files.items() if not _is_whole(path / name, sha256, verify))
    return Kept(manifest.trials, len(shards_of(manifest)), 1.0, unusable, verify)


def _under_way(path: Path, manifest: Manifest, verify: bool) -> Kept:
    shards, entries = shards_of(manifest), _entries(path, manifest)
    trials = kept = 0
    steps, unusable = 0.0, []
    for index, those in enumerate(shards):
        file = path / SHARDS / shard_name(index)
        entry = entries.get(index)
        if entry is not None and entry.is_of(those, file.name) and _is_whole(file, entry.sha256, verify):
            trials, kept = trials + len(those), kept + 1
            continue
        if entry is not None:
            unusable.append(f"{SHARDS}/{file.name}")
        place = place_of(path / CHECKPOINTS, manifest.identity, index, manifest.steps)
        held = steps_held(place, verify=verify)
        steps += len(those) * (held or 0.0)
        if held is None and stands_there(path / CHECKPOINTS / file.name):
            unusable.append(f"{CHECKPOINTS}/{file.name}")
    part = (trials + steps / manifest.steps) / manifest.trials
    return Kept(trials, kept, part, tuple(unusable), verify)


def _entries(path: Path, manifest: Manifest) -> dict[int, Entry]:
    try:
        data = read_regular(path / JOURNAL, largest_journal(manifest))
        return read_journal(data, manifest.identity, MOST_LINES * (count_of_shards(manifest) + 1)).entries
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise CorruptRun(path, f"{JOURNAL}: {getattr(error, 'strerror', None) or error}") from None


def _is_whole(file: Path, sha256: str, verify: bool) -> bool:
    try:
        return hash_of_file(file) == sha256 if verify else is_regular(file)
    except OSError:
        return False


def _size(path: Path) -> float:
    """Return the bytes of a file, or of the files in a folder; 0 for what is not there, or just went."""
    try:
        return float(sum(file.lstat().st_size for file in (path.iterdir() if is_own_folder(path) else (path,))))
    except OSError:
        return 0.0
