"""Conclusions: sentences that say what the records say, and change with them."""

import pytest

from histreg.report.conclusions import KINDS, conclusion_of
from histreg.report.results import Results
from histreg.study.catalogue import EXPERIMENTS
from histreg.study.catalogue.target import NARROW, PADDING_OFF_BORDERS
from histreg.study.measurements import Measurement
from histreg.study.methods import HLGauss, LinearRegression
from histreg.study.shapes.tables import HEAVY, LIGHT
from tests.report.examples import READINGS, RECORDS, REPLAYS, SNAPSHOTS, reading, tables
from tests.study.made_up import record_of, shape_records, sine_record, tabular_records


def concluded(name, records):
    return conclusion_of(Results(EXPERIMENTS[name], records))


def test_every_conclusion_is_that_of_an_experiment():
    named = {experiment.conclusion for experiment in EXPERIMENTS.values()}
    assert named - {""} == set(KINDS)


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_without_records_nothing_is_concluded(name):
    assert concluded(name, []) == ""


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_a_conclusion_is_empty_or_a_sentence(name):
    text = concluded(name, RECORDS[name])
    assert not text or (text[0].isupper() and text.endswith("."))


def test_snapshots_have_the_mass_below_all_histograms_in_common():
    assert concluded("snapshots", SNAPSHOTS) == (
        "The histograms of 2 rows have 100 % of their mass in common after epoch 1 and "
        "0 % after epoch 50."
    )


@pytest.mark.parametrize(("area", "n_lower"), [(0.5, 1), (2.0, 0)])
def test_sines_count_where_the_area_is_smaller(area, n_lower):
    records = [sine_record(area=1.0), sine_record("HL-Gauss", area=area)]
    assert concluded("sines-reduced", records).endswith(f"on {n_lower} of 1 sines.")


def test_replays_count_resets_in_step():
    assert concluded("replays", REPLAYS).startswith(
        "Yes: all 4 resets of the files of 2 games "
    )
    metrics = {**REPLAYS[0].outcome.metrics, "resets after the end": 0}
    out_of_step = record_of(REPLAYS[0].run, metrics)
    assert concluded("replays", [out_of_step]).startswith("1 of 2 resets ")


def test_tables_name_the_nearest_peer_and_whether_choices_saw_the_fold():
    # Ours is 1 and 4: over CatBoost sqrt(0.5 * 2) = 1, over RealMLP 0.8.
    text = concluded("tables", tables(0))
    assert "below that of 2 of 3 peers" in text
    assert "1.00 of that of CatBoost, the nearest" in text
    assert "lowest of all on 1 of 3 tables" in text
    assert "choices" in text
    assert "choices" not in concluded("tables-last", tables(4))


def test_the_grid_has_narrow_targets_on_borders_and_off_them():
    records = [
        *tabular_records("pole", HLGauss(), [2.0]),
        *tabular_records("pole", HLGauss(NARROW), [1.0]),
        *tabular_records("pole", HLGauss(padding_in_bins=PADDING_OFF_BORDERS), [2.0]),
    ]
    assert concluded("grid", records) == ""
    off = HLGauss(NARROW, padding_in_bins=PADDING_OFF_BORDERS)
    records += tabular_records("pole", off, [3.0])
    text = concluded("grid", records)
    assert text.endswith(
        " by 0.50 with the usual borders and by 1.50 with shifted ones."
    )


@pytest.mark.parametrize(("with_384", "with_385"), [(8.2, 8.0), (8.0, 8.2)])
def test_columns_are_those_whose_error_is_nearest_to_the_paper_s(with_384, with_385):
    # Of the paper's means the RMSE over all rows is 8.2356.
    records = [
        *tabular_records("ct", LinearRegression(), [with_384]),
        *tabular_records("ct-385", LinearRegression(), [with_385]),
    ]
    text = concluded("columns", records)
    assert f"probably {384 if with_384 > with_385 else 385}: " in text
    distances = sorted([(384, 8.2356 - with_384), (385, 8.2356 - with_385)])
    for n, distance in distances:
        assert f"{distance:.4f} with {n}" in text


def test_shapes_have_mean_ratios_and_count_goals():
    records = [
        record
        for table in (*HEAVY, *LIGHT)
        for name, crps in (("uniform bins", 4.0), ("auto bins", 2.0))
        for record in shape_records(table, name, [crps, crps, crps])
    ]
    text = concluded("shapes", records)
    assert "0.500 of that with even bins" in text and "0.500 on the others" in text
    assert " of 10 goals " in text
    assert concluded("shapes", records[:-3]) == ""


def test_targets_are_counted():
    records = [
        record_of(Measurement("targets", name), {"distinct": n})
        for name, n in (("bike", 869), ("pole", 11))
    ]
    assert concluded("targets", records).endswith(": 11 on Pole, 869 on Bike Sharing.")


def test_the_bound_crosses_where_the_record_says():
    record = record_of(
        Measurement("bound"), {"crossing epsilon": 0.25, "useless epsilon": 0.125}
    )
    text = concluded("bound", [record])
    assert "above epsilon 0.25" in text and "below 0.12 " in text


def test_the_nearest_reading_is_named():
    assert '"shared head, Keras weights, stopped by MSE"' in concluded(
        "forecast-readings", READINGS
    )
    direct = [
        *reading(0.07105, 0.3826, 0.5, "direct", "pytorch"),
        *reading(0.1624, 0.3389, 0.5, "direct", "pytorch", series="ETTh2"),
    ]
    text = concluded("forecast-readings", [*READINGS, *direct])
    assert "direct" in text and " 0.0 % away" in text
