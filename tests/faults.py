"""Things that go wrong: a disk that fails, bits that flip, processes that are killed. Used by tests and the soak."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import psutil

from tracker.runs import atomic_files
from tracker.runs.file_names import JOURNAL, SUMMARY
from tracker.runs.journal import Entry, read_journal
from tracker.runs.ownership import read_manifest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ROOT = Path(__file__).parents[1]


class FailingDisk(atomic_files.Disk):
    """Fails at the n-th step (and at all later ones if ``for_good``); a write that fails has written the half."""

    def __init__(self, n: int, code: int, *, for_good: bool = False) -> None:
        self.steps, self._n, self._code, self._for_good = 0, n, code, for_good

    def _count(self) -> None:
        self.steps += 1
        if self.steps == self._n or (self._for_good and self.steps > self._n):
            raise OSError(self._code, os.strerror(self._code))

    def open(self, path: Path, mode: str) -> BinaryIO:
        self._count()
        return super().open(path, mode)

    def write(self, file: BinaryIO, data: bytes) -> None:
        try:
            self._count()
        except OSError:
            super().write(file, data[: len(data) // 2])
            raise
        super().write(file, data)

    def fill(self, path: Path, writer: Callable[[Path], None]) -> None:
        super().fill(path, writer)
        self._count()

    def sync(self, handle: int) -> None:  # noqa: ARG002
        self._count()  # nothing is synced: tests need no disk

    def rename(self, old: Path, new: Path) -> None:
        self._count()
        super().rename(old, new)

    def remove(self, path: Path) -> None:
        self._count()
        super().remove(path)

    def make_folder(self, path: Path) -> None:
        self._count()
        super().make_folder(path)


@contextmanager
def disk(used: atomic_files.Disk) -> Iterator[None]:
    """Use another disk."""
    before, atomic_files.disk = atomic_files.disk, used
    try:
        yield
    finally:
        atomic_files.disk = before


def flipped(data: bytes, rng: random.Random) -> bytes:
    """Return ``data`` with one bit changed."""
    place = rng.randrange(len(data))
    return data[:place] + bytes([data[place] ^ 1 << rng.randrange(8)]) + data[place + 1 :]


def kept_entries(folder: Path) -> dict[int, Entry]:
    """Return what the journal of a run holds; nothing before it has begun or after it is complete."""
    try:
        manifest = read_manifest(folder)
        return read_journal((folder / JOURNAL).read_bytes(), manifest.identity).entries
    except Exception:
        return {}


ZYGOTE = """
import json, os, signal, sys
os.environ["OPENBLAS_NUM_THREADS"] = "1"
import tracker, xarray, h5netcdf
from tracker.cli import app
from tracker.runs import checkpoints
from tracker.engine.simulate import compile_kernels, prepare
checkpoints.SECONDS_BETWEEN_SNAPSHOTS = float(sys.argv[2])
checkpoints.SECONDS_WORTH_KEEPING = min(checkpoints.SECONDS_WORTH_KEEPING, checkpoints.SECONDS_BETWEEN_SNAPSHOTS)
compile_kernels(prepare(tracker.load(sys.argv[1])))
print("ready", flush=True)
for line in sys.stdin:
    pid = os.fork()
    if pid == 0:
        signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored, if the tests run in the background
        order = json.loads(line)
        out = os.open(order["log"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(out, 1), os.dup2(out, 2)
        try:
            app(order["arguments"])
        except SystemExit as end:
            sys.stdout.flush(), sys.stderr.flush()
            os._exit(end.code or 0)
        os._exit(99)
    print(pid, flush=True)
    print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)
"""


class Zygote:
    """A process that has loaded everything and forks one that runs a command, which can then be killed at once."""

    def __init__(self, scenario: Path, folder: Path, snapshot_every: float) -> None:
        self._log = folder / "log.txt"
        env = {**os.environ, "PYTHONPATH": str(ROOT), "OPENBLAS_NUM_THREADS": "1"}
        self._process = subprocess.Popen(
            [sys.executable, "-c", ZYGOTE, str(scenario), str(snapshot_every)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=env,
            cwd=folder,
        )
        assert self._read() == "ready"

    def _read(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline().strip()

    def start(self, *arguments: str) -> int:
        """Begin ``tracker ARGUMENTS`` and return the process's number."""
        assert self._process.stdin is not None
        print(json.dumps({"arguments": arguments, "log": str(self._log)}), file=self._process.stdin, flush=True)
        return int(self._read())

    def end(self) -> tuple[int, str]:
        """Wait for it; return its exit code (minus the signal that ended it) and all that it printed."""
        return int(self._read()), self._log.read_text()

    def close(self) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait()
        self._process.stdout.close()


@contextmanager
def zygote(scenario: Path, folder: Path, snapshot_every: float = 30.0) -> Iterator[Zygote]:
    made = Zygote(scenario, folder, snapshot_every)
    try:
        yield made
    finally:
        made.close()


def wait_until(condition: Callable[[], Any], seconds: float = 600.0) -> Any:
    """Return what ``condition`` gives once that is true."""
    end = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < end, "waited too long"
        time.sleep(0.002)
    return found


class Killings:
    """Kill a run or a sweep again and again, each time with ``--resume`` after it, and watch what it keeps."""

    def __init__(
        self, root: Zygote, file: Path, folder: Path, rng: random.Random, command: str = "run", engine: str = "threads"
    ) -> None:
        self._root, self._folder, self._rng = root, folder, rng
        self._arguments = (command, str(file), "--out", str(folder), "--resume", "--workers", "2", "--engine", engine)
        self._arguments += ("--json", "--quiet") if command == "run" else ("--json", "--no-report")
        self.kills = self.lost = self.twice = self.left = 0
        self._entries: dict[tuple[str, int], Entry] = {}

    def kill_once(self, longest: float, *, after_progress: bool = False) -> bool:
        """Kill after a random time up to ``longest`` seconds; False if the run came to its end before.

        ``after_progress``: the time runs from the first new shard or snapshot on.
        """
        before = self._traces()
        pid = self._root.start(*self._arguments)
        while after_progress and self._traces() <= before and not (self._folder / SUMMARY).exists():
            if not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE:
                break
            time.sleep(0.002)
        time.sleep(self._rng.uniform(0, longest))
        children = []
        with suppress(ProcessLookupError, psutil.NoSuchProcess):
            children = psutil.Process(pid).children(recursive=True)
            os.kill(pid, signal.SIGKILL)
        code, said = self._root.end()
        assert code in (-signal.SIGKILL, 0), said
        self.left += len(psutil.wait_procs(children, timeout=20)[1])
        self.look()
        self.kills += code != 0
        return code != 0

    def _runs(self) -> list[Path]:
        return [self._folder, *sorted(self._folder.glob("points/*"))]

    def _traces(self) -> set[tuple[str, int]]:
        """What is on the disk of shards and snapshots."""
        found = set()
        for run in self._runs():
            for folder in ("shards", "checkpoints"):
                with suppress(OSError):  # a folder that goes while it is looked at: the run is complete
                    found |= {(f"{run.name}/{path.name}", path.stat().st_mtime_ns) for path in run.glob(f"{folder}/0*")}
        return found

    def look(self) -> None:
        """Compare the journals with the last ones: every entry must still be there, and be the same."""
        for run in self._runs():
            entries = {(run.name, index): entry for index, entry in kept_entries(run).items()}
            if not entries:
                continue
            before = {key: entry for key, entry in self._entries.items() if key[0] == run.name}
            self.lost += sum(key not in entries for key in before)
            self.twice += sum(key in entries and entries[key] != entry for key, entry in before.items())
            self._entries |= entries

    def forget(self) -> None:
        """Begin anew: what was kept is removed on purpose."""
        self._entries = {}

    def finish(self) -> dict[str, Any]:
        """Let it come to its end and return what it prints as JSON."""
        self._root.start(*self._arguments)
        code, said = self._root.end()
        assert code == 0, said
        return dict(json.loads(said[said.index("{") :]))
