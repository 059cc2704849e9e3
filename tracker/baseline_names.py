"""The baselines that stand beside the samplers of a run: their names, and what each of them does in two words."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

FROZEN, ORACLE, FILTER = "frozen", "oracle", "filter"
WHAT_THEY_DO = {
    FROZEN: "stands still",
    ORACLE: "knows the mode",
    FILTER: "infers the mode from one gradient a step and all else",
}
WHAT_THEY_KNOW = {FROZEN: "nothing", FILTER: "Q, alpha and all costs", ORACLE: "the mode"}
LADDER = tuple(WHAT_THEY_KNOW)  # the baselines by what they know
BASELINES = tuple(WHAT_THEY_DO)


def explain_baselines(names: Iterable[str]) -> str:
    """Return a sentence, with a space before it, on the baselines among ``names``; nothing where there is none."""
    told = [f"{name} {WHAT_THEY_DO[name]}" for name in names if name in WHAT_THEY_DO]
    return f" {', '.join(told)}." if told else ""
