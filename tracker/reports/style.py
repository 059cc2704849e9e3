"""How figures look: sizes, neutral colours that follow the page, and one colour, line and marker for each sampler.

Neutral colours are stand-ins: on the page they become the page's own (see ``drawing``), so that figures are legible in
dark and in light. Samplers take the colours of Okabe and Ito, which stay apart for colour-blind readers; black is left
out because it would vanish on a dark page.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTH = 5.3  # inches: a column of text; on a phone the letters are still readable
INK, MUTED, RULE, PAPER = "#1f2328", "#57606a", "#d0d7de", "#ffffff"
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
MODES = ("#5b8db8", "#c98b4f", "#7fa66a", "#b07aa1", "#9a8c7c", "#6cb2ad", "#c0737a", "#8d8fc2")
LINES: tuple[Any, ...] = ("-", (0, (5, 1.5)), (0, (1, 1.2)), (0, (4, 1.2, 1, 1.2)), (0, (8, 2)), (0, (2, 1, 1, 1)))
MARKERS = ("o", "s", "^", "D", "v", "P")

SETTINGS: Any = {
    "figure.facecolor": "none",
    "axes.facecolor": "none",
    "savefig.facecolor": "none",
    "font.family": "DejaVu Sans",
    "font.size": 9.0,
    "axes.titlesize": 9.0,
    "axes.titlelocation": "left",
    "axes.titlepad": 5.0,
    "axes.labelsize": 9.0,
    "xtick.labelsize": 8.5,
    "ytick.labelsize": 8.5,
    "legend.fontsize": 8.5,
    "legend.frameon": False,
    "legend.handlelength": 2.4,
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": MUTED,
    "axes.linewidth": 0.7,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": RULE,
    "grid.linewidth": 0.6,
    "lines.linewidth": 1.5,
    "lines.markersize": 4.5,
    "axes.unicode_minus": True,
    "axes.formatter.use_mathtext": False,
    "svg.fonttype": "path",
    "svg.hashsalt": "tracker",
    "pdf.fonttype": 42,
    "savefig.dpi": 200,
    "path.simplify_threshold": 0.3,
}


class Look(NamedTuple):
    """How a sampler is drawn."""

    color: str
    linestyle: Any
    marker: str


BASELINES = {"frozen": Look(MUTED, (0, (1, 2)), "x"), "oracle": Look(INK, (0, (6, 3)), "+")}


def looks(names: Sequence[str]) -> dict[str, Look]:
    """Return a look for each name: colour and line by place, so that a sampler looks the same in all figures."""
    found: dict[str, Look] = {}
    n = 0
    for name in names:
        if name in BASELINES:
            found[name] = BASELINES[name]
            continue
        # the lines shift by one with each round of colours: no two samplers look alike before 36
        line = LINES[(n + n // len(COLOURS)) % len(LINES)]
        found[name] = Look(COLOURS[n % len(COLOURS)], line, MARKERS[n % len(MARKERS)])
        n += 1
    return found


def mode_colour(index: int) -> str:
    """Return the colour of a hidden mode."""
    return MODES[index % len(MODES)]


@contextmanager
def figure(width: float = WIDTH, height: float = 3.0) -> Iterator[Figure]:
    """Give a figure of so many inches, in this style and without any global state left behind."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    with mpl.rc_context(SETTINGS):
        yield Figure(figsize=(width, height), layout="constrained")


def legend(figure: Figure, axes: Axes) -> None:
    """Put the labels of ``axes`` above the figure, in as many columns as their length allows."""
    handles, labels = axes.get_legend_handles_labels()
    if not handles:
        return
    longest = max(len(label) for label in labels)
    columns = max(1, min(4, len(labels), int(76 / (longest + 8))))
    figure.legend(handles, labels, loc="outside upper left", ncols=columns, borderaxespad=0.0, columnspacing=1.2)
