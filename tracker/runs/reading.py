"""A finished run directory read back: the same arrays, bit for bit, or a reason why not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tracker.runs.result import DIMENSIONS, RENAMED, Run
from tracker.runs.storage import MANIFEST, RESULT, SCENARIO, SUMMARY, array_hash
from tracker.scenario import ScenarioError, parse
from tracker.simulate import prepare

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tracker.scenario import Scenario


class CorruptRun(Exception):
    """A run directory that is damaged, not finished, or no run at all."""

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(f"{path}: {reason}")
        self.path, self.reason = path, reason


def open_run(path: str | Path, scenario: Scenario | None = None) -> Run:
    """Return the finished run in the directory ``path``.

    Parameters
    ----------
    scenario : Scenario, optional
        Needed for a run with costs of one's own, which no file can describe.

    Raises
    ------
    CorruptRun
        If anything in it is missing, damaged or not finished.
    """
    path = Path(path).resolve()
    manifest = _json(path, MANIFEST)
    if not manifest.get("complete"):
        raise CorruptRun(path, "the run is not finished; tracker run --resume finishes it")
    summary = _json(path, SUMMARY)
    scenario = scenario or _scenario(path, str(manifest.get("scenario_sha256")))
    arrays = _arrays(path)
    if array_hash(arrays) != summary.get("hash"):
        raise CorruptRun(path, f"{RESULT} does not hold the arrays whose hash is in {SUMMARY}: one of them was changed")
    return Run(scenario, summary, arrays, prepare(scenario), path)


def _json(path: Path, name: str) -> dict[str, Any]:
    try:
        found = json.loads((path / name).read_bytes())
    except OSError as error:
        raise CorruptRun(path, f"no finished run: {name}: {error.strerror or error}") from None
    except ValueError as error:
        raise CorruptRun(path, f"{name} is damaged: {error}") from None
    if not isinstance(found, dict):
        raise CorruptRun(path, f"{name} is damaged: not a table")
    return found


def _scenario(path: Path, sha256: str) -> Scenario:
    """Return the scenario as it was run: from a file unchanged, or changed before the run and written for it."""
    try:
        scenario = parse((path / SCENARIO).read_bytes().decode(), SCENARIO, folder=path)
    except OSError as error:
        raise CorruptRun(path, f"{SCENARIO}: {error.strerror or error}") from None
    except (ScenarioError, UnicodeDecodeError) as error:
        raise CorruptRun(path, f"{SCENARIO} cannot be read ({error}); costs of one's own: pass the scenario") from None
    return scenario if scenario.sha256 == sha256 else scenario.replace()


def _arrays(path: Path) -> dict[str, NDArray[Any]]:
    """Undo what ``Run.dataset`` does to the arrays: other names, other order of axes."""
    import xarray

    try:
        # not decoded: a nan with other bits would come back as another nan
        with xarray.open_dataset(path / RESULT, engine="h5netcdf", decode_cf=False) as found:
            arrays = {
                name: np.ascontiguousarray(found[RENAMED.get(name, name)].transpose(*axes).values)
                for name, axes in DIMENSIONS.items()
            }
            return {"trial": np.ascontiguousarray(found["trial"].values), **arrays}
    except Exception as error:  # whatever a damaged file makes of the reader
        raise CorruptRun(path, f"{RESULT} is damaged or missing: {error}") from None
