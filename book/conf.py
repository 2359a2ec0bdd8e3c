"""Sphinx's settings of the book."""

import inspect
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "python"))
sys.path.insert(0, str(ROOT / "book"))

project = "swtch"
author = "The swtch developers"
copyright = "The swtch developers, MIT OR Apache-2.0"
extensions = ["myst_parser", "sphinx.ext.autodoc", "pygments_console"]
# The documentation of the package needs no compiled module.
autodoc_mock_imports = ["swtch._native"]
autodoc_typehints = "signature"
autodoc_member_order = "bysource"
add_module_names = False
python_use_unqualified_type_names = True

myst_heading_anchors = 4
myst_enable_extensions = ["deflist"]
suppress_warnings = ["myst.header"]

html_theme = "furo"
html_title = "swtch"
html_static_path = ["static"]
html_css_files = ["book.css"]
html_copy_source = False
html_show_sphinx = False
html_theme_options = {"navigation_with_keys": True}


def _docstring(app, what, name, thing, options, lines):
    """Docstrings are written for a reader of the source: code in single backticks, a line `name: meaning` for a parameter."""
    whole = re.sub(r"(?<!`)`([^`]+)`(?!`)", r"``\1``", "\n".join(lines))
    text = []
    for line in whole.split("\n"):
        parameter = re.match(r"(\w+)(, \w+)*: ", line)
        if parameter and parameter[1] in _parameters(thing):
            if text and text[-1] and not text[-1].startswith((" ", ":")):
                text.append("")
            line = f":{line}"
        text.append(line)
    lines[:] = text


def _parameters(thing):
    try:
        return inspect.signature(thing).parameters
    except (TypeError, ValueError):
        return {}


def setup(app):
    """Sphinx calls it."""
    app.connect("autodoc-process-docstring", _docstring)
