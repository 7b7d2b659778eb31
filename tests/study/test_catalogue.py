"""The catalogue against the paper's protocol, and the choice among its runs."""

import json
from collections import Counter
from dataclasses import replace
from itertools import product
from pathlib import Path

import pytest

from histreg.bins import PRESETS, Bins
from histreg.report.study_figures import FIGURES
from histreg.report.study_tables import TABLES
from histreg.study.atari.runs import ValueRun
from histreg.study.catalogue import (
    DATA,
    EXPERIMENTS,
    FORECAST_HL,
    FREQUENCIES,
    OFFSETS,
    RECOMMENDED,
    VALUE_HL,
    experiment,
    selected,
    sines,
)
from histreg.study.datasets import DATASETS, SERIES, dataset
from histreg.study.engine.store import Store
from histreg.study.measurements import Measurement
from histreg.study.methods import (
    L2,
    MDN,
    HLGauss,
    HLOneBin,
    HLUniform,
    L2Clipping,
    L2Noise,
    LinearRegression,
)
from histreg.study.series.runs import READING, ForecastRun
from histreg.study.tabular.runs import TabularRun
from tests.study.descriptions import run_of

KEPT = Path(__file__).parents[2] / "results" / "study"
ALL = {run.key: run for each in EXPERIMENTS.values() for run in each.runs}
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


def methods_of(name, part="test"):
    """Return the distinct methods of an experiment."""
    return {run.method for run in experiment(name).runs if run.part == part}


def of_class(methods, kind):
    return {each for each in methods if type(each) is kind}


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


def test_different_runs_have_different_keys():
    runs = {run for each in EXPERIMENTS.values() for run in each.runs}
    assert len(runs) == len(ALL)


def test_different_runs_have_different_labels():
    assert len({run.label for run in ALL.values()}) == len(ALL)


def test_every_experiment_has_a_table_and_a_figure():
    assert EXPERIMENTS.keys() == TABLES.keys() == FIGURES.keys()


def test_the_sines_are_300_runs_of_which_25_are_in_both_parts():
    near = sines(FREQUENCIES, (-1.5, 1.5))
    far = sines(OFFSETS, (-1.5, 11.5))
    assert len(near) == len(far) == 150
    common = set(near) & set(far)
    assert len(common) == 25
    assert {(run.method, run.alpha, run.beta) for run in common} == {(L2(), 10.0, 0.0)}
    assert set(experiment("sines").runs) == set(near) | set(far)
    assert len(experiment("sines").runs) == 275


def test_the_sines_have_the_targets_rates_seeds_and_bins_of_the_paper():
    runs = experiment("sines").runs
    targets = {(1, 0), (10, 0), (20, 0), (10, 1), (10, 10)}
    assert {(run.alpha, run.beta) for run in runs} == targets
    assert {run.learning_rate for run in runs} == {1e-5, 1e-4, 1e-3, 1e-2, 1e-1}
    assert {run.seed for run in runs} == {0, 1, 2, 3, 4}
    assert {run.iterations for run in runs} == {1001}
    widths = set()
    for run in runs:
        if isinstance(run.method, HLGauss):
            bins = run.method.bins(*run.value_range)
            assert (bins.low, bins.high) == pytest.approx(run.value_range)
            assert bins.n_bins == 100 and run.method.sigma_in_bins == 2
            widths.add(round(bins.width, 10))
    assert widths == {0.03, 0.13}


def test_the_reduced_sines_are_the_frequencies_in_a_small_network():
    runs = experiment("sines-reduced").runs
    assert {(run.alpha, run.beta) for run in runs} == set(FREQUENCIES)
    assert {run.hidden for run in runs} == {(128, 128)}
    # Three frequencies, two losses, two rates, two seeds.
    assert len(runs) == 24


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


def test_histograms_have_100_bins_ten_of_them_padding_on_each_side():
    for method in methods_of("overall") | methods_of("uniform"):
        if hasattr(method, "n_bins"):
            assert (method.n_bins, method.padding_in_bins) == (100, 10)
    (gauss,) = of_class(methods_of("overall"), HLGauss)
    assert gauss.sigma_in_bins == 1


def test_exactly_the_tuned_methods_are_run_on_validation_rows():
    methods = methods_of("overall-validation")
    assert methods == methods_of("overall")
    tuned = {each for each in methods if each.is_tuned}
    assert methods_of("overall-validation", "validation") == tuned
    assert len(tuned) == 14


def test_uniform_smoothing_has_the_grid_of_the_paper_and_none():
    methods = methods_of("uniform")
    epsilons = {each.epsilon for each in of_class(methods, HLUniform)}
    assert epsilons == {1e-5, 1e-4, 1e-3, 1e-2, 1e-1}
    assert methods - of_class(methods, HLUniform) == {HLOneBin()}


@pytest.mark.parametrize("name", ["overall", "uniform", "projected", "rule-of-thumb"])
def test_every_method_runs_with_five_seeds_on_four_data_sets(name):
    runs = experiment(name).runs
    count = Counter((run.dataset, run.method) for run in runs)
    assert set(count.values()) == {5}
    assert {run.dataset for run in runs} == {"ct", "song", "bike", "pole"}
    assert {run.seed for run in runs} == {1, 2, 3, 4, 5}


# The paper's common protocol: epochs, hidden layers and dropout.
@pytest.mark.parametrize(
    ("name", "epochs", "hidden", "dropout"),
    [
        ("ct", 1000, (192,) * 4, 0.05),
        ("song", 150, (45,) * 4, 0.05),
        ("bike", 500, (64,) * 4, 0.0),
        ("pole", 500, (24,) * 3, 0.0),
    ],
)
def test_networks_have_the_protocol_of_their_data_set(name, epochs, hidden, dropout):
    (run,) = selected(
        experiment("overall").runs, datasets=[name], methods=["HL-Gauss"], seeds=[3]
    )
    found = (run.epochs, run.hidden, run.dropout, run.learning_rate, run.batch_size)
    assert found == (epochs, hidden, dropout, 1e-3, 256)


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


def trained(name):
    return [run for run in experiment(name).runs if isinstance(run, ForecastRun)]


def test_forecasts_are_of_four_models_by_two_losses_on_four_series():
    runs = trained("forecasts")
    places = Counter((run.dataset, run.architecture, run.method) for run in runs)
    assert set(places) == set(
        product(
            ("ETTh1", "ETTh2", "ETTm1", "ETTm2"),
            ("Linear", "LSTM", "GRU", "Transformer"),
            (L2(), HLGauss(2.0, n_bins=100, padding_in_bins=6.0)),
        )
    )
    assert set(places.values()) == {5}
    assert {run.seed for run in runs} == {1, 2, 3, 4, 5}


def test_forecasts_have_the_protocol_of_the_paper():
    for run in trained("forecasts"):
        assert (run.epochs, run.patience, run.batch_size) == (10, 3, 32)
        assert (run.learning_rate, run.weight_decay) == (1e-4, 1e-4)
        assert (run.n_inputs, run.n_steps) == (96, 96)
        assert not run.subtracts_last and run.changes == []


def test_bins_of_forecasts_leave_three_sigmas_beside_the_targets():
    bins = FORECAST_HL.bins(-2.0, 3.0)
    sigma = FORECAST_HL.sigma_in_bins * bins.width
    assert FORECAST_HL.sigma_in_bins == 2 and bins.n_bins == 100
    assert (-2.0 - bins.low, bins.high - 3.0) == pytest.approx((3 * sigma, 3 * sigma))


@pytest.mark.parametrize(
    "name", ["forecasts", "forecasts-direct", "forecasts-of-change"]
)
def test_forecasts_have_beside_them_what_learns_nothing(name):
    others = set(experiment(name).runs) - set(trained(name))
    assert others == {Measurement("naive", each) for each in SERIES}


def test_direct_forecasts_are_the_same_without_a_projection():
    direct = trained("forecasts-direct")
    assert [replace(run, **READING) for run in direct] == trained("forecasts")
    assert {tuple(run.changes) for run in direct} == {
        ("direct head", "PyTorch weights", "stopped by loss")
    }


def test_forecasts_of_change_are_the_direct_ones_with_the_last_value_subtracted():
    changed = trained("forecasts-of-change")
    usual = [replace(run, subtracts_last=False) for run in changed]
    assert usual == trained("forecasts-direct")
    assert {run.changes[0] for run in changed} == {"last value subtracted"}


def test_readings_are_all_heads_first_weights_and_criteria_of_linear_forecasters():
    runs = experiment("forecast-readings").runs
    heads = ("direct", "per-step", "shared", "dense")
    weights = ("pytorch", "keras")
    found = Counter(
        (run.dataset, run.method.name, run.head, run.first_weights, run.validation)
        for run in runs
    )
    histograms = product(SERIES, ["HL-Gauss"], heads, weights, ["loss", "MSE"])
    numbers = product(SERIES, ["l2"], heads, weights, ["MSE"])  # its loss is the MSE
    assert set(found) == {*histograms, *numbers}
    assert len(runs) == len(found) == 4 * (16 + 8)
    assert {(run.architecture, run.seed) for run in runs} == {("Linear", 1)}
    assert all(run.is_of_paper for run in runs)


def test_the_reading_that_is_used_is_one_of_those_that_were_searched():
    searched = set(experiment("forecast-readings").runs)
    used = {
        run
        for run in trained("forecasts")
        if run.architecture == "Linear" and run.seed == 1
    }
    assert used <= searched


def test_what_is_shared_by_experiments_is_one_run():
    shared = set(experiment("projected").runs) & set(experiment("overall").runs)
    # HL-OneBin and HL-Gauss, five seeds, four data sets.
    assert len(shared) == 40


def test_an_experiment_that_is_not_there_is_refused():
    with pytest.raises(ValueError, match="experiment must be one of 'sines', "):
        experiment("overal")


RUNS = experiment("overall-validation").runs


def test_nothing_asked_for_is_everything():
    assert selected(RUNS) == RUNS


def test_a_data_set_of_the_paper_gets_the_runs_it_has():
    expected = tuple(run for run in RUNS if run.dataset == "bike")
    assert set(selected(RUNS, datasets=["bike"])) == set(expected)
    assert len(selected(RUNS, datasets=["bike"])) == len(expected)


def test_data_sets_come_in_the_order_asked_for():
    found = selected(RUNS, datasets=["pole", "ct"])
    assert list(dict.fromkeys(run.dataset for run in found)) == ["pole", "ct"]
    assert len(found) == len(RUNS) / 2


@pytest.mark.parametrize("name", sorted(DATASETS.keys() - set(DATA)))
def test_a_data_set_that_the_paper_does_not_have_gets_a_protocol_of_its_own(name):
    found = selected(RUNS, datasets=[name])
    assert len(found) == len(RUNS) / 4
    data = dataset(name)
    for run in found:
        assert run.dataset == name
        if isinstance(run.method, LinearRegression):
            assert run.hidden == ()
        else:
            protocol = (run.epochs, run.hidden, run.dropout)
            assert protocol == (data.epochs, data.hidden, data.dropout)
    parts = Counter(run.part for run in found)
    assert parts == Counter(run.part for run in RUNS if run.dataset == "ct")


def test_a_series_gets_its_own_runs():
    runs = experiment("forecasts").runs
    found = selected(runs, datasets=["ETTm1"])
    assert set(found) == {run for run in runs if run.dataset == "ETTm1"}
    assert len(found) == 1 + 4 * 2 * 5


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("overall", "ETTh1"),
        ("rates", "ETTm2"),
        ("targets", "ETTh1"),
        ("label-bias", "ETTh1"),
        ("forecasts", "pole"),
        ("forecasts-of-change", "diabetes"),
        ("overall", "Pong"),
        ("targets", "Pong"),
        ("forecasts", "Pong"),
        ("values", "pole"),
        ("values-textbook", "ETTh1"),
    ],
)
def test_tables_series_and_games_have_none_of_each_others_runs(name, data):
    assert selected(experiment(name).runs, datasets=[data]) == ()


def test_of_tables_series_and_games_each_gets_what_it_can_have():
    names = ("projected", "forecasts", "values")
    found = selected(
        [run for name in names for run in experiment(name).runs],
        datasets=["pole", "ETTh1", "Pong"],
        methods=["HL-Gauss"],
        seeds=[1],
    )
    kinds = Counter((type(run), run.dataset) for run in found)
    assert kinds == {
        (TabularRun, "pole"): 1,
        (Measurement, "ETTh1"): 1,
        (ForecastRun, "ETTh1"): 4,
        (ValueRun, "Pong"): 1,
    }


def test_epochs_of_forecasts_are_at_most_those_asked_for():
    usual = experiment("forecasts").runs
    for run, before in zip(selected(usual, epochs=2), usual, strict=True):
        if isinstance(run, ForecastRun):
            assert run == replace(before, epochs=2)
            assert run.key != before.key
        else:
            assert run == before


def test_measurements_follow_the_data_sets():
    found = selected(experiment("label-bias").runs, datasets=["diabetes"])
    assert [(run.what, run.dataset) for run in found] == [("label-bias", "diabetes")]


@pytest.mark.parametrize("name", ["sines", "bias", "bound"])
def test_what_is_on_no_data_set_stays_whichever_are_asked_for(name):
    runs = experiment(name).runs
    assert selected(runs, datasets=["ETTh1"]) == runs
    assert selected(runs, datasets=["pole", "bike"]) == runs


@pytest.mark.parametrize("name", ["ct", "song-7000", "pole"])
def test_training_without_dropout_is_so_on_every_data_set(name):
    found = selected(experiment("training").runs, datasets=[name])
    assert len(found) == 15
    assert {run.dataset for run in found} == {name}
    assert {run.dropout for run in found} == {0.0}
    assert {run.probes for run in found} == {("gradients",)}
    # Where the protocol has none anyhow, nothing is different but what is measured.
    usual = {TabularRun.of(name, run.method, run.seed) for run in found}
    is_usual = {replace(run, probes=()) for run in found} == usual
    assert is_usual == (name == "pole")


def test_exchanged_bodies_and_corruption_go_along_to_another_data_set():
    for name in ("representation", "corruption"):
        on_ct = selected(experiment(name).runs, datasets=["ct"])
        moved = selected(experiment(name).runs, datasets=["diabetes"])
        for run, source in zip(moved, on_ct, strict=True):
            assert run.dataset == "diabetes"
            for what in ("method", "seed", "donor", "has_frozen_body", "corrupted"):
                assert getattr(run, what) == getattr(source, what)


def test_methods_are_chosen_by_their_names_with_all_their_settings():
    found = selected(RUNS, methods=["MDN", "l2"])
    assert {run.method for run in found} == {L2(), *map(MDN, (2, 4, 8, 16, 32))}


def test_what_has_no_method_stays_whichever_are_asked_for():
    runs = experiment("targets").runs
    assert selected(runs, methods=["l2"], seeds=[1]) == runs


def test_seeds_are_chosen():
    found = selected(RUNS, seeds=[2, 5])
    assert {run.seed for run in found} == {2, 5}
    assert len(found) == len(RUNS) * 2 / 5


def test_epochs_replace_those_of_networks_alone():
    before = selected(RUNS, datasets=["pole"])
    found = selected(RUNS, datasets=["pole"], epochs=7)
    assert len(found) == len(before)
    for run, usual in zip(found, before, strict=True):
        if isinstance(run.method, LinearRegression):
            assert run == usual
        else:
            assert run.epochs == 7
            assert run.key != usual.key
            assert run.moved_to("pole") == run


def test_the_protocols_own_epochs_are_no_change():
    assert selected(RUNS, datasets=["pole"], epochs=500) == selected(
        RUNS, datasets=["pole"]
    )


def test_other_epochs_go_along_to_another_data_set():
    run = TabularRun.of("ct", L2(), 1, epochs=7)
    assert run.moved_to("pole") == TabularRun.of("pole", L2(), 1, epochs=7)


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"datasets": ["pole", "poles"]}, "--datasets must be one of .*'poles'"),
        ({"methods": ["HL-gauss"]}, "--methods must be one of .*'HL-gauss'"),
        ({"epochs": 0}, "--epochs must be a whole number of at least 1"),
        ({"epochs": 1.5}, "--epochs must be a whole number of at least 1"),
    ],
    ids=["datasets", "methods", "no epochs", "half an epoch"],
)
def test_what_is_not_there_is_refused(asked, message):
    with pytest.raises(ValueError, match=message):
        selected(RUNS, **asked)


def test_forecasters_are_chosen_by_their_bodies():
    chosen = selected(EXPERIMENTS["forecasts"].runs, models=["GRU"], datasets=["ETTh1"])
    forecasts = [run for run in chosen if isinstance(run, ForecastRun)]
    assert {run.architecture for run in forecasts} == {"GRU"}
    assert len(forecasts) == 2 * 5
    assert len(chosen) == 11  # and what learns nothing


def test_values_are_of_every_fourth_game_with_reward_by_the_preset_of_the_paper():
    runs = experiment("values").runs
    games = list(dict.fromkeys(run.dataset for run in runs))
    assert games == [
        "AirRaid",
        "Asteroids",
        "BeamRider",
        "Breakout",
        "CrazyClimber",
        "FishingDerby",
        "Gravitar",
        "JourneyEscape",
        "MsPacman",
        "Pooyan",
        "RoadRunner",
        "Solaris",
        "Tutankham",
        "YarsRevenge",
    ]
    assert len(runs) == 14 * 2 * 2
    (histogram,) = {run.method for run in runs} - {L2()}
    bins = histogram.bins(0.0, 1.0)
    assert bins.n_bins == 100 and histogram.sigma_in_bins == 2
    assert (bins.low, bins.high) == pytest.approx((-8 / 84, 1 + 8 / 84))
    assert {(run.learning_rate, run.epochs, run.batch_size) for run in runs} == {
        (1e-4, 1, 32)
    }
    assert {run.target for run in runs} == {"arrival"}


def test_values_by_the_textbook_are_the_same_with_another_target():
    runs = experiment("values-textbook").runs
    assert {run.target for run in runs} == {"textbook"}
    usual = tuple(replace(run, target="arrival") for run in runs)
    assert usual == experiment("values").runs


@pytest.mark.parametrize("name", ["values", "values-textbook"])
def test_runs_on_games_are_selected_by_name_also_on_games_of_ones_own_choice(name):
    runs = experiment(name).runs
    chosen = selected(runs, datasets=["Pooyan", "Pong"], seeds=[2])
    assert {run.dataset for run in chosen} == {"Pooyan", "Pong"}
    assert len(chosen) == 4
    assert {run.target for run in chosen} == {runs[0].target}
