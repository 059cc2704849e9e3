"""Write a page as Markdown, with the same sections as the HTML page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tracker.reports.exhibit import Exhibit, Item, Listing, Omitted, Section, Shown, Table, VerdictBox
from tracker.reports.html_page import cell_text

if TYPE_CHECKING:
    from collections.abc import Sequence


def render(title: str, subtitle: str, sections: Sequence[Section], verdict: VerdictBox | None, figures: str) -> str:
    """Return the page as Markdown; ``figures`` is the folder of the exhibits' images, as ``KEY.png``."""
    parts = [f"# {title}", subtitle]
    if verdict is not None:
        parts += [f"> {warning}" for warning in verdict.warnings]
        rows = tuple((line.question, line.mark, line.answer) for line in verdict.answers)
        parts.append(_table(Table(("claim", "verdict", "numbers"), rows)))
    for section in sections:
        if section.heading:
            parts.append(f"## {section.heading}")
        parts += section.text
        for item in section.items:
            parts += _item(item, figures)
    return "\n\n".join(parts) + "\n"


def _item(item: Item, figures: str) -> list[str]:
    if isinstance(item, Exhibit):
        return [f"### {item.question}", f"![{item.alt}]({figures}/{item.key}.png)", item.caption, _table(item.table)]
    if isinstance(item, Omitted):
        return [f"**{item.question}** Left out: {item.reason}"]
    if isinstance(item, Shown):
        return [item.caption, _table(item.table)]
    assert isinstance(item, Listing)
    return [item.title, f"```\n{item.text}\n```"]


def _table(table: Table) -> str:
    lines = [table.columns, tuple("---" for _ in table.columns)]
    lines += [tuple(cell_text(cell).replace("|", "\\|") for cell in row) for row in table.rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
