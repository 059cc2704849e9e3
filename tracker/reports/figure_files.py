"""Write a figure into a page or into a file of its own. The same figure gives the same bytes."""

from __future__ import annotations

import html
import io
import re
from errno import EEXIST
from typing import TYPE_CHECKING, Literal

from tracker.regular_files import open_regular, stands_there
from tracker.reports.figure_style import COLOURS, INK, MUTED, PAPER, RULE, SETTINGS, without_warnings
from tracker.runs import atomic_files
from tracker.runs.page_seals import SEALS, with_seal

if TYPE_CHECKING:
    from pathlib import Path

    from matplotlib.figure import Figure

Format = Literal["pdf", "svg", "png"]
FORMATS: tuple[Format, ...] = ("pdf", "svg", "png")
DATELESS = {"pdf": {"CreationDate": None}, "svg": {"Date": None}, "png": {"Software": None}}
FREE_RIGHT_EDGE = 0.04  # inches at the right of a figure that stay free
TALL = 430.0  # points; a taller figure on half a sheet would have letters below 6 points, so it is printed larger
DIGITS_OF_POSITIONS = 6  # of the axes' positions, as shares of the figure: less than a thousandth of a point

# The page's own colours stand in for those of the style: a figure follows the page into the dark, and back for print.
PAGE_COLOURS = {
    INK: "var(--ink)",
    MUTED: "var(--muted)",
    RULE: "var(--rule)",
    PAPER: "var(--paper)",
    **{colour: f"var(--kind-{n})" for n, colour in enumerate(COLOURS)},
}
_COLOUR = re.compile("|".join(PAGE_COLOURS))
_PROLOGUE = re.compile(r"\A.*?<svg[^>]*>", re.DOTALL)
_METADATA = re.compile(r"<metadata>.*?</metadata>|<!--.*?-->", re.DOTALL)
_GROUP = re.compile(r"<g id=\"(s\d+)?(?:\|([^\"]*))?[^\"]*\"([^>]*)>")
_FONT = re.compile(r"font:\s*([\d.]+)px[^;\"]*|font-family:[^;\"]*;?")
_NAME = re.compile(r"(id=\"|href=\"#|url\(#)([\w.-]+)")
_PATH = re.compile(r" (?:d|x|y)=\"[^\"]*\"")
_DIGITS = re.compile(r"(\d\.\d\d)\d+")
_SPACE = re.compile(r"\n\s*")


def figure_bytes(figure: Figure, kind: Format) -> bytes:
    """Return ``figure`` as a file of its own."""
    import matplotlib as mpl

    buffer = io.BytesIO()
    with (
        without_warnings(),
        mpl.rc_context(SETTINGS),
    ):  # ticks are made when a figure is drawn, and take their size from here
        lay_out(figure)
        if kind == "svg":
            _write_svg(figure, buffer)
        else:
            figure.savefig(buffer, format=kind, metadata=DATELESS[kind], facecolor="white")
    return buffer.getvalue()


def _write_svg(figure: Figure, buffer: io.BytesIO) -> None:
    """Write what ``savefig`` writes: that draws everything once more before, for a layout that is long done."""
    from matplotlib.backends.backend_svg import FigureCanvasSVG

    colour = figure.get_facecolor()
    figure.set_facecolor("none")
    FigureCanvasSVG(figure).print_svg(buffer, metadata=DATELESS["svg"])  # type: ignore[no-untyped-call]
    figure.set_facecolor(colour)


def lay_out(figure: Figure) -> None:
    """Put everything in its place, once: doing it again would move things by a hair, and change the bytes."""
    if (engine := figure.get_layout_engine()) is not None:
        engine.execute(figure)
        figure.set_layout_engine("none")
        _settle(figure)
        _move_inside(figure)


def _settle(figure: Figure) -> None:
    """Round where the axes are.

    The solver of the layout goes through its constraints in the order of their addresses, so that the last bits differ from
    process to process. They show in the names of clip paths, which are hashes of all bits.
    """
    for ax in figure.axes:
        ax.set_position(tuple(round(edge, DIGITS_OF_POSITIONS) for edge in ax.get_position(original=True).bounds))


def _move_inside(figure: Figure) -> None:
    """Move titles and labels that run over the right edge to the left: the layout sees their height only."""
    from matplotlib.text import Text

    for ax in figure.axes:
        titles = [child for child in ax.get_children() if isinstance(child, Text) and child not in ax.texts]
        for text in (*titles, ax.xaxis.label):
            over = text.get_window_extent().x1 - (figure.bbox.x1 - FREE_RIGHT_EDGE * figure.dpi)
            if text.get_text() and over > 0.0:
                text.set_x(round(text.get_position()[0] - over / ax.bbox.width, DIGITS_OF_POSITIONS))


def write_figure(figure: Figure, path: Path, kind: Format) -> None:
    """Write ``figure`` to ``path``, in the place of another figure only, and never through a link."""
    begins = SEALS[kind].begins
    if stands_there(path) and not _begins_with(path, begins):
        raise FileExistsError(EEXIST, "is no figure, and would be overwritten: choose another folder", str(path))
    atomic_files.write_file(path, with_seal(figure_bytes(figure, kind), kind), lasting=False)


def _begins_with(path: Path, begins: bytes) -> bool:
    try:
        with open_regular(path) as file:
            return file.read(len(begins)) in (begins, b"")
    except OSError:
        return False


def _group(found: re.Match[str]) -> str:
    """Names of groups go, but for the mark of a sampler, by which a page hides it, and what is told of it."""
    sampler, told, rest = found.groups()
    mark = f' class="{sampler}"' if sampler else ""
    title = f"<title>{told}</title>" if told else ""
    return f"<g{mark}{rest}>{title}"


def _font(found: re.Match[str]) -> str:
    """Letters have the page's font; small ones, which a page enlarges on a phone, are all of one size."""
    return f"font-size: {found[1]}px" if found[1] else ""


def inline_svg(figure: Figure, key: str, alt: str) -> str:
    """Return the figure as an SVG element of a page, described by ``alt``; ``key`` keeps the names of figures apart.

    What a page does not need goes: the prologue with its addresses, comments, names of groups, digits beyond a
    hundredth of a point.
    """
    text = figure_bytes(figure, "svg").decode()
    head = _PROLOGUE.search(text)
    assert head is not None
    box = re.search(r'viewBox="([^"]*)"', head[0])
    assert box is not None
    body = text[head.end() :].replace("</svg>", "")
    body = _GROUP.sub(_group, _METADATA.sub("", body))
    body = _FONT.sub(_font, body)
    body = _NAME.sub(lambda found: f"{found[1]}{key}-{found[2]}", body)
    body = _PATH.sub(lambda found: _DIGITS.sub(r"\1", found[0]), body)
    body = _COLOUR.sub(lambda found: PAGE_COLOURS[found[0]], body)
    tall = " data-tall" if float(box[1].split()[3]) > TALL else ""
    head_tag = f'<svg viewBox="{box[1]}" class="chart"{tall} role="img" aria-label="{html.escape(alt)}">'
    return f"{head_tag}{_SPACE.sub(chr(10), body).strip()}</svg>"
