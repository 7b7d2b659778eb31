"""Figures draw the numbers they are given."""

import base64

import numpy as np
import pytest
import torch
from matplotlib.figure import Figure

from histreg import Bins, Histogram
from histreg.report import model_figures


@pytest.fixture
def ax():
    return Figure().add_subplot()


def test_a_picture_is_an_svg_address():
    address = model_figures.picture(lambda ax: ax.plot([0, 1]))
    head, data = address.split(",")
    assert head == "data:image/svg+xml;base64"
    assert b"<svg" in base64.b64decode(data)


def test_text_that_our_font_lacks_is_left_to_the_browser():
    def svg(name):
        address = model_figures.picture(lambda ax: ax.set_xlabel(name))
        return base64.b64decode(address.split(",")[1]).decode()

    for name in ("价格", "السعر", "💶"):
        assert f">{name}</text>" in svg(name)
    assert "<text" not in svg("prix de l'été, €")  # outlines, the same everywhere


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
