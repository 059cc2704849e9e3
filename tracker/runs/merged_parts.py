"""Merge the parts of a run, computed apart from each other, into the run that one machine would have left."""

from __future__ import annotations

from dataclasses import replace as changed
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tracker.engine.arrays import rows_of
from tracker.engine.simulate import prepare
from tracker.runs import atomic_files, ownership
from tracker.runs.added_trials import earlier_of
from tracker.runs.lock_file import hold_lock
from tracker.runs.manifest import MOST_SHARDS_OF_A_RUN, Part
from tracker.runs.run_directory import RunDirectory
from tracker.runs.run_errors import CorruptRun
from tracker.runs.run_identity import differences, resolve_links
from tracker.runs.run_reading import not_finished, open_run_or_part, stored_scenario, stored_tables
from tracker.runs.run_result import Run
from tracker.runs.stored_shards import join
from tracker.runs.summary import summarise

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tracker.runs.manifest import Manifest


class FoundPart(NamedTuple):
    """A finished part of a run: as it was given, its directory, its manifest, and which part it is."""

    given: Path
    path: Path
    manifest: Manifest
    part: Part


def merge(
    out: str | Path,
    parts: Sequence[str | Path],
    *,
    replace: bool = False,
    plugins: Sequence[str] = (),
    code: str | Path | None = None,
    notice: Callable[[str], None] = lambda _: None,
) -> Run:
    """Write the run of all ``parts`` into the directory ``out``; its hash is that of a run computed in one piece.

    Parameters
    ----------
    out : path
        The directory of the whole run.
    parts : paths
        The directories of all parts, in any order: each is what ``run`` with ``part`` left.
    replace : bool
        Whether a run that ``out`` holds already is overwritten.
    plugins : sequence of str
        As for ``open_run``.

    Raises
    ------
    CorruptRun
        If a part is missing, given twice, not finished, damaged, or of another run.
    RunExists, RunLocked
        If ``out`` cannot be used.

    Examples
    --------
    >>> import tempfile, tracker
    >>> scenario = tracker.load("scenarios/example_a.toml", ["trials=3", "steps=8"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     places = [f"{folder}/{n}" for n in (1, 2)]
    ...     for n, place in enumerate(places):
    ...         part = tracker.run(scenario, place, part=(n + 1, 2))
    ...     run = tracker.merge(f"{folder}/all", places)
    >>> run.summary["hash"] == tracker.run(scenario).summary["hash"]
    True
    """
    found = found_parts(parts)
    directory = RunDirectory(Path(out), notice)
    if any(one.path in (directory.path, *directory.path.parents) for one in found):
        raise CorruptRun(
            directory.path, "is one of the parts, or inside of one: the run of all of them needs a directory of its own"
        )
    whole = _manifest_of_whole(found[0].manifest)
    begun = ownership.manifest_in(directory.path)  # by a merge that was killed: nothing but merging gave it its content
    again = begun is not None and not begun.complete and begun.identity == whole.identity
    directory.refuse_if_taken(replace=replace or again, resume=False)
    scenario = stored_scenario(found[0].path, found[0].manifest, plugins, code)
    runs = [open_run_or_part(one.path, scenario) for one in found]
    _refuse_other_worlds(found, runs)
    problem = prepare(scenario, runs[0].problem.modes, runs[0].problem.origin)
    seconds = np.sum(
        [earlier_of(run, one.manifest).seconds for run, one in zip(runs, found, strict=True)], axis=0, dtype=float
    )
    arrays = join(dict(run.arrays) for run in runs)
    summary = summarise(problem, arrays, seconds)
    result = Run(scenario, summary, arrays, problem, directory.path)
    atomic_files.make_folder(directory.path)
    with hold_lock(directory.path):
        if again:
            directory.go_on(scenario)
        else:
            directory.begin(scenario, whole)
        directory.finish(whole, summary, result.labelled, rows_of(problem))
    return result


def found_parts(parts: Sequence[str | Path]) -> list[FoundPart]:
    """Return all parts of one run in their order; ``CorruptRun`` where one is missing, doubled, unfinished or foreign."""
    if not parts:
        raise ValueError("parts: there is none to merge")
    found: dict[int, FoundPart] = {}
    for one in map(_found, map(Path, parts)):
        if found:
            _refuse_foreign(next(iter(found.values())), one)
        if one.part.number in found:
            other = found[one.part.number].given
            raise CorruptRun(one.given, f"part {one.part} is given twice: {other} is the same part")
        found[one.part.number] = one
    of = next(iter(found.values())).part.of
    if missing := [str(Part(n, of)) for n in range(1, of + 1) if n not in found]:
        raise CorruptRun(Path(parts[0]), f"{len(found)} of {of} parts are given; missing: part {', '.join(missing)}")
    return [found[n] for n in sorted(found)]


def _found(given: Path) -> FoundPart:
    path = resolve_links(given)
    manifest = ownership.read_manifest(path)
    if manifest.part is None:
        raise CorruptRun(given, "a whole run, not a part of one")
    if not manifest.complete:
        raise CorruptRun(given, not_finished("run", given, manifest))
    return FoundPart(given, path, manifest, manifest.part)


def _manifest_of_whole(part: Manifest) -> Manifest:
    """Return the manifest with which the whole run begins."""
    size = max(part.shard_size, -(-part.trials // MOST_SHARDS_OF_A_RUN))
    return changed(part, part=None, files={}, complete=False, shard_size=size)


def _refuse_foreign(first: FoundPart, other: FoundPart) -> None:
    """Raise ``CorruptRun`` unless two parts are of the same run, cut in the same way."""
    one, two = (changed(part.manifest, part=None, shard_size=1) for part in (first, other))
    if one.identity == two.identity and one.data == two.data and first.part.of == other.part.of:
        return
    lines = differences(one, two, stored_tables(first.path), stored_tables(other.path))
    if first.part.of != other.part.of:
        lines = [f"part: {first.part} and {other.part}", *lines]
    raise CorruptRun(
        other.given, f"part {other.part} is of another run than {first.given}: {'; '.join(lines) or 'another scenario'}"
    )


def _refuse_other_worlds(found: Sequence[FoundPart], runs: Sequence[Run]) -> None:
    """Raise ``CorruptRun`` where a part was measured against other minimisers: machines may differ in a last digit."""
    first = runs[0].problem
    for one, run in zip(found, runs, strict=True):
        same = np.array_equal(run.problem.origin, first.origin) and all(
            np.array_equal(a.minimisers, b.minimisers) and np.array_equal(a.targets, b.targets)
            for a, b in zip(run.problem.modes, first.modes, strict=True)
        )
        if not same:
            raise CorruptRun(
                one.given,
                f"part {one.part} was measured against other minimisers than {found[0].given}: another machine",
            )
