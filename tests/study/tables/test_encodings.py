"""Encodings: levels and medians are those of the training rows."""

import numpy as np
import pandas as pd
import pytest

from histreg.study.tables.encodings import (
    MISSING,
    as_categories,
    as_imputed,
    as_matrix,
    as_text,
    label_columns,
)
from tests.study.tables.examples import made_table

TRAINING = pd.DataFrame(
    {
        "x": [1.0, np.nan, 3.0, 9.0],
        "label": np.array(["a", "b", None, "a"], dtype=object),
        "whole": [1.0, 2.0, 3.0, 4.0],
    }
)
OTHERS = pd.DataFrame(
    {
        "x": [np.nan],
        "label": np.array(["never seen"], dtype=object),
        "whole": [np.nan],
    }
)


def test_a_gap_is_a_label_of_its_own_as_text():
    encoded = as_text(TRAINING)(TRAINING)
    assert encoded["x1"].tolist() == ["a", "b", MISSING, "a"]
    assert np.isnan(encoded["x0"][1])


def test_categories_are_those_of_the_training_rows():
    encode = as_categories(TRAINING)
    assert encode(TRAINING)["x1"].cat.categories.tolist() == ["a", "b"]
    assert encode(OTHERS)["x1"].cat.categories.tolist() == ["a", "b"]
    assert encode(OTHERS)["x1"].isna().all()


def test_numbers_are_imputed_by_the_median_of_the_training_rows_and_marked():
    encode = as_imputed(TRAINING)
    assert encode(TRAINING)["x0"].tolist() == [1.0, 3.0, 3.0, 9.0]
    assert encode(TRAINING)["x0 gap"].tolist() == [0.0, 1.0, 0.0, 0.0]
    others = encode(OTHERS)
    assert others["x0"].tolist() == [3.0] and others["x2"].tolist() == [2.5]
    assert "x2 gap" not in others  # there was none to learn from


def test_a_column_without_a_number_becomes_zeros():
    empty = TRAINING.assign(x=np.nan)
    assert as_imputed(empty)(empty)["x0"].tolist() == [0.0] * 4


def test_times_are_days_since_1970():
    day = pd.DataFrame({"day": pd.to_datetime(["1970-01-03", "1970-01-01"])})
    assert as_text(day)(day)["x0"].tolist() == [2.0, 0.0]


@pytest.mark.parametrize("encoding", [as_text, as_categories, as_imputed, as_matrix])
def test_rows_are_encoded_the_same_alone_and_together(encoding):
    X, _ = made_table()
    encode = encoding(X[:150])
    together, alone = encode(X[150:]), encode(X[150:151])
    first = together[:1]
    if isinstance(first, pd.DataFrame):
        pd.testing.assert_frame_equal(first, alone)
        assert label_columns(X) == [2, 3]
    else:
        np.testing.assert_array_equal(first, alone)
        assert np.isfinite(together).all()


def test_rare_labels_share_a_column():
    labels = ["often"] * 6 + ["once", "twice", "twice"]
    X = pd.DataFrame({"label": np.array(labels, dtype=object)})
    matrix = as_matrix(X)(X)
    assert matrix.tolist() == [[1.0, 0.0]] * 6 + [[0.0, 1.0]] * 3
