"""The study's figures: what is drawn, of records made by hand."""

import io

import numpy as np
import pytest
from matplotlib.colors import to_hex

from histreg.report.figures import BLUE, ORANGE
from histreg.report.study_figures import FIGURES, figure_of
from histreg.study.measurements import Measurement, bound_example
from histreg.study.methods import (
    L1,
    L2,
    MDN,
    HLGauss,
    HLOneBin,
    HLProjected,
    HLUniform,
    LinearRegression,
)
from tests.study.made_up import (
    label_bias_record,
    record_of,
    sine_record,
    tabular_records,
)

BIAS = record_of(
    Measurement("bias"),
    {
        "discretisation factor": 0.2,
        "discretisation exponent": -20.0,
        "truncation factor": 0.3,
        "truncation exponent": -0.5,
    },
    {
        "sigma_in_bins": [0.1, 0.5, 2.0],
        "discretisation bias": [0.17, 1.5e-3, 1e-16],
        "padding_in_sigmas": [1.0, 2.0, 3.0],
        "truncation bias": [0.148, 0.0379, 0.00351],
        "surface sigma_in_bins": [0.1, 1.0],
        "surface offset": [-0.5, 0.0, 0.5],
        "surface bias": [[0.0, 0.1, -0.2], [0.0, 0.0, 0.05]],
    },
)
EXAMPLE = bound_example("", None)
MINIMISER = "T4 minimiser from the mean target"  # at most 1e-6
DENSITY = {"density": [0.5, 1.5], "borders": [0.0, 0.5, 1.0]}
SWEEP = [
    *tabular_records("pole", HLOneBin(), [5.0, 7.0], train_MAE=[2.0, 2.0]),
    *tabular_records("pole", HLUniform(0.1), [4.0, 6.0], train_MAE=[1.0, 2.0]),
    *tabular_records("pole", HLUniform(1e-5), [3.0, 3.0], train_MAE=[1.0, 1.0]),
    *tabular_records("pole", HLUniform(1e-3), [2.0, 2.0], train_MAE=[0.5, 0.5]),
]
RECORDS = {
    "sines": [sine_record(), sine_record("HL-Gauss", rate=1e-2, fit=[0.0, 1.0, 0.0])],
    "sines-reduced": [sine_record()],
    "overall": tabular_records("pole", L2(), [1.0, 2.0]),
    "overall-validation": tabular_records("pole", L2(), [1.0, 2.0]),
    "uniform": SWEEP,
    "head-start": tabular_records("pole", L2(), [1.0, 2.0]),
    "label-bias": [label_bias_record("pole", [0.0, 0.5, 1.0], [0.3, 0.1, 0.01])],
    "projected": tabular_records("pole", HLProjected(), [1.0, 2.0]),
    "targets": [record_of(Measurement("targets", "pole"), {}, DENSITY)],
    "bias": [BIAS],
    "bound": [record_of(Measurement("bound"), EXAMPLE.metrics, EXAMPLE.curves)],
    "theorems": [record_of(Measurement("theorems"), {MINIMISER: 1e-8})],
}


def lines_of(ax):
    """Return the lines by their labels, those of error bars by that of their bars."""
    handles, labels = ax.get_legend_handles_labels()
    return {
        label: handle[0] if isinstance(handle, tuple) else handle
        for handle, label in zip(handles, labels, strict=True)
    }


def data_of(line):
    """Return x and y; those of error bars are objects."""
    return [np.asarray(values, dtype=float) for values in line.get_data()]


def marks_of(ax, marker):
    """Return where marks of a kind are, by the label of their height."""
    labels = [text.get_text() for text in ax.get_yticklabels()]
    names = dict(zip(ax.get_yticks(), labels, strict=True))
    found = {}
    for line in ax.lines:
        if line.get_marker() == marker:
            (x,), (height,) = line.get_data()
            found[names[np.ceil(height)]] = x
    return found


def ours_of(ax):
    return marks_of(ax, "o")


def papers_of(ax):
    return marks_of(ax, "D")


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_can_be_written(name):
    page = io.BytesIO()
    figure_of(name, RECORDS[name]).savefig(page, format="png", dpi=40)
    assert page.getvalue().startswith(b"\x89PNG")


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_of_nothing_is_refused(name):
    with pytest.raises(ValueError, match=f"the figure {name} must have records"):
        figure_of(name, [])


@pytest.mark.parametrize("name", ["overall", "overall-validation", "uniform"])
def test_a_figure_of_errors_without_a_finite_run_is_refused(name):
    records = [
        *tabular_records("pole", MDN(2), [1.0], diverged=[1]),
        *tabular_records("pole", MDN(4), [1.0], diverged=[1]),
    ]
    with pytest.raises(ValueError, match="must have finite runs"):
        figure_of(name, records)


def test_a_figure_that_is_not_there_is_refused():
    with pytest.raises(ValueError, match="figure must be one of 'sines', "):
        figure_of("overal", RECORDS["overall"])


# Figure 3


def sine_axes(records):
    return figure_of("sines", records).axes


def test_both_parts_have_the_curves_of_their_targets():
    near = [(1.0, 0.0), (10.0, 0.0), (20.0, 0.0)]
    records = [
        sine_record(name, alpha, beta, curve=[alpha / 100, beta / 100, 0.0])
        for name in ("l2", "HL-Gauss")
        for alpha, beta in [*near, (10.0, 1.0), (10.0, 10.0)]
        if name == "l2" or beta == 0
    ]
    records += [
        sine_record("HL-Gauss", 10.0, beta, far=True, curve=[0.7, beta / 100])
        for beta in (0.0, 1.0, 10.0)
    ]
    _, middle, right = sine_axes(records)
    frequencies, offsets = lines_of(middle), lines_of(right)
    methods = ("l2", "HL-Gauss")
    assert set(frequencies) == {f"{m}, alpha {a}" for m in methods for a in (1, 10, 20)}
    assert set(offsets) == {f"{m}, beta {b}" for m in methods for b in (0, 1, 10)}
    assert len(middle.lines) == len(right.lines) == 6
    x, y = frequencies["l2, alpha 20"].get_data()
    assert list(x) == [0, 5, 10] and list(y) == [0.2, 0.0, 0.0]
    # At beta 0, HL-Gauss is another run in each part, l2 the same.
    assert list(frequencies["HL-Gauss, alpha 10"].get_ydata()) == [0.1, 0.0, 0.0]
    assert list(offsets["HL-Gauss, beta 0"].get_ydata()) == [0.7, 0.0]
    assert list(offsets["l2, beta 0"].get_ydata()) == [0.1, 0.0, 0.0]


def test_losses_differ_in_line_style_and_targets_in_width():
    records = [
        sine_record(name, alpha)
        for name in ("l2", "HL-Gauss")
        for alpha in (1.0, 10.0, 20.0)
    ]
    lines = lines_of(sine_axes(records)[1])
    for alpha in (1, 10, 20):
        assert lines[f"l2, alpha {alpha}"].get_linestyle() == "--"
        assert lines[f"HL-Gauss, alpha {alpha}"].get_linestyle() == "-"
    widths = [lines[f"l2, alpha {alpha}"].get_linewidth() for alpha in (1, 10, 20)]
    assert widths == sorted(set(widths))


def test_errors_of_sines_are_cut_at_six_tenths():
    for ax in sine_axes(RECORDS["sines"])[1:]:
        assert ax.get_ylim() == (0, 0.6)
        assert (ax.get_xlabel(), ax.get_ylabel()) == ("iteration", "train MSE")


def test_the_fits_drawn_are_those_at_the_rates_of_the_paper_over_the_target():
    records = [
        sine_record("l2", rate=1e-3, fit=[1.0, 2.0, 3.0]),
        sine_record("l2", rate=1e-2, fit=[7.0, 7.0, 7.0]),
        sine_record("l2", 20.0, rate=1e-3, fit=[7.0, 7.0, 7.0]),
        sine_record("l2", 10.0, 1.0, rate=1e-3, fit=[7.0, 7.0, 7.0]),
        sine_record("HL-Gauss", rate=1e-2, fit=[4.0, 5.0, 6.0]),
        sine_record("HL-Gauss", rate=1e-3, fit=[7.0, 7.0, 7.0]),
        sine_record("HL-Gauss", rate=1e-2, far=True, fit=[7.0, 7.0, 7.0]),
    ]
    left, _, _ = sine_axes(records)
    lines = lines_of(left)
    assert list(lines) == ["target", "l2", "HL-Gauss"]
    assert len(left.lines) == 3
    assert list(lines["l2"].get_ydata()) == [1.0, 2.0, 3.0]
    assert list(lines["HL-Gauss"].get_ydata()) == [4.0, 5.0, 6.0]
    np.testing.assert_allclose(lines["l2"].get_xdata(), [-np.pi, 0, np.pi])
    x, y = lines["target"].get_data()
    np.testing.assert_allclose(y, np.sin(10 * np.asarray(x)), atol=1e-12)


# Errors of methods


def test_ours_are_filled_and_the_papers_open_marks():
    records = [
        *tabular_records("pole", L2(), [1.0, 1.2]),
        *tabular_records("pole", HLGauss(), [0.7, 0.8]),
        *tabular_records("pole", HLOneBin(shift_in_bins=0.5), [0.6, 0.6]),
    ]
    mae, rmse = figure_of("overall", records).axes
    shifted = "HL-OneBin (shift_in_bins=0.5)"
    expected = {"l2": 1.1, "HL-Gauss": 0.75, shifted: 0.6}
    assert ours_of(mae) == pytest.approx(expected)
    # Table 7; the grid that is moved is none of the paper's.
    assert papers_of(mae) == {"l2": 1.131, "HL-Gauss": 0.714}
    faces = {line.get_marker(): line.get_markerfacecolor() for line in mae.lines}
    assert to_hex(faces["o"]) == BLUE
    assert faces["D"] == "white"
    assert "test MAE" in mae.get_xlabel() and "test RMSE" in rmse.get_xlabel()
    assert mae.get_title() == "Pole"


def test_error_bars_are_one_standard_error_long():
    (mae, _) = figure_of("overall", tabular_records("diabetes", L2(), [1.0, 2.0])).axes
    (bar,) = mae.collections
    ((start, _), (end, _)) = bar.get_segments()[0]
    assert (start, end) == pytest.approx((1.0, 2.0))  # 1.5 ± 0.5


def test_each_data_set_has_a_row_of_drawings():
    records = [
        *tabular_records("pole", L2(), [1.0]),
        *tabular_records("bike", L2(), [30.0]),
    ]
    titles = [ax.get_title() for ax in figure_of("overall", records).axes]
    assert titles == ["Pole", "Pole", "Bike Sharing", "Bike Sharing"]


VALIDATED = [
    *tabular_records("diabetes", MDN(2), [1.0]),
    *tabular_records("diabetes", MDN(4), [2.0]),
    *tabular_records("diabetes", MDN(2), [0.9], part="validation"),
    *tabular_records("diabetes", MDN(4), [0.8], part="validation"),
]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("overall", {"MDN (n_components=2)": 1.0}),
        ("overall-validation", {"MDN (n_components=4)": 2.0}),
    ],
)
def test_settings_are_chosen_as_in_the_table_of_that_name(name, expected):
    mae, _ = figure_of(name, VALIDATED).axes
    assert ours_of(mae) == expected


def test_without_a_choice_all_settings_are_drawn():
    mae, _ = figure_of("projected", VALIDATED).axes
    assert len(ours_of(mae)) == 2


def test_linear_regression_is_left_out():
    records = [
        *tabular_records("diabetes", LinearRegression(), [40.0]),
        *tabular_records("diabetes", L2(), [4.0]),
    ]
    mae, _ = figure_of("overall", records).axes
    assert ours_of(mae) == {"l2": 4.0}


def test_with_linear_regression_alone_nothing_is_drawn():
    records = tabular_records("diabetes", LinearRegression(), [40.0])
    mae, _ = figure_of("overall", records).axes
    assert len(mae.lines) == 0


def test_a_failure_is_named_at_the_edge_and_leaves_the_scale_to_the_others():
    records = [
        *tabular_records("pole", L2(), [1.0]),
        *tabular_records("pole", L1(), [0.9]),
        *tabular_records("pole", HLGauss(), [0.8]),
        *tabular_records("pole", HLOneBin(), [28.94]),
    ]
    mae, _ = figure_of("overall", records).axes
    (told,) = mae.texts
    assert told.get_text().startswith("28.94")
    low, high = mae.get_xlim()
    assert high < 28
    for mark in (1.0, 0.9, 0.8, *papers_of(mae).values()):
        assert low < mark < high


def test_methods_that_are_equal_but_for_a_failure_have_a_scale():
    records = [
        *tabular_records("diabetes", L2(), [1.0]),
        *tabular_records("diabetes", L1(), [1.0]),
        *tabular_records("diabetes", HLGauss(), [9.0]),
    ]
    low, high = figure_of("overall", records).axes[0].get_xlim()
    assert low < 1.0 < high < 9.0


def test_without_a_failure_all_are_in_the_scale():
    records = [
        *tabular_records("diabetes", L2(), [1.0]),
        *tabular_records("diabetes", L1(), [2.9]),
    ]
    mae, _ = figure_of("overall", records).axes
    low, high = mae.get_xlim()
    assert low < 1.0 and high > 2.9
    assert len(mae.texts) == 0


# Figures 4 and 15


def test_train_is_dotted_and_test_is_solid():
    for ax in figure_of("uniform", SWEEP).axes:
        styles = {name: line.get_linestyle() for name, line in lines_of(ax).items()}
        assert styles == {
            "HL-Uniform, train": ":",
            "HL-Uniform, test": "-",
            "HL-OneBin, train": ":",
            "HL-OneBin, test": "-",
        }


def test_errors_are_drawn_over_epsilon_in_its_order_on_a_log_scale():
    mae, rmse = figure_of("uniform", SWEEP).axes
    assert mae.get_xscale() == "log"
    assert (mae.get_xlabel(), mae.get_ylabel()) == ("epsilon", "MAE")
    assert (rmse.get_xlabel(), rmse.get_ylabel()) == ("epsilon", "RMSE")
    lines = lines_of(mae)
    x, y = data_of(lines["HL-Uniform, test"])
    np.testing.assert_allclose(x, [1e-5, 1e-3, 1e-1])
    np.testing.assert_allclose(y, [3.0, 2.0, 5.0])
    np.testing.assert_allclose(data_of(lines["HL-Uniform, train"])[1], [1, 0.5, 1.5])
    assert set(lines["HL-OneBin, test"].get_ydata()) == {6.0}
    assert set(lines["HL-OneBin, train"].get_ydata()) == {2.0}


def test_an_epsilon_at_which_all_seeds_diverged_is_left_out():
    lost = tabular_records("pole", HLUniform(1e-2), [1.0, 1.0], diverged=[1, 2])
    mae, _ = figure_of("uniform", [*SWEEP, *lost]).axes
    x, _ = data_of(lines_of(mae)["HL-Uniform, test"])
    np.testing.assert_allclose(x, [1e-5, 1e-3, 1e-1])


def test_one_seed_is_enough_to_draw():
    records = [
        *tabular_records("pole", HLUniform(1e-2), [1.0]),
        *tabular_records("pole", HLUniform(1e-1), [2.0]),
    ]
    mae, _ = figure_of("uniform", records).axes
    _, y = data_of(lines_of(mae)["HL-Uniform, test"])
    np.testing.assert_allclose(y, [1, 2])


# The others


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
