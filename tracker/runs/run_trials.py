"""Carry out a run: compute shards of trials, keep each as it is finished, and join them in the order of trials."""

from __future__ import annotations

import warnings
from concurrent.futures import Executor
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from tracker.engine.arrays import rows_of
from tracker.engine.compiling import cores
from tracker.engine.simulate import compile_kernels, most_trials, prepare
from tracker.formatting import counted
from tracker.runs import atomic_files
from tracker.runs.added_trials import earlier_of, shards_taken_over
from tracker.runs.compute_shards import Execution, compute
from tracker.runs.dask_cluster import refuse_if_silent
from tracker.runs.forecast import LARGEST_SHARD, MOST_SHARDS
from tracker.runs.kept_engine import KeptEngine
from tracker.runs.lock_file import hold_lock
from tracker.runs.manifest import Part, shards_of
from tracker.runs.progress_bars import progress_of
from tracker.runs.run_directory import RunDirectory
from tracker.runs.run_errors import FewerTrials, NothingComputed, RunExists
from tracker.runs.run_identity import manifest_in_memory, manifest_of, resumed_manifest
from tracker.runs.run_reading import open_run, open_run_or_part, scenario_to_resume
from tracker.runs.run_result import Run
from tracker.runs.stored_shards import Stored, join
from tracker.runs.summary import summarise
from tracker.runs.trials_abreast import filled
from tracker.scenario import ScenarioWarning, as_scenario
from tracker.scenario import warnings as doubts
from tracker.scenario.own_checks import check_at_minimisers, check_at_start
from tracker.scenario.own_kinds import with_expected_draws

if TYPE_CHECKING:
    from collections.abc import Callable

    from tracker.engine.simulate import Problem
    from tracker.runs.compute_shards import Progress
    from tracker.runs.manifest import Manifest
    from tracker.runs.netcdf import World
    from tracker.scenario import Scenario


def run(
    scenario: Scenario,
    out: str | Path | None = None,
    executor: Executor | int | None = None,
    *,
    replace: bool = False,
    resume: bool = False,
    add_trials: bool = False,
    part: tuple[int, int] | None = None,
    engine: str = "threads",
    progress: Progress | bool | None = None,
    notice: Callable[[str], None] | None = None,
    shard_size: int | None = None,
    checks: bool = True,
    expected_draws: int | None = None,
) -> Run:
    """Carry out ``scenario``.

    Parameters
    ----------
    out : path, optional
        The run directory; without it everything stays in memory.
    executor : int or concurrent.futures.Executor, optional
        A number of workers (default: one for each core), or any executor.
    replace, resume : bool
        Whether a run that ``out`` holds already is overwritten, or continued. Where there is none, it begins.
    add_trials : bool
        Whether a finished run in ``out`` of the same scenario with fewer trials is taken over, and only the missing trials
        are computed. The result is that of a run with all trials from the start.
    part : (int, int), optional
        ``(3, 10)`` computes the third of ten shares of the trials, perhaps on another machine; ``tracker.merge`` makes the
        run of all parts.
    engine : str
        ``"threads"``, ``"processes"``, ``"dask"`` or ``"dask:ADDRESS"``, where ``executor`` is a number.
    progress : bool or callable, optional
        True shows a bar in a terminal or a notebook; a function is called as ``progress(done, total, note)`` from this thread.
    notice : callable, optional
        Told, in a line, what went wrong on the way and was put right or left out; otherwise a warning says so, and
        ``tracker.ScenarioWarning`` warns of what the command warns of: a step that is not stable, a chain that never returns.
    shard_size : int, optional
        Trials per shard. The result does not depend on it; a resumed run keeps the one it began with.
    checks : bool
        Whether derivatives and expectations of one's own costs are checked before the first step (docs/own-code).
    expected_draws : int, optional
        So many stored draws of its observations define the expected cost of each own cost that has observations.

    Raises
    ------
    RunExists, RunLocked, RunDiffers, CorruptRun
        If ``out`` cannot be used.
    FewerTrials
        If trials are to be added, and the run has more of them already.
    NoScheduler
        If nothing answers at the address of a Dask cluster.
    NothingComputed
        If every shard failed. Shards that fail three times are otherwise left out: ``summary["failed"]`` names them.

    Examples
    --------
    >>> import tracker
    >>> run = tracker.run(tracker.load("scenarios/example_a.toml", ["trials=2", "steps=8"]))
    >>> [row["name"] for row in run.summary["samplers"]], run.dataset.sizes["trial"]
    (['skewed', 'frozen', 'oracle', 'filter'], 2)
    """
    if as_scenario(scenario).sweep:
        raise ValueError("a scenario with [sweep] stands for many runs: run its points one by one")
    if (resume or add_trials) and (replace or out is None):
        asked = "resume" if resume else "add_trials"
        raise ValueError(f"{asked} needs a run directory (out), and excludes replace")
    share = _part_of(scenario, part, add_trials=add_trials)
    scenario = with_expected_draws(scenario, expected_draws)
    if notice is None:
        for line in doubts(scenario):
            warnings.warn(line, ScenarioWarning, stacklevel=2)
    with progress_of(progress) as shown:
        how = Execution(executor, engine, shown, notice or warn, checks)
        where = None if out is None else Path(out)
        return _run(scenario, where, how, share, shard_size, replace=replace, resume=resume, add_trials=add_trials)


def _run(
    scenario: Scenario,
    out: Path | None,
    how: Execution,
    share: Part | None,
    shard_size: int | None,
    *,
    replace: bool,
    resume: bool,
    add_trials: bool,
) -> Run:
    if out is None:
        problem = _ready(scenario, how)
        return _carry_out(
            problem, manifest_in_memory(scenario, _size(problem, shard_size, share), share), None, {}, how
        )
    directory = RunDirectory(out, how.notice)
    directory.refuse_if_taken(replace=replace, resume=resume or add_trials)
    old = directory.manifest() if resume or add_trials else None
    if old is not None and add_trials and old.complete:
        return _with_more_trials(scenario, directory, old, how, shard_size)
    if old is not None and not resume:  # not finished
        raise RunExists(directory.path, is_run=True)
    if old is not None:
        scenario = scenario_to_resume(directory.path, old, scenario, share)
        if old.complete:
            directory.tidy_if_needed(old)
            return open_run_or_part(directory.path, scenario)
    problem = _ready(scenario, how)
    manifest = (
        resumed_manifest(scenario, old, share)
        if old is not None
        else manifest_of(scenario, _size(problem, shard_size, share), share)
    )
    shards = shards_of(manifest)  # before anything is written: it may refuse
    atomic_files.make_folder(directory.path)
    with hold_lock(directory.path):
        _refuse_if_changed(directory, old, replace=replace)
        kept: dict[int, Stored] = {}
        if old is None:
            directory.begin(scenario, manifest)
        else:
            kept = directory.take_over(problem, manifest, shards)
        return _carry_out(problem, manifest, directory, kept, how)


def _part_of(scenario: Scenario, part: tuple[int, int] | None, *, add_trials: bool) -> Part | None:
    if part is None:
        return None
    if add_trials:
        raise ValueError("add_trials: trials are added to a whole run, not to a part")
    share = Part(*part)
    if not 1 <= share.number <= share.of:
        raise ValueError(f"part: {share} must be one of 1/{share.of}, ..., {share.of}/{share.of}")
    if share.of > scenario.trials:
        raise ValueError(f"part: {scenario.trials} trials cannot be cut into {share.of} parts")
    return share


def _refuse_if_changed(directory: RunDirectory, old: Manifest | None, *, replace: bool = False) -> None:
    """Raise ``RunExists`` where something came into the directory, or changed there, while we prepared."""
    if (directory.manifest() if not replace else None) != old:
        raise RunExists(directory.path, is_run=True)


def _with_more_trials(
    scenario: Scenario, directory: RunDirectory, old: Manifest, how: Execution, shard_size: int | None
) -> Run:
    """Return the finished run in ``directory`` with as many trials as ``scenario`` has: those that it lacks are computed."""
    same = scenario_to_resume(directory.path, old, scenario.replace(trials=old.trials))
    if scenario.trials < old.trials:
        raise FewerTrials(directory.path, old.trials, scenario.trials)
    directory.tidy_if_needed(old)
    before = open_run(directory.path, same)
    if scenario.trials == old.trials:
        return before
    problem = _ready(scenario, how, (before.problem.modes, before.problem.origin))
    manifest = manifest_of(scenario, _size(problem, shard_size), earlier=earlier_of(before, old))
    shards_of(manifest)
    with hold_lock(directory.path):
        _refuse_if_changed(directory, old)
        directory.grow(scenario, manifest, old)
        kept = shards_taken_over(directory.path, manifest, problem, how.notice)
        return _carry_out(problem, manifest, directory, kept, how)


def warn(line: str) -> None:
    """Tell what was put right on the way, where nobody asked to be told."""
    warnings.warn(line, RuntimeWarning, stacklevel=2)


def _ready(scenario: Scenario, how: Execution, world: World | None = None) -> Problem:
    """Prepare and compile; ``world`` brings the modes and the origin of a run that is gone on with."""
    if not isinstance(how.executor, (Executor, KeptEngine)):
        refuse_if_silent(how.engine, scenario.packages)  # before anything is prepared or written
    if how.checks:
        check_at_start(scenario)
    how.progress(0.0, 1.0, f"finding the minimisers of {counted(len(scenario.modes), 'mode')}")
    problem = prepare(scenario, *(world or ()))
    if how.checks:
        check_at_minimisers(scenario, problem.modes)
    processes = how.executor if isinstance(how.executor, int) else cores()
    compile_kernels(problem, lambda note: how.progress(0.0, 1.0, note), processes)
    return problem


def _size(problem: Problem, asked: int | None, part: Part | None = None) -> int:
    trials = len(part.share(problem.scenario.trials)) if part is not None else problem.scenario.trials
    return asked or filled(problem, min(LARGEST_SHARD, most_trials(problem), max(1, -(-trials // MOST_SHARDS))))


def _carry_out(
    problem: Problem, manifest: Manifest, directory: RunDirectory | None, kept: dict[int, Stored], how: Execution
) -> Run:
    """Compute the shards that are not ``kept``, and make the result of all."""
    failed = compute(problem, manifest, directory, kept, how)
    if not kept:
        raise NothingComputed(failed)
    seconds = np.sum([shard.seconds for shard in kept.values()], axis=0)
    arrays = join(kept.pop(index).arrays for index in sorted(kept))
    summary = summarise(problem, arrays, seconds, manifest.part)
    if failed:
        summary["failed"] = [shard._asdict() for shard in failed]
    result = Run(problem.scenario, summary, arrays, problem, directory.path if directory is not None else None)
    if directory is not None:
        directory.finish(manifest, summary, result.labelled, rows_of(problem), failed)
    return result
