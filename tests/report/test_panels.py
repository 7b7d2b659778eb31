"""Drawings side by side, and how they are told apart."""

import pytest
from matplotlib.figure import Figure

from histreg.report.panels import add_legend, looks_of, panels, set_log


@pytest.mark.parametrize(
    ("n", "n_columns", "n_rows"), [(1, 1, 1), (3, 2, 2), (4, 4, 1)]
)
def test_there_is_a_drawing_for_each_and_no_empty_one(n, n_columns, n_rows):
    figure, axes = panels(n, n_columns, width=3.0, height=2.0)
    assert len(axes) == len(figure.axes) == n
    assert tuple(figure.get_size_inches()) == (3.0 * n_columns, 2.0 * n_rows)


def test_known_losses_keep_their_looks_and_others_take_none_of_them():
    alone, together = looks_of(["HL-Gauss"]), looks_of(["MDN", "l2", "HL-Gauss", "x"])
    assert alone["HL-Gauss"] == together["HL-Gauss"]
    assert len({color for color, _ in together.values()}) == 4
    assert len({mark for _, mark in together.values()}) == 4


def test_more_losses_than_looks_are_drawn_all_the_same():
    assert len(looks_of(map(str, range(12)))) == 12


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (0.5, 20.0, {"0.5", "1", "2", "5", "10", "20"}),
        (0.01, 1000.0, {"0.1", "1", "10"}),
    ],
)
def test_log_axes_have_numbers_as_people_write_them(low, high, expected):
    ax = Figure().subplots()
    ax.plot([1, 2], [low, high])
    set_log(ax.yaxis)
    ax.figure.canvas.draw()
    labels = {text.get_text() for text in ax.get_yticklabels()}
    assert expected <= labels
    assert ("2" in labels) == ("2" in expected)
    assert ax.get_xscale() == "linear"


def test_a_legend_makes_its_own_room():
    figure, (ax,) = panels(1, 1)
    before = figure.get_figheight()
    add_legend(figure)
    assert figure.get_figheight() == before  # there is nothing to say
    ax.plot([1, 2], label="a")
    add_legend(figure)
    assert figure.get_figheight() > before
