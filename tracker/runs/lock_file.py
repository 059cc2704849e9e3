"""Lock a run directory for one writer. The lock names its holder and ends with it.

The lock file gets its name only when its content is complete, so that an interrupted writer can be recognised. A file of
that name that no run wrote is never touched. A library for locks (filelock) does neither: its lock names nobody, and any
file of that name will do.
"""

from __future__ import annotations

import json
import os
import socket
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, NamedTuple

from tracker.printable import printable
from tracker.regular_files import NotRegular, open_regular
from tracker.runs import atomic_files
from tracker.runs.run_errors import CorruptRun, RunLocked
from tracker.runs.sealed_json import open_sealed, seal

if TYPE_CHECKING:
    from collections.abc import Iterator

LOCK = "lock"
LOCK_KEY = "lock"
ATTEMPTS = 10
LARGEST_LOCK = 10_000  # bytes
LONGEST_HOST = 255  # characters, and of the time too
LARGEST_PID = 2**31 - 1


class Holder(NamedTuple):
    """Who has a lock."""

    host: str
    pid: int
    since: str

    def __str__(self) -> str:
        return f"process {self.pid} on {self.host} (since {self.since})"


def this_process() -> Holder:
    """Return this process."""
    return Holder(printable(socket.gethostname(), LONGEST_HOST), os.getpid(), time.strftime("%Y-%m-%d %H:%M:%S %z"))


@contextmanager
def hold_lock(folder: Path) -> Iterator[None]:
    """Hold the lock of ``folder``, which must exist.

    The system's own lock (flock) ends with the process, however it ends. Where there is none, the file's content decides:
    a holder on this machine that is no longer alive has left a stale lock.

    Raises
    ------
    RunLocked
        If another process has it.
    CorruptRun
        If what has the name of the lock is no lock of ours.
    """
    path = folder / LOCK
    file = _acquire(path)
    try:
        yield
    finally:
        # by name first: whoever opened the file before sees that it is no longer the one with the name
        with suppress(OSError):
            atomic_files.remove(path)
        file.close()


def _acquire(path: Path) -> BinaryIO:
    for _ in range(ATTEMPTS):
        file = _new(path) or _taken_over(path)
        if file is not None:
            return file
        # otherwise the last holder removed it between our looking and our opening: once more
    raise RunLocked(path.parent, str(holder_of(path.parent) or "another process"))


def _new(path: Path) -> BinaryIO | None:
    """Make the lock where there is none; None where there is one."""
    temporary, file = _prepared(path)
    try:
        os.link(temporary, path)
    except FileExistsError:
        file.close()
        return None
    except OSError:  # a file system without links: the name comes first, the content at once
        file.close()
        return _made_in_place(path)
    except BaseException:
        file.close()
        raise
    finally:
        atomic_files.forget(temporary)
    return file


def _made_in_place(path: Path) -> BinaryIO | None:
    try:
        file = atomic_files.disk.open(path, "xb")
    except FileExistsError:
        return None
    atomic_files.disk.write(file, _encoded(this_process()))
    _claim(file, None)
    return file


def _prepared(path: Path) -> tuple[Path, BinaryIO]:
    """Return a lock without its name, which is ours already."""
    temporary = atomic_files.temporary_of(path)
    file = atomic_files.disk.open(temporary, "xb")
    try:
        atomic_files.disk.write(file, _encoded(this_process()))
        _claim(file, None)
    except BaseException:
        file.close()
        atomic_files.forget(temporary)
        raise
    return temporary, file


def _taken_over(path: Path) -> BinaryIO | None:
    """Put our lock in the place of a stale one; None where it has just gone."""
    try:
        with open_regular(path, write=True) as old:
            holder = _parsed(old)
            if holder is None:
                raise CorruptRun(path.parent, f"{LOCK} was not written by a run: it is left as it is")
            if not _claim(old, holder):
                raise RunLocked(path.parent, str(holder))
            if not (path.exists() and os.path.samestat(os.fstat(old.fileno()), path.stat())):
                return None
            temporary, file = _prepared(path)
            try:
                atomic_files.disk.rename(temporary, path)  # whoever waits for the old one sees that it lost its name
            except BaseException:
                file.close()
                atomic_files.forget(temporary)
                raise
            return file
    except FileNotFoundError:
        return None
    except (NotRegular, IsADirectoryError):
        raise CorruptRun(path.parent, f"{LOCK} is no file of a run: it is left as it is") from None


def _claim(file: BinaryIO, holder: Holder | None) -> bool:
    """Take the system's lock on ``file``; where there are none, tell whether its ``holder`` has gone."""
    try:
        import fcntl
    except ImportError:
        return _is_stale(holder)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a file system without locks
        return _is_stale(holder)
    return True


def holder_of(folder: Path) -> Holder | None:
    """Return who is named in the lock of ``folder``, alive or not; None where no run wrote it."""
    try:
        with open_regular(folder / LOCK) as file:
            return _parsed(file)
    except OSError:
        return None


def living_holder(folder: Path) -> Holder | None:
    """Return who holds the lock of ``folder`` at this moment."""
    try:
        with open_regular(folder / LOCK) as file:
            holder = _parsed(file)
            if holder is None or _is_stale(holder):
                return None
            return holder if holder.host != this_process().host or not _can_share(file) else None
    except OSError:
        return None


def was_left_by_a_run(folder: Path) -> bool:
    """Tell whether the lock in ``folder`` proves by its check digits that a run of this program began there."""
    try:
        with open_regular(folder / LOCK) as file:
            return bool(open_sealed(file.read(LARGEST_LOCK), LOCK_KEY))
    except OSError:
        return False


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


def _encoded(holder: Holder) -> bytes:
    return seal(holder._asdict(), LOCK_KEY)


def _parsed(file: BinaryIO) -> Holder | None:
    """Return who is named in a lock, with or without check digits (older versions wrote none); None where it is no lock."""
    file.seek(0)
    data = file.read(LARGEST_LOCK)
    try:
        found = open_sealed(data, LOCK_KEY) or json.loads(data)
        holder = Holder(**found)
    except (ValueError, TypeError, RecursionError):
        return None
    clean = all(isinstance(text, str) and text == printable(text, LONGEST_HOST) for text in (holder.host, holder.since))
    number = isinstance(holder.pid, int) and not isinstance(holder.pid, bool) and 1 <= holder.pid <= LARGEST_PID
    return holder if clean and number else None


def _is_stale(holder: Holder | None) -> bool:
    """Whether nobody, or a process of this machine that has ended, is named."""
    if holder is None:
        return True
    if holder.host != this_process().host or os.name != "posix":
        return False
    try:
        os.kill(holder.pid, 0)
    except ProcessLookupError:
        return True
    except OSError:
        return False
    return False
