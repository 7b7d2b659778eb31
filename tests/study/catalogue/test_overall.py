"""The overall results of the catalogue against the paper."""

from collections import Counter

import pytest

from histreg.study.catalogue import (
    experiment,
)
from histreg.study.methods import (
    MDN,
    HLOneBin,
    L2Clipping,
    L2Noise,
)
from tests.study.catalogue.reading import methods_of, of_class

PAPER_METHODS = {
    "Linear Regression",
    "l2",
    "l2+Noise",
    "l2+Clipping",
    "l1",
    "MDN",
    "l2+Softmax (per bin)",  # the paper's l2+Softmax, as its formula reads
    "l2+Softmax+Mean",
    "HL-OneBin",
    "HL-Gauss",
}


def test_the_overall_results_have_the_ten_methods_of_the_paper_and_three_of_ours():
    names = {method.name for method in methods_of("overall")}
    assert len(PAPER_METHODS) == 10
    assert names == PAPER_METHODS | {"l1+Softmax+Mean", "Brier"}
    assert HLOneBin(shift_in_bins=0.5) in methods_of("overall")


def test_baselines_have_the_grids_of_the_paper():
    methods = methods_of("overall")
    noise = {each.noise_sd for each in of_class(methods, L2Noise)}
    clipping = {each.max_gradient_norm for each in of_class(methods, L2Clipping)}
    mixtures = {each.n_components for each in of_class(methods, MDN)}
    assert noise == {1e-5, 1e-4, 1e-3, 1e-2, 1e-1}
    assert clipping == {0.01, 0.1, 1, 10}
    assert mixtures == {2, 4, 8, 16, 32}


def test_exactly_the_tuned_methods_are_run_on_validation_rows():
    methods = methods_of("overall-validation")
    assert methods == methods_of("overall")
    tuned = {each for each in methods if each.is_tuned}
    assert methods_of("overall-validation", "validation") == tuned
    assert len(tuned) == 14


@pytest.mark.parametrize("name", ["overall", "uniform", "projected", "rule-of-thumb"])
def test_every_method_runs_with_five_seeds_on_four_data_sets(name):
    runs = experiment(name).runs
    count = Counter((run.dataset, run.method) for run in runs)
    assert set(count.values()) == {5}
    assert {run.dataset for run in runs} == {"ct", "song", "bike", "pole"}
    assert {run.seed for run in runs} == {1, 2, 3, 4, 5}


def test_columns_are_judged_by_linear_regressions_on_eight_splits():
    runs = experiment("columns").runs
    assert Counter(run.dataset for run in runs) == {"bike": 8, "ct": 8, "ct-385": 8}
    assert {run.method.name for run in runs} == {"Linear Regression"}
    usual = set(experiment("overall").runs)
    assert sum(run in usual for run in runs) == 2 * 5  # ct-385 is not in the tables
