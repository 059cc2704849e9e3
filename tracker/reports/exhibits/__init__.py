"""Exhibits of a run's page: each file holds one question, its figure and its numbers."""
