"""Figures of forecasts, of records made by hand."""

import numpy as np
import pytest

from histreg.report.experiment_figures import figure_of
from histreg.study.catalogue import FORECAST_HL
from histreg.study.datasets import SERIES
from histreg.study.methods import L2
from histreg.study.series.forecasters import BODIES
from tests.report.examples import FAN, NUMBERS, RECORDS, forecasts, reading
from tests.report.reading import axes_of, data_of, lines_of
from tests.study.made_up import DIRECT, forecast_records, naive_record


def fans_of(ax):
    """Return the heights that each fan has after one moment, by its label."""
    found = {}
    for fan in ax.collections:
        points = fan.get_paths()[0].vertices
        heights = points[points[:, 0] == 1.0, 1]
        found[fan.get_label()] = (heights.min(), heights.max())
    return found


def test_a_window_has_its_history_the_truth_and_the_forecast_of_each_loss():
    first, second = axes_of("forecasts", RECORDS["forecasts"])
    lines = lines_of(second)
    np.testing.assert_allclose(data_of(lines["history"]), [[-2, -1, 0], [7, 8, 9]])
    np.testing.assert_allclose(data_of(lines["truth"]), [[1, 2], [10, 11]])
    np.testing.assert_allclose(data_of(lines["l2"]), [[1, 2], [10.1, 10.2]])
    np.testing.assert_allclose(data_of(lines["HL-Gauss, mean"]), [[1, 2], [10.1, 10.2]])
    np.testing.assert_allclose(data_of(lines_of(first)["truth"]), [[1, 2], [0, 1]])


def test_a_fan_reaches_from_the_lower_to_the_upper_quantile():
    first, second = axes_of("forecasts", RECORDS["forecasts"])
    # A spread of 20 about 0: the quantile 0.95 is at 0.45 of it.
    expected = {"90 %": (-9.0, 9.0), "80 %": (-8.0, 8.0), "50 %": (-5.0, 5.0)}
    found = fans_of(first)
    assert list(found) == [f"HL-Gauss, {share}" for share in expected]
    np.testing.assert_allclose(list(found.values()), list(expected.values()))
    np.testing.assert_allclose(fans_of(second)["HL-Gauss, 90 %"], (10 - 18, 10 + 18))


def test_the_narrower_fan_is_darker_and_drawn_later_as_the_legend_has_it():
    figure = figure_of("forecasts", RECORDS["forecasts"])
    fans = figure.axes[0].collections
    # The collections are drawn in their order; all are opaque.
    colours = np.array([fan.get_facecolor()[0] for fan in fans])
    assert (colours[:, 3] == 1).all()
    assert (np.diff(colours[:, :3].sum(axis=1)) < 0).all()
    widths = [high - low for low, high in fans_of(figure.axes[0]).values()]
    assert widths == sorted(widths, reverse=True)


def test_numbers_alone_have_no_fan():
    records = forecast_records("ETTh1", "GRU", L2(), [1.0], curves=NUMBERS)
    for ax in axes_of("forecasts", records):
        assert fans_of(ax) == {}
        assert set(lines_of(ax)) == {"history", "truth", "l2"}


def test_a_histogram_alone_is_drawn():
    records = forecast_records("ETTh1", "GRU", FORECAST_HL, [1.0], curves=FAN)
    for ax in axes_of("forecasts", records):
        assert len(fans_of(ax)) == 3
        assert "l2" not in lines_of(ax)


def test_each_series_and_model_has_a_row_of_windows():
    records = [*forecasts("ETTh1", "Linear"), *forecasts("ETTh1", "GRU")]
    records += forecasts("ETTm2", "GRU")
    axes = axes_of("forecasts", records)
    assert [ax.get_title() for ax in axes] == [
        f"{place}, window {number}"
        for place in ("ETTh1, Linear", "ETTh1, GRU", "ETTm2, GRU")
        for number in (4, 12)
    ]
    heights = [round(ax.get_subplotspec().get_position(ax.figure).y0, 6) for ax in axes]
    assert heights[0] == heights[1] > heights[2] == heights[3] > heights[4]


def test_many_models_have_one_window_each_on_a_page():
    places = [(name, body) for name in SERIES for body in BODIES]
    records = [each for place in places for each in forecasts(*place)]
    figure = figure_of("forecasts", records)
    assert [ax.get_title() for ax in figure.axes] == [
        f"{name}, {body}, window 12" for name, body in places
    ]
    # A series a row, so that its models are beside each other.
    rows = [ax.get_subplotspec().rowspan.start for ax in figure.axes]
    assert rows == [row for row in range(4) for _ in range(4)]
    assert figure.get_figheight() < 11


def test_forecasts_of_change_say_so():
    axes = axes_of("forecasts-of-change", RECORDS["forecasts-of-change"])
    changes = "last value subtracted, direct head, PyTorch\nweights, stopped by loss"
    assert [ax.get_title() for ax in axes] == [
        f"ETTh1, GRU, window 4\n{changes}",
        f"ETTh1, GRU, window 12\n{changes}",
    ]


def test_forecasts_of_change_do_not_replace_the_others_of_their_model():
    records = [*forecasts("ETTh1", "GRU"), *RECORDS["forecasts-of-change"]]
    titles = [ax.get_title() for ax in axes_of("forecasts", records)]
    assert len(set(titles)) == len(titles) == 4


def test_titles_do_not_run_into_each_other():
    records = forecasts("ETTh1", "Transformer", **DIRECT, subtracts_last=True, epochs=2)
    figure = figure_of("forecasts", records)
    figure.draw_without_rendering()
    first, second = (ax.title.get_window_extent() for ax in figure.axes)
    assert first.x1 < second.x0


def test_the_legend_has_each_thing_once():
    records = [*forecasts("ETTh1", "Linear"), *forecasts("ETTh1", "GRU")]
    (legend,) = figure_of("forecasts", records).legends
    names = [text.get_text() for text in legend.get_texts()]
    assert sorted(names) == sorted(
        ["history", "truth", "l2", "HL-Gauss, mean"]
        + [f"HL-Gauss, {share} %" for share in (50, 80, 90)]
    )


@pytest.mark.parametrize(
    "records",
    [
        [naive_record("ETTh1")],
        forecast_records("ETTh1", "GRU", L2(), [1.0, 2.0], curves=NUMBERS)[1:],
        forecast_records("ETTh1", "GRU", L2(), [1.0], curves=NUMBERS, diverged=[1]),
    ],
    ids=["naive alone", "no first seed", "first seed diverged"],
)
def test_without_a_forecast_that_was_kept_it_is_refused(records):
    with pytest.raises(ValueError, match="must have runs of seed 1, got none yet"):
        figure_of("forecasts", records)


def dots_of(ax):
    """Return where the marks are: the label, the height's name, and x."""
    names = [text.get_text() for text in ax.get_yticklabels()]
    found = {}
    for line in ax.lines:
        if line.get_marker() not in (None, "None"):
            (x,), (height,) = line.get_data()
            found[line.get_label(), names[height]] = x
    return found


def test_readings_have_a_row_each_and_a_mark_for_each_loss_and_criterion():
    first, second = axes_of("forecast-readings", RECORDS["forecast-readings"])
    assert [ax.get_title() for ax in (first, second)] == [
        "ETTh1, Linear",
        "ETTh2, Linear",
    ]
    assert dots_of(first) == {
        ("l2", "shared, Keras"): 0.07,
        ("HL-Gauss", "shared, Keras"): 0.38,
        ("HL-Gauss, stopped by loss", "shared, Keras"): 0.27,
        ("l2", "direct, PyTorch"): 0.06,
        ("HL-Gauss", "direct, PyTorch"): 0.33,
        ("HL-Gauss, stopped by loss", "direct, PyTorch"): 0.32,
    }
    assert len(dots_of(second)) == 3


def test_the_papers_numbers_are_lines_with_bands_of_95_percent():
    first, _ = axes_of("forecast-readings", RECORDS["forecast-readings"])
    lines = lines_of(first)
    assert lines["l2, paper"].get_xdata()[0] == 0.07105
    assert lines["HL-Gauss, paper"].get_xdata()[0] == 0.3826
    bands = [patch.get_extents() for patch in first.patches]
    ends = [first.transData.inverted().transform(band)[:, 0] for band in bands]
    # The halves of their intervals are 0.001022 and 0.003224.
    expected = [(0.070028, 0.072072), (0.379376, 0.385824)]
    np.testing.assert_allclose(ends, expected, rtol=1e-3)


def test_the_reading_that_is_used_is_bold():
    first, _ = axes_of("forecast-readings", RECORDS["forecast-readings"])
    weights = {
        text.get_text(): text.get_fontweight() for text in first.get_yticklabels()
    }
    assert [name for name, weight in weights.items() if weight == "bold"] == [
        "shared, Keras"
    ]
    assert len(weights) == 8


def test_what_is_not_of_the_paper_is_no_reading():
    records = forecasts("ETTh1", "Linear", epochs=2)
    with pytest.raises(ValueError, match="must have finite runs, got none yet"):
        figure_of("forecast-readings", records)


def test_readings_far_apart_have_a_logarithmic_axis():
    near = reading(0.1, 0.3, 0.3, "dense", "keras")
    far = reading(0.01, 0.3, 0.3, "dense", "keras")
    scales = [
        axes_of("forecast-readings", each)[0].get_xscale() for each in (near, far)
    ]
    assert scales == ["linear", "log"]
