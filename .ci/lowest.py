"""Print the lowest versions that pyproject.toml declares, one exact pin a line, for pip: NAME>=X,<Y becomes NAME==X.

With ``newest`` only what bounds the newest ones is left: NAME<Y.
What only lints or checks types is left out; whoever declares no lowest version is told.
"""

import re
import sys
import tomllib
from pathlib import Path

LINT = {"mypy", "ruff", "scipy-stubs"}

project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
for wanted in (*project["dependencies"], *project["optional-dependencies"]["test"]):
    found = re.fullmatch(r"([\w.-]+)(\[[\w,-]+\])?>=([\w.]+)(?:,(<[\w.]+))?", wanted)
    if found is None:
        sys.exit(f"pyproject.toml: {wanted!r} is not of the form NAME>=VERSION or NAME>=VERSION,<VERSION")
    name, extras, version, bound = found.groups()
    if name not in LINT:
        print(f"{name}{extras or ''}" + (bound or "" if "newest" in sys.argv else f"=={version}"))
