"""All experiments: their runs, their names, and how they are shown."""

import json
import re

import pytest

from histreg.report import experiment_figures, experiment_tables
from histreg.study.analysis.statistics import CHOICES
from histreg.study.catalogue import EXPERIMENTS, FAMILIES, experiment
from tests.study.descriptions import run_of

ALL = {run.key: run for each in EXPERIMENTS.values() for run in each.runs}


@pytest.mark.parametrize("each", EXPERIMENTS.values(), ids=lambda each: each.name)
def test_json_brings_every_run_back_with_its_key(each):
    for run in each.runs:
        text = json.dumps(run.to_json())
        back = run_of(json.loads(text))
        assert back == run
        assert back.key == run.key


@pytest.mark.parametrize("each", EXPERIMENTS.values(), ids=lambda each: each.name)
def test_an_experiment_has_no_run_twice(each):
    assert len(set(each.runs)) == len(each.runs)


def test_no_experiment_of_a_family_takes_the_name_of_another():
    assert len(EXPERIMENTS) == sum(len(family.EXPERIMENTS) for family in FAMILIES)


def test_different_runs_have_different_keys():
    runs = {run for each in EXPERIMENTS.values() for run in each.runs}
    assert len(runs) == len(ALL)


def test_different_runs_have_different_labels():
    assert len({run.label for run in ALL.values()}) == len(ALL)


def test_every_kind_of_table_and_figure_is_there_and_is_used():
    tables = {each.table.kind for each in EXPERIMENTS.values()}
    figures = {each.figure.kind for each in EXPERIMENTS.values()}
    assert tables == experiment_tables.KINDS.keys()
    assert figures == experiment_figures.KINDS.keys()
    assert {each.choice for each in EXPERIMENTS.values()} == CHOICES.keys()


@pytest.mark.parametrize("each", EXPERIMENTS.values(), ids=lambda each: each.name)
def test_every_experiment_says_how_it_is_done_and_what_its_figure_shows(each):
    assert each.protocol and each.figure.caption
    assert bool(each.figure.sweeps) == (each.figure.kind in ("sweep", "rates"))


@pytest.mark.parametrize(
    "name",
    [
        *("architectures", "label-bias", "bins", "sigma", "auxiliary", "annealing"),
        *("corruption", "rates"),
    ],
)
def test_values_that_the_paper_does_not_state_are_named_as_ours(name):
    assert re.search(r"\bours: the paper|values are ours", experiment(name).protocol)


@pytest.mark.parametrize("name", ["overall", "uniform"])
def test_values_that_the_paper_states_are_named_as_its_own(name):
    assert re.search("the paper's (five values|settings)", experiment(name).protocol)


@pytest.mark.parametrize("each", EXPERIMENTS.values(), ids=lambda each: each.name)
def test_every_sweep_places_runs_of_its_experiment(each):
    for sweep in each.figure.sweeps:
        x = {sweep.x(run) for run in each.runs} - {None}
        assert len(x) > 1 and x <= {*(sweep.ticks or x)}


def test_what_is_shared_by_experiments_is_one_run():
    shared = set(experiment("projected").runs) & set(experiment("overall").runs)
    # HL-OneBin and HL-Gauss, five seeds, four data sets.
    assert len(shared) == 40


def test_an_experiment_that_is_not_there_is_refused():
    with pytest.raises(ValueError, match="experiment must be one of 'sines', "):
        experiment("overal")
