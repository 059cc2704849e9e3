"""Keep compiled code on disk with a digest beside each entry, and check the digest before an entry is read.

Entries have numba's names: ``NAME.nbi`` tells by key which ``NAME.1.nbc``, ``NAME.2.nbc``, ... holds the code. They are
pickles, and their code is run, so a damaged one could do anything; ``ENTRY.sha256`` is one line as of ``sha256sum``. The
bytes that are checked are the bytes that are used. A digest does not help against somebody who can write to the folder, so
the permissions of the folder (see ``reason_to_distrust``) and of each file are checked too.

Two processes may write at once: writers wait for each other, and each file appears whole, under its name, or not at all.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import stat
import time
import uuid
from contextlib import contextmanager, suppress
from itertools import count
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

OTHERS_MAY_WRITE = stat.S_IWGRP | stat.S_IWOTH
PAUSES_BEFORE_A_DIGEST_FITS = (0.0, 0.02, 0.1, 0.3)  # seconds; an entry and its digest are renamed one after the other
SECONDS_TO_WAIT_FOR_A_WRITER = 2.0


class DamagedEntry(Exception):
    """An entry is not what was written, or not ours."""


class WriterBusy(Exception):
    """Another process is writing, for longer than is worth waiting."""


def reason_to_distrust(folder: Path) -> str | None:
    """Return why code from ``folder`` must not be run: others could have put it there. None if they could not."""
    found = folder.stat()
    if not stat.S_ISDIR(found.st_mode):
        return "it is no folder"
    if found.st_uid != os.geteuid():
        return "it belongs to another user"
    if found.st_mode & OTHERS_MAY_WRITE:
        return "others may write there"
    return None


class CacheEntries:
    """The compiled code of one function: an index and a file for each key. ``pack`` makes bytes that pickle can read."""

    def __init__(self, folder: Path, name: str, pack: Callable[[Any], bytes]) -> None:
        self._folder, self._name, self._pack = folder, name, pack
        self._index = folder / f"{name}.nbi"
        self._latest = self._index

    def load(self, key: Any) -> Any:
        """Return what was saved under ``key``, or None; raise ``DamagedEntry`` after removing what is not as it was written."""
        name = self._names().get(key)
        if name is None:
            return None
        self._latest = self._folder / name
        found = _unpacked(self._latest, tuple)
        # a process that was killed between two files may leave a name to the code of another key
        return found[1] if found is not None and found[0] == key else None

    def holds(self, key: Any) -> bool:
        """Tell whether something was saved under ``key``."""
        try:
            return key in self._names()
        except DamagedEntry:
            return False

    def save(self, key: Any, data: Any) -> None:
        """Keep ``data`` under ``key``."""
        with _alone(self._folder):
            try:
                names = self._names()
            except DamagedEntry:
                names = {}
            taken = set(names.values())
            free = (f"{self._name}.{number}.nbc" for number in count(1))
            name = names.get(key) or next(name for name in free if name not in taken)
            _write(self._folder / name, self._pack((key, data)))
            _write(self._index, self._pack({**names, key: name}))

    def flush(self) -> None:
        """Forget all keys."""
        with _alone(self._folder):
            _write(self._index, self._pack({}))

    def forget_latest(self) -> None:
        """Remove what was loaded last: it could not be used."""
        _remove(self._latest)

    def _names(self) -> dict[Any, str]:
        self._latest = self._index
        return _unpacked(self._index, dict) or {}


def _unpacked(path: Path, kind: type) -> Any:
    """Unpack an entry; None if there is none."""
    try:
        content = _checked(path)
        if content is None:
            return None
        found = pickle.loads(content)  # noqa: S301  (checked, in a folder of our own)
    except Exception as error:
        _remove(path)
        raise DamagedEntry(path.name) from error
    if not isinstance(found, kind):
        _remove(path)
        raise DamagedEntry(path.name)
    return found


def _checked(path: Path) -> bytes | None:
    for pause in PAUSES_BEFORE_A_DIGEST_FITS:
        time.sleep(pause)
        content = _own_file(path)
        if content is None:
            return None
        if _own_file(_beside(path)) == _line(path, content):
            return content
    raise DamagedEntry(path.name)


def _own_file(path: Path) -> bytes | None:
    try:
        number = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    with os.fdopen(number, "rb") as file:
        found = os.fstat(number)
        if not stat.S_ISREG(found.st_mode) or found.st_uid != os.geteuid() or found.st_mode & OTHERS_MAY_WRITE:
            raise DamagedEntry(path.name)
        return file.read()


def _beside(path: Path) -> Path:
    return path.with_name(f"{path.name}.sha256")


def _line(path: Path, content: bytes) -> bytes:
    return f"{hashlib.sha256(content).hexdigest()}  {path.name}\n".encode()


def _write(path: Path, content: bytes) -> None:
    """Write an entry and its digest; whoever reads meanwhile finds the old, the new, or a digest that does not fit."""
    parts = {_beside(path): _line(path, content), path: content}
    hidden = {target: target.with_name(f"{target.name}.tmp.{uuid.uuid4().hex[:16]}") for target in parts}
    try:
        for target, part in parts.items():
            number = os.open(hidden[target], os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
            with os.fdopen(number, "wb") as file:
                file.write(part)
        for target in parts:
            hidden[target].replace(target)
    finally:
        for left in hidden.values():
            left.unlink(missing_ok=True)


def _remove(path: Path) -> None:
    for one in (path, _beside(path)):
        with suppress(OSError):
            one.unlink(missing_ok=True)


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Let one process at a time write; a process that dies lets go."""
    import fcntl

    number = os.open(folder / "writing", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        end = time.monotonic() + SECONDS_TO_WAIT_FOR_A_WRITER
        while True:
            try:
                fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > end:
                    raise WriterBusy from None
                time.sleep(0.01)
        yield
    finally:
        os.close(number)
