"""Tables of numpy's ziggurat for the normal law: 256 layers, |x| < width * 2**52 accepted at once below ``quick``."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tracker.array_types import Array, Words

_ROWS = [line.split() for line in Path(__file__).with_suffix(".txt").read_text().splitlines() if line[0] != "#"]
NORMAL_WIDTH: Array = np.array([float.fromhex(width) for width, _, _ in _ROWS])
NORMAL_HEIGHT: Array = np.array([float.fromhex(height) for _, height, _ in _ROWS])
NORMAL_QUICK: Words = np.array([int(quick) for _, _, quick in _ROWS], dtype=np.uint64)
NORMAL_TAIL = 3.6541528853610087963519472518
NORMAL_TAIL_INVERSE = 0.27366123732975827203338247596
