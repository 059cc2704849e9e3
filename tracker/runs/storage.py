"""A run directory: atomic files, shards with a journal, one result.

A file is written to a temporary name, flushed to disk and renamed, so that a name always stands for a whole file. A shard
counts once its line, with the hash of its file, is in the journal.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tracker.plain import jsonable

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    Arrays = Mapping[str, NDArray[Any]]

SHARDS, JOURNAL, MANIFEST, SCENARIO = "shards", "journal.jsonl", "manifest.json", "scenario.toml"
RESULT, SUMMARY = "result.nc", "summary.json"


class RunExists(Exception):
    """The directory holds something already; ``is_run`` tells whether a run, which may be replaced, wrote it."""

    def __init__(self, path: Path, *, is_run: bool) -> None:
        super().__init__(f"{path} exists already")
        self.path, self.is_run = path, is_run


def write_file(path: Path, data: bytes) -> None:
    """Write ``data`` so that ``path`` is at any moment absent, old or complete."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with temporary.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    _sync_folder(path.parent)


def write_json(path: Path, value: Any) -> None:
    """Write ``value`` as JSON (nan as null, infinities as text)."""
    write_file(path, (json.dumps(jsonable(value), indent=2, allow_nan=False) + "\n").encode())


def _sync_folder(folder: Path) -> None:
    if os.name == "posix":
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def array_hash(arrays: Arrays) -> str:
    """Return the sha256 over names, types, shapes and contents."""
    digest = hashlib.sha256()
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        digest.update(f"{name} {array.dtype.str} {array.shape}\n".encode())
        digest.update(array.data)
    return digest.hexdigest()


class RunDirectory:
    """The folder of one run while it is written."""

    def __init__(self, path: Path, *, replace: bool = False) -> None:
        self.path = path.resolve()
        self._replace = replace
        self._refuse_if_taken()

    def _refuse_if_taken(self) -> None:
        if self._is_taken() and not (self._replace and self._is_run()):
            raise RunExists(self.path, is_run=self._is_run())

    def _is_taken(self) -> bool:
        return self.path.exists() and (not self.path.is_dir() or any(self.path.iterdir()))

    def _is_run(self) -> bool:
        """Only what a run wrote is ever removed."""
        return self.path.is_dir() and (self.path / MANIFEST).is_file()

    def begin(self, scenario_text: str, manifest: Mapping[str, Any], files: Mapping[str, bytes]) -> None:
        """Write what is known before the first step; an old run goes only now, when the new one is sure to start.

        ``files`` are the data files that the scenario names, which belong beside it.
        """
        self._refuse_if_taken()  # again: something may have come here since
        if self._is_taken():
            shutil.rmtree(self.path)
        (self.path / SHARDS).mkdir(parents=True, exist_ok=True)
        write_file(self.path / SCENARIO, scenario_text.encode())
        for name, content in files.items():
            write_file(self.path / name, content)
        write_json(self.path / MANIFEST, {**manifest, "complete": False})

    def add_shard(self, index: int, arrays: Arrays) -> None:
        """Write a shard and its line in the journal."""
        buffer = io.BytesIO()
        np.savez(buffer, allow_pickle=False, **dict(arrays))
        data = buffer.getvalue()
        name = f"{index:06d}.npz"
        write_file(self.path / SHARDS / name, data)
        line = json.dumps({"shard": index, "file": name, "sha256": hashlib.sha256(data).hexdigest()})
        with (self.path / JOURNAL).open("ab") as journal:
            journal.write(line.encode() + b"\n")
            journal.flush()
            os.fsync(journal.fileno())

    def finish(self, manifest: Mapping[str, Any], summary: Mapping[str, Any], dataset: Any) -> None:
        """Write the result; the manifest says ``complete`` last, and the shards, now in the result, go."""
        temporary = self.path / f".{RESULT}.{os.getpid()}.tmp"
        packed = {
            name: {"zlib": True, "complevel": 1, "fletcher32": True, "_FillValue": None} for name in dataset.data_vars
        }
        try:
            dataset.to_netcdf(temporary, engine="h5netcdf", encoding=packed)
            with temporary.open("rb") as file:
                os.fsync(file.fileno())
            temporary.replace(self.path / RESULT)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
        write_json(self.path / SUMMARY, summary)
        write_json(self.path / MANIFEST, {**manifest, "complete": True})
        shutil.rmtree(self.path / SHARDS)
        (self.path / JOURNAL).unlink()
