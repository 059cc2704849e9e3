"""The parts of a page: exhibits (a question, its figure, its numbers), and notes on what was left out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Cell = str | float | None


class Table(NamedTuple):
    """Numbers in rows; None is shown as a dash.

    best : the row to be seen first, if there is one
    apart : how many rows at the end are set apart by a rule
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    best: int | None = None
    apart: int = 0


@dataclass(frozen=True)
class Exhibit:
    """A figure that answers a question.

    key : names its file and its place on the page
    question : its title
    caption : one sentence with the numbers that answer the question
    alt : what the figure shows, for those who do not see it
    method : how the numbers are made, folded away with them
    folded : whether its title alone is seen until it is opened, where another figure says the same
    """

    key: str
    question: str
    caption: str
    alt: str
    figure: Figure
    table: Table
    method: str = ""
    folded: bool = False

    @property
    def told(self) -> str:
        """What was found, and how it is drawn: for those who do not see the figure."""
        return f"{self.caption} {self.alt}"


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
    """A line of the verdict.

    mark : a word or two in front of it
    answer : at most 25 words
    tone : "good", "warn", "bad" or "plain"
    more : sentences that are folded away
    link : the key of the exhibit that shows it
    """

    question: str
    mark: str
    answer: str
    tone: str = "plain"
    more: tuple[str, ...] = ()
    link: str = ""

    @property
    def in_full(self) -> str:
        """The answer with what is folded away."""
        return " ".join((self.answer, *self.more))


class Checked(Protocol):
    """A check as the box lists it."""

    @property
    def name(self) -> str:
        """What was looked at."""

    @property
    def result(self) -> str:
        """What was seen."""

    @property
    def fine(self) -> bool:
        """Whether nothing is worth a warning."""


class VerdictBox(NamedTuple):
    """The box on top: the answers, then the warnings and the list of checks."""

    warnings: tuple[str, ...]
    answers: tuple[Answer, ...]
    checks: tuple[Checked, ...] = ()

    @property
    def headline(self) -> str:
        """The first answer with a mark: what the title of the page says."""
        return next((f"{answer.question} {answer.mark}" for answer in self.answers if answer.mark), "")


class Toggle(NamedTuple):
    """A sampler that can be dimmed in all figures of a page; ``colour`` is the place of its colour."""

    name: str
    colour: int


class ClaimOutcome(NamedTuple):
    """A claim of the scenario with what became of it: a word, its tone as in ``Answer``, and the numbers behind it."""

    text: str
    word: str
    tone: str = "plain"
    numbers: str = ""


class Asked(NamedTuple):
    """What the scenario is about: the claim, a sentence on the world, and the claims that can be judged."""

    claim: str = ""
    description: str = ""
    outcomes: tuple[ClaimOutcome, ...] = ()
