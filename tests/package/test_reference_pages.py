"""The reference pages of docs/ are what the declarations say."""

from __future__ import annotations

import importlib.util
from types import ModuleType

import pytest
from worlds import ROOT

from tracker.engine.arrays import ARRAYS
from tracker.metrics.table import METRICS
from tracker.samplers import SAMPLERS
from tracker.samplers.langevin import LangevinKeys

DOCS = ROOT / "docs"


@pytest.fixture(scope="module")
def maker() -> ModuleType:
    spec = importlib.util.spec_from_file_location("make_reference", DOCS / "make_reference.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", ["scenario-reference.md", "results-reference.md"])
def test_the_page_is_current(maker: ModuleType, name: str) -> None:
    assert (DOCS / name).read_text(encoding="utf-8") == maker.PAGES[name](), "run python docs/make_reference.py"


def test_a_new_declaration_changes_the_pages(maker: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    """Control."""
    monkeypatch.setitem(SAMPLERS, "another", LangevinKeys)
    assert 'kind = "another"' in maker.scenario_reference()
    monkeypatch.setitem(ARRAYS, "another", ARRAYS["trial"]._replace(name="another"))
    first = next(iter(METRICS.values()))
    monkeypatch.setitem(METRICS, "another_metric", first._replace(key="another_metric"))
    assert "`another`" in maker.results_reference()
    assert "`another_metric`" in maker.results_reference()


def test_every_key_is_explained(maker: ModuleType) -> None:
    rows = [line.split(" | ") for line in maker.scenario_reference().splitlines() if line.startswith("| `")]
    assert [row[0] for row in rows if not row[1].strip()] == []
