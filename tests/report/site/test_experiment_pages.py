"""What the page of an experiment tells."""

import pytest

from histreg.report.site.experiment_pages import (
    ExperimentPage,
    facts_of,
    neighbours,
)
from histreg.study.catalogue import EXPERIMENTS, Experiment, tabular
from histreg.study.methods import L2, HLGauss
from tests.report.site.conftest import OVERALL


def test_a_page_has_tables_a_drawing_commands_and_claims(study):
    page = ExperimentPage.of(EXPERIMENTS["overall"], study)
    titles = [each.title for each in page.tables]
    assert titles == ["Overall results: CT Position", "Overall results: Pole"]
    assert page.figure is not None and "HL-Gauss" in page.figure.words
    assert page.has_distances
    assert "histreg study run overall" in page.commands
    assert "K10" in [each.claim.name for each in page.claims]
    assert page.facts["Runs"] == "21 of 480 have a record"


def test_train_errors_are_in_further_tables(study):
    page = ExperimentPage.of(EXPERIMENTS["overall"], study)
    assert "train MAE" not in page.tables[0].header
    assert "train MAE" in page.more[0].header
    assert ExperimentPage.of(EXPERIMENTS["bound"], study).more == []


def test_what_all_tables_say_is_said_once(study):
    page = ExperimentPage.of(EXPERIMENTS["overall"], study)
    assert any(note.startswith("Not finished: 459 of 480 runs") for note in page.notes)
    for each in (*page.tables, *page.more):
        assert not set(each.notes) & set(page.notes)
        assert each.notes  # over how many seeds, which differs


def test_without_records_there_is_neither_table_nor_drawing(study):
    page = ExperimentPage.of(EXPERIMENTS["sines"], study)
    assert (page.tables, page.more, page.figure) == ([], [], None)
    assert page.facts["Runs"] == "0 of 275 have a record"


def test_an_experiment_of_ones_own_has_a_page(study, monkeypatch):
    mine = Experiment("mine", "Mine", "not in it", "Why?", tabular((L2(),)))
    monkeypatch.setitem(EXPERIMENTS, "mine", mine)
    monkeypatch.setitem(study.records, "mine", OVERALL[:5])
    page = ExperimentPage.of(mine, study)
    assert page.caption == "Mine"
    assert [each.title for each in page.tables] == ["Mine: Pole"]


def test_the_protocol_of_rates_has_their_number_and_ends():
    rates = sorted({run.learning_rate for run in EXPERIMENTS["rates"].runs})
    said = f"Six learning rates for each loss, from {rates[0]:g} to {rates[-1]:g}"
    assert len(rates) == 6 and EXPERIMENTS["rates"].protocol.startswith(said)


def test_facts_are_those_of_the_runs():
    runs = tabular((L2(), HLGauss()), datasets=("ct", "pole"), seeds=(1, 3))
    facts = facts_of(runs, OVERALL[:2])
    assert facts == {
        "Data": "CT Position (1,000 epochs), Pole (500 epochs)",
        "Methods": "l2, HL-Gauss",
        "Seeds": "1, 3",
        "Runs": "2 of 8 have a record",
    }


@pytest.mark.parametrize("name", ["sines", "overall", "theorems"])
def test_neighbours_are_those_of_the_catalogue(name):
    before, after = neighbours(name)
    names = [each and each.name for each in (before, EXPERIMENTS[name], after)]
    line = [None, *EXPERIMENTS, None]
    at = line.index(name)
    assert names == line[at - 1 : at + 2]


def test_a_page_of_games_tells_how_many_games_and_frames_it_has():
    facts = facts_of(EXPERIMENTS["values"].runs, [])
    assert facts["Size"].startswith(
        "14 of the paper's 55 games, the first 250,000 frames of each"
    )
