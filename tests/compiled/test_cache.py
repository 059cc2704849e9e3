"""The cache of compiled code is warm when nothing changed, and never stale; one signature per kind of sampler.

Each run that must compile takes ten seconds, so the processes here have one sampler and no baselines. Whether a binary is
the right one is told by the same loop run in the interpreter: both must give the same bits.
"""

from __future__ import annotations

import copy
import json
import os
import pickle
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import numba
import numpy as np
import pytest
from numba.core.compiler import CompileResult
from numba.core.environment import Environment

import tracker
from tracker import compiled
from tracker.compiled import caching, numba_cache
from tracker.costs.base import value
from tracker.costs.quadratic import Quadratic
from tracker.engine.loop import drive
from tracker.engine.turns import stretch
from tracker.scenario import toml_text

PACKAGE = Path(tracker.__file__).parent

SCENARIO = """
name = "small"
seed = 5
trials = 2
steps = 200
start = [0.5, 0.0]
baselines = []

[[modes]]
name = "only"
cost = "quadratic"
minimum = [1.0, -1.0]
curvature = [[2.0, 0.3], [0.3, 1.0]]
gradient_noise = 0.25

[[samplers]]
name = "classical"
kind = "langevin"
epsilon = 0.02
"""

# Prints what a run gives compiled and interpreted, and how often compiled code came from the cache.
TELL = """
import json, warnings
import tracker, tracker.runs
from tracker.compiled import Unit
from tracker.engine import loop
from tracker.engine.turns import stretch

def tell(scenario):
    compiled = tracker.run(scenario, executor=1, checks=False)  # the edits below change the slope alone
    warnings.filterwarnings("ignore", "overflow encountered", RuntimeWarning)  # of the generators' words
    drive, Unit.at, loop.drive = loop.drive, Unit.in_python, loop.drive.interpreted
    interpreted = tracker.run(scenario, executor=1, checks=False)
    cached = [one._cached.stats for one in (drive, stretch.kernel) if one._cached is not None]
    print(json.dumps({
        "hash": compiled.summary["hash"],
        "interpreted": interpreted.summary["hash"],
        "final": compiled.summary["samplers"][0]["final"]["mean"],
        "hits": sum(sum(stats.cache_hits.values()) for stats in cached),
        "misses": sum(sum(stats.cache_misses.values()) for stats in cached),
        "signatures": len(drive.signatures) + len(stretch.signatures),
    }))
"""


def process(folder: Path, script: str) -> dict[str, Any]:
    """Run a script in ``folder``, with the package that is there (if any) and a cache of its own."""
    cache = {"TRACKER_CACHE_DIR": str(folder / "cache"), "PYTHONDONTWRITEBYTECODE": "1"}
    here = str(folder) if (folder / "tracker").exists() else str(PACKAGE.parent)
    env = {**os.environ, **cache, "PYTHONPATH": here, "PYTHONWARNINGS": "error"}
    command = [sys.executable, str(folder / script)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False, env=env, cwd=folder)
    assert done.returncode == 0, done.stderr
    told: dict[str, Any] = json.loads(done.stdout)
    return told


def binaries(folder: Path) -> dict[Path, int]:
    return {path: path.stat().st_mtime_ns for path in (folder / "cache").rglob("*.nb[ci]")}


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert text.count(old) == 1, f"{old!r} is not (once) in {path.name}: the test needs another line to edit"
    path.write_text(text.replace(old, new))


def test_the_cache_is_warm_after_a_restart_and_follows_an_edit_in_any_file(tmp_path: Path) -> None:
    shutil.copytree(PACKAGE, tmp_path / "tracker", ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "script.py").write_text(f"{TELL}\ntell(tracker.parse('''{SCENARIO}'''))\n")

    here = tracker.run(tracker.parse(SCENARIO), executor=1).summary["hash"]
    cold = process(tmp_path, "script.py")
    assert cold["hash"] == cold["interpreted"] == here
    assert (cold["hits"], cold["misses"], cold["signatures"]) == (0, 2, 2)

    kept = binaries(tmp_path)
    for name in ("loop.drive", "turns.stretch"):
        assert any(name in path.name and path.suffix == ".nbc" for path in kept)
    warm = process(tmp_path, "script.py")
    assert warm["hash"] == here
    assert (warm["hits"], warm["misses"], warm["signatures"]) == (2, 0, 2)
    assert binaries(tmp_path) == kept

    # A helper in another file than the kernel and the cost: the gradient noise becomes twice as large.
    edit(
        tmp_path / "tracker" / "costs" / "gaussian_noise.py",
        "            out[i, d] = z\n",
        "            out[i, d] = 2.0 * z\n",
    )
    edited = process(tmp_path, "script.py")
    assert (edited["hits"], edited["misses"]) == (0, 2)
    assert edited["hash"] == edited["interpreted"] != here


def test_every_source_file_that_may_hold_kernels_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fingerprint = caching.source_fingerprint.__wrapped__  # without what the process remembers
    copy = tmp_path / "tracker"
    shutil.copytree(PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    assert compiled.cache_folder() is None or compiled.cache_folder().name == f"kernels-{compiled.source_fingerprint()}"
    monkeypatch.setattr(caching, "PACKAGE", copy)
    before = fingerprint()
    assert before == fingerprint()
    seen = {before}
    counted = [p for p in copy.rglob("*.py") if p.relative_to(copy).parts[0] not in caching.WITHOUT_KERNELS]
    for path in sorted(copy.rglob("*.py")):
        path.write_bytes(path.read_bytes() + b"#")
        seen.add(fingerprint())
    (copy / "new.py").touch()
    seen.add(fingerprint())
    (copy / "new.py").rename(copy / "newer.py")
    seen.add(fingerprint())
    monkeypatch.setenv("NUMBA_OPT", "0")
    seen.add(fingerprint())
    assert len(seen) == 1 + len(counted) + 3


def test_old_folders_go_and_used_ones_stay(tmp_path: Path) -> None:
    for name, days in (("kernels-old", 31), ("kernels-young", 29), ("something-else", 99)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "used").touch()
        then = (tmp_path / name / "used").stat().st_mtime - days * 86400
        os.utime(tmp_path / name / "used", (then, then))
    caching._forget_old(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["kernels-young", "something-else"]


OWN = '''
from typing import Any, NamedTuple
import numpy as np
from tracker.costs.base import gradient, value

class Valley(NamedTuple):
    """C = stiffness |theta - 1|^2 / 2."""
    stiffness: float

FACTOR = 1.0

def slope(stiffness, t):
    return FACTOR * stiffness * (t - 1.0)

from tracker.compiled import helper
slope = helper(slope)

@value.register(Valley)
def _value(cost, theta, z):
    return 0.5 * cost.stiffness * ((theta - 1.0) ** 2).sum()

@gradient.register(Valley)
def _gradient(cost, theta, z, out):
    for d in range(theta.size):
        out[d] = slope(cost.stiffness, theta[d])

tell(tracker.parse(SCENARIO).replace(modes=[Valley(2.0)]))
'''


def test_a_cost_in_a_users_script_is_kept_and_follows_its_edits(tmp_path: Path) -> None:
    """A second process compiles nothing; a function, a helper and a constant that are edited are noticed."""
    script = tmp_path / "own.py"
    script.write_text(f"{TELL}\nSCENARIO = '''{SCENARIO}'''\n{OWN}")
    first = process(tmp_path, "own.py")
    assert first["hash"] == first["interpreted"]
    kept = binaries(tmp_path)
    assert [path for path in kept if "turns.stretch" in path.name and ".own-" in path.name]
    assert not [path for path in kept if "loop.drive" in path.name and ".own-" in path.name]  # it knows no cost
    again = process(tmp_path, "own.py")
    assert again["hash"] == first["hash"]
    assert binaries(tmp_path) == kept  # nothing was compiled, or it would have been written
    seen = {first["hash"]}
    for old, new in (
        (
            "    return FACTOR * stiffness * (t - 1.0)\n",
            "    return FACTOR * stiffness * (t - 1.0) * 1.5\n",
        ),  # a helper
        ("FACTOR = 1.0\n", "FACTOR = 0.8\n"),  # a constant that the helper reads
        ("        out[d] = slope(", "        out[d] = 0.9 * slope("),  # the function itself
    ):
        edit(script, old, new)
        changed = process(tmp_path, "own.py")
        assert changed["hash"] == changed["interpreted"]
        assert changed["hash"] not in seen
        seen.add(changed["hash"])


VARIANTS: dict[str, dict[str, Any]] = {
    "as it is": {},
    "one trial": {"trials": 1},
    "many trials": {"trials": 130},
    "few steps": {"steps": 9, "burn_in": 3},
    "whole numbers": {"start": [1, 0], "chain": {"alpha": 1, "Q": [[-1, 1], [1, -1]], "initial": [0, 1]}},
    "a start that is drawn": {"start": {"mean": [1, 0], "covariance": [[1, 0], [0, 0]]}},
    "a schedule": {"chain": None, "schedule": {"switches": [[0, "two"], [50, "one"]]}},
    "interventions": {
        "interventions": [{"kind": "outage", "at": 3, "steps": 4}, {"kind": "switch", "at": 5, "to": "two"}]
    },
}
TWO = """
name = "two"
trials = 5
steps = 200
start = [0.5, 0.0]
[chain]
alpha = 0.05
Q = [[-1.0, 1.0], [0.6, -0.6]]
[[modes]]
name = "one"
cost = "quadratic"
minimum = [1.0, -1.0]
curvature = [[2.0, 0.3], [0.3, 1.0]]
[[modes]]
name = "two"
cost = "quadratic"
minimum = [-1, 1]
curvature = [[1, 0], [0, 2]]
gradient_noise = 1
target = { radius = 1 }
[[samplers]]
name = "classical"
kind = "langevin"
epsilon = 0.02
[[samplers]]
name = "cold"
kind = "langevin"
epsilon = 1
beta = "inf"
[[samplers]]
name = "skewed"
kind = "accelerated"
epsilon = 0.02
beta = 2
skew = [[0, -1], [1, 0]]
[[samplers]]
name = "drawn"
kind = "accelerated"
epsilon = 0.02
skew = "random"
"""


def test_one_signature_for_each_kind_of_sampler() -> None:
    """Types drift: an integer, a read-only or strided array would each compile the loop again."""
    scenario = tracker.parse(TWO)
    known: set[Any] = set()
    for name, changes in VARIANTS.items():
        content = {key: part for key, part in {**scenario.content(), **changes}.items() if part is not None}
        varied = tracker.parse(toml_text.to_toml(content))
        for shard_size in (None, 1, 4):
            tracker.run(varied, executor=2, shard_size=shard_size)
        # all that this process has compiled or loaded, in this test or before
        known = known or set(stretch.signatures)
        assert set(stretch.signatures) == known, name
        assert len(set(drive.signatures)) == 1, name
    kinds = {str(signature[0].kinds.types[0]).partition("(")[0] for signature in known}
    assert kinds >= {"Langevin", "Accelerated", "Baseline"}


class Outside(NamedTuple):
    """A cost of one's own."""

    stiffness: float


class Inheriting(Outside):
    """Served by what is registered for its base."""


@value.register(Outside)
def _(cost: Any, theta: Any, z: Any) -> float:
    return cost.stiffness * theta[0] ** 2


def test_what_inherits_from_outside_is_never_taken_from_the_cache() -> None:
    assert compiled.from_outside((Inheriting(1.0),))
    assert compiled.from_outside(((Outside(1.0), 2.0), 3.0))
    assert not compiled.from_outside((Quadratic(np.eye(1), np.zeros(1), np.zeros((1, 0))),))  # control


def test_kept_code_of_ones_own_needs_no_module_of_the_process_that_kept_it() -> None:
    """With ``--code`` a module is named by the content of the file: an edit elsewhere in it must not lose what was compiled."""
    gone: dict[str, Any] = {"__name__": "module_that_is_gone"}
    exec("def twice(x):\n    print('twice', x)\n    return 2.0 * x\n", gone)  # noqa: S102
    twice = numba.njit(gone["twice"])
    assert twice(1.5) == 3.0
    (compiled_once,) = twice.overloads.values()
    environment = compiled_once.environment
    parts = compiled_once._replace(fndesc=copy.copy(compiled_once.fndesc))._reduce()
    Environment._memo.pop(environment.env_name)
    try:
        with pytest.raises(ModuleNotFoundError):  # control: what numba itself keeps
            pickle.loads(numba_cache._packed(parts))  # noqa: S301
        read = pickle.loads(numba_cache._packed(numba_cache._without_names(parts)))  # noqa: S301
        live = numba_cache._with_live_names(read, (numba.float64,))
        target = compiled_once.target_context
        assert CompileResult._rebuild(target, *live).entry_point(2.5) == 5.0
        assert live[numba_cache.ENVIRONMENT].consts == environment.consts
    finally:
        Environment._memo[environment.env_name] = environment
