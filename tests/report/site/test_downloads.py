"""Records as files: read back by the store and by pandas."""

import io

import pandas as pd

from histreg.report.site.downloads import csv_of, jsonl_of
from histreg.study.engine.store import Store
from histreg.study.methods import L2, MDN, HLGauss
from tests.study.made_up import tabular_records

RECORDS = [
    *tabular_records("pole", L2(), [1.0, 2.0], diverged=[2]),
    *tabular_records("bike", MDN(4), [3.0], changes={"donor": HLGauss()}),
]


def test_the_lines_are_a_store_with_the_same_records(tmp_path):
    (tmp_path / "mine.jsonl").write_text(jsonl_of(RECORDS))
    found = Store(tmp_path).records([record.run for record in RECORDS])
    assert found == RECORDS


def test_the_table_has_a_line_for_each_record_with_its_run_and_metrics():
    table = pd.read_csv(io.StringIO(csv_of(RECORDS)))
    assert table["dataset"].tolist() == ["pole", "pole", "bike"]
    assert table["method"].tolist() == ["l2", "l2", "MDN"]
    assert table["seed"].tolist() == [1, 2, 1]
    assert table["hidden"][0] == "24 24 24"
    assert table["status"].tolist() == ["done", "diverged", "done"]
    assert table["test MAE"].isna().tolist() == [False, True, False]
    assert table["test MAE"][2] == 3.0
    assert table["method.n_components"][2] == 4
    assert table["donor"][2] == "HL-Gauss" and table["donor.sigma_in_bins"][2] == 1
    assert table["key"].tolist() == [record.run.key for record in RECORDS]


def test_no_records_are_an_empty_table():
    assert csv_of([]).strip() == "" == jsonl_of([])
