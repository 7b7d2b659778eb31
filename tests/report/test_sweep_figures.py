"""Figures of sweeps, of records made by hand."""

import numpy as np

from histreg.report.experiment_figures import figure_of
from histreg.study.methods import L1, L2, HLGauss, HLOneBin, HLUniform
from tests.report.examples import (
    ANNEALING,
    AUXILIARY,
    BINS,
    CORRUPTION,
    RATES,
    SWEEP,
    at_rate,
)
from tests.report.reading import axes_of, data_of, lines_of
from tests.study.made_up import tabular_records


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


# The other sweeps


def test_errors_over_the_number_of_bins_have_l2_as_levels():
    mae, rmse = axes_of("bins", BINS)
    lines = lines_of(mae)
    x, y = data_of(lines["HL-Gauss, test"])
    np.testing.assert_allclose(x, [10, 100])
    np.testing.assert_allclose(y, [3.0, 0.8])
    np.testing.assert_allclose(data_of(lines["HL-OneBin, train"])[1], [5.0, 0.9])
    assert set(lines["l2, test"].get_ydata()) == {1.1}
    assert set(lines["l2, train"].get_ydata()) == {0.6}
    assert mae.get_xscale() == rmse.get_xscale() == "log"
    labels = [text.get_text() for text in mae.get_xticklabels()]
    assert labels == ["10", "20", "30", "50", "100", "200", "400"]


def test_without_l2_there_are_no_levels():
    records = [r for r in BINS if r.run.method != L2()]
    assert not any(
        name.startswith("l2") for name in lines_of(axes_of("bins", records)[0])
    )


def test_error_bars_are_a_standard_error_to_each_side():
    mae, _ = axes_of("bins", BINS)
    handles, labels = mae.get_legend_handles_labels()
    (bars,) = handles[labels.index("HL-Gauss, test")][2]
    ends = [[y for _, y in segment] for segment in bars.get_segments()]
    np.testing.assert_allclose(ends, [[2.0, 4.0], [0.7, 0.9]])


def test_lines_of_a_drawing_differ_without_colour():
    records = [
        *RATES,
        *at_rate(1e-3, L1(), [1.0], [1.0]),
    ]
    lines = lines_of(axes_of("rates", records)[0])
    marks = {name: line.get_marker() for name, line in lines.items() if "test" in name}
    assert len(marks) == len(set(marks.values())) == 5


def test_a_loss_looks_alike_in_all_drawings_of_a_figure_whatever_is_missing():
    records = [
        *tabular_records("pole", HLOneBin(), [1.0]),
        *tabular_records("pole", HLGauss(), [1.0]),
        *tabular_records("bike", HLGauss(), [30.0]),
    ]
    first, _, last, _ = axes_of("bins", records)
    looks = [
        (line.get_color(), line.get_marker())
        for line in (lines_of(ax)["HL-Gauss, test"] for ax in (first, last))
    ]
    assert looks[0] == looks[1]


def test_the_legend_has_what_is_in_any_drawing_once():
    records = [
        *tabular_records("pole", HLGauss(), [1.0]),
        *tabular_records("bike", HLGauss(), [30.0]),
        *tabular_records("bike", HLOneBin(), [30.0]),
    ]
    (legend,) = figure_of("bins", records).legends
    names = [text.get_text() for text in legend.get_texts()]
    assert sorted(names) == [
        f"{name}, {split}"
        for name in ("HL-Gauss", "HL-OneBin")
        for split in ("test", "train")
    ]


def test_errors_of_different_sizes_have_a_log_axis():
    near = [r for r in BINS if r.run.method in (L2(), HLGauss())]
    assert axes_of("bins", near)[1].get_yscale() == "linear"  # 0.8 and 1.1
    assert axes_of("bins", BINS)[0].get_yscale() == "log"  # 0.4 to 6


def test_sigmas_are_on_an_axis_of_powers_of_two():
    records = [
        *tabular_records("pole", L2(), [2.0]),
        *(
            record
            for sigma in (4.0, 0.0625, 1.0)
            for record in tabular_records("pole", HLGauss(sigma), [sigma])
        ),
    ]
    mae, _ = axes_of("sigma", records)
    np.testing.assert_allclose(
        data_of(lines_of(mae)["HL-Gauss, test"]), [[0.0625, 1, 4]] * 2
    )
    assert mae.xaxis.get_transform().base == 2


def test_the_weight_zero_has_a_place_left_of_the_others():
    weights, _, moments, _ = axes_of("auxiliary", AUXILIARY)
    lines = lines_of(weights)
    x, y = data_of(lines["l2+HL-Gauss, test"])
    np.testing.assert_allclose(x, [0, 0.1, 10])
    np.testing.assert_allclose(y, [1.2, 1.0, 0.9])
    assert weights.get_xscale() == "symlog"
    assert weights.get_xticklabels()[0].get_text() == "0"
    low, high = weights.get_xlim()
    assert low < 0 and high > 100
    assert set(lines["HL-Gauss, test"].get_ydata()) == {0.7}
    assert set(lines["l2, train"].get_ydata()) == {0.6}
    assert "l2+Moments, test" not in lines
    assert "l2+HL-Gauss, test" not in lines_of(moments)


def test_one_moment_is_l2():
    *_, moments, _ = axes_of("auxiliary", AUXILIARY)
    lines = lines_of(moments)
    x, y = data_of(lines["l2+Moments, test"])
    np.testing.assert_allclose(x, [1, 2, 4])
    np.testing.assert_allclose(y, [1.1, 1.3, 1.4])
    assert set(lines["l2, test"].get_ydata()) == {1.1}
    assert lines["HL-Gauss, test"].get_linewidth() != lines["l2, test"].get_linewidth()


def test_annealed_and_fixed_targets_are_two_lines_over_the_last_sigma():
    mae, _ = axes_of("annealing", ANNEALING)
    lines = lines_of(mae)
    np.testing.assert_allclose(data_of(lines["fixed, test"]), [[0.25, 1], [0.8, 0.6]])
    np.testing.assert_allclose(
        data_of(lines["annealed, test"]), [[0.25, 1], [0.65, 0.9]]
    )
    assert mae.get_xlabel() == "final sigma in bins"


def test_test_errors_are_drawn_over_the_share_that_is_corrupted():
    mae, rmse = axes_of("corruption", CORRUPTION)
    lines = lines_of(mae)
    assert set(lines) == {"l2, test", "HL-Gauss, test"}
    np.testing.assert_allclose(data_of(lines["l2, test"]), [[0, 0.5], [1.0, 11.0]])
    np.testing.assert_allclose(data_of(lines["HL-Gauss, test"])[1], [0.5, 10.5])
    assert rmse.get_ylabel() == "RMSE"


def test_rates_that_validation_rows_choose_have_rings():
    (ax,) = axes_of("rates", RATES)
    lines = lines_of(ax)
    np.testing.assert_allclose(
        data_of(lines["l2, validation"]), [[1e-3, 3e-3, 1e-2], [1.3, 1.1, 1.2]]
    )
    np.testing.assert_allclose(data_of(lines["l2, test"])[1], [1.1, 0.9, 0.5])
    assert lines["l2, validation"].get_linestyle() == ":"
    rings = [
        tuple(np.ravel(line.get_data()))
        for line in ax.lines
        if line.get_label() == "chosen on validation rows"
    ]
    assert rings == [(3e-3, 1.1), (3e-3, 0.6), (1e-2, 0.7)]


def test_means_of_the_seeds_that_are_left_say_how_many_diverged():
    records = at_rate(1e-2, L2(), [1.0, 9.0, 3.0], [1.0, 9.0, 3.0], diverged=[2])
    (ax,) = axes_of("rates", records)
    assert [text.get_text() for text in ax.texts] == ["1 diverged"] * 2
    np.testing.assert_allclose(data_of(lines_of(ax)["l2, test"]), [[1e-2], [2.0]])


def test_a_data_set_on_which_the_sweep_has_not_begun_has_no_panel():
    elsewhere = tabular_records("ct", HLOneBin(), [1.0, 2.0])
    titles = [ax.get_title() for ax in figure_of("uniform", [*SWEEP, *elsewhere]).axes]
    assert titles == ["Pole", "Pole"]
    alone = [ax.get_title() for ax in figure_of("uniform", elsewhere).axes]
    assert alone == ["CT Position", "CT Position"]
