"""The index of the gallery: a card for each page, with its claim, what became of it, and its picture."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, NamedTuple

from tracker.reports.exhibit import Exhibit
from tracker.reports.figure_files import inline_svg

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import tracker
    from tracker.reports.exhibit import Item

PICTURES = ("landscape", "who-wins", "tracking-error")  # the first of these that a page has
OUTCOMES = {
    "holds": ("holds", "hold"),
    "does not hold": ("does not hold", "do not hold"),
    "not told": ("not told",) * 2,
}
STYLE = """
:root { color-scheme: light dark; --paper: #fff; --ink: #1f2328; --muted: #57606a; --rule: #d0d7de; %(light)s }
@media (prefers-color-scheme: dark) { :root { --paper: #14171c; --ink: #e6e9ee; --muted: #9da7b3; --rule: #363d47; } }
body { margin: 0 auto; max-width: 72rem; padding: 1.5rem 1rem; background: var(--paper); color: var(--ink); font: 16px/1.5 system-ui, sans-serif; }
ul.cards { list-style: none; padding: 0; display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%%, 20rem), 1fr)); gap: 1rem; }
.cards > li { border: 1px solid var(--rule); border-radius: 10px; padding: .8rem 1rem; overflow: hidden; }
h2 { font-size: 1.1rem; margin: 0 0 .4rem; } .cards p { margin: .3rem 0; } .outcome { color: var(--muted); font-size: .9rem; }
svg.chart { width: 100%%; height: 11rem; } svg.chart text { font-size: 9.6px !important; } a { color: inherit; }
"""


class Card(NamedTuple):
    """A page of the gallery: its file, the scenario, the outcomes of its claims in words, and a picture."""

    file: str
    name: str
    claim: str
    outcomes: tuple[str, ...]
    picture: Exhibit | None


def card(file: str, scenario: tracker.Scenario, judged: Sequence[Iterable[str]], items: Iterable[Item]) -> Card:
    """Return the card of a page; ``judged`` are the outcomes of the claims, one list for each run or point."""
    words = [word for outcomes in judged for word in outcomes]
    told = tuple(f"{words.count(word)} {OUTCOMES[word][words.count(word) > 1]}" for word in OUTCOMES if word in words)
    shown = {item.key: item for item in items if isinstance(item, Exhibit)}
    picture = next((shown[key] for key in PICTURES if key in shown), None)
    return Card(file, scenario.name, scenario.claim, told, picture)


def index(cards: Sequence[Card]) -> str:
    """Return the page."""
    from tracker.reports.figure_style import COLOURS

    light = " ".join(f"--kind-{n}: {colour};" for n, colour in enumerate(COLOURS))
    body = "\n".join(map(_card, cards))
    policy = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}"><title>Gallery of tracker</title>'
        f"<style>{STYLE % {'light': light}}</style></head>\n<body><main><h1>Gallery</h1><p>What each shipped scenario claims, and what "
        f'became of it in a run of its full size.</p>\n<ul class="cards">\n{body}\n</ul></main></body></html>\n'
    )


def _card(one: Card) -> str:
    outcome = f"claims: {', '.join(one.outcomes)}" if one.outcomes else "no claim that a run can judge"
    picture = inline_svg(one.picture.figure, f"{one.name}-{one.picture.key}", one.picture.told) if one.picture else ""
    picture = picture.replace(
        "<svg ", '<svg preserveAspectRatio="xMidYMin slice" ', 1
    )  # the top of a tall figure, legible
    return (
        f'<li><h2><a href="{escape(one.file)}">{escape(one.name)}</a></h2><p>{escape(one.claim)}</p>'
        f'<p class="outcome">{escape(outcome)}</p>{picture}</li>'
    )
