"""Small files that ask for much are read or refused in time, in words, and with little memory."""

from __future__ import annotations

import json
import os
import resource
import time
from pathlib import Path

import bombs
import pytest
from typer.testing import CliRunner

import tracker
from tracker.cli import app
from tracker.scenario import ScenarioError
from tracker.scenario.complaints import nearest
from tracker.scenario.toml_text import read_tables

BUSY = 2.0  # other programs on the same cores make a second of CPU do less


def measured(file: Path) -> dict[str, object]:
    """Read the file in a process of its own; return what it says, and what that cost."""
    ours, theirs = os.pipe()
    pid = os.fork()
    if pid == 0:
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        began, problems, trouble = time.process_time(), [], ""
        try:
            tracker.load(file)
        except ScenarioError as error:
            problems = error.problems
        except BaseException as error:
            trouble = f"{type(error).__name__}: {error}"[:500]
        facts = {
            "seconds": time.process_time() - began,
            "bytes": 1024 * (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before),
            "problems": problems,
            "trouble": trouble,
        }
        with os.fdopen(theirs, "w") as pipe:
            json.dump(facts, pipe)
        os._exit(0)
    os.close(theirs)
    with os.fdopen(ours) as pipe:
        facts = json.load(pipe)
    os.waitpid(pid, 0)
    return dict(facts)


@pytest.mark.parametrize("name", bombs.BOMBS)
def test_a_bomb_is_read_or_refused_in_time(name: str, tmp_path: Path) -> None:
    tracker.parse(bombs.scenario(bombs.polynomial("m", '"a", "b"', "(a-b)^4+a^2"), N=2)[bombs.FILE])  # imports are made
    found = measured(bombs.write(name, tmp_path))
    assert found["trouble"] == ""
    assert found["seconds"] < BUSY * bombs.SECONDS
    assert found["bytes"] < bombs.BYTES
    assert all(line.isprintable() and len(line) < 1000 for line in found["problems"])


def test_bombs_are_the_same_every_time() -> None:
    for name in ("unknown_switches", "formula_of_many_terms", "generator_of_rates_far_apart"):
        assert bombs.BOMBS[name]() == bombs.BOMBS[name]()


@pytest.mark.parametrize("quotes", ["''''", "'''''", '""""', '"""""'])
def test_quotes_at_the_end_of_a_long_string_do_not_hide_what_follows(quotes: str) -> None:
    kind = quotes[0] * 3
    text = f"x = {{a = {kind}a{quotes}, b" + ".b" * 30 + " = 1}"
    with pytest.raises(ScenarioError, match="nested more than 16 levels deep"):
        read_tables(text, "text")
    assert read_tables(f"x = {kind}a{quotes}\ny.z = 1", "text")["x"] == "a" + quotes[3:]


@pytest.mark.parametrize("before", ['"quadratic"', '"langevin"'])
def test_a_number_in_place_of_a_name_is_told_shortened(before: str) -> None:
    whole = bombs.scenario(bombs.quadratic("m"))[bombs.FILE]
    with pytest.raises(ScenarioError, match=r"a whole number of about 6021 digits is an unknown (family|kind)"):
        tracker.parse(whole.replace(before, bombs.LONG))


@pytest.mark.parametrize(
    "address", ["modes.*.cost", "samplers.*.kind", "modes.m.cost", "seed", "description", "chain.Q"]
)
def test_a_setting_of_many_digits_is_told_shortened(address: str) -> None:
    with pytest.raises(ScenarioError, match=r"a whole number of about 6021 digits|unknown address"):
        tracker.parse(bombs.scenario(bombs.quadratic("m"))[bombs.FILE], settings=[f"{address}={bombs.LONG}"])


def test_the_nearest_of_many_words_is_found() -> None:
    words = [f"modes.mode{n}.minimum" for n in range(3000)]
    assert nearest("modes.mode2718.minimun", words) == "modes.mode2718.minimum"
    assert nearest("Alhpa", ["alpha", "Q"]) == "alpha"
    assert nearest("zzz", ["alpha", "Q"]) is None


def test_a_sweep_is_told_its_first_problems_only() -> None:
    text = bombs.BOMBS["bad_values_in_a_sweep"]()[bombs.FILE]
    with pytest.raises(ScenarioError) as told:
        tracker.parse(text)
    assert len(told.value.problems) == 21
    assert told.value.problems[0] == 'sweep."trials"[0]: trials: -1 must be at least 1'
    assert told.value.problems[-1] == "sweep: and so on: only the first 20 are told"


def test_whether_formulas_are_too_many_does_not_depend_on_what_was_read_before() -> None:
    text = bombs.BOMBS["heavy_formulas_in_modes"]()[bombs.FILE]
    told = []
    for _ in range(2):  # the second time, the first ones are known already
        with pytest.raises(ScenarioError, match="have too many terms to multiply out") as error:
            tracker.parse(text)
        told.append(error.value.problems)
    assert told[0] == told[1]


def test_formulas_of_a_usual_size_are_not_too_many() -> None:
    modes = [bombs.polynomial(f"m{n}", '"a", "b"', f"(a^2 - 1)^2 + {n}*a + 25*b^2") for n in range(100)]
    assert len(tracker.parse(bombs.scenario(bombs.generator(100), *modes, N=2)[bombs.FILE]).modes) == 100


def test_a_sweep_of_many_points_is_still_accepted() -> None:
    assert len(tracker.parse(bombs.BOMBS["ten_thousand_seeds"]()[bombs.FILE]).sweep["seed"]) == 10_000


@pytest.mark.parametrize("name", ["generator_of_rates_far_apart", "many_modes_of_large_data", "twenty_mixtures"])
def test_many_modes_are_validated_or_refused_in_time(name: str, tmp_path: Path) -> None:
    modes = [bombs.mixture('data = "stream"\nhorizon = 5').replace('"m"', f'"m{n}"') for n in range(20)]
    mixtures = bombs.scenario(bombs.generator(20), *modes, N=2)[bombs.FILE]
    if name in bombs.BOMBS:
        file = bombs.write(name, tmp_path)
    else:
        file = tmp_path / bombs.FILE
        file.write_text(mixtures)
    warm = tmp_path / "warm.toml"
    warm.write_text(bombs.scenario(modes[0], N=2)[bombs.FILE])
    CliRunner().invoke(app, ["validate", str(warm)])  # what is compiled once is not the file's cost
    began = time.process_time()
    found = CliRunner().invoke(app, ["validate", str(file)])
    assert found.exit_code in (0, 4), found.output
    assert time.process_time() - began < BUSY * bombs.SECONDS
