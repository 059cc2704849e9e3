"""Print the summary of a run as a table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tracker.cli.printing import console
from tracker.reports.summary_text import show_summary

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


def print_summary(summary: Mapping[str, Any], path: Path | None) -> None:
    """Print what came out, for people."""
    show_summary(console(), summary, path)
