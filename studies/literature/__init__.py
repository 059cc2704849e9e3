"""The experiments of the literature on constant-step algorithms in switching worlds, each against an exact number."""
