"""What a run will leave out, known before it: baselines that do not apply to the scenario, with the reason."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tracker.engine.simulate import prepare

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tracker.scenario import Mode, Scenario


def absent_baselines(scenario: Scenario, modes: Sequence[Mode]) -> tuple[str, ...]:
    """Return a note on each; ``ScenarioError`` where the file lists one that does not apply."""
    return tuple(prepare(scenario, tuple(modes)).notes.values())
