"""Nobody's files, anybody's directory: what a run did not write it never touches, and what it reads it does not believe."""

from __future__ import annotations

import csv
import json
import os
import resource
import shutil
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import attacks
import forging
import numpy as np
import pytest
from attacks import plant
from directories import LAYOUTS, contents, foreign_directory, precious
from faults import kept_entries
from typer.testing import CliRunner
from worlds import SCENARIOS

import tracker
from tracker.advice.theory_of_run import theory_of
from tracker.cli import app
from tracker.engine.simulate import Snapshot, empty_ledger, prepare, simulate
from tracker.regular_files import NotRegular, read_regular
from tracker.runs import CorruptRun, RunExists, checkpoints, csv_and_arviz, page_seals
from tracker.runs.array_shapes import shapes_in, shapes_of
from tracker.runs.lock_file import Holder, hold_lock
from tracker.runs.manifest import LARGEST_MANIFEST, MOST_SHARDS_OF_A_RUN, Manifest

SHORT = ("trials=6", "steps=400", "record_every=20", "burn_in=50", "chain.alpha=0.02", 'chain.initial="stationary"')
SCENARIO = tracker.parse((SCENARIOS / "example_a.toml").read_text(), settings=SHORT)
SWEPT = SCENARIO.replace(trials=2, steps=40, burn_in=0, record_every=10, sweep={"chain.alpha": [0.01, 0.02]})
SECONDS, BYTES = 2.0, 500e6


@contextmanager
def within(seconds: float = SECONDS, bytes_: float = BYTES) -> Iterator[None]:
    """CPU time and growth of memory are bounded; what waits for ever is broken off."""

    def broken_off(*_: object) -> None:
        raise TimeoutError("waited too long")

    before = signal.signal(signal.SIGALRM, broken_off)
    signal.alarm(120)
    memory, began = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
    assert time.process_time() - began < seconds
    assert 1024 * (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - memory) < bytes_


def invoke(*arguments: object) -> Any:
    return CliRunner().invoke(app, [str(word) for word in arguments])


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("finished") / "run"
    theory_of(tracker.run(SCENARIO, path, 1, shard_size=1))
    return path


@pytest.fixture(scope="module")
def parts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with both parts of the run."""
    path = tmp_path_factory.mktemp("parts")
    for number in (1, 2):
        theory_of(tracker.run(SCENARIO, path / str(number), 1, shard_size=1, part=(number, 2)))
    return path


@pytest.fixture(scope="module")
def expected(finished: Path) -> str:
    return str(json.loads((finished / "summary.json").read_bytes())["hash"])


@pytest.fixture(scope="module")
def under_way(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of six shards that was interrupted after the third, with a snapshot of the fifth."""
    path = tmp_path_factory.mktemp("under_way") / "run"

    def stop(done: float, total: float, note: str) -> None:
        if note.startswith("running") and len(kept_entries(path)) >= 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        tracker.run(SCENARIO, path, 1, shard_size=1, progress=stop)
    problem = prepare(SCENARIO)
    ledgers = tuple(empty_ledger(problem, contestant, 1) for contestant in problem.contestants)
    count = len(ledgers)
    empty = Snapshot(np.zeros(count, dtype=np.int64), np.zeros(count), ledgers)
    (path / "checkpoints" / "000004.npz").write_bytes(checkpoints.encode(empty, f"{forging.identity_of(path)}/4"))
    return path


def copied(path: Path, tmp_path: Path, name: str = "copy") -> Path:
    return Path(shutil.copytree(path, tmp_path / name))


# --- somebody's files


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("flag", ["--quiet", "--replace", "--resume"])
def test_files_that_no_run_wrote_are_named_and_stay(layout: str, flag: str, finished: Path, tmp_path: Path) -> None:
    folder = copied(finished, tmp_path) if layout == "notes in a run" else tmp_path / "copy"
    folder.mkdir(exist_ok=True)
    LAYOUTS[layout](folder)
    (tmp_path / "run.toml").write_text(SCENARIO.toml())
    (tmp_path / "sweep.toml").write_text(SWEPT.toml())
    before = contents(folder)
    for command in ("run", "sweep"):
        done = invoke(command, tmp_path / f"{command}.toml", "--out", folder, flag)
        if layout == "notes in a run" and flag == "--resume" and command == "run":
            assert done.exit_code == 0  # it is complete, and nothing is written
        else:
            assert (done.exit_code, done.stdout) == (7, "" if command == "run" else done.stdout)
            assert "--replace" not in done.stderr
        assert contents(folder) == before
    if layout == "notes in a run" and flag == "--replace":
        assert "no run wrote notes.md, and nothing here is touched" in invoke(
            "run", tmp_path / "run.toml", "--out", folder, flag
        ).stderr  # fmt: skip


@pytest.mark.parametrize("seed", range(60))
def test_a_strangers_directory_is_left_as_it_is(seed: int, tmp_path: Path) -> None:
    outside = precious(tmp_path / "outside")
    folder = tmp_path / "theirs"
    foreign_directory(folder, seed, outside)
    before = contents(tmp_path)
    with within():
        for way in ({}, {"replace": True}, {"resume": True}):
            with pytest.raises((RunExists, CorruptRun)) as refused:
                tracker.run(SCENARIO, folder, 1, **way)
            assert refused.value.path == folder
            with pytest.raises((RunExists, CorruptRun)):
                tracker.sweep(SWEPT, folder, 1, **way)
    assert contents(tmp_path) == before


def test_a_run_that_was_replaced_leaves_nothing_of_its_own_and_all_of_others(finished: Path, tmp_path: Path) -> None:
    """Changed files of a run are put aside; sealed pages go with it; what was put aside before stays."""
    folder = copied(finished, tmp_path)
    (folder / "damaged").mkdir()
    (folder / "damaged" / "kept").write_text("from before")
    (folder / "report.html").write_bytes(page_seals.with_seal(b"<!doctype html>", "html"))
    (folder / "figures").mkdir()
    (folder / "figures" / "x.svg").write_bytes(page_seals.with_seal(b"<?xml", "svg"))
    (folder / "figures" / "y.svg").write_bytes(page_seals.with_seal(b"<?xml", "svg") + b"<!-- my remark -->")
    (folder / ".result.nc.0123456789ab.tmp").write_text("half")
    with (folder / "scenario.toml").open("a") as file:
        file.write("# my remark\n")
    changed = (folder / "scenario.toml").read_text()
    run = tracker.run(SCENARIO.replace(seed=9), folder, 1, replace=True)
    assert sorted(path.name for path in folder.iterdir()) == [
        "damaged", "manifest.json", "result.nc", "scenario.toml", "summary.json",
    ]  # fmt: skip
    assert sorted(path.name for path in (folder / "damaged").iterdir()) == ["kept", "scenario.toml", "y.svg"]
    assert (folder / "damaged" / "scenario.toml").read_text() == changed
    assert tracker.open_run(folder).summary == run.summary


@pytest.mark.parametrize("place", ["shards/mine.txt", "checkpoints/000000.txt", "figures/photo.jpg", "rows.csv"])
def test_what_lies_in_a_folder_of_a_run_counts_too(place: str, under_way: Path, tmp_path: Path) -> None:
    folder = copied(under_way, tmp_path)
    (folder / place).parent.mkdir(exist_ok=True)
    (folder / place).write_text("mine")
    before = contents(folder)
    with pytest.raises(RunExists, match=place):
        tracker.run(SCENARIO, folder, 1, replace=True)
    assert contents(folder) == before
    tracker.run(SCENARIO, folder, 1, resume=True)
    assert (folder / place).read_text() == "mine"


def test_somebodys_result_in_an_unfinished_run_is_put_aside(under_way: Path, expected: str, tmp_path: Path) -> None:
    folder = copied(under_way, tmp_path)
    (folder / "result.nc").write_text("my measurements")
    (folder / "shards" / "000005.npz").write_text("my measurements too")
    told: list[str] = []
    assert tracker.run(SCENARIO, folder, 1, resume=True, notice=told.append).summary["hash"] == expected
    assert (folder / "damaged" / "result.nc").read_text() == "my measurements"
    assert (folder / "damaged" / "000005.npz").read_text() == "my measurements too"
    assert told == ["result.nc was not written by this run: moved to damaged/result.nc"]


def test_a_sweep_is_replaced_only_where_all_is_its_own(tmp_path: Path) -> None:
    out = tmp_path / "out"
    tracker.sweep(SWEPT, out, 1)
    point = next((out / "points").glob("1_*"))
    (point / "notes.md").write_text("mine")
    before = contents(out)
    with pytest.raises(RunExists, match=r"points/1_alpha=0\.02/notes\.md"):
        tracker.sweep(SWEPT.replace(seed=9), out, 1, replace=True)
    assert contents(out) == before
    (point / "notes.md").unlink()
    (point / "manifest.json").write_text("no longer a manifest")
    again = tracker.sweep(SWEPT.replace(seed=9), out, 1, replace=True)
    assert [outcome.state for outcome in again.outcomes] == ["complete", "complete"]
    assert (out / "damaged" / point.name / "manifest.json").read_text() == "no longer a manifest"
    # a point that cannot be resumed is put aside as it is, links and all
    shutil.rmtree(point)
    point.symlink_to(precious(tmp_path / "outside"))
    kept = contents(tmp_path / "outside")
    with pytest.warns(RuntimeWarning, match="no folder of a run; moved to"):
        again = tracker.sweep(SWEPT.replace(seed=9), out, 1, resume=True)
    assert [outcome.state for outcome in again.outcomes] == ["complete", "complete"]
    assert contents(tmp_path / "outside") == kept


def test_links_that_lead_in_a_circle_are_a_line(tmp_path: Path) -> None:
    (tmp_path / "ll").symlink_to("ll")
    (tmp_path / "x.toml").write_text(SCENARIO.toml())
    for words in (
        ("status", tmp_path / "ll"),
        ("report", tmp_path / "ll"),
        ("export", tmp_path / "ll", "--csv", tmp_path / "csv"),
        ("run", tmp_path / "x.toml", "--out", tmp_path / "ll"),
        ("compare", tmp_path / "ll", tmp_path / "ll"),
    ):
        done = invoke(*words)
        assert done.exit_code in (2, 7), done.exception
        assert len(done.stderr.splitlines()) == 1


# --- links in somebody's run directory


@pytest.mark.parametrize("name", ["shards", "checkpoints", "lock", "journal.jsonl"])
def test_a_resume_does_not_follow_links(name: str, under_way: Path, tmp_path: Path) -> None:
    folder, outside = copied(under_way, tmp_path), precious(tmp_path / "outside")
    if (folder / name).is_dir():
        shutil.rmtree(folder / name)
        (folder / name).symlink_to(outside / "thesis")
    else:
        (folder / name).unlink(missing_ok=True)
        (folder / name).symlink_to(outside / ("thesis.tex" if name == "lock" else "absent"))
    before = contents(tmp_path)
    with pytest.raises(CorruptRun, match=f"{name} is a symbolic link"):
        tracker.run(SCENARIO, folder, 1, resume=True)
    assert contents(tmp_path) == before


@pytest.mark.parametrize("target", ["absent", "empty", "page"])
def test_a_page_is_not_written_through_a_link(target: str, finished: Path, tmp_path: Path) -> None:
    folder, outside = copied(finished, tmp_path), precious(tmp_path / "outside")
    if target != "absent":
        (outside / target).write_text("" if target == "empty" else "<!doctype html>mine")
    (folder / "report.html").symlink_to(outside / target)
    before = contents(outside)
    done = invoke("report", folder)
    assert (done.exit_code, done.stdout) == (7, "")
    assert contents(outside) == before


@pytest.mark.parametrize("name", ["figures", "figures/x.svg"])
def test_figures_are_not_written_through_links(name: str, tmp_path: Path) -> None:
    from matplotlib.figure import Figure

    from tracker.reports.exhibit import Exhibit
    from tracker.reports.html_page import write_each

    outside = precious(tmp_path / "outside")
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).symlink_to(outside / ("thesis" if name == "figures" else "thesis.tex"))
    before = contents(outside)
    exhibit = Exhibit.__new__(Exhibit)
    object.__setattr__(exhibit, "key", "x")
    object.__setattr__(exhibit, "figure", Figure(figsize=(1, 1)))
    with pytest.raises(FileExistsError):
        write_each([exhibit], tmp_path / "figures", "svg")
    assert contents(outside) == before


@pytest.mark.parametrize("words", [("report", "--figures", "svg"), ("status",), ("export", "--csv", "csv")])
def test_a_figure_that_is_a_link_is_refused_by_name(words: tuple[str, ...], finished: Path, tmp_path: Path) -> None:
    """Nothing was written through it, but the exit code was 0 or 2, and the page was there already."""
    folder, outside = copied(finished, tmp_path), precious(tmp_path / "outside")
    (folder / "figures").mkdir()
    (folder / "figures" / "tracking.svg").symlink_to(outside / "thesis.tex")
    before = contents(tmp_path)
    done = invoke(words[0], folder, *words[1:])
    assert (done.exit_code, done.stdout) == (7, "")
    assert "figures/tracking.svg is a symbolic link, which no run makes: it is not followed" in done.stderr
    assert contents(tmp_path) == before


def test_a_link_in_figures_that_is_no_figures_is_not_ours(finished: Path, tmp_path: Path) -> None:
    folder, outside = copied(finished, tmp_path), precious(tmp_path / "outside")
    (folder / "figures").mkdir()
    (folder / "figures" / "Notes.txt").symlink_to(outside / "thesis.tex")
    assert invoke("status", folder).exit_code == 0


@pytest.mark.parametrize("kind", ["svg", "pdf", "png"])
def test_a_figure_proves_that_it_is_ours(kind: str, tmp_path: Path) -> None:
    from matplotlib.figure import Figure
    from matplotlib.image import imread

    from tracker.reports.figure_files import write_figure

    path = tmp_path / f"x.{kind}"
    write_figure(Figure(figsize=(1, 1)), path, kind)
    data = path.read_bytes()
    assert page_seals.is_sealed(data, kind)
    assert not any(page_seals.is_sealed(data[:n] + b"x" + data[n + 1 :], kind) for n in range(0, len(data) - 1, 97))
    write_figure(Figure(figsize=(1, 1)), path, kind)  # over a figure, but not over anything else
    if kind == "png":
        assert imread(path).shape[2] == 4
    path.write_text("mine")
    with pytest.raises(FileExistsError):
        write_figure(Figure(figsize=(1, 1)), path, kind)
    assert path.read_text() == "mine"


def test_a_page_takes_the_place_of_pages_only(tmp_path: Path) -> None:
    from tracker.reports import html_page

    path = tmp_path / "page.html"
    html_page.write(path, lambda: html_page.render("one", "", []))
    assert page_seals.is_sealed(path.read_bytes(), "html")
    html_page.write(path, lambda: html_page.render("two", "", []))
    path.write_text(html_page.render("from before pages were sealed", "", []))
    html_page.write(path, lambda: html_page.render("three", "", []))
    changed = path.read_bytes().replace(b"three", b"my own")
    for mine in (changed, b"<!doctype html><p>mine</p>", b"mine"):
        path.write_bytes(mine)
        with pytest.raises(FileExistsError):
            html_page.write(path, lambda: html_page.render("four", "", []))
        assert path.read_bytes() == mine


# --- attacks


@pytest.mark.parametrize("state", ["finished", "under way"])
def test_attacks_are_answered_quickly_and_rightly(
    state: str, finished: Path, under_way: Path, expected: str, tmp_path: Path
) -> None:
    outside = precious(tmp_path / "outside")
    untouched = contents(outside)
    kinds = [kind for kind in attacks.KINDS if state in kind.state]
    good = finished if state == "finished" else under_way
    for command in ("status", "resume"):  # control: nothing is refused or put aside without a reason
        assert attacks.answer(command, copied(good, tmp_path, f"good {command}"), SCENARIO, expected) == attacks.FINE
    for seed in range(len(kinds)):
        for command in ("status", "resume", "open" if state == "finished" else "watch"):
            folder = copied(good, tmp_path, "run")
            attack = plant(folder, seed, outside)
            with within():
                answer = attacks.answer(command, folder, SCENARIO, expected)
            assert answer in attack.answers[command], (attack.name, command, answer)
            assert contents(outside) == untouched, attack.name
            shutil.rmtree(folder)
            for rest in tmp_path.glob("run-*"):
                shutil.rmtree(rest)


def test_a_part_that_attacks_is_not_merged(parts: Path, expected: str, tmp_path: Path) -> None:
    outside = precious(tmp_path / "outside")
    untouched = contents(outside)
    assert (
        attacks.answer("merge", copied(parts / "1", tmp_path, "run"), SCENARIO, expected, parts / "2") == attacks.FINE
    )
    kinds = [kind for kind in attacks.KINDS if "finished" in kind.state]
    for seed in range(len(kinds)):
        for name in ("run", "whole"):
            shutil.rmtree(tmp_path / name, ignore_errors=True)
        attack = plant(copied(parts / "1", tmp_path, "run"), seed, outside)
        with within():
            answer = attacks.answer("merge", tmp_path / "run", SCENARIO, expected, parts / "2")
        assert answer in attack.answers["merge"], (attack.name, answer)
        assert (contents(outside), (tmp_path / "whole").exists()) == (untouched, answer == attacks.FINE), attack.name
        for rest in tmp_path.glob("run-*"):
            shutil.rmtree(rest)


@pytest.mark.parametrize("seed", [0, 30])
def test_from_outside_an_attack_is_exit_code_7(seed: int, finished: Path, tmp_path: Path) -> None:
    folder = copied(finished, tmp_path)
    attack = plant(folder, seed, precious(tmp_path / "outside"))
    assert attack.answers["report"] == (attacks.REFUSED,)
    for words in (("report", folder), ("export", folder, "--csv", tmp_path / "csv")):
        done = invoke(*words)
        assert (done.exit_code, len(done.stderr.splitlines())) == (7, 1), done.exception


def test_a_manifest_is_checked_when_it_is_decoded(finished: Path) -> None:
    sound = read_regular(finished / "manifest.json", LARGEST_MANIFEST)
    assert Manifest.decode(sound) is not None
    with pytest.raises(ValueError, match=f"more than the {MOST_SHARDS_OF_A_RUN} that a run may have"):
        tracker.run(SCENARIO.replace(trials=30_000), finished.parent / "many", 1, shard_size=1)
    assert not (finished.parent / "many").exists()


def test_shapes_follow_from_the_arrays_of_a_run() -> None:
    """The expected shapes are derived, and are those of a run, for every sampler and world of a scenario."""
    problem = prepare(SCENARIO)
    arrays, _ = simulate(problem, [0, 1, 2])
    assert shapes_of(SCENARIO, 3) == shapes_in(arrays)


# --- pipes and devices


def test_a_pipe_is_no_scenario(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a.toml")
    (tmp_path / "b.toml").symlink_to("nothing.toml")
    (tmp_path / "c.toml").write_text(SCENARIO.toml())
    (tmp_path / "d.toml").symlink_to("c.toml")
    with within():
        for file in (tmp_path / "a.toml", Path("/dev/zero")):
            done = invoke("validate", file)
            assert done.exit_code == 3
            assert done.stderr == f"{file.name}: no scenario file: pipes and devices are not read\n"
        listed = invoke("list", tmp_path, "--json")
    assert listed.exit_code == 0
    assert [one["name"] for one in json.loads(listed.stdout)["scenarios"]] == [None, None, "example-a", "example-a"]


def open_files() -> int:
    folder = Path("/proc/self/fd")
    return len(list(folder.iterdir())) if folder.exists() else 0


def test_only_regular_files_of_bounded_size_are_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "file").write_bytes(b"12345")
    (tmp_path / "link").symlink_to("file")
    assert read_regular(tmp_path / "file", 5) == b"12345"
    assert read_regular(tmp_path / "link", 5, links=True) == b"12345"
    with pytest.raises(OSError, match="larger than the 4 bytes"):
        read_regular(tmp_path / "file", 4)
    before = open_files()
    for name in ("pipe", "link", "/dev/zero", "/dev/null"):
        with pytest.raises(NotRegular):
            read_regular(tmp_path / name, 10)
    with pytest.raises(IsADirectoryError):
        read_regular(tmp_path, 10)
    assert open_files() == before


# --- text


def test_nothing_from_a_directory_reaches_the_terminal_raw(under_way: Path, tmp_path: Path) -> None:
    """Names, hosts, times and messages with escape sequences: only newlines are left of what is not printable."""
    folder = copied(under_way, tmp_path)
    escape = "\x1b]0;x\x07"
    forging.resealed(folder, lambda table: table.update(failed=[{"first": 0, "stop": 1, "error": escape}]))
    (folder / "lock").write_text(json.dumps(Holder(escape, 1, escape)._asdict()))
    for words in (("status", folder), ("report", folder), ("status", tmp_path / escape.replace("/", ""))):
        done = invoke(*words)
        assert not [letter for letter in done.stdout + done.stderr if ord(letter) < 32 and letter != "\n"]
    assert "left out" in invoke("status", folder).stdout


def test_a_cell_is_no_formula(finished: Path, tmp_path: Path) -> None:
    run = tracker.open_run(finished)
    row = {"name": "=cmd|'/c calc'!A0", "kind": "@x", "low": "-2", "tracking_error": -2.5, "text": "a\x1bb"}
    run.summary["samplers"] = [row]
    file = csv_and_arviz.to_csv(run, tmp_path)[0].path
    with file.open(newline="") as lines:
        assert list(csv.reader(lines))[1] == ["'=cmd|'/c calc'!A0", "'@x", "'-2", "-2.5", "a b"]


def test_a_lock_that_no_run_wrote_is_left_alone(tmp_path: Path) -> None:
    for content in (b"", b"mine\n", b"{}", b'{"host": "a", "pid": 1e30, "since": ""}', b"[" * 9000):
        (tmp_path / "lock").write_bytes(content)
        with pytest.raises(CorruptRun, match="lock was not written by a run"), hold_lock(tmp_path):
            pass
        assert (tmp_path / "lock").read_bytes() == content
