"""A run directory while it is written: shards with a journal, then one result.

A shard counts as finished once the journal has a line with the hash of its file. The manifest is written first, so that
everything after it is known to belong to the run; its last state is ``complete``.
"""

from __future__ import annotations

import json
import time
from dataclasses import replace as changed
from typing import TYPE_CHECKING, Any

from tracker.jsonable import jsonable
from tracker.regular_files import read_regular, stands_there
from tracker.runs import atomic_files, ownership
from tracker.runs.added_trials import set_apart
from tracker.runs.checkpoints import checkpoint_place
from tracker.runs.file_names import (
    CHECKPOINTS,
    EARLIER,
    FIGURES,
    JOURNAL,
    MANIFEST,
    PROGRESS,
    RESULT,
    SHARDS,
    SUMMARY,
    is_file_of_a_run,
    shard_index,
    shard_name,
)
from tracker.runs.journal import Entry
from tracker.runs.lock_file import LOCK, hold_lock, living_holder
from tracker.runs.manifest import Manifest
from tracker.runs.netcdf import stored_hash, write_result
from tracker.runs.npz import pack_arrays
from tracker.runs.resuming import Resumption, write_scenario
from tracker.runs.run_errors import CorruptRun, RunExists, RunLocked
from tracker.runs.run_identity import hash_of_file, resolve_links, sha256
from tracker.runs.stored_shards import Stored

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from tracker.engine.arrays import RecordedArray
    from tracker.engine.simulate import Problem
    from tracker.runs.checkpoints import Place
    from tracker.runs.labelled_arrays import LabelledArrays
    from tracker.runs.run_errors import FailedShard
    from tracker.scenario import Scenario

LARGEST_SUMMARY = 100_000_000  # bytes: a covariance for each sampler and mode
WHILE_RUNNING = (PROGRESS, EARLIER, CHECKPOINTS, JOURNAL, SHARDS)


class RunDirectory:
    """The folder of one run. ``notice`` is told, in a line, what had to be put aside."""

    def __init__(self, path: Path, notice: Callable[[str], None]) -> None:
        self.path = resolve_links(path)
        self._notice = notice

    def refuse_if_taken(self, *, replace: bool, resume: bool) -> None:
        """Raise where the folder is in use, or holds what was not asked to be replaced or resumed, or what no run wrote."""
        if (holder := living_holder(self.path)) is not None:
            raise RunLocked(self.path, str(holder))
        old = ownership.manifest_in(self.path)
        if old is None:
            self._refuse_strangers(resume=resume)
        elif not resume:
            ownership.refuse_foreign(self.path, list(ownership.files_found(self.path, old)))
            if not replace:
                raise RunExists(self.path, is_run=True)

    def _refuse_strangers(self, *, resume: bool) -> None:
        found = ownership.names_no_run_wrote(self.path)
        if found and resume:
            there = (
                f"{MANIFEST} is damaged, or not a run's"
                if MANIFEST in found
                else f"there is something, but no {MANIFEST}"
            )
            raise CorruptRun(self.path, f"no run to resume: {there}")
        if found:
            raise RunExists(self.path, is_run=False, found=found)

    def manifest(self) -> Manifest | None:
        """Return the manifest of the run that is here; None where none has begun."""
        return ownership.read_manifest(self.path) if stands_there(self.path / MANIFEST) else None

    def begin(self, scenario: Scenario, manifest: Manifest) -> None:
        """Write what is known before the first step; an old run goes only now, when the new one is sure to start."""
        old = ownership.manifest_in(self.path)
        if old is not None:
            ownership.remove_run(self.path, old)
        elif found := [
            name for name in ownership.names_no_run_wrote(self.path) if name != LOCK
        ]:  # the lock is ours now
            raise RunExists(self.path, is_run=False, found=found)
        atomic_files.remove_temporaries(self.path, is_file_of_a_run)
        atomic_files.write_file(self.path / MANIFEST, manifest.encode())
        self.go_on(scenario)

    def go_on(self, scenario: Scenario) -> None:
        """Write what stands beside the manifest before the first step, again where a begin was killed."""
        for folder in (SHARDS, CHECKPOINTS):
            atomic_files.make_folder(self.path / folder)
        write_scenario(self.path, scenario)

    def grow(self, scenario: Scenario, manifest: Manifest, old: Manifest) -> None:
        """Make the finished run with the manifest ``old`` one of more trials that is under way; its drawings are out of date."""
        unfinished = changed(manifest, files={SUMMARY: old.files[SUMMARY]})  # proves that summary.json is ours
        atomic_files.write_file(self.path / MANIFEST, unfinished.encode())
        set_apart(self.path, manifest, scenario)
        for drawing in ownership.drawings_in(self.path):
            atomic_files.remove(drawing)
        atomic_files.remove_if_empty(self.path / FIGURES)
        for folder in (SHARDS, CHECKPOINTS):
            atomic_files.make_folder(self.path / folder)

    def take_over(self, problem: Problem, manifest: Manifest, shards: Sequence[range]) -> dict[int, Stored]:
        """Return the shards that can be trusted, by index; put aside what cannot."""
        return Resumption(self.path, self._notice, problem, manifest, shards).take_over()

    def checkpoint(self, manifest: Manifest, index: int) -> Place:
        """Return where shard ``index`` keeps its snapshots."""
        return checkpoint_place(self.path / CHECKPOINTS, manifest.identity, index, manifest.steps)

    def add_shard(self, manifest: Manifest, index: int, trials: range, shard: Stored) -> None:
        """Write a shard and then its line in the journal."""
        data = pack_arrays(shard.arrays)
        name = shard_name(index)
        atomic_files.write_file(self.path / SHARDS / name, data)
        seconds = tuple(shard.seconds.tolist())
        entry = Entry(index, trials.start, trials.stop, name, sha256(data), seconds, round(time.time(), 3))
        atomic_files.append(self.path / JOURNAL, entry.encode(manifest.identity))
        atomic_files.remove(self.path / CHECKPOINTS / name)

    def tell_progress(self, done: float, base: float, total: float, began: float) -> None:
        """Say how far the run is, and where and when this process began to step, for ``tracker status``; not worth an error."""
        line = json.dumps({"done": done, "base": base, "total": total, "began": began, "at": time.time()})
        try:
            atomic_files.write_file(self.path / PROGRESS, line.encode(), lasting=False)
        except OSError:
            return

    def finish(
        self,
        manifest: Manifest,
        summary: Mapping[str, Any],
        content: LabelledArrays,
        rows: Sequence[RecordedArray],
        failed: Sequence[FailedShard] = (),
    ) -> None:
        """Write the result; the manifest says ``complete`` last, and the shards, now in the result, go.

        With failed shards the run stays open: the others are kept, and a resume tries the failed ones again.
        """
        before = ownership.manifest_in(self.path) or manifest  # it may have written results without the failed shards
        for name in (RESULT, SUMMARY):
            if stands_there(self.path / name) and not self._is_of_this_run(name, before, rows, summary["hash"]):
                self._notice(
                    f"{name} was not written by this run: moved to {ownership.put_aside(self.path, self.path / name)}"
                )
        write_result(self.path / RESULT, content, rows, summary["hash"])
        text = (json.dumps(jsonable(summary), indent=2, allow_nan=False) + "\n").encode()
        atomic_files.write_file(self.path / SUMMARY, text)
        hashes = {RESULT: hash_of_file(self.path / RESULT), SUMMARY: sha256(text)}
        done = changed(manifest, files=hashes, failed=tuple(failed), complete=not failed)
        atomic_files.write_file(self.path / MANIFEST, done.encode())
        if done.complete:
            self._tidy(self._parts())

    def _is_of_this_run(self, name: str, manifest: Manifest, rows: Sequence[RecordedArray], arrays_hash: str) -> bool:
        """Tell whether a result that is there already was written by this run, perhaps just before it was killed."""
        path = self.path / name
        if hash_of_file(path) == manifest.files.get(name):
            return True
        try:
            if name == RESULT:
                return stored_hash(path, rows) == arrays_hash
            return bool(json.loads(read_regular(path, LARGEST_SUMMARY))["hash"] == arrays_hash)
        except Exception:  # whatever a reader makes of a file that is none of ours
            return False

    def tidy_if_needed(self, manifest: Manifest) -> None:
        """Remove what a writer left that was killed after its run was complete, as far as it proves to be this run's."""
        if not any(stands_there(self.path / name) for name in (LOCK, *WHILE_RUNNING)):
            return
        with hold_lock(self.path):
            parts = [self.path / name for name in WHILE_RUNNING]
            found = list(ownership.files_found(self.path, manifest))
            self._tidy(
                one.path
                for one in found
                if one.state == ownership.OURS and (one.path in parts or one.path.parent in parts)
            )

    def _parts(self) -> Iterator[Path]:
        """Give what only a run under way needs: all shards and snapshots of this name were written or checked by it."""
        yield from (self.path / PROGRESS, self.path / EARLIER)
        for folder in (self.path / CHECKPOINTS, self.path / SHARDS):
            yield from (file for file in sorted(folder.iterdir()) if shard_index(file.name) is not None)
            yield folder
        yield self.path / JOURNAL

    def _tidy(self, parts: Iterable[Path]) -> None:
        for path in parts:
            if path.name in (SHARDS, CHECKPOINTS):
                atomic_files.remove_if_empty(path)
            else:
                atomic_files.remove(path)
        atomic_files.remove_temporaries(self.path, is_file_of_a_run)
