"""``run.plot``: each exhibit of the page of a run as a matplotlib figure."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from tracker.reports.exhibit import Exhibit, Omitted

if TYPE_CHECKING:
    from collections.abc import Callable

    from matplotlib.figure import Figure

    from tracker.runs import Run


class RunPlot:
    """The exhibits of a run by their names: ``run.plot.one_trial()`` returns the figure; ``dir(run.plot)`` lists them."""

    def __init__(self, run: Run) -> None:
        self._run = run

    @cached_property
    def _exhibits(self) -> dict[str, Exhibit | Omitted]:
        from tracker.reports.run_page import exhibits

        return {item.key.replace("-", "_"): item for item in exhibits(self._run)}

    def __dir__(self) -> list[str]:
        """List the exhibits that this run has."""
        return [name for name, item in self._exhibits.items() if isinstance(item, Exhibit)]

    def __getattr__(self, name: str) -> Callable[[], Figure]:
        """Return the function that gives the figure of an exhibit; one that does not apply here says why."""
        if name.startswith("_"):
            raise AttributeError(name)
        found = self._exhibits.get(name)
        if isinstance(found, Exhibit):
            return lambda: found.figure
        why = f"is left out for this run: {found.reason}" if found is not None else "is no exhibit"
        raise AttributeError(f"{name} {why}; this run has {', '.join(dir(self))}")

    def __repr__(self) -> str:
        """Say what there is."""
        return f"exhibits of {self._run.scenario.name}: {', '.join(dir(self))}"
