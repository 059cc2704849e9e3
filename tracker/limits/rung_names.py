"""The rungs of the ladder of knowledge, and what each of them knows: names that a page uses without solving anything."""

AT_BETA = "knows the mode, samples at this beta"
BEST_STEP, BEST_LINEAR, BEST_FILTER = "best step", "best linear filter", "best filter"

KNOWS = {
    AT_BETA: "the hidden mode and all costs",
    BEST_STEP: "which constant step is best, at the beta of the sampler",
    BEST_LINEAR: "the chain's law and all costs; linear in the gradients",
    BEST_FILTER: "the chain's law and all costs",
}
