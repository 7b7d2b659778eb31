"""Streamed fits: what they train on, what they learn, and what they refuse."""

import copy

import numpy as np
import pandas as pd
import pytest
import torch

from histreg import HistogramRegressor
from histreg.errors import InputError
from histreg.tabular import ParquetRows
from histreg.tabular.streaming import (
    MOST_VALIDATION_ROWS,
    Part,
    StreamedBatches,
    is_among,
    survey,
    surveyed_model,
)
from histreg.tabular.training import Generators, Settings

N = 900
SMALL = {
    "hidden_layer_sizes": (8,),
    "n_estimators": 2,
    "max_iter": 3,
    "random_state": 0,
}


def table_of(n=N):
    rng = np.random.default_rng(0)
    x = rng.normal(size=n)
    kind = rng.choice(["a", "b"], size=n)
    y = np.arange(n) / n + 5 * x + 3 * (kind == "a")  # all are different
    frame = pd.DataFrame({"x": x, "kind": kind, "w": 1.0 + (x > 0), "y": y})
    frame.loc[::9, "x"] = np.nan
    return frame


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("stream")
    for i, rows in enumerate(np.array_split(np.arange(N), 3)):
        part = table_of().iloc[rows]
        part.to_parquet(folder / f"{i}.parquet", row_group_size=50)
    return folder


@pytest.fixture(scope="module")
def rows(folder):
    return ParquetRows(folder, target="y", drop=["w"])


@pytest.fixture(scope="module")
def fitted(rows):
    return HistogramRegressor(**SMALL | {"max_iter": 30}).fit_stream(rows)


def surveyed(rows, sample_size=400, **options):
    regressor = HistogramRegressor(**SMALL | options)
    read = lambda X: regressor._read_table(X, reset=True)  # noqa: E731
    found = survey(regressor, rows, read, sample_size, np.random.default_rng(0))
    generators = Generators.seeded(0, torch.device("cpu"))
    return found, surveyed_model(regressor, found, generators)


def batches_of(rows, found, model, epoch_size=10**9):
    settings = Settings(batch_size=64, min_steps=1)
    draws = np.random.default_rng(0)
    return StreamedBatches(rows, found, model, settings, epoch_size, draws)


def test_columns_and_bins_of_few_rows_are_those_of_a_fit(rows):
    _, model = surveyed(rows)
    frame = table_of()
    fit = HistogramRegressor(**SMALL, blend_with=())
    fit.fit(frame[["x", "kind"]], frame["y"])
    assert model.objective.bins == fit.model_.objective.bins
    assert model.kinds == fit.model_.kinds
    assert model.codes.levels == fit.model_.codes.levels
    for name, tensor in fit.model_.scaling.state_dict().items():
        assert torch.equal(model.scaling.state_dict()[name], tensor)


def test_the_sample_has_its_validation_rows_first(rows):
    found, _ = surveyed(rows)
    y = table_of()["y"].to_numpy()
    assert len(found.sample) == 400 and found.n_validation == 90
    assert np.array_equal(found.sample.y[:90, 0], y[found.validation])
    assert len(set(found.sample.y.flatten().tolist())) == 400


def test_an_epoch_has_every_row_once_but_those_for_validation(rows):
    found, model = surveyed(rows)
    batches = batches_of(rows, found, model)
    y = table_of()["y"].to_numpy()
    expected = np.sort(np.delete(y, found.validation))
    for _ in range(2):
        epoch = list(batches())
        seen = torch.cat([batch.y.flatten() for batch, _ in epoch])
        assert np.array_equal(np.sort(seen.numpy()), expected)
        assert all(is_training.all() for _, is_training in epoch)
        assert min(len(batch) for batch, _ in epoch) > 32


class InParts:
    """A stream whose parts end at these rows."""

    def __init__(self, ends, n=N):
        self.ends, self.n_rows = ends, n

    def parts(self, generator=None):
        n, frame = self.n_rows, table_of(self.n_rows)
        order = np.arange(n) if generator is None else generator.permutation(n)
        for some in np.split(order, self.ends):
            rows = frame.iloc[some]
            yield Part(some, rows[["x"]], rows["y"].to_numpy(), np.ones(len(some)))


@pytest.mark.parametrize(
    "ends", [[N - 1], [450, 450], list(range(99))], ids=["last", "empty", "single rows"]
)
def test_small_parts_are_trained_on_together(ends):
    rows = InParts(ends)
    found, model = surveyed(rows)
    batches = batches_of(rows, found, model)
    for _ in range(3):
        sizes = [len(batch) for batch, _ in batches()]
        assert min(sizes) >= 32 and max(sizes) <= 96


def test_a_table_smaller_than_a_batch_is_one_batch():
    rows = InParts([3, 7], n=12)
    found, model = surveyed(rows, early_stopping=False)
    batches = batches_of(rows, found, model)
    for _ in range(3):
        [(batch, _)] = batches()
        assert sorted(batch.y.flatten().tolist()) == sorted(table_of(12)["y"])


def test_inputs_belong_to_their_targets(rows):
    found, model = surveyed(rows)
    frame = table_of()
    row_of = {y: i for i, y in enumerate(frame["y"])}
    regressor = HistogramRegressor(**SMALL)
    table = regressor._read_table(frame[["x", "kind"]], reset=True)
    numbers, codes = model.inputs(table)
    for batch, _ in batches_of(rows, found, model)():
        places = [row_of[y] for y in batch.y.flatten().tolist()]
        assert torch.equal(batch.inputs[0], numbers[places])
        assert torch.equal(batch.inputs[1], codes[places])


def test_a_short_epoch_goes_on_where_the_last_one_stopped(rows):
    found, model = surveyed(rows)
    batches = batches_of(rows, found, model, epoch_size=200)
    assert batches.n_steps == 4
    epochs = [torch.cat([batch.y for batch, _ in batches()]) for _ in range(3)]
    assert len(torch.cat(epochs).unique()) == sum(map(len, epochs))


def test_weights_have_a_mean_of_one(folder):
    rows = ParquetRows(folder, target="y", weight="w")
    found, model = surveyed(rows)
    weights = torch.cat([batch.weight for batch, _ in batches_of(rows, found, model)()])
    frame = table_of()
    w = np.delete(frame["w"].to_numpy(), found.validation)
    assert weights.mean().item() == pytest.approx(w.mean() / frame["w"].mean())
    assert sorted(set(weights.tolist())) == pytest.approx(
        [1 / frame["w"].mean(), 2 / frame["w"].mean()]
    )


def test_validation_rows_are_bounded():
    frame = table_of(250_000).drop(columns=["kind", "w"])
    numbers = np.arange(len(frame))

    class InMemory:
        n_rows = len(frame)

        def parts(self, _=None):
            y = frame["y"].to_numpy()
            yield Part(numbers, frame[["x"]], y, np.ones(len(y)))

    found, _ = surveyed(InMemory(), sample_size=50_000)
    assert found.n_validation == MOST_VALIDATION_ROWS
    assert len(found.sample) == 50_000


def test_a_streamed_fit_learns(fitted):
    frame = table_of()
    X, y = frame[["x", "kind"]], frame["y"].to_numpy()
    error = np.abs(fitted.predict(X) - y)[frame["x"].notna()].mean()
    assert error < 0.2 * np.abs(y - np.median(y)).mean()
    assert fitted.n_seen_ == N and fitted.n_clipped_ == 0
    assert fitted.model_.blends is not None
    assert fitted.feature_names_in_.tolist() == ["x", "kind"]


def test_a_streamed_model_is_an_ordinary_one(fitted, tmp_path):
    X = table_of()[["x", "kind"]]
    fitted = copy.deepcopy(fitted).calibrate()
    fitted.save(tmp_path / "model")
    loaded = HistogramRegressor.load(tmp_path / "model")
    assert np.array_equal(loaded.predict(X), fitted.predict(X))
    ends = zip(
        loaded.predict_interval(X, 0.9), fitted.predict_interval(X, 0.9), strict=True
    )
    assert all(np.array_equal(a, b) for a, b in ends)
    loaded.partial_fit(X, table_of()["y"])


def test_a_streamed_model_can_be_exported(fitted, tmp_path):
    onnxruntime = pytest.importorskip("onnxruntime")
    fitted.to_onnx(tmp_path / "model.onnx")
    frame = table_of().head(50)
    session = onnxruntime.InferenceSession(tmp_path / "model.onnx")
    codes = fitted.model_.codes(frame[["kind"]].to_numpy(dtype=object))
    inputs = {"numbers": frame[["x"]].to_numpy(), "codes": codes.numpy()}
    mean = session.run(["mean"], inputs)[0].flatten()
    spread = np.ptp(table_of()["y"])
    assert np.abs(mean - fitted.predict(frame[["x", "kind"]])).max() < 1e-4 * spread


def test_one_seed_gives_one_model(rows):
    X = table_of()[["x", "kind"]]
    models = [HistogramRegressor(**SMALL, blend_with=()) for _ in range(2)]
    a, b = (model.fit_stream(rows).predict(X) for model in models)
    assert np.array_equal(a, b)  # no column has more rows than a sketch keeps


def test_targets_outside_a_given_range_are_counted(rows):
    y = table_of()["y"]
    model = HistogramRegressor(**SMALL, y_range=(0.0, 1.0), early_stopping=False)
    with pytest.warns(UserWarning, match="targets lie outside the bins"):
        model.fit_stream(rows)
    low, high = model.bins_.lowest, model.bins_.highest
    assert model.n_clipped_ == int(((y < low) | (y > high)).sum())
    assert model.model_.blends is None  # nothing was held out


def test_a_fit_that_fails_leaves_the_estimator_as_it_was(rows, fitted):
    model, X = copy.deepcopy(fitted), table_of()[["x", "kind"]]
    before = model.predict(X)

    def fail(_):
        raise RuntimeError("enough")

    model.callback = fail
    with pytest.raises(RuntimeError, match="enough"):
        model.fit_stream(rows)
    assert np.array_equal(model.predict(X), before)


@pytest.mark.parametrize(
    "options, arguments, sentence",
    [
        ({"tails": "gpd"}, {}, "tails cannot be fitted to a stream"),
        ({"warm_start": True}, {}, "warm_start cannot be combined with fit_stream"),
        ({}, {"sample_size": 0}, "sample_size must be"),
        ({}, {"epoch_size": 0}, "epoch_size must be"),
    ],
)
def test_what_a_stream_cannot_do_is_refused(rows, options, arguments, sentence):
    with pytest.raises(InputError, match=sentence):
        HistogramRegressor(**SMALL | options).fit_stream(rows, **arguments)


def test_rows_without_any_target_are_refused(tmp_path):
    pd.DataFrame({"x": [1.0], "y": [np.nan]}).to_parquet(tmp_path / "a.parquet")
    with pytest.raises(InputError, match="at least one row with a target, got none"):
        HistogramRegressor().fit_stream(ParquetRows(tmp_path, target="y"))


def test_membership_is_that_of_numpy():
    rng = np.random.default_rng(0)
    numbers, some = rng.integers(0, 50, 200), np.unique(rng.integers(0, 50, 20))
    assert np.array_equal(is_among(numbers, some), np.isin(numbers, some))
    assert not is_among(numbers, some[:0]).any()
