"""The words of a page that a newcomer does not know, each in a sentence; a page explains those that it uses."""

from __future__ import annotations

import re
from html import escape, unescape

WORDS = (  # a word, how a page writes it, and what it means
    ("θ, N", r"θ|\bN = ", "what a sampler moves, and how many coordinates it has"),
    ("mode", r"\bmodes?\b", "one of the costs; which one holds at a step is hidden from the samplers"),
    ("α", r"α|\balpha\b", "how fast modes change: in a step, mode i is left with probability α times its rate in Q"),
    ("ε", r"ε|\bepsilon\b", "the step size of a sampler; k steps are k ε units of time"),
    ("β", r"β|\bbeta\b", "how cold a sampler is: it injects noise of variance 2 ε/β a step"),
    ("S", r"\bS\b", "a skew matrix that turns the gradient, for a drift of (I + S) times the gradient: it leaves the law of one mode as it is"),
    ("target", r"\btargets?\b", "the points within a given distance of the best point of the mode that holds"),
    ("wait", r"\bwaits?\b", "steps from a switch that left θ outside the new target until it is first inside"),
    ("cut short", r"\bcut short\b|\bcut off by\b", "the next switch or the end came before the target: the wait is only known to be longer"),
    ("tracking error", r"\btracking error\b", "the distance of θ from the best point of the mode that holds, averaged over steps"),
    ("excess cost", r"\bexcess cost\b", "the cost at θ in the mode that holds, above the least cost of that mode"),
    ("gap closed", r"\bgap closed\b|of the way from standing still", "0 % for what never moves, 100 % for what is always at the best point of the mode that holds"),
    ("told from", r"\btold from\b|\btells? apart\b", "the interval of the difference over paired trials leaves no doubt which one is better"),
    ("W1", r"\bW1\b|W₁", "the distance between two laws on a line: how far mass must move on average to turn one into the other"),
    ("law, Gibbs", r"\bGibbs\b|the law\b", "where θ would be in the long run, if one mode stayed and steps were small: with density proportional to exp(−β cost)"),
    ("interval", r"95 %", "the stated method gives an interval that holds the true value in 95 of 100 such runs"),
)  # fmt: skip
_TAGS = re.compile(r"<(style|script|svg|pre)\b.*?</\1>|<[^>]*>", re.DOTALL)


def words_on(page: str) -> str:
    """Return a fold that explains those words that the page uses, as HTML; nothing where it uses none."""
    text = unescape(_TAGS.sub(" ", page))
    found = [(word, meaning) for word, pattern, meaning in WORDS if re.search(pattern, text)]
    if not found:
        return ""
    items = "".join(f"<dt>{escape(word)}</dt><dd>{escape(meaning)}</dd>" for word, meaning in found)
    return f'<details class="words"><summary>Words on this page</summary><dl>{items}</dl></details>'
