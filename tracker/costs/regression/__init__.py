"""Regression, y = phi'theta + noise: its losses, its regressors (drawn or stored) and its keys."""
