"""An experiment with its records: the settings that it reports."""

from dataclasses import replace

import pytest

from histreg.report.results import Results
from histreg.study.catalogue import EXPERIMENTS
from histreg.study.methods import L2, MDN
from tests.report.examples import TRAINING
from tests.study.made_up import forecast_records, tabular_records

TUNED = [
    *tabular_records("pole", L2(), [3.0]),
    *tabular_records("pole", MDN(2), [1.0]),
    *tabular_records("pole", MDN(4), [2.0]),
    *tabular_records("pole", MDN(2), [0.9], part="validation"),
    *tabular_records("pole", MDN(4), [0.8], part="validation"),
]


@pytest.mark.parametrize(
    ("choice", "methods"),
    [
        ("all", [L2(), MDN(2), MDN(4)]),
        ("best on test", [L2(), MDN(2)]),
        ("best on validation", [L2(), MDN(4)]),
    ],
)
def test_the_settings_are_those_that_the_experiment_chooses(choice, methods):
    experiment = replace(EXPERIMENTS["overall"], choice=choice)
    settings = Results(experiment, TUNED).settings
    assert [setting.method for setting in settings] == methods


def test_a_choice_that_is_not_there_is_refused():
    experiment = replace(EXPERIMENTS["overall"], choice="best of all")
    with pytest.raises(ValueError, match="choice must be one of 'all', "):
        Results(experiment, TUNED).settings  # noqa: B018


def test_summaries_of_curves_are_metrics_like_others():
    l2, _ = Results(EXPERIMENTS["training"], TRAINING).settings
    assert {"unsteadiness", "jumpiness", "early train MAE"} <= l2.estimates.keys()
    assert l2.values("early train MAE") == {1: 6.0, 2: 2.0}


def test_tables_of_errors_have_settings_on_tables_alone():
    records = [*TUNED, *forecast_records("ETTh1", "GRU", L2(), [1.0])]
    results = Results(replace(EXPERIMENTS["overall"], choice="all"), records)
    assert len(results.settings) == len(results.tabular_settings) + 1
    assert {setting.dataset for setting in results.tabular_settings} == {"pole"}


def test_tables_have_the_title_of_the_experiment_or_their_own():
    assert Results(EXPERIMENTS["bins"], []).title == "Number of bins"
    assert Results(EXPERIMENTS["targets"], []).title == "Data sets"
