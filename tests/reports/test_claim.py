"""The claim of a scenario stands on top of its page, escaped, and changes no result."""

from __future__ import annotations

from interpreting import interpreted
from worlds import bowls

from tracker.reports import run_page
from tracker.reports.run_view import View

CLAIM = "the <b>small</b> step tracks better"


def test_the_claim_is_on_the_page_and_changes_no_result() -> None:
    bare, claimed = interpreted(bowls()), interpreted(bowls().replace(claim=CLAIM))
    assert bare.summary["hash"] == claimed.summary["hash"]
    assert bare.summary["scenario"]["sha256"] != claimed.summary["scenario"]["sha256"]
    assert run_page.subtitle(View(claimed)).splitlines()[0] == f"Claim: {CLAIM}"
    assert run_page.subtitle(View(bare)).splitlines() == run_page.subtitle(View(claimed)).splitlines()[1:]
    top = run_page.report(claimed).partition("</header>")[0]
    assert "Claim: the &lt;b&gt;small&lt;/b&gt; step tracks better" in top
    assert "<b>small" not in top
    assert "Claim:" not in run_page.report(bare).partition("</header>")[0]
