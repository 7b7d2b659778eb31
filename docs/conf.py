"""The documentation site: ``make docs`` builds it with Sphinx, offline.

Pages are Markdown that also reads well in the repository. A warning is an error.
"""

from __future__ import annotations

import re
import tomllib
import warnings
from pathlib import Path
from typing import Any

import latex2mathml.converter
from docutils import nodes
from PIL import Image
from sphinx.application import Sphinx

import histreg

ROOT = Path(__file__).parents[1]
METADATA = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
# A placeholder until the repository has an address, which is in the notebooks too.
REPOSITORY = METADATA.get("urls", {}).get("Source", "https://github.com/OWNER/histreg")

project = "histreg"
author = "the histreg authors"
release = version = histreg.__version__
extensions = [
    "myst_nb",  # Markdown and notebooks
    "sphinx.ext.autodoc",  # the reference, from docstrings
    "sphinx.ext.napoleon",  # which are numpydoc
    "sphinx_gallery.gen_gallery",  # examples/, run
    "sphinx_copybutton",
]
root_doc = "index"
default_role = "code"  # names in single backticks, in docstrings
exclude_patterns = ["gallery/*.ipynb", "gallery/*.py", "gallery/*.json"]
myst_heading_anchors = 4  # as GitHub has them
myst_enable_extensions = ["dollarmath"]
nb_execution_mode = "off"  # `make notebooks` runs them; a test holds them to it
nb_merge_streams = True

autodoc_default_options = {
    "members": True,
    "member-order": "bysource",
    # scikit-learn's own, with references to its documentation; torch's own
    "exclude-members": "set_fit_request, set_partial_fit_request, set_predict_request, "
    "set_score_request, get_extra_state, set_extra_state",
}
autodoc_typehints = "none"  # docstrings have types with shapes
napoleon_google_docstring = False
napoleon_use_rtype = False

smartquotes = False  # of two dashes of an option they would make one
html_theme = "furo"  # search, dark mode, 100 kB a page
pygments_dark_style = "monokai"  # the default underlines modules as if they were links
html_title = f"histreg {release}"
html_static_path = ["_static"]
html_favicon = "_static/icon.svg"
html_css_files = ["site.css"]
html_js_files = ["versions.js"]
templates_path = ["_templates"]
html_sidebars = {
    "**": [
        "sidebar/brand.html",
        "sidebar/search.html",
        "sidebar/scroll-start.html",
        "sidebar/navigation.html",
        "sidebar/versions.html",
        "sidebar/scroll-end.html",
    ]
}
html_show_sphinx = False
html_show_copyright = False
html_copy_source = False
html_math_renderer = "mathml"  # browsers draw it without a script or a font
copybutton_exclude = ".linenos, .gp, .go"  # no prompts, no output

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": "/",  # all are run
    "ignore_pattern": "value_learning|distributed",  # without a picture
    "within_subsection_order": "ExampleTitleSortKey",
    "abort_on_example_error": True,
    "download_all_examples": False,
    "show_signature": False,
    "write_computation_times": False,
    "min_reported_time": 1e9,  # times of a shared machine say nothing
}
warnings.filterwarnings("ignore", message=".*Agg.*cannot be shown")

SIZES = {"small": 800, "broad": 1100, "wide": 10_000}
"""Pictures by their width in pixels; site.css has how narrow each may become."""
BESIDE = re.compile(r"\]\(\.\./([\w./-]+)(#[\w-]+)?\)")
INCLUDED = re.compile(r"```\{include\} \.\./(\S+)\n```")


def with_links_of_the_site(_: Sphinx, name: str, source: list[str]) -> None:
    """Point links to what is outside of docs/ at the site, or at the repository."""

    def pointed(link: re.Match[str]) -> str:
        path, anchor = Path(link[1]), link[2] or ""
        if path.parts[0] == "docs":
            return f"]({path.relative_to('docs')}{anchor})"
        if path.name in ("CONTRIBUTING.md", "CHANGELOG.md"):
            return f"]({path.name.lower()}{anchor})"
        if (ROOT / "docs" / "gallery" / f"{path.stem}.rst").exists():
            return f"](gallery/{path.stem}.rst)"
        kind = "tree" if (ROOT / path).is_dir() else "blob"
        return f"]({REPOSITORY}/{kind}/main/{path}{anchor})"

    included = INCLUDED.match(source[0])
    if included:  # its links start from the top of the repository
        text = (ROOT / included[1]).read_text()
        source[0] = re.sub(r"\]\((?!https?:|#)", "](../", text)
    if "/" not in name:
        source[0] = BESIDE.sub(pointed, source[0])


def visit_formula(self: Any, node: nodes.math) -> None:
    """Write a formula inside a line as MathML."""
    self.body.append(latex2mathml.converter.convert(node.astext()))
    raise nodes.SkipNode


def visit_displayed(self: Any, node: nodes.math_block) -> None:
    """Write a formula on a line of its own as MathML."""
    formula = latex2mathml.converter.convert(node.astext(), display="block")
    self.body.append(f'<div class="math">{formula}</div>')
    raise nodes.SkipNode


def with_lazy_pictures(_: Sphinx, doctree: nodes.document) -> None:
    """Load a picture when a reader comes to it, and let it be scrolled if it is wide.

    Some pages have many pictures, and letters must be legible on a telephone.
    """
    for picture in doctree.findall(nodes.image):
        picture["loading"] = "lazy"
        path = ROOT / "docs" / picture["uri"]
        if path.suffix == ".png" and path.is_file() and path.parent.name == "images":
            with Image.open(path) as image:
                size = next(name for name, px in SIZES.items() if image.width <= px)
                picture["classes"] += ["drawing", size]


def with_dashes(_: Sphinx, doctree: nodes.document) -> None:
    """Put a dash between the type of an argument or result and its description.

    Sphinx writes two hyphens, which only its smart quotes would turn into one.
    """
    for text in list(doctree.findall(nodes.Text)):
        if text.startswith((" -- ", ") -- ")):
            dashed = text.replace(" -- ", " – ", 1)  # noqa: RUF001
            text.parent.replace(text, nodes.Text(dashed))


def without_unused_files(
    _: Sphinx,
    name: str,
    template: str,  # noqa: ARG001
    context: dict[str, Any],
    doctree: nodes.document | None,  # noqa: ARG001
) -> None:
    """Load what is for notebooks and the gallery on their pages only."""
    unused = [
        mark
        for mark, folder in (("mystnb", "notebooks/"), ("sg", "gallery/"))
        if not name.startswith(folder)
    ]
    for kind in ("css_files", "script_files"):
        context[kind] = [
            file
            for file in context[kind]
            if not Path(str(file.filename)).name.startswith(tuple(unused))
        ]


def setup(app: Sphinx) -> None:
    """Register what this file adds."""
    app.connect("source-read", with_links_of_the_site)
    app.connect("doctree-read", with_lazy_pictures)
    app.connect("doctree-read", with_dashes)
    app.connect("html-page-context", without_unused_files, priority=900)  # the last
    app.add_html_math_renderer("mathml", (visit_formula, None), (visit_displayed, None))
