"""Read the arrays of a result file, after everything about it was checked that can be checked from outside."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tracker.printable import printable
from tracker.runs.array_shapes import reason_impossible, shapes_of
from tracker.runs.file_names import MANIFEST
from tracker.runs.manifest import SCENARIO, trials_of
from tracker.runs.netcdf import largest_result, read_result
from tracker.runs.run_errors import CorruptRun
from tracker.runs.run_identity import hash_of_file

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from tracker.array_types import Integers
    from tracker.runs.manifest import Manifest
    from tracker.runs.netcdf import World
    from tracker.scenario import Scenario

LONGEST_REASON = 300  # characters of what a library says
AGAIN = "tracker run --replace computes it again"


def finished_trials(manifest: Manifest) -> Integers:
    """Return the trials whose results a run holds: all or its share, without those of failed shards."""
    own = np.array(trials_of(manifest))
    for shard in manifest.failed:
        own = own[(own < shard.first) | (own >= shard.stop)]
    return own


def read_arrays(
    path: Path, name: str, sha256: str, scenario: Scenario, trials: Integers
) -> tuple[dict[str, NDArray[Any]], World | None]:
    """Return the arrays of ``trials``, and the world that they were measured in, from the file ``name`` in ``path``.

    ``CorruptRun`` unless the file has the hash ``sha256`` and holds what a run of ``scenario`` leaves.
    """
    expected = shapes_of(scenario, trials.size)
    try:
        if (path / name).lstat().st_size > largest_result(expected):
            raise CorruptRun(path, f"{name} is larger than the results of {SCENARIO} can be")
        # before HDF5 sees it: a damaged file may do anything to that library
        whole = hash_of_file(path / name) == sha256
    except OSError as error:
        raise CorruptRun(path, f"{name}: {error.strerror or error}") from None
    if not whole:
        raise CorruptRun(path, f"{name} was changed since the run (its hash is not the one in {MANIFEST}); {AGAIN}")
    try:
        arrays, world = read_result(path / name, scenario, expected)
    except Exception as error:  # whatever the reader says
        raise CorruptRun(path, f"{name} cannot be read: {printable(str(error), LONGEST_REASON)}") from None
    if (reason := reason_impossible(scenario, arrays, trials)) is not None:
        raise CorruptRun(path, f"{name} holds what no run gives: {reason}")
    return arrays, world
