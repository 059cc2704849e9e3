"""The parts of a page: exhibits (a question, its figure, its numbers), and notes on what was left out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Cell = str | float | None


class Table(NamedTuple):
    """Numbers in rows; None is shown as a dash."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]


@dataclass(frozen=True)
class Exhibit:
    """A figure that answers a question.

    key : names its file and its place on the page
    question : its title
    caption : one sentence with the numbers that answer the question
    alt : what the figure shows, for those who do not see it
    """

    key: str
    question: str
    caption: str
    alt: str
    figure: Figure
    table: Table


@dataclass(frozen=True)
class Omitted:
    """A question that does not apply here, and why."""

    key: str
    question: str
    reason: str


@dataclass(frozen=True)
class Shown:
    """A table in plain sight."""

    caption: str
    table: Table


@dataclass(frozen=True)
class Listing:
    """A text to be read as it is: a scenario file, a command; ``folded`` hides it behind its title."""

    title: str
    text: str
    folded: bool = False


Item = Exhibit | Omitted | Shown | Listing


class Section(NamedTuple):
    """A part of a page; an empty heading shows none."""

    heading: str
    text: tuple[str, ...] = ()
    items: tuple[Item, ...] = ()


class Answer(NamedTuple):
    """A line of the verdict; ``mark`` is a word or two in front of it, ``tone`` is "good", "warn", "bad" or "plain"."""

    question: str
    mark: str
    answer: str
    tone: str = "plain"


class VerdictBox(NamedTuple):
    """The box on top: warnings first, then the answers."""

    warnings: tuple[str, ...]
    answers: tuple[Answer, ...]
