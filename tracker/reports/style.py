"""How figures look: sizes, neutral colours that follow the page, and one colour, line and marker for each sampler.

Neutral colours are stand-ins: on the page they become the page's own (see ``drawing``), so that figures are legible in
dark and in light. Samplers take the colours of Okabe and Ito, which stay apart for colour-blind readers; black is left
out because it would vanish on a dark page.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tracker.names import FROZEN, ORACLE

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

WIDTH = 4.7  # inches: a column of text; on a phone the letters are still readable
INK, MUTED, RULE, PAPER = "#1f2328", "#57606a", "#d0d7de", "#ffffff"
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
# unlike any sampler's, and apart for colour-blind readers
MODES = ("#8a7fd0", "#9a8f2e", "#3fa796", "#b0506a", "#c9b458", "#5b6f1f", "#7fb2d9", "#a24a96")
LONGEST_NAME, LONGEST_TITLE = 24, 40  # characters of a name at an axis, and of one that stands alone
LINES: tuple[Any, ...] = ("-", (0, (5, 1.5)), (0, (1, 1.2)), (0, (4, 1.2, 1, 1.2)), (0, (8, 2)), (0, (2, 1, 1, 1)))
MARKERS = ("o", "s", "^", "D", "v", "P")

SETTINGS: Any = {
    "figure.facecolor": "none",
    "axes.facecolor": "none",
    "savefig.facecolor": "none",
    "font.family": "DejaVu Sans",
    "font.size": 8.5,
    "axes.titlesize": 8.5,
    "axes.titlelocation": "left",
    "axes.titlepad": 5.0,
    "axes.labelsize": 8.5,
    "xtick.labelsize": 8.0,
    "ytick.labelsize": 8.0,
    "legend.fontsize": 8.0,
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


OF_BASELINES = {FROZEN: Look(MUTED, (0, (1, 2)), "x"), ORACLE: Look(INK, (0, (6, 3)), "+")}


def looks(names: Sequence[str]) -> dict[str, Look]:
    """Return a look for each name: colour and line by place, so that a sampler looks the same in all figures."""
    found: dict[str, Look] = {}
    n = 0
    for name in names:
        if name in OF_BASELINES:
            found[name] = OF_BASELINES[name]
            continue
        # lines and markers shift by one with each round of colours: no two samplers look alike before 36
        shifted = n + n // len(COLOURS)
        line, marker = LINES[shifted % len(LINES)], MARKERS[shifted % len(MARKERS)]
        found[name] = Look(COLOURS[n % len(COLOURS)], line, marker)
        n += 1
    return found


def mode_colours(count: int) -> list[str]:
    """Return a colour for each hidden mode; more modes than there are names for colours share a scale, in their order."""
    if count <= len(MODES):
        return list(MODES[:count])
    import matplotlib as mpl
    from matplotlib.colors import to_hex

    scale = mpl.colormaps["viridis"]
    return [to_hex(scale(0.2 + 0.7 * x / (count - 1))) for x in range(count)]  # its ends would vanish on a page


def some(count: int, most: int) -> list[int]:
    """Return at most ``most`` of ``count`` places, evenly spread, the first and the last among them."""
    if count <= most:
        return list(range(count))
    return [round(n * (count - 1) / (most - 1)) for n in range(most)]


@contextmanager
def figure(width: float = WIDTH, height: float = 3.0) -> Iterator[Figure]:
    """Give a figure of so many inches, in this style and without any global state left behind."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    with mpl.rc_context(SETTINGS):
        drawn = Figure(figsize=(width, height), layout="constrained")
        yield drawn
        _shorten_names(drawn)


def cut(text: str, most: int = LONGEST_NAME) -> str:
    """Return a name that leaves room for the figure."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _shorten_names(figure: Figure) -> None:
    """Cut what would take the room of the drawing: names may have 64 characters."""
    from matplotlib.ticker import FixedLocator

    for ax in figure.axes:
        for axis in (ax.xaxis, ax.yaxis):
            if isinstance(axis.get_major_locator(), FixedLocator):
                places = axis.get_majorticklocs()
                labels = axis.get_major_formatter().format_ticks(list(places))
                if max(map(len, labels), default=0) > LONGEST_NAME:
                    axis.set_ticks(places, labels=[cut(label) for label in labels])
        if (own := ax.get_legend()) is not None:
            for text in own.get_texts():
                text.set_text(cut(text.get_text()))


def steps_axis(ax: Axes) -> None:
    """Count steps as 200, 5k, 1M."""
    ax.xaxis.set_major_formatter(lambda k, _: short(k))


def log_axis(ax: Axes) -> None:
    """Make the x axis logarithmic, with a label at each power of ten and nothing between."""
    from matplotlib.ticker import LogLocator, NullLocator

    ax.set_xscale("log")
    ax.xaxis.set_major_locator(LogLocator(base=10.0, numticks=9))
    ax.xaxis.set_minor_locator(NullLocator())  # each minor tick takes time to draw, and tells little
    ax.xaxis.set_major_formatter(lambda x, _: short(x))


def from_zero(ax: Axes, means: Iterable[NDArray[np.float64]]) -> None:
    """Let the y axis begin at 0; the wide bands of few trials do not set its other end, means do."""
    highest = max((float(np.nanmax(mean, initial=0.0)) for mean in means), default=0.0)
    top = ax.get_ylim()[1]
    ax.set_ylim(0.0, min(top, 2.0 * highest) if highest > 0.0 else top)


def short(x: float) -> str:
    """Return a number for an axis."""
    for size, unit in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(x) >= size:
            return f"{x / size:g}{unit}"
    return f"{x:g}"


def legend(figure: Figure, axes: Axes) -> None:
    """Put the labels of ``axes`` above the figure, in as many columns as their length allows."""
    handles, labels = axes.get_legend_handles_labels()
    if not handles:
        return
    labels = [cut(label) for label in labels]
    longest = max(map(len, labels))
    columns = max(1, min(4, len(labels), int(72 / (longest + 8))))
    figure.legend(handles, labels, loc="outside upper left", ncols=columns, borderaxespad=0.0, columnspacing=1.2)
