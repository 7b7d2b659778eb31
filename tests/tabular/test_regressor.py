"""HistogramRegressor: scikit-learn's contract, and promises of its own."""

import pickle
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from copy import deepcopy

import numpy as np
import pandas as pd
import polars as pl
import pytest
import torch
from joblib import parallel_config
from scipy import sparse
from sklearn import set_config
from sklearn.base import clone
from sklearn.compose import TransformedTargetRegressor
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks
from torch import nn

from histreg import Bins, HistogramRegressor, metrics, targets
from histreg._names import LOSSES
from histreg.errors import InputError, NoDistributionError
from histreg.tabular import conformal, model_files
from tests.references import kaplan_meier
from tests.tabular.examples import BLENDED, SMALL, TINY, data, frame

# Learns what the tables below have to teach, in few epochs.
QUICK = {
    "hidden_layer_sizes": (32,),
    "learning_rate_init": 4e-3,
    "max_iter": 15,
    "random_state": 0,
}


# Checks that the models beside the networks could fail; the slow test has all checks.
ABOUT_BLENDS = {
    "check_estimators_pickle",
    "check_methods_subset_invariance",
    "check_sample_weight_equivalence_on_dense_data",
}


# One check asks for an R² of 0.5 on 200 noisy rows: 64 units reach 0.70 to 0.87 by seed
# and dtype, 32 units 0.49 to 0.80. The others hold after any number of epochs.
@parametrize_with_checks(
    [
        HistogramRegressor(hidden_layer_sizes=(64,), max_iter=60, blend_with=()),
        HistogramRegressor(
            hidden_layer_sizes=(64,), max_iter=60, loss="l2", n_estimators=2
        ),
    ]
)
def test_scikit_learn_has_nothing_to_complain_about(estimator, check):
    name = check.func.__name__
    if name != "check_regressors_train":
        estimator = clone(estimator).set_params(max_iter=3)
    if name in ABOUT_BLENDS:
        estimator.set_params(blend_with="auto")
    check(estimator)


@pytest.mark.slow
@parametrize_with_checks([HistogramRegressor()])
def test_scikit_learn_is_content_with_the_defaults(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def trained():
    """Return a model of 2,000 rows; copy it before changing it."""
    return HistogramRegressor((64, 64), max_iter=40, random_state=0).fit(*data(2000))


def test_it_learns_the_mean_and_the_spread(trained):
    model = trained
    X_new, y_new = data(2000, seed=1)
    assert np.abs(model.predict(X_new) - y_new).mean() < 0.5  # noise alone has 0.4
    # The noise has a standard deviation of 0.5; the network's own errors add to it.
    spread = np.sqrt(model.predict_var(X_new)).mean()
    assert 0.42 < spread < 0.75


def test_sharpening_narrows_the_spread_and_leaves_the_mean(trained):
    X_new, y_new = data(1000, seed=1)
    model = deepcopy(trained)
    model.model_.blends = None  # it makes up for what the networks do not know
    sharp = model.predict(X_new), np.sqrt(model.predict_var(X_new)).mean()
    score = model.predict_dist(X_new).crps(torch.tensor(y_new)).mean()
    model.model_.sharp = None
    smooth = model.predict(X_new), np.sqrt(model.predict_var(X_new)).mean()
    smooth_score = model.predict_dist(X_new).crps(torch.tensor(y_new)).mean()
    assert sharp[1] < 0.85 * smooth[1] and score < smooth_score
    assert np.abs(sharp[0] - smooth[0]).mean() < 0.15  # a third of the noise


@pytest.mark.parametrize("loss", LOSSES)
def test_every_loss_learns(loss):
    X, y = data(500)
    model = HistogramRegressor(**QUICK, loss=loss).fit(X, y)
    # The literal reading of the paper's formula has the wrong mean.
    assert model.score(X, y) > (0.8 if loss != "softmax_per_bin_l2" else -np.inf)
    if loss in ("l2", "l1"):
        with pytest.raises(AttributeError, match="a distribution needs a loss"):
            model.predict_dist(X)
    else:
        assert model.predict_dist(X).batch_shape == (500,)


@pytest.mark.parametrize("target", ["one_bin", "uniform", "projected", "callable"])
def test_every_target_learns(target):
    X, y = data(500)
    if target == "callable":
        target = targets.projected
    model = HistogramRegressor(**QUICK, target=target)
    assert model.fit(X, y).score(X, y) > 0.8


def lives(n=1500, seed=0):
    """Return X, times, their flags and the times that were cut short, of mean 5."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, size=(n, 2))
    life = rng.weibull(2.0, size=n) * 5 * np.exp(0.7 * X[:, 0])
    limit = rng.uniform(0, 12, size=n)
    return X, np.minimum(life, limit), limit < life, life


def test_one_group_has_the_kaplan_meier_estimator():
    X, y, censored, _ = lives()
    bins = Bins.uniform(0.0, 12.0, 24)
    model = HistogramRegressor(
        (8,),
        bins=bins,
        target="one_bin",
        early_stopping=False,
        dropout=0.0,
        weight_decay=0.0,
        learning_rate_init=1e-2,
        batch_size=500,
        max_iter=60,
        random_state=0,
    )
    model.fit(0 * X, y, censored=censored)
    borders = bins.borders.numpy()[:-2]  # nobody is seen for longer
    found = [model.predict_proba_above(X[:1], at).item() for at in borders]
    expected = kaplan_meier(y, censored, borders)
    # Censoring within bins counts by shares, and steps of Adam do not come to rest.
    np.testing.assert_allclose(found, expected, atol=0.02)
    model.fit(0 * X, y)
    found = [model.predict_proba_above(X[:1], at).item() for at in borders]
    assert np.abs(found - expected).max() > 0.15


def test_times_that_were_cut_short_are_learnt_as_such():
    X, y, censored, _ = lives()
    X_new, _, _, life = lives(seed=1)
    assert 0.3 < censored.mean() < 0.5
    error = {}
    for name, flags in {"censored": censored, "ignored": None}.items():
        model = HistogramRegressor(**QUICK).fit(X, y, censored=flags)
        error[name] = np.mean(model.predict(X_new, "median") - np.median(life))
        # The second readout, which predicts, knows of the flags too.
        alike = [model.predict(X_new).mean()]
        model.model_.sharp = None
        alike.append(model.predict(X_new).mean())
        assert alike[0] == pytest.approx(alike[1], abs=0.3)
    assert abs(error["censored"]) < 0.5 and error["ignored"] < -0.8


def test_no_censored_target_is_as_if_none_were_named():
    X, y = data()
    plain = HistogramRegressor(**SMALL).fit(X, y)
    flags = HistogramRegressor(**SMALL).fit(X, y, censored=np.zeros(200, dtype=bool))
    np.testing.assert_array_equal(plain.predict(X), flags.predict(X))
    assert plain.history_["validation_error"] == flags.history_["validation_error"]


def test_with_censored_targets_order_has_no_effect_and_weights_are_copies():
    X, y, censored, _ = lives(120)
    weight = np.random.default_rng(0).integers(0, 3, size=120)
    models = [HistogramRegressor(**SMALL, n_estimators=2) for _ in range(2)]
    models[0].fit(X, y, sample_weight=weight, censored=censored)
    copies = np.random.default_rng(1).permutation(np.repeat(np.arange(120), weight))
    models[1].fit(X[copies], y[copies], censored=pd.Series(censored[copies]))
    np.testing.assert_array_equal(*[model.predict(X) for model in models])
    np.testing.assert_array_equal(*[model.history_["loss"] for model in models])


def test_each_of_several_targets_has_its_own_flags():
    X, y, censored, life = lives(800)
    both = np.stack([y, life], axis=1)
    flags = np.stack([censored, np.zeros_like(censored)], axis=1)
    model = HistogramRegressor(**QUICK).fit(X, both, censored=flags)
    short = HistogramRegressor(**QUICK).fit(X, both)
    means, means_of_short = model.predict(X).mean(axis=0), short.predict(X).mean(axis=0)
    assert means[0] > means_of_short[0] + 0.8
    assert means[1] == pytest.approx(means_of_short[1], abs=0.3)


def test_rows_that_are_all_censored_move_the_mass_up():
    X, y, censored, _ = lives(400)
    model = HistogramRegressor(**SMALL, y_range=(0.0, 12.0))
    model.partial_fit(X, y, censored=censored)
    before = model.predict_proba_above(X, 9.0).mean()
    for _ in range(20):
        model.partial_fit(X, np.full(400, 9.0), censored=np.ones(400, dtype=bool))
    assert model.predict_proba_above(X, 9.0).mean() > before + 0.2


@pytest.mark.parametrize("routing", [False, True])
def test_a_search_gives_each_part_its_own_flags(routing):
    X, y, censored, _ = lives(150)
    set_config(enable_metadata_routing=routing)
    try:
        model = HistogramRegressor(**SMALL)
        if routing:
            model.set_fit_request(censored=True)
        search = GridSearchCV(model, {"n_bins": [20, 40]}, cv=2)
        search.fit(X, y, censored=censored)
    finally:
        set_config(enable_metadata_routing=False)
    best = clone(model).set_params(n_bins=search.best_params_["n_bins"])
    expected = best.fit(X, y, censored=censored).predict(X)
    np.testing.assert_array_equal(search.predict(X), expected)


@pytest.mark.parametrize(
    ("options", "flags", "sentence"),
    [
        ({"loss": "l2"}, [True] + [False] * 4, "censored needs loss='histogram'"),
        ({"loss": "crps"}, [False] * 5, "got loss='crps'"),
        ({}, [True] * 4, r"censored must have shape \(5,\) like y, got shape \(4,\)"),
        ({}, [[True]] * 5, r"got shape \(5, 1\)"),
        ({}, [0, 1, 0, 1, 0], "censored must hold bool, True where y is a lower bound"),
        ({}, [True] * 5, "censored must leave at least one known target"),
    ],
)
def test_flags_that_make_no_sense_are_refused(options, flags, sentence):
    X, y = data(5)
    model = HistogramRegressor(**SMALL, **options)
    with pytest.raises(ValueError, match=sentence):
        model.fit(X, y, censored=flags)
    assert not hasattr(model, "model_")


def test_an_ensemble_is_the_mixture_of_its_networks():
    X, y = data()
    model = HistogramRegressor(**SMALL, n_estimators=3).fit(X, y)
    d = model.predict_dist(X)
    table = model._table(X)
    numbers, codes = model.model_.inputs(table)
    with torch.no_grad():
        each = model.model_.sharp(numbers, codes)[:, :, 0].double().softmax(-1)
    torch.testing.assert_close(d.probs, each.mean(dim=0), rtol=1e-6, atol=1e-9)
    assert (each[0] - each[1]).abs().max() > 1e-3


def test_several_targets_have_their_own_bins_and_results():
    X, y = data()
    both = np.stack([y, 1e6 - 1000 * y], axis=1)
    model = HistogramRegressor((32,), max_iter=40, random_state=0).fit(X, both)
    assert len(model.bins_) == 2 and model.n_outputs_ == 2
    assert model.score(X, both) > 0.8
    assert model.predict(X, "median").shape == (200, 2)
    assert model.predict_quantiles(X, [0.1, 0.5, 0.9]).shape == (200, 2, 3)
    assert model.predict_quantiles(X, 0.5).shape == (200, 2)
    assert model.sample(X, 4).shape == (200, 2, 4)
    assert model.predict_proba_above(X, [0.0, 1e6]).shape == (200, 2)
    lower, upper = model.calibrate(X, both).predict_interval(X)
    assert lower.shape == (200, 2) and (lower <= upper).all()
    price, _ = model.predict_dist(X)
    np.testing.assert_allclose(price.mean, model.predict(X)[:, 0])


def test_one_column_of_targets_stays_a_column():
    X, y = data()
    flat = HistogramRegressor(**SMALL).fit(X, y)
    column = HistogramRegressor(**SMALL).fit(X, y[:, None])
    assert flat.predict(X).shape == (200,) and column.predict(X).shape == (200, 1)
    np.testing.assert_array_equal(flat.predict(X), column.predict(X)[:, 0])


def test_all_readings_are_of_one_distribution():
    X, y = data()
    model = HistogramRegressor(**SMALL).fit(X, y)
    d = model.predict_dist(X)
    for name, expected in {
        "mean": d.mean,
        "median": d.median,
        "mode": d.mode,
        "quantiles": d.quantiles(np.arange(1, 10) / 10).T,
    }.items():
        np.testing.assert_allclose(model.predict(X, name), expected, rtol=1e-12)
    np.testing.assert_allclose(model.predict_var(X), d.variance)
    np.testing.assert_allclose(model.predict_proba_above(X, 3.0), 1 - d.cdf(3.0))
    for method in ("central", "shortest"):
        for found, end in zip(
            model.predict_interval(X, 0.8, method), d.interval(0.8, method), strict=True
        ):
            np.testing.assert_allclose(found, end)
    draws = model.sample(X, 4000, random_state=0)
    assert draws.shape == (200, 4000)
    # The mean of 4,000 draws, six standard errors of it.
    allowed = 6 * np.sqrt(model.predict_var(X) / 4000)
    assert (np.abs(draws.mean(axis=1) - model.predict(X)) < allowed).all()
    np.testing.assert_array_equal(draws, model.sample(X, 4000, random_state=0))


def test_an_offset_of_y_does_no_harm():
    X, y = data(300)
    plain = HistogramRegressor(**QUICK).fit(X, y).predict(X)
    for offset in (1e6, -1e9):
        moved = HistogramRegressor(**QUICK).fit(X, y + offset).predict(X)
        # 1e9 carries 1e-7 in float64, and a rounding of targets grows in training.
        np.testing.assert_allclose(moved - offset, plain, atol=0.05)


@pytest.mark.parametrize("loss", ["histogram", "l2"])
def test_a_constant_y_is_predicted(loss):
    X, _ = data(50)
    model = HistogramRegressor(**SMALL | {"max_iter": 60}, loss=loss)
    found = model.fit(X, np.full(50, 7.5)).predict(X)
    np.testing.assert_allclose(found, 7.5, atol=0.4)


def test_every_kind_of_column_is_learnt():
    table, y = frame(800)
    model = HistogramRegressor(**QUICK).fit(table, y)
    assert model.model_.kinds == ("number",) * 3 + ("label",) * 2
    without = table.drop(columns="kind")
    blind = HistogramRegressor(**QUICK).fit(without, y)
    assert np.abs(model.predict(table) - y).mean() < 0.8
    assert np.abs(blind.predict(without) - y).mean() > 1.5  # the label is worth 5


def test_pandas_and_polars_give_the_same_model():
    table, y = frame()
    other = pl.DataFrame(
        {
            name: pl.Series(
                [None if value != value else value for value in column.to_list()]
            )
            for name, column in table.items()
        }
    ).with_columns(pl.col("kind").cast(pl.Categorical))
    one = HistogramRegressor(**SMALL).fit(table, y).predict(table)
    two = HistogramRegressor(**SMALL).fit(other, y).predict(other)
    np.testing.assert_array_equal(one, two)


def test_labels_and_gaps_never_seen_are_predicted():
    table, y = frame()
    model = HistogramRegressor(**SMALL).fit(table, y)
    new = table.iloc[:3].copy()
    new["kind"] = ["new", "plain", None]
    new["a"] = [np.nan, 0.0, 1e30]
    assert np.isfinite(model.predict(new)).all()


def test_frames_are_checked_against_those_of_fit():
    table, y = frame()
    model = HistogramRegressor(**SMALL).fit(table, y)
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(table[["b", "a", "c", "kind", "text"]])
    with pytest.raises(ValueError, match="X must be a data frame, as in fit"):
        model.predict(table.to_numpy())
    wrong = table.assign(a="text")
    with pytest.raises(ValueError, match="column 'a' must hold numbers"):
        model.predict(wrong)
    with pytest.raises(ValueError, match="infinity"):
        model.predict(table.assign(a=np.inf))


def test_whole_weights_keep_copies_of_a_row_in_one_fold():
    """Otherwise networks stop late, and their errors look smaller than they are."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1300, 3))
    y = X[:, 0] + 0.5 * rng.normal(size=1300)
    weight = rng.integers(1, 6, size=300)
    model = HistogramRegressor(random_state=0).fit(X[:300], y[:300], weight)
    lower, upper = model.predict_interval(X[300:], 0.9)
    held = np.mean((lower <= y[300:]) & (y[300:] <= upper))
    # Of 300 rows; as good as weights that are no whole numbers, whatever their scale.
    assert 0.8 < held < 0.96
    tenth = HistogramRegressor(random_state=0).fit(X[:300], y[:300], weight / 10)
    np.testing.assert_allclose(tenth.predict(X), model.predict(X), atol=1e-6)


@pytest.mark.parametrize(
    ("far", "shown"),
    [(1e20, "1e.20"), (-3e18, "-3e.18"), (1e30, "1e.30")],
)
def test_a_target_too_far_for_float64_is_refused_by_its_size(far, shown):
    X, y = data(120)
    y[0] = far
    with pytest.raises(InputError, match=f"y must not hold a target .* got {shown};"):
        HistogramRegressor(**SMALL).fit(X, y)


def test_a_frame_without_columns_is_refused_at_once():
    with pytest.raises(InputError, match="X must have at least one column"):
        HistogramRegressor().fit(pd.DataFrame(index=range(30)), np.arange(30.0))


def test_a_weight_is_as_good_as_copies_and_order_has_no_effect():
    X, y = data(80)
    weight = np.random.default_rng(0).integers(0, 4, size=80)
    order = np.random.default_rng(1).permutation(weight.sum())
    copies = HistogramRegressor(**BLENDED).fit(
        np.repeat(X, weight, axis=0)[order], np.repeat(y, weight)[order]
    )
    weighted = HistogramRegressor(**BLENDED).fit(X, y, weight)
    np.testing.assert_array_equal(copies.predict(X), weighted.predict(X))


def test_weights_pull_the_prediction():
    X = np.zeros((200, 1))  # nothing to tell rows apart by
    y = np.where(np.arange(200) % 2, 0.0, 10.0)
    weight = np.where(y > 5, 3.0, 1.0)
    model = HistogramRegressor((8,), random_state=0)
    found = model.fit(X, y, weight).predict(X[:1])
    assert found[0] == pytest.approx(7.5, abs=0.8)


def test_it_goes_through_pipelines_searches_and_clones():
    X, y = data(120)
    model = HistogramRegressor(**SMALL)
    search = GridSearchCV(
        make_pipeline(StandardScaler(), model),
        {"histogramregressor__n_bins": [30, 60]},
        cv=2,
        scoring=metrics.SCORERS["neg_crps"],
    ).fit(X, y)
    assert search.best_params_["histogramregressor__n_bins"] in (30, 60)
    assert len(cross_val_score(model, X, y, cv=2)) == 2
    TransformedTargetRegressor(model, transformer=StandardScaler()).fit(X, y)
    again = clone(model.fit(X, y))
    assert not hasattr(again, "model_")
    np.testing.assert_array_equal(again.fit(X, y).predict(X), model.predict(X))


def test_weights_are_routed():
    X, y = data(120)
    set_config(enable_metadata_routing=True)
    try:
        model = HistogramRegressor(**SMALL).set_fit_request(sample_weight=True)
        model.set_score_request(sample_weight=True)
        cross_val_score(model, X, y, cv=2, params={"sample_weight": np.ones(120)})
    finally:
        set_config(enable_metadata_routing=False)


def test_a_pickle_predicts_the_same():
    X, y = data()
    model = HistogramRegressor(**BLENDED, n_estimators=2).fit(X, y)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(model.predict(X), again.predict(X))


def test_seeds_make_results_and_leave_torch_alone():
    X, y = data()
    torch.manual_seed(3)
    before = torch.rand(1)
    torch.manual_seed(3)
    one = HistogramRegressor(**BLENDED).fit(X, y)
    assert torch.equal(torch.rand(1), before)
    other = HistogramRegressor(**BLENDED).fit(X, y)
    third = HistogramRegressor(**BLENDED | {"random_state": 1}).fit(X, y)
    np.testing.assert_array_equal(one.predict(X), other.predict(X))
    assert not np.array_equal(one.predict(X), third.predict(X))


def backbone_with_dropout():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Dropout(0.2))


@pytest.mark.parametrize("has_backbone", [False, True])
def test_a_search_in_threads_finds_what_a_serial_one_does_to_the_bit(has_backbone):
    X, y = data(120)
    backbone = backbone_with_dropout() if has_backbone else None
    model = HistogramRegressor(**SMALL, n_estimators=2, backbone=backbone)
    torch.manual_seed(3)
    state = torch.get_rng_state()
    searches = []
    for n_jobs in (1, 4):
        search = GridSearchCV(model, {"n_bins": [20, 30, 40, 50]}, cv=2, n_jobs=n_jobs)
        with parallel_config(backend="threading"):
            searches.append(search.fit(X, y))
    serial, threaded = searches
    for name in ("split0_test_score", "split1_test_score"):
        np.testing.assert_array_equal(
            serial.cv_results_[name], threaded.cv_results_[name]
        )
    np.testing.assert_array_equal(serial.predict(X), threaded.predict(X))
    assert torch.equal(torch.get_rng_state(), state)


def test_fits_in_threads_are_the_fit_of_their_seed():
    X, y = data(120)
    expected = HistogramRegressor(**BLENDED).fit(X, y).predict(X)

    def fitted(_):
        torch.rand(7)  # what others draw meanwhile has no effect
        return HistogramRegressor(**BLENDED).fit(X, y).predict(X)

    with ThreadPoolExecutor(4) as threads:
        for found in threads.map(fitted, range(12)):
            np.testing.assert_array_equal(found, expected)


@contextmanager
def default_dtype_of_float64():
    torch.set_default_dtype(torch.float64)
    try:
        yield
    finally:
        torch.set_default_dtype(torch.float32)


SURROUNDINGS = {
    "no_grad": torch.no_grad,
    "inference_mode": torch.inference_mode,
    "autocast": lambda: torch.autocast("cpu", dtype=torch.bfloat16),
    "float64": default_dtype_of_float64,
}


def all_that_is_learnt(surroundings, folder, options):
    """Return predictions after each step of a life, all within the surroundings."""
    table, y = frame(120)
    found = []
    with surroundings():
        model = HistogramRegressor(**SMALL, n_estimators=2, **options)
        found.append(model.fit(table, y).predict(table))
        for scale in (1, 5):
            model.partial_fit(table, scale * y)
            found.append(model.predict(table))
        if options.get("loss") != "l2":
            model.calibrate(table, y)
            for method in ("central", "shortest"):
                found += model.predict_interval(table, 0.8, method)
            d = model.predict_dist(table)
            found += [d.crps(torch.tensor(y)).numpy(), d.variance.numpy()]
            found.append(model.sample(table, 3, random_state=0))
        model.save(folder)
        loaded = HistogramRegressor.load(folder)
        found.append(loaded.predict(table))
    # Made inside, used outside.
    for each in (model, loaded):
        found.append(each.predict(table))
        each.set_params(warm_start=True).fit(table, y)
        found.append(each.predict(table))
    return found


@pytest.mark.parametrize("options", [{}, {"loss": "l2"}, {"loss": "crps"}])
@pytest.mark.parametrize("name", SURROUNDINGS)
def test_what_the_caller_has_set_of_torch_changes_nothing(name, options, tmp_path):
    plain = all_that_is_learnt(nullcontext, tmp_path / "plain", options)
    found = all_that_is_learnt(SURROUNDINGS[name], tmp_path / name, options)
    for one, other in zip(found, plain, strict=True):
        assert one.dtype == other.dtype
        np.testing.assert_array_equal(one, other)


def test_nothing_of_torch_is_changed():
    X, y = data()
    torch.manual_seed(3)
    state = torch.get_rng_state()

    def settings():
        return (
            torch.get_num_threads(),
            torch.get_default_dtype(),
            torch.is_grad_enabled(),
            torch.is_inference_mode_enabled(),
            torch.is_autocast_enabled("cpu"),
        )

    before = settings()
    model = HistogramRegressor(**SMALL, loss="l2").fit(X, y).partial_fit(X, y)
    with pytest.raises(NoDistributionError) as refusal:
        model.predict_dist(X)
    assert settings() == before  # also while the refusal's frames are alive
    assert refusal.value is not None
    assert torch.equal(torch.get_rng_state(), state)


@pytest.mark.parametrize(("batch_size", "n_threads"), [(64, 1), (2**24, 2)])
def test_small_steps_are_made_by_one_thread(batch_size, n_threads):
    X, y = data()
    before, found = torch.get_num_threads(), set()
    torch.set_num_threads(2)
    try:
        model = HistogramRegressor(
            **SMALL | {"max_iter": 1},
            batch_size=batch_size,
            callback=lambda _: found.add(torch.get_num_threads()),
        )
        model.fit(X, y).partial_fit(X, y)
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)
    assert found == {n_threads}


@pytest.mark.parametrize("has_backbone", [False, True])
def test_loading_leaves_the_generators_of_torch_alone(has_backbone, tmp_path):
    X, y = data()
    backbone = backbone_with_dropout() if has_backbone else None
    model = HistogramRegressor(**SMALL, n_estimators=2, backbone=backbone).fit(X, y)
    model.save(tmp_path / "model")
    state = torch.get_rng_state()
    HistogramRegressor.load(tmp_path / "model", backbone=backbone)
    assert torch.equal(torch.get_rng_state(), state)


def test_training_is_reported_and_remembered(capsys):
    X, y = data()
    seen = []
    model = HistogramRegressor(**SMALL, callback=seen.append, verbose=True).fit(X, y)
    assert [epoch.number for epoch in seen] == list(range(1, 9))
    assert model.n_iter_ == 8 and len(model.history_["validation_error"]) == 8
    assert capsys.readouterr().out.count("validation_loss") == 8


def test_early_stopping_stops_and_its_absence_does_not():
    X, y = data(300)
    options = {"hidden_layer_sizes": (64,), "learning_rate_init": 0.02}
    stopped = HistogramRegressor(**options, n_iter_no_change=2, random_state=0)
    assert stopped.fit(X, y).n_iter_ < 200
    going = HistogramRegressor(**options, max_iter=20, early_stopping=False)
    assert going.fit(X, y).n_iter_ == 20
    assert going.history_["validation_loss"] == [None] * 20


def test_warm_start_goes_on():
    X, y = data(400)
    options = {"max_iter": 5, "blend_with": (), "random_state": 0}
    model = HistogramRegressor((32,), warm_start=True, **options)
    first = model.fit(X, y).score(X, y)
    bins = model.bins_
    assert model.fit(X, y).score(X, y) > first
    assert model.bins_ == bins
    cold = HistogramRegressor((32,), **options)
    assert cold.fit(X, y).fit(X, y).score(X, y) == first


def test_partial_fit_learns_batch_by_batch():
    X, y = data(600)
    model = HistogramRegressor(
        (32,), y_range=(-12, 12), learning_rate_init=3e-3, random_state=0
    )
    for start in range(0, 600, 100):
        model.partial_fit(X[start : start + 100], y[start : start + 100])
    early = model.score(X, y)
    generator = model._generator
    for _ in range(10):
        model.partial_fit(X, y)
    assert model._generator is generator  # no two calls shuffle alike
    assert model.score(X, y) > max(early, 0.8)
    assert model.n_iter_ == 16
    with pytest.raises(ValueError, match="y must have 1 columns"):
        model.partial_fit(X, np.stack([y, y], axis=1))


def scaled_stream(seed, scales, n=300):
    """Yield X and y = a (sin(3 x_0) + x_1 + 0.1 noise) for each a."""
    rng = np.random.default_rng(seed)
    for a in scales:
        X = rng.uniform(-1, 1, size=(n, 3))
        y = np.sin(3 * X[:, 0]) + X[:, 1] + 0.1 * rng.normal(size=n)
        yield X, a * y


def test_a_range_that_grows_a_hundredfold_is_learnt_as_well_as_a_known_one():
    scales = [*np.geomspace(1, 100, 15), *[100] * 10]
    ((X_new, y_new),) = scaled_stream(99, [100], n=2000)
    errors = []
    for y_range in (None, (-230, 230)):
        model = HistogramRegressor(
            (64, 64), y_range=y_range, learning_rate_init=3e-3, random_state=0
        )
        for X, y in scaled_stream(0, scales):
            model.partial_fit(X, y)
        errors.append(np.abs(model.predict(X_new) - y_new).mean())
        assert model.n_clipped_ == 0 and model.n_seen_ == 25 * 300
        assert (model.n_growths_ > 4) == (y_range is None)
    growing, known = errors
    # The noise alone has 8. Five seeds had ratios of 0.88 to 1.03.
    assert growing < 1.1 * known


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"bins": "symlog"},
        {"final_sigma_in_bins": None, "n_estimators": 2},
        {"loss": "crps"},
        {"target": targets.projected},
    ],
    ids=["default", "symlog", "ensemble", "crps", "callable"],
)
def test_predictions_do_not_jump_when_bins_grow(options):
    X, y = data(300)
    model = HistogramRegressor(
        (32,), learning_rate_init=5e-3, random_state=0, **options
    )
    for _ in range(10):
        model.partial_fit(X, y)
    old, before = model.bins_, model.predict_dist(X)
    # Of partial_fit, only this: what is learnt then moves predictions too.
    model._grow(model._read_training(X, 1.5 * y, None, None, reset=False)[0])
    after, new = model.predict_dist(X), model.bins_
    assert new != old and model.n_growths_ == 1
    first, last = new.index_of(torch.tensor(y)).aminmax()
    width = new.widths[first : last + 1].max().item()  # where y has been
    # All of a bin counts as its center, before and after: half a bin. A hundredth of
    # the mass is put beyond the old ends, which is two in a hundred bins.
    assert (after.mean - before.mean).abs().mean() < width / 2
    for level in new.borders[1:-1].tolist():
        too_much = (after.cdf(level) - before.cdf(level + width)).clamp(min=0)
        too_little = (before.cdf(level - width) - after.cdf(level)).clamp(min=0)
        assert (too_much + too_little).mean() < 0.01


@pytest.mark.parametrize("bins", ["auto", "sqrt", "log", "symlog", "quantile"])
def test_a_heavy_mean_does_not_run_away_when_bins_grow(bins):
    X = np.random.default_rng(0).normal(size=(len(HEAVY), 2))
    model = HistogramRegressor((16,), bins=bins, random_state=0)
    for _ in range(5):
        model.partial_fit(X, HEAVY)
    before = model.predict_dist(X)
    rows, _ = model._read_training(X, 1.5 * HEAVY, None, None, reset=False)
    model._grow(rows)
    assert model.n_growths_ == 1
    after = model.predict_dist(X)
    exact = before.rebinned(model.bins_)
    # A quarter of a bin where the mass lies, for each end; and what the fit is off.
    width = (exact.probs * model.bins_.widths.log()).sum(-1).exp().mean()
    assert (after.mean - exact.mean).mean().abs() < width


@pytest.mark.parametrize("leap", [1e3, 1e6, -1e6])
def test_a_leap_of_the_range_leaves_numbers(leap):
    X, y = data(100)
    model = HistogramRegressor((16,), random_state=0).partial_fit(X, y)
    model.partial_fit(X, leap * y)
    assert np.isfinite(model.predict(X)).all() and np.isfinite(
        model.history_["loss"][-1]
    )


@pytest.mark.parametrize("loss", ["l2", "mdn"])
def test_outputs_that_are_no_logits_stay_when_bins_grow(loss):
    X, y = data()
    model = HistogramRegressor((16,), loss=loss, random_state=0).partial_fit(X, y)
    before = model.predict(X)
    model._grow(model._read_training(X, 3 * y, None, None, reset=False)[0])
    assert model.bins_.high > 20
    np.testing.assert_array_equal(model.predict(X), before)


def test_a_model_whose_bins_have_grown_is_saved_and_goes_on(tmp_path):
    X, y = data()
    model = HistogramRegressor((16,), random_state=0).partial_fit(X, y)
    model.partial_fit(X, 5 * y).calibrate(X, 5 * y).save(tmp_path / "model")
    again = HistogramRegressor.load(tmp_path / "model")
    assert again.bins_ == model.bins_ and again.n_growths_ == 1
    assert (again.n_seen_, again.n_clipped_) == (400, 0)
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    again.partial_fit(X, 25 * y)
    assert again.n_growths_ == 2 and again.model_.calibration is None


STREAMS = {
    "plain": {},
    "ensemble": {"n_estimators": 2, "learning_rate_init": 3e-3},
    "l2": {"loss": "l2"},
    "unsharpened": {"final_sigma_in_bins": None},
    "shared": {"random_state": np.random.RandomState(3)},
    "backbone": {"backbone": nn.Sequential(nn.Linear(3, 8), nn.BatchNorm1d(8))},
}


@pytest.mark.parametrize("name", STREAMS)
def test_a_stream_goes_on_after_load_as_without_to_the_bit(name, tmp_path):
    X, y = data()
    options = {"hidden_layer_sizes": (16,), "random_state": 0} | STREAMS[name]
    model = HistogramRegressor(**options)
    for scale in (1, 1, 3):  # the bins grow in between
        model.partial_fit(X, scale * y)
    model.set_params(weight_decay=0.1)  # too late for an optimizer that there is
    model.save(tmp_path / "model")
    again = HistogramRegressor.load(tmp_path / "model", backbone=model.backbone)
    for scale in (1, 20):
        for each in (model, again):
            each.partial_fit(X, scale * y)
        np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert again.history_["loss"] == model.history_["loss"]
    assert again.n_growths_ == model.n_growths_ == 2


def test_fit_and_partial_fit_take_turns_over_a_load(tmp_path):
    X, y = data()
    model = HistogramRegressor(**SMALL, warm_start=True).partial_fit(X, y).fit(X, y)
    model.save(tmp_path / "model")
    again = HistogramRegressor.load(tmp_path / "model")
    for each in (model, again):
        each.partial_fit(X, y)
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


def test_only_a_stream_has_more_to_save_than_weights(tmp_path):
    X, y = data()
    HistogramRegressor(**SMALL).fit(X, y).save(tmp_path / "model")
    described, tensors = model_files.load(tmp_path / "model")
    assert "training" not in described
    assert not [name for name in tensors if name.startswith(("optimizer", "generator"))]


def test_bins_grow_on_a_warm_start():
    X, y = data()
    model = HistogramRegressor(**SMALL, warm_start=True).fit(X, y)
    bins = model.bins_
    model.fit(X, 3 * y)
    assert model.bins_ == bins.grown(3 * y) and model.n_clipped_ == 0
    assert model.set_params(warm_start=False).fit(X, y).bins_ == bins
    assert model.n_growths_ == 0


@pytest.mark.parametrize("target", ["gaussian", "projected"])
def test_uneven_bins_take_targets_of_any_kind(target):
    X, y = data(400)
    bins = Bins(np.quantile(y, np.linspace(0, 1, 31)))
    model = HistogramRegressor(
        (32,), bins=bins, target=target, max_iter=40, random_state=0
    )
    assert model.fit(X, y).score(X, y) > 0.8


def test_any_module_can_be_the_backbone(tmp_path):
    table, y = frame(300)
    backbone = nn.Sequential(nn.Linear(11, 24), nn.BatchNorm1d(24), nn.ReLU())
    start = backbone[0].weight.detach().clone()
    model = HistogramRegressor(
        backbone=backbone, n_estimators=2, max_iter=40, random_state=0
    ).fit(table, y)
    assert model.score(table, y) > 0.7
    assert torch.equal(backbone[0].weight, start)  # a copy was trained
    model.save(tmp_path / "m")
    other = nn.Sequential(nn.Linear(11, 24), nn.BatchNorm1d(24), nn.ReLU())
    again = HistogramRegressor.load(tmp_path / "m", backbone=other)
    np.testing.assert_array_equal(again.predict(table), model.predict(table))
    with pytest.raises(ValueError, match="backbone must be given"):
        HistogramRegressor.load(tmp_path / "m")


@pytest.mark.parametrize("method", ["central", "shortest"])
def test_calibrated_intervals_cover_what_they_promise(method):
    """A model fitted to too little is made honest by rows it has not seen.

    4,000 test rows after 400 to calibrate on: the share covered has a standard
    deviation of sqrt(0.09 / 402 + 0.09 / 4000) = 0.016; four of them fail once in
    16,000.
    """
    X, y = data(60)
    model = HistogramRegressor((64, 64), max_iter=150, early_stopping=False, dropout=0)
    model.set_params(random_state=0).fit(X, y)
    X_test, y_test = data(4000, seed=1)

    def coverage():
        lower, upper = model.predict_interval(X_test, 0.9, method)
        return ((lower <= y_test) & (y_test <= upper)).mean()

    assert coverage() < 0.8
    model.calibrate(*data(400, seed=2))
    assert abs(coverage() - 0.9) < 0.064


def test_the_promise_of_calibration_holds_over_many_draws():
    """Over draws of calibration rows and test rows, as the theorem says.

    300 draws of 49 rows, each tested on 50: coverage of one draw is Beta(46, 4) up to
    its own sampling, standard deviation 0.058, so the mean's is 0.0033; four of them.
    """
    X, y = data(200)
    model = HistogramRegressor(**SMALL).fit(X, y)
    X_all, y_all = data(300 * 99, seed=5)
    d = model.predict_dist(X_all)
    scores = conformal.scores(d, torch.tensor(y_all), 0.9).view(300, 99)
    shares = [
        (row[49:] <= conformal.growth(row[:49], 0.9)).double().mean().item()
        for row in scores
    ]
    assert 0.9 - 0.0133 < np.mean(shares) < 0.9 + 1 / 50 + 0.0133
    # And the estimator says the same as the scores for one of the draws.
    model.calibrate(X_all[:49], y_all[:49])
    lower, upper = model.predict_interval(X_all[49:99], 0.9)
    inside = (lower <= y_all[49:99]) & (y_all[49:99] <= upper)
    assert inside.mean() == pytest.approx(shares[0])


@pytest.mark.parametrize("method", ["central", "shortest"])
def test_calibrated_intervals_of_heavy_tails_are_finite_and_cover(method):
    """An overconfident model with tails on both sides, calibrated on 400 rows.

    4,000 test rows: the share covered has a standard deviation of 0.016; four of them
    fail once in 16,000.
    """
    rng = np.random.default_rng(0)

    def draw(n):
        X = rng.normal(size=(n, 3))
        return X, X[:, 0] + rng.standard_t(2.2, size=n)

    model = HistogramRegressor(
        (64, 64), tails="gpd", max_iter=150, early_stopping=False, random_state=0
    )
    model.set_params(dropout=0).fit(*draw(120)).calibrate(*draw(400))
    X, y = draw(4000)
    lower, upper = model.predict_interval(X, 0.9, method)
    assert np.isfinite(lower).all() and np.isfinite(upper).all()
    assert abs(((lower <= y) & (y <= upper)).mean() - 0.9) < 0.064


def test_too_few_rows_promise_nothing_finite():
    X, y = data()
    model = HistogramRegressor(**SMALL).fit(X, y).calibrate(X[:5], y[:5])
    lower, upper = model.predict_interval(X, 0.9)
    assert np.isneginf(lower).all() and np.isposinf(upper).all()


@pytest.mark.parametrize("options", [{}, {"loss": "l2"}, {"loss": "mdn"}])
def test_a_saved_model_predicts_the_same_bit_for_bit(options, tmp_path):
    table, y = frame()
    model = HistogramRegressor(**BLENDED, n_estimators=2, **options).fit(table, y)
    if not options:
        model.calibrate(table, y)
    model.notes_ = {"unit": "euro"}
    model.save(tmp_path / "m")
    again = HistogramRegressor.load(tmp_path / "m")
    np.testing.assert_array_equal(again.predict(table), model.predict(table))
    assert again.notes_ == {"unit": "euro"} and again.history_ == model.history_
    assert again.get_params() == model.get_params()
    assert list(again.feature_names_in_) == list(table.columns)
    if not options:
        for one, two in zip(
            again.predict_interval(table), model.predict_interval(table), strict=True
        ):
            np.testing.assert_array_equal(one, two)
    # It can be trained on.
    again.set_params(warm_start=True, max_iter=1).fit(table, y)


def test_several_targets_and_own_bins_are_saved(tmp_path):
    X, y = data()
    bins = [Bins.uniform(-20, 20, 40), Bins.uniform(-2, 2, 40)]
    both = np.stack([y, y / 10], axis=1)
    model = HistogramRegressor(**SMALL, bins=bins).fit(X, both)
    model.save(tmp_path / "m")
    again = HistogramRegressor.load(tmp_path / "m")
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert again.bins == bins


def test_bad_data_are_refused():
    X, y = data(30)
    model = HistogramRegressor(**SMALL)
    with pytest.raises(ValueError, match="y contains NaN"):
        model.fit(X, np.where(np.arange(30) == 3, np.nan, y))
    with pytest.raises(ValueError, match="y must hold numbers, got values of ty"):
        model.fit(X, pd.Series(pd.date_range("2020-01-01", periods=30)))
    with pytest.raises(ValueError, match="sample_weight must be finite, non-negative"):
        model.fit(X, y, -np.ones(30))
    with pytest.raises(ValueError, match=r"dim 3.* <= 2"):  # of scikit-learn
        model.fit(X, np.zeros((30, 2, 2)))
    model.fit(X, y)
    with pytest.raises(ValueError, match=r"alpha must hold levels in \[0, 1\]"):
        model.predict_quantiles(X, [0.5, 1.5])
    with pytest.raises(ValueError, match="coverage must lie between 0 and 1"):
        model.predict_interval(X, 90)
    with pytest.raises(ValueError, match="method must be one of"):
        model.predict_interval(X, 0.9, "smallest")
    with pytest.raises(ValueError, match="output_type must be one of"):
        model.predict(X, "average")
    with pytest.raises(ValueError, match="threshold must not be NaN"):
        model.predict_proba_above(X, np.nan)
    with pytest.raises(
        ValueError, match=r"threshold must be one number.*shape \(30,\)"
    ):
        model.predict_proba_above(X, np.zeros(30))
    with pytest.raises(ValueError, match="y must have 1 columns"):
        model.calibrate(X, np.zeros((30, 2)))


def test_discrete_tables_are_learnt_without_bias():
    """Three rows that look alike, whole-number targets: the mean and spread of each."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, size=(3000, 1)).astype(float)
    y = rng.geometric(0.3, size=3000).astype(float)
    model = HistogramRegressor((32,), max_iter=30, random_state=0).fit(X, y)
    found = model.predict(np.array([[0.0], [1.0], [2.0]]))
    # A mean of 1,000 draws of standard deviation 2.8 is known to 0.09.
    truth = [y[X[:, 0] == i].mean() for i in range(3)]
    np.testing.assert_allclose(found, truth, atol=0.35)
    assert np.sqrt(model.predict_var(X[:1]))[0] == pytest.approx(2.8, abs=0.5)


def test_intervals_of_tied_targets_cover_what_they_promise():
    rng = np.random.default_rng(0)

    def draw(n):
        X = rng.integers(0, 2, size=(n, 1)).astype(float)
        return X, rng.poisson(3, size=n).astype(float)

    model = HistogramRegressor((16,), max_iter=5, random_state=0).fit(*draw(300))
    model.calibrate(*draw(2000))
    X, y = draw(4000)
    for coverage in (0.3, 0.5, 0.7, 0.8, 0.9, 0.95):
        for method in ("central", "shortest"):
            lower, upper = model.predict_interval(X, coverage, method)
            # Ties may cover more; four standard deviations of 0.0137.
            assert ((lower <= y) & (y <= upper)).mean() > coverage - 0.055


def test_training_on_takes_back_the_promise_of_old_rows():
    X, y = data()
    model = HistogramRegressor(**SMALL, warm_start=True).fit(X, y).calibrate(X, y)
    assert model.partial_fit(X, y).model_.calibration is None
    assert model.calibrate(X, y).fit(X, y).model_.calibration is None


def test_fit_and_partial_fit_take_turns():
    X, y = data()
    model = HistogramRegressor(**SMALL, warm_start=True).partial_fit(X, y).fit(X, y)
    before = model.model_.sharp.readout.weight.clone()
    model.partial_fit(X, y)
    assert not torch.equal(model.model_.sharp.readout.weight, before)
    cold = HistogramRegressor(**SMALL).fit(X, y)
    assert cold.partial_fit(X, y).n_iter_ == 9


def everything(model):
    """Return all that an estimator is, to the bit, as text and bytes."""
    facts = {name: value for name, value in vars(model).items() if name != "callback"}
    for name in ("model_", "_optimizers", "_generator"):
        facts.pop(name, None)
    tensors = {}
    if hasattr(model, "model_"):
        described, tensors = model.model_.state()
        facts |= described
    for i, optimizer in enumerate(getattr(model, "_optimizers", [])):
        for j, state in enumerate(optimizer.state.values()):
            tensors |= {f"{i}.{j}.{name}": each for name, each in state.items()}
    if isinstance(getattr(model, "_generator", None), np.random.RandomState):
        facts["_generator"] = model._generator.get_state()[1].tobytes()
    found = {name: each.numpy().tobytes() for name, each in tensors.items()}
    return {name: repr(value) for name, value in facts.items()} | found


def stopping_in(number):
    """Return a callback that is interrupted in an epoch, as by Ctrl-C."""

    def stop(epoch):
        if epoch.number == number:
            raise KeyboardInterrupt

    return stop


def nan_in(y):
    return np.where(np.arange(len(y)) == 3, np.nan, y)


def start_from(name):
    """Return an unfitted estimator, or a fitted one that has something to lose."""
    X, y = data()
    if name == "unfitted":
        return HistogramRegressor(**SMALL)
    if name == "fitted":
        return HistogramRegressor(**BLENDED).fit(X, y).calibrate(X, y)
    if name == "warm":
        model = HistogramRegressor(**SMALL, warm_start=True).fit(*frame())
        return model.calibrate(*frame())
    if name == "stream":
        model = HistogramRegressor(**SMALL, n_estimators=2).partial_fit(X, y)
        return model.partial_fit(X, 3 * y)
    torch.manual_seed(0)
    backbone = nn.Sequential(nn.Linear(3, 8), nn.BatchNorm1d(8), nn.Dropout(0.1))
    return HistogramRegressor(**SMALL, backbone=backbone, warm_start=True).fit(X, y)


@pytest.mark.parametrize("train", ["fit", "partial_fit"])
@pytest.mark.parametrize("start", ["unfitted", "fitted", "warm", "stream", "backbone"])
def test_a_fit_that_does_not_end_leaves_the_estimator_as_it_was(start, train):
    model = start_from(start)
    X, y = frame() if start == "warm" else data()
    # Bins grow, and another number of columns is met, before anything goes wrong.
    wider, one_less = 9 * y, X.iloc[:, 1:] if start == "warm" else X[:, 1:]
    before = everything(model)
    epoch = 1 if train == "partial_fit" else 3
    for callback in (stopping_in(epoch), stopping_in(1), lambda epoch: 1 / 0):
        model.callback = callback
        with pytest.raises((KeyboardInterrupt, ZeroDivisionError)):
            getattr(model, train)(X, wider)
        assert everything(model) == before
    model.callback = None
    for rows, targets_of_rows in ((one_less, nan_in(y)), (X, nan_in(y)), (X, y[1:])):
        with pytest.raises(ValueError):
            getattr(model, train)(rows, targets_of_rows)
        assert everything(model) == before
    assert hasattr(model, "n_features_in_") == (start != "unfitted")
    # What comes next is what would have come without the interruptions.
    other = start_from(start)
    for each in (model, other):
        getattr(each, train)(X, wider)
    np.testing.assert_array_equal(model.predict(X), other.predict(X))


class InterruptedWhenFrozen(nn.Linear):
    """A body that is interrupted when the second readout is fitted on it."""

    is_armed = False

    def forward(self, x):
        if self.is_armed and self.training and not self.weight.requires_grad:
            raise KeyboardInterrupt
        return super().forward(x)


def test_an_interrupted_sharpening_leaves_the_estimator_as_it_was():
    X, y = data()
    model = HistogramRegressor(**SMALL, backbone=InterruptedWhenFrozen(3, 8))
    model.partial_fit(X, y)
    before = everything(model)
    model.model_.network.body.copies[0].is_armed = True
    with pytest.raises(KeyboardInterrupt):
        model.partial_fit(X, y)
    assert everything(model) == before


@pytest.mark.parametrize(
    "method",
    ["predict_dist", "predict_quantiles", "predict_interval", "predict_var", "sample"],
)
def test_nothing_is_predicted_before_fit(method):
    with pytest.raises(NotFittedError):
        getattr(HistogramRegressor(), method)(np.zeros((2, 2)))


@pytest.mark.parametrize("size", [1e-100, 1e150])
@pytest.mark.parametrize("loss", ["histogram", "l2", "mdn", "crps"])
def test_extreme_units_of_y_do_no_harm(size, loss):
    X, y = data()
    options = {"hidden_layer_sizes": (16,), "max_iter": 3, "random_state": 0}
    plain = HistogramRegressor(**options, loss=loss).fit(X, y).predict(X)
    scaled = HistogramRegressor(**options, loss=loss).fit(X, y * size).predict(X)
    np.testing.assert_allclose(scaled / size, plain, atol=0.02)


HEAVY = np.random.default_rng(0).lognormal(0, 1.5, 600)


def test_bins_are_even_unless_they_would_not_resolve_the_targets():
    X, y = data(n=len(HEAVY))
    assert HistogramRegressor(**SMALL).fit(X, y).bins_ == Bins.of(y)
    found = HistogramRegressor(**SMALL).fit(X, HEAVY).bins_
    assert found == Bins.of(HEAVY, spacing="auto") != Bins.of(HEAVY)


@pytest.mark.parametrize("bins", ["sqrt", "log", "symlog", "quantile", "auto"])
def test_bins_of_every_spacing_are_learnt_and_saved(bins, tmp_path):
    X = np.log(HEAVY)[:, None] + np.random.default_rng(1).normal(0, 0.3, (600, 1))
    model = HistogramRegressor(**SMALL, bins=bins).fit(X, HEAVY)
    assert model.bins_ == Bins.of(HEAVY, spacing=bins)
    model.save(tmp_path / "model")
    again = HistogramRegressor.load(tmp_path / "model")
    assert again.bins_ == model.bins_
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


def test_tails_are_learnt_and_saved(tmp_path):
    X = np.log(HEAVY)[:, None] + np.random.default_rng(1).normal(0, 0.3, (600, 1))
    model = HistogramRegressor(**SMALL, bins="log", tails=("clip", "gpd")).fit(X, HEAVY)
    assert model.bins_.upper_tail is not None and model.bins_.lower_tail is None
    far = model.predict_quantiles(X, [0.5, 0.9999])
    assert (far[:, 1] > HEAVY.max()).any()  # which bins with an end cannot say
    model.save(tmp_path / "model")
    again = HistogramRegressor.load(tmp_path / "model")
    assert again.bins_ == model.bins_ and again.tails == ("clip", "gpd")
    np.testing.assert_array_equal(again.predict_quantiles(X, [0.9999]), far[:, 1:])


@pytest.mark.parametrize("scale", [1e-250, 1e160, 1e300])
def test_heavy_targets_of_any_magnitude_are_learnt_alike(scale):
    X = np.random.default_rng(0).normal(size=(len(HEAVY), 2))
    model, scaled = (
        HistogramRegressor(**SMALL, bins="log").fit(X, y)
        for y in (HEAVY, scale * HEAVY)
    )
    # Rounding in float32, eight epochs on.
    np.testing.assert_allclose(
        scaled.history_["loss"], model.history_["loss"], rtol=1e-4
    )
    np.testing.assert_allclose(scaled.predict(X) / scale, model.predict(X), rtol=0.01)


def test_a_loss_that_is_no_number_is_told_of_and_not_kept(tmp_path):
    X, y = data()
    model = HistogramRegressor(**{**SMALL, "learning_rate_init": 1e30})
    with pytest.warns(ConvergenceWarning, match="became NaN or infinite in epoch .;"):
        model.fit(X, y)
    assert np.isfinite(model.predict(X)).all()
    model.save(tmp_path / "model")  # JSON has no NaN
    again = HistogramRegressor.load(tmp_path / "model")
    assert again.history_["loss"][-1] is None
    stream = HistogramRegressor((16,), random_state=0).partial_fit(X, y)
    before = stream.predict(X)
    stream.set_params(learning_rate_init=1e30)
    stream._optimizers = []  # else that of the first call goes on
    with pytest.warns(ConvergenceWarning):
        stream.partial_fit(X, y)
    np.testing.assert_array_equal(stream.predict(X), before)
    stream.set_params(learning_rate_init=1e-3).partial_fit(X, y)
    assert np.isfinite(stream.history_["loss"][-1])


def test_tails_are_not_fitted_to_lower_bounds():
    model = HistogramRegressor(tails="gpd")
    with pytest.raises(ValueError, match="tails cannot be combined with censored"):
        model.fit([[0.0], [1.0]], [0.0, 1.0], censored=[True, False])


def test_a_generator_is_a_random_state():
    X, y = data(60)
    tiny = {**TINY, "max_iter": 1}
    models = [
        HistogramRegressor(**{**tiny, "random_state": np.random.default_rng(seed)})
        for seed in (3, 3, 4)
    ]
    one, same, other = (model.fit(X, y).predict(X) for model in models)
    assert np.array_equal(one, same) and not np.array_equal(one, other)
    # It is drawn from, so that the next fit differs, as with a RandomState.
    assert not np.array_equal(models[0].fit(X, y).predict(X), one)
    draws = [models[0].sample(X, random_state=np.random.default_rng(5)) for _ in "ab"]
    assert np.array_equal(*draws)


def test_an_array_of_objects_with_text_is_read_like_a_frame():
    X, y = frame(120)
    X = X.astype({"kind": str})
    options = {**TINY, "max_iter": 2}
    of_frame = HistogramRegressor(**options).fit(X, y)
    array = X.to_numpy(dtype=object)
    array[0, 0] = str(array[0, 0])  # a number as text
    of_array = HistogramRegressor(**options).fit(array, y)
    assert of_array.model_.kinds == ("number",) * 3 + ("label",) * 2
    assert np.array_equal(of_array.predict(array), of_frame.predict(X))
    with pytest.raises(InputError, match="must be a data frame, as in fit"):
        of_frame.predict(array)
    with pytest.raises(InputError, match="must be a data frame, as in fit"):
        of_array.predict(np.zeros((3, 5)))
    array[1, 2] = "many"
    with pytest.raises(InputError, match=r"column 'x2' must hold numbers.*'many'"):
        of_array.predict(array)


@pytest.mark.parametrize("kind", [sparse.csr_array, sparse.coo_matrix])
def test_sparse_x_is_refused_with_what_to_do(kind):
    X, y = data(30)
    sentence = r"X must be dense, got a sparse \w+ of shape \(30, 3\); use X.toarray"
    with pytest.raises(InputError, match=sentence) as refused:
        HistogramRegressor(**TINY).fit(kind(X), y)
    assert isinstance(refused.value, TypeError)  # as scikit-learn's own refusal


def test_the_html_representation_links_to_the_documentation(tmp_path, monkeypatch):
    address = "https://docs.example.org/histreg"
    installed = tmp_path / "histreg-9.9.dist-info"
    installed.mkdir()
    lines = ["Metadata-Version: 2.1", "Name: histreg", "Version: 9.9"]
    (installed / "METADATA").write_text("\n".join(lines) + "\n")
    monkeypatch.syspath_prepend(tmp_path)
    assert address not in HistogramRegressor()._repr_html_()
    lines += [
        "Project-URL: Source, elsewhere",
        f"Project-URL: Documentation, {address}",
    ]
    (installed / "METADATA").write_text("\n".join(lines) + "\n")
    page = f"{address}/api/histogramregressor.html"
    assert f'href="{page}"' in HistogramRegressor()._repr_html_()
