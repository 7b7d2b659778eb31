"""ONNX files say what the model says, in another runtime."""

import json

import numpy as np
import onnx
import onnxruntime
import pandas as pd
import pytest
import torch

from histreg import HistogramRegressor, InputError
from histreg.tabular.atoms import EndAtoms
from histreg.tabular.onnx_files import check_any_rows
from tests.tabular.examples import counts, nearly_exact, smooth, spending

SMALL = {"hidden_layer_sizes": (16,), "max_iter": 5, "random_state": 0}
LEVELS = [0.05, 0.5, 0.95]


def run(path, **inputs):
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    assert {each.name for each in session.get_inputs()} == set(inputs)
    names = [each.name for each in session.get_outputs()]
    found = dict(zip(names, session.run(None, inputs), strict=True))
    facts = session.get_modelmeta().custom_metadata_map
    return found, {name: json.loads(fact) for name, fact in facts.items()}


def table(n=80):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 3)) * [1, 1e6, 1e-6] + [0, 1e9, 0]
    X[::5, 1] = np.nan
    return X, 1e6 + 100 * X[:, 0]


@pytest.mark.parametrize("options", [{}, {"n_estimators": 2}])
def test_mean_and_quantiles_agree_with_onnxruntime(options, tmp_path):
    X, y = table()
    model = HistogramRegressor(**SMALL, **options).fit(X, y)
    model.to_onnx(tmp_path / "m.onnx", LEVELS)
    for rows in (slice(None), slice(0, 1)):  # any number of rows
        found, facts = run(tmp_path / "m.onnx", numbers=X[rows])
        # Products in float32, by other routines.
        allowed = 1e-5 * (model.bins_.high - model.bins_.low)
        mean, quantiles = found["mean"][:, 0], found["quantiles"][:, 0]
        np.testing.assert_allclose(mean, model.predict(X[rows]), rtol=0, atol=allowed)
        np.testing.assert_allclose(
            quantiles, model.predict_quantiles(X[rows], LEVELS), rtol=0, atol=allowed
        )
    assert facts["alpha"] == LEVELS


def test_counts_agree(tmp_path):
    X, y = counts(300, seed=0)
    model = HistogramRegressor(**SMALL).fit(X, y)
    assert model.model_.blends[0].atoms is not None
    check_agreement(model, X, tmp_path, allowed=1e-4)
    # Ends are the counts themselves, or an interval would not contain the one it ends
    # at.
    model.calibrate(*counts(200, seed=1)).to_onnx(tmp_path / "m.onnx", coverage=0.9)
    found, _ = run(tmp_path / "m.onnx", numbers=X)
    for name, expected in zip(
        ("lower", "upper"), model.predict_interval(X), strict=True
    ):
        assert np.isin(found[name], np.unique(y)).mean() > 0.99
        assert (found[name][:, 0] == expected).mean() > 0.99


def test_targets_with_many_zeros_agree(tmp_path):
    X, y = spending(300, seed=0)
    model = HistogramRegressor(**SMALL).fit(X, y)
    assert isinstance(model.model_.atoms, EndAtoms)
    check_agreement(model, X, tmp_path, allowed=1e-4)


def test_a_forest_agrees(tmp_path):
    X, y = nearly_exact(1_200, seed=0)
    model = HistogramRegressor(**SMALL | {"max_iter": 3}).fit(X, y)
    assert "forest" in [part["kind"] for part in model.model_.blends[0].described()]
    check_agreement(model, X[:200], tmp_path, allowed=1e-4)


def test_a_gaussian_process_agrees(tmp_path):
    X, y = smooth(200, seed=0)
    model = HistogramRegressor(**SMALL).fit(X, y)
    assert "kernel" in [part["kind"] for part in model.model_.blends[0].described()]
    check_agreement(model, X, tmp_path, allowed=1e-4)


def check_agreement(model, X, tmp_path, *, allowed):
    """Compare mean and quantiles of both runtimes.

    A level that falls between two values of the target, up to rounding, may be read at
    either, so one quantile in a hundred may differ.
    """
    model.to_onnx(tmp_path / "m.onnx", LEVELS)
    found, _ = run(tmp_path / "m.onnx", numbers=X)
    np.testing.assert_allclose(found["mean"][:, 0], model.predict(X), atol=allowed)
    apart = np.abs(found["quantiles"][:, 0] - model.predict_quantiles(X, LEVELS))
    assert (apart > allowed).mean() < 0.01


def test_quantiles_in_tails_agree(tmp_path):
    X, _ = table(400)
    y = np.random.default_rng(1).standard_t(2, 400) + X[:, 0]
    model = HistogramRegressor(**SMALL, tails="gpd", blend_with=()).fit(X, y)
    levels = [0.001, 0.5, 0.999]
    model.to_onnx(tmp_path / "m.onnx", levels)
    found, _ = run(tmp_path / "m.onnx", numbers=X)
    expected = model.predict_quantiles(X, levels)
    low, high = model.bins_.borders[[1, -2]].tolist()
    assert (expected[:, 0] < low).mean() > 0.9 < (expected[:, 2] > high).mean()
    np.testing.assert_allclose(found["quantiles"][:, 0], expected, rtol=1e-3, atol=1e-3)
    np.testing.assert_allclose(found["mean"][:, 0], model.predict(X), atol=1e-4)


def test_labels_and_several_targets_agree(tmp_path):
    X, y = table()
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    frame.insert(1, "kind", np.where(np.arange(80) % 3, "plain", "fancy"))
    both = np.stack([y, -y], axis=1)
    model = HistogramRegressor(**SMALL).fit(frame, both)
    model.to_onnx(tmp_path / "m.onnx", LEVELS)
    codes = model.model_.codes(frame[["kind"]].to_numpy(dtype=object)).numpy()
    found, facts = run(tmp_path / "m.onnx", numbers=X, codes=codes)
    allowed = 1e-5 * (model.bins_[0].high - model.bins_[0].low)
    np.testing.assert_allclose(
        found["mean"], model.predict(frame), rtol=0, atol=allowed
    )
    np.testing.assert_allclose(
        found["quantiles"], model.predict_quantiles(frame, LEVELS), rtol=0, atol=allowed
    )
    assert facts["labels"] == [["plain", "fancy"]]
    assert facts["kinds"] == ["number", "label", "number", "number"]


def test_one_number_has_a_mean_alone(tmp_path):
    X, y = table()
    model = HistogramRegressor(**SMALL, loss="l2").fit(X, y)
    model.to_onnx(tmp_path / "m.onnx")
    found, _ = run(tmp_path / "m.onnx", numbers=X)
    assert list(found) == ["mean"]
    np.testing.assert_allclose(found["mean"][:, 0], model.predict(X), rtol=1e-9)


def test_what_cannot_be_exported_is_refused(tmp_path):
    X, y = table()
    path = tmp_path / "m.onnx"
    with pytest.raises(ValueError, match="to_onnx needs a loss on bins"):
        HistogramRegressor(**SMALL, loss="mdn").fit(X, y).to_onnx(path)
    model = HistogramRegressor(**SMALL, blend_with=()).fit(X, y)
    with pytest.raises(ValueError, match=r"alpha must hold levels in \[0, 1\]"):
        model.to_onnx(path, [1.5])
    assert not path.exists()


def test_times_go_in_as_seconds(tmp_path):
    days = pd.date_range("2020-01-01", periods=80)
    X = pd.DataFrame({"day": days, "x": np.arange(80.0) % 7})
    # With noise: an exact prediction on a border may be rounded to either side of it.
    y = np.arange(80.0) + np.random.default_rng(0).normal(size=80)
    model = HistogramRegressor(**SMALL, blend_with=()).fit(X, y)
    model.to_onnx(tmp_path / "m.onnx", LEVELS)
    seconds = (days - pd.Timestamp(0)).total_seconds()
    found, facts = run(tmp_path / "m.onnx", numbers=np.stack([seconds, X["x"]], axis=1))
    assert facts["kinds"] == ["time", "number"]
    np.testing.assert_allclose(found["mean"][:, 0], model.predict(X), atol=1e-3)


def test_calibrated_intervals_and_quantiles_agree(tmp_path):
    X, y = table(160)
    y = np.stack([y, 5 * X[:, 0] ** 2], axis=1)
    model = HistogramRegressor(**SMALL, n_estimators=1, blend_with=())
    model.fit(X[:80], y[:80])
    model.to_onnx(tmp_path / "plain.onnx", LEVELS, coverage=0.8)
    found, facts = run(tmp_path / "plain.onnx", numbers=X)
    allowed = 1e-5 * max(bins.high - bins.low for bins in model.bins_)
    for end, expected in zip(
        ("lower", "upper"), model.predict_interval(X, 0.8), strict=True
    ):
        np.testing.assert_allclose(found[end], expected, rtol=0, atol=allowed)
    assert facts["coverage"] == 0.8 and facts["calibrated"] is False

    model.calibrate(X[80:], y[80:])
    model.to_onnx(tmp_path / "m.onnx", LEVELS, coverage=0.8, calibrated=True)
    found, _ = run(tmp_path / "m.onnx", numbers=X)
    for end, expected in zip(
        ("lower", "upper"), model.predict_interval(X, 0.8), strict=True
    ):
        np.testing.assert_allclose(found[end], expected, rtol=0, atol=allowed)
    for i, one in enumerate(model.predict_calibrated(X)):
        np.testing.assert_allclose(
            found["quantiles"][:, i], one.quantiles(LEVELS).T, rtol=0, atol=allowed
        )


@pytest.mark.parametrize("by_column", [True, False])
def test_intervals_and_quantiles_of_groups_agree(tmp_path, by_column):
    rng = np.random.default_rng(0)
    kinds = np.array(["few", "many", "most"])[rng.integers(0, 3, size=240)]
    X = pd.DataFrame({"kind": kinds, "x": rng.normal(size=240)})
    noise = np.where(X["kind"] == "most", 3, 1) * rng.normal(size=240)
    y = (X["x"] + noise).to_numpy()
    model = HistogramRegressor(**SMALL, n_estimators=1, blend_with=())
    model.fit(X[:80], y[:80])
    rows = np.arange(80, 240)
    rows = rows[(X["kind"][80:] != "few") | (rows < 84)]  # too few of one group
    given = "kind" if by_column else X["kind"].iloc[rows]
    model.calibrate(X.iloc[rows], y[rows], groups=given)
    model.to_onnx(tmp_path / "m.onnx", LEVELS, coverage=0.9, calibrated=True)

    X.loc[:4, "kind"] = "other"  # a group without calibration rows
    codes = [
        1 + model.model_.codes.levels[0].index(kind) if kind != "other" else 0
        for kind in X["kind"]
    ]
    numbers, labels = X[["x"]].to_numpy(), np.array(codes)[:, None]
    levels = model.model_.calibration.groups.levels
    groups = [1 + levels.index(k) if k in levels else 0 for k in X["kind"]]
    inputs = {"numbers": numbers, "codes": labels, "groups": np.array(groups)}
    found, facts = run(tmp_path / "m.onnx", **inputs)
    assert facts["groups"] == levels
    everything = model.predict_all(X, groups=None if by_column else X["kind"])
    lower, upper = everything.interval(0.9)
    assert np.isinf(upper[X["kind"] == "other"]).all() and np.isfinite(upper).any()
    allowed = 1e-5 * (model.bins_.high - model.bins_.low)
    for end, expected in (("lower", lower), ("upper", upper)):
        np.testing.assert_allclose(found[end][:, 0], expected, rtol=0, atol=allowed)
    quantiles = everything.calibrated.quantiles(LEVELS).T
    np.testing.assert_allclose(
        found["quantiles"][:, 0], quantiles, rtol=0, atol=allowed
    )
    # Without intervals and calibrated quantiles, groups are not needed.
    model.to_onnx(tmp_path / "plain.onnx", LEVELS)
    found, facts = run(tmp_path / "plain.onnx", numbers=numbers, codes=labels)
    assert facts["groups"] == []


def test_labels_and_groups_may_be_text(tmp_path):
    rng = np.random.default_rng(0)
    n = 200
    X = pd.DataFrame({"town": rng.choice(["Bonn", "Köln", "", "7"], size=n)})
    X["x"] = rng.normal(size=n)
    X["id"] = [f"id{i}" for i in range(n)]  # no label repeats
    y = 3.0 * (X["town"] == "Köln") + X["x"].to_numpy()
    zone = rng.choice(["north", "south"], size=n)
    model = HistogramRegressor(**SMALL, n_estimators=1, blend_with=())
    model.fit(X[:100], y[:100]).calibrate(X[100:], y[100:], groups=zone[100:])
    asked = {"coverage": 0.8, "takes_text": True}
    model.to_onnx(tmp_path / "m.onnx", LEVELS, **asked)
    onnx.checker.check_model(tmp_path / "m.onnx", full_check=True)

    X.loc[:5, "town"], zone = "Ulm", zone.astype(object)  # not seen in training
    zone[:5] = "west"
    inputs = {"numbers": X[["x"]].to_numpy(), "group_names": zone}
    for rows in (slice(None), slice(0, 1)):
        labels = X[["town", "id"]].to_numpy(dtype=object)
        given = {name: part[rows] for name, part in inputs.items()}
        found, _ = run(tmp_path / "m.onnx", **given, labels=labels[rows])
        expected = model.predict_all(X[rows], groups=zone[rows])
        allowed = 1e-5 * (model.bins_.high - model.bins_.low)
        readings = {"mean": expected.mean, "quantiles": expected.quantiles(LEVELS)}
        readings["lower"], readings["upper"] = expected.interval(0.8)
        for name, values in readings.items():
            np.testing.assert_allclose(found[name][:, 0], values, rtol=0, atol=allowed)
    assert np.ptp(model.predict(X.assign(x=0.0))) > 1  # the town matters


def test_what_a_file_cannot_promise_is_refused(tmp_path):
    X, y = table()
    model = HistogramRegressor(**SMALL, n_estimators=1, blend_with=()).fit(X, y)
    path = tmp_path / "m.onnx"
    with pytest.raises(InputError, match="need a calibrated model"):
        model.to_onnx(path, calibrated=True)
    model.calibrate(X[:5], y[:5])
    with pytest.raises(InputError, match="too few calibration rows"):
        model.to_onnx(path, coverage=0.9)
    number = HistogramRegressor(**SMALL, n_estimators=1, loss="l2").fit(X, y)
    with pytest.raises(InputError, match="a loss that predicts a distribution"):
        number.to_onnx(path, coverage=0.9)
    assert not path.exists()


@pytest.mark.filterwarnings("ignore")  # of torch's exporter
def test_a_program_for_one_number_of_rows_is_refused():
    program = torch.onnx.export(
        torch.nn.Linear(2, 1).eval(), (torch.zeros(3, 2),), dynamo=True, verbose=False
    )
    with pytest.raises(InputError, match="for any number of rows"):
        check_any_rows(program)
