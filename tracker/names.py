"""Names that the simulation and the pages share: the two baselines that stand beside every run."""

FROZEN, ORACLE = BASELINES = ("frozen", "oracle")  # never moves; knows the hidden mode
