"""The pages of docs/: links lead somewhere, examples run, and the README stays short. The build itself is part of .ci/run."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from worlds import ROOT

from tracker.reports import checks
from tracker.reports.exhibits.dwells import SUSPICIOUS_P_VALUE
from tracker.reports.run_page import PARTS
from tracker.reports.verdict_box import WORDS_FOR_THE_WAY

PAGES = sorted((ROOT / "docs").glob("*.md"))
SHOWN = sorted([*PAGES, *(ROOT / "docs" / "notebooks").glob("*.md"), *ROOT.glob("*.md")])
TESTED_ELSEWHERE = {"extending", "own-code", "theorem", "architecture", "mathematics", "network"}
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as Markdown makes them."""
    heads = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", head.lower()).strip().replace(" ", "-") for head in heads}


@pytest.mark.parametrize("page", SHOWN, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_lead_somewhere(page: Path) -> None:
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    for target in LINK.findall(text):
        if "://" in target:
            continue
        name, _, anchor = target.partition("#")
        place = (page.parent / name).resolve() if name else page
        assert place.exists(), f"{target} leads nowhere"
        if anchor and place.suffix == ".md":
            assert anchor in anchors(place), f"{target}: no such heading"


@pytest.mark.parametrize(
    "page", [page for page in PAGES if page.stem not in TESTED_ELSEWHERE], ids=lambda page: page.stem
)
def test_python_of_the_pages_runs(page: Path) -> None:
    blocks = re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    if blocks:
        done = subprocess.run(
            [sys.executable, "-W", "error", "-c", "\n".join(blocks)],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr


def test_the_readme_is_short() -> None:
    assert (ROOT / "README.md").read_text(encoding="utf-8").count("\n") <= 160


def test_every_page_is_in_the_book() -> None:
    index = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    for page in PAGES:
        if page.stem != "index":
            assert re.search(rf"^{re.escape(page.stem)}$", index, flags=re.MULTILINE), f"{page.name} is in no toctree"


def test_every_figure_and_threshold_is_explained() -> None:
    page = (ROOT / "docs" / "read-the-page.md").read_text(encoding="utf-8")
    known = [(module.KEY, module.QUESTION) for _, modules in PARTS for module in modules if hasattr(module, "KEY")]
    assert len(known) > 12
    for key, question in known:
        assert f"| `{key}`" in page, key
        assert question in page, question
    for number in (
        f"fewer than {checks.FEW_TRIALS} trials, fewer than {checks.FEW_SWITCHES} switches",
        f"above {checks.NOISE_WORTH_A_WORD} of the injected noise",
        f"above {checks.STEP_WORTH_A_WORD} of its stability limit",
        f"more than {checks.MOSTLY_CENSORED:.0%} of the waits".replace("%", " %"),
        f"more than {checks.OFTEN_AT_BOUNDS:.0%} of the time".replace("%", " %"),
        f"a p-value below {SUSPICIOUS_P_VALUE}",
        ", ".join(f"{share:.0%}".replace("%", " %") for share, *_ in reversed(WORDS_FOR_THE_WAY[:-1])),
    ):
        assert number in page, number
