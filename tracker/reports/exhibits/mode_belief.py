"""Exhibit: P(mode | past) of the Bayes filter, under the hidden mode."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tracker.baseline_names import FILTER
from tracker.formatting import number, percent
from tracker.reports.exhibit import Exhibit, Omitted, Table
from tracker.reports.exhibits.one_trial import mode_strip, name_modes, typical_trial
from tracker.reports.figure_style import figure, mode_colours, steps_axis

if TYPE_CHECKING:
    from tracker.array_types import Array, Integers
    from tracker.reports.run_view import View

KEY, QUESTION = "mode-belief", "What could be known of the mode?"
METHOD = (
    "The filter knows Q, alpha and all costs and sees one noisy gradient a step. The height of a colour is the probability of that "
    "mode before the step, under the strip of the hidden mode."
)
PROBABILITIES = "mode_probability"


def exhibit(view: View) -> Exhibit | Omitted:
    """Draw the probabilities of the modes in the trial that the page shows, as bands that fill [0, 1]."""
    if PROBABILITIES not in view.arrays:
        return Omitted(KEY, QUESTION, _why_not(view))
    trial = typical_trial(view) or 0
    probability, mode = view.arrays[PROBABILITIES], view.arrays["mode"]
    with figure(height=2.4) as fig:
        strip, belief = fig.subplots(2, 1, sharex=True, height_ratios=[0.14, 1.0])
        mode_strip(strip, view, mode[trial])
        name_modes(fig, view)
        belief.stackplot(
            view.recorded, probability[trial].T, colors=mode_colours(len(view.modes)), linewidth=0, step="post"
        )
        belief.set(ylim=(0, 1), xlim=(0, max(1, view.recorded[-1])), ylabel="P(mode | past)", xlabel="step k")
        steps_axis(belief)
    return Exhibit(KEY, QUESTION, _caption(view, trial), _alt(view, trial), fig, _table(view), METHOD)


def of_hidden_mode(probability: Array, mode: Integers) -> Array:
    """Return the probability (T, R) that the mode in effect had, from those of all modes (T, R, X); nan where none is known."""
    known = np.take_along_axis(probability, np.maximum(mode, 0)[..., np.newaxis].astype(np.int64), axis=-1)[..., 0]
    return np.where(mode >= 0, known, np.nan)


def wrong_share(view: View) -> float:
    """Return how often, at the averaged records, the likeliest mode was not the hidden one."""
    likeliest = view.arrays[PROBABILITIES].argmax(axis=-1)
    return float((likeliest != view.arrays["mode"])[:, view.averaged].mean())


def _why_not(view: View) -> str:
    return view.run.problem.notes.get(FILTER, "no filter ran beside the samplers") + "."


def _caption(view: View, trial: int) -> str:
    held = float(np.nanmean(of_hidden_mode(view.arrays[PROBABILITIES], view.arrays["mode"])[:, view.averaged]))
    error, found = view.summary[FILTER]["mean_square_error"]["mean"], view.summary[FILTER]["detection"]
    delay = None if found is None else found["delay"]["mean"]
    late = "" if delay is None else f" Its likeliest mode changes {number(delay)} steps after a switch on average."
    return (
        f"The exact Bayes filter in trial {int(view.arrays['trial'][trial])}. Over all trials it gave the hidden mode "
        f"{percent(held)} on average, and held another one likelier at {percent(wrong_share(view))} of the records; its estimate "
        f"has a mean square error of {number(error)}.{late}"
    )


def _alt(view: View, trial: int) -> str:
    return (
        f"Bands of {len(view.modes)} colours fill the height between 0 and 1 over steps 0 to {view.scenario.steps}: the probability "
        f"of each mode in trial {int(view.arrays['trial'][trial])}, below a strip with the hidden mode in the same colours."
    )


def _table(view: View) -> Table:
    held = of_hidden_mode(view.arrays[PROBABILITIES], view.arrays["mode"])
    rows = []
    for x, name in enumerate(view.mode_names):
        here = (view.arrays["mode"] == x) & view.averaged
        rows.append((name, int(here.sum()), float(held[here].mean()) if here.any() else None))
    return Table(("hidden mode", "records", "mean probability that the filter gave it"), tuple(rows))
