"""Experiments on targets and bins against the paper."""

from pathlib import Path

import pytest

from histreg.bins import PRESETS, Bins
from histreg.study.catalogue import RECOMMENDED, VALUE_HL, experiment, selected
from histreg.study.engine.store import Store
from histreg.study.methods import (
    L2,
    HLGauss,
    HLOneBin,
    HLUniform,
)
from tests.study.catalogue.reading import methods_of, of_class

KEPT = Path(__file__).parents[3] / "results" / "study"


def test_histograms_have_100_bins_ten_of_them_padding_on_each_side():
    for method in methods_of("overall") | methods_of("uniform"):
        if hasattr(method, "n_bins"):
            assert (method.n_bins, method.padding_in_bins) == (100, 10)
    (gauss,) = of_class(methods_of("overall"), HLGauss)
    assert gauss.sigma_in_bins == 1


def test_uniform_smoothing_has_the_grid_of_the_paper_and_none():
    methods = methods_of("uniform")
    epsilons = {each.epsilon for each in of_class(methods, HLUniform)}
    assert epsilons == {1e-5, 1e-4, 1e-3, 1e-2, 1e-1}
    assert methods - of_class(methods, HLUniform) == {HLOneBin()}


@pytest.mark.parametrize("y_range", [(0.0, 1.0), (1922.0, 2011.0)])
def test_the_rule_of_thumb_has_the_bins_and_the_sigma_of_the_preset(y_range):
    for method, name in ((RECOMMENDED, "recommended"), (VALUE_HL, "atari")):
        assert method.bins(*y_range) == Bins.preset(name, *y_range)
        assert method.sigma_in_bins == PRESETS[name].sigma_in_bins == 2


def test_the_rule_of_thumb_stands_beside_the_setting_of_the_tables_and_l2():
    assert methods_of("rule-of-thumb") == {L2(), HLGauss(), RECOMMENDED}


def test_the_rule_of_thumb_reuses_the_records_of_the_overall_results():
    runs = selected(experiment("rule-of-thumb").runs, datasets=["pole", "bike"])
    known = [run for run in runs if run.method != RECOMMENDED]
    assert len(runs) == 30 and len(known) == 20
    assert set(known) < set(experiment("overall").runs)
    assert {each.run for each in Store(KEPT).records(known)} == set(known)
