"""The index of the gallery: a card for each page, with its claim, what became of it in words, and its picture."""

from __future__ import annotations

import re
from html.parser import HTMLParser

from worlds import bowls

from studies.gallery_index import card, index
from tracker.reports.exhibit import Exhibit, Table
from tracker.reports.figure_style import figure


def picture(key: str) -> Exhibit:
    with figure(height=4.0) as fig:
        fig.subplots().plot([0, 1], [1, 0])
    return Exhibit(key, "What?", f"Found by {key}.", "A line.", fig, Table((), ()))


def test_a_card_tells_the_claim_its_outcome_and_shows_the_best_picture() -> None:
    world = bowls(claim="Quick & near < slow.")
    items = [picture("tracking-error"), picture("landscape")]
    one = card("a.html", world, [["holds", "not told"], ["holds", "does not hold"]], items)
    assert one.outcomes == ("2 hold", "1 does not hold", "1 not told")
    assert one.picture is items[1]
    assert card("b.html", world, [["holds"]], items[:1]).outcomes == ("1 holds",)
    assert card("b.html", world, [["holds"]], []).picture is None


def test_the_index_has_a_card_a_page_and_stands_alone() -> None:
    world = bowls(claim="Quick & near < slow.")
    cards = [card(f"{n}.html", world, [["holds"]], [picture("landscape")]) for n in range(3)]
    page = index(cards)
    HTMLParser().feed(page)
    assert re.findall(r'<a href="(\d\.html)">bowls</a>', page) == ["0.html", "1.html", "2.html"]
    assert page.count("Quick &amp; near &lt; slow.") == 3
    assert "claims: 1 holds" in page
    assert page.count("<svg preserveAspectRatio=") == 3
    assert page.count('aria-label="Found by landscape. A line."') == 3  # the finding, for those who do not see it
    assert "://" not in page
    assert "<script" not in page
