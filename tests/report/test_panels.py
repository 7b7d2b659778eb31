"""Drawings side by side, and how they are told apart."""

import pytest
from matplotlib.figure import Figure
from matplotlib.text import Text

from histreg.report.panels import add_legend, name_points, panels, set_log


@pytest.mark.parametrize(
    ("n", "n_columns", "n_rows"), [(1, 1, 1), (3, 2, 2), (4, 4, 1)]
)
def test_there_is_a_drawing_for_each_and_no_empty_one(n, n_columns, n_rows):
    figure, axes = panels(n, n_columns, width=3.0, height=2.0)
    assert len(axes) == len(figure.axes) == n
    assert tuple(figure.get_size_inches()) == (3.0 * n_columns, 2.0 * n_rows)


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
    ax.figure.draw_without_rendering()
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


def named(points, others=()):
    """Return the names that were written, and the boxes of their letters."""
    figure, (ax,) = panels(1, 1, width=5.0, height=5.0)
    ax.set(xlim=(0, 10), ylim=(0, 10))
    figure.draw_without_rendering()
    name_points(ax, points, others)
    figure.draw_without_rendering()
    return ax, [Text.get_window_extent(text) for text in ax.texts]


def test_a_name_alone_stands_right_of_its_dot_without_a_line():
    ax, (box,) = named([("Alien", (5, 5))])
    x, y = ax.transData.transform((5, 5))
    assert x < box.x0 < x + 15
    assert box.y0 < y < box.y1
    assert ax.texts[0].arrow_patch is None


def test_names_of_dots_close_together_hide_neither_each_other_nor_a_dot():
    points = [(f"Game {i}", (5 + 0.3 * (i % 3), 5 + 0.3 * (i // 3))) for i in range(9)]
    ax, boxes = named(points)
    for i, box in enumerate(boxes):
        assert not any(box.overlaps(other) for other in boxes[i + 1 :])
        assert not any(box.contains(*ax.transData.transform(p)) for _, p in points)
    # Those that found no place beside their dot are tied to it.
    assert any(text.arrow_patch is not None for text in ax.texts)


@pytest.mark.parametrize("corner", [(0.1, 0.1), (9.9, 0.1), (0.1, 9.9), (9.9, 9.9)])
def test_a_name_stays_inside_the_drawing(corner):
    ax, (box,) = named([("JourneyEscape", corner)])
    frame = ax.get_window_extent()
    assert frame.x0 <= box.x0 and box.x1 <= frame.x1
    assert frame.y0 <= box.y0 and box.y1 <= frame.y1


def test_of_two_dots_at_one_place_both_have_a_name():
    ax, boxes = named([("Alien", (5, 5)), ("Pong", (5, 5))])
    assert [text.get_text() for text in ax.texts] == ["Alien", "Pong"]
    assert not boxes[0].overlaps(boxes[1])


def test_dots_without_a_name_are_not_hidden_either():
    ax, (box,) = named([("Alien", (5, 5))], [(5.5, 5), (5.5, 4.8)])
    assert box.x1 < ax.transData.transform((5, 5))[0]
