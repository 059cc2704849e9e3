"""The stages of the soak, by what they attack."""
