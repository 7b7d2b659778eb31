"""Figures of measurements, of records made by hand."""

import numpy as np
import pytest
from matplotlib.colors import to_hex

from histreg.report.colours import BLUE, ORANGE
from histreg.report.experiment_figures import figure_of
from histreg.study.measurements import Measurement
from tests.report.examples import BIAS, EXAMPLE, MINIMISER, RECORDS
from tests.report.reading import lines_of
from tests.study.made_up import label_bias_record, record_of


def test_the_label_bias_is_drawn_over_sigma_with_that_of_one_bin_as_a_line():
    records = [
        label_bias_record("pole", [0.0, 0.5, 1.0], [0.3, 0.1, 0.01]),
        label_bias_record("bike", [0.0, 0.5, 1.0], [3.0, 1.0, 0.1]),
        label_bias_record("ct", [0.0, 0.5, 1.0], [0.2, 0.1, 0.0]),
    ]
    axes = figure_of("label-bias", records).axes
    assert [ax.get_title() for ax in axes] == ["Pole", "Bike Sharing", "CT Position"]
    ax = axes[1]
    lines = lines_of(ax)
    x, y = lines["HL-Gauss"].get_data()
    assert list(x) == [0.5, 1.0] and list(y) == [1.0, 0.1]
    assert set(lines["HL-OneBin"].get_ydata()) == {3.0}
    assert ax.get_xscale() == "log"
    assert ax.get_xlabel() == "sigma in bins"
    assert ax.get_ylabel() == "mean absolute label bias"


def test_targets_are_drawn_as_their_density():
    (ax,) = figure_of("targets", RECORDS["targets"]).axes
    (bars,) = ax.patches
    values, borders, _ = bars.get_data()
    assert list(values) == [0.5, 1.5] and list(borders) == [0.0, 0.5, 1.0]
    assert (ax.get_title(), ax.get_ylabel()) == ("Pole", "density")


def test_the_biases_are_drawn_with_their_fits_on_a_log_scale():
    _, middle, right, *_ = figure_of("bias", [BIAS]).axes
    assert middle.get_yscale() == right.get_yscale() == "log"
    assert middle.get_xlabel() == "sigma in bins"
    assert right.get_xlabel() == "padding in sigmas"
    lines = lines_of(middle)
    assert list(lines["measured"].get_ydata()) == [0.17, 1.5e-3, 1e-16]
    x, y = lines["A exp(B x²)"].get_data()
    # At sigma 2 the fit is 0.2 exp(-80), far below what float64 can tell.
    assert list(x) == [0.1, 0.5]
    np.testing.assert_allclose(y, [0.2 * np.exp(-0.2), 0.2 * np.exp(-5.0)])
    fit = lines_of(right)["A exp(B x²)"].get_ydata()
    np.testing.assert_allclose(fit, 0.3 * np.exp([-0.5, -2.0, -4.5]))


def test_the_set_up_of_the_text_is_drawn_below_with_the_means_of_the_code():
    curves = {**BIAS.outcome.curves, "truncation bias": [0.015, 0.004, 0.0003]}
    by_text = record_of(Measurement("bias-by-text"), BIAS.outcome.metrics, curves)
    axes = [ax for ax in figure_of("bias", [BIAS, by_text]).axes if ax.get_ylabel()]
    above, below = [ax for ax in axes if "truncation" in ax.get_ylabel()]
    assert "authors' code" not in lines_of(above)
    assert list(lines_of(below)["measured"].get_ydata()) == [0.015, 0.004, 0.0003]
    assert list(lines_of(below)["authors' code"].get_ydata()) == [
        *(0.148, 0.0379, 0.00351)
    ]
    titles = [ax.get_title() for ax in axes if ax.get_title()]
    assert titles == ["as in the authors' code", "as in the paper's text"]


def test_the_surface_of_biases_has_its_zero_in_the_middle_of_the_colours():
    left = figure_of("bias", [BIAS]).axes[0]
    (mesh,) = left.collections
    assert mesh.get_clim() == (-0.2, 0.2)
    np.testing.assert_allclose(
        np.ravel(mesh.get_array()), [0.0, 0.1, -0.2, 0.0, 0.0, 0.05]
    )
    assert left.get_ylabel() == "log sigma in bins"


def test_the_bounds_are_drawn_over_epsilon():
    (ax,) = figure_of("bound", RECORDS["bound"]).axes
    lines = lines_of(ax)
    epsilon = np.array(EXAMPLE.curves["epsilon"])
    assert list(lines) == ["squared difference", "Pinsker", "Bretagnolle-Huber"]
    expected = (4 * (1 - epsilon) ** 2, -2 * np.log(epsilon), 4 * (1 - epsilon))
    for line, values in zip(lines.values(), expected, strict=True):
        np.testing.assert_allclose(line.get_xdata(), epsilon)
        np.testing.assert_allclose(line.get_ydata(), values)
    assert len({line.get_linestyle() for line in lines.values()}) == 3
    assert ax.get_xlabel() == "epsilon"
    assert to_hex(lines["Pinsker"].get_color()) == ORANGE


@pytest.mark.parametrize(
    ("value", "length", "color"), [(1e-8, -2, BLUE), (1e-5, 1, ORANGE), (0, -6, BLUE)]
)
def test_a_statement_that_is_violated_crosses_the_line(value, length, color):
    record = record_of(Measurement("theorems"), {MINIMISER: value})
    (ax,) = figure_of("theorems", [record]).axes
    (bar,) = ax.patches
    assert bar.get_width() == pytest.approx(length)
    assert to_hex(bar.get_facecolor()) == to_hex(color)
    assert [text.get_text() for text in ax.get_yticklabels()] == [MINIMISER]
    assert [text.get_text() for text in ax.texts] == [f"{value:.3g}"]
    left, right = ax.get_xlim()
    assert left < length < right
