"""Axes to draw on."""

import matplotlib
import numpy as np
import pytest

matplotlib.use("Agg")

from matplotlib import pyplot
from matplotlib.figure import Figure

from histreg._axes import axes_or_new, draw_histogram, plain, show_dates


def test_given_axes_are_used_and_new_ones_belong_to_pyplot():
    ax = Figure().add_subplot()
    assert axes_or_new(ax) is ax
    new = axes_or_new(None, height=2.0)
    assert new.figure is pyplot.gcf() and new.figure.get_figheight() == 2.0
    pyplot.close("all")


def test_dollars_start_no_formula():
    assert plain("cost $a$") == r"cost \$a\$"


def test_bins_that_are_nearly_points_are_lines_of_their_probability():
    ax = Figure().add_subplot()
    borders = np.array([0.0, 1.0, 1.0 + 1e-6, 2.0, 2.0 + 1e-6, 3.0])
    probs = np.array([0.01, 0.6, 0.01, 0.37, 0.01])
    assert draw_histogram(ax, probs, borders, color="k") == "probability"
    (lines,) = ax.collections
    ends = [segment[:, 1].tolist() for segment in lines.get_segments()]
    assert ends == [[0.0, 0.6], [0.0, 0.37]] and not ax.patches
    even = np.linspace(0, 3, 6)
    assert draw_histogram(ax, probs, even, color="k") == "density"
    (stairs,) = ax.patches
    np.testing.assert_allclose(stairs.get_data().values, probs / 0.6)


def test_a_point_beside_a_density_is_a_line_with_its_probability():
    ax = Figure().add_subplot()
    borders = np.array([0.0, 1.0, 1.0 + 1e-6, 2.0, 3.0])
    probs = np.array([0.01, 0.8, 0.1, 0.09])
    assert draw_histogram(ax, probs, borders, color="k") == "density"
    (stairs,) = ax.patches
    shown = stairs.get_data().values
    np.testing.assert_allclose(shown, [0.01, 0, 0.1, 0.09], rtol=1e-5)
    (text,) = ax.texts
    assert text.get_text() == " 80%" and text.xy[0] == pytest.approx(1.0)


@pytest.mark.parametrize(
    "days", [1 / 1440, 0.1, 1, 2.2, 3, 20, 59, 100, 400, 730, 1080, 1500, 9000, 40_000]
)
def test_a_span_of_any_length_has_a_few_dates(days):
    ax = Figure(figsize=(3, 2)).add_subplot()
    ax.plot([15_000, 15_000 + days], [0, 1])
    show_dates(ax.xaxis)
    ax.figure.draw_without_rendering()  # matplotlib warns if no interval fits
    low, high = ax.get_xlim()
    shown = [tick for tick in ax.get_xticks() if low <= tick <= high]
    assert 1 <= len(shown) <= 6
