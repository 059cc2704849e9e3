"""result.nc: the arrays of a run as one netCDF file, and back, bit for bit."""

from __future__ import annotations

import errno
import hashlib
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from tracker.runs import files
from tracker.runs.result import DIMENSIONS, RENAMED

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
        return {name: array_of(name) for name in ("trial", *DIMENSIONS)}


def _stored_hash(path: Path) -> str:
    """Return the hash over what the file holds, one array in memory at a time."""
    with _opened(path) as array_of:
        return _hash(sorted(("trial", *DIMENSIONS)), array_of)


@contextmanager
def _opened(path: Path) -> Iterator[Callable[[str], NDArray[Any]]]:
    """Undo what ``Run.dataset`` does to the arrays: other names, other order of axes."""
    import xarray

    # not decoded: a nan with other bits would come back as another nan
    with xarray.open_dataset(path, engine="h5netcdf", decode_cf=False, cache=False) as found:

        def array_of(name: str) -> NDArray[Any]:
            variable = found[RENAMED.get(name, name)].transpose(*DIMENSIONS.get(name, (name,)))
            if variable.size == 0:  # no sampler moves its S, or its noise: h5py cannot select from nothing
                return np.zeros(variable.shape, dtype=variable.dtype)
            return np.ascontiguousarray(variable.values)

        yield array_of
