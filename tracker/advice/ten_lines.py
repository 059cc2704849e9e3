"""Advice in ten lines: a question each, and its answer with its basis, samplers of equal answers together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tracker.formatting import listed, number, percent, plain, whole
from tracker.scenario.step_warnings import FAST, SLOW

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    Row = Mapping[str, Any]

MOST_ENTRIES = 9  # of a matrix that is written out


def ten_lines(advice: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return questions and answers."""
    rows = advice["samplers"]
    found = [(question, _together(rows, answer)) for question, answer in QUESTIONS]
    found.insert(8, ("How far from what could be known?", _ladder(advice)))
    return found


def _together(rows: list[Row], answer: Callable[[Row], str]) -> str:
    shared: dict[str, list[str]] = {}
    for row in rows:
        shared.setdefault(answer(row), []).append(row["name"])
    if len(shared) == 1:
        return next(iter(shared))
    return "; ".join(f"{listed(names)}: {text}" for text, names in shared.items())


def _basis(entry: Mapping[str, Any]) -> str:
    return f" ({entry['basis']})"


def _number(row: Row, key: str, before: str = "", after: str = "") -> str:
    entry = row[key]
    if entry["value"] is None:
        return "not known"
    value = entry["value"]
    return f"{before}{value if isinstance(value, str) else number(value)}{after}{_basis(entry)}"


def _stable_steps(row: Row) -> str:
    return "no step is (exact)" if row["stable_below"]["value"] == 0.0 else _number(row, "stable_below", "below ")


def _switched(row: Row) -> str:
    entry = row["switched_stable"]
    if entry["value"] is None:
        return "not known"
    return ("yes" if entry["value"] else "NO: second moments grow") + _basis(entry)


def _relative(row: Row) -> str:
    entry = row["relative"]
    if entry["value"] is None:
        return "not known"
    value = entry["value"]
    where = (
        "it settles before the mode is left"
        if value < SLOW
        else "the mode is left before it settles"
        if value > FAST
        else "both take as long"
    )
    return f"{number(value)}, {where}{_basis(entry)}"


def _best_step(row: Row) -> str:
    step, least, now = row["best_epsilon"], row["best_error"], row["error"]
    if step["value"] is None:
        return "not known"
    gain = f", that of its own step {number(now['value'])}" if now["value"] is not None else ""
    return f"{plain(step['value'])} with an error of {number(least['value'])}{gain}{_basis(step)}"


def _temperature(row: Row) -> str:
    floor, total = row["floor"], row["error"]
    if floor["value"] is None:
        return "not known"
    share = f", {percent(floor['value'] / total['value'])} of its error" if total["value"] else ""
    return f"{number(floor['value'])}{share}{_basis(floor)}"


def _skew(row: Row) -> str:
    helps, best = row["skew_helps"], row["skew"]
    if helps["value"] is None:
        return "not known"
    if not helps["value"]:
        return f"no{_basis(helps)}"
    S = best["value"]
    which = "the best S is not known" if S is None or len(S) ** 2 > MOST_ENTRIES else f"best S = {_matrix(S)}"
    return f"yes{_basis(helps)}; {which}"


def _matrix(S: list[list[float]]) -> str:
    return "[" + ", ".join("[" + ", ".join(number(x) for x in row) + "]" for row in S) + "]"


def _trials(row: Row) -> str:
    trials, seconds = row["trials_needed"], row["seconds"]
    if trials["value"] is None:
        return "not known: it takes a finished run with another sampler"
    time = "" if seconds["value"] is None else f", {number(seconds['value'], 2)} s of one core"
    return f"{whole(trials['value'])}{time}{_basis(trials)}"


def _ladder(advice: Mapping[str, Any]) -> str:
    rungs = advice["ladder"]
    if not rungs:
        return "not known"
    first = advice["samplers"][0]
    said = [
        f"{row['rung']} {number(row['mean_square_error']['mean'])}{' (a bound)' if row['bound'] else ''}"
        for row in rungs
    ]
    own = (
        f"{first['name']} {_number(first, 'error')}; " if first["error"]["value"] is not None else f"{first['name']}: "
    )
    return own + ", ".join(said)


def _beta_enough(row: Mapping[str, Any]) -> str:
    return "none is needed: temperature costs nothing" if row["floor"]["value"] == 0.0 else _number(row, "beta_enough")


QUESTIONS: list[tuple[str, Callable[[Mapping[str, Any]], str]]] = [
    ("Which steps are stable?", _stable_steps),
    ("Is the switched system stable?", _switched),
    ("How fast is the chain for it?", _relative),
    ("What is its mean square error?", lambda row: _number(row, "error")),
    ("Which constant step is best?", _best_step),
    ("What does temperature cost?", _temperature),
    ("Which beta makes that irrelevant?", _beta_enough),
    ("Does S help?", _skew),
    ("How many trials tell it from the best other?", _trials),
]
