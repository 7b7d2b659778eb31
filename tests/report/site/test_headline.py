"""Our test MAE beside the paper's, of records made by hand."""

import pytest

from histreg.report.site.headline import HeadlineCell, headline, what_was_run
from histreg.study.catalogue import EXPERIMENTS, Experiment, tabular
from histreg.study.methods import L2, L2Noise
from tests.report.site.conftest import OVERALL
from tests.study.made_up import tabular_records


def cells(found, name):
    return dict(zip(found.titles, dict(found.rows)[name], strict=True))


def test_ours_stands_beside_the_papers():
    found = headline(OVERALL)
    gauss = cells(found, "HL-Gauss")["Pole"]
    assert (gauss.ours, gauss.paper) == ("0.712 ± 0.008", "0.714 ± 0.024")
    assert gauss.apart == "-0.1" and gauss.kind == "near" and gauss.seeds == 5
    # Of Pole most was run, of the last two nothing.
    assert found.titles == ["Pole", "CT Position", "Song Year", "Bike Sharing"]
    assert found.n_seeds == 5


def test_what_was_not_run_is_called_so():
    found = headline(OVERALL)
    assert cells(found, "l1")["Pole"] == HeadlineCell("not run", "0.938 ± 0.029")
    assert cells(found, "HL-Gauss")["Song Year"].ours == "not run"


def test_one_seed_has_no_distance():
    ct = cells(headline(OVERALL), "HL-Gauss")["CT Position"]
    assert (ct.ours, ct.apart, ct.kind, ct.seeds) == ("0.090", "", "", 1)


def test_a_control_of_ours_does_not_stand_for_the_papers_method():
    pole = cells(headline(OVERALL), "HL-OneBin")["Pole"]
    assert pole.ours == "1.260 ± 0.024"  # not that on a shifted grid, 0.5


def test_the_lowest_of_the_papers_methods_is_marked():
    found = headline(OVERALL)
    pole = found.titles.index("Pole")
    best = [name for name, row in found.rows if row[pole].is_best]
    assert best == ["HL-Gauss"]


def test_of_several_settings_there_is_the_best():
    noisy = [
        *tabular_records("pole", L2Noise(0.1), [2.0, 2.0]),
        *tabular_records("pole", L2Noise(0.01), [1.0, 1.2]),
        *tabular_records("pole", L2(), [3.0, 3.0]),
    ]
    assert cells(headline(noisy), "l2+Noise")["Pole"].ours == "1.100 ± 0.100"


def test_what_cannot_be_matched_has_the_papers_number_alone():
    pole = cells(headline(OVERALL), "l2+Softmax")["Pole"]
    assert pole == HeadlineCell("", "0.950 ± 0.016")


@pytest.mark.parametrize(
    ("experiment", "data", "told"),
    [
        ("Overall results", "Pole", "20 of 120"),
        ("Overall results", "Song Year", "not run"),
        ("Prediction bound", "no data", "all 1"),
        ("Prediction bound", "Pole", ""),
        ("Predicted histograms while training lasts", "Bike Sharing", "all 1"),
        ("Forecasts of series", "ETTh1", "not run"),
        ("Values of games", "Atari", "not run"),
    ],
)
def test_runs_are_counted_by_data_sets(study, experiment, data, told):
    table = what_was_run(study)
    rows = {row[0]: dict(zip(table.header, row, strict=True)) for row in table.rows}
    assert rows[experiment][data] == told


def test_no_experiment_has_an_empty_row(study, monkeypatch):
    mine = tabular((L2(),), datasets=["diabetes"])
    one = Experiment("mine", "Mine", "not in it", "Why?", mine)
    monkeypatch.setitem(EXPERIMENTS, "mine", one)
    monkeypatch.setitem(study.records, "mine", [])
    table = what_was_run(study)
    assert [row[0] for row in table.rows if not any(row[1:])] == []
    assert table.rows[-1][table.header.index("other data")] == "not run"


def test_the_count_of_runs_tells_how_many_games_and_frames_there_are(study):
    note = what_was_run(study).notes[-1]
    assert note.startswith("Atari: 14 of the paper's 55 games, the first 250,000 ")
