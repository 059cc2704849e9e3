"""Several writers at one directory, and a disk that is full."""

from __future__ import annotations

import random
import shutil
import subprocess
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from faults import Zygote, zygote

import tracker
from soaking.common import SHORT, Sizes, check, say
from tracker.runs import open_run

FLAGS = ((), ("--resume",), ("--replace",))
ROOM = (16, 64, 160, 400, 900)  # kB of the disk


def races(sizes: Sizes, folder: Path) -> None:
    """Two or three writers begin at once, fresh, with --resume and --replace, in all mixtures."""
    file, rng, codes = folder / "short.toml", random.Random(3), Counter[int]()
    file.write_text(SHORT.toml())
    expected = tracker.run(SHORT).summary["hash"]
    began = time.monotonic()
    with ExitStack() as stack:
        roots = [stack.enter_context(zygote(file, _made(folder / f"root{n}"))) for n in range(3)]
        for n in range(sizes.races):
            _race(roots[: rng.choice((2, 3))], file, folder / f"race{n}", rng, codes, expected)
    say("races", of=sizes.races, exit_codes=dict(sorted(codes.items())), seconds=round(time.monotonic() - began))


def _made(folder: Path) -> Path:
    folder.mkdir()
    return folder


def _race(
    roots: Sequence[Zygote], file: Path, path: Path, rng: random.Random, codes: Counter[int], expected: str
) -> None:
    if rng.random() < 0.5:
        tracker.run(SHORT, path, 1)
    for root in roots:
        root.start(*_arguments(file, path, *rng.choice(FLAGS)))
    for root in roots:
        code, said = root.end()
        codes[code] += 1
        check(code in (0, 7), f"races: exit code {code}: {said[-300:]}")
        check("Traceback" not in said, f"races: {said[-300:]}")
    check(open_run(path).summary["hash"] == expected, "races: another hash")
    left = sorted(entry.name for entry in path.iterdir() if entry.suffix == ".tmp" or entry.name == "lock")
    check(not left, f"races: left behind: {left}")
    shutil.rmtree(path)


def _arguments(file: Path, path: Path, *flags: str) -> tuple[str, ...]:
    return ("run", str(file), "--out", str(path), "--no-report", "--quiet", *flags)


def full_disk(_: Sizes, folder: Path) -> None:
    """Run on disks that are too small, make room, and resume to the same hash; needs the right to mount one."""
    file, disk = folder / "short.toml", folder / "disk"
    file.write_text(SHORT.toml())
    disk.mkdir()
    expected, codes = tracker.run(SHORT).summary["hash"], Counter[int]()
    with zygote(file, folder) as root:
        for kilobytes in ROOM:
            if not _filled(root, file, disk, kilobytes, codes, expected):
                say("full disk", left_out="no right to mount a small disk here")
                return
    say("full disk", sizes_kB=ROOM, exit_codes=dict(sorted(codes.items())))


def _filled(root: Zygote, file: Path, disk: Path, kilobytes: int, codes: Counter[int], expected: str) -> bool:
    mount = ["mount", "-t", "tmpfs", "-o", f"size={kilobytes}k", "tmpfs", str(disk)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        return False
    try:
        root.start(*_arguments(file, disk / "run"))
        code, said = root.end()
        codes[code] += 1
        check(code in (0, 2), f"full disk: {kilobytes} kB: exit code {code}: {said[-300:]}")
        check("Traceback" not in said, f"full disk: {kilobytes} kB: {said[-500:]}")
        subprocess.run(["mount", "-o", "remount,size=64m", str(disk)], check=True)
        root.start(*_arguments(file, disk / "run", "--resume"))
        code, said = root.end()
        check(code == 0, f"full disk: {kilobytes} kB, then room: {code}: {said[-300:]}")
        check(open_run(disk / "run").summary["hash"] == expected, "full disk: another hash")
    finally:
        subprocess.run(["umount", str(disk)], check=True)
    return True
