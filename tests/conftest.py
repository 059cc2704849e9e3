"""The same examples every time, on a machine of any speed."""

import os

from hypothesis import settings

settings.register_profile("fixed", derandomize=True, deadline=None, database=None)
settings.load_profile("fixed")

# Several workers on two cores: more BLAS threads only wait for each other, and round sums in another order.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# A page takes seconds to draw: the tests that are about it ask for it.
os.environ.setdefault("TRACKER_NO_REPORT", "1")
