"""Look for dead links in a site that was built, without a network: every target that is no address must be a file, every #place an id.

python .ci/dead_links.py FOLDER
"""

from __future__ import annotations

import sys
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class Page(HTMLParser):
    """What a page links to, and the places in it."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: set[str] = set()
        self.places: set[str] = set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note targets and ids."""
        for name, value in attrs:
            if value and (name == "id" or (tag == "a" and name == "name")):
                self.places.add(value)
            elif value and (name in {"href", "src"}):
                self.links.add(value)


read = cache(Page)


def dead(page: Path) -> list[str]:
    """Return the links of ``page`` that lead nowhere."""
    found = []
    for link in sorted(read(page).links):
        parts = urlsplit(link)
        if parts.scheme or parts.netloc:
            continue
        target = (page.parent / unquote(parts.path)).resolve() if parts.path else page
        target = target / "index.html" if target.is_dir() else target
        if not target.is_file() or (
            parts.fragment and target.suffix == ".html" and unquote(parts.fragment) not in read(target).places
        ):
            found.append(link)
    return found


if __name__ == "__main__":
    (folder,) = map(Path, sys.argv[1:])
    pages = sorted(path.resolve() for path in folder.rglob("*.html"))
    count = sum(len(read(page).links) for page in pages)
    lost = [f"{page.relative_to(folder.resolve())}: {link}" for page in pages for link in dead(page)]
    print("\n".join([*lost, f"{len(pages)} pages, {count} links, {len(lost)} of them dead"]))
    sys.exit(bool(lost) or not pages)
