"""The page of the literature, and its Markdown twin: an exhibit for each experiment, drawn from the file of numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from studies import markdown
from studies.literature.numbers import EXPERIMENTS, read
from tracker.formatting import number
from tracker.reports import html_page
from tracker.reports.exhibit import Exhibit, Section, Table
from tracker.reports.figure_files import write_figure
from tracker.reports.figure_style import COLOURS, LINES, MUTED, figure, legend, log_axis

if TYPE_CHECKING:
    from pathlib import Path

    from matplotlib.figure import Figure

    from studies.literature.experiment import Experiment, Found

TITLE = "The literature on constant steps in a switching world, reproduced"
SUBTITLE = "exact curves, measured points with 95 % intervals, one sentence each; parameters are ours unless the sentence says otherwise"
FOLDER = "literature"  # of the figures beside the Markdown
BEYOND = 4.9  # standard errors: no point may be farther from its exact number


def sections(found: dict[str, Found]) -> tuple[Section, ...]:
    """Return the page's sections."""
    points = [point for one in found.values() for point in one.points]
    worst = max(abs(point.z) for point in points)
    text = (
        (
            f"Lines are exact: solved by tracker.limits, or worked out in studies/literature/own_laws.py where the package knows no law. Dots are means over 60 to 200 trials of the engine with 95 % intervals. Of "
            f"{len(points)} points the one farthest from its exact number is {number(worst, 3)} standard errors away; {sum(abs(point.z) > 1.96 for point in points)} are farther than 1.96, and "
            f"{number(0.05 * len(points), 2)} would be expected of independent ones; points of one experiment meet the same random numbers and err together."
        ),
        (
            "The settings are those of a theme in the literature (least mean squares and its switching limits, fast chains, sign-error algorithms, adaptive steps, momentum); its texts were not at hand, so no "
            "number here is quoted from a paper. Made by python -m studies.literature."
        ),
    )
    exhibits = tuple(_exhibit(EXPERIMENTS[key], one) for key, one in found.items())
    return (Section("", text, exhibits),)


def _exhibit(experiment: Experiment, found: Found) -> Exhibit:
    columns = ("line", experiment.axes[0], "exact", "measured", "standard error", "standard errors apart")
    rows = tuple(
        (
            point.line,
            number(point.x),
            point.exact,
            point.measured,
            number(point.stderr, 2),
            f"{point.z:+.2f}".replace("-", "−"),
        )
        for point in found.points
    )
    caption = f"{experiment.setting} {experiment.tell(found)}"
    alt = f"{experiment.axes[1]} against {experiment.axes[0]}: exact lines and measured dots with intervals."
    return Exhibit(experiment.key, experiment.question, caption, alt, _figure(experiment, found), Table(columns, rows))


def _figure(experiment: Experiment, found: Found) -> Figure:
    """Draw lines and dots; a line that no point belongs to is drawn thin."""
    measured = list(dict.fromkeys(point.line for point in found.points))
    colour = {name: COLOURS[k % len(COLOURS)] for k, name in enumerate(measured)}
    with figure(height=3.4) as fig:
        ax = fig.subplots()
        others = 0
        for one in found.curves:
            if one.line in colour:
                ax.plot(one.x, one.y, color=colour[one.line], label=one.line)
            else:
                ax.plot(one.x, one.y, color=MUTED, linewidth=0.9, linestyle=LINES[others % len(LINES)], label=one.line)
                others += 1
        drawn = {one.line for one in found.curves}
        for name in measured:
            own = [point for point in found.points if point.line == name]
            ax.errorbar(
                [point.x for point in own], [point.measured for point in own], yerr=[1.96 * point.stderr for point in own],
                fmt="o", markersize=4, capsize=2, color=colour[name], label=None if name in drawn else name,
            )  # fmt: skip
        if experiment.logarithmic:
            log_axis(ax)
        heights = np.concatenate([one.y for one in found.curves])
        if heights.max() > 5 * heights.min() > 0:
            ax.set_yscale("log")
        ax.set_xlabel(experiment.axes[0])
        ax.set_ylabel(experiment.axes[1])
        legend(fig, ax)
    return fig


def write_pages(numbers: Path, folder: Path) -> None:
    """Write literature.html, literature.md and the figures."""
    found = sections(read(numbers))
    (folder / "literature.html").write_text(html_page.render(TITLE, SUBTITLE, found), encoding="utf-8")
    (folder / "literature.md").write_text(markdown.render(TITLE, SUBTITLE, found, None, FOLDER), encoding="utf-8")
    (folder / FOLDER).mkdir(exist_ok=True)
    for item in found[0].items:
        assert isinstance(item, Exhibit)
        write_figure(item.figure, folder / FOLDER / f"{item.key}.png", "png")
