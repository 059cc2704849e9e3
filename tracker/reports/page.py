"""The page: sections of exhibits become one self-contained HTML file, without script and without addresses."""

from __future__ import annotations

import math
from importlib import resources
from typing import TYPE_CHECKING, Any

from tracker.reports.drawing import inline_svg
from tracker.reports.exhibit import Cell, Exhibit, Listing, Omitted, Section, Shown, Verdict

if TYPE_CHECKING:
    from collections.abc import Sequence

    import jinja2

DASH = "–"


def render(title: str, subtitle: str, sections: Sequence[Section], verdict: Verdict | None = None) -> str:
    """Return the page.

    Parameters
    ----------
    title, subtitle : str
        What the page is about; shown as they are.
    sections : sequence of Section
        In the order in which they are read; each exhibit is titled by its question.
    verdict : Verdict, optional
        The box on top.
    """
    return _template("page.html.j2").render(title=title, subtitle=subtitle, sections=sections, verdict=verdict)


def shown(value: Cell) -> str:
    """Return a cell as text: four digits, a dash for nothing."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return DASH
    if isinstance(value, str):
        return value
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    if float(value).is_integer() and abs(value) < 1e6:
        return f"{int(value):d}".replace("-", "−")
    return number(value)


def number(value: float, digits: int = 4) -> str:
    """Return a number for a sentence or a cell: 12300, 0.0123 or 1.2e-5."""
    if not math.isfinite(value):
        return shown(value)
    if value != 0 and not 1e-4 <= abs(value) < 1e6:
        mantissa, _, exponent = f"{value:.{digits - 1}e}".partition("e")
        mantissa = mantissa.rstrip("0").rstrip(".") if "." in mantissa else mantissa
        text = f"{mantissa}e{int(exponent)}"
    else:
        places = max(0, digits - 1 - math.floor(math.log10(abs(value)))) if value != 0 else 0
        text = f"{value:.{places}f}"
    return text.replace("-", "−")


def _template(name: str) -> jinja2.Template:
    import jinja2
    from markupsafe import Markup

    environment = jinja2.Environment(
        autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=jinja2.StrictUndefined
    )
    environment.filters["cell"] = shown
    # our own drawing: letters are outlines, and the only words in it, the description, are escaped
    environment.filters["drawn"] = lambda one: Markup(inline_svg(one.figure, one.key, one.alt))  # noqa: S704
    environment.tests.update(
        exhibit=_is(Exhibit), omitted=_is(Omitted), table=_is(Shown), listing=_is(Listing), text=_is(str)
    )
    return environment.from_string(resources.files("tracker.reports").joinpath(name).read_text(encoding="utf-8"))


def _is(kind: type) -> Any:
    return lambda item: isinstance(item, kind)
