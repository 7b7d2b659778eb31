"""How table runs are computed."""

import numpy as np
import pytest

from histreg.study.datasets import FRAMES, FrameTable
from histreg.study.shapes.predictions import Prediction
from histreg.study.tables import execution
from histreg.study.tables.peers import PEERS, Peer
from histreg.study.tables.runs import TableRun
from histreg.study.tables.splits import FOLDS, LAST, split_of
from tests.study.made_up import Alone
from tests.study.tables.examples import made_table


class Made:
    """A source of a table made by hand."""

    def load(self, _):
        return FrameTable(*made_table(), sha256="of the made table")


@pytest.fixture
def made(monkeypatch):
    monkeypatch.setattr(execution, "frame", lambda _: Made())
    return made_table()


@pytest.mark.parametrize("fold", [*FOLDS, LAST])
def test_a_record_scores_the_rows_that_were_not_learnt_from(fold, made, monkeypatch):
    X, y = made
    seen = {}

    def fit(X, y, seed):
        seen["learnt"], seen["y"], seen["seed"] = X, y, seed

        def predict(rows):
            seen["tested"] = rows
            return Prediction(np.full(len(rows), y.mean()))

        return predict

    monkeypatch.setitem(PEERS, "constant", Peer(fit, "numpy"))
    (outcome,) = TableRun.compute([TableRun("yacht", "constant", fold)], Alone())
    learnt, tested = split_of(len(y), fold)
    np.testing.assert_array_equal(seen["y"], y[learnt])
    assert seen["learnt"]["day"].tolist() == X["day"].iloc[learnt].tolist()
    assert seen["tested"]["day"].tolist() == X["day"].iloc[tested].tolist()
    assert seen["seed"] == fold
    error = np.abs(y[tested] - y[learnt].mean()).mean()
    assert outcome.metrics["test MAE"] == pytest.approx(error)
    assert outcome.metrics["train rows"] == len(learnt)
    assert outcome.metrics["test rows"] == len(tested)
    assert outcome.data_sha256 == "of the made table"


def test_the_fits_for_residuals_are_no_part_of_the_fit_time(made, monkeypatch):
    _, y = made
    sizes = []

    def fit(_, y, __):
        sizes.append(len(y))
        return lambda rows: np.zeros(len(rows))

    monkeypatch.setitem(PEERS, "CatBoost", Peer(fit, "numpy", 5))
    context = Alone()
    (outcome,) = TableRun.compute([TableRun("yacht", "CatBoost", 0)], context)
    assert sizes == [120, 96, 96, 96, 96, 96]
    times = {name for name in outcome.metrics if "seconds" in name}
    assert times == {
        *("fit seconds", "fit wall seconds", "residual seconds"),
        "predict seconds per 1,000 rows",
    }
    # All training y are residuals of zero, once each.
    learnt, tested = split_of(200, 0)
    width = np.subtract(*np.quantile(y[learnt], [0.95, 0.05]))
    assert outcome.metrics["test width 0.9"] == pytest.approx(width)
    assert context.shares == sorted(context.shares)
    assert len(tested) == 40


def test_a_missing_package_is_named_before_the_data_are_read(monkeypatch):
    missing = Peer(PEERS["constant"].fit, "no_such_package")
    monkeypatch.setitem(PEERS, "constant", missing)
    run = TableRun(next(iter(FRAMES)), "constant", 0)
    with pytest.raises(ValueError, match=r"no_such_package must be installed, pip ins"):
        TableRun.compute([run], Alone())
