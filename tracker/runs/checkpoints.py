"""Save snapshots of a long shard as arrays in an npz file, so that a run can resume inside a trial."""

from __future__ import annotations

import hashlib
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from tracker.regular_files import open_regular, read_regular
from tracker.runs import atomic_files
from tracker.runs.file_names import shard_name
from tracker.runs.npz import first_array, most_bytes, pack_arrays, unpack_arrays

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from tracker.engine.simulate import Snapshot
    from tracker.runs.array_shapes import Shapes

SECONDS_BETWEEN_SNAPSHOTS = 30.0  # of computing
LARGEST_SHARE_SPENT_WRITING = 0.05
SECONDS_WORTH_KEEPING = 1.0  # of computing, when a run is interrupted
DIGEST_SIZE = hashlib.sha256().digest_size
MOST_STEPS = 2**62
BYTES_READ_AT_ONCE = 1_000_000


class Place(NamedTuple):
    """Where a shard keeps its snapshots; ``identity`` names the run and the shard. Crosses to other processes.

    ``steps`` is how many steps a trial has: no snapshot can have reached more.
    """

    path: str
    identity: str
    steps: int = MOST_STEPS


def checkpoint_place(folder: Path, identity: str, index: int, steps: int = MOST_STEPS) -> Place:
    """Return the place of shard ``index`` of the run with ``identity``."""
    return Place(str(folder / shard_name(index)), f"{identity}/{index}", steps)


class Checkpoint:
    """Keeps the last snapshot of one shard. A disk that cannot take it does not stop the shard: only time is at stake."""

    def __init__(self, place: Place) -> None:
        self._path = Path(place.path)
        self._identity, self._steps = place.identity, place.steps
        self._last = time.thread_time()
        self._cost = 0.0

    def due(self) -> bool:
        """Tell whether enough was computed since the last snapshot."""
        return time.thread_time() - self._last > max(
            SECONDS_BETWEEN_SNAPSHOTS, self._cost / LARGEST_SHARE_SPENT_WRITING
        )

    def load(self, empty: Snapshot) -> Snapshot | None:
        """Return the last snapshot if it is whole, of this shard, and shaped as ``empty``."""
        expected = _shapes(empty)
        try:
            data = read_regular(self._path, DIGEST_SIZE + most_bytes(expected))
        except OSError:
            return None
        return decode(data, self._identity, empty, self._steps)

    def save(self, snapshot: Snapshot) -> None:
        """Write the snapshot in place of the last one, unless hardly anything came since."""
        now = time.thread_time()
        if now - self._last < SECONDS_WORTH_KEEPING:
            return
        try:
            atomic_files.write_file(self._path, encode(snapshot, self._identity))
        except OSError:
            return
        finally:
            self._last = time.thread_time()
            self._cost = self._last - now


def encode(snapshot: Snapshot, identity: str) -> bytes:
    """Return the snapshot as bytes that begin with their own hash."""
    data = pack_arrays(_named(snapshot))
    return _digest(data, identity) + data


def decode(data: bytes, identity: str, empty: Snapshot, steps: int = MOST_STEPS) -> Snapshot | None:
    """Return the snapshot, or None if a byte was changed, it belongs elsewhere, or holds what no snapshot can."""
    arrays = decode_arrays(data, identity, _shapes(empty), steps)
    if arrays is None:
        return None
    ledgers = tuple(
        type(ledger)(*(arrays[f"{n}.{name}"] for name in ledger._fields)) for n, ledger in enumerate(empty.ledgers)
    )
    return empty._replace(reached=arrays["reached"], seconds=arrays["seconds"], ledgers=ledgers)


def decode_arrays(data: bytes, identity: str, expected: Shapes, steps: int) -> dict[str, NDArray[Any]] | None:
    """Return the arrays of a snapshot by name, or None where it is none."""
    digest, data = data[:DIGEST_SIZE], data[DIGEST_SIZE:]
    if _digest(data, identity) != digest:
        return None
    try:
        arrays = unpack_arrays(data, expected)
    except ValueError:
        return None
    return arrays if _can_be(arrays, steps) else None


def _can_be(arrays: Mapping[str, NDArray[Any]], steps: int) -> bool:
    """Tell whether all numbers that places are counted by lie where they can: the compiled loop trusts them."""
    from tracker.engine.ledger import (  # here: who asks how far a run is need not load the engine
        AWAITED,
        DIVERGED,
        WAITING,
    )

    if not _is_reached(arrays["reached"], steps) or not (arrays["seconds"] >= 0).all():
        return False
    for n, reached in enumerate(arrays["reached"].tolist()):
        marks = arrays[f"{n}.marks"]
        if marks.size and not (marks.min() >= -1 and marks[:, [WAITING, DIVERGED]].max() < max(reached, 0)):
            return False
        awaited = marks[marks[:, WAITING] >= 0, AWAITED]
        if awaited.size and not (awaited.min() >= 0 and awaited.max() < arrays[f"{n}.waits"].shape[1]):
            return False
    return True


def _is_reached(reached: NDArray[Any], steps: int) -> bool:
    return reached.ndim == 1 and reached.dtype.kind == "i" and bool(((reached >= 0) & (reached <= steps)).all())


def is_whole(place: Place) -> bool:
    """Tell whether the snapshot at ``place`` has the hash that it begins with, and is of its shard."""
    try:
        with open_regular(Path(place.path)) as file:
            begins, digest = file.read(DIGEST_SIZE), hashlib.sha256(_salt(place.identity))
            while chunk := file.read(BYTES_READ_AT_ONCE):
                digest.update(chunk)
            return digest.digest() == begins
    except OSError:
        return False


def steps_held(place: Place, *, verify: bool) -> float | None:
    """Return how many steps of its shard a snapshot holds, on average over the contestants; None where it holds nothing.

    Without ``verify`` only a few bytes are read, and a damaged snapshot may pass for a whole one.
    """
    if verify and not is_whole(place):
        return None
    try:
        with open_regular(Path(place.path)) as file:
            file.seek(DIGEST_SIZE)
            reached = first_array(file, "reached")
    except (OSError, ValueError):
        return None
    return float(reached.mean()) if reached.size and _is_reached(reached, place.steps) else None


def _shapes(empty: Snapshot) -> Shapes:
    from tracker.runs.array_shapes import shapes_in

    return shapes_in(_named(empty))


def _named(snapshot: Snapshot) -> dict[str, NDArray[Any]]:
    arrays = {
        f"{n}.{name}": array for n, ledger in enumerate(snapshot.ledgers) for name, array in ledger._asdict().items()
    }
    return {"reached": snapshot.reached, "seconds": snapshot.seconds, **arrays}


def _digest(data: bytes, identity: str) -> bytes:
    return hashlib.sha256(_salt(identity) + data).digest()


def _salt(identity: str) -> bytes:
    return identity.encode() + b"\0"
