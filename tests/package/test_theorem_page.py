"""docs/theorem: every command and every example of the page is run, and every verdict is what the theorem says."""

from __future__ import annotations

import doctest
import re
import shlex

import pytest
from typer.testing import CliRunner
from worlds import ROOT

from tracker.cli import app

PAGE = (ROOT / "docs" / "theorem.md").read_text(encoding="utf-8")
COMMANDS = [
    line for block in re.findall(r"```bash\n(.*?)```", PAGE, flags=re.DOTALL) for line in block.splitlines() if line
]


@pytest.mark.parametrize("line", COMMANDS)
def test_the_command_confirms_what_the_theorem_says(line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    program, *arguments = shlex.split(line)
    assert program == "tracker"
    found = CliRunner().invoke(app, [*arguments, "--json", "--quiet"])
    assert found.exit_code == 0, found.output
    assert '"limit_verdict": "confirmed"' in found.stdout
    assert '"implementation_verdict": "confirmed"' in found.stdout


def test_the_examples_give_what_they_show(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    examples = "\n".join(re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL))
    test = doctest.DocTestParser().get_doctest(examples, {}, "theorem.md", None, 0)
    assert len(test.examples) > 20
    said: list[str] = []
    doctest.DocTestRunner(verbose=False).run(test, out=said.append)
    assert not said, "".join(said)


def test_every_theorem_has_a_check() -> None:
    parts = re.split(r"^## Theorem ", PAGE, flags=re.MULTILINE)[1:]
    assert len(parts) == 4
    assert all("**Checks.**" in part and "```" in part for part in parts)
