"""Theory's share of the page of a run: solved once, kept beside the run, and only read while the page is drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tracker.advice.answers import advice_of
from tracker.advice.bounded_theory import Theory
from tracker.advice.theory_form import PARTS, is_theory
from tracker.limits import OutOfScope
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


def solve(run: Run) -> dict[str, Any]:
    """Return what theory says: by sampler the rungs, the split of the error, stability, the regime and escape; and advice.

    What is not known, or not computed, is null; ``notes`` say why, and ``missing`` why a sampler lacks a rung.
    """
    theory = Theory(run.scenario)
    names = [keys.name for keys in run.scenario.samplers]
    notes: list[str] = []

    def asked(what: str, name: str, answer: Callable[[], Any]) -> Any:
        try:
            return answer()
        except OutOfScope as refusal:
            notes.append(f"{name}: {what}: {refusal.reason}")
            return None

    ladders = {name: theory.ladder(name) for name in names}
    found: dict[str, Any] = {
        "ladder": {name: rows for name, (rows, _) in ladders.items()},
        "missing": {
            name: [{"rung": rung, "reason": reason} for rung, reason in missing.items()]
            for name, (_, missing) in ladders.items()
        },
    }
    questions: dict[str, Callable[[str], Any]] = {
        "split": lambda name: _split(theory, name),
        "stability": lambda name: _stability(theory, name),
        "escape": lambda name: _escape(theory, name),
        "relative": theory.relative,
    }
    for what, question in questions.items():
        found[what] = {name: asked(what, name, lambda n=name, q=question: q(n)) for name in names}  # type: ignore[misc]
    return {**found, "advice": advice_of(theory, None, run), "notes": notes}


def _split(theory: Theory, name: str) -> dict[str, Any]:
    """The parts of the error; of a cost that is not quadratic, temperature alone."""
    try:
        parts = theory.split(name)
        return {key: getattr(parts, key) for key in PARTS}
    except OutOfScope:
        if not theory.keys(name).samples_gibbs:
            raise
        return dict.fromkeys(PARTS) | {"temperature": theory.at_beta(name).mean_square_error}


def _stability(theory: Theory, name: str) -> dict[str, Any]:
    found = theory.stability(name)
    return {
        "radius": found.radius,
        "abscissa": found.abscissa,
        "stable": found.stable,
        "largest_epsilon": theory.largest_epsilon(name),
        "largest_skew": found.largest_skew,
    }


def _escape(theory: Theory, name: str) -> list[dict[str, Any]]:
    """The wells of each mode that has several, with the rates out of them."""
    found = theory.escape(name)
    rows = []
    for index, mode in enumerate(theory.scenario.modes):
        for k, rate in enumerate(found.rates[index]):
            if np.isfinite(rate):
                rows.append(
                    {
                        "mode": mode.name,
                        "minimum": found.minima[index][k].tolist(),
                        "barrier": float(found.barriers[index][k]),
                        "rate": float(rate),
                        "speed_up": float(found.speed_up[index][k]),
                    }
                )
    return rows
