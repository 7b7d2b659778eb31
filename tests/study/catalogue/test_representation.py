"""Exchanged representations and auxiliary tasks."""

from collections import Counter

from histreg.study.analysis.statistics import settings_of
from histreg.study.catalogue import experiment
from histreg.study.catalogue.representation import AUXILIARY, column_label
from histreg.study.methods import L2, HLGauss
from histreg.study.tabular.representations import column_of
from tests.study.catalogue.reading import methods_of
from tests.study.made_up import tabular_records


def test_both_losses_are_in_all_columns_of_the_paper_and_controls_in_two():
    runs = experiment("representation").runs
    columns = Counter((run.method.name, column_of(run)) for run in runs)
    assert columns == {
        (name, column): 20
        for name, column in (
            *(("l2", each) for each in ("Default", "Fixed", "Initialized", "Random")),
            *(
                ("HL-Gauss", each)
                for each in ("Default", "Fixed", "Initialized", "Random")
            ),
            ("l2+Softmax+Mean", "Random"),
            ("l1+Softmax+Mean", "Random"),
            ("l2+Softmax+Mean", "Fixed"),
        )
    }


def test_a_label_has_the_column_of_table_3_and_what_else_is_changed():
    changes = {"donor": HLGauss(), "has_frozen_body": True, "epochs": 7}
    records = tabular_records("pole", L2(), [1.0, 2.0], changes=changes, diverged=[2])
    (setting,) = settings_of(records)
    assert column_label(setting) == "l2 [Fixed], epochs 7, 1 diverged"


def test_auxiliary_tasks_are_swept_with_both_losses_as_levels():
    weights, moments = experiment("auxiliary").figure.sweeps
    assert methods_of("auxiliary") == {L2(), *AUXILIARY, HLGauss()}
    for sweep in (weights, moments):
        assert sweep.levels == (L2(), HLGauss())
        x = {sweep.x(run) for run in experiment("auxiliary").runs} - {None}
        assert x == set(sweep.ticks)
