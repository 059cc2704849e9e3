"""Forging run directories: each file is changed, and every check digit and hash over it made right. Used by attacks."""

from __future__ import annotations

import io
import json
import os
import random
import zipfile
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from tracker.runs.checkpoints import DIGEST_SIZE
from tracker.runs.file_names import CHECKPOINTS, JOURNAL, MANIFEST, RESULT, SHARDS, SUMMARY, THEORY
from tracker.runs.lock_file import LOCK_KEY
from tracker.runs.manifest import SCENARIO, Manifest
from tracker.runs.sealed_json import open_sealed, seal
from tracker.runs.theory_file import KEY, theory_in

# --- changing a directory so that its check digits are right


def resealed(folder: Path, change: Callable[[dict[str, Any]], Any]) -> None:
    """Change the table of the manifest and give it the check digits that it would have."""
    table = json.loads((folder / MANIFEST).read_bytes())
    del table["check"]
    change(table)
    (folder / MANIFEST).write_bytes(seal(table, "manifest", indent=2))


def rewritten(folder: Path, name: str, data: bytes) -> None:
    """Write a result, and its hash into the manifest."""
    (folder / name).write_bytes(data)
    resealed(folder, lambda table: table["files"].update({name: sha256(data).hexdigest()}))


def identity_of(folder: Path) -> str:
    manifest = Manifest.decode((folder / MANIFEST).read_bytes())
    assert manifest is not None
    return manifest.identity


def with_line(folder: Path, change: Callable[[dict[str, Any]], Any], place: int = 0) -> None:
    """Change a line of the journal, check digits included."""
    identity = identity_of(folder)
    lines = (folder / JOURNAL).read_bytes().splitlines(keepends=True)
    table = open_sealed(lines[place], identity)
    change(table)
    lines[place] = seal(table, identity)
    (folder / JOURNAL).write_bytes(b"".join(lines))


def with_shard(folder: Path, data: bytes) -> None:
    """Put ``data`` in the place of the first shard, and its hash into the journal."""
    (folder / SHARDS / "000000.npz").write_bytes(data)
    with_line(folder, lambda table: table.update(sha256=sha256(data).hexdigest()))


def with_snapshot(folder: Path, data: bytes, index: int = 4) -> None:
    """Put ``data`` in the place of a snapshot, with the digest that it begins with."""
    digest = sha256(f"{identity_of(folder)}/{index}".encode() + b"\0" + data).digest()
    (folder / CHECKPOINTS).mkdir(exist_ok=True)
    (folder / CHECKPOINTS / f"{index:06d}.npz").write_bytes(digest + data)


def npz(arrays: dict[str, np.ndarray]) -> bytes:
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    return buffer.getvalue()


def changed_npz(data: bytes, change: Callable[[dict[str, np.ndarray]], Any]) -> bytes:
    with np.load(io.BytesIO(data)) as found:
        arrays = {name: found[name].copy() for name in found.files}
    change(arrays)
    return npz(arrays)


def deflated(names: list[str], size: int) -> bytes:
    """Return a small zip file of arrays that unpack to ``size`` bytes each."""
    head = io.BytesIO()
    np.lib.format.write_array_header_1_0(head, {"descr": "<f8", "fortran_order": False, "shape": (size // 8,)})
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for name in names:
            with archive.open(f"{name}.npy", "w") as file:
                file.write(head.getvalue())
                for _ in range(size // 1_000_000):
                    file.write(bytes(1_000_000))
    return buffer.getvalue()


def declared(name: str, shape: tuple[int, ...], descr: str = "<f8") -> bytes:
    """Return a npz file of one array whose header declares more than it holds."""
    head = io.BytesIO()
    np.lib.format.write_array_header_1_0(head, {"descr": descr, "fortran_order": False, "shape": shape})
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr(f"{name}.npy", head.getvalue() + bytes(64))
    return buffer.getvalue()


# --- the kinds


def _link(name: str) -> Callable[[Path, random.Random, Path], None]:
    def attack(folder: Path, rng: random.Random, outside: Path) -> None:
        path = folder / name
        is_folder = name in ("shards", "checkpoints", "figures", "damaged")
        if path.is_dir():
            path.rename(folder.with_name(f"{folder.name}-{name}"))
        path.unlink(missing_ok=True)
        places = (outside / "thesis", outside / "nothing") if is_folder else (outside / "thesis.tex", Path("/dev/zero"))
        path.symlink_to(rng.choice((*places, path.name)))  # the last: a link to itself

    return attack


def _pipe(name: str) -> Callable[[Path, random.Random, Path], None]:
    def attack(folder: Path, rng: random.Random, outside: Path) -> None:
        path = folder / name
        if path.is_dir():
            path.rename(folder.with_name(f"{folder.name}-{path.name}"))
        path.unlink(missing_ok=True)
        os.mkfifo(path)

    return attack


def _manifest(**changes: Any) -> Callable[[Path, random.Random, Path], None]:
    return lambda folder, rng, outside: resealed(folder, lambda table: table.update(changes))  # noqa: ARG005


def _bytes(name: str, data: bytes) -> Callable[[Path, random.Random, Path], None]:
    return lambda folder, rng, outside: rewritten(folder, name, data)  # noqa: ARG005


def _left(name: str, data: bytes) -> Callable[[Path, random.Random, Path], None]:
    return lambda folder, rng, outside: (folder / name).write_bytes(data)  # noqa: ARG005


def _theory(change: Callable[[dict[str, Any]], Any]) -> Callable[[Path, random.Random, Path], None]:
    """Change what theory says, and give it the check digits that it would have."""

    def attack(folder: Path, rng: random.Random, outside: Path) -> None:
        table = theory_in(folder)
        assert table is not None
        change(table)
        (folder / THEORY).write_bytes(seal(table, KEY, indent=2))

    return attack


def _summary(change: Callable[[dict[str, Any]], Any]) -> Callable[[Path, random.Random, Path], None]:
    def attack(folder: Path, rng: random.Random, outside: Path) -> None:
        table = json.loads((folder / SUMMARY).read_bytes())
        change(table)
        rewritten(folder, SUMMARY, json.dumps(table).encode())

    return attack


def _result(change: Callable[[h5py.File], Any]) -> Callable[[Path, random.Random, Path], None]:
    def attack(folder: Path, rng: random.Random, outside: Path) -> None:
        with h5py.File(folder / RESULT, "r+") as file:
            change(file)
        rewritten(folder, RESULT, (folder / RESULT).read_bytes())
        table = json.loads((folder / SUMMARY).read_bytes())
        table["hash"] = "0" * 64
        rewritten(folder, SUMMARY, json.dumps(table).encode())

    return attack


def _put(name: str, make: Callable[[h5py.Dataset], dict[str, Any]]) -> Callable[[h5py.File], None]:
    """Put another array in the place of one."""

    def change(file: h5py.File) -> None:
        options = make(file[name])
        del file[name]
        file.create_dataset(name, **options)

    return change


def _external(file: h5py.File) -> None:
    shape, dtype = file["error"].shape, file["error"].dtype
    del file["error"]
    file.create_dataset("error", shape, dtype, external=[("/etc/hostname", 0, h5py.h5f.UNLIMITED)])


def _virtual(file: h5py.File) -> None:
    layout = h5py.VirtualLayout(shape=file["error"].shape, dtype=file["error"].dtype)
    layout[...] = h5py.VirtualSource("/nowhere.h5", "error", shape=file["error"].shape)
    del file["error"]
    file.create_virtual_dataset("error", layout)


def _replaced_link(link: Any) -> Callable[[h5py.File], None]:
    def change(file: h5py.File) -> None:
        del file["error"]
        file["error"] = link

    return change


def _filled(name: str, value: float) -> Callable[[h5py.File], None]:
    def change(file: h5py.File) -> None:
        file[name][...] = np.full(file[name].shape, value, dtype=file[name].dtype)

    return change


def _shard(make: Callable[[bytes], bytes]) -> Callable[[Path, random.Random, Path], None]:
    return lambda folder, rng, outside: with_shard(folder, make((folder / SHARDS / "000000.npz").read_bytes()))  # noqa: ARG005


def _snapshot(make: Callable[[bytes], bytes]) -> Callable[[Path, random.Random, Path], None]:
    def attack(folder: Path, rng: random.Random, outside: Path) -> None:
        with_snapshot(folder, make((folder / CHECKPOINTS / "000004.npz").read_bytes()[DIGEST_SIZE:]))

    return attack


def _line(**changes: Any) -> Callable[[Path, random.Random, Path], None]:
    return lambda folder, rng, outside: with_line(folder, lambda table: table.update(changes))  # noqa: ARG005


def _long_journal(folder: Path, rng: random.Random, outside: Path) -> None:
    with (folder / JOURNAL).open("ab") as file:
        for _ in range(90):
            file.write(rng.choice((b"\n", b"{}\n", b"x" * 99 + b"\n")) * (1_000_000 // 100))


def _sparse(name: str) -> Callable[[Path, random.Random, Path], None]:
    def attack(folder: Path, rng: random.Random, outside: Path) -> None:
        os.truncate(folder / name, 10**12)

    return attack


def _lock(**changes: Any) -> Callable[[Path, random.Random, Path], None]:
    def attack(folder: Path, rng: random.Random, outside: Path) -> None:
        table = {"host": "elsewhere", "pid": 77, "since": "2026-01-01 00:00:00 +0000", **changes}
        (folder / "lock").write_bytes(seal(table, LOCK_KEY))

    return attack


def _scenario(text: str) -> Callable[[Path, random.Random, Path], None]:
    def attack(folder: Path, rng: random.Random, outside: Path) -> None:
        (folder / SCENARIO).write_text(text)
        resealed(folder, lambda table: table.update(text_sha256=sha256(text.encode()).hexdigest()))

    return attack


def _arrays(**values: Any) -> Callable[[bytes], bytes]:
    return lambda data: changed_npz(data, lambda arrays: arrays.update({k: np.array(v) for k, v in values.items()}))


def _numbers(name: str, value: float) -> Callable[[bytes], bytes]:
    return lambda data: changed_npz(data, lambda arrays: arrays.update({name: np.full_like(arrays[name], value)}))
