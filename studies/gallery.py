"""The gallery: the page of every shipped scenario, three pages of many runs, and an index with a card for each.

    python -m studies.gallery                     # all scenarios/*.toml
    python -m studies.gallery example_b           # some of them
    python -m studies.gallery --runs DIR          # keep the runs, and reuse those that are there

Pages and index.html go to reports/gallery/, which git ignores but for the film of the README (studies/film.py) and the Markdown pages. A scenario whose run would take long is run with
the settings in REDUCED, and its page says so, because the page shows the scenario that was run.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import tracker
from studies import equal_variation, ladder_curves, skew_phases
from studies.gallery_index import Card, card, index
from tracker.reports.run_page import exhibits
from tracker.reports.sweep_page import sweep_exhibits

ROOT = Path(__file__).parents[1]
GALLERY = ROOT / "reports" / "gallery"
LARGEST = 1_500_000  # bytes of a page
REDUCED: dict[str, tuple[str, ...]] = {
    "example_2": ("trials=10", "steps=20_000"),
}
# pages of more than one run, beside those of the scenarios
MORE = {
    "equal_variation": equal_variation.write_page,
    "ladder": ladder_curves.write_page,
    "skew_phases": skew_phases.write_page,
}


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
    cards: list[Card] = []
    with TemporaryDirectory() as temporary:
        for path in sorted((ROOT / "scenarios").glob("*.toml")):
            if wishes.names and path.stem not in wishes.names:
                continue
            began = time.monotonic()
            own = f"{path.stem}_run" if path.stem in MORE else path.stem
            runs, page = wishes.runs or Path(temporary), GALLERY / f"{own}.html"
            if tracker.load(path).sweep:
                sweep = sweep_of(path, runs)
                sweep.report(page)
                judged = [_outcomes(one.summary) for one in sweep.outcomes if one.summary is not None]
                cards.append(card(page.name, sweep.scenario, judged, sweep_exhibits(sweep)))
            else:
                run = run_of(path, runs)
                run.report(page)
                shown = exhibits(run)
                cards.append(card(page.name, run.scenario, [_outcomes(run.summary)], shown))
            size = page.stat().st_size
            print(f"{page.relative_to(ROOT)}  {size / 1e6:.2f} MB  {time.monotonic() - began:.0f} s")
            if size > LARGEST:
                sys.exit(f"{page}: {size} bytes, more than {LARGEST}")
    for name, write_page in MORE.items():
        if not wishes.names or name in wishes.names:
            write_page(GALLERY / f"{name}.html")
            print(f"reports/gallery/{name}.html")
    if not wishes.names:
        (GALLERY / "index.html").write_text(index(cards), encoding="utf-8")


def _outcomes(summary: Mapping[str, Any]) -> list[str]:
    return [claim["outcome"] for claim in summary.get("claims", ())]


if __name__ == "__main__":
    main()
