"""Read a scenario: from a file, a text, or a dict with the same keys."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tracker.scenario import toml_text
from tracker.scenario.code_file import CodeFile, load_code, read_code
from tracker.scenario.complaints import ScenarioError, show
from tracker.scenario.data_files import read_data_files
from tracker.scenario.handed_over import handed_over
from tracker.scenario.model import Scenario, make_scenario
from tracker.scenario.overrides import apply_settings
from tracker.scenario.plugins import load_plugins

if TYPE_CHECKING:
    from collections.abc import Sequence


def with_settings(scenario: Scenario, settings: Sequence[str]) -> Scenario:
    """Return the scenario with each ``"ADDRESS=VALUE"`` carried out; VALUE is TOML. Checked again."""
    return make_scenario(apply_settings(scenario.parts(), settings, scenario.plugins), scenario.plugins)


def parse(
    text: str | Mapping[str, Any],
    name: str = "scenario",
    settings: Sequence[str] = (),
    folder: str | Path | None = None,
    plugins: Sequence[str] = (),
    code: str | Path | CodeFile | None = None,
) -> Scenario:
    """Return the scenario that a TOML text describes, or a dict with the same keys; ``name`` stands for it in messages.

    ``settings`` are changes ``"chain.alpha=1e-4"`` made before the check; data files are looked for in ``folder``;
    ``plugins`` names installed packages whose costs and samplers may be used, ``code`` a Python file with one's own
    (docs/own-code): their code is run.

    >>> import tracker
    >>> from pathlib import Path
    >>> text = Path("scenarios/example_a.toml").read_text()
    >>> tracker.parse(text, settings=["chain.alpha=0.01"]).chain.alpha
    0.01
    """
    data = toml_text.read_tables(text, name) if isinstance(text, str) else _given_keys(text, name)
    more = load_plugins(plugins)
    if code is not None:
        more += load_code(code if isinstance(code, CodeFile) else read_code(code))
    if not isinstance(text, str):
        data, more = handed_over(data, more)
    data = apply_settings(data, settings, more) if settings else data
    scenario = make_scenario(data if folder is None else read_data_files(data, Path(folder), more), more)
    return scenario.written_as(text) if isinstance(text, str) and not settings else scenario


def _given_keys(data: Any, name: str) -> dict[str, Any]:
    """Return a dict that was given in place of a text."""
    if not isinstance(data, Mapping):
        raise ScenarioError([f"{name}: {show(data)} must be TOML text or a dict with the keys of a scenario file"])
    if strangers := [key for key in data if not isinstance(key, str)]:
        raise ScenarioError([f"{name}: {show(key)} must be text: it stands for a key" for key in strangers])
    return dict(data)


def load(
    path: str | Path,
    settings: Sequence[str] = (),
    plugins: Sequence[str] = (),
    code: str | Path | CodeFile | None = None,
) -> Scenario:
    """Return the scenario in a file; see ``parse``.

    >>> import tracker
    >>> tracker.load("scenarios/example_a.toml", ["trials=4"]).trials
    4
    """
    path = Path(path)
    return parse(toml_text.read_text(path), path.name, settings, path.parent, plugins, code)
