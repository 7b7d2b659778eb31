"""Figures of gradients in training and of sensitivity, of records made by hand."""

import numpy as np
import pytest

from histreg.study.methods import (
    L2,
    HLGauss,
    HLOneBin,
)
from tests.report.examples import (
    SNAPSHOTS,
    STEADY,
    TRAINING,
    UNSTEADY,
)
from tests.report.reading import axes_of, data_of, lines_of
from tests.study.made_up import tabular_records


def test_curves_are_means_over_seeds_in_a_band_of_all():
    mae, rmse, norm = axes_of("training", TRAINING)
    line = lines_of(mae)["l2"]
    np.testing.assert_allclose(data_of(line), [[1, 2, 3], [6, 4, 2]])
    band = mae.collections[0].get_datalim(mae.transData)
    assert (band.y0, band.y1) == (1.0, 9.0)
    np.testing.assert_allclose(data_of(lines_of(rmse)["l2"])[1], [9, 8, 7])
    # Norm over excess: 1, 10, 100 and 1, 1000, 100.
    np.testing.assert_allclose(data_of(lines_of(norm)["l2"])[1], [1, 505, 100])
    assert norm.get_yscale() == "log"
    assert [ax.get_ylabel() for ax in (mae, rmse)] == ["train MAE", "train RMSE"]


def test_losses_in_training_differ_without_colour():
    records = [
        record
        for method in (L2(), HLOneBin(), HLGauss())
        for record in tabular_records("pole", method, [1.0], curves=[STEADY])
    ]
    lines = lines_of(axes_of("training", records)[0])
    assert len({line.get_linestyle() for line in lines.values()}) == 3


def test_a_seed_that_diverged_is_in_no_curve():
    short = {name: values[:2] for name, values in UNSTEADY.items()}
    records = tabular_records(
        "pole", L2(), [3.0, 1.0], curves=[STEADY, short], diverged=[2]
    )
    mae, *_ = axes_of("training", records)
    np.testing.assert_allclose(data_of(lines_of(mae)["l2"])[1], [9, 6, 3])


def test_each_run_is_a_mark_at_its_sensitivity_and_error():
    records = [
        *tabular_records("pole", L2(), [1.0, 2.0], test_sensitivity=[30.0, 40.0]),
        *tabular_records(
            "pole", HLGauss(), [0.7, 0.8], test_sensitivity=[9.0, 8.0], diverged=[2]
        ),
    ]
    mae, rmse = axes_of("sensitivity", records)
    marks = {each.get_label(): each for each in mae.collections}
    assert marks["l2"].get_offsets().tolist() == [[30.0, 1.0], [40.0, 2.0]]
    assert marks["HL-Gauss"].get_offsets().tolist() == [[9.0, 0.7]]
    shapes = [each.get_paths()[0].vertices.shape for each in marks.values()]
    assert len(set(shapes)) == 2
    assert (mae.get_ylabel(), rmse.get_ylabel()) == ("test MAE", "test RMSE")
    assert mae.get_xlabel() == "test sensitivity, in units of y"


def test_snapshots_have_a_drawing_for_each_row_with_a_few_epochs_and_the_truth():
    low, high = axes_of("snapshots", SNAPSHOTS)
    assert low.get_title() == "Bike Sharing, y = 100"
    labels = ["epoch 1", "epoch 5", "epoch 50", "truth"]
    assert high.get_legend_handles_labels()[1] == labels
    last = low.patches[-1].get_data()
    # Of 100 bins of 12.5 from -125 on, the one that has all is the nineteenth.
    assert last.values[18] == 1 and last.edges[18] == 100.0
    (truth,) = low.lines
    assert truth.get_xdata()[0] == 100.0


def test_a_figure_of_snapshots_without_any_is_refused():
    records = tabular_records("bike", L2(), [1.0])
    with pytest.raises(ValueError, match="must have finite runs"):
        axes_of("snapshots", records)
