"""Which room may import from which, read from the sources; and what must not be imported early.

The table is printed in docs/architecture, "Permitted imports".
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

import pytest

from tracker.compiled.caching import WITHOUT_KERNELS
from tracker.costs import COSTS

PACKAGE = Path(__file__).parents[1] / "tracker"
FILES = sorted(PACKAGE.rglob("*.py"))

# A room is a file or a folder of tracker/; "costs.base" is one file of a room. Theory must not see the simulation.
# What everybody may use: how numbers are written, text made fit for a terminal, names that are loaded late.
OPEN = {"formatting", "jsonable", "lazy_names", "printable", "array_types"}
MAY_IMPORT: dict[str, set[str]] = {
    "lazy_names": set(),
    "formatting": set(),
    "jsonable": set(),
    "printable": set(),
    "array_types": set(),
    "compiled": set(),
    "regular_files": set(),
    "autocorrelation": set(),
    "keys": set(),
    "baseline_names": set(),
    "chain": set(),
    "skew": set(),
    "ziggurat": set(),
    "streams": {"compiled", "ziggurat"},
    "exponential": {"compiled"},
    "environment": {"chain"},
    "costs": {"compiled", "exponential", "keys", "streams", "regular_files"},
    "samplers": {"compiled", "keys", "baseline_names", "streams", "costs.base"},
    "scenario": {"chain", "skew", "costs", "samplers", "keys", "compiled", "baseline_names", "regular_files"},
    "engine": {"scenario", "environment", "costs", "samplers", "compiled", "streams", "skew"},
    "line_area": set(),
    "metrics": {"autocorrelation", "line_area"},
    "limits": {"scenario", "chain", "skew", "costs", "compiled", "line_area"},
    "references": {"scenario", "costs", "compiled", "streams", "autocorrelation"},
    "runs": {"scenario", "engine", "metrics", "chain", "skew", "baseline_names", "regular_files", "__version__", "samplers.state"},
    "convergence": {"scenario", "engine", "limits", "metrics", "chain", "skew", "costs.facts", "samplers.base"},
    "reports": {
        "metrics", "limits", "convergence", "runs", "scenario", "engine", "chain", "costs.minimise", "baseline_names", "regular_files",
    },
    "cli": {"runs", "scenario", "costs", "samplers", "metrics", "convergence", "reports", "__version__"},
}  # fmt: skip
# Rooms below that reach a room above as a user does: ``import tracker`` inside a function, and a public name of it.
AS_A_USER = {"runs": {"reports"}, "scenario": {"reports"}}
WITH_LAZY_NAMES = ("tracker", "tracker.limits", "tracker.references", "tracker.reports")
ONLY_IN = {"numba": "compiled", "llvmlite": "compiled", "simpy": "environment"}
NEVER_AT_MODULE_LEVEL = ("scipy.stats", "matplotlib", "jinja2", "xarray", "h5netcdf", "h5py", "distributed")


class Import(NamedTuple):
    """``name`` is imported in ``line``; ``early``: when the module is; ``real``: not only for type checkers.

    A string that names a module counts too: whoever has it can import by it.
    """

    name: str
    line: int
    early: bool
    real: bool


def imports(tree: ast.AST, *, early: bool = True, real: bool = True) -> Iterator[Import]:
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Import):
            yield from (Import(alias.name, node.lineno, early, real) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"line {node.lineno}: a relative import"
            yield from (Import(f"{node.module}.{alias.name}", node.lineno, early, real) for alias in node.names)
        elif isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            for part in node.body:
                yield from imports(ast.Module([part], []), early=early, real=False)
            for part in node.orelse:
                yield from imports(ast.Module([part], []), early=early, real=real)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            if re.fullmatch(r"tracker(\.\w+)+\.?", node.value):
                yield Import(node.value.removesuffix("."), node.lineno, early=False, real=True)
        else:
            inside = isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda))
            yield from imports(node, early=early and not inside, real=real)


@cache
def of(path: Path) -> list[Import]:
    return list(imports(ast.parse(path.read_text(encoding="utf-8"))))


def room_of(path: Path) -> str:
    first = path.relative_to(PACKAGE).parts[0]
    return first.removesuffix(".py")


def within(name: str, module: str) -> bool:
    return name == module or name.startswith(f"{module}.")


def forbidden(room: str, found: list[Import]) -> list[str]:
    """The lines that reach into a room they may not; what is only for type checkers counts too."""
    lines = []
    for name, line, _, _ in found:
        if not within(name, "tracker") or name == "tracker":  # of the package itself see ``as_a_user``
            continue
        target = name.removeprefix("tracker").removeprefix(".")
        allowed = {room} | MAY_IMPORT[room] | OPEN
        if not any(within(target, place) for place in allowed):
            lines.append(f"{line}: {name}")
    return lines


def as_a_user(tree: ast.AST) -> set[str]:
    """The rooms that are reached through an ``import tracker``: x of every ``tracker.x``."""
    return {
        node.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "tracker"
    }


def test_the_reader_of_imports_sees_what_it_should() -> None:
    """Control: planted imports are found, in every place where one may stand."""
    text = """
import numba
from tracker import chain
from tracker.engine import simulate as s
if TYPE_CHECKING:
    from tracker.runs import Run
else:
    import xarray
def f():
    from scipy import stats
    class A:
        import tracker.engine.loop
try:
    import scipy.stats
except ImportError:
    pass
"""
    found = list(imports(ast.parse(text)))
    assert [(i.name, i.early, i.real) for i in found] == [
        ("numba", True, True),
        ("tracker.chain", True, True),
        ("tracker.engine.simulate", True, True),
        ("tracker.runs.Run", True, False),
        ("xarray", True, True),
        ("scipy.stats", False, True),
        ("tracker.engine.loop", False, True),
        ("scipy.stats", True, True),
    ]
    assert forbidden("metrics", found) == [
        "3: tracker.chain",
        "4: tracker.engine.simulate",
        "6: tracker.runs.Run",
        "12: tracker.engine.loop",
    ]
    assert forbidden("samplers", list(imports(ast.parse("from tracker.costs.quadratic import Quadratic")))) != []
    assert forbidden("samplers", list(imports(ast.parse("from tracker.costs.base import value")))) == []
    sly = ast.parse(
        "import tracker\ntracker.reports.f(import_module('tracker.runs.npz'), f'tracker.cli.{x}', 'see tracker.x')"
    )
    assert as_a_user(sly) == {"reports"}
    assert forbidden("runs", list(imports(sly))) == ["2: tracker.cli"]


def test_every_room_is_in_the_table() -> None:
    rooms = {room_of(path) for path in FILES} - {"__init__", "__main__"}
    assert rooms <= set(MAY_IMPORT)
    assert rooms >= {"compiled", "costs", "samplers", "scenario", "engine", "runs", "cli"}


@pytest.mark.parametrize(
    "path", [p for p in FILES if room_of(p) in MAY_IMPORT], ids=lambda p: str(p.relative_to(PACKAGE))
)
def test_rooms_import_only_what_they_may(path: Path) -> None:
    assert forbidden(room_of(path), of(path)) == []


@pytest.mark.parametrize("room", MAY_IMPORT)
def test_every_permission_is_used(room: str) -> None:
    """A permission that nobody uses would let in what nobody meant."""
    files = [path for path in FILES if room_of(path) == room]
    used = {i.name.removeprefix("tracker.") for path in files for i in of(path) if within(i.name, "tracker")}
    assert [place for place in sorted(MAY_IMPORT[room]) if not any(within(name, place) for name in used)] == []


def test_one_file_imports_modules_by_their_names() -> None:
    """Names that are loaded late stand in tables, relative to their package."""
    by_name = {"importlib", "importlib.import_module"}
    assert [path.name for path in FILES if by_name & {i.name for i in of(path)}] == ["lazy_names.py"]


def test_rooms_above_are_reached_as_a_user_does() -> None:
    found: dict[str, set[str]] = {}
    for path in FILES:
        whole = [i for i in of(path) if i.name == "tracker"]
        assert not any(i.early for i in whole), path
        if whole:
            found.setdefault(room_of(path), set()).update(as_a_user(ast.parse(path.read_text(encoding="utf-8"))))
    assert found == AS_A_USER


@pytest.mark.parametrize("package", WITH_LAZY_NAMES)
def test_names_that_are_loaded_late_are_there(package: str) -> None:
    module = import_module(package)
    assert dir(module) == sorted(module.__all__)
    assert all(getattr(module, name) is not None for name in module.__all__)
    with pytest.raises(AttributeError, match=f"module '{package}' has no attribute 'nonsense'"):
        module.nonsense  # noqa: B018


def test_the_package_itself_imports_nothing_of_its_own_early() -> None:
    found = of(PACKAGE / "__init__.py")
    assert {i.name for i in found if within(i.name, "tracker") and i.early and i.real} == {
        "tracker.lazy_names.lazy_names"
    }


def test_the_table_has_no_circles() -> None:
    """Rooms can be ordered so that each imports only from those before it."""
    needs = {
        room: {place.partition(".")[0] for place in places} & set(MAY_IMPORT) for room, places in MAY_IMPORT.items()
    }
    while needs:
        free = {room for room, places in needs.items() if not places & set(needs)}
        assert free, f"a circle among {sorted(needs)}"
        needs = {room: places for room, places in needs.items() if room not in free}


def circles(needs: dict[str, set[str]]) -> list[list[str]]:
    """The sets of modules of which each reaches every other, and itself, by imports."""
    reached: dict[str, set[str]] = {}
    for module in needs:
        seen, ahead = set[str](), [module]
        while ahead:
            new = needs[ahead.pop()] - seen
            seen |= new
            ahead += new
        reached[module] = seen
    found = {frozenset(n for n in reached[m] if m in reached[n]) for m in needs if m in reached[m]}
    return sorted(sorted(circle) for circle in found)


def imported_modules() -> dict[str, set[str]]:
    """The modules of the package that each of them imports, early or inside a function; not what types alone need."""
    names = {}
    for path in FILES:
        parts = ("tracker", *path.relative_to(PACKAGE).with_suffix("").parts)
        names[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path

    def module_of(name: str) -> str:
        return name if name in names else module_of(name.rpartition(".")[0])

    real = {name: [i.name for i in of(path) if i.real and within(i.name, "tracker")] for name, path in names.items()}
    return {name: {module_of(one) for one in found} - {name, "tracker"} for name, found in real.items()}


def test_modules_import_each_other_in_no_circle() -> None:
    """Also inside a room, and also where an import waits inside a function."""
    assert circles(imported_modules()) == []


def test_a_circle_of_modules_is_seen() -> None:
    """Control: two circles, and what only leads to one or away from it."""
    needs = {"a": {"b"}, "b": {"c"}, "c": {"b", "d"}, "d": set[str](), "e": {"e"}}
    assert circles(needs) == [["b", "c"], ["e"]]


@pytest.mark.parametrize("path", [p for p in FILES if room_of(p) == "cli"], ids=lambda p: str(p.relative_to(PACKAGE)))
def test_the_command_line_is_in_small_files(path: Path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 250


# What of the costs others may import: the table, the contract, the facts, and what works for any cost.
FOR_ANY_COST = {"COSTS", "base", "facts", "minimise", "csv_rows", "work_account"}


def families_asked_for(text: str) -> list[str]:
    """The lines outside of costs/ that import the code of a family, or ask for one by its name."""
    tree = ast.parse(text)
    asked = [
        f"{line}: {name}"
        for name, line, _, _ in imports(tree)
        if within(name, "tracker.costs") and name.split(".")[2:3] and name.split(".")[2] not in FOR_ANY_COST
    ]
    asked += [
        f"{node.lineno}: {node.value!r}"
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value in COSTS
    ]
    return asked


def test_nobody_asks_for_a_family_of_costs() -> None:
    """What others need to know of a cost, the cost says: a new family needs no edit outside of its file."""
    others = [path for path in FILES if room_of(path) != "costs"]
    asked = {str(p.relative_to(PACKAGE)): families_asked_for(p.read_text(encoding="utf-8")) for p in others}
    assert {path: lines for path, lines in asked.items() if lines} == {}


def test_a_question_for_a_family_is_seen() -> None:
    """Control: by type, by name, and what is allowed."""
    assert families_asked_for("from tracker.costs.quadratic import Quadratic") == [
        "1: tracker.costs.quadratic.Quadratic"
    ]
    assert families_asked_for('if keys.cost == "mixture": pass') == ["1: 'mixture'"]
    assert families_asked_for("from tracker.costs.base import value\nfrom tracker.costs import COSTS") == []


@pytest.mark.parametrize("path", [p for p in FILES if room_of(p) == "costs"], ids=lambda p: str(p.relative_to(PACKAGE)))
def test_the_costs_are_in_files_of_a_few_pages(path: Path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 300


@pytest.mark.parametrize("module", ONLY_IN)
def test_a_dependency_behind_one_door(module: str) -> None:
    users = {room_of(path) for path in FILES for i in of(path) if within(i.name, module)}
    assert users == {ONLY_IN[module]}


def test_rooms_outside_the_fingerprint_hold_no_compiled_code() -> None:
    """An edit there leaves cached kernels valid: nothing that is compiled may live there or be reached from kernels."""
    for room, places in MAY_IMPORT.items():
        if room in WITHOUT_KERNELS:
            assert "compiled" not in places
        elif any(within(i.name, "tracker.compiled") for path in FILES if room_of(path) == room for i in of(path)):
            assert not places & set(WITHOUT_KERNELS)


@pytest.mark.parametrize("module", NEVER_AT_MODULE_LEVEL)
def test_slow_imports_wait_until_they_are_needed(module: str) -> None:
    early = [
        f"{path.relative_to(PACKAGE)}:{i.line}"
        for path in FILES
        for i in of(path)
        if i.early and i.real and within(i.name, module)
    ]
    assert early == []
