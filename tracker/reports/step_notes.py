"""Say at which steps samplers are compared: a sampler's error depends on its step."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from tracker.formatting import counted, listed, number, plain, step_size
from tracker.reports.exhibit import Omitted

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tracker.reports.exhibit import Exhibit
    from tracker.reports.run_view import View

MOST_STEPS_IN_A_SENTENCE = 6
WORDS_THAT_NAME_A_STEP = ("epsilon", "ε =")  # a sentence with one of these says at which steps
UNKNOWN = "not known"


def at_steps(epsilons: Mapping[str, float], effective: Mapping[str, float] | None = None) -> str:
    """Return at which steps samplers stand: "epsilon = 0.001 for all", "epsilon = 0.001 for a and b, 0.01 (effective 0.001) for c"."""
    shared: dict[tuple[float, str], list[str]] = {}
    for name, epsilon in epsilons.items():
        shared.setdefault((epsilon, step_size(epsilon, (effective or {}).get(name))), []).append(name)
    if len(shared) == 1:
        return f"epsilon = {next(iter(shared))[1]}{' for all' if len(epsilons) > 1 else ''}"
    if len(shared) > MOST_STEPS_IN_A_SENTENCE:
        small, large = min(shared), max(shared)
        others = [f"{step} for {listed(names)}" for (e, step), names in shared.items() if step != plain(e)]
        between = f"epsilon from {small[1]} ({listed(shared[small])}) to {large[1]} ({listed(shared[large])})"
        return ", ".join([between, *(one for one in others if one.partition(" for ")[0] not in between)])
    return "epsilon = " + ", ".join(f"{step} for {listed(names)}" for (_, step), names in shared.items())


def steps_of(view: View, names: Sequence[str]) -> str:
    """Return at which steps these samplers of a run stand."""
    return at_steps({name: view.epsilons[name] for name in names}, view.effective_steps)


def steps_of_both(first: View, second: View, names: Sequence[str]) -> str:
    """Return at which steps the samplers of two runs stand."""
    one, two = steps_of(first, names), steps_of(second, names)
    return f"{one}, in both runs" if one == two else f"{one} in the first run, {two} in the second"


def with_steps(item: Exhibit | Omitted, view: View) -> Exhibit | Omitted:
    """Add the steps to a caption that names samplers, where these differ in their steps and it does not say so."""
    if (
        isinstance(item, Omitted)
        or len(set(view.epsilons.values())) < 2
        or any(word in item.caption for word in WORDS_THAT_NAME_A_STEP)
    ):
        return item
    named = any(name in item.caption for name in view.samplers)
    return replace(item, caption=f"{item.caption} Steps: {steps_of(view, view.samplers)}.") if named else item


def over_limit(ratio: float | None) -> str:
    """Return a step over its stability limit."""
    return UNKNOWN if ratio is None or np.isnan(ratio) else number(ratio, 2)


def evaluations(calls: Mapping[str, Any]) -> str:
    """Return what a step evaluates: "1 gradient", "2 gradients + 2 costs"; a dash for a baseline."""
    nouns = (("gradient", "gradient", "gradients"), ("hessian", "Hessian", "Hessians"), ("cost", "cost", "costs"))
    return " + ".join(counted(int(calls[key]), one, many) for key, one, many in nouns if calls.get(key)) or "–"


def per_gradient(gradients: Mapping[str, int], alpha: float | None) -> str:
    """Say what errors per step are worth per gradient evaluation; ``alpha`` is the chain's, None without one.

    At a fixed number of gradients, a sampler that takes m of them a step meets a chain that runs m times as far between its
    steps: its error is then that of a run with m alpha, and no error at alpha divided or multiplied by m.
    """
    counts = {name: count for name, count in gradients.items() if count > 0}
    if len(counts) < 2:
        return ""
    if set(counts.values()) == {1}:
        return "All take one gradient a step, so errors compare alike per step and per gradient evaluation."
    costly = {name: m for name, m in counts.items() if m > 1}
    if alpha is None:
        return f"Errors are compared per step: {_taking(costly)}."
    needs = listed([f"{name} at chain.alpha = {plain(m * alpha)} ({m} gradients a step)" for name, m in costly.items()])
    return (
        f"Errors are compared per step. Per gradient evaluation the chain runs on while a sampler evaluates, so that the "
        f"same comparison would need a run of {needs}: not measured here."
    )


def _taking(costly: Mapping[str, int]) -> str:
    return listed([f"{name} takes {m} gradients a step" for name, m in costly.items()])


def choice_note(names: Sequence[str]) -> str:
    """Say that what is quoted was chosen among several."""
    return f", widened for the choice among {len(names)}" if len(names) > 1 else ""
