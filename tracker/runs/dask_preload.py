"""Start-up code of the workers of a local Dask cluster: it keeps signals to our process group away from them.

Ctrl-C, a closed terminal and ``kill -- -GROUP`` reach all processes of a group at once. Workers that died of them would be
taken for broken, while the process that started them is about to end them in order.
"""

from __future__ import annotations

import os
from typing import Any


def dask_setup(worker: Any) -> None:
    """Leave the group of the process that started this one; Dask ends a worker whose starter is gone."""
    if hasattr(os, "setpgid"):
        os.setpgid(0, 0)
