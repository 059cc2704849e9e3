"""The paper's Example 1 in short, against what it must show; and the committed numbers and page of the gallery."""

from __future__ import annotations

import re

import numpy as np
import pytest
from worlds import ROOT

import tracker
from studies import markdown
from studies.paper import fairness, primary
from studies.paper.claims import claims
from studies.paper.numbers import (
    CONVINCING,
    Comparison,
    Numbers,
    against,
    average,
    compare,
    p_text,
    read,
    signed,
)
from studies.paper.page import FOLDER, SUBTITLE, TITLE, sections_of
from tracker import references
from tracker.metrics.paired import difference
from tracker.reports import html_page
from tracker.reports.exhibit import Exhibit, Listing, Omitted, Section, Shown, Table, VerdictBox

GALLERY = ROOT / "reports" / "gallery"


def short(file: str, names: tuple[str, ...], trials: int, steps: int, record_every: int) -> tracker.Run:
    settings = [f"trials={trials}", f"steps={steps}", f"record_every={record_every}"]
    scenario = tracker.load(ROOT / "scenarios" / file, settings)
    return tracker.run(scenario.replace(samplers=[s for s in scenario.samplers if s.name in names]))


def areas(run: tracker.Run) -> dict[str, np.ndarray]:
    """The distance of the running mean from the exact one, averaged over steps: one number per trial."""
    truth = references.posterior(run.scenario).mean
    found = {}
    for n, sampler in enumerate(run.scenario.samplers):
        theta = run.arrays["theta"][:, n]
        running = np.cumsum(theta, axis=1) / np.arange(1, theta.shape[1] + 1)[:, np.newaxis]
        found[sampler.name] = np.linalg.norm(running - truth, axis=2).mean(axis=1)
    return found


def test_algorithm_1_finds_the_sign_of_s_on_the_way_in():
    run = short("example_1.toml", ("algorithm-1", "ascent"), trials=60, steps=3000, record_every=3000)
    down, up = run.arrays["skew"][:, :, -1, 0].mean(axis=0)
    assert down > 2.0
    assert up < -2.0


def test_the_order_of_example_1_in_short():
    """Differences over paired trials, with an interval that errs once in a million; the control is the ridge."""
    names = ("accelerated", "fixed-4", "algorithm-1-fast")
    far = areas(short("example_1.toml", names, trials=60, steps=20_000, record_every=51))
    for name in names[1:]:
        assert difference(far[name], far["accelerated"], confidence=1 - 1e-6).high < 0.0
    ridge = areas(short("example_1_ridge.toml", ("accelerated", "algorithm-1"), 60, 20_000, 51))
    found = difference(ridge["algorithm-1"], ridge["accelerated"], confidence=1 - 1e-6)
    assert found.low < 0.0 < found.high
    assert abs(found.estimate) < 0.1 * ridge["accelerated"].mean()


@pytest.fixture(scope="module")
def numbers() -> Numbers:
    return read(GALLERY / "paper.json")


def test_the_committed_numbers_show_example_1(numbers: Numbers):
    """The orderings that were asked for, epsilon = 1e-4."""
    far, ridge = numbers.experiments["far"], numbers.experiments["ridge"]
    for name in (
        "algorithm-1",
        "algorithm-1-fast",
        "algorithm-2",
        "algorithm-3",
        "fixed-2",
        "fixed-4",
        "ascent",
        "ascent-fast",
    ):
        for what in ("area", "w1"):
            assert against(far, name, "accelerated", what).better
    for name in ("algorithm-1-slow", "algorithm-2-slow"):
        assert not against(far, name, "accelerated").better
    assert far["algorithm-1"].skew_3000.mean() > 2.0
    assert far["ascent"].skew_3000.mean() < -2.0
    assert not against(ridge, "algorithm-1", "accelerated").better
    assert not against(ridge, "algorithm-1", "accelerated", "w1").better
    for name in ("algorithm-1-fast", "ascent-fast"):  # S has become large, whatever its direction
        assert against(ridge, name, "accelerated").better
    for name, other in (("algorithm-1", "ascent"), ("algorithm-1-fast", "ascent-fast")):
        assert not against(far, name, other, "w1").better
    coarse = numbers.experiments["coarse"]
    for name in ("algorithm-1", "algorithm-1-fast", "algorithm-3"):
        assert not against(coarse, name, "accelerated").better
    assert against(coarse, "algorithm-2", "accelerated").better
    assert against(coarse, "accelerated", "algorithm-2", "w1").better
    many = numbers.experiments["many"]
    assert many.trials >= 200
    assert against(many, "accelerated", "classical").better
    for one in far.samplers.values():  # a dispersion beside every mean
        assert np.isfinite(one.spread).all()


def test_the_committed_numbers_show_example_2(numbers: Numbers):
    ten = numbers.experiments["ten"]
    assert (ten.trials, ten.steps) == (50, 1_000_000)
    for name, other in (("accelerated", "classical"), ("algorithm-2", "accelerated")):
        one = against(ten, name, other, "w1")  # clear alone, and not among a hundred comparisons
        assert one.high < 0.0
        assert CONVINCING < one.p < 0.01
    assert against(ten, "algorithm-2", "classical", "w1").better
    assert len(ten["wandering"].w1) == 50
    assert ten["wandering"].last_skew.mean() == pytest.approx(ten["algorithm-2"].last_skew.mean(), rel=0.15)
    for name in ("algorithm-1", "algorithm-1-slow"):
        assert len(ten[name].w1) == 50
        assert ten[name].diverged == 0
        assert np.isfinite(ten[name].w1).all()
    # 0.80 and 0.985 in an earlier study, with standard errors 0.010 and 0.042
    assert 0.7 < ten["algorithm-1"].spread.mean() < 0.9
    assert 0.85 < ten["algorithm-1-slow"].spread.mean() < 1.15
    nanoseconds = sum(one.nanoseconds for one in ten.samplers.values())
    assert nanoseconds * 1e-9 * 50 * 1e6 / 2 < 20 * 60


def test_metropolis_hastings_agrees_in_the_committed_numbers(numbers: Numbers):
    for check in numbers.checks.values():
        assert np.abs((check.sampled - check.exact) / check.stderr).max() < 4.9


def test_the_page_in_the_repository_says_what_the_numbers_say(numbers: Numbers):
    grid = (np.arange(3.0), np.arange(3.0), -np.add.outer(np.arange(3.0), np.arange(3.0)))
    verdict = VerdictBox((), tuple(claim.answer for claim in claims(numbers)))
    text = markdown.render(TITLE, SUBTITLE, sections_of(numbers, grid), verdict, FOLDER)
    assert (GALLERY / "paper.md").read_text(encoding="utf-8") == text
    page = html_page.render(TITLE, SUBTITLE, sections_of(numbers, grid), verdict)  # made by a script, not committed
    assert TITLE.replace("'", "&#39;") in page
    for claim in claims(numbers):
        assert claim.mark in page
    assert sorted(path.stem for path in (GALLERY / FOLDER).glob("*.png")) == sorted(
        item.key for section in sections_of(numbers, grid) for item in section.items if isinstance(item, Exhibit)
    )


def test_primary_comparisons_are_those_that_were_fixed(numbers: Numbers):
    for one in primary.PRIMARY:
        run = numbers.primary[one.file]
        for condition, w1 in run.w1.items():
            assert len(w1[one.left]) == len(w1[one.right]) == primary.TRIALS[one.file], condition
            assert np.isfinite(w1[one.left]).all()
            assert np.isfinite(w1[one.right]).all()
        for name in (one.left, one.right):  # the best of the grid, by other trials
            tried = [np.inf if w1 is None else w1 for w1 in run.scan[name]]
            assert run.chosen[name] == primary.GRID[int(np.argmin(tried))]
    assert len(claims(numbers)) == len(primary.PRIMARY) + 2
    for claim, one in zip(claims(numbers)[1:-1], primary.PRIMARY, strict=True):
        told = fairness.outcome(fairness.compared(numbers, one))
        assert claim.mark != "holds" or told == "holds"
        assert claim.mark != "does not hold" or told != "holds"


def test_the_corrected_level_counts_all_comparisons_on_the_page(numbers: Numbers):
    text = (GALLERY / "paper.md").read_text(encoding="utf-8")
    shown = {one.rstrip(".") for one in re.findall(r"[+−][0-9.]+ \[[^\]]*\], p = [0-9.e−]+", text)}
    fixed = {str(fairness.compared(numbers, one)) for one in primary.PRIMARY}
    assert fixed < shown
    assert 80 < len(shown - fixed) <= primary.EXPLORATORY


def test_outcomes_of_a_primary_comparison():
    assert fairness.outcome(Comparison(-1.0, -1.5, -0.5, 0.04)) == "holds"
    assert fairness.outcome(Comparison(1.0, 0.5, 1.5, 0.04)) == "the reverse holds"
    assert (
        fairness.outcome(Comparison(-1.0, -1.5, 0.5, 0.04))
        == fairness.outcome(Comparison(-1.0, -1.5, -0.5, 0.06))
        == "not told"
    )


def test_any_skew_is_judged_by_theory():
    [text] = fairness.any_skew_section().text
    assert "at the rate 4.27 at s = 4" in text
    assert "the best S of all is S = 0" in text


def test_comparisons_of_two_samplers():
    a, b = np.array([1.0, 2.0, 3.0, 4.0, np.nan]), np.array([2.0, 3.5, 4.2, 6.0, 1.0])
    found = compare(a, b)
    assert found.estimate == pytest.approx(-1.425)
    assert found.p == pytest.approx(2 / 2**4)  # all four signs agree: exact
    assert compare(a, b, trials=2).p == pytest.approx(2 / 2**2)
    assert Comparison(-1.0, -1.5, -0.5, 1e-4).better
    assert not Comparison(-1.0, -1.5, -0.5, 1e-3).better
    assert not Comparison(1.0, 0.5, 1.5, 1e-4).better
    assert Comparison(1.0, 0.5, 1.5, 1e-4).worse
    assert not Comparison(1.0, -0.5, 1.5, 1e-4).worse
    assert (signed(0.1234), signed(-0.0123), p_text(0.02), p_text(2.3e-5)) == (
        "+0.123",
        "−0.012",
        "p = 0.02",
        "p = 2e−5",
    )
    assert average(np.array([1.0, 3.0, np.nan])) == "2.000 ± 1.000"


def test_markdown_holds_all_kinds_of_items():
    table = Table(("a", "b"), (("x|y", 1.5), ("z", None)))
    items = (Shown("shown", table), Omitted("k", "Why?", "no reason."), Listing("a file", "text"))
    text = markdown.render("T", "S", [Section("H", ("line",), items)], None, "f")
    assert text == (
        "# T\n\nS\n\n## H\n\nline\n\nshown\n\n| a | b |\n| --- | --- |\n| x\\|y | 1.500 |\n| z | – |\n\n"
        "**Why?** Left out: no reason.\n\na file\n\n```\ntext\n```\n"
    )
