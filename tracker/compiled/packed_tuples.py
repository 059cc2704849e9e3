"""Tuples of parameters as rows of a table, so that compiled code knows their kind and never how many of them there are.

All numbers of all rows lie in one store of bytes, arrays that rows share only once. A row of ``places`` says where each
leaf of a tuple begins and how long its axes are; ``rebuild`` gives the tuple back as views, without copies. The kinds of
leaves are those of a template, a tuple of the same type without content; leaves that are neither numbers nor arrays of
numbers stay in the template.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

T = TypeVar("T")

ALIGNED = 64  # bytes: the beginning of a cache line, for any kind of number
NUMBERS = (bool, int, float, np.number, np.bool_)


class Packed(NamedTuple):
    """Tuples of parameters: ``templates[families[x]]``, ``store`` and ``places[x]`` give tuple x."""

    templates: tuple[Any, ...]
    families: NDArray[np.int64]
    store: NDArray[np.uint8]
    places: NDArray[np.int64]


def pack(tuples: Sequence[Any]) -> Packed:
    """Write ``tuples`` into a table; those of one type and the same kinds of leaves share a template."""
    templates: dict[Any, Any] = {}
    families, rows = [], []
    pieces: list[bytes] = []
    begun: dict[int, int] = {}  # where an array that is already in the store begins
    end = 0
    for one in tuples:
        key = _kind(one)
        templates.setdefault(key, emptied(one))
        families.append(list(templates).index(key))
        row: list[int] = []
        for leaf in leaves_of(one):
            if id(leaf) not in begun or not isinstance(leaf, np.ndarray):
                content = np.ascontiguousarray(leaf).tobytes()
                pieces.append(content + bytes(-len(content) % ALIGNED))
                begun[id(leaf)], end = end, end + len(pieces[-1])
            row += [begun[id(leaf)], *np.shape(leaf)]
        rows.append(row)
    places = np.zeros((len(rows), max(map(len, rows))), dtype=np.int64)
    for x, row in enumerate(rows):
        places[x, : len(row)] = row
    store = np.zeros(end + ALIGNED, dtype=np.uint8)
    store = store[-store.ctypes.data % ALIGNED :][:end]
    store[:] = np.frombuffer(b"".join(pieces), dtype=np.uint8)
    return Packed(tuple(templates.values()), np.array(families, dtype=np.int64), store, places)


def rebuild(template: T, store: NDArray[np.uint8], places: NDArray[np.int64]) -> T:
    """Return the tuple at ``places`` (a row of ``Packed.places``) with arrays that are views of ``store``."""
    told = iter(places.tolist())

    def leaf(like: Any) -> Any:
        if isinstance(like, tuple):
            items = [leaf(item) for item in like]
            return like._make(items) if hasattr(like, "_make") else tuple(items)
        if isinstance(like, np.ndarray):
            first, shape = next(told), tuple(next(told) for _ in range(like.ndim))
            content = store[first : first + int(np.prod(shape)) * like.itemsize]
            view = content.view(like.dtype).reshape(shape)
            view.flags.writeable = like.flags.writeable
            return view
        if isinstance(like, NUMBERS):
            first, kind = next(told), np.asarray(like).dtype
            return type(like)(store[first : first + kind.itemsize].view(kind)[0])
        return like

    return leaf(template)  # type: ignore[no-any-return]


def leaves_of(value: Any) -> Iterator[Any]:
    """Give the numbers and arrays of a tuple and of the tuples in it."""
    if isinstance(value, tuple):
        for item in value:
            yield from leaves_of(item)
    elif isinstance(value, (np.ndarray, *NUMBERS)):
        yield value


def _kind(value: Any) -> Any:
    """Return what must be the same for two tuples to share a template."""
    if isinstance(value, tuple):
        return (type(value), *map(_kind, value))
    if isinstance(value, np.ndarray):
        return (value.dtype.str, value.ndim, value.flags.writeable)
    return type(value) if isinstance(value, NUMBERS) else (type(value), value)


def emptied(value: Any) -> Any:
    """Return a tuple of the same type whose arrays are empty and whose numbers are 0."""
    if isinstance(value, tuple):
        items = list(map(emptied, value))
        return value._make(items) if hasattr(value, "_make") else tuple(items)
    if isinstance(value, np.ndarray):
        empty = np.zeros((0,) * value.ndim, dtype=value.dtype)
        empty.flags.writeable = value.flags.writeable
        return empty
    return type(value)(0) if isinstance(value, NUMBERS) else value
