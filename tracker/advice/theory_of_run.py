"""Theory's share of the page of a run: solved once, kept beside the run, and only read while the page is drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tracker.advice.theory_form import is_theory
from tracker.regular_files import stands_there
from tracker.runs.file_names import THEORY
from tracker.runs.ownership import put_aside
from tracker.runs.theory_file import read_theory, theory_in, with_heading, write_theory

if TYPE_CHECKING:
    from collections.abc import Callable

    from tracker.runs import Run


def _say_nothing(text: str) -> None:
    return


def theory_of(run: Run, notice: Callable[[str], None] = _say_nothing) -> dict[str, Any]:
    """Return the theory of a run: as it was kept, else solved and kept. ``notice`` is told, in a line, what takes time.

    A run in memory, or in a directory that cannot be written to, has it solved each time.
    """
    path, run_hash = run.path, run.summary["hash"]
    kept = read_theory(path, run_hash) if path is not None else None
    if kept is not None and is_theory(kept, [keys.name for keys in run.scenario.samplers]):
        return kept
    from tracker.advice.solved_theory import solve  # here: a page whose theory is kept needs none of scipy's solvers

    notice("solving what theory says of this scenario")
    solved = solve(run)
    if path is None:
        return with_heading(run_hash, solved)
    try:
        if stands_there(path / THEORY) and theory_in(path) is None:
            notice(f"{THEORY} is not as a run wrote it: moved to {put_aside(path, path / THEORY)}")
        return write_theory(path, run_hash, solved)
    except OSError as error:
        notice(f"{THEORY} could not be kept: {error.strerror or error}")
        return with_heading(run_hash, solved)
