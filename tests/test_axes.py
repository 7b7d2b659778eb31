"""Axes to draw on."""

import matplotlib

matplotlib.use("Agg")

from matplotlib import pyplot
from matplotlib.figure import Figure

from histreg._axes import axes_or_new, plain


def test_given_axes_are_used_and_new_ones_belong_to_pyplot():
    ax = Figure().add_subplot()
    assert axes_or_new(ax) is ax
    new = axes_or_new(None, height=2.0)
    assert new.figure is pyplot.gcf() and new.figure.get_figheight() == 2.0
    pyplot.close("all")


def test_dollars_start_no_formula():
    assert plain("cost $a$") == r"cost \$a\$"
