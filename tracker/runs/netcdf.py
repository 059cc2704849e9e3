"""result.nc: the arrays of a run as one netCDF file, and back, bit for bit."""

from __future__ import annotations

import errno
import hashlib
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from tracker.runs import files
from tracker.runs.result import AXES_BEFORE, DIMENSIONS, LEADING, MISSING_BEFORE, RENAMED

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    import xarray
    from numpy.typing import NDArray

    Arrays = Mapping[str, NDArray[Any]]

# no fill value: nan is a result here, and must keep its bits
PACKED = {"zlib": True, "complevel": 1, "fletcher32": True, "_FillValue": None}


def array_hash(arrays: Arrays) -> str:
    """Return the sha256 over names, types, shapes and contents."""
    return _hash(sorted(arrays), arrays.__getitem__)


def _hash(names: list[str], array_of: Callable[[str], NDArray[Any]]) -> str:
    digest = hashlib.sha256()
    for name in names:
        array = np.ascontiguousarray(array_of(name))
        digest.update(f"{name} {array.dtype.str} {array.shape}\n".encode())
        digest.update(array.data)
    return digest.hexdigest()


def write_result(path: Path, dataset: xarray.Dataset, expected_hash: str) -> None:
    """Write the file and read it back before it gets its name: the shards are removed once it is there."""

    def write(temporary: Path) -> None:
        try:
            dataset.to_netcdf(temporary, engine="h5netcdf", encoding=dict.fromkeys(dataset.data_vars, PACKED))
        except RuntimeError as error:  # HDF5 says so when it cannot close a file on a full disk
            raise OSError(errno.EIO, f"could not be written ({error})", str(path)) from error
        if _stored_hash(temporary) != expected_hash:
            raise OSError(errno.EIO, "did not read back as it was written", str(path))

    files.write_with(path, write)


def read_result(path: Path) -> dict[str, NDArray[Any]]:
    """Return the arrays; whatever a damaged file makes of the reader comes through."""
    with _opened(path) as array_of:
        return {name: array for name in ("trial", *DIMENSIONS) if (array := array_of(name)) is not None}


def _stored_hash(path: Path) -> str:
    """Return the hash over what the file holds, one array in memory at a time."""
    with _opened(path) as array_of:
        return _hash(sorted(("trial", *DIMENSIONS)), cast("Callable[[str], NDArray[Any]]", array_of))


@contextmanager
def _opened(path: Path) -> Iterator[Callable[[str], NDArray[Any] | None]]:
    """Undo what ``Run.dataset`` does to the arrays: other names, other order of axes. None for what an older run lacks.

    Read without decoding (a nan with other bits would come back as another nan), and without the 0.2 seconds that
    xarray needs to understand any file: the order of the axes is known.
    """
    import h5py

    with h5py.File(path, "r") as found:

        def array_of(name: str) -> NDArray[Any] | None:
            if name in MISSING_BEFORE and name not in found:
                return None
            array = found[RENAMED.get(name, name)][()]
            axes = DIMENSIONS.get(name, (name,))
            axes = axes if array.ndim == len(axes) else AXES_BEFORE[name]
            stored = [*(axis for axis in LEADING if axis in axes), *(axis for axis in axes if axis not in LEADING)]
            return np.ascontiguousarray(array.transpose([stored.index(axis) for axis in axes]))

        yield array_of
