"""An experiment: what it names, and what it is if nothing is said."""

from dataclasses import replace

from histreg.study.catalogue import Experiment, Pairing, tabular
from histreg.study.catalogue.experiment import against, against_l2
from histreg.study.methods import L2, HLGauss
from histreg.study.tabular.runs import TabularRun

RUN = TabularRun.of("pole", HLGauss(), 1)


def test_an_experiment_of_runs_alone_has_a_table_and_a_figure_of_all_errors():
    mine = Experiment("mine", "Mine", "not in it", "Why?", tabular((L2(),)))
    assert (mine.table.kind, mine.figure.kind, mine.choice) == (
        "errors",
        "errors",
        "all",
    )
    assert mine.pairing is None and mine.protocol == ""


def test_a_pairing_against_a_method_takes_it_in_whichever_setting():
    pairing = Pairing(against(L2()))
    l2 = TabularRun.of("pole", L2(), 1, epochs=7)
    assert pairing.is_reference(RUN, l2) and pairing.is_reference(l2, l2)
    assert not pairing.is_reference(RUN, RUN)


def test_against_l2_all_else_is_alike():
    l2 = TabularRun.of("pole", L2(), 1)
    assert against_l2(RUN, l2) and against_l2(l2, l2)
    assert not against_l2(RUN, replace(l2, corrupted=0.1))
    assert not against_l2(RUN, RUN)
