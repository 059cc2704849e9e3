"""Name the folder of compiled code by a hash of everything that the machine code depends on."""

from __future__ import annotations

import hashlib
import multiprocessing
import os
import shutil
import time
import warnings
from functools import lru_cache
from importlib import metadata
from pathlib import Path

import numpy as np
from platformdirs import user_cache_dir

from tracker.compiled.cache_files import reason_to_distrust
from tracker.compiled.fingerprint import PACKAGE
from tracker.compiled.numba_options import PLAIN

CACHE_VARIABLE = "TRACKER_CACHE_DIR"
STALE_AFTER_DAYS = 30
# rooms that cannot change machine code, as a test holds
WITHOUT_KERNELS = ("cli", "convergence", "metrics", "reports", "runs")

_said: list[str] = []


class CacheWarning(RuntimeWarning):
    """Compiled code is not kept, or was damaged: slower, with the same results."""


@lru_cache(maxsize=1)
def cache_folder() -> Path | None:
    """Return the folder of compiled kernels for exactly these sources, or None where there can be none.

    ``TRACKER_CACHE_DIR`` names the parent folder, or is ``off``. Both folders must be the user's own.
    """
    setting = os.environ.get(CACHE_VARIABLE, "")
    if setting == "off":
        return None
    parent = Path(setting or user_cache_dir("tracker", appauthor=False)).absolute()
    folder = parent / f"kernels-{source_fingerprint()}{'-plain' if PLAIN else ''}"
    try:
        parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        reason = reason_to_distrust(parent)
        if reason is None:
            folder.mkdir(mode=0o700, exist_ok=True)
            reason = "it is a link" if folder.is_symlink() else reason_to_distrust(folder)
        if reason is None:
            (folder / "used").touch()
    except OSError as error:
        reason = error.strerror or str(error)
    if reason is not None:
        warn_once(f"compiled code cannot be kept in {parent} ({reason}); set {CACHE_VARIABLE} to a folder of your own")
        return None
    _forget_old(parent)
    return folder


def warn_once(line: str) -> None:
    """Warn once in a process, and not in the processes that it starts: they would all say the same."""
    if not _said and multiprocessing.parent_process() is None:
        _said.append(line)
        warnings.warn(line, CacheWarning, stacklevel=2)


@lru_cache(maxsize=1)
def source_fingerprint() -> str:
    """Hash everything that decides what machine code comes out: our sources, the compiler and its settings.

    Once in a process: what it has imported is what it compiles.
    """
    compiler = (metadata.version("numba"), metadata.version("llvmlite"), np.__version__)
    digest = hashlib.sha256(repr(compiler).encode())
    digest.update(repr(sorted(item for item in os.environ.items() if item[0].startswith("NUMBA_"))).encode())
    for path in sorted([*PACKAGE.rglob("*.py"), PACKAGE / "ziggurat.txt"]):
        name = path.relative_to(PACKAGE)
        if name.parts[0] not in WITHOUT_KERNELS:
            digest.update(f"{name.as_posix()}\0".encode() + path.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


def _forget_old(parent: Path) -> None:
    oldest = time.time() - STALE_AFTER_DAYS * 86400
    for mark in parent.glob("kernels-*/used"):
        try:
            if mark.stat().st_mtime < oldest:
                shutil.rmtree(mark.parent, ignore_errors=True)
        except OSError:
            continue
