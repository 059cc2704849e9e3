"""``.ci/dead_links.py`` finds the links of a site that lead nowhere, and no others."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from worlds import ROOT


def looked_at(folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(ROOT / ".ci" / "dead_links.py"), str(folder)], capture_output=True, text=True, check=False
    )


def test_what_leads_nowhere_is_named(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text(
        '<h1 id="top">a</h1><a href="b.html#here">b</a><a href="https://example.org/x">c</a>'
    )
    (tmp_path / "b.html").write_text('<p id="here">b</p><a href="a.html#top">a</a><a href="#here">b</a>')
    found = looked_at(tmp_path)
    assert (found.returncode, found.stdout) == (0, "2 pages, 4 links, 0 of them dead\n")
    (tmp_path / "b.html").write_text('<a href="a.html#bottom">a</a><img src="gone.png"><a href="no.html">no</a>')
    found = looked_at(tmp_path)
    assert found.returncode == 1
    assert found.stdout.splitlines() == [
        "a.html: b.html#here",
        "b.html: a.html#bottom",
        "b.html: gone.png",
        "b.html: no.html",
        "2 pages, 5 links, 4 of them dead",
    ]


def test_no_page_is_no_site(tmp_path: Path) -> None:
    assert looked_at(tmp_path).returncode == 1
