"""The names of the files of a run or a sweep, and which files of a directory may be read."""

from __future__ import annotations

import os
import re
import stat
from typing import TYPE_CHECKING

from tracker.regular_files import is_regular
from tracker.runs.lock_file import LOCK
from tracker.runs.manifest import SCENARIO
from tracker.runs.run_errors import CorruptRun

if TYPE_CHECKING:
    from pathlib import Path

SHARDS, CHECKPOINTS, DAMAGED, FIGURES, POINTS = "shards", "checkpoints", "damaged", "figures", "points"
JOURNAL, MANIFEST, PROGRESS = "journal.jsonl", "manifest.json", "progress.json"
RESULT, SUMMARY, THEORY, PAGE = "result.nc", "summary.json", "theory.json", "report.html"
CODE = "code.py"  # what ``--code`` named, for reading: nothing ever runs it
EARLIER = "earlier.nc"  # the result of a run that trials are added to
SWEEP_MANIFEST = "sweep.json"  # in place of a manifest, where a directory holds many runs
POINTS_TABLE, SWEEP_RESULT = "points.json", "sweep.nc"
PICTURES = ("sweep.png", "sweep.svg")

RUN_FILES = frozenset({LOCK, MANIFEST, SCENARIO, CODE, JOURNAL, PROGRESS, RESULT, SUMMARY, THEORY, PAGE, EARLIER})
RUN_FOLDERS = frozenset({SHARDS, CHECKPOINTS, DAMAGED, FIGURES})
SWEEP_FILES = frozenset({LOCK, SWEEP_MANIFEST, SCENARIO, CODE, POINTS_TABLE, SWEEP_RESULT, PAGE, *PICTURES})
SWEEP_FOLDERS = frozenset({POINTS, DAMAGED, FIGURES})

_DATA_FILE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,59}\.csv")
_LINK = " is a symbolic link, which no run makes: it is not followed"
_FIGURE = re.compile(r"[a-z0-9_-]+\.(svg|pdf|png)")
_SHARD = re.compile(r"(\d{6})\.npz", re.ASCII)


def is_file_of_a_run(name: str) -> bool:
    """Tell whether a run or a sweep writes a file of that name beside its manifest."""
    return name in RUN_FILES | SWEEP_FILES or _DATA_FILE.fullmatch(name) is not None


def is_sweep(path: Path) -> bool:
    """Tell whether a sweep was begun in the directory ``path``."""
    return is_regular(path / SWEEP_MANIFEST)


def shard_name(index: int) -> str:
    """Return the name of a shard's file."""
    return f"{index:06d}.npz"


def is_shard_name(name: str) -> bool:
    """Tell whether a shard's file may have that name."""
    return _SHARD.fullmatch(name) is not None


def shard_index(name: str) -> int | None:
    """Return which shard's file has that name; None for any other file."""
    found = _SHARD.fullmatch(name)
    return int(found[1]) if found is not None else None


def refuse_disguises(path: Path) -> None:
    """Raise ``CorruptRun`` where one of our names in the directory ``path`` stands for a link, a pipe, or the wrong kind.

    A run writes files and folders. A link of that name leads elsewhere: what is read or written through it is not the run's.
    """
    for entry in _entries(path):
        file, folder = is_file_of_a_run(entry.name), entry.name in RUN_FOLDERS | SWEEP_FOLDERS
        if not (file or folder):
            continue
        mode = entry.stat(follow_symlinks=False).st_mode
        if stat.S_ISLNK(mode):
            raise CorruptRun(path, f"{entry.name}{_LINK}")
        if not (stat.S_ISREG(mode) if file else stat.S_ISDIR(mode)):
            raise CorruptRun(path, f"{entry.name} is no {'file' if file else 'folder'} of a run")
    for entry in _entries(path / FIGURES):
        if _FIGURE.fullmatch(entry.name) and entry.is_symlink():
            raise CorruptRun(path, f"{FIGURES}/{entry.name}{_LINK}")


def _entries(path: Path) -> list[os.DirEntry[str]]:
    try:
        return sorted(os.scandir(path), key=lambda entry: entry.name)
    except OSError:
        return []  # whoever reads it says why
