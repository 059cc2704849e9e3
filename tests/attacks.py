"""Run directories that attack whoever reads them, with every check digit made right. Used by tests and the soak.

``plant(folder, seed)`` changes a good run directory and says what each command may answer:

- "refused": ``CorruptRun``, exit code 7;
- "again": ``--resume`` puts the file aside and ends with the hash of the undisturbed run;
- "fine": the command does not look there, and must not be disturbed.
"""

from __future__ import annotations

import io
import json
import os
import random
import zipfile
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

import h5py
import numpy as np

import tracker
from tracker.runs import CorruptRun
from tracker.runs.checkpoints import DIGEST_SIZE
from tracker.runs.locking import KEY
from tracker.runs.names import CHECKPOINTS, JOURNAL, MANIFEST, RESULT, SHARDS, SUMMARY
from tracker.runs.records import SCENARIO, Manifest, opened, sealed
from tracker.runs.status import status_of

COMMANDS = ("status", "open", "report", "resume")
REFUSED, AGAIN, FINE = "refused", "again", "fine"
ESCAPES = "\x1b]0;x\x07"


class Attack(NamedTuple):
    """What was planted, and the answers that each command may give."""

    name: str
    answers: dict[str, tuple[str, ...]]


class Kind(NamedTuple):
    """A way to attack: ``plant(folder, rng, outside)``; on a run that is "finished", "under way", or both."""

    name: str
    state: str
    plant: Callable[[Path, random.Random, Path], None]
    status: tuple[str, ...] = (REFUSED,)
    resume: tuple[str, ...] = (REFUSED,)
    open: tuple[str, ...] = (REFUSED,)


def plant(folder: Path, seed: int, outside: Path) -> Attack:
    """Plant one attack in the good run directory ``folder``; links lead to ``outside``, where nothing may change."""
    manifest = Manifest.decode((folder / MANIFEST).read_bytes())
    assert manifest is not None
    state = "finished" if manifest.complete else "under way"
    fitting = [kind for kind in KINDS if state in kind.state]
    kind = fitting[seed % len(fitting)]  # all kinds in turn, details by chance
    kind.plant(folder, random.Random(seed), outside)
    return Attack(kind.name, {"status": kind.status, "open": kind.open, "report": kind.open, "resume": kind.resume})


def answer(command: str, folder: Path, scenario: tracker.Scenario, expected: str) -> str:
    """Return what ``command`` answers; "wrong" where it takes a result for right that is not."""
    told: list[str] = []
    try:
        if command == "status":
            status_of(folder)
            return FINE
        if command == "resume":
            run = tracker.run(scenario, folder, 1, resume=True, notice=told.append)
        else:
            run = tracker.open_run(folder)
        if command == "report":
            run.report(folder / "report.html")
    except CorruptRun:
        return REFUSED
    return "wrong" if run.summary["hash"] != expected else AGAIN if told else FINE


# --- changing a directory so that its check digits are right


def resealed(folder: Path, change: Callable[[dict[str, Any]], Any]) -> None:
    """Change the table of the manifest and give it the check digits that it would have."""
    table = json.loads((folder / MANIFEST).read_bytes())
    del table["check"]
    change(table)
    (folder / MANIFEST).write_bytes(sealed(table, "manifest", indent=2))


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
    table = opened(lines[place], identity)
    change(table)
    lines[place] = sealed(table, identity)
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
        (folder / "lock").write_bytes(sealed(table, KEY))

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


BOTH = "finished, under way"
OWN_NAMES = ("manifest.json", "scenario.toml", "lock", "report.html", "figures", "damaged", "journal.jsonl", "shards")
BAD_MANIFESTS: dict[str, dict[str, Any]] = {
    "trials text": {"trials": "6"},
    "trials 1e18": {"trials": 10**18},
    "trials 1e12 in shards of one": {"trials": 10**12, "shard_size": 1},
    "trials beyond all bounds": {"trials": 10**4000},
    "trials negative": {"trials": -1},
    "shard_size 0": {"shard_size": 0},
    "shard_size true": {"shard_size": True},
    "steps 0": {"steps": 0},
    "seed text": {"seed": "1"},
    "files a list": {"files": ["result.nc"]},
    "files elsewhere": {"files": {"/dev/zero": "0" * 64, "../../x": "0" * 64}},
    "versions a list": {"versions": [1, 2]},
    "versions numbers": {"versions": {"numpy": 2}},
    "data elsewhere": {"data": {"../x.csv": "0" * 64}},
    "name with escapes": {"name": ESCAPES},
    "complete text": {"complete": "yes"},
    "failed numbers": {"failed": [1]},
    "failed beyond": {"failed": [{"first": 0, "stop": 10**9, "error": "x"}]},
    "one more key": {"more": 1},
}
NOT_SHARDS: dict[str, Callable[[bytes], bytes]] = {
    "no zip": lambda _: b"no zip at all",
    "empty": lambda _: b"",
    "half": lambda data: data[: len(data) // 2],
    "objects": _arrays(trial=[{"a": 1}]),
    "other arrays": lambda _: npz({"thesis": np.zeros(3)}),
    "one array more": _arrays(thesis=[1.0]),
    "packed": lambda _: deflated(["trial", "reached"], 64_000_000),
    "a header of 7 PiB": lambda _: declared("reached", (10**15,)),
    "a header of negative size": lambda _: declared("reached", (-1,)),
    "a header of objects": lambda _: declared("trial", (4,), "|O"),
}
KINDS: tuple[Kind, ...] = (
    *(Kind(f"{name} is a link", BOTH, _link(name)) for name in OWN_NAMES),
    *(Kind(f"{name} is a pipe", BOTH, _pipe(name)) for name in OWN_NAMES),
    *(Kind(f"{name} is a link", "finished", _link(name)) for name in ("result.nc", "summary.json")),
    *(Kind(f"{name} is a pipe", "finished", _pipe(name)) for name in ("result.nc", "summary.json")),
    *(
        Kind(f"checkpoints {how}", "under way", way("checkpoints"))
        for how, way in (("linked", _link), ("a pipe", _pipe))
    ),
    *(Kind(f"manifest: {name}", BOTH, _manifest(**changes)) for name, changes in BAD_MANIFESTS.items()),
    Kind("scenario: no TOML", "finished", _scenario("= nothing ="), status=(FINE,), resume=(FINE, REFUSED)),
    Kind("scenario: another", "finished", _scenario('name = "x"'), status=(FINE,), resume=(FINE, REFUSED)),
    Kind("scenario: brackets", "finished", _scenario("a = " + "[" * 90_000), status=(FINE,), resume=(FINE, REFUSED)),
    *(
        Kind(f"lock: {name}", BOTH, _lock(**changes), status=(FINE,), open=(FINE, REFUSED))
        for name, changes in {
            "pid 1e30": {"pid": 10**30},
            "pid 0": {"pid": 0},
            "pid -1": {"pid": -1},
            "pid text": {"pid": "1"},
            "host with escapes": {"host": ESCAPES},
            "since a list": {"since": []},
        }.items()
    ),
    *(
        Kind(f"summary: {name}", "finished", _bytes(SUMMARY, data), status=(FINE,))
        for name, data in {
            "a list": b"[]",
            "brackets": b"[" * 100_000,
            "no JSON": b"no JSON",
            "nothing": b"",
            "no hash": b"{}",
        }.items()
    ),
    Kind("summary: no samplers", "finished", _summary(lambda table: table.pop("samplers")), status=(FINE,)),
    Kind(
        "summary: text for a speed",
        "finished",
        _summary(lambda table: table["samplers"][0].update(steps_per_second="fast")),
        status=(FINE,),
    ),
    Kind(  # it is made again of the arrays: the lie has no effect
        "summary: text for a number",
        "finished",
        _summary(lambda table: table["samplers"][0].update(tracking_error="none", name="=cmd|x")),
        status=(FINE,),
        open=(FINE,),
        resume=(FINE,),
    ),
    *(
        Kind(f"result: {name}", "finished", _result(change), status=(FINE,))
        for name, change in {
            "other shape": _put("error", lambda old: {"data": old[()][:1]}),
            "other type": _put("diverged", lambda old: {"data": old[()].astype(float)}),
            "text": _put("diverged", lambda old: {"data": np.full(old.shape, b"x")}),
            "4 GB that are not there": _put(
                "error", lambda _: {"shape": (8000, 500, 125), "dtype": "f8", "chunks": True}
            ),
            "the right shape, not there": _put(
                "error", lambda old: {"shape": old.shape, "dtype": "f8", "chunks": True}
            ),
            "modes out of range": _filled("mode", 99),
            "final modes out of range": _filled("final_mode", -3),
            "trials of another run": _filled("trial", 5),
            "all nan": _filled("theta_trace", np.nan),
            "all infinite": _filled("error", np.inf),
            "negative counts": _filled("waits", -1),
            "an array less": lambda file: file.__delitem__("waits"),
            "a group": lambda file: (file.__delitem__("waits"), file.create_group("waits")),
            "numbers in another file": _external,
            "a virtual array": _virtual,
            "a soft link": _replaced_link(h5py.SoftLink("/excess")),
            "a link to another file": _replaced_link(h5py.ExternalLink("/nowhere.h5", "error")),
        }.items()
    ),
    Kind("result: no HDF5", "finished", _bytes(RESULT, b"no HDF5 at all"), status=(FINE,)),
    Kind("result: a terabyte of nothing", "finished", _sparse(RESULT), status=(FINE, REFUSED)),
    *(
        Kind(f"journal: {name}", "under way", _line(**changes), status=(FINE,), resume=(AGAIN,))
        for name, changes in {
            "shard text": {"shard": "0"},
            "shard a list": {"shard": [0]},
            "shard -1": {"shard": -1},
            "shard beyond": {"shard": 10**9},
            "shard true": {"shard": True},
            "seconds text": {"seconds": "fast"},
            "seconds negative": {"seconds": [-1.0]},
            "seconds few": {"seconds": []},
            "sha256 a number": {"sha256": 5},
            "file elsewhere": {"file": "../../thesis.tex"},
            "trials of another": {"first": 3, "stop": 4},
        }.items()
    ),
    Kind("journal: 90 MB", "under way", _long_journal),
    *(
        Kind(f"shard: {name}", "under way", _shard(make), status=(FINE,), resume=(AGAIN,))
        for name, make in {
            **NOT_SHARDS,
            "other trials": _numbers("trial", 3),
            "modes out of range": _numbers("mode", 99),
            "nan": _numbers("theta", np.nan),
            "negative counts": _numbers("waits", -5),
        }.items()
    ),
    *(
        Kind(f"snapshot: {name}", "under way", _snapshot(make), status=(FINE,), resume=(AGAIN,))
        for name, make in {
            **NOT_SHARDS,
            "beyond the last step": _numbers("reached", 10**15),
            "before the first": _numbers("reached", -7),
            "marks out of range": _numbers("0.marks", 10**9),
            "seconds nan": _numbers("seconds", np.nan),
        }.items()
    ),
    *(
        Kind(f"{name} of 1 TB", "under way", _sparse(f"{name}.npz"), status=(FINE,), resume=(AGAIN,))
        for name in ("shards/000001", "checkpoints/000004")
    ),
    *(
        Kind(f"{name} is {how}", "under way", way(f"{name}.npz"), status=(FINE,), resume=(AGAIN,))
        for name in ("shards/000001", "checkpoints/000004")
        for how, way in (("a link", _link), ("a pipe", _pipe))
    ),
)
