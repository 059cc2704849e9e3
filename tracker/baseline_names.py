"""The names of the two baselines that every run has."""

FROZEN, ORACLE = BASELINES = ("frozen", "oracle")  # never moves; knows the hidden mode
