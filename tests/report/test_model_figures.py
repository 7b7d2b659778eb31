"""Figures draw the numbers they are given."""

import re
from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pytest
import torch
from matplotlib.figure import Figure

from histreg import Bins, Histogram
from histreg.report import model_figures
from histreg.report.colours import BLACK, BLUE, GREY, ORANGE
from histreg.tabular.group_scores import GroupScore, GroupScores
from histreg.tabular.scores import Scores


@pytest.fixture
def ax():
    return Figure().add_subplot()


def test_a_picture_is_an_element_in_the_colours_of_the_page():
    def draw(ax):
        for colour in (BLUE, ORANGE, GREY, BLACK):
            ax.plot([0, 1], color=colour)

    svg = model_figures.picture(draw, 'A "line" & more')
    assert svg.startswith('<svg class="figure" role="img" aria-label="A &quot;line')
    assert svg.rstrip().endswith("</svg>")
    for name in ("blue", "orange", "grey"):
        assert f"var(--{name})" in svg
    assert "currentColor" in svg and not re.search(r"#[0-9a-f]{6}", svg)
    assert "font-family" not in svg and "DejaVu" not in svg
    assert ElementTree.fromstring(svg).get("viewBox")


def test_pictures_on_one_page_have_no_name_in_common():
    def names(label):
        svg = model_figures.picture(lambda ax: ax.plot([0, 1]), label)
        return set(re.findall(r' id="([^"]+)"', svg))

    assert names("first") and not names("first") & names("second")


def test_text_is_left_to_the_browser():
    for name in ("价格", "السعر", "💶", "prix de l'été, €", "cost $a$ <&>"):
        svg = model_figures.picture(lambda ax, name=name: ax.set_xlabel(name), "label")
        texts = [each.text for each in ElementTree.fromstring(svg).iter("text")]
        assert name in texts


def test_coverage_is_that_of_groups_by_spread(ax):
    spread, covered = np.array([3.0, 1.0, 4.0, 2.0]), np.array([0.0, 1.0, 1.0, 1.0])
    model_figures.draw_coverage_by_spread(ax, spread, covered, coverage=0.9, n_groups=2)
    np.testing.assert_allclose(ax.lines[1].get_ydata(), [1.0, 0.5])


def test_the_coverage_of_each_group_is_drawn_with_what_chance_allows(ax):
    scores = Scores(1.0, 1.0, 1.0, 1.0, coverage=0.8, width=1.0)
    good = GroupScore("good $a$", 30, replace(scores, coverage=0.95), chance=0.08)
    by = GroupScores("kind", (good, GroupScore("bad", 50, scores, chance=0.06)))
    model_figures.draw_coverage_by_group(ax, by, coverage=0.9)
    _, bad, shown_good = ax.lines  # from below; the first is the promise
    assert (bad.get_xdata()[0], shown_good.get_xdata()[0]) == (0.8, 0.95)
    assert bad.get_color() == ORANGE and shown_good.get_color() == BLUE
    low, top = (bar.get_bbox().intervalx for bar in ax.patches)
    np.testing.assert_allclose(low, [0.84, 0.96])
    np.testing.assert_allclose(top, [0.82, 0.98])


def test_means_are_drawn_in_the_order_of_time(ax):
    seconds = np.array([3, 1, 2, 0]) * 86400.0
    y = np.array([30.0, 10.0, 20.0, 0.0])
    model_figures.draw_time(ax, seconds, y + 1, y, n_groups=2)
    true, predicted = (line.get_ydata() for line in ax.lines)
    np.testing.assert_allclose(true, [5, 25])
    np.testing.assert_allclose(predicted, [6, 26])
    np.testing.assert_allclose(ax.lines[0].get_xdata(), [0.5, 2.5])


def test_the_pit_bars_are_the_shares_of_rows(ax):
    pit = np.array([0.01, 0.02, 0.99, 0.5])
    model_figures.draw_pit(ax, pit, n_bars=4)
    (bars,) = [patch for patch in ax.patches if hasattr(patch, "get_data")]
    np.testing.assert_allclose(bars.get_data().values, [0.5, 0, 0.25, 0.25])


def test_errors_whose_squares_are_infinite_are_drawn(ax):
    spread, error = np.array([1.0, 1.0]), np.array([3e300, -4e300])
    model_figures.draw_error_by_spread(ax, spread, error, target="y", n_groups=1)
    assert ax.lines[1].get_ydata()[0] == pytest.approx(12.5**0.5 * 1e300)


def test_errors_are_grouped_by_spread(ax):
    spread = np.array([1.0, 3.0, 1.0, 3.0])
    error = np.array([2.0, 4.0, -2.0, -4.0])
    model_figures.draw_error_by_spread(ax, spread, error, target="y", n_groups=2)
    x, y = ax.lines[1].get_data()
    np.testing.assert_allclose(x, [1, 3])
    np.testing.assert_allclose(y, [2, 4])


@pytest.mark.parametrize("truth", [1.0, 9.0])
def test_a_distribution_is_drawn_with_its_mean_and_the_truth_in_view(ax, truth):
    one = Histogram(Bins.uniform(0, 4, 4), probs=torch.tensor([0.1, 0.2, 0.3, 0.4]))
    model_figures.draw_distribution(ax, one, truth, target="y")
    mean, came = (line.get_xdata()[0] for line in ax.lines)
    assert mean == pytest.approx(2.5) and came == truth
    low, high = ax.get_xlim()
    assert low < truth < high


@pytest.mark.parametrize(
    ("masses", "peaks"),
    [
        ([0.1, 0.2, 0.3, 0.4], False),
        ([0.1, 0.2, 0.2, 0.5], True),
        ([0.5, 0.2, 0.2, 0.1], True),
        ([0.0, 0.992, 0.0, 0.008], False),  # too little to be seen
    ],
)
def test_a_peak_at_an_end_is_twice_as_high_as_its_neighbour(masses, peaks):
    bins = Bins.uniform(0, 4, len(masses))
    one = Histogram(bins, probs=torch.tensor(masses))
    assert model_figures.peaks_at_end(one) == peaks


def test_reliability_shows_what_was_found(ax):
    levels = np.array([0.5, 0.9])
    found = {"as predicted": np.array([0.6, 0.95]), "calibrated": levels}
    model_figures.draw_reliability(ax, levels, found)
    np.testing.assert_allclose(ax.lines[1].get_ydata(), [0.6, 0.95])
    assert [text.get_text() for text in ax.get_legend().get_texts()] == list(found)


def test_predictions_are_drawn_over_their_truth(ax):
    model_figures.draw_predictions(
        ax, np.array([1.0, 2.0]), np.array([3.0, 4.0]), target="y"
    )
    shown = np.sort(ax.collections[0].get_offsets().data, axis=0)
    np.testing.assert_allclose(shown, [[1, 3], [2, 4]])


def test_large_numbers_of_an_axis_are_written_as_on_the_page():
    def draw(ax):
        ax.plot([0, 700_000], [2003, 2009])

    texts = re.findall(r"<text[^>]*>([^<]*)</text>", model_figures.picture(draw, "x"))
    assert "400,000" in texts
    assert "2004" in texts and "2,004" not in texts  # a year
