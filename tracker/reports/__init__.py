"""Reports: figures (data in, Figure out) and one self-contained HTML page."""
