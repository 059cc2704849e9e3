"""``python -m studies.paper``: measure, or write the page; see ``studies/paper/measure.py``."""

import sys

from studies.paper.measure import main

main(sys.argv[1:])
