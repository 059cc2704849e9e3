"""The claims of the shipped scenarios, checked at full size."""
