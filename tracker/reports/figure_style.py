"""The look of figures: sizes, colours that follow the page, and one colour, line and marker for each sampler.

Neutral colours are stand-ins: on the page they become the page's own (see ``figure_files``), so that figures are legible in
dark and in light. Samplers take a colour by their kind; lines and markers differ too, for readers who do not tell colours.
"""

from __future__ import annotations

import warnings
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tracker.baseline_names import FILTER, FROZEN, ORACLE
from tracker.formatting import power_of_ten
from tracker.scenario.registry import kind_places

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import ArrayLike

    from tracker.array_types import Array

WIDTH = 3.85  # inches: on a phone of 390 dots LETTERS are 11 dots high; a wide page has smaller ones in the same places
LETTERS = 8.6  # points, of all texts
INK, MUTED, RULE, PAPER = "#1f2328", "#57606a", "#d0d7de", "#ffffff"
# by the place of a kind in the table of samplers; each has a contrast of at least 3.5 on white
COLOURS = (
    "#0072b2", "#d55e00", "#00855f", "#b0578a", "#7a5cc0", "#2a8fc7", "#a87000", "#6b7a1c", "#c2344f", "#4b6a8a", "#8c5a2b",
    "#0b8084", "#a3479b",
)  # fmt: skip
# unlike any sampler's, and apart for colour-blind readers
MODES = ("#8a7fd0", "#9a8f2e", "#3fa796", "#b0506a", "#c9b458", "#5b6f1f", "#7fb2d9", "#a24a96")
LONGEST_NAME, LONGEST_TITLE = 18, 34  # characters of a name at an axis, and of one that stands alone
LETTER_WIDTH = 0.64  # ems: the width of a digit, and of most letters or less
WIDEST_TICKS = 42  # characters of all names side by side below an axis
LEGEND_ROOM = 0.45  # inches of a figure's height that are meant for its legend: two rows
MOST_LEGEND_COLUMNS = 4  # of a legend
LOGARITHMIC_FROM = 20.0  # what varies by more than this factor is drawn on a logarithmic scale
LINES: tuple[Any, ...] = ("-", (0, (5, 1.5)), (0, (1, 1.2)), (0, (4, 1.2, 1, 1.2)), (0, (8, 2)), (0, (2, 1, 1, 1)))
MARKERS = ("o", "s", "^", "D", "v", "P")

SETTINGS: Any = {
    "figure.facecolor": "none",
    "axes.facecolor": "none",
    "savefig.facecolor": "none",
    "font.family": "DejaVu Sans",
    "font.size": LETTERS,
    "text.hinting": "none",  # else letters are measured in whole dots of the screen, up to a tenth too narrow
    "axes.titlesize": LETTERS,
    "axes.titlelocation": "left",
    "axes.titlepad": 5.0,
    "axes.labelsize": LETTERS,
    "xtick.labelsize": LETTERS,
    "ytick.labelsize": LETTERS,
    "legend.fontsize": LETTERS,
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
    "svg.fonttype": "none",
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


OF_BASELINES = {
    FROZEN: Look(MUTED, (0, (1, 2)), "x"),
    FILTER: Look(MUTED, (0, (7, 1.5, 1, 1.5)), "*"),
    ORACLE: Look(INK, (0, (6, 3)), "+"),
}


def looks(names: Sequence[str], kinds: Mapping[str, str]) -> dict[str, Look]:
    """Return a look for each name: the colour of its kind, the same on every page, and a line and marker of its own.

    kinds : the kind of each sampler. Colours follow the table of samplers; kinds that it does not know come after it.
    """
    places = kind_places()
    strangers = dict.fromkeys(kind for kind in kinds.values() if kind not in places)
    places |= {kind: len(places) + n for n, kind in enumerate(strangers)}
    found: dict[str, Look] = {}
    met: dict[int, int] = {}
    for name in names:
        if name in OF_BASELINES:
            found[name] = OF_BASELINES[name]
            continue
        colour = places.get(kinds.get(name, ""), 0) % len(COLOURS)
        n = met[colour] = met.get(colour, -1) + 1  # how many of this colour came before
        line, marker = LINES[(colour + n) % len(LINES)], MARKERS[(colour + n) % len(MARKERS)]
        found[name] = Look(COLOURS[colour], line, marker)
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
        with without_warnings():
            yield drawn
            _shorten_ticks(drawn)
            _grow(drawn, sum(legend.get_window_extent().height for legend in drawn.legends) - LEGEND_ROOM * drawn.dpi)


@contextmanager
def without_warnings() -> Iterator[None]:
    """Keep matplotlib's warnings (a letter that the font lacks) from those who only asked for a page."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", category=UserWarning, module="matplotlib|tracker")
        yield


def shorten(names: Sequence[str], most: int = LONGEST_NAME) -> list[str]:
    """Return names that leave room for the figure, cut in the middle; names that differ still do.

    Parameters
    ----------
    names : sequence of str
        All names that stand side by side.
    most : int
        Characters of usual width; of wide ones there are fewer.
    """
    fitting = (_cut(names, count) for count in range(most, 0, -1))
    return next(found for found in fitting if max(map(_width, found), default=0.0) <= most * LETTER_WIDTH)


def _cut(names: Sequence[str], most: int) -> list[str]:
    """Keep what tells the names apart: both ends, else the place where they begin to differ, else a number."""
    long = [name for name in dict.fromkeys(names) if len(name) > most]
    tails = sorted(range(1, most - 1), key=lambda tail: abs(2 * tail - most))
    same = next((n for n, letters in enumerate(zip(*long, strict=False)) if len(set(letters)) > 1), 0)
    ways = [[f"{name[: most - 1 - tail]}…{name[-tail:]}" for name in long] for tail in tails]
    begin = max(0, same - 4)
    ways.append([f"…{name[begin : begin + most - 2]}…" for name in long])
    numbered = [f"{name[: most - 4]}…{n}" for n, name in enumerate(long, 1)]
    found = dict(zip(long, next((way for way in ways if len(set(way)) == len(long)), numbered), strict=True))
    return [found.get(name, name) for name in names]


def _width(text: str) -> float:
    """In ems."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    return float(text_to_path.get_text_width_height_descent(text, FontProperties(size=1.0), ismath=False)[0])


def _shorten_ticks(figure: Figure) -> None:
    """Cut what would take the room of the drawing: names may have 64 characters."""
    from matplotlib.ticker import FixedLocator

    both = (axis for ax in figure.axes for axis in (ax.xaxis, ax.yaxis))
    fixed = [(axis, axis.get_majorticklocs()) for axis in both if isinstance(axis.get_major_locator(), FixedLocator)]
    labels = [axis.get_major_formatter().format_ticks(list(places)) for axis, places in fixed]
    names = list(dict.fromkeys(label for row in labels for label in row))
    short_names = dict(zip(names, shorten(names), strict=True))
    for (axis, places), row in zip(fixed, labels, strict=True):
        if any(short_names[label] != label for label in row):
            axis.set_ticks(places, labels=[short_names[label] for label in row])


def _grow(figure: Figure, dots: float) -> None:
    """Make a figure higher, so that what stands beside its axes takes no room from them."""
    if dots > 0.0:
        figure.set_figheight(figure.get_figheight() + dots / figure.dpi)


def names_below(ax: Axes, places: ArrayLike, names: Sequence[str]) -> None:
    """Write names below an axis, aslant where they would run into each other."""
    labels = shorten(names)
    if len(labels) * max(map(len, labels)) <= WIDEST_TICKS:
        ax.set_xticks(places, labels, parse_math=False)
        return
    ax.set_xticks(places, labels, parse_math=False, rotation=25, ha="right", rotation_mode="anchor")
    figure = ax.get_figure(root=True)
    assert figure is not None
    _grow(figure, max(label.get_window_extent().height for label in ax.get_xticklabels()))


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


def from_zero(ax: Axes, means: Iterable[Array]) -> None:
    """Let the y axis begin at 0; the wide bands of few trials do not set its other end, means do."""
    highest = max((float(np.nanmax(mean, initial=0.0)) for mean in means), default=0.0)
    top = ax.get_ylim()[1]
    ax.set_ylim(0.0, min(top, 2.0 * highest) if highest > 0.0 else top)


def short(x: float) -> str:
    """Return a number for an axis."""
    for size, unit in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(x) >= size:
            return f"{x / size:g}{unit}"
    return power_of_ten(x) if 0.0 < abs(x) < 1e-3 else f"{x:g}"


def legend(figure: Figure, axes: Axes) -> None:
    """Put the labels of ``axes`` above the figure."""
    handles, labels = axes.get_legend_handles_labels()
    if handles:
        legend_of(figure, handles, labels)


def legend_of(figure: Figure, handles: Sequence[Artist], names: Sequence[str], **style: Any) -> None:
    """Put names above the figure, in as many columns as their length allows."""
    labels = shorten(names)
    style |= {"loc": "outside upper left", "borderaxespad": 0.0, "columnspacing": 1.2}
    for columns in range(min(MOST_LEGEND_COLUMNS, len(labels)), 0, -1):
        drawn = figure.legend(handles, labels, ncols=columns, **style)
        if columns == 1 or drawn.get_window_extent().width <= 0.98 * figure.bbox.width:
            return
        drawn.remove()
