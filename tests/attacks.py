"""Run directories that attack whoever reads them, with every check digit made right. Used by tests and the soak.

``plant(folder, seed)`` changes a good run directory and says what each command may answer:

- "refused": ``CorruptRun``, exit code 7;
- "again": ``--resume`` puts the file aside and ends with the hash of the undisturbed run;
- "fine": the command does not look there, and must not be disturbed.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import h5py
import numpy as np
from forging import (
    _arrays,
    _bytes,
    _external,
    _filled,
    _left,
    _line,
    _link,
    _lock,
    _long_journal,
    _manifest,
    _numbers,
    _pipe,
    _put,
    _replaced_link,
    _result,
    _scenario,
    _shard,
    _snapshot,
    _sparse,
    _summary,
    _theory,
    _virtual,
    declared,
    deflated,
    npz,
)

import tracker
from tracker.cli.watch import look
from tracker.runs import CorruptRun, RunDiffers
from tracker.runs.file_names import CODE, MANIFEST, RESULT, SUMMARY, THEORY
from tracker.runs.manifest import Manifest
from tracker.runs.run_status import status_of
from tracker.runs.so_far import FinishedShards

COMMANDS = ("status", "open", "report", "resume", "watch", "merge")
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
    read = kind.open if manifest.complete else kind.status
    answers = {"status": kind.status, "open": kind.open, "report": kind.open, "resume": kind.resume, "watch": read}
    return Attack(kind.name, answers | {"merge": (REFUSED,) if not manifest.complete else kind.open})


def answer(command: str, folder: Path, scenario: tracker.Scenario, expected: str, other: Path | None = None) -> str:
    """Return what ``command`` answers; "wrong" where it takes a result for right that is not.

    ``folder`` is the first of two parts where it is to be merged with the ``other``.
    """
    told: list[str] = []
    try:
        if command == "status":
            status_of(folder)
            return FINE
        if command == "watch":
            look(FinishedShards(folder))
            return FINE
        if command == "merge":
            run = tracker.merge(folder.with_name("whole"), [folder, other or folder])
        elif command == "resume":
            run = tracker.run(scenario, folder, 1, resume=True, notice=told.append)
        else:
            run = tracker.open_run(folder)
        if command == "report":
            run.report(folder / "report.html")
    except (CorruptRun, RunDiffers):
        return REFUSED
    return "wrong" if run.summary["hash"] != expected else AGAIN if told else FINE


BOTH = "finished, under way"
OWN_NAMES = (
    "manifest.json", "scenario.toml", "lock", "report.html", "figures", "damaged", "journal.jsonl", "shards", "theory.json", "code.py", "earlier.nc",
)  # fmt: skip
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
    "code a number": {"code": 5},
    "part 0 of 2": {"part": [0, 2]},
    "part 3 of 2": {"part": [3, 2]},
    "part text": {"part": "1/2"},
    "part of texts": {"part": ["1", "2"]},
    "part of three": {"part": [1, 2, 3]},
    "part of more than there are trials": {"part": [1, 10**18]},
    "earlier a number": {"earlier": 3},
    "earlier without hashes": {"earlier": [3, "", "", [1.0]]},
    "earlier with all trials": {"earlier": [6, "0" * 64, "0" * 64, [1.0]]},
    "earlier and a part": {"part": [1, 2], "earlier": [1, "0" * 64, "0" * 64, [1.0]]},
    "earlier with seconds of texts": {"earlier": [1, "0" * 64, "0" * 64, ["1"]]},
}
BAD_THEORY: dict[str, Callable[[dict[str, Any]], Any]] = {
    "another run's": lambda table: table.update(hash="0" * 64),
    "a list": lambda table: table.update(ladder=[]),
    "text for a number": lambda table: table["split"].update(dict.fromkeys(table["split"], "0.1")),
    "another sampler": lambda table: table["ladder"].update(stranger=[]),
    "an answer less": lambda table: table["advice"]["samplers"][0].pop("floor"),
    "no samplers": lambda table: table["advice"].update(samplers=[]),
    "escapes": lambda table: table["advice"]["notes"].append(ESCAPES),
    "a book for a note": lambda table: table["advice"]["notes"].append("a" * 10**7),
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
    *(
        Kind(f"theory: {name}", "finished", _theory(change), status=(FINE,), open=(FINE,), resume=(FINE,))
        for name, change in BAD_THEORY.items()
    ),
    Kind("theory: brackets", "finished", _left(THEORY, b"[" * 100_000), status=(FINE,), open=(FINE,), resume=(FINE,)),
    Kind("theory: 1 TB", "finished", _sparse(THEORY), status=(FINE,), open=(FINE,), resume=(FINE,)),
    Kind(
        "code that nobody named",
        BOTH,
        _left(CODE, b"raise SystemExit(99)"),
        status=(FINE,),
        open=(FINE, REFUSED),
        resume=(FINE,),
    ),
    Kind("manifest: code of another", "finished", _manifest(code="0" * 64), status=(FINE,), resume=(FINE,)),
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
