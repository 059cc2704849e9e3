"""The engine: a scenario built, the one loop over steps, and trials simulated by it."""
