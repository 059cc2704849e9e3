"""Figures with many modes, many samplers and long names: nothing overlaps, is cut off or warns, and names stay distinct."""

from __future__ import annotations

import warnings
from itertools import combinations
from typing import Any

import matplotlib as mpl
import numpy as np
import pytest
from interpreting import interpreted
from matplotlib.axis import Axis
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.text import Text
from worlds import shipped

import tracker
from tracker.metrics import wasserstein
from tracker.reports.exhibit import Exhibit, Omitted
from tracker.reports.exhibits import best_step, diagnostics, one_trial, switches
from tracker.reports.figure_files import figure_bytes, lay_out
from tracker.reports.figure_style import (
    LONGEST_NAME,
    SETTINGS,
    figure,
    legend,
    names_below,
    shorten,
    without_warnings,
)
from tracker.reports.judged_by import best_of
from tracker.reports.run_page import exhibits, report
from tracker.reports.run_view import View
from tracker.reports.shown_samplers import best_reference_worst
from tracker.reports.verdict_box import verdict

BASE = shipped("example_a")
TOUCHING = 0.5  # pixels that boxes may share: they hold the room of letters that are not there


@pytest.fixture(autouse=True)
def roughly(monkeypatch: pytest.MonkeyPatch) -> None:
    """The noise of W1, one number in the table of each sampler and mode, and curves of few points: they move no text."""
    monkeypatch.setattr(wasserstein, "RESAMPLES", 20)
    monkeypatch.setattr(best_step, "CURVE_POINTS", 8)


# --- what a figure looks like


def shown_texts(fig: Figure) -> list[Text]:
    """All texts that can be seen; a tick outside its axis has a label that is not drawn."""
    hidden = set()
    for axis in fig.findobj(Axis):
        low, high = sorted(axis.get_view_interval())
        slack = 1e-9 * (high - low)
        for tick in (*axis.get_major_ticks(), *axis.get_minor_ticks()):
            if not low - slack <= tick.get_loc() <= high + slack:
                hidden |= {id(tick.label1), id(tick.label2)}
    own = {id(text) for ax in fig.axes if not ax.get_visible() for text in ax.findobj(Text)}
    return [
        text
        for text in fig.findobj(Text)
        if text.get_visible() and text.get_text().strip() and id(text) not in hidden | own
    ]


def corners(text: Text) -> np.ndarray:
    """The box around a text, turned as it is."""
    angle = text.get_rotation()
    if angle % 90 == 0:
        box = text.get_window_extent()
        return np.array([[box.x0, box.y0], [box.x1, box.y0], [box.x1, box.y1], [box.x0, box.y1]])
    assert text.get_rotation_mode() == "anchor"
    text.set_rotation(0)
    level = corners(text)
    text.set_rotation(angle)
    cos, sin = np.cos(np.radians(angle)), np.sin(np.radians(angle))
    anchor = text.get_transform().transform(text.get_position())
    return (level - anchor) @ np.array([[cos, sin], [-sin, cos]]) + anchor


def overlap(one: np.ndarray, other: np.ndarray) -> bool:
    """Whether two boxes have more than their edges in common: no side of either keeps them apart."""
    for side in (*np.diff(one[:3], axis=0), *np.diff(other[:3], axis=0)):
        along = side / np.linalg.norm(side)
        a, b = one @ along, other @ along
        if min(a.max(), b.max()) - max(a.min(), b.min()) < TOUCHING:
            return False
    return True


def faults(fig: Figure) -> list[str]:
    """What is wrong with the places of texts and axes, after drawing."""
    with mpl.rc_context(SETTINGS), without_warnings():
        lay_out(fig)
        FigureCanvasAgg(fig).draw()
    texts = shown_texts(fig)
    boxes = [corners(text) for text in texts]
    width, height = fig.bbox.width, fig.bbox.height
    found = [
        f"{text.get_text()!r} is cut off"
        for text, box in zip(texts, boxes, strict=True)
        if box.min() < -TOUCHING or box[:, 0].max() > width + TOUCHING or box[:, 1].max() > height + TOUCHING
    ]
    found += [
        f"{a.get_text()!r} lies on {b.get_text()!r}"
        for (a, one), (b, other) in combinations(zip(texts, boxes, strict=True), 2)
        if overlap(one, other)
    ]
    for ax in fig.axes:
        box = ax.bbox
        if min(box.width, box.height) < 0.12 * fig.dpi:  # a row of a forest plot, the strip of modes
            found.append(f"axes of {box.width:.0f} × {box.height:.0f} dots")
        square = np.array([[box.x0, box.y0], [box.x1, box.y0], [box.x1, box.y1], [box.x0, box.y1]])
        inside = {id(text) for text in ax.texts}
        found += [
            f"{text.get_text()!r} lies on axes"
            for text, other in zip(texts, boxes, strict=True)
            if id(text) not in inside and overlap(square, other)
        ]
    return found


NAME = "a-rather-long-{}-name-number-{:02d}"
WIDE = "WM" * 20 + "{:.1}{:02d}" + "WM" * 10  # 63 characters, which only differ within


def long_world(modes: int, samplers: int, dimension: int, name: str = NAME, **changes: Any) -> tracker.Scenario:
    """Modes along a line, and samplers of several kinds, of which the last has the largest step."""
    kinds = ["langevin", "accelerated", "wandering"] if dimension > 1 else ["langevin"]
    keys: list[dict[str, Any]] = []
    for n in range(samplers):
        kind = kinds[n % len(kinds)]
        keys.append({"name": name.format("sampler", n), "kind": kind, "epsilon": 0.02, "beta": 20.0})
        keys[-1] |= {} if kind == "langevin" else {"skew": "random"}
        keys[-1] |= {"skew_step": 0.01, "skew_bounds": [-2.0, 2.0]} if kind == "wandering" else {}
    keys[-1]["epsilon"] = 0.1
    first = np.eye(dimension)[0]
    costs = [
        {
            "name": name.format("mode", x),
            "cost": "quadratic",
            "minimum": list(0.5 * x * first),
            "curvature": np.diag(1.0 + 3.0 * first).tolist(),
            "gradient_noise": 0.3,
        }
        for x in range(modes)
    ]
    Q = (np.ones((modes, modes)) / max(1, modes - 1) * (1 - np.eye(modes)) - np.eye(modes)).tolist()
    chain = {"alpha": 0.05, "Q": Q} if modes > 1 else None
    sizes = {"trials": 3, "steps": 120, "record_every": 1, "start": [0.4] * dimension}
    return BASE.replace(modes=costs, samplers=keys, chain=chain, **sizes, **changes)


CASES = [
    (12, 12, 2, NAME), (12, 3, 6, NAME), (12, 1, 1, NAME), (1, 7, 2, NAME), (8, 2, 2, NAME), (12, 7, 2, WIDE), (3, 2, 1, "{:.1}{}"),
]  # fmt: skip


@pytest.mark.parametrize(("modes", "samplers", "dimension", "name"), CASES)
def test_nothing_overlaps_or_is_cut_off(modes: int, samplers: int, dimension: int, name: str) -> None:
    for item in exhibits(interpreted(long_world(modes, samplers, dimension, name))):
        if isinstance(item, Exhibit):
            assert faults(item.figure) == [], item.key


def test_faults_are_seen() -> None:
    """The control: a label over another, one that leaves the figure, a title on the axes above."""
    with figure(height=1.2) as fig:
        upper = fig.subplots()
        upper.set_xticks([0, 0.1], ["overlapping", "overlapped"])
        fig.text(0.5, 0.8, "a title")
        fig.text(0.9, 0.5, "beyond the edge")
    found = "\n".join(faults(fig))
    assert "'overlapping' lies on 'overlapped'" in found
    assert "'beyond the edge' is cut off" in found
    assert "'a title' lies on axes" in found


@pytest.mark.parametrize("angle", [0, 25])
def test_slanted_names_are_apart_where_level_ones_are_not(angle: int) -> None:
    names = [NAME.format("mode", x) for x in range(6)]
    with figure() as fig:
        ax = fig.subplots()
        ax.set_xlim(-0.5, 5.5)
        names_below(ax, range(6), names)
        for label in ax.get_xticklabels():
            label.set_rotation(angle)
    assert any("lies on" in fault for fault in faults(fig)) == (angle == 0)


# --- names


@pytest.mark.parametrize(
    "names",
    [
        [NAME.format("mode", x) for x in range(12)],
        [f"{x:02d}-the-number-is-in-front-of-this-name" for x in range(12)],
        [f"the-number-is-in-the-middle-{x:02d}-of-this-rather-long-name" for x in range(12)],
        [WIDE.format("m", x) for x in range(12)],
    ],
)
def test_shortened_names_stay_distinct(names: list[str]) -> None:
    found = shorten(names)
    assert len(set(found)) == len(names)
    assert max(map(len, found)) <= LONGEST_NAME
    for name, short in zip(names, found, strict=True):
        assert all(part in name for part in short.split("…"))


def test_names_that_nothing_short_tells_apart_are_numbered() -> None:
    names = [f"{'x' * n}y{'x' * (63 - n)}" for n in range(64)]
    found = shorten(names)
    assert len(set(found)) == 64
    assert found[5].endswith("…6")


def test_names_are_cut_in_the_middle_and_short_ones_not_at_all() -> None:
    assert shorten(["a-rather-long-mode-name-number-07", "short"]) == ["a-rather…number-07", "short"]
    assert shorten(["twice-the-same-name-is-no-trouble"] * 2) == ["twice-th…o-trouble"] * 2
    assert shorten([]) == []


def test_a_legend_has_as_many_columns_as_fit() -> None:
    def drawn(name: str) -> tuple[int, float]:
        with figure() as fig:
            ax = fig.subplots()
            for n in range(8):
                ax.plot([0, 1], [0, n], label=name.format(n))
            legend(fig, ax)
        (one,) = fig.legends
        assert one.get_window_extent().width <= fig.bbox.width
        return one._ncols, fig.get_figheight()

    short, long = drawn("s{}"), drawn(NAME.replace("{}", "x", 1).replace("{:02d}", "{}"))
    assert (short[0], long[0]) == (4, 2)
    assert short[1] == 3.0 < long[1]  # four rows instead of two


# --- which samplers


def test_the_best_sampler_is_drawn_even_if_it_is_the_last() -> None:
    run = interpreted(long_world(3, 8, 1, "{:.1}{}"))
    view = View(run)
    assert best_of(view) == "s7"
    found = one_trial.exhibit(view)
    assert isinstance(found, Exhibit)
    titles = [ax.get_title(loc="left") for ax in found.figure.axes[1:]]
    assert titles == ["s0", "s1", "s2", "s3", "s4", "s7"]
    assert "(the first 5 samplers are drawn, and s7, the best by the tracking error)" in found.caption
    few = one_trial.exhibit(View(interpreted(long_world(3, 6, 1, "{:.1}{}"))))
    assert isinstance(few, Exhibit)
    assert "drawn" not in few.caption.partition(". ")[0]


# --- warnings


@pytest.mark.parametrize("tiny", [1e-29, 1e-15, 1e-9])
@pytest.mark.parametrize("both", [True, False])
def test_flat_modes_are_no_warnings_but_not_known(tiny: float, both: bool) -> None:
    """scipy solves a neighbouring equation there, and says so to whoever asked for a page."""
    bowl = {"cost": "quadratic", "minimum": [1.0, 0.0], "curvature": [[tiny, 0.0], [0.0, 1.0]], "gradient_noise": 0.3}
    other = bowl | {"minimum": [0.0, 1.0]} | ({} if both else {"curvature": [[4.0, 0.0], [0.0, 1.0]]})
    world = long_world(2, 2, 2, "{:.1}{}").replace(modes=[bowl | {"name": "m0"}, other | {"name": "m1"}])
    run = interpreted(world)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        page = report(run)
    hidden = tiny == 1e-29 or (both and tiny == 1e-15)
    assert ("a mode is so flat in some direction that rounding hides the error" in page) == hidden


def test_letters_that_the_font_lacks_are_no_warnings() -> None:
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        with figure() as fig:
            ax = fig.subplots()
            names_below(ax, [0, 1], ["\u6f22\u5b57", "\u4e2d\u6587" * 20])
            ax.set_title("\u6f22")
        drawn = figure_bytes(fig, "svg")
    assert [str(warning.message) for warning in told] == []
    assert b"</svg>" in drawn


def test_of_many_samplers_three_are_coloured_after_a_switch() -> None:
    few, many = (View(interpreted(long_world(2, count, 2, "{}-{}"))) for count in (8, 10))
    shown = switches.exhibit(many)
    axes = shown.figure.axes[0]
    coloured = {str(line.get_label()) for line in axes.lines if not str(line.get_label()).startswith("_")}
    assert coloured & set(many.samplers) == set(best_reference_worst(many))
    assert len(axes.lines) == len(many.names)  # the others are there, in grey
    assert "In colour the best sampler" in shown.method  # type: ignore[union-attr]
    told = switches.exhibit(few)
    assert "In colour" not in told.method  # type: ignore[union-attr]
    assert len({str(line.get_label()) for line in told.figure.axes[0].lines} & set(few.samplers)) == 8


def test_where_all_diverged_no_figure_is_empty_and_nothing_is_to_be_trusted() -> None:
    wild = {"name": "wild", "kind": "langevin", "epsilon": 3.0, "beta": 20.0}
    view = View(interpreted(long_world(2, 1, 1).replace(samplers=[wild], start=[80.0])))
    assert not view.alive
    shown = switches.exhibit(view)
    assert isinstance(shown, Omitted)
    assert shown.reason == "every trial of every sampler diverged."
    answer = verdict(view, diagnostics.health(view)).answers[2]
    assert (answer.question, answer.mark, answer.tone) == ("Can I trust it?", "no", "bad")


def test_of_many_dimensions_the_exact_error_is_not_computed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Moments of 50 coordinates in two modes: their best step took minutes."""
    from tracker.limits import best_constant_step

    asked: list[int] = []

    def refuses(problem: Any) -> None:
        asked.append(problem.n)
        raise ArithmeticError("asked")

    monkeypatch.setattr(best_constant_step, "split_error", refuses)
    for dimension in (2, 50):
        known, unknown = best_step.theories(View(interpreted(long_world(2, 1, dimension))))
        assert not known
        assert ("not computed: 5102 unknown moments" in str(*unknown.values())) == (dimension == 50)
    assert asked == [2]


@pytest.mark.parametrize("first", [True, False])
def test_a_sampler_that_diverged_is_no_warning_where_standing_still_is_far(first: bool) -> None:
    """Errors are then drawn on a logarithmic axis, which has no place for what is not there."""
    good, wild = (
        {"name": name, "kind": "langevin", "epsilon": epsilon, "beta": 20.0}
        for name, epsilon in (("good", 0.1), ("wild", 3.0))
    )
    run = interpreted(long_world(2, 1, 1).replace(samplers=[wild, good] if first else [good, wild], start=[80.0]))
    assert (run.arrays["diverged"][:, 0 if first else 1] >= 0).all()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        page = report(run)
    assert "wild: 3 of 3 trials diverged" in page
