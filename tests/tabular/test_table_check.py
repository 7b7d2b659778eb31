"""A table is checked: what is in it, and what gives the answer away."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from histreg.errors import InputError
from histreg.tabular.table_check import check_table

N = 400


def numbers(seed=0, n=N):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(rng.normal(size=(n, 4)), columns=list("abcd"))


def noise(seed=1, n=N):
    return np.random.default_rng(seed).normal(size=n)


def found(X, y, **options):
    """Return findings as {kind: set of columns}, of those that are problems."""
    kinds: dict[str, set[str]] = {}
    for finding in check_table(X, y, **options).problems:
        kinds.setdefault(finding.kind, set()).update(finding.columns)
    return kinds


def test_noise_has_no_problem_and_nothing_to_say():
    check = check_table(numbers(), noise())
    assert check.findings == ()
    assert str(check) == "nothing unusual was found"
    assert [column.kind for column in check.columns] == ["number"] * 4


@pytest.mark.parametrize("shape", [np.exp, np.cbrt, lambda y: -3 * y, np.abs])
def test_a_function_of_the_target_is_a_leak_if_it_can_be_inverted(shape):
    y = np.random.default_rng(0).normal(3, 1, size=N)
    X = numbers().assign(a=shape(y))
    if shape is np.abs:
        y = y - 3  # |y| does not say the sign of y
        X = numbers().assign(a=shape(y))
        assert found(X, y) == {}
    else:
        assert found(X, y) == {"leak": {"a"}}


def test_a_label_that_determines_the_target_is_a_leak():
    y = np.random.default_rng(0).integers(0, 30, N).astype(float)
    X = numbers().assign(a=[f"group {value:.0f}" for value in y])
    assert found(X, y) == {"leak": {"a"}, "groups": {"a"}}


def test_the_parts_of_a_sum_are_a_leak_and_no_other_column():
    X = numbers()
    y = (X["b"] + 2 * X["d"]).to_numpy()
    assert found(X, y) == {"leak": {"b", "d"}}
    # A third of the deviation left, or 10 % of the variance: no part of the answer.
    assert found(X, y + 0.75 * noise()) == {}


def test_a_strong_column_is_a_note():
    X = numbers()
    y = X["a"].to_numpy() + 0.2 * noise()  # explains 96 % of the variance
    check = check_table(X, y)
    assert [(f.kind, f.columns) for f in check.findings] == [("strong", ("a",))]
    assert not check.problems


@pytest.mark.parametrize(
    "values, is_id",
    {
        "rising": (np.arange(N) * 17.0 + 3, True),
        "shuffled": (np.random.default_rng(3).permutation(N), True),
        "text": ([f"row-{i}" for i in range(N)], True),
        "areas": (np.random.default_rng(3).choice(100 * N, N, replace=False), False),
        "fractions": (np.arange(N) / 7, False),
        "repeated": (np.arange(N) // 2, False),
        "times": (pd.date_range("2020-01-01", periods=N), False),
    }.values(),
    ids=["rising", "shuffled", "text", "areas", "fractions", "repeated", "times"],
)
def test_ids_are_all_different_and_dense_or_rising(values, is_id):
    assert ("id" in found(numbers().assign(a=values), noise())) == is_id


def test_constants_gaps_levels_and_times_are_notes_with_advice():
    rng = np.random.default_rng(0)
    X = numbers(n=1000).assign(
        a=1.0,
        b=np.where(rng.random(1000) < 0.6, np.nan, 1.0 * rng.integers(9, size=1000)),
        c=[f"level {i}" for i in rng.integers(0, 400, 1000)],
        d=pd.date_range("2020-01-01", periods=1000, freq="h"),
        e=pd.date_range("2020-01-01", periods=1000).strftime("%Y%m%d").astype(float),
        f=None,
    )
    check = check_table(X.sample(frac=1, random_state=0), noise(n=1000))
    notes = [(finding.kind, *finding.columns) for finding in check.findings]
    assert sorted(notes) == [
        *(("constant", "a"), ("constant", "f"), ("gaps", "b"), ("levels", "c")),
        *(("time", "d"), ("time", "e")),
    ]
    assert all(finding.advice for finding in check.findings)
    summaries = {column.name: column for column in check.columns}
    assert summaries["b"].n_missing == X["b"].isna().sum()
    assert summaries["c"].n_distinct == X["c"].nunique()
    assert summaries["d"].content == "2020-01-01 to 2020-02-11 15:00"
    assert summaries["f"].content == "no value"


def test_copies_of_rows_are_a_problem_and_coarse_rows_are_not():
    X, y = numbers(), noise()
    rows = np.r_[:N, :40]
    assert found(X.iloc[rows], y[rows]) == {"duplicates": set()}
    assert found(X.iloc[rows], y[rows], time="a") == {}
    coarse = pd.DataFrame({"a": np.arange(N) % 3})
    check = check_table(coarse, (np.arange(N) % 2).astype(float))
    assert "duplicates" in {f.kind for f in check.findings} and not check.problems


def test_groups_with_targets_that_are_alike_are_a_problem_unless_named():
    patient = np.repeat(np.arange(40), 10) + 70_000
    level = np.random.default_rng(0).normal(size=40).repeat(10)
    X = numbers().assign(patient=patient)
    y = level + 0.5 * noise()  # 80 % of the variance lies between patients
    assert found(X, y) == {"groups": {"patient"}}
    assert found(X, y, groups="patient") == {}
    assert found(X, noise()) == {}


def test_columns_that_determine_each_other_are_named_once():
    X = numbers()
    X["a"] = np.arange(N) % 5
    X["b"] = X["a"].map({0: "u", 1: "v", 2: "w", 3: "x", 4: "y"})
    [finding] = check_table(X, noise()).findings
    assert (finding.kind, finding.columns) == ("same", ("a", "b"))


def test_a_target_without_variation_or_with_few_values_is_mentioned():
    assert found(numbers(), np.ones(N)) == {"target": set()}
    check = check_table(numbers(), 1.0 * (noise() > 0))
    assert [finding.kind for finding in check.findings] == ["target"]


def test_columns_that_never_vary_and_a_single_group_are_problems():
    same = pd.DataFrame({"a": np.ones(N), "b": ["x"] * N})
    first = check_table(same, noise()).problems[0]
    assert first.columns == ("a", "b") and "more than one value" in str(first)
    [one] = check_table(numbers().assign(g="a"), noise(), groups="g").problems
    assert (one.kind, one.columns) == ("groups", ("g",))


def test_polars_and_pandas_give_the_same():
    X, y = numbers().round(2), noise()
    X["text"] = ["a", "b"] * (N // 2)
    assert check_table(pl.DataFrame(X.to_dict("list")), y) == check_table(X, y)


def test_other_input_is_refused():
    with pytest.raises(InputError, match="X must be a data frame, got ndarray"):
        check_table(np.zeros((3, 2)), [1, 2, 3])
    with pytest.raises(InputError, match="y must hold a finite number for each of"):
        check_table(numbers(), noise()[:5])
    with pytest.raises(InputError, match="y must hold a finite number for each of"):
        check_table(numbers(), np.full(N, np.nan))


def test_huge_numbers_do_not_overflow():
    """Their squares are infinite; pytest turns NumPy's warnings into errors."""
    rng = np.random.default_rng(0)
    x, z = rng.normal(size=(2, 100))
    huge = check_table(pd.DataFrame({"x": 1e300 * x, "z": z}), x + z)
    plain = check_table(pd.DataFrame({"x": x, "z": z}), x + z)
    assert [str(finding) for finding in huge.problems] == [
        str(finding) for finding in plain.problems
    ]
    assert huge.problems


@pytest.mark.parametrize("unit", [1e-310, 1e300])
def test_the_unit_of_the_target_changes_nothing(unit):
    """The squares of such targets are zero or infinite."""
    X = numbers()
    y = noise() + 3 * X.iloc[:, 0]
    assert check_table(X, unit * y).findings == check_table(X, y).findings != ()
