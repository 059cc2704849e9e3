"""The site: Sphinx over the Markdown pages of this folder, with notebooks and examples that are executed when it is built.

python -m sphinx -W -b html docs build/site
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from tracker import __version__

project, author, release = "tracker", "The tracker developers", __version__
extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx_gallery.gen_gallery"]
exclude_patterns = ["examples/*.rst", "examples/*.py", "gallery/*.ipynb", "gallery/*.py"]
root_doc = "index"

html_theme = "furo"
html_title = f"tracker {__version__}"
html_show_sphinx = False

myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 4
nb_execution_mode = "force"
nb_execution_timeout = 300
nb_execution_raise_on_error = True
nb_merge_streams = True

autodoc_member_order = "bysource"
autodoc_typehints = "none"  # signatures say them already
napoleon_numpy_docstring = True

sphinx_gallery_conf = {
    "examples_dirs": "examples",
    "gallery_dirs": "gallery",
    "filename_pattern": "/plot_",
    "download_all_examples": False,
    "show_memory": False,
    "min_reported_time": 1e9,
}

# Links to files of the repository that are no pages of the site.
suppress_warnings = ["myst.xref_missing", "myst.header", "config.cache"]
