"""Features: what the linear model and the kernel model read of a row."""

import pytest
import torch

from histreg import InputError
from histreg.tabular.feature_model import MOST_LABELS
from histreg.tabular.linear_model import LinearModel
from tests.tabular.test_linear_model import rows


def adapted(inputs, y, n_codes=(4,)):
    model = LinearModel(inputs.numbers.shape[1], inputs.scaled.shape[1], n_codes)
    model.adapt(inputs, y)
    return model


def test_features_are_bounded_numbers_scores_and_labels():
    inputs, y = rows()
    inputs.numbers[1] = 1e300
    model = adapted(inputs, y)
    features = model.features(inputs)
    assert features.shape == (60, 3 + 3 + 4) and features.isfinite().all()
    assert model.n_features == 10
    assert 5 < features[1, :3].abs().max() < 1000  # of 1e300
    near = inputs.numbers[2:6, 1:]
    standard = (near - model.center[1:]) / model.scale[1:]
    torch.testing.assert_close(features[2:6, 1:3], standard)
    assert (features[::7, 0] == 0).all()  # gaps
    assert torch.equal(features[:, 6:].argmax(dim=1), inputs.codes[:, 0])


def test_the_features_of_labels_belong_to_one_column():
    model = LinearModel(2, 1, (3, MOST_LABELS + 50))
    expected = [0, 1, 2, *[3] * 3, *[4] * MOST_LABELS]
    assert model.columns.tolist() == expected
    assert model.n_features == len(expected)
    assert (~model.is_no_score).nonzero().flatten().tolist() == [2]


def test_predictions_end_a_tenth_of_the_range_beyond_the_targets():
    inputs, _ = rows()
    model = adapted(inputs, torch.linspace(2.0, 12.0, 60).double())
    within = model.within_limits(torch.tensor([-99.0, 5.0, 99.0]).double())
    torch.testing.assert_close(within, torch.tensor([1.0, 5.0, 13.0]).double())


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [("weight", torch.nan, "'weight'.*finite"), ("scale", 0.0, "scales.*positive")],
)
def test_damaged_models_are_refused(name, value, message):
    model = LinearModel(2, 2, ())
    model.scale.fill_(1)
    model.check()
    getattr(model, name)[0] = value
    with pytest.raises(InputError, match=message):
        model.check()
