"""How the site is built: ``sphinx-build -W --keep-going -b html docs OUT``. Nothing is fetched."""

import os
import sys
import warnings
from pathlib import Path

import matplotlib as mpl

sys.path.insert(0, str(Path(__file__).parent / "_ext"))
mpl.use("agg")
for _threads in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(_threads, "1")

import mathml  # noqa: E402  (of _ext)

import sgbn  # noqa: E402  (threads are set before numpy loads)

project = "sgbn"
author = "the sgbn developers"
copyright = "the sgbn developers, BSD-3-Clause"
release = version = sgbn.__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    "api_names",
    "mathml",
    "offline_check",
    "repository_links",
]
exclude_patterns = ["_build", "gallery/**/*.ipynb", "gallery/*.zip"]
templates_path = ["_templates"]
default_role = "py:obj"  # `name` in a docstring, see _ext/api_names.py
nitpicky = True

myst_enable_extensions = ["dollarmath", "colon_fence"]
myst_heading_anchors = 3
myst_links_external_new_tab = False

autosummary_generate = True
autodoc_typehints = "none"  # the docstrings say what goes in, in words
autodoc_member_order = "bysource"
numpydoc_show_class_members = False  # _templates/autosummary/class.rst lists them

html_theme = "furo"
html_title = f"sgbn {release}"
html_static_path = ["_static", mathml.FONT]
html_css_files = ["site.css"]
html_math_renderer = "mathml"
html_copy_source = False
html_show_sphinx = False
pygments_style = "friendly"
pygments_dark_style = "monokai"

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"plot_",
    "abort_on_example_error": True,
    "within_subsection_order": "gallery_order.by_theme",
    "backreferences_dir": "gallery/uses",
    "doc_module": ("sgbn",),
    "reference_url": {"sgbn": None},
    "capture_repr": ("_repr_html_",),
    "image_scrapers": ("matplotlib",),
    "matplotlib_animations": False,
    "plot_gallery": "SGBN_NO_GALLERY" not in os.environ,
    "remove_config_comments": True,
    "show_memory": False,
    "write_computation_times": False,
    "show_signature": False,
    "download_all_examples": False,
}
warnings.filterwarnings("ignore", message="FigureCanvasAgg is non-interactive")
