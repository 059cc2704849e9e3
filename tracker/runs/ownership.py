"""Find the files that a run wrote, proved by their content. Only these are ever removed.

A name proves nothing: anybody may have a ``manifest.json``. A directory belongs to a run if its manifest, or that of its sweep,
has the check digits that only a run writes. A file with one of our names and other content (damaged, or changed by
somebody) is moved to ``damaged/``, never removed. A file with any other name makes the command stop.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from tracker.regular_files import is_own_folder, is_regular, read_regular, stands_there
from tracker.runs import atomic_files
from tracker.runs.checkpoints import checkpoint_place, is_whole
from tracker.runs.file_names import (
    CHECKPOINTS,
    CODE,
    DAMAGED,
    EARLIER,
    FIGURES,
    JOURNAL,
    MANIFEST,
    PAGE,
    PICTURES,
    POINTS,
    PROGRESS,
    RESULT,
    SHARDS,
    SWEEP_MANIFEST,
    THEORY,
    is_file_of_a_run,
    is_shard_name,
    refuse_disguises,
    shard_index,
)
from tracker.runs.journal import MOST_LINES_PER_SHARD, largest_journal, read_journal
from tracker.runs.lock_file import LOCK, holder_of, was_left_by_a_run
from tracker.runs.manifest import (
    LARGEST_MANIFEST,
    SCENARIO,
    Manifest,
    NewerFormat,
    count_of_shards,
)
from tracker.runs.npz import array_names
from tracker.runs.page_seals import SEALS, is_sealed
from tracker.runs.run_errors import CorruptRun, RunExists
from tracker.runs.run_identity import hash_of_file
from tracker.runs.sign_of_life import sign_of_life
from tracker.runs.theory_file import theory_in

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tracker.runs.journal import Journal

LARGEST_DRAWING = 200_000_000  # bytes of a page or a figure


class Found(NamedTuple):
    """Something in a directory: ``ours`` goes with its run, ``doubtful`` is put aside, ``foreign`` is nobody's business."""

    path: Path
    state: str


OURS, DOUBTFUL, FOREIGN = "ours", "doubtful", "foreign"


def manifest_in(path: Path, name: str = MANIFEST) -> Manifest | None:
    """Return the manifest in ``path`` if it proves that a run, or with its name a sweep, wrote it; else None.

    One that a later version wrote is refused by its format: which files here are a run's is that version's to say.
    """
    try:
        return _decoded(path, name)
    except OSError:
        return None


def _decoded(path: Path, name: str) -> Manifest | None:
    try:
        return Manifest.decode(read_regular(path / name, LARGEST_MANIFEST))
    except NewerFormat as error:
        raise CorruptRun(path, f"{name}: {error}") from None


def read_manifest(path: Path, name: str = MANIFEST) -> Manifest:
    """Return the manifest of the run, or with its name of the sweep, in ``path``, in which nothing of ours may be a link."""
    what = "run" if name == MANIFEST else "sweep"
    refuse_disguises(path)
    try:
        manifest = _decoded(path, name)
    except OSError as error:
        if name == MANIFEST and is_regular(path / SWEEP_MANIFEST):
            raise CorruptRun(path, "a sweep, not a run; its runs are in points/") from None
        if not path.is_dir():
            raise CorruptRun(
                path, f"{'a file' if path.exists() else 'there is nothing'}, not the directory of a {what}"
            ) from None
        raise CorruptRun(path, f"no {what}: {name}: {error.strerror or error}") from None
    if manifest is None:
        raise CorruptRun(path, f"{name} is damaged, of another version, or not a {what}'s")
    return manifest


def names_no_run_wrote(path: Path) -> list[str]:
    """Return what stands in ``path``, where no run has a manifest, beside what a run that was killed at once leaves."""
    if not is_own_folder(path):
        return [path.name] if path.exists() or path.is_symlink() else []
    return [
        entry.name
        for entry in sorted(path.iterdir())
        if not atomic_files.is_temporary(entry, is_file_of_a_run)
        and not (entry.name == LOCK and was_left_by_a_run(path))
    ]


def remove_run(path: Path, manifest: Manifest, name: str = MANIFEST) -> None:
    """Remove what the run or sweep with ``manifest`` wrote into ``path``, but not its manifest and its lock.

    The manifest goes last, when another is put in its place: without it half a directory could not be cleared again.
    ``RunExists``, and nothing is touched, where anything stands there that no run wrote.
    """
    found = list(files_found(path, manifest, name))
    refuse_foreign(path, found)
    for one in found:
        if one.state == DOUBTFUL:
            put_aside(path, one.path)
        elif one.path.parent == path and one.path.name in (LOCK, name):
            continue
        elif is_own_folder(one.path):
            atomic_files.remove_if_empty(one.path)
        else:
            atomic_files.remove(one.path)


def put_aside(root: Path, path: Path) -> str:
    """Move what is not as the run in ``root`` wrote it out of the way; return its new name."""
    return f"{DAMAGED}/{atomic_files.move(path, root / DAMAGED).name}"


def refuse_foreign(path: Path, found: list[Found]) -> None:
    """Raise ``RunExists`` with the names of what no run wrote."""
    names = [str(one.path.relative_to(path)) for one in found if one.state == FOREIGN]
    if names:
        raise RunExists(path, is_run=False, found=names)


def files_found(path: Path, manifest: Manifest, name: str = MANIFEST) -> Iterator[Found]:
    """Give all that stands in ``path``, what a folder holds before the folder, and the manifest, which proves it, last."""
    journal = _readable_journal(path, manifest)
    folders = {SHARDS: _in_shards, CHECKPOINTS: _in_checkpoints} if name == MANIFEST else {}
    for entry in sorted(path.iterdir(), key=lambda entry: (entry.name == name, entry.name)):
        if entry.name == DAMAGED and is_own_folder(entry):
            continue  # what was put aside stays
        if entry.name in folders and is_own_folder(entry):
            yield from folders[entry.name](entry, manifest, journal)
            yield Found(entry, OURS)
        elif entry.name == FIGURES and is_own_folder(entry):
            yield from (Found(one, _drawn(one)) for one in sorted(entry.iterdir()))
            yield Found(entry, OURS)
        elif entry.name == POINTS and name == SWEEP_MANIFEST and is_own_folder(entry):
            yield from _in_points(entry)
            yield Found(entry, OURS)
        else:
            yield Found(entry, _file(entry, manifest, journal, name))


def _file(entry: Path, manifest: Manifest, journal: Journal | None, name: str) -> str:
    if atomic_files.is_temporary(entry, is_file_of_a_run):
        return OURS
    if not is_regular(entry) or not is_file_of_a_run(entry.name):
        return FOREIGN
    hashes = _hashes(manifest)
    if entry.name == name:
        proved = True  # it is what speaks here
    elif entry.name == LOCK:
        proved = holder_of(entry.parent) is not None
    elif entry.name in hashes:
        proved = hash_of_file(entry) in hashes[entry.name]
    elif entry.name in (PAGE, *PICTURES):
        return _drawn(entry)
    elif entry.name == THEORY:
        proved = theory_in(entry.parent) is not None
    elif entry.name == JOURNAL:
        proved = journal is not None and (bool(journal.entries) or entry.stat().st_size == 0)
    elif entry.name == PROGRESS:
        proved = sign_of_life(entry.parent) is not None
    elif entry.suffix == ".csv" or entry.name == CODE:
        return FOREIGN  # none of the data files or the code of this run
    else:
        proved = False
    return OURS if proved else DOUBTFUL


def _hashes(manifest: Manifest) -> dict[str, set[str]]:
    """Return, by name, the hashes that files with a hash may have; trials were perhaps being added to an earlier run."""
    hashes = {name: {one} for name, one in (manifest.data | manifest.files).items()}
    hashes[SCENARIO] = {manifest.text_sha256}
    if manifest.code:
        hashes[CODE] = {manifest.code}
    if (earlier := manifest.earlier) is not None:
        hashes[SCENARIO].add(earlier.text_sha256)
        hashes[EARLIER] = {earlier.result_sha256}
        hashes.setdefault(RESULT, set()).add(earlier.result_sha256)
    return hashes


def drawings_in(path: Path) -> list[Path]:
    """Return the page and the figures in ``path`` that were drawn of its run, proved by their seals."""
    folder = path / FIGURES
    entries = [path / PAGE, *(sorted(folder.iterdir()) if is_own_folder(folder) else ())]
    return [entry for entry in entries if stands_there(entry) and _drawn(entry) == OURS]


def _drawn(entry: Path) -> str:
    kind = entry.suffix.removeprefix(".")
    if atomic_files.is_temporary(entry, lambda _: True):
        return OURS
    if not is_regular(entry) or kind not in SEALS:
        return FOREIGN
    try:
        return OURS if is_sealed(read_regular(entry, LARGEST_DRAWING), kind) else DOUBTFUL
    except OSError:
        return DOUBTFUL


def _in_shards(folder: Path, manifest: Manifest, journal: Journal | None) -> Iterator[Found]:
    entries = journal.entries if journal is not None else {}

    def is_ours(file: Path, index: int) -> bool:
        return (index in entries and hash_of_file(file) == entries[index].sha256) or is_shard(file)

    return _numbered(folder, is_ours)


def is_shard(file: Path) -> bool:
    """Tell whether ``file`` holds the arrays of a shard: it was written, but its writer killed before the journal said so."""
    from tracker.engine.arrays import ARRAYS  # here, because who asks how far a run is need not load the engine

    return array_names(file) >= set(ARRAYS)


def _in_checkpoints(folder: Path, manifest: Manifest, journal: Journal | None) -> Iterator[Found]:
    return _numbered(folder, lambda _, index: is_whole(checkpoint_place(folder, manifest.identity, index)))


def _numbered(folder: Path, is_ours: Callable[[Path, int], bool]) -> Iterator[Found]:
    """Give the files of a folder in which each has the name of a shard."""
    for file in sorted(folder.iterdir()):
        index = shard_index(file.name)
        if atomic_files.is_temporary(file, is_shard_name):
            yield Found(file, OURS)
        elif index is None or not is_regular(file):
            yield Found(file, FOREIGN)
        else:
            yield Found(file, OURS if is_ours(file, index) else DOUBTFUL)


def _in_points(folder: Path) -> Iterator[Found]:
    """Give what the points of a sweep hold: each is a run's directory, or that of a run that was killed at once."""
    for point in sorted(folder.iterdir()):
        if not is_own_folder(point) or not point.name[:1].isdigit():
            yield Found(point, FOREIGN)
            continue
        manifest = manifest_in(point)
        if manifest is None:
            yield from _without_manifest(point)
        else:
            yield from files_found(point, manifest)
            if is_own_folder(point / DAMAGED):
                yield Found(point / DAMAGED, DOUBTFUL)
        yield Found(point, OURS)


def _without_manifest(point: Path) -> Iterator[Found]:
    """A point that lost its manifest is put aside as it is: nothing proves whose it was."""
    if names_no_run_wrote(point):
        yield Found(point, DOUBTFUL)
    else:
        yield from (Found(entry, OURS) for entry in sorted(point.iterdir()))


def journal_in(path: Path, manifest: Manifest) -> Journal:
    """Return what the journal of the run in ``path`` tells, nothing where there is none; ``CorruptRun`` where it cannot be read."""
    try:
        data = read_regular(path / JOURNAL, largest_journal(manifest)) if stands_there(path / JOURNAL) else b""
        return read_journal(data, manifest.identity, MOST_LINES_PER_SHARD * (count_of_shards(manifest) + 1))
    except (OSError, ValueError) as error:
        raise CorruptRun(path, f"{JOURNAL}: {getattr(error, 'strerror', None) or error}") from None


def _readable_journal(path: Path, manifest: Manifest) -> Journal | None:
    try:
        return journal_in(path, manifest)
    except CorruptRun:
        return None
