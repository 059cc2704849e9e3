"""The gallery: the page of every shipped scenario, and the two pictures of the README.

    python -m studies.gallery                     # all scenarios/*.toml
    python -m studies.gallery example_b           # some of them
    python -m studies.gallery --runs DIR          # keep the runs, and reuse those that are there

Pages go to reports/gallery/<file>.html, the pictures to reports/gallery/. A scenario whose run would take long is run with
the settings in REDUCED, and its page says so, because the page shows the scenario that was run.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import tracker
from tracker.reports.exhibit import Exhibit
from tracker.reports.figure_files import write_figure
from tracker.reports.run_page import exhibits

ROOT = Path(__file__).parents[1]
GALLERY = ROOT / "reports" / "gallery"
LARGEST = 1_500_000  # bytes of a page
REDUCED: dict[str, tuple[str, ...]] = {
    "example_2": ("trials=10", "steps=20_000"),
}
PICTURES = (("swapping_wells", "one-trial"), ("swapping_wells", "after-a-switch"))  # of the README


def run_of(path: Path, runs: Path) -> tracker.Run:
    """Return the run of a scenario: one that is there, or a new one."""
    folder = runs / path.stem
    if (folder / "summary.json").is_file():
        return tracker.open_run(folder)
    return tracker.run(tracker.load(path, REDUCED.get(path.stem, ())), folder, resume=folder.exists())


def sweep_of(path: Path, runs: Path) -> tracker.Sweep:
    """Return the sweep of a scenario: one that is there, or a new one; points that are finished are only read."""
    folder = runs / path.stem
    if (folder / "points.json").is_file():
        return tracker.open_sweep(folder)
    return tracker.sweep(tracker.load(path, REDUCED.get(path.stem, ())), folder, resume=folder.exists())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*", help="names of files in scenarios/, without .toml")
    parser.add_argument("--runs", type=Path, help="where runs are kept")
    wishes = parser.parse_args()
    GALLERY.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory() as temporary:
        for path in sorted((ROOT / "scenarios").glob("*.toml")):
            if wishes.names and path.stem not in wishes.names:
                continue
            began = time.monotonic()
            runs, page = wishes.runs or Path(temporary), GALLERY / f"{path.stem}.html"
            if tracker.load(path).sweep:
                sweep_of(path, runs).report(page)
            else:
                run = run_of(path, runs)
                run.report(page)
                pictures(path.stem, run)
            size = page.stat().st_size
            print(f"{page.relative_to(ROOT)}  {size / 1e6:.2f} MB  {time.monotonic() - began:.0f} s")
            if size > LARGEST:
                sys.exit(f"{page}: {size} bytes, more than {LARGEST}")


def pictures(name: str, run: tracker.Run) -> None:
    """Write the README's pictures that come from this run."""
    wanted = [key for scenario, key in PICTURES if scenario == name]
    for item in exhibits(run) if wanted else ():
        if isinstance(item, Exhibit) and item.key in wanted:
            write_figure(item.figure, GALLERY / f"{name}-{item.key}.png", "png")


if __name__ == "__main__":
    main()
