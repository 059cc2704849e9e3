"""``tracker schema``: the JSON schema of scenario files."""

from __future__ import annotations


def schema() -> None:
    """Print the JSON schema of scenario files.

    Editors complete and check keys with it when a file begins with `#:schema ./scenario.schema.json`.

    For example:

        tracker schema > scenarios/scenario.schema.json
    """
    from tracker.cli.printing import print_json
    from tracker.scenario import json_schema

    print_json(json_schema(), indent=2)
