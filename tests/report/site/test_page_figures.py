"""Figures on a page: light, right in the dark, and told in words."""

import re
from xml.etree import ElementTree

import numpy as np
import pytest
from matplotlib.figure import Figure

from histreg.report.colours import BLUE
from histreg.report.site import page_figures
from histreg.report.site.page_figures import figure_in_words, page_figure


@pytest.fixture
def figure():
    figure = Figure(figsize=(4, 3), layout="constrained")
    ax = figure.add_subplot()
    ax.plot([1, 2, 4, 8], [0.00012345, 2, 0.5, 3], color=BLUE, label="HL-Gauss <&>")
    ax.plot([1, 2, 4, 8], [4, 3, 2, 1], color="black", label="l2")
    ax.set(title="Pole", xlabel="bins", ylabel="MAE")
    ax.set_xticks([1, 8], ["1.23456", "8"])
    return figure


def test_a_drawing_is_one_svg_that_scales(figure):
    markup = str(page_figure(figure, "test").markup)
    svg = ElementTree.fromstring(markup.replace("xlink:", ""))
    assert svg.tag.endswith("svg") and svg.get("viewBox") == "0 0 288 216"
    assert svg.get("role") == "img" and "width" not in svg.attrib
    assert "metadata" not in markup and "<?xml" not in markup


def test_colours_are_those_of_the_page(figure):
    markup = str(page_figure(figure, "test").markup)
    assert "var(--blue)" in markup and "currentColor" in markup
    assert not re.search("#(000000|ffffff)|" + BLUE, markup)


def test_rounding_leaves_texts_alone(figure):
    markup = str(page_figure(figure, "test").markup)
    assert "1.23456" in markup
    paths = " ".join(re.findall(r' d="([^"]*)"', markup))
    assert not re.search(r"\d\.\d{3}", paths)


def test_a_style_in_it_holds_for_drawings_alone(figure):
    markup = str(page_figure(figure, "test").markup)
    assert "*{" not in markup.replace(".drawing *{", "")


def test_the_words_tell_axes_and_where_lines_go(figure):
    assert figure_in_words(figure) == (
        "Pole: MAE over bins; HL-Gauss <&> goes from 0.000123 at 1 to 3 at 8; "
        "l2 goes from 4 at 1 to 1 at 8."
    )
    figure.axes[0].lines[0].set_ydata([3, 2, 0.5, 3])
    assert "to 3 at 8, lowest 0.5 at 4;" in figure_in_words(figure)


def test_the_words_are_escaped_in_the_markup(figure):
    drawing = page_figure(figure, "test")
    assert "HL-Gauss <&>" in drawing.words
    assert 'aria-label="Pole: MAE over bins; HL-Gauss &lt;&amp;&gt; goes' in (
        drawing.markup
    )


def test_several_drawings_are_numbered_and_rows_are_named():
    figure = Figure()
    for ax in figure.subplots(1, 2):
        ax.set(xlabel="test MAE", title="Pole")
        ax.set_yticks([0, 1], ["l2", "HL-Gauss"])
        ax.plot([1.0], [1], "o", label="ours")
        ax.plot([2.0], [0], "o")
        ax.axvline(3.0)
        ax.axhline(0.5, label="level")
    one = (
        "Pole: one row each over test MAE; l2, HL-Gauss; lowest filled mark: HL-Gauss "
        "at 1; ours; level level at 0.5."
    )
    assert figure_in_words(figure) == f"2 drawings. (1) {one} (2) {one}"


def test_powers_on_an_axis_are_no_names():
    figure = Figure()
    ax = figure.add_subplot()
    ax.plot([1, 2, 3], [1e-8, 1.0, 1e8], label="bias")
    ax.set(yscale="log", xlabel="sigma", ylabel="bias")
    assert (
        figure_in_words(figure)
        == "bias over sigma; bias goes from 1e-08 at 1 to 1e+08 at 3."
    )


def test_a_heavy_drawing_becomes_an_image(figure, monkeypatch):
    monkeypatch.setattr(page_figures, "MAX_SVG_LETTERS", 1000)
    figure.axes[0].plot(np.arange(100), np.sin(np.arange(100)))
    markup = str(page_figure(figure, "test").markup)
    assert markup.startswith("<img") and 'src="data:image/png;base64,' in markup
    assert 'alt="Pole: MAE over bins' in markup
