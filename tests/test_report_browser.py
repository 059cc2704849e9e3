"""Pages in a real browser: nothing on the console, every picture drawn, nothing wider than a phone.

A wrapper page that this test serves on localhost opens each page in frames of two widths and looks inside; the pages
themselves hold no script. One start of the browser serves all pages and the controls that must fail.
"""

from __future__ import annotations

import functools
import http.server
import json
import os
import queue
import shutil
import subprocess
import threading
from pathlib import Path
from typing import Any

import pytest

from tracker.reports.exhibit import Answer, Exhibit, Listing, Omitted, Section, Shown, Table, Verdict
from tracker.reports.page import render
from tracker.reports.style import figure

BROWSER = next(
    (path for name in ("chromium", "chromium-browser", "google-chrome") if (path := shutil.which(name))), None
)
DEMANDED = "TRACKER_BROWSER" in os.environ  # set where a browser must be there, as in .ci/run
GALLERY = sorted((Path(__file__).parents[1] / "reports" / "gallery").glob("*.html"))
PHONE, DESK = 390, 1280
PATIENCE = 300  # seconds
pytestmark = pytest.mark.skipif(
    BROWSER is None and not DEMANDED, reason="no chromium here; TRACKER_BROWSER=1 makes that an error"
)

WRAPPER = """<!doctype html><meta charset="utf-8"><link rel="icon" href="data:,"><body><script>
const pages = %s, widths = [%d, %d], found = [];
async function look(frame, name, width) {
  const page = frame.contentDocument, root = page.documentElement;
  const pictures = [...page.querySelectorAll("svg image")].map(i => i.href.baseVal).concat([...page.images].map(i => i.src));
  let broken = 0;
  for (const address of pictures) {
    const picture = new Image();
    picture.src = address;
    try { await picture.decode(); } catch { broken += 1; }
  }
  const charts = [...page.querySelectorAll("svg.chart")];
  const empty = charts.filter(c => c.getBoundingClientRect().width < 100 || c.querySelectorAll("path, use").length < 5).length;
  for (const fold of page.querySelectorAll("details")) fold.open = true;
  found.push({name, width, scroll: root.scrollWidth, charts: charts.length, empty, broken, scripts: page.scripts.length});
}
async function main() {
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
    box = Verdict(("a" * 200,), (Answer("Did it?", "yes", "It did. " * 20, "good"),))
    return render("a-name-" + "x" * 57, "Sub. " * 30, [Section("Part", ("Text. " * 20,), items)] * 1, box)


def browse(folder: Path, pages: list[str]) -> tuple[list[dict[str, Any]], str]:
    """Return what the wrapper found, and what the browser said until then."""
    (folder / "wrapper.html").write_text(WRAPPER % (json.dumps(pages), PHONE, DESK), encoding="utf-8")
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
    (folder / "sample.html").write_text(sample_page(), encoding="utf-8")
    (folder / "control.html").write_text(CONTROL, encoding="utf-8")
    for path in GALLERY:
        shutil.copy(path, folder / path.name)
    found, said = browse(folder, ["sample.html", *(path.name for path in GALLERY), "control.html"])
    return found, [line for line in said.splitlines() if "CONSOLE" in line]


def test_pages_fit_a_phone_and_are_drawn(looked_at: tuple[list[dict[str, Any]], list[str]]) -> None:
    found = [page for page in looked_at[0] if page["name"] != "control.html"]
    assert len(found) == 2 * (1 + len(GALLERY))
    for page in found:
        assert page["scroll"] <= page["width"], page
        assert page["charts"] >= 1, page
        assert (page["empty"], page["broken"], page["scripts"]) == (0, 0, 0), page


def test_nothing_is_said_on_the_console(looked_at: tuple[list[dict[str, Any]], list[str]]) -> None:
    lines = looked_at[1]
    assert [line for line in lines if "planted" not in line] == []


def test_the_controls_fail(looked_at: tuple[list[dict[str, Any]], list[str]]) -> None:
    """A page that is too wide, with a broken picture, an empty chart and an error on the console, is seen as such."""
    phone = next(page for page in looked_at[0] if page["name"] == "control.html" and page["width"] == PHONE)
    assert phone["scroll"] > PHONE
    assert (phone["broken"], phone["empty"], phone["scripts"]) == (1, 1, 1)
    assert any("planted" in line for line in looked_at[1])
