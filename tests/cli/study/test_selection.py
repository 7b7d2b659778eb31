"""Selection: which runs are meant by the options that commands share."""

import pytest

from tests.cli.study.running import assert_refused, study


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["run", "nothing"], "experiment must be one of 'sines', "),
        (["run", "overall", "--datasets", "iris"], "--datasets must be one of 'ct',"),
        (
            ["run", "forecasts", "--datasets", "etth1"],
            "--datasets must be one of 'ct',",
        ),
        (["run", "forecasts", "--datasets", "pole"], "has the dataset pole"),
        (["run", "overall", "--models", "GRU"], "--models applies only to forecasts"),
        (["run", "forecasts", "--models", "MLP"], "--models must be one of 'Linear',"),
        (["run", "overall", "--datasets", "ETTh1"], "has the dataset ETTh1"),
        (["run", "overall", "--datasets", "Pong"], "has the dataset Pong"),
        (["run", "values", "--datasets", "pole"], "has the dataset pole"),
        (["run", "values", "--datasets", "pong"], "--datasets must be one of 'ct',"),
        (["run", "values", "--models", "GRU"], "--models applies only to forecasts"),
        (["run", "overall", "--methods", "l3"], "--methods must be one of "),
        (
            ["run", "overall", "bins", "--methods", "MDN (n_components=5)"],
            "no run of overall, bins has the method MDN (n_components=5)",
        ),
        (["run", "overall", "--methods", "MD (n=5)"], "--methods must be one of "),
        (["run", "overall", "--seeds", "one"], "--seeds must be numbers such as 1,2"),
        (["run", "overall", "--seeds", "9"], "no run of overall has the seed 9"),
        (["run", "overall", "--seeds", "5-1"], "--seeds must be numbers such as 1,2"),
        (["run", "overall", "--seeds", "1-999999999"], "has the seed 6"),
        (["run", "overall", "--seeds", "7-999999999"], "has the seed 7"),
        (["run", "overall", "--seeds", "9" * 5000], "--seeds must be numbers such as"),
        (["run", "overall", "--seeds", "²"], "--seeds must be numbers such as 1,2"),
        (["run", "overall", "--seeds", "-1"], "--seeds must be numbers such as 1,2"),
        (["run", "overall", "--seeds", "1--1"], "--seeds must be numbers such as 1,2"),
        (["run", "overall", "--seeds", "1-"], "--seeds must be numbers such as 1,2"),
        (["run", "overall", "--datasets", ""], "--datasets must not be empty"),
        (["run", "projected", "--methods", "l2,HL-Gauss"], "has the method l2"),
        (
            ["run", "sines", "--epochs", "5"],
            "--epochs applies only to networks trained in epochs",
        ),
        (["run", "overall", "--epochs", "0"], "--epochs must be a whole number"),
        (["run", "sines", "--rate", "0.1"], "--rate applies only to networks trained"),
        (["run", "overall", "--frames", "9"], "--frames applies only to values of"),
        (["run", "replays", "--frames", "9"], "--frames applies only to values of"),
        (["run", "values", "--frames", "0"], "--frames must be a whole number"),
        (["run", "values", "--rate", "-1"], "--rate must be finite and positive"),
    ],
    ids=lambda part: " ".join(part) if isinstance(part, list) else None,
)
def test_bad_input_is_refused_in_one_sentence(arguments, sentence, place):
    assert_refused(place, arguments, sentence)


@pytest.mark.parametrize(
    ("methods", "n"),
    [
        ("l2+Noise", 25),
        ("l2+Noise (noise_sd=0.001)", 5),
        ("l2+Noise (noise_sd=0.001),MDN (n_components=8),l1", 15),
    ],
)
def test_one_setting_of_a_method_is_selected_as_tables_print_it(methods, n):
    options = ("--datasets", "pole", "--methods", methods, "--dry-run")
    assert f"{n} runs to compute" in study("run", "overall", *options)


def test_a_setting_that_only_one_experiment_has_is_selected_from_both():
    options = ("--datasets", "pole", "--methods", "MDN (n_components=8)", "--dry-run")
    assert "5 runs to compute" in study("run", "overall", "bins", *options)


def test_commas_between_settings_do_not_end_them():
    settings = "HL-OneBin (n_bins=10, padding_in_bins=1),l2"
    options = ("--datasets", "pole", "--methods", settings, "--seeds", "1")
    assert "2 runs to compute" in study("run", "bins", *options, "--dry-run")


def test_tables_series_and_games_are_asked_for_together():
    printed = study(
        *("run", "projected", "forecasts", "values", "--datasets", "pole,ETTh1,Pong"),
        *("--methods", "HL-Gauss", "--seeds", "1", "--dry-run"),
    )
    assert "7 runs to compute" in printed  # Pole, four models and naive, Pong


def test_values_are_planned_at_the_size_of_the_paper():
    printed = study(
        *("run", "values-by-text", "--datasets", "Pong", "--seeds", "1", "--dry-run"),
        *("--frames", "10000000", "--epochs", "3", "--rate", "0.0005"),
    )
    assert "frames 10,000,000, epochs 3, learning rate 0.0005" in " ".join(
        printed.split()
    )
    assert "2 runs to compute" in printed


def test_a_method_may_have_a_comma_in_its_name():
    command = ["run", "shapes", "--datasets", "diabetes", "--seeds", "0", "--dry-run"]
    asked = "uniform bins,auto bins, 4 networks,NGBoost"
    printed = study(*command, "--methods", asked)
    assert "3 runs to compute" in printed and "auto bins, 4 networks" in printed
    assert "1 run to compute" in study(*command, "--methods", "auto bins, 4 networks")
