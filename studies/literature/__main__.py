"""``python -m studies.literature [run [KEY ...] | page]``: measure the experiments, or write the page from what was measured.

Numbers go to reports/gallery/literature.json; literature.html, literature.md and the figures are made of them.
"""

import sys
from pathlib import Path

from studies.literature.experiment import Effort
from studies.literature.numbers import EXPERIMENTS, measure
from studies.literature.page import write_pages

GALLERY = Path(__file__).resolve().parents[2] / "reports" / "gallery"
NUMBERS = GALLERY / "literature.json"

if __name__ == "__main__":
    command, *keys = sys.argv[1:] or ["run"]
    if command == "run":
        measure(keys or list(EXPERIMENTS), Effort(), NUMBERS)
    write_pages(NUMBERS, GALLERY)
