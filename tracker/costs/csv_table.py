"""Read comma-separated numbers under a row of names, strictly; columns of text are passed over unless somebody wants their numbers.

Plain numbers are read by numpy, a block of lines after the other, so that a large file takes little more memory than its numbers.
What is odd is read again, number by number, by whoever says what is wrong with it.
"""

from __future__ import annotations

import csv
import io
import re
from array import array
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tracker.costs.regime_column import RegimeColumn
from tracker.keys import LARGEST

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tracker.array_types import Array
    from tracker.regular_files import Content

LONGEST_HEAD = 1_000_000  # bytes of the row of names
MOST_COLUMNS = 1000
MOST_NUMBERS = 25_000_000  # rows x columns
MOST_ODD_NUMBERS = 300_000  # in quotes, or otherwise not as a program would write them: they take ten times as long
MOST_NAMES = 10_000  # of modes in a column of a large file
LONGEST_CELL_SHOWN = 30  # characters
WAY_OUT = ': leave out the row or the column; a column that names modes goes with [schedule] from = "COLUMN"'
BLOCK = 1_000_000  # bytes

_PLAIN_BYTES = b"0123456789+-.,eE \t\r\n"
_BLANK_LINE = re.compile(rb"^[ \t]+\r?$", re.MULTILINE)
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,3})?", re.ASCII)


class DataTable(NamedTuple):
    """The names of the columns, and the numbers (rows, columns), rows counted from 1 below the names."""

    columns: tuple[str, ...]
    numbers: Array
    regimes: RegimeColumn | None = None  # of the column that names the mode of each row, whose numbers count its names
    words: Mapping[str, str] = {}  # columns of text, whose numbers are 0: what is wrong with one that is to be used

    def column(self, name: str) -> Array:
        """Return a column of numbers, shape (rows,)."""
        if name in self.words:
            raise ValueError(self.words[name])
        return self.numbers[:, self.columns.index(name)]


def parse_table(content: Content, regime: str | None = None) -> DataTable:
    """Return the numbers in ``content``; every row has one for each name in the first, but in the column ``regime`` a name."""
    _refuse_many(content, MOST_NUMBERS)
    if (fast := _plain_table(content, regime)) is not None:
        return fast
    _refuse_many(content, MOST_ODD_NUMBERS)
    try:
        rows = filter(None, csv.reader(io.StringIO(_text(content[:]), newline=""), strict=True))
        names = _names(next(rows, []))
        at, known = names.index(regime) if regime in names else None, dict[str, int]()
        numbers = array("d")  # a list of lists would take ten times the memory
        words: dict[int, str] = {}  # dates, remarks: what nobody uses does no harm
        for n, row in enumerate(rows, 1):
            if at is not None and len(row) > at:
                row[at] = str(known.setdefault(row[at].strip(), len(known)))
            if n == 1:
                words = _columns_of_text(row, names)
            for place in words:
                row[place : place + 1] = ["0"] * (place < len(row))
            numbers.extend(_numbers(n, row, names, WAY_OUT))
    except csv.Error as error:
        raise ValueError(f"not comma-separated values: {error}") from None
    if not numbers:
        raise ValueError("no data: the first row names the columns, and each row below has a number for each")
    table = _table(names, np.array(numbers, dtype=float).reshape(-1, len(names)), at, list(known))
    return table._replace(words={names[place]: problem for place, problem in words.items()})


def _columns_of_text(row: list[str], names: tuple[str, ...]) -> dict[int, str]:
    """Return the columns in which the first row of data has text, and what to say to whoever wants their numbers."""
    found = {}
    for place, (cell, name) in enumerate(zip(row, names, strict=False)):
        if cell.strip() and not _NUMBER.fullmatch(cell.strip()):
            found[place] = f"row 1, column {_shown(name)}: {_shown(cell.strip())} is not a number{WAY_OUT}"
    return found


def _table(names: tuple[str, ...], numbers: Array, at: int | None, known: list[str]) -> DataTable:
    regimes = None if at is None else RegimeColumn(tuple(known), numbers[:, at].astype(np.int64))
    return DataTable(names, numbers, regimes)


def _plain_table(content: Content, regime: str | None) -> DataTable | None:
    """Return the table, its numbers read by numpy; None where anything is odd."""
    begin = content.find(b"\n", 0, LONGEST_HEAD) + 1
    head = content[:begin].strip(b"\r\n")
    if not head.strip() or b'"' in head or b"\r" in head:
        return None
    names = [name.strip() for name in _text(head).split(",")]
    at, known = names.index(regime) if regime in names else None, dict[bytes, bytes]()
    marks = _count(content, b",") + _count(content, b"\n")  # one after each number but the last
    numbers, filled = np.empty((marks // len(names) + 1, len(names))), 0
    for block in _blocks(content, begin):
        if not block.strip(b"\r\n"):
            continue
        coded = block if at is None else _names_counted(block, at, known)
        part = None if coded is None else _plain_numbers(coded)
        if part is None or part.shape[1] != len(names):
            return None
        numbers[filled : filled + len(part)] = part
        filled += len(part)
    try:
        found = [name.decode() for name in known]
    except UnicodeDecodeError:
        return None
    return _table(_names(names), numbers[:filled], at, found) if filled else None


def _blocks(content: Content, begin: int) -> Iterator[bytes]:
    """Return whole lines of ``content`` from byte ``begin`` on, about BLOCK bytes at a time."""
    while begin < len(content):
        end = begin + BLOCK
        if end < len(content):
            end = (content.rfind(b"\n", begin, end) + 1) or (content.find(b"\n", end) + 1) or len(content)
        yield content[begin:end]
        begin = end


def _names_counted(block: bytes, at: int, known: dict[bytes, bytes]) -> bytes | None:
    """Return the lines with the number of its name in place of each name in column ``at``; None where anything is odd."""
    if b'"' in block:
        return None
    lines = []
    for line in block.splitlines():
        if line:
            cells = line.split(b",", at + 1)
            if len(cells) <= at or len(known) > MOST_NAMES:
                return None
            cells[at] = known.setdefault(cells[at].strip(), b"%d" % len(known))
            lines.append(b",".join(cells))
    return b"\n".join(lines)


def numbers_in(content: Content) -> Array:
    """Return the numbers in ``content``, which has no row of names."""
    _refuse_many(content, MOST_NUMBERS)
    if (fast := _plain_numbers(content[:])) is not None:
        return fast
    _refuse_many(content, MOST_ODD_NUMBERS)
    lines = [line for line in _text(content[:]).splitlines() if line.strip()]
    if not lines:
        raise ValueError("no numbers")
    names = tuple(str(n) for n in range(1, lines[0].count(",") + 2))
    return np.array([_numbers(n, line.split(","), names) for n, line in enumerate(lines, 1)], dtype=float)


def _text(content: bytes) -> str:
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(f"not UTF-8 text: byte {content[error.start]:#04x} at position {error.start}") from None


def _count(content: Content, mark: bytes) -> int:
    return sum(content[at : at + BLOCK].count(mark) for at in range(0, len(content), BLOCK))


def _refuse_many(content: Content, most: int) -> None:
    if _count(content, b",") + max(_count(content, b"\n"), _count(content, b"\r")) > most:
        odd = "" if most == MOST_NUMBERS else " unless all are plain: digits, sign, point, exponent"
        raise ValueError(f"more than {most} numbers, the most that a data file may have{odd}")


def _plain_numbers(body: bytes) -> Array | None:
    """Return the numbers (rows, columns), read by numpy; None where anything is odd.

    Without letters beside exponents there is no nan, no inf and no name, so that numpy reads a number as strictly as we do.
    """
    odd_ends = b"\r" in body and b"\r" in body.replace(b"\r\n", b"")
    if not body.strip() or body.translate(None, _PLAIN_BYTES) or odd_ends or _BLANK_LINE.search(body):
        return None
    try:
        numbers = np.loadtxt(io.BytesIO(body), delimiter=",", comments=None, ndmin=2, encoding="ascii")
    except ValueError:
        return None
    return numbers if np.abs(numbers).max() <= LARGEST else None


def _names(row: list[str]) -> tuple[str, ...]:
    names = tuple(name.strip() for name in row)
    if len(names) > MOST_COLUMNS:
        raise ValueError(f"{len(names)} columns are too many, at most {MOST_COLUMNS}")
    for index, name in enumerate(names):
        if not name:
            raise ValueError(f"column {index + 1} has no name in the first row")
        if name in names[:index]:
            raise ValueError(f"column {_shown(name)} is named twice in the first row")
        if _NUMBER.fullmatch(name):
            raise ValueError(f"the first row must name the columns, but has the number {_shown(name)}")
    return names


def _numbers(n: int, row: list[str], names: tuple[str, ...], way_out: str = "") -> list[float]:
    if len(row) != len(names):
        raise ValueError(f"row {n}: {len(row)} numbers, but there are {len(names)} columns")
    return [_number(cell.strip(), n, name, way_out) for cell, name in zip(row, names, strict=True)]


def _number(cell: str, n: int, name: str, way_out: str) -> float:
    if _NUMBER.fullmatch(cell) and abs(number := float(cell)) <= LARGEST:
        return number
    place = f"row {n}, column {_shown(name)}"
    if not cell:
        raise ValueError(f"{place}: empty{way_out}")
    if not _NUMBER.fullmatch(cell):
        raise ValueError(f"{place}: {_shown(cell)} is not a number{way_out}")
    raise ValueError(f"{place}: {_shown(cell)} must be at most {LARGEST:g} in size")


def _shown(cell: str) -> str:
    short = cell if len(cell) <= LONGEST_CELL_SHOWN else cell[:LONGEST_CELL_SHOWN] + "..."
    return '"' + "".join(c if c.isprintable() else " " for c in short) + '"'
