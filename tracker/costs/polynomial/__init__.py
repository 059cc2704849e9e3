"""The polynomial cost: its keys, its kernels, the parser of its formula, and whether it is bounded below."""
