"""The page of a run: what it holds, that it is the same twice, that no text of a scenario becomes markup."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from interpreting import interpreted
from worlds import ROOT, SCENARIOS

import tracker
from tracker.costs.minimise.search import Minimisers
from tracker.reports.exhibit import Answer, Exhibit, Listing, Omitted, Section, Shown, Table, VerdictBox
from tracker.reports.exhibits import diagnostics
from tracker.reports.figure_files import FORMATS, TALL, figure_bytes
from tracker.reports.figure_style import COLOURS, INK, MODES, MUTED, figure, legend, looks
from tracker.reports.html_page import render
from tracker.reports.run_page import exhibits, report
from tracker.reports.run_view import View
from tracker.reports.verdict_box import verdict
from tracker.runs import page_seals
from tracker.samplers import SAMPLERS

KEYS = [
    "world", "landscape", "one-trial", "mode-belief", "forecasts", "error-over-time", "running-mean", "after-a-switch", "right-basin",
    "comparison", "skew-path", "known", "density", "reconstruction", "dwell-times", "regime", "diagnostics",
]  # fmt: skip
LARGEST = 1_500_000
MOST_WORDS = 75  # of a caption; most have fewer than 40, intervals and names counted

HOSTILE = [
    "<script>alert(1)</script>", "</script><script>alert(1)</script>", "<img src=x onerror=alert(1)>", "<svg onload=alert(1)>",
    '"><script>alert(1)</script>', "'><img src=//evil.example/x>", "<iframe src=https://evil.example></iframe>",
    "javascript:alert(1)", "<a href='javascript:alert(1)'>x</a>", "</style><script>alert(1)</script>", "</title><script>x</script>",
    "</pre><script>alert(1)</script>", "<!-- --><script>alert(1)</script>", "--><script>alert(1)</script>", "<![CDATA[<script>]]>",
    "{{ 7 * 7 }}", "{% raw %}", "{{ ''.__class__ }}", "${7*7}", "#{7*7}", "<%= 7 * 7 %>", "&lt;script&gt;", "&#60;script&#62;",
    "&amp;lt;", "<body onload=alert(1)>", "<link rel=stylesheet href=https://evil.example/x.css>", "<meta http-equiv=refresh>",
    "<base href=https://evil.example/>", "<form action=https://evil.example><input></form>", "<object data=x></object>",
    "<embed src=x>", "<math><mi//xlink:href='data:x,<script>'></math>", "<table background=https://evil.example/x>",
    "<style>@import 'https://evil.example/x.css'</style>", "<video><source onerror=alert(1)></video>", "<details open ontoggle=x>",
    "<marquee onstart=alert(1)>", "<input autofocus onfocus=alert(1)>", "<p style=background:url(https://evil.example/x)>",
    "\u202ereversed", "\u0000null", "\u2028line", "\ufeffmark", "a\u0301\u0301\u0301", "<\u200bscript>", "＜script＞", "\\u003cscript\\u003e",
    "%3Cscript%3E", "' OR 1=1 --", "<ScRiPt SrC=//evil.example></sCrIpT>",
]  # fmt: skip

KINDS = list(SAMPLERS)


class Reader(HTMLParser):
    """Collects the tags, attributes and text of a page."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str, str]] = []
        self.words: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(tag, name, value or "") for name, value in attrs]

    def handle_data(self, data: str) -> None:
        self.words.append(data)


def without_player(text: str) -> str:
    """The page without its player, whose script is the one that its policy allows, by its hash and nothing else."""
    if 'id="player-data"' not in text:
        assert "script-src" not in text
        return text
    allowed = re.search(r"; script-src 'sha256-([^']*)'\">", text)
    scripts = re.findall(r"<script>(.*?)</script>", text, re.DOTALL)
    assert allowed is not None
    assert len(scripts) == 1
    assert len(scripts[0]) <= 8_000
    assert base64.b64encode(hashlib.sha256(scripts[0].encode()).digest()).decode() == allowed[1]
    (data,) = re.findall(r'<script type="application/json" id="player-data">(.*?)</script>', text, re.DOTALL)
    played = json.loads(data)["trials"]
    assert len(played) <= 5
    assert len(data) <= 25_000 * len(played)
    return re.sub(r"<script.*?</script>", "", text, flags=re.DOTALL)


def assert_harmless(text: str) -> Reader:
    """No script but the player's, no frame, no event, no address but places on the page and pictures in it."""
    reader = Reader(without_player(text))
    assert not set(reader.tags) & {
        "script",
        "iframe",
        "object",
        "embed",
        "form",
        "base",
        "link",
        "img",
        "video",
        "math",
        "marquee",
    }
    for tag, name, value in reader.attributes:
        assert not name.startswith("on"), (tag, name)
        if name in ("href", "src", "xlink:href", "action", "background", "data"):
            assert value.startswith(("#", "data:image/png;base64,")), (tag, name, value)
    assert not re.search(r"@import|url\(", "".join(re.findall(r"<style>(.*?)</style>", text, re.DOTALL)))
    return reader


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> tracker.Run:
    """A tiny run with switches, S that moves, several samplers; interpreted, so that nothing is compiled for it."""
    text = (SCENARIOS / "example_a.toml").read_text()
    more = [
        {"name": "skewed", "kind": "accelerated", "epsilon": 0.05, "beta": 2.0, "skew": 0.7},
        {"name": "classical", "kind": "langevin", "epsilon": 0.05, "beta": 2.0},
        {"name": "wander", "kind": "wandering", "epsilon": 0.05, "beta": 2.0, "skew": 0.1, "skew_step": 0.2, "skew_bounds": [-0.5, 0.5]},
    ]  # fmt: skip
    settings = (
        "trials=6",
        "steps=160",
        "record_every=4",
        "chain.alpha=0.05",
        'chain.initial="stationary"',
        "burn_in=8",
    )
    scenario = tracker.parse(text, settings=settings).replace(samplers=more, description="Two bowls.")
    return interpreted(scenario, tmp_path_factory.mktemp("run") / "tiny")


@pytest.fixture(scope="module")
def page(run: tracker.Run) -> str:
    return report(run)


@pytest.fixture(scope="module")
def found(run: tracker.Run) -> list[Exhibit | Omitted]:
    return exhibits(run)


def test_every_question_is_answered_in_order_or_left_out_with_a_reason(
    found: list[Exhibit | Omitted], page: str
) -> None:
    assert [item.key for item in found] == KEYS
    for item in found:
        if isinstance(item, Omitted):
            assert item.reason
            assert item.reason in Reader(page).words or any(item.reason in words for words in Reader(page).words)
            continue
        assert re.search(r"\d", item.caption), item.caption  # computed, not a phrase
        assert item.alt
        assert item.table.rows
        assert all(len(row) == len(item.table.columns) for row in item.table.rows)
    assert [item.key for item in found if isinstance(item, Omitted)] == [
        "forecasts",  # no rows come in an order
        "running-mean",
        "reconstruction",
    ]  # it has few records
    order = [page.index(f'id="{item.key}"') for item in found if isinstance(item, Exhibit)]
    assert order == sorted(order)


def test_captions_are_short(found: list[Exhibit | Omitted]) -> None:
    """What was found stands in the caption; how it is made and read, in the fold."""
    long = {item.key: len(item.caption.split()) for item in found if isinstance(item, Exhibit) and item.key != "regime"}
    # of the regime the budget of each sampler's error is told
    assert {key: words for key, words in long.items() if words > MOST_WORDS} == {}
    assert sum(bool(item.method) for item in found if isinstance(item, Exhibit)) > 6


@pytest.mark.parametrize(("count", "panels"), [(3, 3), (12, 6)])
def test_many_modes_are_drawn_on_one_screen(run: tracker.Run, count: int, panels: int) -> None:
    """Beyond the colours that can be told apart, the figures change their form; the tables still have all modes."""
    modes = [
        {"name": f"m{x:02d}", "cost": "quadratic", "minimum": [0.2 * x, 0.0], "curvature": [[4, 0], [0, 4]]}
        for x in range(count)
    ]
    schedule = {"switches": [[60 * x, f"m{x:02d}"] for x in range(count)]}
    keys = {"trials": 6, "steps": 60 * count, "record_every": 4, "burn_in": 0, "chain": None}
    found = {
        item.key: item
        for item in exhibits(interpreted(run.scenario.replace(modes=modes, schedule=schedule, **keys)))
        if isinstance(item, Exhibit)
    }
    assert len(found["density"].figure.axes) == panels
    assert (f"{panels} of the {count} modes are drawn" in found["density"].caption) == (panels < count)
    assert {row[1] for row in found["density"].table.rows} == {f"m{x:02d}" for x in range(count)}
    assert len(found["one-trial"].figure.legends[0].get_texts()) == (4 if count == 12 else 3)


@pytest.mark.parametrize(("start", "scale"), [(0.5, "linear"), (80.0, "log")])
def test_errors_far_below_standing_still_can_be_seen(run: tracker.Run, start: float, scale: str) -> None:
    far = interpreted(run.scenario.replace(start=[start, start], steps=400, burn_in=200))
    shown = next(item for item in exhibits(far) if item.key == "error-over-time")
    assert isinstance(shown, Exhibit)
    assert [ax.get_yscale() for ax in shown.figure.axes] == [scale, scale]
    assert ("logarithmic" in shown.figure.axes[0].get_title(loc="left")) == (scale == "log")


def test_baselines_are_in_every_table_of_samplers(found: list[Exhibit | Omitted]) -> None:
    for item in found:
        if isinstance(item, Exhibit) and item.table.columns[0] == "sampler":
            names = [row[0] for row in item.table.rows]
            assert {"frozen", "oracle"} <= set(names), item.key


def scrolled(page: str) -> list[tuple[str, str]]:
    """The class and the role of each box that scrolls, all of which have a name."""
    found = re.findall(r'<div class="(scroll)" tabindex="0" role="(\w+)" aria-label="[^"]+">', page)
    assert len(found) == page.count('class="scroll"') > 3
    return found


def test_a_page_stands_alone_and_is_small(run: tracker.Run, page: str, found: list[Exhibit | Omitted]) -> None:
    reader = assert_harmless(page)
    assert len(page.encode()) < LARGEST
    assert "://" not in page
    assert page.count("<svg") == len(KEYS) - 3 + 2  # the player has a landscape for each mode
    assert all(value for tag, name, value in reader.attributes if tag == "svg" and name == "aria-label")
    told = [value for tag, name, value in reader.attributes if tag == "svg" and name == "aria-label"]
    for item in found:  # what was found, for those who do not see the figure
        assert isinstance(item, Omitted) or any(value.startswith(item.caption) for value in told), item.key
    box = verdict(View(run), diagnostics.health(View(run)))
    title = re.search(r"<title>(.*?)</title>", page)
    assert title is not None
    assert html.unescape(title[1]) == f"example-a: {box.answers[0].question} {box.answers[0].mark}"
    assert '<a class="skip" href="#content">' in page
    assert "<thead></thead>" not in page.replace("\n", "")
    assert all(pair == ("scroll", "group") for pair in scrolled(page))
    assert "prefers-color-scheme: dark" in page
    assert "@media print" in page
    heights = {
        float(box): tall for box, tall in re.findall(r'viewBox="0 0 \S+ (\S+)" class="chart"( data-tall)?', page)
    }
    assert heights
    assert all(bool(tall) == (height > TALL) for height, tall in heights.items())  # those alone take a sheet in print
    assert "svg.chart[data-tall] { max-height: 21cm; }" in page
    names = [value for _, name, value in reader.attributes if name == "id"]
    assert len(names) == len(set(names))
    for _, name, value in reader.attributes:
        if name in ("href", "xlink:href") and value.startswith("#"):
            assert value[1:] in names


def test_the_command_gives_the_same_page_in_another_process_and_each_figure_alone(
    run: tracker.Run, page: str, tmp_path: Path
) -> None:
    env = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONHASHSEED": "12345"}
    command = [
        sys.executable,
        "-m",
        "tracker",
        "report",
        str(run.path),
        "--out",
        str(tmp_path / "p.html"),
        "--figures",
        "svg",
    ]
    done = subprocess.run(command, check=True, env=env, timeout=600, capture_output=True, text=True)
    assert (tmp_path / "p.html").read_bytes() == page_seals.with_seal(page.encode(), "html")
    keys = [key for key in KEYS if key not in ("forecasts", "running-mean", "reconstruction")]
    assert done.stdout.splitlines() == [
        str(tmp_path / "p.html"),
        *(str(tmp_path / "figures" / f"{key}.svg") for key in keys),
    ]
    assert all((tmp_path / "figures" / f"{key}.svg").read_bytes().startswith(b"<?xml") for key in keys)
    assert not (run.path / "report.html").exists()  # type: ignore[operator]


def test_provenance_repeats_the_run(run: tracker.Run, page: str) -> None:
    words = " ".join(Reader(page).words)
    assert run.summary["hash"] in words
    assert run.summary["scenario"]["sha256"] in words
    assert run.scenario.toml().strip() in "".join(Reader(page).words)
    assert f"tracker run {run.scenario.name}.toml" in words


# --- hostile text


def test_hostile_strings_in_a_scenario_stay_text(run: tracker.Run) -> None:
    """In every free text of a file: the description and the comments. All other fields refuse them."""
    assert len(HOSTILE) == 50
    printable = [text for text in HOSTILE if "\u0000" not in text]
    source = run.scenario.toml() + "".join(f"# {text}\n" for text in printable if "\u2028" not in text)
    hostile = run.scenario.replace(description=" | ".join(HOSTILE)).written_as(source)
    view = View(tracker.Run(hostile, run.summary, run.arrays, run.problem))
    from tracker.reports.exhibits import provenance
    from tracker.reports.run_page import overview, subtitle
    from tracker.reports.what_was_asked import head_of_page

    parts = [Section("", (), (overview(view),)), provenance.section(view)]
    text = render(view.scenario.name, subtitle(view), parts, asked=head_of_page(view.scenario, ()))
    words = "".join(assert_harmless(text).words)
    for one in printable:
        assert one in words
    assert_harmless(hostile._repr_html_())


@pytest.mark.parametrize("field", ["name", "samplers.skewed.name", "modes.one.name", "chain.initial"])
def test_hostile_strings_are_no_names(field: str, run: tracker.Run) -> None:
    import json

    for one in HOSTILE:
        with pytest.raises(tracker.ScenarioError):
            tracker.parse(run.scenario.toml(), settings=(f"{field}={json.dumps(one)}",))


@pytest.mark.parametrize("one", HOSTILE)
def test_hostile_strings_anywhere_in_a_page_stay_text(one: str) -> None:
    with figure(height=1.0) as fig:
        fig.subplots().set_axis_off()  # ticks would take longer to draw
    table = Table((one, one), ((one, 1.0), (one, one)))
    items = (
        Exhibit("key", one, one, one, fig, table),
        Omitted("k", one, one),
        Shown(one, table),
        Listing(one, one, folded=True),
    )
    box = VerdictBox((one,), (Answer(one, one, one, "good"),))
    text = render(one, one, [Section(one, (one,), items)] * 1, box)
    assert one in "".join(assert_harmless(text).words)


# --- figures


def test_a_figure_in_every_format_is_the_same_twice() -> None:
    marks = {"pdf": b"%PDF", "png": b"\x89PNG", "svg": b"<?xml"}
    with figure(height=1.0) as fig:
        fig.subplots().plot([0, 1])
    for kind in FORMATS:
        first = figure_bytes(fig, kind)
        assert first.startswith(marks[kind])
        assert figure_bytes(fig, kind) == first


def luminance(colour: str) -> float:
    """As WCAG 2 defines it."""
    parts = [int(colour[n : n + 2], 16) / 255 for n in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def schemes() -> Iterator[dict[str, str]]:
    text = (ROOT / "tracker" / "reports" / "page.html.j2").read_text()
    for block in re.findall(r":root \{([^}]*)\}", text):
        yield dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6})", block))


def test_text_has_contrast_in_light_and_dark() -> None:
    assert contrast("#777777", "#ffffff") == pytest.approx(
        4.48, abs=0.005
    )  # control: the known case just below the line
    found = list(schemes())
    assert len(found) == 2
    for scheme in found:
        pairs = [("ink", "paper"), ("muted", "paper"), ("ink", "panel"), ("muted", "panel"), ("link", "paper")]
        pairs += [(tone, f"{tone}-panel") for tone in ("good", "warn", "bad")]
        for text, ground in pairs:
            assert contrast(scheme[text], scheme[ground]) >= 4.5, (text, ground)
        for n in range(len(COLOURS)):  # lines, which also differ by their dashes
            assert contrast(scheme[f"kind-{n}"], scheme["paper"]) >= 3.0
    assert found[0]["ink"] == INK
    assert found[0]["muted"] == MUTED
    assert [found[0][f"kind-{n}"] for n in range(len(COLOURS))] == list(COLOURS)


# Machado, Oliveira and Fernandes (2009): how linear RGB looks without one kind of cone
BLIND = {
    "deutan": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.01182, 0.04294, 0.968881]],
    "protan": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "tritan": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.3039]],
}


def lab(colour: str, sight: list[list[float]]) -> np.ndarray:
    """CIE Lab of a colour as it is seen."""
    rgb = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    seen = np.clip(np.array(sight) @ np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4), 0, 1)
    xyz = [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]] @ seen / [0.9505, 1, 1.089]
    f = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


@pytest.mark.parametrize("sight", sorted(BLIND))
def test_modes_are_told_apart_by_colour_blind_readers(sight: str) -> None:
    """Differences below 5 are hard to see; the colours of before had 3.4."""
    seen = [lab(colour, BLIND[sight]) for colour in MODES]
    assert min(float(np.linalg.norm(a - b)) for a, b in combinations(seen, 2)) > 12


def test_long_names_leave_room_for_the_drawing() -> None:
    name = "x" * 64
    with figure() as fig:
        ax = fig.subplots()
        ax.plot([0, 1], [0, 1], label=name)
        ax.set_yticks([0, 1], [name, "short"])
        legend(fig, ax)
    figure_bytes(fig, "svg")
    assert ax.get_position().width > 0.5
    assert [text.get_text() for text in ax.get_yticklabels()] == ["x" * 8 + "…" + "x" * 9, "short"]


def test_no_two_samplers_look_alike() -> None:
    names = [f"s{n}" for n in range(20)]
    kinds = {name: KINDS[n % len(KINDS)] for n, name in enumerate(names)}
    found = looks([*names, "frozen", "oracle"], kinds)
    assert len({(look.color, str(look.linestyle)) for look in found.values()}) == 22
    assert len({(look.color, look.marker) for look in found.values()}) == 22


def test_a_kind_has_one_colour_on_every_page_and_it_is_seen_on_white() -> None:
    """WCAG asks for a contrast of 3 for graphics: (1.05)/(L + 0.05), L the relative luminance."""
    alone, among = looks(["x"], {"x": KINDS[2]}), looks(["a", "x"], {"a": KINDS[0], "x": KINDS[2]})
    assert alone["x"].color == among["x"].color != among["a"].color
    assert len({look.color for look in looks(KINDS, {kind: kind for kind in KINDS}).values()}) == len(KINDS)

    def luminance(colour: str) -> float:
        parts = [int(colour[n : n + 2], 16) / 255 for n in (1, 3, 5)]
        linear = [part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    assert min(1.05 / (luminance(colour) + 0.05) for colour in COLOURS) >= 3.0
    assert 1.05 / (luminance("#e69f00") + 0.05) < 3.0  # control: the amber of earlier pages


# --- the verdict


def with_arrays(run: tracker.Run, **changes: np.ndarray) -> tracker.Run:
    return tracker.Run(run.scenario, run.summary, {**run.arrays, **changes}, run.problem)


def warnings_of(run: tracker.Run) -> str:
    view = View(run)
    return "\n".join(verdict(view, diagnostics.health(view)).warnings)


def test_the_box_answers_three_questions_and_warns_first(run: tracker.Run) -> None:
    view = View(run)
    found = verdict(view, diagnostics.health(view))
    assert [answer.question for answer in found.answers] == ["Did it track?", "Which sampler?", "Can I trust it?"]
    assert "Only 6 trials" in found.warnings[0]
    assert found.answers[2].mark == "with care"


def test_a_result_whose_axes_do_not_belong_together_is_not_to_be_used(run: tracker.Run) -> None:
    """The planted fault of a time axis shifted by one record is found by recomputing the errors."""
    assert "not to be used" not in warnings_of(run)
    assert "not to be used" in warnings_of(with_arrays(run, mode=np.roll(run.arrays["mode"], 1, axis=1)))


def test_bounds_and_divergence_are_told(run: tracker.Run) -> None:
    assert "S is at its bounds" not in warnings_of(with_arrays(run, skew=0.0 * run.arrays["skew"]))
    assert "wander: S is at its bounds 100 %" in warnings_of(with_arrays(run, skew=0.0 * run.arrays["skew"] + 0.5))


def test_resets_of_every_process_are_told() -> None:
    """A narrow limit: zeta of ``tempered`` outgrows it, and D of Algorithm 1; the same samplers with a wide one are the control."""
    text = """
        name = "resets"
        trials = 2
        steps = 40
        start = [1.0, 1.0]
        modes = [{ name = "bowl", cost = "quadratic", minimum = [0.0, 0.0], curvature = [[4.0, 1.0], [1.0, 2.0]] }]
        samplers = [
            { name = "warm", kind = "tempered", epsilon = 0.05, beta = 2.0, noise_step = 0.01, noise_bounds = [0.5, 2.0] },
            { name = "turned", kind = "hessian", epsilon = 0.05, beta = 2.0, skew = 0.1, skew_step = 0.01, skew_bounds = [-1.0, 1.0] },
        ]
    """
    narrow = interpreted(tracker.parse(text, settings=("samplers.*.tangent_limit=0.01",)))
    warm, turned = narrow.arrays["resets"][:, :2].sum(axis=0)
    assert min(warm, turned) > 1
    assert f"warm: its derivative process outgrew its limit and was reset {warm} times." in warnings_of(narrow)
    assert f"turned: its derivative process outgrew its limit and was reset {turned} times." in warnings_of(narrow)
    assert "reset" not in warnings_of(interpreted(tracker.parse(text)))


def test_a_recorded_point_below_the_minimum_is_told(run: tracker.Run) -> None:
    """Planted: one point of the second sampler 0.25 below the least cost of its mode; rounding is no such point."""
    assert "deeper minimum" not in warnings_of(run)
    excess = run.arrays["excess"].copy()
    excess[3, 1, 7] = -1e-9
    assert "deeper minimum" not in warnings_of(with_arrays(run, excess=excess))
    excess[3, 1, 7], excess[0, 2, 5] = -0.25, np.nan
    theta = run.arrays["theta"].copy()
    theta[3, 1, 7] = [0.125, -2.0]
    mode = run.scenario.modes[run.arrays["mode"][3, 7]].name
    (line,) = [w for w in warnings_of(with_arrays(run, excess=excess, theta=theta)).splitlines() if "deeper" in w]
    assert line == (
        f"{mode} has a deeper minimum than was found: classical was recorded at θ = (0.125, −2) with an excess cost of −0.250, "
        "so errors and excess costs are about the wrong point."
    )


def test_a_well_that_the_search_misses_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """A search that stops in the shallow well of (a^2 - 1)^2 - 0.35 a: the deep one is 0.7 lower, and the sampler goes there."""
    text = """
        name = "missed"
        trials = 2
        steps = 400
        start = [-1.0]
        modes = [{ name = "wells", cost = "polynomial", variables = ["a"], formula = "(a^2 - 1)^2 - 0.35*a" }]
        samplers = [{ name = "hot", kind = "langevin", epsilon = 0.02, beta = 1.0 }]
    """
    assert "deeper minimum" not in warnings_of(interpreted(tracker.parse(text)))  # control: the search as it is
    a = -0.9533  # 4 a (a^2 - 1) = 0.35
    depth = (a**2 - 1) ** 2 - 0.35 * a
    shallow = Minimisers(np.array([[a]]), depth, settled=True, wells=np.array([[a]]), depths=np.array([depth]))
    monkeypatch.setattr("tracker.scenario.builders.global_minimisers", lambda *_: shallow)
    missed = interpreted(tracker.parse(text))
    assert missed.arrays["excess"].min() == pytest.approx(-0.7, abs=0.02)  # some record is near the bottom
    assert "wells has a deeper minimum than was found: hot was recorded at θ = (1.0" in warnings_of(missed)


def test_a_start_that_weighs_on_the_averages_is_told_once_for_all_samplers(run: tracker.Run) -> None:
    def told(error: np.ndarray) -> list[str]:
        late = tracker.Run(run.scenario.replace(burn_in=0), run.summary, {**run.arrays, "error": error}, run.problem)
        return [line for line in warnings_of(late).splitlines() if "burn_in" in line]

    names = [sampler.name for sampler in run.scenario.samplers]
    error = np.ones_like(run.arrays["error"])
    assert told(error) == []
    error[..., : error.shape[2] // 10] = 6.0
    error[:, 0, : error.shape[2] // 10] = 12.0
    (line,) = told(error)
    assert line.startswith(f"{names[0]}, {names[1]} and {names[2]}: the first tenth of the run has up to 12 times")
    error[:, 1:] = 1.0
    (line,) = told(error)
    assert line.startswith(f"{names[0]}: the first tenth of the run has 12 times")


def test_no_better_than_standing_still_is_said(run: tracker.Run) -> None:
    """Samplers with frozen's own numbers close none of the gap."""
    by_mode = run.arrays["by_mode"].copy()
    by_mode[:, :3] = by_mode[:, 3:4]
    view = View(with_arrays(run, by_mode=by_mode))
    first, second, _ = verdict(view, diagnostics.health(view)).answers
    assert first.mark == "no"
    assert second.mark == "undecided"


# --- notebooks


def test_notebooks_show_the_verdict_and_the_scenario(run: tracker.Run) -> None:
    text = run._repr_html_()
    assert "Did it track?" in text
    assert "oracle" in text
    assert_harmless(text)
    assert "wandering" in run.scenario._repr_html_()


# --- the command


def test_run_ends_with_a_page_unless_told_otherwise(
    run: tracker.Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The run itself is replaced by one that is there; the page is really drawn."""
    from typer.testing import CliRunner

    from tracker import runs
    from tracker.cli import app

    place = tmp_path / "run"
    place.mkdir()
    here = tracker.Run(run.scenario, run.summary, run.arrays, run.problem, place)
    monkeypatch.setattr(runs, "run", lambda *_, **__: here)
    (tmp_path / "x.toml").write_text(run.scenario.toml())
    arguments = ["run", str(tmp_path / "x.toml"), "--out", str(place)]
    quiet = CliRunner().invoke(app, [*arguments, "--no-report"])
    assert quiet.exit_code == 0
    assert not list(place.iterdir())
    monkeypatch.delenv("TRACKER_NO_REPORT")
    done = CliRunner().invoke(app, arguments)
    assert done.exit_code == 0
    assert "writing the report" in done.stderr
    assert f"report: {place / 'report.html'}" in done.stdout.replace("\n", "")
    assert_harmless((place / "report.html").read_text(encoding="utf-8"))


def test_a_page_takes_the_place_of_a_page_only(run: tracker.Run, page: str, tmp_path: Path) -> None:
    scenario = tmp_path / "mine.toml"
    scenario.write_text('name = "mine"\n', encoding="utf-8")
    with pytest.raises(FileExistsError, match="is no page"):
        run.report(scenario)
    assert scenario.read_text(encoding="utf-8") == 'name = "mine"\n'
    first = page_seals.with_seal(page.encode(), "html")
    (tmp_path / "page.html").write_bytes(page_seals.with_seal(b"<!doctype html>another page", "html"))
    run.report(tmp_path / "page.html")
    assert (tmp_path / "page.html").read_bytes() == first
