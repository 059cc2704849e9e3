"""The cache of compiled code: whatever lies in it, the answer is the same, nothing foreign is run, one line tells.

One small kernel of the package stands for all: its entries are made once and damaged in every way.
"""

from __future__ import annotations

import hashlib
import json
import os
import pickle
import shutil
import subprocess
import sys
import threading
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from worlds import ROOT

from tracker.cli import plain_warnings
from tracker.compiled import cache_files, cache_folder, caching, numba_cache

# Draws with a kernel of the package as a command would, and tells what came out and where the code came from.
DRAW = """
import hashlib, json, sys
import numpy as np
from tracker.cli.plain_warnings import warn_plainly
warn_plainly()
from tracker import streams
out = np.zeros((4, 5))
streams.normals_by_trial(streams.entropy_words(3), streams.START, np.arange(4), out)
cached = streams.normals_by_trial._cached
hits = sum(cached.stats.cache_hits.values()) if cached is not None else 0
print(json.dumps({"hash": hashlib.sha256(out.tobytes()).hexdigest(), "hits": hits}))
"""


def drawn(parent: Path) -> tuple[dict[str, Any], list[str]]:
    env = {**os.environ, "PYTHONPATH": str(ROOT), "TRACKER_CACHE_DIR": str(parent)}
    env.pop("PYTHONWARNINGS", None)
    command = [sys.executable, "-c", DRAW]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False, env=env)
    assert done.returncode == 0, done.stderr
    told: dict[str, Any] = json.loads(done.stdout)
    return told, done.stderr.splitlines()


def expected() -> str:
    streams = [np.random.SFC64(np.random.SeedSequence(3, spawn_key=(5, t))) for t in range(4)]
    numbers = np.array([np.random.Generator(stream).standard_normal(5) for stream in streams])
    return hashlib.sha256(numbers.tobytes()).hexdigest()


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    parent = tmp_path_factory.mktemp("cache") / "deep" / "parent"
    assert drawn(parent) == ({"hash": expected(), "hits": 0}, [])
    assert drawn(parent) == ({"hash": expected(), "hits": 1}, [])
    return parent


@pytest.fixture
def parent(filled: Path, tmp_path: Path) -> Path:
    shutil.copytree(filled, tmp_path / "parent")
    return tmp_path / "parent"


def entry(parent: Path, pattern: str) -> Path:
    [found] = parent.glob(f"kernels-*/{pattern}")
    return found


def test_the_folders_are_the_users_own_and_a_digest_stands_beside_each_entry(parent: Path) -> None:
    assert [path.stat().st_mode & 0o777 for path in (parent, *parent.glob("kernels-*"))] == [0o700, 0o700]
    for pattern in ("*.nbi", "*.nbc"):
        path = entry(parent, pattern)
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        assert path.with_name(path.name + ".sha256").read_text() == f"{digest}  {path.name}\n"


def flipped(content: bytes) -> bytes:
    middle = len(content) // 2
    return content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :]


DAMAGE = {
    "garbage": lambda _: b"garbage\n",
    "empty": lambda _: b"",
    "half": lambda content: content[: len(content) // 2],
    "one bit": flipped,
}


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody writes meanwhile: what does not fit now never will."""
    monkeypatch.setattr(cache_files, "PAUSES_BEFORE_A_DIGEST_FITS", (0.0,))


class Code:
    """Stands for compiled code: ``pickle`` and the checks see real files, numba's part is left out."""

    def __init__(self, folder: Path) -> None:
        self.entries = cache_files.CacheEntries(folder, "loop.advance-1.py311", pickle.dumps)

    def load(self, key: str) -> object:
        try:
            return self.entries.load(key)
        except cache_files.DamagedEntry:
            return "damaged"


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("damage", DAMAGE)
@pytest.mark.parametrize("file", ["nbi", "1.nbc", "nbi.sha256", "1.nbc.sha256"])
def test_what_is_damaged_is_removed_and_never_read(tmp_path: Path, file: str, damage: str) -> None:
    code = Code(tmp_path)
    code.entries.save("key", "code")
    code.entries.save("other", "other code")
    path = tmp_path / f"loop.advance-1.py311.{file}"
    path.write_bytes(DAMAGE[damage](path.read_bytes()))
    assert code.load("key") == "damaged"
    assert code.load("key") is None  # gone, with its digest
    assert code.load("other") == (None if "nbi" in file else "other code")
    code.entries.save("key", "code again")
    assert code.load("key") == "code again"


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("bit", range(0, 8 * 80, 41))
def test_every_bit_of_a_digest_counts(tmp_path: Path, bit: int) -> None:
    code = Code(tmp_path)
    code.entries.save("key", "code")
    path = tmp_path / "loop.advance-1.py311.1.nbc.sha256"
    content = bytearray(path.read_bytes())
    content[bit // 8] ^= 1 << bit % 8
    path.write_bytes(content)
    assert code.load("key") == "damaged"


@pytest.mark.usefixtures("impatient")
def test_a_missing_digest_a_link_and_a_pipe_are_damage_and_a_missing_entry_is_none(tmp_path: Path) -> None:
    code = Code(tmp_path)
    path = tmp_path / "loop.advance-1.py311.1.nbc"
    code.entries.save("key", "code")
    (tmp_path / f"{path.name}.sha256").unlink()
    assert code.load("key") == "damaged"
    code.entries.save("key", "code")
    path.rename(tmp_path / "elsewhere")
    path.symlink_to(tmp_path / "elsewhere")
    assert code.load("key") == "damaged"
    code.entries.save("key", "code")
    path.unlink()
    os.mkfifo(path)
    assert code.load("key") == "damaged"
    code.entries.save("key", "code")
    path.chmod(0o666)
    assert code.load("key") == "damaged"
    code.entries.save("key", "code")
    path.unlink()
    assert code.load("key") is None
    code.entries.save("key", "code")  # control
    assert code.load("key") == "code"


def test_the_code_of_another_key_is_not_taken_for_ones_own(tmp_path: Path) -> None:
    """As after a kill between two files: each is whole, and they do not belong together."""
    code = Code(tmp_path)
    code.entries.save("key", "code")
    index = {path: path.read_bytes() for path in tmp_path.glob("*.nbi*")}
    for path in index:
        path.unlink()
    code.entries.save("other", "other code")  # takes the first number again
    for path, content in index.items():
        path.write_bytes(content)
    assert code.load("key") is None


def test_many_writers_and_readers_find_code_or_none(tmp_path: Path) -> None:
    found: list[object] = []

    def work(number: int) -> None:
        code = Code(tmp_path)
        for turn in range(10):
            code.entries.save(f"{number}", (number, turn))
            found.extend(code.load(f"{other}") for other in range(4))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert "damaged" not in found
    assert [Code(tmp_path).load(f"{number}") for number in range(4)] == [(number, 9) for number in range(4)]
    assert not list(tmp_path.glob("*.tmp.*"))


def test_a_writer_that_hangs_keeps_nobody_waiting_for_long(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache_files, "SECONDS_TO_WAIT_FOR_A_WRITER", 0.05)
    with cache_files._alone(tmp_path), pytest.raises(cache_files.WriterBusy):
        Code(tmp_path).entries.save("key", "code")


class Mark:
    """A pickle that leaves a mark when it is read."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, tuple[Any, ...]]:
        return os.mkdir, (str(self.path),)


def test_a_folder_that_others_may_write_is_not_used(parent: Path, tmp_path: Path) -> None:
    """Even with a digest that fits: whoever can write the entry can write that too."""
    index = entry(parent, "*.nbi")
    index.write_bytes(pickle.dumps(Mark(tmp_path / "mark")))
    digest = hashlib.sha256(index.read_bytes()).hexdigest()
    index.with_name(index.name + ".sha256").write_text(f"{digest}  {index.name}\n")
    index.parent.chmod(0o777)
    before = sorted(parent.rglob("*"))
    told, lines = drawn(parent)
    assert not (tmp_path / "mark").exists()
    assert told == {"hash": expected(), "hits": 0}
    assert len(lines) == 1
    assert lines[0].startswith(f"warning: compiled code cannot be kept in {parent} (others may write there)")
    assert sorted(parent.rglob("*")) == before

    index.parent.chmod(0o700)  # control: from a folder of one's own it is read, and damage all the same
    told, lines = drawn(parent)
    assert (tmp_path / "mark").exists()
    assert told == {"hash": expected(), "hits": 0}
    assert len(lines) == 1


def test_garbage_in_every_entry_costs_one_line(parent: Path) -> None:
    for pattern in ("*.nbi", "*.nbc"):
        entry(parent, pattern).write_text("garbage\n")
    told, lines = drawn(parent)
    assert told == {"hash": expected(), "hits": 0}
    assert len(lines) == 1
    assert lines[0].startswith("warning: compiled code kept in ")
    assert drawn(parent) == ({"hash": expected(), "hits": 1}, [])


@pytest.fixture
def fresh(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The folder is looked for again; what is said is kept."""
    said: list[str] = []
    monkeypatch.setattr(caching, "warn_once", said.append)
    monkeypatch.setattr(numba_cache, "warn_once", said.append)
    monkeypatch.setattr(caching, "cache_folder", cache_folder.__wrapped__)
    return said


def test_only_a_parent_of_ones_own_will_do(tmp_path: Path, fresh: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    parent = tmp_path / "parent"
    monkeypatch.setenv("TRACKER_CACHE_DIR", str(parent))
    folder = caching.cache_folder()
    assert folder is not None
    assert folder.parent == parent
    assert fresh == []
    for mode in (0o720, 0o702):
        parent.chmod(mode)
        assert caching.cache_folder() is None
        parent.chmod(0o700)
        folder.chmod(mode)
        assert caching.cache_folder() is None
        folder.chmod(0o700)
    folder.rename(tmp_path / "elsewhere")
    folder.symlink_to(tmp_path / "elsewhere")
    assert caching.cache_folder() is None
    folder.unlink()
    assert caching.cache_folder() == folder
    monkeypatch.setattr(os, "geteuid", lambda: 12345)
    assert caching.cache_folder() is None
    reasons = [line.partition("(")[2].partition(")")[0] for line in fresh]
    assert reasons == ["others may write there"] * 4 + ["it is a link", "it belongs to another user"]


class Changed:
    """A compile result, or a context, of a numba to come: nothing is where it was."""


def test_a_numba_that_has_changed_keeps_nothing_and_does_not_stop(tmp_path: Path, fresh: list[str]) -> None:
    def function() -> None: ...

    function.__module__ = "tracker.engine.loop"
    cache = numba_cache.checked_cache(function, tmp_path)
    assert cache is not None
    assert cache.load_overload((), Changed()) is None
    cache.save_overload((), Changed())
    assert len(fresh) == 2
    assert list(tmp_path.iterdir()) == []
    function.__module__ = "somebody.else"
    assert numba_cache.checked_cache(function, tmp_path) is None


def test_one_warning_in_a_process_in_the_programs_own_words(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(caching, "_said", [])
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        plain_warnings.warn_plainly()
        caching.warn_once("compiled code is gone")
        caching.warn_once("again")
        assert capsys.readouterr().err == "warning: compiled code is gone\n"
    told: list[object] = []
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        monkeypatch.setattr(warnings, "showwarning", lambda *what: told.append(what[0]))
        plain_warnings.warn_plainly()
        warnings.warn("of others", RuntimeWarning, stacklevel=1)
    assert [str(one) for one in told] == ["of others"]  # control: left to Python
    assert capsys.readouterr().err == ""
