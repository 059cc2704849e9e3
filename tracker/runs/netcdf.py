"""Write the arrays of a run to result.nc (netCDF), and read them back bit for bit."""

from __future__ import annotations

import errno
import hashlib
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from tracker.engine.arrays import array_rows
from tracker.runs import atomic_files
from tracker.runs.array_shapes import LEADING_AXES, Shape, bytes_of
from tracker.runs.old_formats import AXES_BEFORE, MISSING_BEFORE, shapes_before
from tracker.runs.stored_world import read_world

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from tracker.array_types import Array
    from tracker.engine.arrays import RecordedArray
    from tracker.runs.array_shapes import Shapes
    from tracker.runs.labelled_arrays import LabelledArrays
    from tracker.scenario import Mode, Scenario

    Arrays = Mapping[str, NDArray[Any]]
    Rows = Sequence[RecordedArray]
    World = tuple[tuple[Mode, ...], Array]

LARGEST_FRAME = 2_000_000  # bytes of names, coordinates and tables
LARGEST_PACKING_FACTOR = 1100  # times: more than deflate can do
LARGEST_SMALL_CHUNK = 1_000_000  # bytes
# no fill value: nan is a result here, and must keep its bits
COMPRESSION = {"chunks": True, "compression": "gzip", "compression_opts": 1, "fletcher32": True}
# netCDF's words for an axis without coordinates
NO_COORDINATES = "This is a netCDF dimension but not a netCDF variable."


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


def write_result(path: Path, content: LabelledArrays, rows: Rows, expected_hash: str) -> None:
    """Write the file and read it back before it gets its name: the shards are removed once it is there."""

    def write(temporary: Path) -> None:
        with _told_of(path):
            _write_netcdf(temporary, content)
        if stored_hash(temporary, rows) != expected_hash:
            raise OSError(errno.EIO, "did not read back as it was written", str(path))

    atomic_files.write_with(path, write)


def write_arrays(path: Path, content: LabelledArrays) -> None:
    """Write the file as it is."""

    def write(temporary: Path) -> None:
        with _told_of(path):
            _write_netcdf(temporary, content)

    atomic_files.write_with(path, write)


@contextmanager
def _told_of(path: Path) -> Iterator[None]:
    try:
        yield
    except RuntimeError as error:  # HDF5 says so when it cannot close a file on a full disk
        raise OSError(errno.EIO, f"could not be written ({error})", str(path)) from error


def _write_netcdf(path: Path, content: LabelledArrays) -> None:
    """Write a netCDF-4 file of axes, arrays and attributes: an HDF5 file whose axes are scales with numbers.

    It is what xarray writes of ``content.dataset()``, in an eighth of the time, which each point of a sweep would take.
    """
    import h5py

    sizes = content.sizes
    number = {axis: np.int32(n) for n, axis in enumerate(sizes)}
    with h5py.File(path, "w", track_order=True) as file:
        file.attrs.update(content.attributes)
        for axis, size in sizes.items():
            if axis in content.labels:
                scale = file.create_dataset(axis, data=_words_as_objects(content.labels[axis]))
                scale.make_scale(axis)
            else:
                scale = file.create_dataset(axis, (size,), ">f4")
                scale.make_scale(f"{NO_COORDINATES}{size:10d}")
            scale.attrs["_Netcdf4Dimid"] = number[axis]
        for name, (axes, values, attributes) in content.variables.items():
            packed = {} if values.dtype.kind == "U" else COMPRESSION
            stored = file.create_dataset(name, data=_words_as_objects(values), **packed)
            stored.attrs.update(attributes)
            stored.attrs["_Netcdf4Coordinates"] = [number[axis] for axis in axes]
            stored.attrs["_Netcdf4Dimid"] = number[axes[0]]
            for place, axis in enumerate(axes):
                stored.dims[place].attach_scale(file[axis])


def _words_as_objects(values: NDArray[Any]) -> NDArray[Any]:
    return values.astype(object) if values.dtype.kind == "U" else values


def read_result(path: Path, scenario: Scenario, expected: Shapes) -> tuple[dict[str, NDArray[Any]], World | None]:
    """Return the arrays and the world that they were measured in (None before format 1).

    They must be what is expected: compared before memory is taken for them.

    ValueError where they are not; whatever else a damaged file makes of the reader comes through.
    """
    with _opened(path) as found:
        older = any(name in expected and name not in found for name in MISSING_BEFORE)
        expected = shapes_before(expected) if older else expected
        rows = {row.name: row for row in array_rows(scenario)}
        for name, shape in expected.items():
            _refuse_other(found, rows[name], shape)
        arrays = {name: _array(found, rows[name]) for name in expected}
        return arrays, read_world(found, scenario) if found.attrs.get("format") is not None else None


def largest_result(expected: Shapes) -> int:
    """Return how many bytes a file with these arrays may have: what cannot be packed grows a little."""
    return int(1.1 * bytes_of(expected)) + LARGEST_FRAME


def stored_hash(path: Path, rows: Rows) -> str:
    """Return the hash over what the file holds of these arrays, one in memory at a time."""
    table = {row.name: row for row in rows}
    with _opened(path) as found:
        return _hash(sorted(table), lambda name: _array(found, table[name]))


@contextmanager
def _opened(path: Path) -> Iterator[Any]:
    """Give the file to a reader that does not decode: a nan with other bits would come back as another nan.

    It also spares the 0.2 seconds that xarray needs to understand any file: the order of the axes is known.
    """
    import h5py

    with h5py.File(path, "r") as found:
        yield found


def _order(row: RecordedArray, count: int) -> list[int]:
    """Return where each of ``count`` axes of an array stands in the file: ``Run.dataset`` puts some of them first."""
    axes = row.axes if len(row.axes) == count else AXES_BEFORE.get(row.name, row.axes)
    stored = [*(axis for axis in LEADING_AXES if axis in axes), *(axis for axis in axes if axis not in LEADING_AXES)]
    return [stored.index(axis) for axis in axes]


def _array(found: Any, row: RecordedArray) -> NDArray[Any]:
    """Return an array with the order of axes that it has in a run."""
    array = found[row.stored_name][()]
    return np.ascontiguousarray(array.transpose(_order(row, array.ndim)))


def _refuse_other(found: Any, row: RecordedArray, expected: Shape) -> None:
    """Raise ValueError unless the file declares the array as expected, and holds it itself.

    HDF5 can take the numbers of an array from other files, and declare arrays of any size that it does not hold.
    """
    import h5py

    own = row.stored_name
    if not isinstance(found.get(own, getlink=True), h5py.HardLink) or not isinstance(found[own], h5py.Dataset):
        raise ValueError(f"{own}: no array of this file")  # noqa: TRY004
    data = found[own]
    order = _order(row, len(expected.shape))
    if len(data.shape or ()) != len(order) or tuple(data.shape[place] for place in order) != expected.shape:
        raise ValueError(f"{own}: other numbers of trials, samplers or steps than the scenario says")
    if data.dtype != expected.dtype:
        raise ValueError(f"{own}: {data.dtype} where {expected.dtype} is expected")
    if data.external or data.is_virtual:
        raise ValueError(f"{own}: its numbers are in another file")
    filters = data.id.get_create_plist()
    used = {filters.get_filter(n)[0] for n in range(filters.get_nfilters())}
    if not used <= {h5py.h5z.FILTER_DEFLATE, h5py.h5z.FILTER_SHUFFLE, h5py.h5z.FILTER_FLETCHER32}:
        raise ValueError(f"{own}: packed in a way that is not used here")
    chunk = Shape(data.dtype, data.chunks or ())
    if expected.bytes > LARGEST_PACKING_FACTOR * data.id.get_storage_size() or chunk.bytes > max(
        expected.bytes, LARGEST_SMALL_CHUNK
    ):
        raise ValueError(f"{own}: it declares more than it holds")
