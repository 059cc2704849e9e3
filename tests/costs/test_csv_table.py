"""Large data files: read in blocks of lines, kept as a map, hashed once; against numpy and against the slow way."""

from __future__ import annotations

import hashlib
import mmap
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tracker
from tracker import regular_files
from tracker.costs import csv_table
from tracker.costs.csv_rows import read_data
from tracker.costs.csv_table import parse_table
from tracker.runs.forecast import ResourceLimits, search_refusals

N = 500


@pytest.fixture
def text() -> str:
    rng = np.random.default_rng(2)
    x, y = rng.standard_normal((N, 2)).round(4), rng.integers(0, 2, N)
    season = np.where((np.arange(N) // 60) % 2 == 0, "dry", "wet é")
    return "a,season,y,b\n" + "".join(f"{a},{s},{c},{b}\n" for (a, b), s, c in zip(x.tolist(), season, y, strict=True))


@pytest.mark.parametrize("block", [1, 37, 10_000])
@pytest.mark.parametrize("ends", ["\n", "\r\n", "\n\n"])
def test_blocks_of_lines_are_the_whole_file(text: str, block: int, ends: str, monkeypatch: Any) -> None:
    monkeypatch.setattr(csv_table, "BLOCK", block)
    content = text.replace("\n", ends).encode()
    fast = csv_table._plain_table(content, "season")
    assert fast is not None
    rows = [line.split(",") for line in text.splitlines()[1:]]
    np.testing.assert_array_equal(fast.column("b"), [float(row[3]) for row in rows])
    assert fast.regimes is not None
    assert [fast.regimes.names[code] for code in fast.regimes.code] == [row[1] for row in rows]
    odd = parse_table(text.replace(",dry,", ',"dry",').replace("\n", ends).encode(), "season")
    np.testing.assert_array_equal(odd.numbers, fast.numbers)
    assert odd.regimes is not None
    assert odd.regimes.names == fast.regimes.names
    np.testing.assert_array_equal(odd.regimes.code, fast.regimes.code)
    assert fast.regimes.switches()[:2] == ((0, "dry"), (60, "wet é"))


@pytest.mark.parametrize(
    ("spoilt", "said"),
    [
        (("\n0", "\nx0"), "is not a number: leave out the row or the column"),
        ((",wet é,", ",wet é,1,"), "numbers, but there are 4 columns"),
        ((",dry,", ","), "row 2: 3 numbers, but there are 4 columns"),
        (("a,season", "a,a"), "is named twice"),
    ],
)
def test_what_is_odd_in_a_late_block_is_told_with_its_row(text: str, spoilt: tuple[str, str], said: str, monkeypatch: Any) -> None:  # fmt: skip
    monkeypatch.setattr(csv_table, "BLOCK", 200)
    head, first, rest = text.split("\n", 2)  # in the first row it would be a column of text
    late = "\n".join([head, first, f"\n{rest}".replace(*spoilt).strip("\n")])
    whole = "a,a" in spoilt
    with pytest.raises(ValueError, match=said):
        parse_table((text.replace(*spoilt) if whole else late).encode(), None if whole else "season")


def test_names_without_end_and_rows_without_numbers_take_no_memory() -> None:
    many = "a,season\n" + "".join(f"1,mode{k}\n" for k in range(200_000))
    with pytest.raises(ValueError, match="more than 300000 numbers"):
        parse_table(many.encode(), "season")
    empty = (",".join(f"c{k}" for k in range(1000)) + "\n" * 3_000_000).encode()
    with pytest.raises(ValueError, match="more than 300000 numbers"):  # and no array of 3,000,000 rows of 1000
        parse_table(empty)


def world(folder: Path) -> tracker.Scenario:
    modes = "".join(
        f'[[modes]]\nname = "{name}"\ncost = "logistic"\ndata = "d.csv"\nfeatures = ["a", "b"]\nlabel = "y"\n'
        'prior_variance = 10.0\nhorizon = 1\nrows = "in-order"\n'
        for name in ("dry", "wet é")
    )
    (folder / "w.toml").write_text(
        f'name = "w"\ntrials = 1\nsteps = {N}\nstart = [0.0, 0.0, 0.0]\nschedule = {{ from = "season" }}\n{modes}'
        '[[samplers]]\nname = "s"\nkind = "langevin"\nepsilon = 0.1\n'.replace("wet é", "wet"),
        encoding="utf-8",
    )
    return tracker.load(folder / "w.toml")


def test_a_map_is_the_file_as_it_was_when_it_was_read(text: str, tmp_path: Path, monkeypatch: Any) -> None:
    content = text.replace(" é", "").encode()
    (tmp_path / "d.csv").write_bytes(content)
    small = world(tmp_path)
    monkeypatch.setattr(regular_files, "MAPPED", 100)
    monkeypatch.setattr(regular_files, "BLOCK", 999)
    large = world(tmp_path)
    (tmp_path / "d.csv").write_bytes(content[:1000])  # a map of the file itself would now end the process
    kept = large.files["d.csv"]
    assert isinstance(kept, mmap.mmap)
    assert kept[:] == content
    (tmp_path / "d.csv").write_bytes(content[:-1])
    assert large.sha256 == small.sha256 != world(tmp_path).sha256
    assert large.file_hashes == {"d.csv": hashlib.sha256(content).hexdigest()}
    file = large.modes[0].data
    again = pickle.loads(pickle.dumps(file))  # noqa: S301
    assert again.content == content
    np.testing.assert_array_equal(again.table.numbers, file.table.numbers)


def test_a_file_that_grows_beyond_the_limit_is_refused(tmp_path: Path, monkeypatch: Any) -> None:
    (tmp_path / "d.csv").write_bytes(b"a,b\n" + b"1,2\n" * 100)
    monkeypatch.setattr(regular_files, "MAPPED", 100)
    monkeypatch.setattr("tracker.costs.csv_rows.LARGEST_DATA", 300)
    assert "larger than" in read_data(tmp_path / "d.csv").problem
    monkeypatch.setattr("tracker.costs.csv_rows.LARGEST_DATA", 404)
    assert len(read_data(tmp_path / "d.csv").table.numbers) == 100


def test_a_file_of_25_million_numbers_is_not_too_much_to_minimise(text: str, tmp_path: Path, monkeypatch: Any) -> None:
    """A hundred megabytes, two modes: the passes of Newton's method are counted, not those of a search."""
    (tmp_path / "d.csv").write_text(text.replace(" é", ""))
    scenario = world(tmp_path)
    for times, refused in ((1, False), (10, True)):
        rows = np.broadcast_to(0.0, (times * csv_table.MOST_NUMBERS // 3, 3))  # takes no memory
        monkeypatch.setattr(type(scenario.modes[0]), "feature_rows", lambda _, rows=rows: rows)
        assert bool(search_refusals(scenario, ResourceLimits())) == refused
