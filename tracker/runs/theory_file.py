"""What theory says for the page of a run, kept in ``theory.json`` beside it, with check digits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tracker import __version__
from tracker.jsonable import jsonable
from tracker.regular_files import read_regular
from tracker.runs import atomic_files
from tracker.runs.file_names import THEORY
from tracker.runs.manifest import FORMAT
from tracker.runs.sealed_json import open_sealed, seal

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

LARGEST_THEORY = 20_000_000  # bytes
KEY = "theory"


def theory_in(path: Path) -> dict[str, Any] | None:
    """Return what stands in the directory ``path``, if a run wrote it to the last bit; else None."""
    try:
        return open_sealed(read_regular(path / THEORY, LARGEST_THEORY), KEY, indent=2) or None
    except OSError:
        return None


def read_theory(path: Path, run_hash: str) -> dict[str, Any] | None:
    """Return the theory of the run with that hash, solved by this version; None where it is to be solved again."""
    found = theory_in(path)
    own = {"format": FORMAT, "version": __version__, "hash": run_hash}
    return found if found is not None and {key: found.get(key) for key in own} == own else None


def write_theory(path: Path, run_hash: str, theory: Mapping[str, Any]) -> dict[str, Any]:
    """Write ``theory`` into the directory of its run; return it as ``read_theory`` will."""
    table = with_heading(run_hash, theory)
    atomic_files.write_file(path / THEORY, seal(table, KEY, indent=2), lasting=False)
    return table


def with_heading(run_hash: str, theory: Mapping[str, Any]) -> dict[str, Any]:
    """Return ``theory`` as it is written: numbers that JSON knows, and what it belongs to."""
    return {"format": FORMAT, "version": __version__, "hash": run_hash, **jsonable(theory)}
