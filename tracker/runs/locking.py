"""One writer per run directory: a lock that ends with its holder and says who that is."""

from __future__ import annotations

import json
import os
import socket
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, NamedTuple

from tracker.runs import files
from tracker.runs.errors import RunLocked

if TYPE_CHECKING:
    from collections.abc import Iterator

LOCK = "lock"
ATTEMPTS = 10


class Holder(NamedTuple):
    """Who has a lock."""

    host: str
    pid: int
    since: str

    def __str__(self) -> str:
        return f"process {self.pid} on {self.host} (since {self.since})"


def me() -> Holder:
    """Return this process."""
    return Holder(socket.gethostname(), os.getpid(), time.strftime("%Y-%m-%d %H:%M:%S %z"))


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold the lock of ``folder``, which must exist.

    The system's own lock (flock) ends with the process, however it ends. Where there is none, the file's content decides:
    a holder on this machine that is no longer alive has left a stale lock.
    """
    path = folder / LOCK
    file = _acquire(path)
    try:
        yield
    finally:
        # by name first: whoever opened the file before sees that it is no longer the one with the name
        with suppress(OSError):
            files.remove(path)
        file.close()


def _acquire(path: Path) -> BinaryIO:
    for _ in range(ATTEMPTS):
        file = files.disk.open(path, "ab+")
        try:
            free = _claim(file)
            mine = free and path.exists() and os.path.samestat(os.fstat(file.fileno()), path.stat())
            if mine:
                file.truncate(0)
                files.disk.write(file, (json.dumps(me()._asdict()) + "\n").encode())
                return file
        except BaseException:
            file.close()
            raise
        file.close()
        if not free:
            break
        # otherwise the last holder removed it between our opening and our claim: once more
    raise RunLocked(path.parent, str(holder_of(path.parent) or "another process"))


def _claim(file: BinaryIO) -> bool:
    try:
        import fcntl
    except ImportError:
        return _is_stale(_parsed(file))
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a file system without locks
        return _is_stale(_parsed(file))
    return True


def holder_of(folder: Path) -> Holder | None:
    """Return who is named in the lock of ``folder``, alive or not."""
    try:
        with (folder / LOCK).open("rb") as file:
            return _parsed(file)
    except OSError:
        return None


def living_holder(folder: Path) -> Holder | None:
    """Return who holds the lock of ``folder`` at this moment."""
    try:
        with (folder / LOCK).open("rb") as file:
            holder = _parsed(file)
            if holder is None or _is_stale(holder):
                return None
            return holder if holder.host != socket.gethostname() or not _can_share(file) else None
    except OSError:
        return None


def _can_share(file: BinaryIO) -> bool:
    """Whether nobody has an exclusive lock on the file."""
    try:
        import fcntl

        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except (ImportError, OSError):
        return False  # no locks here: the content decides
    return True


def _parsed(file: BinaryIO) -> Holder | None:
    file.seek(0)
    try:
        found = json.loads(file.read(10_000))
        return Holder(str(found["host"]), int(found["pid"]), str(found["since"]))
    except (ValueError, KeyError, TypeError):
        return None


def _is_stale(holder: Holder | None) -> bool:
    """Whether nobody, or a process of this machine that has ended, is named."""
    if holder is None:
        return True
    if holder.host != socket.gethostname() or os.name != "posix":
        return False
    try:
        os.kill(holder.pid, 0)
    except ProcessLookupError:
        return True
    except OSError:
        return False
    return False
