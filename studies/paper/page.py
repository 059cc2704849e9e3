"""The page about the paper: its figures in its order, with exact truth and controls; then its claims."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from studies import markdown
from studies.paper import figures
from studies.paper.claims import claims
from studies.paper.example_sections import example_1, example_2
from studies.paper.fairness import any_skew_section, primary_section, temperature_section
from studies.paper.numbers import average, read
from studies.paper.primary import CORRECTED, EXPLORATORY
from tracker.formatting import number
from tracker.references import posterior
from tracker.reports import html_page
from tracker.reports.exhibit import Exhibit, Section, Shown, Table, VerdictBox
from tracker.reports.figure_files import write_figure

if TYPE_CHECKING:
    from pathlib import Path

    from studies.paper.claims import Claim
    from studies.paper.numbers import Check, Numbers
    from tracker import Scenario
    from tracker.array_types import Array


TITLE = "The paper's examples, with exact truth and controls"
SUBTITLE = (
    "Krishnamurthy and Yin, Adaptive Non-reversible Stochastic Gradient Langevin Dynamics: Examples 1 and 2, run as "
    "printed where the paper says how, and with our own choices, stated below, where it is silent."
)
FOLDER = "paper"  # of the figures beside the Markdown


def write_pages(numbers: Path, scenario: Scenario, folder: Path) -> None:
    """Write paper.html, paper.md and its figures to ``folder`` from the file of ``numbers``; ``scenario`` is Example 1."""
    found = read(numbers)
    sections = sections_of(found, density_grid(scenario))
    verdict = VerdictBox((), tuple(claim.answer for claim in claims(found)))
    (folder / "paper.html").write_text(html_page.render(TITLE, SUBTITLE, sections, verdict), encoding="utf-8")
    text = markdown.render(TITLE, SUBTITLE, sections, verdict, FOLDER)
    (folder / "paper.md").write_text(text, encoding="utf-8")
    (folder / FOLDER).mkdir(exist_ok=True)
    for section in sections:
        for item in section.items:
            if isinstance(item, Exhibit):
                write_figure(item.figure, folder / FOLDER / f"{item.key}.png", "png")


def sections_of(numbers: Numbers, grid: tuple[Array, Array, Array]) -> tuple[Section, ...]:
    """Return the page's sections."""
    return (
        _reading(numbers),
        _truth(numbers, grid),
        primary_section(numbers),
        example_1(numbers),
        example_2(numbers),
        temperature_section(numbers),
        any_skew_section(),
        _claims(numbers),
        _honesty(numbers),
    )


def _claims(numbers: Numbers) -> Section:
    items = tuple(_claim(n, claim) for n, claim in enumerate(claims(numbers), 1))
    return Section("Claim by claim, with the numbers", (), items)


def _claim(n: int, claim: Claim) -> Exhibit | Shown:
    """A claim with its differences as a forest plot, and all numbers in the fold; without differences a table."""
    rows = (*(one.row for one in claim.differences), *claim.evidence)
    table = Table(("what", "mean, or difference [95 %], p"), rows)
    said = f"{claim.mark} {claim.short}"
    if not claim.differences:
        return Shown(f"{claim.claim}: {said}", table)
    alt = f"{len(claim.differences)} paired differences with their intervals; left of 0 the first sampler has less."
    return Exhibit(
        f"claim-{n}",
        claim.claim,
        said[:1].upper() + said[1:],
        alt,
        figures.differences(claim.differences),
        table,
        "Differences over paired trials with 95 % intervals; hollow: not shown at the level of its kind of comparison.",
    )


def density_grid(scenario: Scenario) -> tuple[Array, Array, Array]:
    """Return a grid and the exact log density of a posterior of two coordinates above its top, for contours."""
    law = posterior(scenario).reduced
    a, b = np.linspace(-1.6, 2.6, 106), np.linspace(-4.0, 4.0, 101)
    points = np.stack(np.meshgrid(a, b), axis=-1).reshape(-1, 2)
    depth = -law.potential((points - law.origin) @ np.linalg.inv(law.basis).T).reshape(b.size, a.size)
    return a, b, depth - depth.max()


def _reading(numbers: Numbers) -> Section:
    ten = numbers.experiments["ten"]
    minutes = sum(one.nanoseconds for one in ten.samplers.values()) * 1e-9 * ten.trials * ten.steps / 2.0 / 60.0
    return Section(
        "How to read this",
        (
            (
                "The world stands still here: one posterior, one data set swept in order, one observation a step. Every sampler of "
                "a trial meets the same data, the same injected noise and the same random S, so differences are taken trial by "
                "trial: mean difference [95 % interval], p of Wilcoxon's signed-rank test. One comparison for each claim is primary, "
                f"fixed before it was run; the others, {EXPLORATORY} different ones at most, are exploratory, and called shown where p is below 0.05/{EXPLORATORY} = {number(CORRECTED, 2)}."
            ),
            (
                "Area is the error of the running posterior mean (all steps from 0 on, as in the paper's figures), averaged over "
                "all iterations and measured against the exact mean, not against the true parameter, which the posterior mean "
                "is nowhere near. W1 is the area between the empirical and the exact distribution function, averaged over the first two "
                "marginals. A law can have the right mean and the wrong width, so a second moment stands beside every mean."
            ),
            (
                "The paper leaves open the start and the true parameter of Example 2, the bounds of S, the output of Algorithm 2 "
                "and which observation its cost uses. Here: start 0, a parameter with connected labellings, the bounds in the "
                "scenario files, θ+, and the same observation, as printed."
            ),
            (
                f"Example 2 as a whole, {ten.trials} trials of {len(ten.samplers)} samplers, comes to {minutes:.0f} minutes on two cores: "
                "computed from the processor time of a step, not timed in one piece. It was run sampler by sampler on a busy "
                "machine, and to save time with 20 trials for Algorithm 1 with bounds ±5 and with its sign flipped, and 10 for "
                "Algorithm 3. Made by studies/paper from scenarios/example_1.toml, example_1_ridge.toml and example_2.toml."
            ),
        ),
    )


def _check_rows(title: str, check: Check) -> list[tuple[str | float | None, ...]]:
    z = (check.sampled - check.exact) / check.stderr
    return [
        (f"{title}, θ({d + 1})", f"{check.exact[d]:.12f}".replace("-", "−"), f"{check.sampled[d]:.5f} ± {check.stderr[d]:.5f}".replace("-", "−"), f"{z[d]:+.2f}".replace("-", "−"),
         round(float(check.effective_size[d])))
        for d in range(2)
    ]  # fmt: skip


def _truth(numbers: Numbers, grid: tuple[Array, Array, Array]) -> Section:
    one, two = numbers.checks["example_1"], numbers.checks["example_2"]
    rows = _check_rows("Example 1", one) + _check_rows("Example 2", two)
    columns = ("mean of", "quadrature", "Metropolis-Hastings", "standard errors apart", "effective draws")
    exhibit = Exhibit(
        "posterior",
        "What does the posterior of Example 1 look like?",
        f"Contours of the exact posterior (0.1 to 6 below its top) and Metropolis-Hastings draws (acceptance "
        f"{one.acceptance:.2f}). Two modes on one ridge; the crosses are where the paper says the maxima are, which is "
        f"right for the likelihood with expected data. Quadrature changed by {one.error:.0e} standard deviations at its last "
        "refinement.",
        "Contours of a banana-shaped density with two modes, covered by dots",
        figures.density(one.points, grid, (2.5, 3.8)),
        Table(columns, tuple(rows)),
    )
    return Section("Ground truth (the paper's first figure)", (), (exhibit,))


def _honesty(numbers: Numbers) -> Section:
    far = numbers.experiments["far"]
    return Section(
        "What was chosen, and after looking at what",
        (
            (
                "Data seed 3 was taken among seeds 0 to 7 because its posterior has two modes that are connected: it is not typical. "
                "The steps of S of Algorithm 2 (1e-2) and Algorithm 3 (1e-3) in Example 1 were found on the same data in an earlier "
                f"study; the {far.trials} trials here are new. Example 2 rests on one data set."
            ),
            (
                "Wandering's step was matched to the growth of S in Algorithm 2 by eye, in Example 1 before its W1 was looked at, in "
                "Example 2 as the scenario had it; the match is not perfect, as the sizes of S show. The constant s = 4 is the better "
                "of two that were tried, known from the earlier study: it is hindsight too."
            ),
            (
                "Longer chains for the widths of laws in Example 2 (four of 5e6 steps, nine samplers) were planned and cut short for "
                "time, before the widths were known: the widths are from the trials above; the four chains left, of 2e6 steps, give "
                f"Algorithm 1 {average(numbers.experiments['ten-long']['algorithm-1'].spread)}. "
                "The marks of comparisons follow from the numbers; those of the first, the fourth and the last claim, and the "
                "sentences, were written after reading them; the primary comparisons were fixed after all else on this page had been seen, on new seeds."
            ),
        ),
    )
