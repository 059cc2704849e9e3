"""The trial player: a few trials of a run that a page can play on the landscape, in a few kilobytes of script.

The page is whole without it: the block is hidden until its script runs. The content security policy allows this script by
its hash and no other. Points are 16 bit numbers within what the landscape shows; 65535 stands for none.
"""

from __future__ import annotations

import base64
import hashlib
import json
from importlib import resources
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tracker.reports.exhibits import landscape
from tracker.reports.exhibits.landscape import draw_surface, minimisers
from tracker.reports.figure_files import inline_svg
from tracker.reports.figure_style import COLOURS, figure, mode_colours
from tracker.reports.judged_by import best_of

if TYPE_CHECKING:
    from tracker.array_types import Array
    from tracker.reports.cost_plane import Plane
    from tracker.reports.run_view import View

MOST_TRIALS, MOST_RECORDS, MOST_SAMPLERS, MOST_MODES = 5, 501, 8, 8
LARGEST, NOTHING = 65534, 65535
WIDTH, HEIGHT = 4.6, 2.8  # inches of a landscape


class Player(NamedTuple):
    """What a page needs to play trials: the data, a landscape for each mode, names for the choice of a trial, and its place."""

    data: str
    landscapes: tuple[str, ...]
    trials: tuple[str, ...]
    script: str
    drifts: bool = False
    after: str = landscape.KEY

    @property
    def policy(self) -> str:
        """The source that a content security policy must allow."""
        return f"'sha256-{base64.b64encode(hashlib.sha256(self.script.encode()).digest()).decode()}'"


def player_of(view: View) -> Player | None:
    """Return the player of a run; None where theta has one coordinate, the modes are many, or every trial diverged."""
    if view.scenario.dimension < 2 or len(view.modes) > MOST_MODES or best_of(view) is None or len(view.recorded) < 2:
        return None
    plane, chosen = view.plane, trials_to_play(view)
    every = max(1, -(-len(view.recorded) // MOST_RECORDS))
    names = view.alive[:MOST_SAMPLERS]
    data = {
        "records": len(view.recorded[::every]),
        "every": int(view.scenario.record_every) * every,
        "modes": view.mode_names,
        "colours": mode_colours(len(view.modes)),
        "samplers": [
            {"mark": view.samplers.index(name), "colour": COLOURS.index(view.looks[name].color)} for name in names
        ],
        "trials": [_trial(view, plane, trial, names, every) for trial in chosen.values()],
    }
    text = json.dumps(data, separators=(",", ":")).replace("<", "\\u003c")
    return Player(text, tuple(_landscapes(plane)), tuple(chosen), script(), view.scenario.drift is not None)


def script() -> str:
    """Return the script, as it stands in the page."""
    return resources.files("tracker.reports").joinpath("player.js").read_text(encoding="utf-8")


def trials_to_play(view: View) -> dict[str, int]:
    """Return the best, the median and the worst trial by the verdict's quantity of the best sampler, and the first two."""
    best = best_of(view)
    assert best is not None
    values = view.score.values[:, view.index(best)] * (1.0 if view.score.smaller_is_better else -1.0)
    order = np.argsort(np.where(np.isfinite(values), values, np.inf), kind="stable")
    order = order[np.isfinite(values[order])]
    wanted = {"best": order[0], "median": order[(len(order) - 1) // 2], "worst": order[-1], "first": 0, "second": 1}
    labels: dict[int, list[str]] = {}
    for words, trial in wanted.items():
        if int(trial) < view.trials:
            labels.setdefault(int(trial), []).append(words)
    number = view.arrays["trial"]
    return {f"trial {int(number[trial])} ({', '.join(words)} of {best})": trial for trial, words in labels.items()}


def _trial(view: View, plane: Plane, trial: int, names: tuple[str, ...], every: int) -> dict[str, object]:
    mode = np.clip(view.arrays["mode"][trial, ::every], 0, 255).astype(np.uint8)
    paths = [_packed(plane, view.theta[trial, view.index(name), ::every]) for name in names]
    return {"mode": base64.b64encode(mode.tobytes()).decode(), "paths": paths}


def _packed(plane: Plane, theta: Array) -> str:
    """The path as pairs of 16 bit numbers; points outside of what is drawn stand at its edge."""
    places, (low, high) = plane.places(theta), plane.limits.T
    with np.errstate(invalid="ignore"):
        shares = np.clip((places - low) / (high - low), 0.0, 1.0)
    known = np.isfinite(shares).all(axis=1, keepdims=True)
    whole = np.where(known, np.round(LARGEST * np.nan_to_num(shares)), NOTHING).astype("<u2")
    return base64.b64encode(whole.tobytes()).decode()


def _landscapes(plane: Plane) -> list[str]:
    """The landscape of each mode without axes, as an SVG element."""
    found = []
    for x in range(len(plane.view.modes)):
        with figure(WIDTH, HEIGHT) as fig:
            ax = fig.add_axes((0.0, 0.0, 1.0, 1.0))
            draw_surface(ax, plane, plane.surface(x))
            minimisers(ax, plane.places(plane.view.modes[x].minimisers))
            ax.set(xlim=plane.limits[0], ylim=plane.limits[1])
            ax.axis("off")
        drawn = inline_svg(fig, f"player-{x}", f"landscape of {plane.view.mode_names[x]}")
        found.append(drawn.replace('class="chart"', 'class="map"', 1))
    return found
