"""Decide which parts of an interrupted run can be trusted. The rest is moved aside and computed again."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from tracker.regular_files import read_regular, stands_there
from tracker.runs import atomic_files, ownership
from tracker.runs.added_trials import set_apart, shards_taken_over
from tracker.runs.array_shapes import shapes_of, snapshot_shapes, with_trials
from tracker.runs.checkpoints import DIGEST_SIZE, checkpoint_place, decode_arrays
from tracker.runs.file_names import (
    CHECKPOINTS,
    CODE,
    JOURNAL,
    SHARDS,
    is_file_of_a_run,
    is_shard_name,
    refuse_disguises,
    shard_index,
    shard_name,
)
from tracker.runs.journal import largest_journal
from tracker.runs.manifest import SCENARIO
from tracker.runs.npz import most_bytes
from tracker.runs.run_identity import data_files, hash_of_file, sha256
from tracker.runs.stored_shards import Stored, read_shard

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

    from tracker.engine.simulate import Problem
    from tracker.runs.array_shapes import Shapes
    from tracker.runs.journal import Entry, Journal
    from tracker.runs.manifest import Manifest
    from tracker.scenario import Scenario


def write_scenario(folder: Path, scenario: Scenario) -> None:
    """Write the scenario with its data files and its code; what stands there with other content is put aside."""
    code = {CODE: scenario.code.content} if scenario.code is not None else {}
    for name, content in {**data_files(scenario), **code, SCENARIO: scenario.toml().encode()}.items():
        if stands_there(folder / name) and hash_of_file(folder / name) != sha256(content):
            ownership.put_aside(folder, folder / name)
        atomic_files.write_file(folder / name, content)


def write_scenario_again(folder: Path, manifest: Manifest, scenario: Scenario) -> bool:
    """Write the scenario if it is not there, or not as the manifest says; tell whether that was so."""
    hashes = {SCENARIO: manifest.text_sha256, **({CODE: manifest.code} if manifest.code else {})}
    whole = all(stands_there(folder / name) and hash_of_file(folder / name) == one for name, one in hashes.items())
    if not whole:
        write_scenario(folder, scenario)
    return not whole


@dataclass(frozen=True)
class Resumption:
    """The directory ``path`` of the run with ``manifest``; ``notice`` is told, in a line, what was put aside."""

    path: Path
    notice: Callable[[str], None]
    problem: Problem
    manifest: Manifest
    shards: Sequence[range]

    def take_over(self) -> dict[int, Stored]:
        """Return the shards that can be trusted, by index; put aside what cannot."""
        refuse_disguises(self.path)
        for folder, known in ((".", is_file_of_a_run), (SHARDS, is_shard_name), (CHECKPOINTS, is_shard_name)):
            atomic_files.make_folder(self.path / folder)
            atomic_files.remove_temporaries(self.path / folder, known)
        set_apart(self.path, self.manifest, self.problem.scenario)
        journal = ownership.journal_in(self.path, self.manifest)
        begun = bool(journal.entries) or stands_there(
            self.path / SCENARIO
        )  # otherwise it was killed before it was written
        if write_scenario_again(self.path, self.manifest, self.problem.scenario) and begun:
            self.notice(f"{SCENARIO} was damaged: written again")
        if journal.damaged:
            self.notice(f"{JOURNAL}: {journal.damaged} damaged lines; their shards are computed again")
        if beyond := sum(index >= len(self.shards) for index in journal.entries):
            self.notice(f"{JOURNAL}: {beyond} lines are of no shard of this run")
        if journal.torn:
            self.notice(f"{JOURNAL}: its last line was cut off; that shard is computed again")
        trusted = {
            index: shard
            for index, entry in sorted(journal.entries.items())
            if index < len(self.shards) and (shard := self._shard(entry, self.shards[index])) is not None
        }
        self._write_journal(journal, trusted)
        for file in sorted((self.path / SHARDS).iterdir()):
            index = shard_index(file.name)
            if index is not None and index not in trusted:
                if ownership.is_shard(file):  # written, but killed before the journal said so
                    atomic_files.remove(file)
                else:
                    self._aside(file)
        self._check_snapshots()
        earlier = shards_taken_over(self.path, self.manifest, self.problem, self.notice)
        return {**earlier, **trusted}

    def _write_journal(self, journal: Journal, trusted: Iterable[int]) -> None:
        """Leave in the journal what can be trusted; lines are added to it, so it must be a file that nobody else has."""
        path = self.path / JOURNAL
        lines = b"".join(journal.entries[index].encode(self.manifest.identity) for index in trusted)
        if not stands_there(path):
            return
        if not journal.entries and journal.damaged:
            self._aside(path)
        elif path.stat().st_nlink > 1 or read_regular(path, largest_journal(self.manifest)) != lines:
            atomic_files.write_file(path, lines)

    def _shard(self, entry: Entry, trials: range) -> Stored | None:
        path = self.path / SHARDS / shard_name(entry.shard)
        if not entry.is_of(trials, path.name) or len(entry.seconds) != len(self.problem.contestants):
            self.notice(f"{JOURNAL}: the line of shard {entry.shard} is not of this run; computed again")
            return None
        expected = with_trials(self._shapes, len(trials))
        try:
            arrays = read_shard(self.path, entry, self.problem.scenario, expected, trials)
        except FileNotFoundError as error:
            self.notice(f"{SHARDS}/{path.name}: {error.strerror or error}; computed again")
            return None
        except (OSError, ValueError):
            self.notice(f"{SHARDS}/{path.name} is damaged: moved to {self._aside(path)}, computed again")
            return None
        return Stored(arrays, np.array(entry.seconds))

    def _check_snapshots(self) -> None:
        """Put aside the snapshots that no shard could go on from."""
        for file in sorted((self.path / CHECKPOINTS).iterdir()):
            index = shard_index(file.name)
            if index is None:
                continue
            expected = snapshot_shapes(self.problem, len(self.shards[index]) if index < len(self.shards) else 0)
            identity = checkpoint_place(file.parent, self.manifest.identity, index).identity
            try:
                data = read_regular(file, DIGEST_SIZE + most_bytes(expected))
                sound = decode_arrays(data, identity, expected, self.manifest.steps) is not None
            except OSError:
                sound = False
            if not sound:
                name = f"{CHECKPOINTS}/{file.name}"
                self.notice(f"{name} is damaged: moved to {self._aside(file)}, computed again")

    @cached_property
    def _shapes(self) -> Shapes:
        return shapes_of(self.problem.scenario, 0)

    def _aside(self, path: Path) -> str:
        return ownership.put_aside(self.path, path)
