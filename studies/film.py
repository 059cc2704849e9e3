"""A short film of one trial for the README: theta on the cost of the mode that holds, and the hidden mode below.

    python -m studies.film            # writes reports/gallery/swapping_wells.gif

Pillow, which comes with matplotlib, writes it.
"""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from PIL import Image

import tracker
from tracker.reports.exhibits.landscape import draw_surface, minimisers
from tracker.reports.figure_style import INK, figure, mode_colours
from tracker.reports.run_view import View

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ROOT = Path(__file__).parents[1]
FILM = ROOT / "reports" / "gallery" / "swapping_wells.gif"
SHOWN = ("classical", "fixed-3")
EVERY, FRAMES, TAIL, A_SECOND = 1_250, 160, 6, 12  # steps of a frame, frames, frames that a tail lasts, frames a second
COLOURS = 24


def run() -> tracker.Run:
    """Return one trial of the two samplers: the first seed of the scenario, nothing chosen."""
    scenario = tracker.load(ROOT / "scenarios" / "swapping_wells.toml")
    kept = [sampler for sampler in scenario.samplers if sampler.name in SHOWN]
    return tracker.run(scenario.replace(samplers=kept, trials=1, steps=EVERY * FRAMES, record_every=EVERY, claims=None))


def film(view: View) -> None:
    """Draw the frames and write them."""
    plane, mode = view.plane, view.arrays["mode"][0]
    colours, names = mode_colours(len(view.modes)), view.mode_names
    with figure(6.4, 2.9) as fig:
        grid = fig.add_gridspec(
            2, len(SHOWN), height_ratios=[9, 1], left=0.02, right=0.98, top=0.9, bottom=0.1, wspace=0.05
        )
        panels = [fig.add_subplot(grid[0, n]) for n in range(len(SHOWN))]
        strip = fig.add_subplot(grid[1, :])
        strip.imshow(
            mode[np.newaxis],
            aspect="auto",
            cmap=_colours(colours),
            interpolation="nearest",
            vmin=0,
            vmax=len(names) - 1,
        )
        strip.set(xticks=[], yticks=[], xlabel=f"the hidden mode over {EVERY * FRAMES:,} steps")
        now = strip.axvline(0, color=INK, linewidth=1.5)

        frames = []
        for frame, x in enumerate(mode.tolist()):
            for ax, name in zip(panels, SHOWN, strict=True):
                ax.clear()
                draw_surface(ax, plane, plane.surface(x))
                minimisers(ax, plane.places(view.modes[x].minimisers))
                path = plane.places(view.arrays["theta"][0, view.index(name), max(0, frame - TAIL) : frame + 1])
                ax.plot(*path.T, color=view.looks[name].color, linewidth=0.8, alpha=0.5)
                ax.plot(*path[-1], "o", color=view.looks[name].color, markersize=7)
                ax.set(xlim=plane.limits[0], ylim=plane.limits[1], xticks=[], yticks=[])
                ax.set_title(f"{name} (deeper well: {names[x]})", color=view.looks[name].color)
            now.set_xdata([frame, frame])
            frames.append(_picture(fig))
    frames[0].save(FILM, save_all=True, append_images=frames[1:], duration=1000 // A_SECOND, loop=0, optimize=True)


def _picture(fig: Figure) -> Image.Image:
    """Return the figure on white, in few colours: a film of them is small."""
    page = io.BytesIO()
    fig.savefig(page, format="png", dpi=100, facecolor="white", transparent=False)
    return Image.open(page).convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE)


def _colours(colours: list[str]) -> Any:
    from matplotlib.colors import ListedColormap

    return ListedColormap(colours)


if __name__ == "__main__":
    film(View(run()))
    print(f"{FILM.relative_to(ROOT)}: {FILM.stat().st_size / 1e6:.2f} MB")
