"""What became of each shipped scenario's claims, at full size? Writes reports/gallery/claims.md.

python -m studies.claims [--runs DIR] [NAME ...]     all scenarios, or those named; rows found before of the others are kept

Runs that stand in DIR are reused where they are of the same scenario and version.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING

import tracker
from studies.claims.against_theory import CHECKS, Row
from tracker.formatting import counted
from tracker.reports.what_was_asked import head_of_page

if TYPE_CHECKING:
    from collections.abc import Sequence

ROOT = Path(__file__).resolve().parents[2]
RUNS = ROOT / "reports" / "claims"  # not committed
TABLE = ROOT / "reports" / "gallery" / "claims.md"
OUTCOMES = ("holds", "does not hold", "not told")
HEAD = """\
# The claims of the shipped scenarios, at full size

Written by `python -m studies.claims` from the `[[claims]]` of the files, each judged by the program itself, in the words of its page: the estimate (a
ratio, where two samplers are compared) with its 95 % interval over paired trials. *holds*: the whole interval lies on the claimed side; *does not hold*: on the other;
*not told*: it holds the number in question. No level is corrected for the number of claims. "exact" compares with theory: it *agrees* within four standard
errors over trials. The paper's examples 1 and 2 are judged at length, by the error of the mean, in [paper.md](paper.md).

| scenario | claim | found | outcome |
|---|---|---|---|
"""


def rows_of(path: Path, runs: Path) -> list[Row]:
    """Return the rows of one scenario: its own claims, and what theory says beside them."""
    scenario, folder = tracker.load(path), runs / path.stem
    found: tracker.Run | tracker.Sweep
    if scenario.sweep:
        found = tracker.sweep(scenario, folder, executor=2, resume=folder.exists())
        summaries = [point.summary for point in found.outcomes if point.summary is not None]
        rows = [over_points(claims) for claims in zip(*(summary["claims"] for summary in summaries), strict=True)]
    else:
        found = tracker.run(scenario, folder, executor=2, resume=folder.exists())
        rows = [
            Row(one.text, one.numbers, one.word) for one in head_of_page(scenario, found.summary["claims"]).outcomes
        ]
    return [*rows, *(CHECKS[path.stem](found) if path.stem in CHECKS else ())]


def over_points(claims: Sequence[dict[str, object]]) -> Row:
    """Return the row of a claim that each point of a sweep judges for itself."""
    outcomes = [str(claim["outcome"]) for claim in claims]
    counts = ", ".join(f"{outcomes.count(word)} {word}" for word in OUTCOMES if word in outcomes)
    return Row(
        str(claims[0]["text"]),
        f"{counted(len(outcomes), 'point')}: {counts}",
        "depends" if len(set(outcomes)) > 1 else outcomes[0],
    )


def write_table(runs: Path) -> None:
    """Write the table of all rows that were found."""
    lines = []
    for path in sorted(runs.glob("*.json")):
        lines += [f"| {path.stem} | {' | '.join(row)} |" for row in json.loads(path.read_text(encoding="utf-8"))]
    TABLE.write_text(HEAD + "\n".join(lines) + "\n", encoding="utf-8")


def main() -> None:
    """Find the rows of each scenario, and write the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("names", nargs="*", help="names of files in scenarios/, without .toml")
    parser.add_argument("--runs", type=Path, default=RUNS, help="where runs are kept")
    wishes = parser.parse_args()
    wishes.runs.mkdir(parents=True, exist_ok=True)
    paths = sorted((ROOT / "scenarios").glob("*.toml"))
    stems = {path.stem for path in paths}
    for path in paths:
        if path.stem in (wishes.names or stems):
            rows = rows_of(path, wishes.runs)
            for row in rows:
                print(f"{path.stem}: {': '.join(row)}", flush=True)
            (wishes.runs / f"{path.stem}.json").write_text(json.dumps(rows), encoding="utf-8")
    write_table(wishes.runs)


if __name__ == "__main__":
    main()
