"""Read data files beside a scenario: comma-separated numbers under a row of names. Anything else is refused.

A ``DataFile`` is the name that a scenario file gives together with the content of the file. Changed copies of the scenario and
other processes get both, so that a scenario does not depend on a folder any more once it is read.
"""

from __future__ import annotations

import errno
import hashlib
import re
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import PlainValidator

from tracker.costs.csv_table import DataTable, parse_table
from tracker.regular_files import NotRegular, mapped_regular

if TYPE_CHECKING:
    from pathlib import Path

    from tracker.costs.regime_column import RegimeColumn
    from tracker.regular_files import Content

LARGEST_DATA = 100_000_000  # bytes
UNREAD = (
    "is looked for beside the scenario file, but this scenario comes from no file: give costs.csv_rows.read_data(path)"
)

_PLAIN_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,59}\.csv")


class DataFile(str):  # noqa: SLOT000  (it keeps its table)
    """The name of a data file, with its content; without any, ``problem`` says why."""

    content: Content | None
    problem: str
    regime: str | None  # the column that names the mode of each row, if any does

    def __new__(  # noqa: PYI034
        cls, name: str, content: Content | None = None, problem: str = UNREAD, regime: str | None = None
    ) -> DataFile:
        """Keep what the file holds beside its name."""
        file = super().__new__(cls, name)
        file.content, file.problem, file.regime = content, problem, regime
        return file

    def __reduce__(self) -> tuple[Any, ...]:
        """Let copies and other processes have the content too, but not the table made of it."""
        return DataFile, (str(self), None if self.content is None else self.content[:], self.problem, self.regime)

    @cached_property
    def table(self) -> DataTable:
        """The numbers, and which mode holds at each row if a column says it; read once, however many modes use them."""
        if self.content is None:
            raise ValueError(self.problem)
        return parse_table(self.content, self.regime)

    @property
    def regimes(self) -> RegimeColumn | None:
        """Which mode holds at each row; None where no column says it."""
        return self.table.regimes

    @cached_property
    def sha256(self) -> str:
        """The hash of the content."""
        return hashlib.sha256(self.content or b"").hexdigest()

    @cached_property
    def derived(self) -> dict[Any, Any]:
        """What was made of the table, by those who made it, so that it is made once."""
        return {}


def read_data(path: Path, regime: str | None = None) -> DataFile:
    """Return the data file at ``path``, not more than the largest allowed; what went wrong is said when it is used.

    ``regime``: the column that names the mode of each row.
    """
    try:
        return DataFile(path.name, mapped_regular(path, LARGEST_DATA, links=True), regime=regime)
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError, NotRegular):
        folder = f"{path.parent.name}/" if path.parent.name else "this folder"
        return DataFile(path.name, problem=f"no such file in {folder}")
    except OSError as error:
        too_large = f"larger than {LARGEST_DATA // 10**6} MB, the most that a data file may have"
        problem = too_large if error.errno == errno.EFBIG else f"cannot be read: {error.strerror}"
        return DataFile(path.name, problem=problem)


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
