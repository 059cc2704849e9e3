"""Read files that may come from anybody: only regular files, of bounded size, without waiting.

A pipe would wait for ever, a device would never end, and a symbolic link leads to a file that nobody meant to hand over.
"""

from __future__ import annotations

import errno
import mmap
import os
import stat
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

if TYPE_CHECKING:
    from collections.abc import Iterator

NO_FILE = "is no regular file: pipes, devices and links are not read"
MAPPED = 4_000_000  # bytes from which on ``mapped_regular`` keeps nothing in memory
BLOCK = 1_000_000  # bytes
Content = bytes | mmap.mmap  # of a file
# without these names (Windows) there are no such files either
NOT_WAITING = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
NOT_FOLLOWING = getattr(os, "O_NOFOLLOW", 0)


class NotRegular(OSError):
    """What stands under the name is no regular file."""


@contextmanager
def open_regular(path: Path, *, links: bool = False, write: bool = False) -> Iterator[BinaryIO]:
    """Open the regular file ``path``; with ``links`` its name may be a link to one, with ``write`` it is changed in place.

    Raises
    ------
    NotRegular
        If it is a pipe, a device, a socket, or a link where none is allowed.
    OSError
        If it cannot be opened; a folder is an ``IsADirectoryError``.
    """
    way = os.O_RDWR if write else os.O_RDONLY
    try:
        handle = os.open(path, way | NOT_WAITING | (0 if links else NOT_FOLLOWING))
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENXIO, errno.EMLINK) and not (links and error.errno == errno.ELOOP):
            raise NotRegular(error.errno, NO_FILE, str(path)) from None
        raise
    try:
        _refuse_others(os.fstat(handle).st_mode, path)
        file = os.fdopen(handle, "r+b" if write else "rb")
    except BaseException:
        os.close(handle)
        raise
    with file:
        yield file


def _refuse_others(mode: int, path: Path) -> None:
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if not stat.S_ISREG(mode):
        raise NotRegular(errno.EINVAL, NO_FILE, str(path))


def read_regular(path: Path, most: int, *, links: bool = False) -> bytes:
    """Return the content of the regular file ``path``, which may have at most ``most`` bytes (OSError, EFBIG)."""
    with open_regular(path, links=links) as file:
        size = os.fstat(file.fileno()).st_size
        content = file.read(size + 1) if size <= most else b""  # one more: it may grow while it is read
    if max(size, len(content)) > most:
        raise OSError(errno.EFBIG, f"is larger than the {most} bytes that it may have", str(path))
    return content


def mapped_regular(path: Path, most: int, *, links: bool = False) -> Content:
    """Return what ``read_regular`` does; of a large file the map of a copy without a name.

    A map of the file itself would change when somebody writes to it, and end the process when somebody cuts it off.
    """
    with open_regular(path, links=links) as file:
        size = os.fstat(file.fileno()).st_size
        if not MAPPED <= size <= most:
            return read_regular(path, most, links=links)
        with tempfile.TemporaryFile() as copy:
            while (block := file.read(BLOCK)) and copy.tell() <= most:
                copy.write(block)
            if copy.tell() > most:
                raise OSError(errno.EFBIG, f"is larger than the {most} bytes that it may have", str(path))
            copy.flush()
            return mmap.mmap(copy.fileno(), 0, access=mmap.ACCESS_READ)


def is_regular(path: Path) -> bool:
    """Tell whether ``path`` is a regular file itself, not a link to one."""
    try:
        return stat.S_ISREG(os.lstat(path).st_mode)
    except (OSError, ValueError):
        return False


def is_own_folder(path: Path) -> bool:
    """Tell whether ``path`` is a folder itself, not a link to one."""
    try:
        return stat.S_ISDIR(os.lstat(path).st_mode)
    except (OSError, ValueError):
        return False


def stands_there(path: Path) -> bool:
    """Tell whether there is anything of that name, also a link that leads nowhere."""
    return os.path.lexists(path)
