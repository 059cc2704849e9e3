"""Metrics: arrays in, numbers out. Standard errors always come from independent trials."""
