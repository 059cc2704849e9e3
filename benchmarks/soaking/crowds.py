"""Several writers at one directory, and a disk that is full."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import tracker
from soaking.common import ROOT, SHORT, Sizes, check, say
from tracker.runs import open_run

FLAGS = ((), ("--resume",), ("--replace",))
ROOM = (16, 64, 160, 400, 900)  # kB of the disk


def _begin(file: Path, path: Path, *flags: str) -> subprocess.Popen[str]:
    env = {**os.environ, "PYTHONPATH": str(ROOT), "OPENBLAS_NUM_THREADS": "1"}
    arguments = ["run", str(file), "--out", str(path), "--no-report", "--quiet", *flags]
    return subprocess.Popen(
        [sys.executable, "-m", "tracker", *arguments],
        env=env,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )


def races(sizes: Sizes, folder: Path) -> None:
    """Two or three writers begin at once, fresh, with --resume and --replace, in all mixtures."""
    file, rng, codes = folder / "short.toml", random.Random(3), Counter[int]()
    file.write_text(SHORT.toml())
    expected = tracker.run(SHORT).summary["hash"]
    began = time.monotonic()
    for n in range(sizes.races):
        path = folder / f"race{n}"
        if rng.random() < 0.5:
            tracker.run(SHORT, path, 1)
        writers = [_begin(file, path, *rng.choice(FLAGS)) for _ in range(rng.choice((2, 3)))]
        for writer in writers:
            said = writer.communicate(timeout=300)[1]
            codes[writer.returncode] += 1
            check(writer.returncode in (0, 7), f"races: exit code {writer.returncode}: {said[-300:]}")
            check("Traceback" not in said, f"races: {said[-300:]}")
        check(open_run(path).summary["hash"] == expected, "races: another hash")
        left = sorted(entry.name for entry in path.iterdir() if entry.suffix == ".tmp" or entry.name == "lock")
        check(not left, f"races: left behind: {left}")
        shutil.rmtree(path)
    say("races", of=sizes.races, exit_codes=dict(sorted(codes.items())), seconds=round(time.monotonic() - began))


def full_disk(_: Sizes, folder: Path) -> None:
    """Run on disks that are too small, make room, and resume to the same hash; needs the right to mount one."""
    file, disk = folder / "short.toml", folder / "disk"
    file.write_text(SHORT.toml())
    disk.mkdir()
    expected, codes = tracker.run(SHORT).summary["hash"], Counter[int]()
    for kilobytes in ROOM:
        mount = ["mount", "-t", "tmpfs", "-o", f"size={kilobytes}k", "tmpfs", str(disk)]
        if subprocess.run(mount, capture_output=True, check=False).returncode:
            say("full disk", left_out="no right to mount a small disk here")
            return
        try:
            first = _begin(file, disk / "run")
            said = first.communicate(timeout=300)[1]
            codes[first.returncode] += 1
            check(first.returncode in (0, 2), f"full disk: {kilobytes} kB: exit code {first.returncode}: {said[-300:]}")
            check("Traceback" not in said, f"full disk: {kilobytes} kB: {said[-500:]}")
            subprocess.run(["mount", "-o", "remount,size=64m", str(disk)], check=True)
            again = _begin(file, disk / "run", "--resume")
            said = again.communicate(timeout=300)[1]
            check(again.returncode == 0, f"full disk: {kilobytes} kB, then room: {again.returncode}: {said[-300:]}")
            check(open_run(disk / "run").summary["hash"] == expected, "full disk: another hash")
        finally:
            subprocess.run(["umount", str(disk)], check=True)
    say("full disk", sizes_kB=ROOM, exit_codes=dict(sorted(codes.items())))
