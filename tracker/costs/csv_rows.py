"""Read data files beside a scenario: comma-separated numbers under a row of names. Anything else is refused.

A ``DataFile`` is the name that a scenario file gives together with the content of the file. Changed copies of the scenario and
other processes get both, so that a scenario does not depend on a folder any more once it is read.
"""

from __future__ import annotations

import csv
import errno
import io
import re
from array import array
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import numpy as np
from pydantic import PlainValidator

from tracker.costs.regime_column import Regimes, code_column
from tracker.keys import LARGEST
from tracker.regular_files import NotRegular, read_regular

if TYPE_CHECKING:
    from pathlib import Path

    from tracker.array_types import Array

LARGEST_DATA = 100_000_000  # bytes
LONGEST_HEAD = 1_000_000  # bytes of the row of names
MOST_COLUMNS = 1000
MOST_NUMBERS = 10_000_000  # rows x columns
MOST_ODD_NUMBERS = 300_000  # in quotes, or otherwise not as a program would write them: they take ten times as long
LONGEST_CELL_SHOWN = 30  # characters
UNREAD = (
    "is looked for beside the scenario file, but this scenario comes from no file: give costs.csv_rows.read_data(path)"
)

_PLAIN_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,59}\.csv")
_PLAIN_BYTES = b"0123456789+-.,eE \t\r\n"
_BLANK_LINE = re.compile(rb"^[ \t]+\r?$", re.MULTILINE)
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,3})?", re.ASCII)


class DataTable(NamedTuple):
    """The names of the columns, and the numbers (rows, columns), rows counted from 1 below the names."""

    columns: tuple[str, ...]
    numbers: Array

    def column(self, name: str) -> Array:
        """Return a column, shape (rows,)."""
        return self.numbers[:, self.columns.index(name)]


class DataFile(str):  # noqa: SLOT000  (it keeps its table)
    """The name of a data file, with its content; without any, ``problem`` says why."""

    content: bytes | None
    problem: str
    regime: str | None  # the column that names the mode of each row, if any does

    def __new__(  # noqa: PYI034
        cls, name: str, content: bytes | None = None, problem: str = UNREAD, regime: str | None = None
    ) -> DataFile:
        """Keep what the file holds beside its name."""
        file = super().__new__(cls, name)
        file.content, file.problem, file.regime = content, problem, regime
        return file

    def __reduce__(self) -> tuple[Any, ...]:
        """Let copies and other processes have the content too, but not the table made of it."""
        return DataFile, (str(self), self.content, self.problem, self.regime)

    @cached_property
    def _coded(self) -> tuple[bytes, Regimes | None]:
        if self.content is None:
            raise ValueError(self.problem)
        return (self.content, None) if self.regime is None else code_column(self.content, self.regime)

    @property
    def regimes(self) -> Regimes | None:
        """Which mode holds at each row; None where no column says it."""
        return self._coded[1]

    @cached_property
    def table(self) -> DataTable:
        """The numbers; read once, however many modes use them."""
        return parse_table(self._coded[0])

    @cached_property
    def derived(self) -> dict[Any, Any]:
        """What was made of the table, by those who made it, so that it is made once."""
        return {}


def read_data(path: Path, regime: str | None = None) -> DataFile:
    """Return the data file at ``path``, not more than the largest allowed; what went wrong is said when it is used.

    ``regime``: the column that names the mode of each row.
    """
    try:
        return DataFile(path.name, read_regular(path, LARGEST_DATA, links=True), regime=regime)
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError, NotRegular):
        return DataFile(path.name, problem=f"no such file in {path.parent.name or 'this folder'}/")
    except OSError as error:
        too_large = f"larger than {LARGEST_DATA // 10**6} MB, the most that a data file may have"
        problem = too_large if error.errno == errno.EFBIG else f"cannot be read: {error.strerror}"
        return DataFile(path.name, problem=problem)


def parse_table(content: bytes) -> DataTable:
    """Return the numbers in ``content``; every row has one for each name in the first."""
    _refuse_many(content, MOST_NUMBERS)
    head, _, _ = content[:LONGEST_HEAD].partition(b"\n")
    if (fast := _plain_numbers(content, len(head) + 1)) is not None and b'"' not in head:
        names = _names(_text(head).strip("\r").split(","))
        if len(names) == fast.shape[1]:
            return DataTable(names, fast)
    _refuse_many(content, MOST_ODD_NUMBERS)
    try:
        rows = filter(None, csv.reader(io.StringIO(_text(content), newline=""), strict=True))
        names = _names(next(rows, []))
        numbers = array("d")  # a list of lists would take ten times the memory
        for n, row in enumerate(rows, 1):
            numbers.extend(_numbers(n, row, names))
    except csv.Error as error:
        raise ValueError(f"not comma-separated values: {error}") from None
    if not numbers:
        raise ValueError("no data: the first row names the columns, and each row below has a number for each")
    return DataTable(names, np.array(numbers, dtype=float).reshape(-1, len(names)))


def numbers_in(content: bytes) -> Array:
    """Return the numbers in ``content``, which has no row of names."""
    _refuse_many(content, MOST_NUMBERS)
    if (fast := _plain_numbers(content, 0)) is not None:
        return fast
    _refuse_many(content, MOST_ODD_NUMBERS)
    lines = [line for line in _text(content).splitlines() if line.strip()]
    if not lines:
        raise ValueError("no numbers")
    names = tuple(str(n) for n in range(1, lines[0].count(",") + 2))
    return np.array([_numbers(n, line.split(","), names) for n, line in enumerate(lines, 1)], dtype=float)


def _text(content: bytes) -> str:
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(f"not UTF-8 text: byte {content[error.start]:#04x} at position {error.start}") from None


def _refuse_many(content: bytes, most: int) -> None:
    if content.count(b",") + max(content.count(b"\n"), content.count(b"\r")) > most:
        odd = "" if most == MOST_NUMBERS else " unless all are plain: digits, sign, point, exponent"
        raise ValueError(f"more than {most} numbers, the most that a data file may have{odd}")


def _plain_numbers(content: bytes, begin: int) -> Array | None:
    """Return the numbers (rows, columns) from byte ``begin`` on, read by numpy; None where anything is odd.

    What is odd is read again, number by number, by whoever says what is wrong with it. Without letters beside exponents
    there is no nan, no inf and no name, so that numpy reads a number as strictly as we do.
    """
    body = content[begin:]
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


def _numbers(n: int, row: list[str], names: tuple[str, ...]) -> list[float]:
    if len(row) != len(names):
        raise ValueError(f"row {n}: {len(row)} numbers, but there are {len(names)} columns")
    return [_number(cell.strip(), n, name) for cell, name in zip(row, names, strict=True)]


def _number(cell: str, n: int, name: str) -> float:
    if _NUMBER.fullmatch(cell) and abs(number := float(cell)) <= LARGEST:
        return number
    place = f"row {n}, column {_shown(name)}"
    if not cell:
        raise ValueError(f"{place}: empty")
    if not _NUMBER.fullmatch(cell):
        raise ValueError(f"{place}: {_shown(cell)} is not a number")
    raise ValueError(f"{place}: {_shown(cell)} must be at most {LARGEST:g} in size")


def _shown(cell: str) -> str:
    short = cell if len(cell) <= LONGEST_CELL_SHOWN else cell[:LONGEST_CELL_SHOWN] + "..."
    return '"' + "".join(c if c.isprintable() else " " for c in short) + '"'


def plain_name(value: Any) -> DataFile:
    """Return the data file that ``value`` names, after checking that it is a plain name; nothing is read."""
    if not isinstance(value, str):
        raise ValueError("must be text")  # noqa: TRY004  (pydantic collects ValueErrors only)
    if not _PLAIN_NAME.fullmatch(value):
        raise ValueError("must be the plain name of a file beside the scenario: letters, digits, _ and -, then .csv")
    return value if isinstance(value, DataFile) else DataFile(value)


def _data_file(value: Any) -> DataFile:
    file = plain_name(value)
    try:
        file.table  # noqa: B018  (its problems are the file's)
    except ValueError as error:
        raise ValueError(f"{file}: {error}") from None
    return file


# the plain name of a data file beside the scenario
CsvFile = Annotated[DataFile, PlainValidator(_data_file, json_schema_input_type=str)]
