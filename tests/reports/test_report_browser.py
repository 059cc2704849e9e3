"""Pages in a real browser: nothing on the console, every picture drawn, nothing wider than a phone, no barrier that axe-core sees.

A wrapper page that this test serves on localhost opens each page in frames of two widths and looks inside; the pages
themselves hold no script. One start of the browser serves all pages and the controls that must fail. axe-core has to run inside
a page, which the pages forbid: it looks at copies without that rule, with every fold open.
"""

from __future__ import annotations

import functools
import http.server
import importlib.util
import json
import os
import queue
import re
import shutil
import subprocess
import threading
from pathlib import Path
from typing import Any

import pytest
from interpreting import interpreted
from test_sweep_page import swept, times
from worlds import plane

from tracker.reports.exhibit import Answer, Exhibit, Listing, Omitted, Section, Shown, Table, VerdictBox
from tracker.reports.figure_style import figure
from tracker.reports.html_page import render
from tracker.reports.run_page import report
from tracker.reports.sweep_page import sweep_report

BROWSER = next(
    (path for name in ("chromium", "chromium-browser", "google-chrome") if (path := shutil.which(name))), None
)
DEMANDED = "TRACKER_BROWSER" in os.environ  # set where a browser must be there, as in .ci/run
FRESH = ("sample.html", "run.html", "sweep.html")  # under their own policy
PLAYER = 2  # scripts of a page with a player: its data, and the one that the policy allows
PHONE, DESK = 390, 1280
PATIENCE = 300  # seconds
AXE = importlib.util.find_spec("axe_core_python")
FORBIDS = re.compile(r'<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; [^"]*">')
BARE = "bare-"  # in front of the names of the copies that axe-core looks at
pytestmark = pytest.mark.skipif(
    BROWSER is None and not DEMANDED, reason="no chromium here; TRACKER_BROWSER=1 makes that an error"
)

WRAPPER = """<!doctype html><meta charset="utf-8"><link rel="icon" href="data:,"><body><script>
const pages = %s, widths = [%d, %d], found = [];
let axe = "";
async function look(frame, name, width) {
  const page = frame.contentDocument, root = page.documentElement;
  const pictures = [...page.querySelectorAll("svg image")].map(i => i.href.baseVal).concat([...page.images].map(i => i.src));
  let broken = 0;
  for (const address of pictures) {
    const picture = new Image();
    picture.src = address;
    try { await picture.decode(); } catch { broken += 1; }
  }
  for (const fold of page.querySelectorAll("details")) fold.open = true;
  const charts = [...page.querySelectorAll("svg.chart")];
  const empty = charts.filter(c => c.getBoundingClientRect().width < 100 || c.querySelectorAll("path, use").length < 5).length;
  found.push({name, width, scroll: root.scrollWidth, charts: charts.length, empty, broken, scripts: page.scripts.length,
              barriers: name.startsWith("%s") && axe ? await barriers(frame.contentWindow) : []});
}
async function barriers(inside) {
  inside.eval(axe);
  const seen = await inside.axe.run();
  // an empty header is a violation in later versions of axe-core, and left to review in earlier ones
  const found = seen.violations.concat(seen.incomplete.filter(v => v.id == "empty-table-header"));
  return found.map(v => v.id + ": " + v.nodes.map(n => n.html.slice(0, 120)).join(" | "));
}
async function main() {
  const answer = await fetch("axe.min.js");
  axe = answer.status == 200 ? await answer.text() : "";
  for (const name of pages) for (const width of widths) {
    const frame = document.createElement("iframe");
    frame.style.width = width + "px"; frame.style.height = "900px"; frame.style.border = "0";
    const loaded = new Promise(done => frame.onload = done);
    frame.src = name;
    document.body.append(frame);
    await loaded;
    await look(frame, name, width);
    frame.remove();
  }
  await fetch("found", {method: "POST", body: JSON.stringify(found)});
}
main();
</script></body>"""

CONTROL = """<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>control</title><body><div style="width:700px">wide</div><img src="data:image/png;base64,AAAA" alt="broken">
<svg class="chart" viewBox="0 0 1 1"></svg><script>console.error("planted");</script></body></html>"""

BARRIERS = """<!doctype html><html lang="en"><meta charset="utf-8"><title>control</title><main><h1>control</h1><table>
<thead><tr><th scope="col"></th><th scope="col">b</th></tr></thead><tbody><tr><th scope="row">c</th><td>1</td></tr></tbody></table>
<img src="data:,"></main></html>"""


class Quiet(http.server.SimpleHTTPRequestHandler):
    """Serves a folder, takes what the wrapper found, and says nothing."""

    found: queue.SimpleQueue[Any]

    def do_POST(self) -> None:
        """Take the findings."""
        self.found.put(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_: Any) -> None:
        """Not on the console of the tests."""


def sample_page() -> str:
    """A page with one of everything, with long words and wide tables."""
    with figure(height=2.0) as fig:
        ax = fig.subplots()
        ax.plot(range(50), [n % 7 for n in range(50)], rasterized=True)
    wide = Table(
        tuple(f"a long title {n}" for n in range(12)), ((*("word" * 5 for _ in range(6)), *(1.0e-7 for _ in range(6))),)
    )
    items = (
        Exhibit("one", "What is this?", "Caption 1.", "A line.", fig, wide),
        Omitted("two", "What not?", "nothing."),
        Shown("A table.", wide),
        Listing("A text", "x = 1  # " + "long " * 100),
    )
    box = VerdictBox(("a" * 200,), (Answer("Did it?", "yes", "It did. " * 20, "good"),))
    return render("a-name-" + "x" * 57, "Sub. " * 30, [Section("Part", ("Text. " * 20,), items)] * 1, box)


def axe_core() -> str:
    """The text of axe-core; nothing where it is not installed."""
    if AXE is None or AXE.origin is None:
        return ""
    return Path(AXE.origin).with_name("axe.min.js").read_text(encoding="utf-8")


def fresh_pages() -> dict[str, str]:
    """Pages of every kind."""
    return {
        "sample": sample_page(),
        "run": report(interpreted(plane(trials=3))),
        "sweep": sweep_report(swept(times(skewed=0.9), {"samplers.*.epsilon": [0.01, 0.02]})),
    }


def bare_pages(pages: dict[str, str]) -> dict[str, str]:
    """The pages without what forbids scripts, and a control with two barriers."""
    for page in pages.values():
        assert FORBIDS.search(page)
    found = {f"{BARE}{name}.html": FORBIDS.sub("", page) for name, page in pages.items()}
    return {**found, f"{BARE}control.html": BARRIERS}


def browse(folder: Path, pages: list[str]) -> tuple[list[dict[str, Any]], str]:
    """Return what the wrapper found, and what the browser said until then."""
    (folder / "wrapper.html").write_text(WRAPPER % (json.dumps(pages), PHONE, DESK, BARE), encoding="utf-8")
    (folder / "axe.min.js").write_text(axe_core(), encoding="utf-8")
    handler = type("Listening", (Quiet,), {"found": queue.SimpleQueue()})
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(handler, directory=str(folder)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    command = [
        str(BROWSER), "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
        "--disable-component-update", "--disable-sync", f"--user-data-dir={folder / 'profile'}", "--enable-logging=stderr",
        "--window-size=1400,1000", f"http://127.0.0.1:{server.server_address[1]}/wrapper.html",
    ]  # fmt: skip
    said = folder / "said.txt"
    with said.open("w") as log, subprocess.Popen(command, stdout=log, stderr=log) as browser:
        try:
            found = handler.found.get(timeout=PATIENCE)
        except queue.Empty:
            pytest.fail(f"the browser found nothing in {PATIENCE} s: {said.read_text()[-2000:]}")
        finally:
            browser.terminate()
            server.shutdown()
            server.server_close()
    return found, said.read_text()


@pytest.fixture(scope="module")
def looked_at(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[dict[str, Any]], list[str]]:
    """What was found on all pages, and the lines on the console."""
    assert BROWSER is not None, "TRACKER_BROWSER is set, but there is no chromium"
    folder = tmp_path_factory.mktemp("pages")
    (folder / "control.html").write_text(CONTROL, encoding="utf-8")
    pages = fresh_pages()
    for name, page in pages.items():
        (folder / f"{name}.html").write_text(page, encoding="utf-8")
    bare = bare_pages(pages)
    for name, page in bare.items():
        (folder / name).write_text(page, encoding="utf-8")
    found, said = browse(folder, [*FRESH, *bare, "control.html"])
    return found, [line for line in said.splitlines() if "CONSOLE" in line]


def test_pages_fit_a_phone_and_are_drawn(looked_at: tuple[list[dict[str, Any]], list[str]]) -> None:
    found = [page for page in looked_at[0] if "control" not in page["name"] and not page["name"].startswith(BARE)]
    assert len(found) == 2 * len(FRESH)
    for page in found:
        assert page["scroll"] <= page["width"], page
        assert page["charts"] >= 1, page
        assert (page["empty"], page["broken"]) == (0, 0), page
        assert page["scripts"] == (PLAYER if page["name"] == "run.html" else 0), page


def test_nothing_is_said_on_the_console(looked_at: tuple[list[dict[str, Any]], list[str]]) -> None:
    lines = looked_at[1]
    assert [line for line in lines if "planted" not in line] == []


def test_the_controls_fail(looked_at: tuple[list[dict[str, Any]], list[str]]) -> None:
    """A page that is too wide, with a broken picture, an empty chart and an error on the console, is seen as such."""
    phone = next(page for page in looked_at[0] if page["name"] == "control.html" and page["width"] == PHONE)
    assert phone["scroll"] > PHONE
    assert (phone["broken"], phone["empty"], phone["scripts"]) == (1, 1, 1)
    assert any("planted" in line for line in looked_at[1])


@pytest.mark.skipif(
    AXE is None and not DEMANDED, reason="no axe-core-python here; TRACKER_BROWSER=1 makes that an error"
)
def test_no_barrier_is_seen(looked_at: tuple[list[dict[str, Any]], list[str]]) -> None:
    """Keyboard, names, headers of tables, contrast: all that axe-core knows; the control has an empty header and a mute picture."""
    assert AXE is not None, "TRACKER_BROWSER is set, but there is no axe-core-python"
    seen = {(page["name"], page["width"]): page["barriers"] for page in looked_at[0] if page["name"].startswith(BARE)}
    control = {line.partition(":")[0] for key, lines in seen.items() if "control" in key[0] for line in lines}
    assert control >= {"image-alt", "empty-table-header"}
    assert {key: lines for key, lines in seen.items() if lines and "control" not in key[0]} == {}
    assert len(seen) == 8
