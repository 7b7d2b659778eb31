"""Options of the regressor: what is allowed, what goes together, what is saved."""

import numpy as np
import pytest

from histreg import Bins, HistogramRegressor, InputError, targets
from histreg.tabular.options import blended_models, check_options
from tests.tabular.examples import SMALL, data


@pytest.mark.parametrize(
    "options, sentence",
    [
        ({"loss": "l3"}, "loss must be one of"),
        ({"n_bins": 12}, "n_bins must exceed the 12 padding bins, got n_bins=12"),
        ({"target": "round"}, "target must be one of"),
        ({"bins": "cubic"}, "bins must be one of 'uniform'"),
        ({"bins": [1.0, 2.0]}, "bins must be a Bins or a sequence of Bins"),
        ({"bins": 50}, r"bins must be a name .* \(their number is n_bins\)"),
        ({"bins": [Bins.uniform(0, 1, 40)] * 2}, "one for each of the 1 columns"),
        ({"sigma_in_bins": 0}, "sigma_in_bins must be finite and positive"),
        ({"final_sigma_in_bins": -1}, "final_sigma_in_bins must be finite and"),
        ({"y_range": (3, 3)}, "y_range must have low below high"),
        ({"y_range": (1, 2, 3)}, r"y_range must be a pair \(low, high\)"),
        ({"dropout": 1}, r"dropout must lie in \[0, 1\)"),
        ({"n_estimators": 0}, "n_estimators must be a whole number of at least 1"),
        ({"hidden_layer_sizes": (0,)}, "hidden_layer_sizes must be a whole number"),
        ({"validation_fraction": 1.0}, "validation_fraction must lie between 0 and 1"),
        ({"activation": "cube"}, "activation must be one of"),
        ({"learning_rate_init": -1}, "learning_rate_init must be finite and positive"),
        ({"weight_decay": -1}, "weight_decay must be finite and not negative"),
        ({"batch_size": 0}, "batch_size must be a whole number of at least 1"),
        ({"embedding_width": -1}, "embedding_width must be a whole number"),
        ({"n_waves": 1.5}, "n_waves must be a whole number"),
        ({"dropout": "much"}, "dropout must be a number"),
        ({"validation_fraction": None}, "validation_fraction must be a number"),
        ({"device": "abacus"}, "device must be 'auto' or available in this PyTorch"),
        ({"callback": 3}, "callback must be callable"),
    ],
)
def test_bad_options_are_refused_in_one_sentence_before_any_work(options, sentence):
    X, y = data(30)
    with pytest.raises((ValueError, TypeError), match=sentence) as refusal:
        HistogramRegressor(**options).fit(X, y)
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"bins": Bins.uniform(0.0, 1.0, 20)}, "cannot be combined with explicit bins"),
        ({"bins_grow": True}, "bins with tails do not grow"),
    ],
)
def test_what_tails_do_not_go_with_is_refused(options, sentence):
    with pytest.raises(ValueError, match=sentence):
        HistogramRegressor(tails="gpd", **options).fit([[0.0], [1.0]], [0.0, 1.0])


def test_tails_and_a_known_range_exclude_each_other():
    model = HistogramRegressor(tails="gpd", y_range=(0.0, 1.0))
    with pytest.raises(ValueError, match="tails cannot be combined with y_range"):
        model.fit([[0.0], [1.0]], [0.0, 1.0])


@pytest.mark.parametrize(
    "change",
    [{"n_estimators": 2}, {"n_bins": 30}, {"loss": "l2"}, {"activation": "tanh"}],
)
def test_another_network_cannot_go_on(change, tmp_path):
    X, y = data()
    model = HistogramRegressor(**SMALL, warm_start=True).fit(X, y)
    expected = model.predict(X)
    model.set_params(**change)
    name = next(iter(change))
    for go_on in (model.fit, model.partial_fit):
        with pytest.raises(ValueError, match=f"{name} must stay"):
            go_on(X, y)
    # What was fitted is what is saved.
    model.save(tmp_path / "m")
    again = HistogramRegressor.load(tmp_path / "m")
    np.testing.assert_array_equal(again.predict(X), expected)


def test_code_is_not_saved(tmp_path):
    X, y = data()
    model = HistogramRegressor(**SMALL, target=targets.projected).fit(X, y)
    with pytest.raises(ValueError, match="a callable target cannot be saved"):
        model.save(tmp_path / "m")
    assert not (tmp_path / "m").exists()


def test_one_number_is_one_layer():
    X, y = data()
    one = HistogramRegressor(**SMALL | {"hidden_layer_sizes": 16}).fit(X, y)
    same = HistogramRegressor(**SMALL).fit(X, y)
    np.testing.assert_array_equal(one.predict(X), same.predict(X))


@pytest.mark.parametrize(
    "given", [None, 3, "trees", ("woods",), [["linear"]], ("trees", "trees")]
)
def test_simple_models_are_named_once(given):
    with pytest.raises(InputError, match="blend_with must be 'auto', or a list"):
        check_options(HistogramRegressor(blend_with=given))


@pytest.mark.parametrize(
    ("given", "names"),
    [
        ("auto", ("linear", "kernel", "trees", "forest")),
        (["trees"], ("trees",)),
        ((), ()),
    ],
)
def test_simple_models_are_taken_as_given(given, names):
    assert blended_models(HistogramRegressor(blend_with=given)) == names


def test_a_blend_needs_a_distribution():
    assert blended_models(HistogramRegressor(loss="l2")) == ()
    with pytest.raises(InputError, match="blend_with needs a loss that predicts"):
        check_options(HistogramRegressor(loss="l2", blend_with=("trees",)))
