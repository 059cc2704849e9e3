"""Reports: figures (data in, Figure out) and self-contained HTML pages.

``Run.report`` and ``Sweep.report`` write pages, and notebooks show results, through the names given here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tracker.lazy_names import lazy_names

if TYPE_CHECKING:
    from tracker.reports.limit_page import write_limit_page
    from tracker.reports.notebook import run_html, scenario_html, sweep_html
    from tracker.reports.run_page import write_run_page
    from tracker.reports.run_plot import RunPlot
    from tracker.reports.summary_text import run_text
    from tracker.reports.sweep_as_text import sweep_text
    from tracker.reports.sweep_page import write_sweep_page
else:  # what a type checker must not see: it would take any name for granted
    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "limit_page": ["write_limit_page"],
            "notebook": ["run_html", "scenario_html", "sweep_html"],
            "run_page": ["write_run_page"],
            "run_plot": ["RunPlot"],
            "summary_text": ["run_text"],
            "sweep_page": ["write_sweep_page"],
            "sweep_as_text": ["sweep_text"],
        },
    )

__all__ = [
    "RunPlot",
    "run_html",
    "run_text",
    "scenario_html",
    "sweep_html",
    "sweep_text",
    "write_limit_page",
    "write_run_page",
    "write_sweep_page",
]
