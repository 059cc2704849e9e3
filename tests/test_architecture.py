"""Which room may import from which, and which pages and sections the sources cite.

The table of permitted imports is printed into docs/architecture, "Permitted imports":

    python tests/test_architecture.py

A citation is the page and a heading in quotes: docs/mathematics, "Chain laws". It may be broken between two lines.
"""

from __future__ import annotations

import ast
import inspect
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest
from import_reader import Import, as_a_user, asked_for, imports, within
from worlds import ROOT

from tracker.cli import app
from tracker.compiled.caching import WITHOUT_KERNELS
from tracker.costs import COSTS
from tracker.samplers import SAMPLERS
from tracker.samplers.base import Evaluations

PACKAGE = ROOT / "tracker"
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
    "sfc64": {"compiled", "ziggurat"},
    "lane_streams": {"compiled", "sfc64", "ziggurat"},
    "streams": {"compiled", "sfc64", "lane_streams", "ziggurat"},
    "exponential": {"compiled"},
    "environment": {"chain", "compiled", "streams"},
    "costs": {"compiled", "exponential", "keys", "streams", "regular_files"},
    "samplers": {"compiled", "keys", "baseline_names", "streams", "costs.base", "costs.facts"},
    "scenario": {"chain", "skew", "costs", "samplers", "keys", "compiled", "metrics.claims", "metrics.table", "regular_files"},
    "engine": {"scenario", "environment", "costs", "samplers", "compiled", "streams", "skew"},
    "line_area": set(),
    "metrics": {"autocorrelation", "line_area"},
    "limits": {"scenario", "chain", "skew", "costs", "compiled", "line_area", "samplers.linear_step"},
    "references": {"scenario", "costs", "compiled", "streams", "autocorrelation"},
    "runs": {"scenario", "engine", "metrics", "chain", "skew", "baseline_names", "regular_files", "__version__", "samplers.state"},
    "convergence": {"scenario", "engine", "runs", "limits", "metrics", "chain", "skew", "costs.facts", "samplers.base"},
    "advice": {"scenario", "runs", "limits", "metrics", "regular_files", "samplers.base"},
    "reports": {
        "advice", "metrics", "limits", "references", "convergence", "runs", "scenario", "engine", "chain", "costs.base", "costs.minimise", "baseline_names", "regular_files",
    },
    "cli": {"advice", "limits", "runs", "scenario", "costs", "samplers", "metrics", "convergence", "reports", "regular_files", "__version__"},
}  # fmt: skip
# What studies/ may use beside ``tracker`` and its public modules: how numbers are measured, written and shown. No
# simulation, no storage: what a study needs to know of a run, the run itself tells. And what a cost or a sampler of one's own is made of.
STUDIES_MAY_IMPORT = {
    "metrics", "reports", "autocorrelation", "formatting", "array_types", "compiled.helper", "costs.base", "costs.foretold", "samplers.base",
    "samplers.state", "streams",
}  # fmt: skip
PUBLIC_MODULES = {"chain", "limits", "references", "skew"}
# Rooms below that reach a room above as a user does: ``import tracker`` inside a function, and a public name of it.
AS_A_USER = {"runs": {"reports"}, "scenario": {"reports"}}
WITH_LAZY_NAMES = ("tracker", "tracker.limits", "tracker.references", "tracker.reports")
ONLY_IN = {"numba": "compiled", "llvmlite": "compiled", "simpy": "environment"}
NEVER_AT_MODULE_LEVEL = ("scipy.stats", "matplotlib", "jinja2", "xarray", "h5netcdf", "h5py", "distributed")


@cache
def tree_of(path: Path) -> ast.AST:
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def of(path: Path) -> list[Import]:
    return list(imports(tree_of(path)))


def room_of(path: Path) -> str:
    first = path.relative_to(PACKAGE).parts[0]
    return first.removesuffix(".py")


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


def not_for_studies(found: list[Import]) -> list[str]:
    """The lines of a study that import more than it may: of public modules the public names only."""
    lines = []
    for name, line, _, _ in found:
        target = name.removeprefix("tracker").removeprefix(".")
        room, _, rest = target.partition(".")
        if not within(name, "tracker") or not target or any(within(target, place) for place in STUDIES_MAY_IMPORT):
            continue
        known = import_module("tracker").__all__
        public = room in PUBLIC_MODULES and (not rest or rest in import_module(f"tracker.{room}").__all__)
        if not public and (rest or room not in known):
            lines.append(f"{line}: {name}")
    return lines


@pytest.mark.parametrize("path", sorted((ROOT / "studies").rglob("*.py")), ids=lambda p: str(p.relative_to(ROOT)))
def test_studies_use_the_public_interface(path: Path) -> None:
    assert not_for_studies(of(path)) == []


def test_an_import_of_internals_by_a_study_is_seen() -> None:
    """Control: by module, by name, by string; and what is allowed is not."""
    wrong = """
from tracker.compiled import source_fingerprint
from tracker.limits.exact_moments import moments
from tracker.scenario import with_settings
import tracker.runs
'tracker.engine.bins'
"""
    assert [line.partition(":")[0] for line in not_for_studies(list(imports(ast.parse(wrong))))] == list("23456")
    right = "import tracker\nfrom tracker import Scenario, limits\nfrom tracker.limits import moments\nfrom tracker.metrics import paired"
    assert not_for_studies(list(imports(ast.parse(right)))) == []


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
    assert [path.name for path in FILES if "__import__" in path.read_text(encoding="utf-8")] == []


def test_rooms_above_are_reached_as_a_user_does() -> None:
    found: dict[str, set[str]] = {}
    for path in FILES:
        whole = [i for i in of(path) if i.name == "tracker"]
        assert not any(i.early for i in whole), path
        if whole:
            found.setdefault(room_of(path), set()).update(as_a_user(tree_of(path)))
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


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_files_are_a_few_pages_long(path: Path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) <= (250 if room_of(path) == "cli" else 300)


def test_the_smallest_sampler_is_one_screen() -> None:
    """Its keys, its state and its step beside its equation; what every kind needs stands elsewhere."""
    kinds = {inspect.getfile(keys) for keys in SAMPLERS.values()}
    assert min(len(Path(file).read_text(encoding="utf-8").splitlines()) for file in kinds) <= 45


def test_a_file_name_stands_in_one_room() -> None:
    rooms: dict[str, set[str]] = {}
    for path in FILES:
        rooms.setdefault(path.name, set()).add(room_of(path))
    twice = {name for name, found in rooms.items() if len(found) > 1}
    assert twice <= {"__init__.py", "base.py", "table.py"}


def test_a_class_has_a_name_of_its_own() -> None:
    """One name, one thing; but each kind of sampler keeps its ``State``."""
    places: dict[str, list[str]] = {}
    for path in FILES:
        for node in ast.walk(tree_of(path)):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places.setdefault(node.name, []).append(str(path.relative_to(PACKAGE)))
    assert {name: found for name, found in places.items() if len(found) > 1 and name != "State"} == {}
    assert len(places["State"]) > 5


def test_the_name_of_a_command_belongs_to_the_command_line() -> None:
    commands = {command.name for command in app.registered_commands}
    assert {path.stem for path in FILES if room_of(path) == "cli"} >= commands >= {"run", "sweep", "limit"}
    assert [path for path in FILES if path.stem in commands and room_of(path) != "cli"] == []


# What of costs and samplers others may import: the table, the contract, the facts, and what works for any of them.
FOR_ANY = {
    "costs": {
        "COSTS",
        "base",
        "facts",
        "minimise",
        "moved",
        "csv_rows",
        "data_columns",
        "derivative_checks",
        "foretold",
        "gaussian_noise",
        "one_form",
        "stored_draws",
        "work_account",
    },
    "samplers": {"SAMPLERS", "base", "state", "linear_step", "baselines", "alarms", "known_world", "wrapper_keys"},
}
NAMES = {
    "costs": {*COSTS, *(keys.__name__ for keys in COSTS.values())},
    "samplers": {*SAMPLERS, *(one.__name__ for keys in SAMPLERS.values() for one in (keys, keys.parameters))},
}
NAMES = {room: names | {name.replace("-", "_") for name in names} for room, names in NAMES.items()}  # of the files too


def families_asked_for(source: ast.AST, room: str) -> list[str]:
    """The lines that ask for a family of costs or a kind of sampler.

    A Hessian is also what some samplers evaluate, and "averaged" the limit of a fast chain.
    """
    return asked_for(source, room, NAMES[room], FOR_ANY[room], (*Evaluations._fields, "averaged"))


@pytest.mark.parametrize("room", FOR_ANY)
def test_nobody_asks_for_a_family_or_a_kind(room: str) -> None:
    """What others need to know of a cost or a sampler, it says itself: a new one needs no edit outside of its file."""
    others = [path for path in FILES if room_of(path) != room]
    asked = {str(p.relative_to(PACKAGE)): families_asked_for(tree_of(p), room) for p in others}
    assert {path: lines for path, lines in asked.items() if lines} == {}


@pytest.mark.parametrize(
    ("room", "line"),
    [
        ("costs", "from tracker.costs.quadratic import Quadratic"),
        ("costs", 'if keys.cost == "mixture": pass'),
        ("costs", "kinds = ('polynomial', 'other')"),
        ("costs", 'type(cost).__name__ in ("QuadraticKeys",)'),
        ("costs", "import tracker\ntracker.costs.quadratic"),
        ("samplers", "from tracker.samplers.langevin import LangevinKeys"),
        ("samplers", "from tracker import samplers\nsamplers.two_timescale_spsa"),
        ("samplers", 'if keys.kind == "hessian": pass'),
        ("samplers", 'if keys.kind in ("langevin", "accelerated"): pass'),
        ("samplers", 'table = {"kind": "accelerated"}'),
        ("samplers", """advice = 'use kind = "hessian"'"""),
    ],
)
def test_a_question_for_a_family_or_a_kind_is_seen(room: str, line: str) -> None:
    """Control: by type, by name, by class, by module."""
    assert families_asked_for(ast.parse(line), room) != []


@pytest.mark.parametrize(
    ("room", "line"),
    [
        ("costs", "from tracker.costs.base import value\nfrom tracker.costs import COSTS"),
        ("samplers", "from tracker.samplers.base import step\nfrom tracker.samplers.state import Recorded"),
        ("samplers", 'evaluations = {"gradient": 0, "cost": 0, "hessian": 0}'),
        ("samplers", """def f():\n    'An example: kind = "hessian".'"""),
    ],
)
def test_what_is_said_of_any_of_them_is_no_question(room: str, line: str) -> None:
    assert families_asked_for(ast.parse(line), room) == []


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


# --- the table on the page

PRINTED = re.compile(r"(<!-- imports -->\n).*?(<!-- /imports -->)", flags=re.DOTALL)


def printed_table() -> str:
    """The table as the page shows it."""

    def listed(names: set[str]) -> str:
        return ", ".join(f"`{name}`" for name in sorted(names))

    above = "; ".join(f"`{room}` reaches {listed(places)}" for room, places in AS_A_USER.items())
    free = listed({room for room, places in MAY_IMPORT.items() if not places} - OPEN)
    lines = [
        f"Open to all rooms: {listed(OPEN)}. These import nothing of the package, nor do {free}.",
        f"As a user does, by a late `import tracker`, {above}.",
        f"`studies/` may use the names of `tracker`, the public names of {listed(PUBLIC_MODULES)}, and {listed(STUDIES_MAY_IMPORT)}.",
        "",
        "| room | may import from `tracker` |",
        "|---|---|",
        *(f"| `{room}` | {listed(places)} |" for room, places in MAY_IMPORT.items() if places),
    ]
    return "\n".join(lines) + "\n"


def test_the_table_on_the_page_is_current() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    found = PRINTED.search(page)
    assert found is not None
    assert found[0].splitlines()[1:-1] == printed_table().splitlines(), "run python tests/test_architecture.py"


# --- citations

HERE = Path(__file__).name  # the only file that may hold the old names
CITING = ("tracker", "tests", "scenarios", "studies", "benchmarks", ".ci", "docs", "CONTRIBUTING.md")
FREE_OF_OLD_NAMES = ("tracker", "tests", "scenarios", "studies", "benchmarks", ".ci")
ENDINGS = (".py", ".toml", ".md", ".txt", ".j2", ".json", "")

PAGE = re.compile(r"\bdocs/([a-z-]+)(?:\.md)?, ?\"")
CITATION = re.compile(r"\bdocs/([a-z-]+)(?:\.md)?, ?\"([^\"]+)\"")
OLD_NAMES = re.compile(r"\b(?:MATH|DESIGN|FINDINGS)\b")
LABELS = re.compile(r"\beq:\w+|\((?:sgl|nonrev|langevin1|skew1|hyperode)\)|\balg1[a-d]?\b")
BREAK = re.compile(r"\s*\n\s*#?\s*")  # also inside a comment of several lines


def texts(places: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """Name and text of every file that people write, but for this one."""
    for place in places:
        root = ROOT / place
        for path in sorted(root.rglob("*")) if root.is_dir() else [root]:
            hidden = any(part == "__pycache__" for part in path.parts)
            if path.is_file() and path.suffix in ENDINGS and path.name != HERE and not hidden:
                yield str(path.relative_to(ROOT)), path.read_text(encoding="utf-8")


def citations(text: str) -> list[tuple[str, str]]:
    """Page and heading of every citation in a text."""
    return CITATION.findall(BREAK.sub(" ", text))


def headings(page: str) -> set[str]:
    """The headings of a page of docs/, empty where there is no such page."""
    path = ROOT / "docs" / f"{page}.md"
    text = path.read_text(encoding="utf-8") if path.is_file() else ""
    text = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    return set(re.findall(r"^#+ +(.+?) *$", text, flags=re.MULTILINE))


def broken(text: str) -> list[str]:
    """Citations of sections that do not exist."""
    return [f'{page}, "{heading}"' for page, heading in citations(text) if heading not in headings(page)]


def unfinished(text: str) -> int:
    """How many citations begin and have no heading that ends."""
    flat = BREAK.sub(" ", text)
    return len(PAGE.findall(flat)) - len(citations(text))


def test_a_missing_section_is_noticed() -> None:
    """Control: a page that is not there, a heading that is not there, one that is broken between lines, one without an end."""
    right = 'See docs/mathematics, "Chain laws".'
    assert citations(right) == [("mathematics", "Chain laws")]
    assert broken(right) == []
    assert broken('docs/mathematics, "Laws of nature"') == ['mathematics, "Laws of nature"']
    assert broken('docs/alchemy, "Chain laws"') == ['alchemy, "Chain laws"']
    assert broken('# as in docs/mathematics, "Chain\n#   laws"') == []
    assert broken('as in docs/mathematics,\n    "Chain lore"') == ['mathematics, "Chain lore"']
    assert unfinished('docs/mathematics, "Chain laws') == 1


@pytest.mark.parametrize("place", CITING)
def test_every_cited_section_exists(place: str) -> None:
    found = {name: broken(text) for name, text in texts((place,))}
    assert {name: lines for name, lines in found.items() if lines} == {}
    assert {name for name, text in texts((place,)) if unfinished(text)} == set()


def test_the_code_and_the_tests_do_cite() -> None:
    """Control: were the form of a citation another one, nothing would be looked at."""
    for place, least in (("tracker", 20), ("tests", 30), ("scenarios", 3)):
        assert sum(len(citations(text)) for _, text in texts((place,))) >= least, place


def test_no_file_names_a_document_that_is_not_here() -> None:
    assert OLD_NAMES.search("see MATH.md section 1")  # control
    found = {name: OLD_NAMES.findall(text) for name, text in texts(FREE_OF_OLD_NAMES)}
    assert {name: words for name, words in found.items() if words} == {}


def test_equations_are_cited_by_their_printed_numbers() -> None:
    """Labels of the paper's source mean nothing to a reader of the printed page."""
    assert LABELS.search("the paper's eq. (sgl)")  # control
    found = {name: LABELS.findall(text) for name, text in texts(FREE_OF_OLD_NAMES)}
    assert {name: words for name, words in found.items() if words} == {}


def test_a_trial_is_rebuilt_with_numpy_alone() -> None:
    """The example of docs/architecture ends with a comparison; control: with another role for the noise that fails."""
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"```python\n(.*?)```", page, flags=re.DOTALL)
    rebuilding, runs, comparing = example.partition("run = tracker.run(scenario)\n")
    wrong = rebuilding.replace("stream(1), stream(2)", "stream(1), stream(3)")
    assert wrong != rebuilding
    control = f"""
{wrong}
try:
    {comparing.strip()}
except AssertionError:
    raise SystemExit(0)
raise SystemExit("the wrong stream was not noticed")
"""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", rebuilding + runs + comparing + control],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=3600,  # of a busy machine; it takes seconds
        check=False,
    )
    assert done.returncode == 0, done.stderr


if __name__ == "__main__":
    PAGE_OF_THE_TABLE = ROOT / "docs" / "architecture.md"
    TEXT = PAGE_OF_THE_TABLE.read_text(encoding="utf-8")
    PAGE_OF_THE_TABLE.write_text(PRINTED.sub(rf"\1{printed_table()}\2", TEXT), encoding="utf-8")


@pytest.mark.parametrize("room", WITH_LAZY_NAMES)
def test_no_name_of_a_room_is_that_of_a_file_in_it(room: str) -> None:
    """Importing the file would put it in the place of the function: ``tracker.reports.sweep_text`` was one or the other."""
    files = {path.stem for path in (PACKAGE.parent / room.replace(".", "/")).glob("*.py")}
    assert not files & {name for name in import_module(room).__all__ if callable(getattr(import_module(room), name))}
