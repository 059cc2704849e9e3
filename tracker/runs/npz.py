"""Read npz files strictly: only what this program writes is accepted.

Everything that a file declares is compared with what is expected before memory is taken for it: names, sizes, types, shapes.
Nothing is unpacked (we write uncompressed files) and no object is ever made.
"""

from __future__ import annotations

import io
import struct
import zipfile
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from tracker.regular_files import open_regular

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from numpy.typing import NDArray

    from tracker.runs.array_shapes import Shape, Shapes

LARGEST_HEADER = 1000  # bytes at most before the numbers of an array
LARGEST_FRAME = 4096  # bytes at most around an array: header, names, directory
ZIP_ENTRY_HEADER = struct.Struct("<4s5H3I2H")  # the header of a file in a zip file
LARGEST_FIRST_ARRAY = 1_000_000  # bytes of an array that is read without knowing its shape


def pack_arrays(arrays: Mapping[str, NDArray[Any]]) -> bytes:
    """Return the arrays as a npz file, row by row, as ``unpack_arrays`` wants them: whoever computed an array may have turned it.

    Not by ``numpy.savez``: that of numpy 2.0 takes ``allow_pickle=False`` for one more array to keep.
    """
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as file:
                np.lib.format.write_array(file, np.asarray(array, order="C"), allow_pickle=False)
    return buffer.getvalue()


def most_bytes(shapes: Shapes) -> int:
    """Return how large a file with these arrays may be."""
    return sum(shape.bytes + LARGEST_FRAME for shape in shapes.values()) + LARGEST_FRAME


def unpack_arrays(data: bytes, expected: Shapes) -> dict[str, NDArray[Any]]:
    """Return the arrays in ``data``, which must be exactly those that are expected.

    Raises
    ------
    ValueError
        If it holds anything else, or is no npz file; the text says what.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            entries = archive.infolist()
            if sorted(entry.filename for entry in entries) != sorted(f"{name}.npy" for name in expected):
                raise ValueError("other arrays than those of a run")  # noqa: TRY301
            return {
                entry.filename.removesuffix(".npy"): _array(
                    archive, entry, expected[entry.filename.removesuffix(".npy")]
                )
                for entry in entries
            }
    except ValueError:
        raise
    except Exception as error:  # whatever the reader makes of a file that is none
        raise ValueError(f"no npz file ({type(error).__name__})") from None


def _array(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, expected: Shape) -> NDArray[Any]:
    name = entry.filename.removesuffix(".npy")
    most = expected.bytes + LARGEST_HEADER
    if entry.compress_type != zipfile.ZIP_STORED or entry.file_size > most:
        raise ValueError(f"{name}: packed, or larger than it can be")
    return _parsed(archive.read(entry), name, expected)


def _parsed(content: bytes, name: str, expected: Shape) -> NDArray[Any]:
    shape, dtype, start = _header(content)
    if (shape, dtype) != (expected.shape, expected.dtype):
        raise ValueError(f"{name}: {dtype} {shape} where {expected.dtype} {expected.shape} is expected")
    if len(content) - start != expected.bytes:
        raise ValueError(f"{name}: cut off")
    return np.frombuffer(content, dtype, offset=start).reshape(shape).copy()


def _header(content: bytes) -> tuple[tuple[int, ...], np.dtype[Any], int]:
    """Return what an array's header declares, and where its numbers begin."""
    stream = io.BytesIO(content[:LARGEST_HEADER])
    version = np.lib.format.read_magic(stream)
    if version != (1, 0):
        raise ValueError("an array in a form that is not used here")
    shape, by_column, dtype = np.lib.format.read_array_header_1_0(stream, max_header_size=LARGEST_HEADER)
    if by_column or dtype.hasobject:
        raise ValueError("an array in a form that is not used here")
    return shape, dtype, stream.tell()


def first_array(file: BinaryIO, name: str) -> NDArray[Any]:
    """Return the first array in a file that stands at the start of a npz file; ValueError where it is not called ``name``.

    Only its own bytes are read, not the directory at the end of the file, which may be of any size.
    """
    head = file.read(ZIP_ENTRY_HEADER.size)
    if len(head) < ZIP_ENTRY_HEADER.size:
        raise ValueError("no npz file")
    signature, _, _, way, *_, names, extra = ZIP_ENTRY_HEADER.unpack(head)
    if signature != b"PK\x03\x04" or way != 0 or file.read(names) != f"{name}.npy".encode():
        raise ValueError("no npz file of a run")
    file.seek(extra, io.SEEK_CUR)
    content = file.read(LARGEST_HEADER)
    shape, dtype, start = _header(content)
    count = 1
    for length in shape:
        count *= length
    if dtype.kind not in "iuf" or not 0 <= count * dtype.itemsize <= LARGEST_FIRST_ARRAY:
        raise ValueError(f"{name}: of a type or size that it cannot have")
    content += file.read(max(0, start + count * dtype.itemsize - len(content)))
    return np.frombuffer(content, dtype, count, start).reshape(shape).copy()


def array_names(path: Path) -> set[str]:
    """Return the names of the arrays in the npz file ``path``; none where it is none."""
    try:
        with open_regular(path) as file, zipfile.ZipFile(file) as archive:
            return {name.removesuffix(".npy") for name in archive.namelist()}
    except Exception:  # whatever the reader makes of a file that is none
        return set()
