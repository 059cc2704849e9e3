"""Tell from outside what a resumed run would take over: finished shards, and snapshots of others."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from tracker.regular_files import is_own_folder, is_regular, stands_there
from tracker.runs.checkpoints import checkpoint_place, steps_held
from tracker.runs.file_names import CHECKPOINTS, EARLIER, RESULT, SHARDS, SUMMARY, shard_name
from tracker.runs.manifest import shards_of, trials_of
from tracker.runs.ownership import journal_in
from tracker.runs.run_identity import hash_of_file

if TYPE_CHECKING:
    from pathlib import Path

    from tracker.runs.manifest import Manifest

MOST_BYTES_VERIFIED_UNASKED = 300e6  # bytes that are read and checked without being asked: a second or so


class ResumePreview(NamedTuple):
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


def preview_resume(path: Path, manifest: Manifest, verify: bool | None) -> ResumePreview:
    """Return what is kept of the run in ``path``; ``verify`` None: where that is cheap."""
    checked = verify if verify is not None else bytes_to_read(path, manifest) <= MOST_BYTES_VERIFIED_UNASKED
    return (_finished if manifest.complete else _under_way)(path, manifest, checked)


def bytes_to_read(path: Path, manifest: Manifest) -> float:
    """Return how much there is to read in order to verify what is kept."""
    names = (RESULT, SUMMARY) if manifest.complete else (SHARDS, CHECKPOINTS, EARLIER)
    return sum(_size(path / name) for name in names)


def _finished(path: Path, manifest: Manifest, verify: bool) -> ResumePreview:
    unusable = tuple(name for name, sha256 in manifest.files.items() if not _is_whole(path / name, sha256, verify))
    return ResumePreview(len(trials_of(manifest)), len(shards_of(manifest)), 1.0, unusable, verify)


def _under_way(path: Path, manifest: Manifest, verify: bool) -> ResumePreview:
    shards, entries = shards_of(manifest), journal_in(path, manifest).entries
    trials = kept = 0
    steps, unusable = 0.0, []
    earlier = manifest.taken_over if is_kept(path, manifest, verify=verify) else 0
    for index, those in enumerate(shards):
        if those.stop <= earlier:
            trials, kept = trials + len(those), kept + 1
            continue
        file = path / SHARDS / shard_name(index)
        entry = entries.get(index)
        if entry is not None and entry.is_of(those, file.name) and _is_whole(file, entry.sha256, verify):
            trials, kept = trials + len(those), kept + 1
            continue
        if entry is not None:
            unusable.append(f"{SHARDS}/{file.name}")
        place = checkpoint_place(path / CHECKPOINTS, manifest.identity, index, manifest.steps)
        held = steps_held(place, verify=verify)
        steps += len(those) * (held or 0.0)
        if held is None and stands_there(path / CHECKPOINTS / file.name):
            unusable.append(f"{CHECKPOINTS}/{file.name}")
    if manifest.taken_over and not earlier:
        unusable.append(EARLIER)
    part = (trials + steps / manifest.steps) / len(trials_of(manifest))
    return ResumePreview(trials, kept, part, tuple(unusable), verify)


def is_kept(path: Path, manifest: Manifest, *, verify: bool) -> bool:
    """Tell whether the result that trials are added to is there, under either name; with ``verify``, whether it is whole."""
    if manifest.earlier is None:
        return False
    sha256 = manifest.earlier.result_sha256
    places = [path / name for name in (EARLIER, RESULT) if is_regular(path / name)]
    return any(hash_of_file(place) == sha256 for place in places) if verify else bool(places)


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
