"""Tables of targets of any shape, of records made by hand."""

from histreg.report.experiment_tables import tables_of
from tests.report.examples import RECORDS
from tests.report.reading import rows


def tables():
    return tables_of("shapes", RECORDS["shapes"])


def test_ratios_are_to_uniform_bins_seed_by_seed_and_the_lowest_is_marked():
    crps, mae, *_ = tables()
    assert crps.header == (
        *("predictor", "pareto", "bike", "diabetes", "mean, heavy", "mean, light"),
    )
    found = rows(crps)
    assert found["uniform bins"] == ("1.000", "1.000*", "1.000*", "", "")
    # 2 / 4 and 2 / 8: the geometric mean is 1 / sqrt 8.
    assert found["auto bins"] == ("0.354*", "", "1.000*", "", "")
    assert found["sqrt bins"][0] == "0.750"
    assert found["CatBoost"] == ("0.500", "1.250", "", "", "")
    # 8 / 8 and 8 / 16.
    assert rows(mae)["auto bins"][0] == "0.707"


def test_promises_wait_for_what_is_not_run():
    _, _, _, promises, *_ = tables()
    assert {row[2] for row in promises.rows} == {"not run"}
    assert len(promises.rows) == 10


def test_each_table_has_all_scores_of_its_predictors():
    *_, pareto, bike, diabetes = tables()
    assert [each.title.split(": ")[1] for each in (pareto, bike, diabetes)] == [
        *("Pareto", "Bike Sharing", "Diabetes"),
    ]
    assert pareto.header[:4] == ("predictor", "CRPS", "MAE", "RMSE")
    assert rows(pareto)["uniform bins"][:2] == ("6 ± 2", "12 ± 4")
    assert rows(pareto)["uniform bins"][-1] == "2.0"
    assert rows(bike)["CatBoost"][0] == "12.5"  # one seed has no standard error
    assert list(rows(diabetes)) == ["uniform bins", "auto bins"]


def test_differences_are_against_uniform_bins():
    found = tables_of("shapes", RECORDS["shapes"], is_paired=True)
    crps = next(each for each in found if "CRPS: Pareto" in each.title)
    # 2 - 4 and 2 - 8.
    assert rows(crps)["auto bins"][:2] == ("uniform bins", "-4.000")


def test_without_uniform_bins_there_are_scores_alone():
    others = [each for each in RECORDS["shapes"] if each.run.method != "uniform bins"]
    for each in tables_of("shapes", others):
        assert "CRPS" in each.header and any(cell for row in each.rows for cell in row)


def test_without_records_there_are_no_tables():
    assert tables_of("shapes", []) == []
