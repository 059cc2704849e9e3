"""The same examples every time, on a machine of any speed."""

import os

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile(
    "fixed", derandomize=True, deadline=None, database=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("fixed")

# Several workers on two cores: more BLAS threads only wait for each other, and round sums in another order.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# The loop for one trial serves all tests but those of lanes, which ask for them: half as much is to be compiled.
os.environ.setdefault("TRACKER_LANES", "1")

# A page takes seconds to draw: the tests that are about it ask for it.
os.environ.setdefault("TRACKER_NO_REPORT", "1")

# The files that take longest begin first: whatever is left at the end is short, and no worker waits for another.
FIRST = (
    "test_kernels",
    "test_directories",
    "test_report_layout",
    "test_signals",
    "test_verdicts",
    "test_sweep",
    "test_report",
    "test_limits_density",
    "test_runs",
    "test_cli",
    "test_cache",
    "test_readme",
)


def pytest_configure(config: pytest.Config) -> None:
    # scenarios of tests are often doubtful on purpose; tests of the warnings look for them
    config.addinivalue_line("filterwarnings", "ignore::tracker.scenario.complaints.ScenarioWarning")
    config.option.loadscopereorder = False  # xdist's own order is by the number of tests, which tells little


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    place = {name: n for n, name in enumerate(FIRST)}
    items.sort(key=lambda item: place.get(item.path.stem, len(FIRST)))
