"""Snapshots of a shard that takes long, so that a run resumes inside a trial: arrays in an npz file, never objects."""

from __future__ import annotations

import hashlib
import io
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from zipfile import BadZipFile

import numpy as np

from tracker.runs import files
from tracker.simulate import Snapshot

if TYPE_CHECKING:
    from numpy.typing import NDArray

EVERY_SECONDS = 30.0  # of computing
MOST_OF_THE_TIME = 0.05  # no more than this part of it goes into writing
WORTH_KEEPING = 1.0  # seconds of computing, when a run is interrupted
DIGEST_SIZE = hashlib.sha256().digest_size


class Place(NamedTuple):
    """Where a shard keeps its snapshots; ``identity`` names the run and the shard. Crosses to other processes."""

    path: str
    identity: str


def place_of(folder: Path, identity: str, index: int) -> Place:
    """Return the place of shard ``index`` of the run with ``identity``."""
    return Place(str(folder / f"{index:06d}.npz"), f"{identity}/{index}")


class Checkpoint:
    """Keeps the last snapshot of one shard. A disk that cannot take it does not stop the shard: only time is at stake."""

    def __init__(self, place: Place) -> None:
        self._path = Path(place.path)
        self._identity = place.identity
        self._last = time.thread_time()
        self._cost = 0.0

    def due(self) -> bool:
        """Tell whether enough was computed since the last snapshot."""
        return time.thread_time() - self._last > max(EVERY_SECONDS, self._cost / MOST_OF_THE_TIME)

    def load(self, empty: Snapshot) -> Snapshot | None:
        """Return the last snapshot if it is whole, of this shard, and shaped as ``empty``."""
        try:
            data = self._path.read_bytes()
        except OSError:
            return None
        return decode(data, self._identity, empty)

    def save(self, snapshot: Snapshot) -> None:
        """Write the snapshot in place of the last one, unless hardly anything came since."""
        now = time.thread_time()
        if now - self._last < WORTH_KEEPING:
            return
        try:
            files.write_file(self._path, encode(snapshot, self._identity))
        except OSError:
            return
        finally:
            self._last = time.thread_time()
            self._cost = self._last - now


def encode(snapshot: Snapshot, identity: str) -> bytes:
    """Return the snapshot as bytes that begin with their own hash."""
    buffer = io.BytesIO()
    np.savez(buffer, allow_pickle=False, **_named(snapshot))
    data = buffer.getvalue()
    return _digest(data, identity) + data


def decode(data: bytes, identity: str, empty: Snapshot) -> Snapshot | None:
    """Return the snapshot, or None if a byte was changed or it belongs elsewhere."""
    digest, data = data[:DIGEST_SIZE], data[DIGEST_SIZE:]
    if _digest(data, identity) != digest:
        return None
    wanted = _named(empty)
    with np.load(io.BytesIO(data), allow_pickle=False) as found:
        arrays = {name: found[name] for name in found.files}
    if {n: (a.dtype, a.shape) for n, a in arrays.items()} != {n: (a.dtype, a.shape) for n, a in wanted.items()}:
        return None
    ledgers = tuple(
        type(ledger)(*(arrays[f"{n}.{name}"] for name in ledger._fields)) for n, ledger in enumerate(empty.ledgers)
    )
    return Snapshot(arrays["reached"], arrays["seconds"], ledgers)


def steps_held(place: Place, *, verify: bool) -> float | None:
    """Return how many steps of its shard a snapshot holds, on average over the contestants; None where it holds nothing.

    Without ``verify`` only a few bytes are read, and a damaged snapshot may pass for a whole one.
    """
    try:
        with Path(place.path).open("rb") as file:
            digest = file.read(DIGEST_SIZE)
            if verify and _digest(file.read(), place.identity) != digest:
                return None
            file.seek(DIGEST_SIZE)
            with np.load(file, allow_pickle=False) as found:
                return float(found["reached"].mean())
    except (OSError, ValueError, KeyError, EOFError, BadZipFile):
        return None


def _named(snapshot: Snapshot) -> dict[str, NDArray[Any]]:
    arrays = {
        f"{n}.{name}": array for n, ledger in enumerate(snapshot.ledgers) for name, array in ledger._asdict().items()
    }
    return {"reached": snapshot.reached, "seconds": snapshot.seconds, **arrays}


def _digest(data: bytes, identity: str) -> bytes:
    return hashlib.sha256(identity.encode() + b"\0" + data).digest()
