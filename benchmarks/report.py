"""How long the report of a large run takes, and how much memory: 10 000 trials, read from disk.

    python benchmarks/report.py [--trials 10000]

The target is 20 seconds of CPU time and 1 GB.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import tracker

ROOT = Path(__file__).parents[1]
PROGRAM = """
import re, sys, time
from pathlib import Path
import tracker
began, wall = time.process_time(), time.monotonic()
run = tracker.open_run(sys.argv[1])
read = time.process_time()
run.report(sys.argv[2])
# not getrusage: a child starts with the largest size of its parent
peak = int(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1]) / 1e6
size = Path(sys.argv[2]).stat().st_size / 1e6
print(f"read {read - began:.1f} s, page {time.process_time() - read:.1f} s CPU; {time.monotonic() - wall:.1f} s by the clock; "
      f"peak {peak:.2f} GB; page {size:.2f} MB")
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--trials", type=int, default=10_000)
    trials = parser.parse_args().trials
    base = tracker.load(ROOT / "scenarios" / "example_a.toml")
    langevin = {"name": "classical", "kind": "langevin", "epsilon": 0.015625, "beta": 2.0}
    scenario = base.replace(trials=trials, steps=2000, record_every=20, samplers=[*base.samplers, langevin])
    with TemporaryDirectory() as folder:
        began = time.monotonic()
        tracker.run(scenario, Path(folder) / "run")
        print(
            f"{trials} trials x 2000 steps, 2 samplers and 2 baselines, 101 records: run in {time.monotonic() - began:.0f} s"
        )
        command = [sys.executable, "-c", PROGRAM, str(Path(folder) / "run"), str(Path(folder) / "page.html")]
        subprocess.run(command, check=True)


if __name__ == "__main__":
    main()
