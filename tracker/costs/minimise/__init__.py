"""Minimisers of the expected cost of a mode: the global search, the descent from a point, the cost close to a point."""
