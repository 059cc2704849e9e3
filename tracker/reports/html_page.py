"""Render sections of exhibits as one HTML file without outside addresses; the trial player is its only script."""

from __future__ import annotations

import gc
import math
import re
from contextlib import contextmanager
from errno import EEXIST, EISDIR
from importlib import resources
from typing import TYPE_CHECKING, Any

from threadpoolctl import threadpool_limits

from tracker.formatting import DASH, number, whole
from tracker.regular_files import read_regular, stands_there
from tracker.reports.exhibit import Asked, Cell, Exhibit, Listing, Omitted, Section, Shown, Toggle, VerdictBox
from tracker.reports.figure_files import inline_svg, write_figure
from tracker.reports.words import words_on
from tracker.runs import atomic_files
from tracker.runs.page_seals import has_seal, is_sealed, with_seal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path

    import jinja2

    from tracker.reports.exhibit import Item
    from tracker.reports.figure_files import Format
    from tracker.reports.trial_player import Player


_NUMBER = re.compile(r"[−\d–∞]|under |never |not known")
WORDS_GO_HERE = "(words)"
LARGEST_PAGE = 200_000_000  # bytes
# what every page of ours has in its head, also those from before pages were sealed
OLD_HEAD = b"""<meta http-equiv="Content-Security-Policy" content="default-src 'none';"""


def render(
    title: str,
    subtitle: str,
    sections: Sequence[Section],
    verdict: VerdictBox | None = None,
    asked: Asked | None = None,
    toggles: Sequence[Toggle] = (),
    player: Player | None = None,
) -> str:
    """Return the page.

    Parameters
    ----------
    title, subtitle : str
        What the page is about; shown as they are.
    sections : sequence of Section
        In the order in which they are read; each exhibit is titled by its question.
    verdict : Verdict, optional
        The box on top.
    asked : Asked, optional
        What the page is to answer, under its title.
    toggles : sequence of Toggle
        The samplers that can be dimmed in all figures, in the order of their marks.
    player : Player, optional
        Trials to play; the only script of a page, allowed by its hash.
    """
    shown = {item.key for section in sections for item in section.items if isinstance(item, Exhibit)}
    page = _template("page.html.j2").render(
        words_go_here=WORDS_GO_HERE,
        title=title,
        subtitle=subtitle,
        sections=sections,
        verdict=verdict,
        asked=asked or Asked(),
        shown_keys=shown,
        toggles=toggles,
        player=player,
    )
    return page.replace(WORDS_GO_HERE, words_on(page), 1)


def write(path: Path, make: Callable[[], str]) -> None:
    """Write the page that ``make`` returns; FileExistsError, before it is made, where something else stands in its place."""
    if stands_there(path) and not _may_go(path):
        raise FileExistsError(EEXIST, "is no page, and would be overwritten: give the page another name", str(path))
    # many small matrices: threads would only wait for each other; figures are full of cycles, and looking for what can go
    # while they are drawn takes a fifth of the time
    with threadpool_limits(1, user_api="blas"), without_collecting():
        page = make()
    path.parent.mkdir(parents=True, exist_ok=True)
    atomic_files.write_file(path, with_seal(page.encode(), "html"), lasting=False)


@contextmanager
def without_collecting() -> Iterator[None]:
    """Let garbage be until the end."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def _may_go(path: Path) -> bool:
    """Tell whether what stands there is empty or a page of ours: sealed and unchanged, or from before pages were sealed."""
    if path.is_dir():
        raise IsADirectoryError(EISDIR, "is a folder: give the page another name", str(path))
    try:
        data = read_regular(path, LARGEST_PAGE)
    except OSError:
        return False
    unsealed = OLD_HEAD in data[:1000] and not has_seal(data, "html")
    return not data or is_sealed(data, "html") or unsealed


def write_each(items: Iterable[Item], folder: Path, kind: Format) -> list[Path]:
    """Write the figure of each exhibit to a file of its own; return their names."""
    if folder.is_symlink():
        raise FileExistsError(EEXIST, "is a symbolic link: figures are not written through it", str(folder))
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for item in items:
        if isinstance(item, Exhibit):
            written.append(folder / f"{item.key}.{kind}")
            write_figure(item.figure, written[-1], kind)
    return written


def cell_text(value: Cell) -> str:
    """Return a cell as text: four digits, a dash for nothing."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return DASH
    if isinstance(value, str):
        return value
    return whole(value) if math.isfinite(value) and float(value).is_integer() else number(value, 4)


def _template(name: str) -> jinja2.Template:
    import jinja2
    from markupsafe import Markup

    environment = jinja2.Environment(
        autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=jinja2.StrictUndefined
    )
    environment.filters["cell"] = cell_text
    # our own drawing: letters are outlines, and the only words in it, the description, are escaped
    environment.filters["drawn"] = lambda one: Markup(inline_svg(one.figure, one.key, one.told))  # noqa: S704
    environment.tests.update(
        exhibit=_is(Exhibit),
        omitted=_is(Omitted),
        table=_is(Shown),
        listing=_is(Listing),
        text=_is(str),
        words=_is_words,
    )
    return environment.from_string(resources.files("tracker.reports").joinpath(name).read_text(encoding="utf-8"))


def _is_words(cell: Cell) -> bool:
    """Tell words, which stand at the left, from numbers with signs and units, which stand at the right."""
    return isinstance(cell, str) and not _NUMBER.match(cell)


def _is(kind: type) -> Any:
    return lambda item: isinstance(item, kind)
