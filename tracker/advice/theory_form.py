"""The form of ``theory.json``: a page is drawn of a file only where every entry is of the kind that ``solve`` writes.

The check digits of the file prove that nobody slipped; they do not prove who wrote it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

LONGEST_TEXT = 1000  # characters
NUMBER, ERROR = "a number", "a number that is not negative"
BASES = ("exact", "asymptotic", "measured", "not known")
RUNG = {
    "rung": str,
    "knows": str,
    "mean_square_error": {"mean": ERROR, "stderr": (None, NUMBER)},
    "exact": bool,
    "bound": bool,
    "observations": int,
    "evaluations": dict.fromkeys(("gradient", "cost", "hessian"), int),
}
PARTS = ("temperature", "noise", "lag", "remainder", "total")
STABILITY = ("radius", "abscissa", "largest_epsilon", "largest_skew")
WELL = {"mode": str, "minimum": [NUMBER], "barrier": NUMBER, "rate": ERROR, "speed_up": NUMBER}
VALUES: dict[str, Any] = {
    **dict.fromkeys(("stable_below", "error", "beta_enough"), (NUMBER, "inf")),
    **dict.fromkeys(("relative", "best_epsilon", "best_error", "floor", "seconds"), NUMBER),
    **dict.fromkeys(("switched_stable", "skew_helps"), bool),
    "skew": [[NUMBER]],
    "trials_needed": int,
}
ANSWERS = {key: {"value": (None, value), "basis": BASES} for key, value in VALUES.items()}


def is_theory(found: Mapping[str, Any], samplers: Sequence[str]) -> bool:
    """Tell whether ``found`` has the form of what theory says of a run with these samplers."""
    by_sampler = {
        "ladder": [RUNG],
        "missing": [{"rung": str, "reason": str}],
        "split": (None, dict.fromkeys(PARTS, (None, NUMBER)) | {"temperature": NUMBER}),
        "stability": (None, dict.fromkeys(STABILITY, (None, NUMBER, "inf", "-inf")) | {"stable": bool}),
        "escape": (None, [WELL]),
        "relative": (None, NUMBER, "inf"),
        "outside": (None, [ERROR]),
    }
    form = {
        **{key: dict.fromkeys(samplers, entry) for key, entry in by_sampler.items()},
        "advice": {
            "scenario": {"name": str, "sha256": str, "seed": int, "trials": int, "steps": int},
            "samplers": [{"name": tuple(samplers), **ANSWERS}],
            "ladder": [{**RUNG, "sampler": tuple(samplers)}],
            "notes": [str],
        },
        "notes": [str],
        **dict.fromkeys(("format", "version", "hash"), (int, str)),
    }
    rows = found.get("advice", {}).get("samplers") if isinstance(found.get("advice"), dict) else None
    return _fits(found, form) and isinstance(rows, list) and [row["name"] for row in rows] == list(samplers)


def _fits(value: Any, form: Any) -> bool:
    """Tell whether a value of JSON has a form: a dict of forms, [form of each entry], (one of these), a type, or a constant."""
    if isinstance(form, dict):
        return isinstance(value, dict) and value.keys() == form.keys() and all(_fits(value[k], form[k]) for k in form)
    if isinstance(form, list):
        return isinstance(value, list) and all(_fits(entry, form[0]) for entry in value)
    if isinstance(form, tuple):
        return any(_fits(value, one) for one in form)
    if form in (NUMBER, ERROR):
        return type(value) in (int, float) and (form == NUMBER or value >= 0)
    if form is str:
        return isinstance(value, str) and len(value) <= LONGEST_TEXT and value.isprintable()
    return type(value) is form if isinstance(form, type) else type(value) is type(form) and value == form
