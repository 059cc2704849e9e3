"""Every cited section of docs/ exists, no file names a document that is not here, and the example on a page works.

A citation is the page and a heading in quotes: docs/mathematics, "Chain laws". It may be broken between two lines.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
HERE = Path(__file__).name
CITING = ("tracker", "tests", "scenarios", "studies", "benchmarks", ".ci", "docs", "CONTRIBUTING.md")
FREE_OF_OLD_NAMES = ("tracker", "tests", "scenarios", "studies", "benchmarks", ".ci")
ENDINGS = (".py", ".toml", ".md", ".txt", ".j2", ".json", "")

PAGE = re.compile(r"\bdocs/([a-z-]+)(?:\.md)?, ?\"")
CITATION = re.compile(r"\bdocs/([a-z-]+)(?:\.md)?, ?\"([^\"]+)\"")
OLD_NAMES = re.compile(r"\b(?:MATH|DESIGN|FINDINGS)\b")
LABELS = re.compile(r"\beq:\w+|\((?:sgl|nonrev|langevin1|skew1|hyperode)\)|\balg1[a-d]?\b")
BREAK = re.compile(r"\s*\n\s*#?\s*")  # also inside a comment of several lines


def texts(places: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """Name and text of every file that people write, but for this one."""
    for place in places:
        root = ROOT / place
        for path in sorted(root.rglob("*")) if root.is_dir() else [root]:
            hidden = any(part == "__pycache__" for part in path.parts)
            if path.is_file() and path.suffix in ENDINGS and path.name != HERE and not hidden:
                yield str(path.relative_to(ROOT)), path.read_text(encoding="utf-8")


def citations(text: str) -> list[tuple[str, str]]:
    """Page and heading of every citation in a text."""
    return CITATION.findall(BREAK.sub(" ", text))


def headings(page: str) -> set[str]:
    """The headings of a page of docs/, empty where there is no such page."""
    path = ROOT / "docs" / f"{page}.md"
    text = path.read_text(encoding="utf-8") if path.is_file() else ""
    text = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    return set(re.findall(r"^#+ +(.+?) *$", text, flags=re.MULTILINE))


def broken(text: str) -> list[str]:
    """Citations of sections that do not exist."""
    return [f'{page}, "{heading}"' for page, heading in citations(text) if heading not in headings(page)]


def unfinished(text: str) -> int:
    """How many citations begin and have no heading that ends."""
    flat = BREAK.sub(" ", text)
    return len(PAGE.findall(flat)) - len(citations(text))


def test_a_missing_section_is_noticed() -> None:
    """Control: a page that is not there, a heading that is not there, one that is broken between lines, one without an end."""
    right = 'See docs/mathematics, "Chain laws".'
    assert citations(right) == [("mathematics", "Chain laws")]
    assert broken(right) == []
    assert broken('docs/mathematics, "Laws of nature"') == ['mathematics, "Laws of nature"']
    assert broken('docs/alchemy, "Chain laws"') == ['alchemy, "Chain laws"']
    assert broken('# as in docs/mathematics, "Chain\n#   laws"') == []
    assert broken('as in docs/mathematics,\n    "Chain lore"') == ['mathematics, "Chain lore"']
    assert unfinished('docs/mathematics, "Chain laws') == 1


@pytest.mark.parametrize("place", CITING)
def test_every_cited_section_exists(place: str) -> None:
    found = {name: broken(text) for name, text in texts((place,))}
    assert {name: lines for name, lines in found.items() if lines} == {}
    assert {name for name, text in texts((place,)) if unfinished(text)} == set()


def test_the_code_and_the_tests_do_cite() -> None:
    """Control: were the form of a citation another one, nothing would be looked at."""
    for place, least in (("tracker", 20), ("tests", 30), ("scenarios", 3)):
        assert sum(len(citations(text)) for _, text in texts((place,))) >= least, place


def test_no_file_names_a_document_that_is_not_here() -> None:
    assert OLD_NAMES.search("see MATH.md section 1")  # control
    found = {name: OLD_NAMES.findall(text) for name, text in texts(FREE_OF_OLD_NAMES)}
    assert {name: words for name, words in found.items() if words} == {}


def test_equations_are_cited_by_their_printed_numbers() -> None:
    """Labels of the paper's source mean nothing to a reader of the printed page."""
    assert LABELS.search("the paper's eq. (sgl)")  # control
    found = {name: LABELS.findall(text) for name, text in texts(FREE_OF_OLD_NAMES)}
    assert {name: words for name, words in found.items() if words} == {}


def test_links_between_pages_lead_somewhere() -> None:
    """Files and anchors; an anchor is a heading in lower case, spaces as hyphens, without other signs."""
    for path in [*sorted((ROOT / "docs").glob("*.md")), ROOT / "CONTRIBUTING.md", ROOT / "CODE_OF_CONDUCT.md"]:
        for target in re.findall(r"\]\(([^)]+)\)", path.read_text(encoding="utf-8")):
            file, _, anchor = target.partition("#")
            page = (path.parent / file).resolve() if file else path
            assert page.is_file(), f"{path.name}: {target}"
            if anchor:
                text = page.read_text(encoding="utf-8")
                known = re.findall(r"^#+ +(.+?) *$", text, flags=re.MULTILINE)
                anchors = {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in known}
                assert anchor in anchors, f"{path.name}: {target}"


def test_a_trial_is_rebuilt_with_numpy_alone() -> None:
    """The example of docs/architecture ends with a comparison; control: with another role for the noise that fails."""
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"```python\n(.*?)```", page, flags=re.DOTALL)
    rebuilding, runs, comparing = example.partition("run = tracker.run(scenario)\n")
    wrong = rebuilding.replace("stream(1), stream(2)", "stream(1), stream(3)")
    assert wrong != rebuilding
    control = f"""
{wrong}
try:
    {comparing.strip()}
except AssertionError:
    raise SystemExit(0)
raise SystemExit("the wrong stream was not noticed")
"""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", rebuilding + runs + comparing + control],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
