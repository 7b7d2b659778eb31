"""What is made of the curves of training, by hand."""

import pytest

from histreg.study.methods import L2
from histreg.study.tabular.curves import (
    early_area,
    jumpiness,
    steepness,
    unsteadiness,
)
from tests.study.made_up import tabular_records


def record(**curves):
    (made,) = tabular_records("pole", L2(), [1.0], curves=curves)
    return made


def errors(*train_mae, epochs=None):
    epochs = epochs or list(range(1, len(train_mae) + 1))
    return record(**{"epoch": epochs, "train MAE": list(train_mae)})


def gradients(norms, excesses):
    return record(**{"gradient norm": norms, "excess loss": excesses})


def test_the_early_area_is_the_mean_over_the_first_ten_epochs():
    assert early_area(errors(*[3.0] * 5, *[1.0] * 5, 100.0, 100.0)) == 2.0


def test_it_is_over_all_epochs_if_there_are_fewer():
    assert early_area(errors(4.0, 2.0, 0.0)) == 2.0


def test_another_number_of_epochs_can_be_asked_for():
    assert early_area(errors(4.0, 2.0, 0.0), epochs=2) == 3.0


def test_a_curve_that_leaves_epochs_out_is_refused():
    with pytest.raises(
        ValueError, match=r"must have the first 10 epochs, got \[1, 3\]"
    ):
        early_area(errors(4.0, 2.0, epochs=[1, 3]))


def test_epochs_left_out_later_do_no_harm():
    assert early_area(errors(4.0, 2.0, 9.0, epochs=[1, 2, 50]), epochs=2) == 3.0


def test_steepness_is_the_norm_over_the_excess():
    assert steepness(gradients([1.0, 6.0], [2.0, 3.0])) == [0.5, 2.0]


def test_a_gradient_of_zero_is_no_error():
    made = gradients([1.0, 0.0, 1.0], [1.0, 1.0, 1.0])
    assert jumpiness(made) == pytest.approx(38.0)
    assert unsteadiness(made) > 10


def test_unsteadiness_is_in_powers_of_ten():
    # log10 is -1, 1, 1, -1: mean 0, each 1 from it.
    made = gradients([0.1, 10.0, 100.0, 1.0], [1.0, 1.0, 10.0, 10.0])
    assert unsteadiness(made) == pytest.approx(1.0)


def test_unsteadiness_does_not_depend_on_the_scale_of_the_loss():
    norms, excesses = [1.0, 3.0, 0.2], [2.0, 1.0, 0.5]
    scaled = gradients([1e-6 * each for each in norms], excesses)
    expected = unsteadiness(gradients(norms, excesses))
    assert expected > 0.1
    assert unsteadiness(scaled) == pytest.approx(expected)


def test_one_epoch_is_steady():
    assert unsteadiness(gradients([3.0], [2.0])) == 0.0


def test_jumpiness_sees_jumps_and_hardly_a_trend():
    jumps = gradients([1.0, 10.0, 1.0, 10.0], [1.0] * 4)
    assert jumpiness(jumps) == pytest.approx(1.0)
    trend = gradients([10 ** (each / 100) for each in range(301)], [1.0] * 301)
    assert jumpiness(trend) == pytest.approx(0.01)
    assert unsteadiness(trend) > 0.8
    assert jumpiness(gradients([3.0], [1.0])) == 0.0
