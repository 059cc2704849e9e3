"""The large version of what the tests show small: hostile files and directories, kills, flips, races, full disks, engines.

    python benchmarks/soak.py                        all of it, in an hour or two
    python benchmarks/soak.py kills flips            some stages
    python benchmarks/soak.py --long                 ten times as much
    python benchmarks/soak.py kills --part 0.1       a tenth

Prints one line per finding; exits with 1 if anything was lost, accepted in silence, hung or ended in a traceback.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests"), str(ROOT / "benchmarks")]

from soaking import crowds, directories, flipping, hostile_formulas, hostile_scenarios, killing, one_hash, short_runs  # noqa: E402
from soaking.common import Sizes, found_wrong, say  # noqa: E402

STAGES = {
    stage.__name__: stage
    for stage in (
        directories.foreign,
        directories.attacks,
        hostile_scenarios.scenarios,
        hostile_scenarios.bombs,
        hostile_scenarios.accepted,
        hostile_formulas.formulas,
        killing.kills,
        killing.inside,
        killing.workers,
        killing.interruptions,
        flipping.flips,
        crowds.races,
        crowds.full_disk,
        one_hash.hashes,
        short_runs.short_runs,
        hostile_scenarios.limited,
    )
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("stages", nargs="*", default=list(STAGES), help=", ".join(STAGES))
    parser.add_argument("--long", action="store_true", help="ten times all of it")
    parser.add_argument("--part", type=float, default=1.0, help="of all counts")
    options = parser.parse_args()
    if unknown := set(options.stages) - set(STAGES):
        parser.error(f"unknown: {', '.join(sorted(unknown))}; there are {', '.join(STAGES)}")
    factor = options.part * (10 if options.long else 1)
    sizes = Sizes(*(type(count)(max(1, count * factor)) for count in Sizes()))
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it, and so would ours
    signal.signal(signal.SIGHUP, signal.SIG_DFL)  # as nohup has it
    say("soak", load=os.getloadavg(), stages=json.dumps(options.stages))
    for name in options.stages:
        with tempfile.TemporaryDirectory() as folder:
            STAGES[name](sizes, Path(folder))
    say("soak", wrong=len(found_wrong))
    sys.exit(1 if found_wrong else 0)


if __name__ == "__main__":
    main()
