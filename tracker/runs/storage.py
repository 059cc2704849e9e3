"""A run directory while it is written: shards with a journal, one result, and what of it a resumed run may trust.

A shard counts once its line, with the hash of its file, is in the journal. The manifest says ``complete`` last.
"""

from __future__ import annotations

import hashlib
import io
import json
import time
from dataclasses import replace as changed
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tracker.plain import jsonable
from tracker.runs import files
from tracker.runs.checkpoints import place_of
from tracker.runs.errors import CorruptRun, RunExists, RunLocked
from tracker.runs.identity import data_files, sha256
from tracker.runs.locking import LOCK, living_holder, locked
from tracker.runs.netcdf import write_result
from tracker.runs.records import SCENARIO, Entry, Manifest, read_journal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from tracker.runs.checkpoints import Place
    from tracker.runs.errors import FailedShard
    from tracker.scenario import Scenario

    Arrays = Mapping[str, NDArray[Any]]

SHARDS, CHECKPOINTS, DAMAGED = "shards", "checkpoints", "damaged"
JOURNAL, MANIFEST, PROGRESS = "journal.jsonl", "manifest.json", "progress.json"
RESULT, SUMMARY = "result.nc", "summary.json"
SWEEP_MANIFEST = "sweep.json"  # in place of a manifest, where a directory holds many runs
WHILE_RUNNING = (PROGRESS, CHECKPOINTS, JOURNAL, SHARDS)


class Stored(NamedTuple):
    """A shard that a resumed run takes over."""

    arrays: dict[str, NDArray[Any]]
    seconds: NDArray[np.float64]


class RunDirectory:
    """The folder of one run. ``notice`` is told, in a line, what had to be put aside; ``data`` names the data files."""

    def __init__(self, path: Path, notice: Callable[[str], None], data: Iterable[str] = ()) -> None:
        self.path = path.resolve()
        self._notice = notice
        self._beginnings = {LOCK, SHARDS, CHECKPOINTS, SCENARIO, *data}  # what may stand there before the manifest

    def refuse_if_taken(self, *, replace: bool, resume: bool) -> None:
        """Raise where the folder is in use, or holds what was not asked to be replaced or resumed."""
        if (holder := living_holder(self.path)) is not None:
            raise RunLocked(self.path, str(holder))
        if not self._is_taken():
            return
        is_run = self.path.is_dir() and (self.path / MANIFEST).is_file()
        if resume and not is_run:
            raise CorruptRun(self.path, f"no run to resume: there is something, but no {MANIFEST}")
        if not resume and not (replace and is_run):  # only what a run wrote is ever removed
            raise RunExists(self.path, is_run=is_run)

    def _is_taken(self) -> bool:
        if not self.path.exists():
            return False
        if not self.path.is_dir():
            return True
        names = {path.name for path in self.path.iterdir() if not path.name.endswith(files.TEMPORARY)}
        # a run that was killed before its manifest was written holds nothing, and is known by its lock or empty shards
        ours = LOCK in names or (SHARDS in names and not any((self.path / SHARDS).iterdir()))
        return bool(names) and not (ours and names <= self._beginnings)

    def manifest(self) -> Manifest | None:
        """Return the manifest of the run that is here; None where none has begun."""
        return read_manifest(self.path) if (self.path / MANIFEST).exists() else None

    def begin(self, scenario: Scenario, manifest: Manifest) -> None:
        """Write what is known before the first step; an old run goes only now, when the new one is sure to start."""
        if self.path.exists():
            for old in sorted(self.path.iterdir()):
                if old.name not in (LOCK, MANIFEST):  # without its manifest, half a folder could not be replaced again
                    files.remove(old)
        for folder in (SHARDS, CHECKPOINTS):
            files.make_folder(self.path / folder)
        self._write_scenario(scenario)
        files.write_file(self.path / MANIFEST, manifest.encode())

    def _write_scenario(self, scenario: Scenario) -> None:
        for name, content in data_files(scenario).items():
            files.write_file(self.path / name, content)
        files.write_file(self.path / SCENARIO, scenario.toml().encode())

    def take_over(self, scenario: Scenario, manifest: Manifest, shards: Sequence[range]) -> dict[int, Stored]:
        """Return the shards that can be trusted, by index; put aside what cannot."""
        for folder in (self.path, self.path / SHARDS, self.path / CHECKPOINTS):
            files.make_folder(folder)
            files.remove_temporaries(folder)
        if not (self.path / SCENARIO).exists() or sha256((self.path / SCENARIO).read_bytes()) != manifest.text_sha256:
            self._notice(f"{SCENARIO} was damaged: written again")
            self._write_scenario(scenario)
        path = self.path / JOURNAL
        journal = read_journal(path.read_bytes() if path.exists() else b"", manifest.identity)
        if journal.damaged:
            self._notice(f"{JOURNAL}: {journal.damaged} damaged lines; their shards are computed again")
        if journal.torn:
            self._notice(f"{JOURNAL}: its last line was cut off; that shard is computed again")
        trusted = {
            index: shard
            for index, entry in sorted(journal.entries.items())
            if index < len(shards) and (shard := self._shard(entry, shards[index])) is not None
        }
        lines = b"".join(journal.entries[index].encode(manifest.identity) for index in trusted)
        if path.exists() and path.read_bytes() != lines:
            files.write_file(path, lines)
        for file in (self.path / SHARDS).iterdir():  # written, but killed before the journal said so
            if file.name not in {shard_name(index) for index in trusted}:
                files.remove(file)
        return trusted

    def _shard(self, entry: Entry, trials: range) -> Stored | None:
        path = self.path / SHARDS / shard_name(entry.shard)
        if not entry.is_of(trials, path.name):
            return None
        try:
            data = path.read_bytes()
        except OSError as error:
            self._notice(f"{SHARDS}/{path.name}: {error.strerror or error}; computed again")
            return None
        if sha256(data) != entry.sha256:
            aside = files.move(path, self.path / DAMAGED)
            self._notice(f"{SHARDS}/{path.name} is damaged: moved to {DAMAGED}/{aside.name}, computed again")
            return None
        with np.load(io.BytesIO(data), allow_pickle=False) as found:
            return Stored({name: found[name] for name in found.files}, np.array(entry.seconds))

    def checkpoint(self, manifest: Manifest, index: int) -> Place:
        """Return where shard ``index`` keeps its snapshots."""
        return place_of(self.path / CHECKPOINTS, manifest.identity, index)

    def add_shard(self, manifest: Manifest, index: int, trials: range, shard: Stored) -> None:
        """Write a shard and then its line in the journal."""
        buffer = io.BytesIO()
        np.savez(buffer, allow_pickle=False, **shard.arrays)
        data = buffer.getvalue()
        name = shard_name(index)
        files.write_file(self.path / SHARDS / name, data)
        seconds = tuple(shard.seconds.tolist())
        entry = Entry(index, trials.start, trials.stop, name, sha256(data), seconds, round(time.time(), 3))
        files.append(self.path / JOURNAL, entry.encode(manifest.identity))
        files.remove(self.path / CHECKPOINTS / name)

    def tell_progress(self, done: float, base: float, total: float, began: float) -> None:
        """Say how far the run is, and where and when this process began to step, for ``tracker status``; not worth an error."""
        line = json.dumps({"done": done, "base": base, "total": total, "began": began, "at": time.time()})
        try:
            files.write_file(self.path / PROGRESS, line.encode(), lasting=False)
        except OSError:
            return

    def finish(
        self, manifest: Manifest, summary: Mapping[str, Any], dataset: Any, failed: Sequence[FailedShard] = ()
    ) -> None:
        """Write the result; the manifest says ``complete`` last, and the shards, now in the result, go.

        With failed shards the run stays open: the others are kept, and a resume tries the failed ones again.
        """
        write_result(self.path / RESULT, dataset, summary["hash"])
        text = (json.dumps(jsonable(summary), indent=2, allow_nan=False) + "\n").encode()
        files.write_file(self.path / SUMMARY, text)
        hashes = {RESULT: hash_of_file(self.path / RESULT), SUMMARY: sha256(text)}
        done = changed(manifest, files=hashes, failed=tuple(failed), complete=not failed)
        files.write_file(self.path / MANIFEST, done.encode())
        if done.complete:
            self.tidy()

    def tidy_if_needed(self) -> None:
        """Remove what a writer left that was killed after its run was complete."""
        if any((self.path / name).exists() for name in (LOCK, *WHILE_RUNNING)):
            with locked(self.path):
                self.tidy()

    def tidy(self) -> None:
        """Remove what only a run under way needs."""
        for name in WHILE_RUNNING:
            files.remove(self.path / name)
        files.remove_temporaries(self.path)


def shard_name(index: int) -> str:
    """Return the name of a shard's file."""
    return f"{index:06d}.npz"


def read_manifest(path: Path) -> Manifest:
    """Return the manifest in the directory ``path``."""
    try:
        manifest = Manifest.decode((path / MANIFEST).read_bytes())
    except OSError as error:
        if (path / SWEEP_MANIFEST).is_file():
            raise CorruptRun(path, "a sweep, not a run; its runs are in points/") from None
        raise CorruptRun(path, f"no run: {MANIFEST}: {error.strerror or error}") from None
    if manifest is None:
        raise CorruptRun(path, f"{MANIFEST} is damaged, or of another version; --replace begins anew")
    return manifest


def hash_of_file(path: Path) -> str:
    """Return the sha256 of a file of any size."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
