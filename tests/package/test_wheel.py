"""The sdist and the wheel: built, installed away from the clone, and used from another folder."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest
from worlds import ROOT

import tracker


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The sdist of the tree that git has, and the wheel that is built from it."""
    folder = tmp_path_factory.mktemp("dist")
    tree = folder / "tree"
    listed = ["git", "-C", str(ROOT), "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    for name in subprocess.run(listed, capture_output=True, text=True, check=True).stdout.split("\0"):
        if name and (ROOT / name).is_file():
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, tree / name)
    subprocess.run([sys.executable, "-m", "hatchling", "build", "-t", "sdist", "-d", str(folder)], cwd=tree, check=True)
    (sdist,) = folder.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        archive.extractall(folder / "unpacked", filter="data")
    (source,) = (folder / "unpacked").iterdir()
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)], cwd=source, check=True
    )
    (wheel,) = folder.glob("*.whl")
    return sdist, wheel


@pytest.fixture(scope="module")
def site(built: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, installed beside the libraries that are here; nothing of the clone is on its path."""
    folder = tmp_path_factory.mktemp("site")
    pip = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "-q",
        "--no-deps",
        "--no-index",
        "--target",
        str(folder),
        str(built[1]),
    ]
    subprocess.run(pip, check=True)
    return folder


def test_the_wheel_has_what_a_user_needs_and_nothing_else(built: tuple[Path, Path]) -> None:
    sdist, wheel = built
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    stem = f"{project['name'].replace('-', '_')}-{tracker.__version__}"
    assert (sdist.name, wheel.name) == (f"{stem}.tar.gz", f"{stem}-py3-none-any.whl")
    names = zipfile.ZipFile(wheel).namelist()
    assert {
        "tracker/py.typed",
        "tracker/ziggurat.txt",
        "tracker/reports/player.js",
        "tracker/reports/page.html.j2",
    } <= set(names)
    shipped = {path.name for path in (ROOT / "scenarios").iterdir()}
    assert {Path(name).name for name in names if name.startswith("tracker/scenarios/")} == shipped
    assert {name.split("/")[0] for name in names} == {"tracker", f"{stem}.dist-info"}
    metadata = zipfile.ZipFile(wheel).read(f"{stem}.dist-info/METADATA").decode()
    assert "Author: The tracker developers" in metadata
    assert "License-File: LICENSE" in metadata
    assert f"{stem}.dist-info/entry_points.txt" in names


def test_version_and_date_stand_in_three_places() -> None:
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    date = citation.split("date-released: ")[1].split()[0]
    first = re.search(r"^## (.*)$", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert f"\nversion: {tracker.__version__}\n" in citation
    assert first is not None
    assert first.group(1) == f"{tracker.__version__} ({date})"


def test_the_wheel_works_away_from_the_clone(site: Path, tmp_path: Path) -> None:
    code = "import tracker, sys; from tracker.cli import main; print(tracker.__file__, file=sys.stderr); sys.argv[0] = 'tracker'; main()"

    def told(*arguments: str) -> str:
        environment = {**os.environ, "PYTHONPATH": str(site)}
        done = subprocess.run(
            [sys.executable, "-c", code, *arguments],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        assert str(site) in done.stderr
        return done.stdout

    assert len(json.loads(told("list", "--json"))["scenarios"]) == len(list((ROOT / "scenarios").glob("*.toml")))
    told("new", "mine", "--from", "swapping-wells")
    shipped = tracker.load(ROOT / "scenarios" / "swapping_wells.toml")
    assert tracker.load(tmp_path / "mine.toml").replace(name="swapping-wells").content() == shipped.content()
    told("new", "small", "--from", "example-a")
    run = json.loads(told("run", "small.toml", "--set", "trials=2", "--set", "steps=50", "--no-report", "--json"))
    assert run["scenario"]["trials"] == 2
    assert (tmp_path / "reports" / "small" / "result.nc").is_file()
    assert "guided first run" in told("tour", "--help")
