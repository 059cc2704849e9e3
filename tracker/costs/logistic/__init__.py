"""Logistic regression on stored rows: its keys and its kernels."""
