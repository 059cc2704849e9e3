"""Write the files of a run. No other module writes them.

A file is written to a temporary name, flushed, synced and renamed, and its folder is synced: a name always stands for a
whole file. ``disk`` does the single steps; a test puts one in its place that fails at the n-th of them.
"""

from __future__ import annotations

import os
import re
import secrets
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from tracker.regular_files import NOT_FOLLOWING, NOT_WAITING, is_own_folder, is_regular, stands_there

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tracker.regular_files import Content

TEMPORARY = ".tmp"
_TEMPORARY_NAME = re.compile(r"\.(.+)\.[0-9a-f]{12}\.tmp")


class Disk:
    """The single steps; each may fail."""

    def open(self, path: Path, mode: str) -> BinaryIO:
        """Open a file for writing."""
        # never through a link or into a pipe, where a file is only added to
        return open(path, mode, opener=_carefully)  # type: ignore[return-value]

    def write(self, file: BinaryIO, data: Content) -> None:
        """Hand all of ``data`` to the system."""
        file.write(data)
        file.flush()

    def fill(self, path: Path, writer: Callable[[Path], None]) -> None:
        """Let a library write the file ``path``."""
        writer(path)

    def sync(self, handle: int) -> None:
        """Wait until an open file or folder is on the disk."""
        os.fsync(handle)

    def rename(self, old: Path, new: Path) -> None:
        """Give a file its name, in place of any other of that name."""
        old.replace(new)

    def remove(self, path: Path) -> None:
        """Take a file or an empty folder away."""
        if path.is_dir() and not path.is_symlink():
            path.rmdir()
        else:
            path.unlink(missing_ok=True)

    def make_folder(self, path: Path) -> None:
        """Make a folder, and those above it."""
        path.mkdir(parents=True, exist_ok=True)


def _carefully(name: str, flags: int) -> int:
    return os.open(name, flags | NOT_WAITING | NOT_FOLLOWING, 0o666)


disk = Disk()


def write_file(path: Path, data: Content, *, lasting: bool = True) -> None:
    """Write ``data`` so that ``path`` is at any moment absent, old or complete; ``lasting``: even if the power fails."""
    temporary = temporary_of(path)
    try:
        with _named(path), disk.open(temporary, "xb") as file:
            disk.write(file, data)
            if lasting:
                disk.sync(file.fileno())
        disk.rename(temporary, path)
    except BaseException:
        forget(temporary)
        raise
    if lasting:
        sync_folder(path.parent)


def write_with(path: Path, writer: Callable[[Path], None]) -> None:
    """Do the same for a file that a library writes to a path of its own."""
    temporary = temporary_of(path)
    try:
        with _named(path):
            disk.fill(temporary, writer)
        with temporary.open("rb") as file:
            disk.sync(file.fileno())
        disk.rename(temporary, path)
    except BaseException:
        forget(temporary)
        raise
    sync_folder(path.parent)


def append(path: Path, data: bytes) -> None:
    """Add ``data`` to the end of a file; a crash may leave a part of it."""
    new = not path.exists()
    with _named(path), disk.open(path, "ab") as file:
        disk.write(file, data)
        disk.sync(file.fileno())
    if new:
        sync_folder(path.parent)


@contextmanager
def _named(path: Path) -> Iterator[None]:
    """Say in an error which file it was: the error of a write knows no name, and that of an opening a temporary one."""
    try:
        yield
    except OSError as error:
        if error.errno is not None:
            error.filename = str(path)
        raise


def sync_folder(folder: Path) -> None:
    """Wait until the names in ``folder`` are on the disk."""
    if os.name == "posix":
        handle = os.open(folder, os.O_RDONLY)
        try:
            disk.sync(handle)
        finally:
            os.close(handle)


def make_folder(path: Path) -> None:
    """Make a folder, and those above it."""
    disk.make_folder(path)


def move(path: Path, folder: Path) -> Path:
    """Move ``path`` into ``folder``, under a name that is free there."""
    make_folder(folder)
    names = (path.name if n == 0 else f"{path.name}.{n}" for n in range(1_000_000))
    target = next(folder / name for name in names if not stands_there(folder / name))
    disk.rename(path, target)
    return target


def rename(old: Path, new: Path) -> None:
    """Give a file another name in its folder, in place of any other of that name."""
    disk.rename(old, new)
    sync_folder(new.parent)


def remove(path: Path) -> None:
    """Remove a file, or a folder that is empty; what is not there needs no removing."""
    if stands_there(path):
        disk.remove(path)


def remove_if_empty(folder: Path) -> None:
    """Remove a folder unless it holds something."""
    if is_own_folder(folder) and not any(folder.iterdir()):
        disk.remove(folder)


def remove_temporaries(folder: Path, known: Callable[[str], bool]) -> None:
    """Remove what a killed writer of the files with ``known`` names left behind in ``folder``."""
    for path in sorted(folder.iterdir()):
        if is_temporary(path, known):
            disk.remove(path)


def is_temporary(path: Path, known: Callable[[str], bool]) -> bool:
    """Tell whether a writer of a file with a ``known`` name left ``path``: a file with a name of exactly the form used here."""
    found = _TEMPORARY_NAME.fullmatch(path.name)
    return found is not None and known(found[1]) and is_regular(path)


def temporary_of(path: Path) -> Path:
    """Return a name beside ``path`` that nobody else uses, for as long as the file is not whole."""
    # several machines may write to one folder: a process number is not enough
    return path.with_name(f".{path.name}.{secrets.token_hex(6)}{TEMPORARY}")


def forget(path: Path) -> None:
    """Remove a temporary file, if that can be done."""
    with suppress(OSError):
        disk.remove(path)
