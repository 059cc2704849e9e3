"""Add trials to a finished run. Its result is kept as earlier.nc, beside the new shards, until the result of all is there.

The order of writing lets a kill at any moment lose nothing: first the manifest, which says what the earlier run was; then
its result gets the other name; then the new scenario stands in place of the old one. ``set_apart`` does what is left of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tracker.regular_files import is_regular, stands_there
from tracker.runs import atomic_files, ownership
from tracker.runs.file_names import EARLIER, RESULT
from tracker.runs.manifest import SCENARIO, Earlier, shards_of
from tracker.runs.result_reading import read_arrays
from tracker.runs.run_errors import CorruptRun
from tracker.runs.run_identity import hash_of_file
from tracker.runs.stored_shards import Stored

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tracker.engine.simulate import Problem
    from tracker.runs.manifest import Manifest
    from tracker.runs.run_result import Run
    from tracker.scenario import Scenario


def earlier_of(run: Run, manifest: Manifest) -> Earlier:
    """Return what the new manifest says of the finished ``run`` with ``manifest``."""
    seconds = []
    for n, row in enumerate(run.summary["samplers"]):
        diverged = run.arrays["diverged"][:, n]
        steps = float(np.where(diverged < 0, manifest.steps, diverged).sum(dtype=float))
        seconds.append(steps / speed if (speed := row["steps_per_second"]) else 0.0)
    return Earlier(manifest.trials, manifest.text_sha256, manifest.files[RESULT], tuple(seconds))


def set_apart(path: Path, manifest: Manifest, scenario: Scenario) -> None:
    """Give the earlier result its other name, and put the new scenario in place of the old one, unless that is done."""
    earlier = manifest.earlier
    if earlier is None:
        return
    if not stands_there(path / EARLIER) and _has(path / RESULT, earlier.result_sha256):
        atomic_files.rename(path / RESULT, path / EARLIER)
    if _has(path / SCENARIO, earlier.text_sha256) and earlier.text_sha256 != manifest.text_sha256:
        atomic_files.write_file(path / SCENARIO, scenario.toml().encode())


def _has(file: Path, sha256: str) -> bool:
    return is_regular(file) and hash_of_file(file) == sha256


def shards_taken_over(
    path: Path, manifest: Manifest, problem: Problem, notice: Callable[[str], None]
) -> dict[int, Stored]:
    """Return the shards that the earlier result holds; none, after a ``notice``, where it is damaged."""
    earlier = manifest.earlier
    if earlier is None:
        return {}
    try:
        arrays, _ = read_arrays(path, EARLIER, earlier.result_sha256, problem.scenario, np.arange(earlier.trials))
        if len(earlier.seconds) != len(problem.contestants):
            raise CorruptRun(path, f"{EARLIER} has other samplers")  # noqa: TRY301
    except CorruptRun as damaged:
        aside = ownership.put_aside(path, path / EARLIER) if stands_there(path / EARLIER) else "nowhere"
        notice(f"{damaged.reason}: moved to {aside}, its {earlier.trials} trials are computed again")
        return {}
    return {
        index: Stored(
            {name: array[trials.start : trials.stop] for name, array in arrays.items()},
            np.array(earlier.seconds) * len(trials) / earlier.trials,
        )
        for index, trials in enumerate(shards_of(manifest))
        if trials.stop <= earlier.trials
    }
