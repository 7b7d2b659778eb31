"""The service: its answers, its refusals, and many clients at once."""

import asyncio
import json

import httpx
import numpy as np
import pandas as pd
import pytest

from histreg import HistogramRegressor, InputError
from histreg.cli import service as service_module
from histreg.cli.service import Service, app_of
from tests.tabular.examples import TINY, frame


@pytest.fixture(scope="module")
def fitted():
    X, y = frame(120)
    X["day"] = pd.date_range("2020-01-01", periods=120)
    X["lasted"] = pd.to_timedelta(np.arange(120) % 24, unit="h")
    model = HistogramRegressor(**TINY).fit(X, y).calibrate(X, y)
    model.notes_["target"] = "price"
    return model, X


def row_of(X, i):
    """Return a row as JSON has it."""
    row = X.iloc[i].to_dict()
    row["day"] = row["day"].isoformat()
    row["lasted"] = f"{row['lasted'].total_seconds() // 3600:.0f}:00"
    return {n: None if v is None or v != v else v for n, v in row.items()}


def ask(model, *requests, hosts=None):
    """Return the answers to requests (method, path, body) that come at once."""

    async def all_answers():
        service = Service(model)
        transport = httpx.ASGITransport(app_of(service, hosts=hosts))
        running = asyncio.create_task(service.run())
        async with httpx.AsyncClient(
            transport=transport, base_url="http://127.0.0.1"
        ) as client:
            answers = await asyncio.gather(
                *(client.request(m, path, content=body) for m, path, body in requests)
            )
        running.cancel()
        return answers

    return asyncio.run(all_answers())


def predict(model, body, **options):
    text = body if isinstance(body, bytes) else json.dumps(body)
    (answer,) = ask(model, ("POST", "/predict", text), **options)
    return answer


def test_answers_are_those_of_the_model(fitted):
    model, X = fitted
    body = {"rows": [row_of(X, i) for i in range(5)], "interval": [0.5, 0.9]}
    body |= {"quantiles": 0.25, "above": [3, 4.5], "calibrated": True}
    answer = predict(model, body)
    assert answer.status_code == 200 and answer.json()["target"] == "price"
    found = pd.DataFrame(answer.json()["predictions"])
    assert np.array_equal(found["price_mean"], model.predict(X[:5]))
    lower, upper = model.predict_interval(X[:5], 0.9)
    assert np.array_equal(found["price_lower_90"], lower)
    assert np.array_equal(found["price_upper_90"], upper)
    trusted = model.predict_calibrated(X[:5])
    assert np.array_equal(found["price_q0.25"], trusted.quantiles([0.25])[0])
    assert np.array_equal(found["price_above_4.5"], trusted.prob_above(4.5))


def test_64_clients_at_once_get_their_own_answers(fitted, monkeypatch):
    """Each request has rows and questions of its own, and none is lost or mixed up."""
    model, X = fitted
    runs = []
    predict_all = model.predict_all

    def counted(X):
        runs.append(len(X))
        return predict_all(X)

    monkeypatch.setattr(model, "predict_all", counted)
    requests, expected = [], []
    for i in range(64):
        rows = [(7 * i + j) % 120 for j in range(1 + i % 3)]
        level = (i + 1) / 100
        body = {"rows": [row_of(X, row) for row in rows], "quantiles": [level]}
        requests.append(("POST", "/predict", json.dumps(body)))
        expected.append(model.predict_quantiles(X.iloc[rows], level))
    answers = ask(model, *requests)
    for i, (answer, values) in enumerate(zip(answers, expected, strict=True)):
        column = f"price_q{(i + 1) / 100:g}"
        found = [row[column] for row in answer.json()["predictions"]]
        assert np.array_equal(found, values)
    assert sum(runs) == sum(1 + i % 3 for i in range(64))
    assert len(runs) < 32  # requests that wait are predicted together


@pytest.mark.parametrize(
    "change, sentence",
    [
        ({"rows": []}, "rows must be a list of at least one object"),
        ({"rows": [3]}, "rows must be objects of columns, got int in row 1"),
        ({"interval": 90}, "interval must lie between 0 and 1"),
        ({"interval": "0.9"}, "interval must be a number or a list of them"),
        ({"quantiles": [0.1, 2]}, "quantiles must be levels from 0 to 1"),
        ({"quantiles": [0.1, 0.1]}, "at most 100 different numbers"),
        ({"above": [True]}, "above must be a number or a list of them"),
        ({"method": "widest"}, "method must be one of 'central', 'shortest'"),
        ({"calibrated": 1}, "calibrated must be true or false, got 1"),
        ({"columns": []}, "the body may have rows, interval, method"),
    ],
)
def test_bad_requests_are_refused_in_a_sentence(fitted, change, sentence):
    model, X = fitted
    answer = predict(model, {"rows": [row_of(X, 0)], **change})
    assert answer.status_code == 422
    assert sentence in answer.json()["error"]


@pytest.mark.parametrize(
    "change, sentence",
    [
        ({"a": "large"}, "column 'a' must hold numbers or null, got 'large' in row 2"),
        ({"a": 1e999}, "Infinity is not a number of JSON"),
        ({"kind": ["x"]}, "column 'kind' must hold labels, text or null, got list in"),
        (
            {"day": "soon"},
            "column 'day' must hold times such as '2026-01-31T18:00:00Z'",
        ),
        ({"day": 3}, "column 'day' must hold times"),
        ({"day": "03/04/2026"}, "column 'day' must hold times"),  # March or April?
        ({"lasted": "long"}, "column 'lasted' must hold durations such as '18:00:00'"),
        ({"nope": 1}, "row 2 must have the columns of the model only, got 'nope'"),
    ],
)
def test_bad_cells_are_refused_with_their_row(fitted, change, sentence):
    model, X = fitted
    rows = [row_of(X, 0), {**row_of(X, 1), **change}]
    answer = predict(model, {"rows": rows})
    assert answer.status_code == 422 and sentence in answer.json()["error"]
    del rows[1]["b"]
    answer = predict(model, {"rows": [rows[0], {k: rows[0][k] for k in ("a", "c")}]})
    assert "it lacks 'b', 'kind', 'text', 'day', 'lasted'" in answer.json()["error"]


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"\xff", b"[" * 10_000])
def test_what_is_not_json_is_refused(fitted, body):
    answer = predict(fitted[0], body)
    assert answer.status_code == 422 and "the body must be" in answer.json()["error"]


def test_sizes_are_bounded(fitted, monkeypatch):
    model, X = fitted
    answer = predict(model, b" " * (service_module.MAX_BYTES + 1))
    assert answer.status_code == 413 and "1,048,576 bytes" in answer.json()["error"]
    monkeypatch.setattr(service_module, "MAX_ROWS", 2)
    answer = predict(model, {"rows": [row_of(X, 0)] * 3})
    assert answer.status_code == 422 and "at most 2 in a request" in answer.text
    monkeypatch.setattr(service_module, "MAX_WAITING", 1)
    body = json.dumps({"rows": [row_of(X, 0)]})
    answers = ask(model, *[("POST", "/predict", body)] * 20)
    codes = [answer.status_code for answer in answers]
    assert set(codes) == {200, 503}
    assert all(a.headers["retry-after"] == "1" for a in answers if a.status_code == 503)


def test_ends_that_are_infinite_are_null_and_groups_come_from_their_column():
    X, y = frame(60)
    model = HistogramRegressor(**TINY).fit(X, y).calibrate(X[:5], y[:5], groups="text")
    rows = json.loads(X[:2].to_json(orient="records"))
    found = predict(model, {"rows": rows, "interval": 0.9}).json()["predictions"]
    assert [row["y_lower_90"] for row in found] == [None, None]


def test_a_model_of_an_array_has_numbered_columns():
    X = np.random.default_rng(0).normal(size=(40, 2))
    model = HistogramRegressor(**TINY).fit(X, X[:, 0])
    answer = predict(model, {"rows": [{"x0": X[3, 0], "x1": X[3, 1]}]})
    (found,) = answer.json()["predictions"]
    assert found["y_mean"] == model.predict(X[3:4])[0]


def test_pages_that_need_no_rows(fitted):
    model, _ = fitted
    health, versions, schema, page, docs = ask(
        model,
        *(("GET", path, None) for path in ("/health", "/version", "/schema", "/")),
        ("GET", "/docs", None),
    )
    assert health.json() == {"status": "ok"} and versions.json()["target"] == "price"
    columns = {column["name"]: column for column in schema.json()["columns"]}
    assert columns["kind"]["labels"] == ["plain", "fancy", "rare"]
    assert columns["day"]["kind"] == "time" and columns["a"]["kind"] == "number"
    assert "frame-ancestors 'none'" in page.headers["content-security-policy"]
    assert "http://" not in page.text.replace("http://127", "")
    assert docs.status_code == 404  # its scripts would come from elsewhere


def test_other_names_of_this_machine_are_refused(fitted):
    model, X = fitted
    body = {"rows": [row_of(X, 0)]}
    assert predict(model, body, hosts=["127.0.0.1"]).status_code == 200
    assert predict(model, body, hosts=["elsewhere"]).status_code == 400


def test_a_request_that_fails_does_not_spoil_the_others(fitted, monkeypatch):
    model, X = fitted
    predict_all = model.predict_all

    def fails_on_3(frame):
        if (frame["a"] == 3).any():
            raise InputError("three is too many")
        return predict_all(frame)

    monkeypatch.setattr(model, "predict_all", fails_on_3)
    bodies = [{"rows": [{**row_of(X, 0), "a": a}]} for a in (1, 3, 2)]
    answers = ask(model, *(("POST", "/predict", json.dumps(b)) for b in bodies))
    assert [answer.status_code for answer in answers] == [200, 422, 200]


def test_two_targets_are_refused():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 2))
    model = HistogramRegressor(**TINY).fit(X, X)
    with pytest.raises(InputError, match="a model of one target, got 2 targets"):
        Service(model)
