"""Tables of the values of games, of records made by hand."""

import pytest

from histreg.report.experiment_tables import tables_of
from histreg.study.analysis.paper import published_log_ratios
from histreg.study.catalogue import EXPERIMENTS, VALUE_GAMES, VALUE_HL, selected
from histreg.study.methods import L2
from tests.report.examples import RECORDS, values
from tests.report.reading import rows
from tests.study.made_up import value_records


def both(records, name="values", **options):
    """Return the table of games, and that over games."""
    games, over = tables_of(name, records, **options)
    return games, over


def test_a_replay_tells_how_it_kept_step_and_what_there_is_to_learn_from():
    (table,) = tables_of("replays", RECORDS["replays"])
    found = rows(table)
    assert found["Alien"] == (
        *("1,000", "2 of 2", "1", "1,234.5", "6.25 %", "-1.5", "1234", "2e+04"),
        *("1 of 3", "300", "600"),
    )
    # Without an episode that was played to its end there is no score.
    assert found["Pong"][3] == ""


def test_a_game_has_both_losses_their_ratios_and_what_learns_nothing():
    games, _ = both(RECORDS["values"])
    assert games.title == "Values of games"
    assert games.header == (
        *("game", "l2 MAE", "HL-Gauss MAE", "log ratio", "paper", "median MAE"),
        *("l2 RMSE", "HL-Gauss RMSE", "log ratio", "mean RMSE", "test states"),
    )
    # Errors 0.02 and 0.04 against 0.01 and 0.02: both halved. RMSE is twice as much.
    assert rows(games)["Breakout"] == (
        *("0.03000", "0.01500", "-0.693", "-0.502", "0.25000"),
        *("0.06000", "0.03000", "-0.693", "0.50000", "12,345"),
    )
    # Halved and doubled: no difference in the mean of the logs, one in the errors.
    assert rows(games)["Gravitar"][:4] == ("0.01000", "0.01250", "+0.000", "-0.043")


def test_over_games_there_are_the_tests_of_both_errors():
    _, over = both(RECORDS["values"])
    found = rows(over)
    # Logs of 1/2, 1 and 1/4: the mean is log 1/2, the error log 2 / sqrt 3, t is
    # -sqrt 3, of which 2 degrees of freedom are below with probability 0.1127.
    assert found["games"][:2] == ("3", "3")
    assert found["HL-Gauss lower in"][0] == "2"
    assert found["mean log ratio"][0] == "-0.693"
    assert found["t"][0] == "-1.73"
    assert found["p of t, one-sided"][0] == "0.11"
    assert found["p of t, two-sided"][0] == "0.23"
    assert found["geometric mean of ratios"][0] == "0.500"
    assert found["median ratio"][0] == "0.500"
    # Of two that are not alike both are lower: 2 of 4 ways.
    assert found["p of signs, exact, two-sided"][0] == "0.5"
    # (0.03 * 0.015 + 0.01 * 0.0125 + 0.06 * 0.015) / (0.03² + 0.01² + 0.06²)
    assert found["slope through the origin"][0].startswith("0.321 ± ")


def test_the_papers_games_are_beside_ours_all_and_the_same():
    errors = {game: ([0.2, 0.2], [0.1, 0.1]) for game in VALUE_GAMES}
    _, over = both(values(errors))
    assert over.header[1:] == ("test MAE", "test RMSE", "paper, MAE", "of these games")
    found = rows(over)
    assert found["games"] == ("14", "14", "55", "14")
    assert found["HL-Gauss lower in"] == ("14", "14", "52", "13")
    assert found["mean log ratio"][2] == "-0.394"
    assert found["95 % interval"][2] == "-0.548 to -0.239"
    assert found["its 95 % interval"][2] == "0.578 to 0.787"
    same = [published_log_ratios()[game] for game in VALUE_GAMES]
    assert found["mean log ratio"][3] == f"{sum(same) / 14:+.3f}"
    # -0.238 beside -0.394, whose 55 vary by 0.571: of 14 without replacement 0.132.
    assert any("these 14 have a mean log ratio +1.2 standard" in n for n in over.notes)


def test_how_many_games_and_frames_there_are_is_told_in_both_tables():
    for table in both(RECORDS["values"]):
        (size,) = [note for note in table.notes if note.startswith("Size: ")]
        assert size == (
            "Size: 3 of the paper's 55 games, the first 250,000 frames of each, where "
            "the paper has 10,000,000 or more."
        )
    _, over = both(RECORDS["values"])
    of_paper = "10,000,000 or more"
    assert rows(over)["frames of each game"] == (*["250,000"] * 2, of_paper, of_paper)


def test_the_text_and_the_size_of_the_paper_have_its_numbers_beside_them():
    games, _ = both(RECORDS["values-by-text"], "values-by-text")
    assert "paper" in games.header
    longer = values({"Pong": ([0.2], [0.1])}, n_frames=10_000_000)
    games, over = both(longer)
    assert rows(games)["Pong, frames 10,000,000"][3] == "-1.048"
    assert rows(over)["frames of each game"][0] == "10,000,000"


def test_few_frames_and_many_are_rows_of_their_own():
    pong = {"Pong": ([0.2], [0.1])}
    games, over = both([*values(pong), *values(pong, n_frames=10_000_000)])
    assert list(rows(games)) == ["Pong", "Pong, frames 10,000,000"]
    assert "the first 250,000 or 10,000,000 frames" in " ".join(over.notes)


def test_the_other_target_has_nothing_of_the_paper_beside_it():
    games, over = both(RECORDS["values-textbook"], "values-textbook")
    assert "paper" not in games.header
    assert rows(games)["Breakout, textbook target"][:2] == ("0.03000", "0.01500")
    assert over.header[1:] == ("test MAE", "test RMSE")
    notes = (*games.notes, *over.notes)
    assert not any("paper" in n for n in notes if not n.startswith("Size: "))


def test_a_game_that_the_paper_does_not_have_has_no_number_of_it():
    games, over = both(values({"Tennis": ([0.2], [0.1]), "Pong": ([0.2], [0.1])}))
    assert rows(games)["Tennis"][3] == "" and rows(games)["Pong"][3] == "-1.048"
    assert rows(over)["games"] == ("2", "2", "55", "1")


def test_one_game_has_a_ratio_and_no_test():
    _, over = both(values({"Pong": ([0.2], [0.1])}))
    found = {name: cells[0] for name, cells in rows(over).items()}
    assert found["geometric mean of ratios"] == "0.500"
    assert found["slope through the origin"] == "0.500"
    for name in ("95 % interval", "t", "p of t, one-sided", "its 95 % interval"):
        assert found[name] == ""


def test_seeds_that_are_missing_or_diverged_are_told():
    records = [
        *values({"Pong": ([0.2, 0.2], [0.1, 0.1]), "Alien": ([0.2], [0.1, 0.1])}),
        *value_records("Hero", L2(), [0.2, 0.2], diverged=[2]),
        *value_records("Hero", VALUE_HL, [0.1, 0.1]),
    ]
    games, _ = both(records)
    assert list(rows(games)) == [
        "Pong",
        "Alien, 1 seed",
        "Hero, l2 1 diverged, 1 seed",
    ]
    assert "means over 1 to 2 seeds" in games.notes[0]


def test_games_of_one_loss_are_named_below():
    records = [*RECORDS["values"], *value_records("Alien", L2(), [0.1])]
    games, _ = both(records)
    assert "Alien" not in rows(games)
    assert "Without a finite seed of both losses on one file: Alien." in games.notes
    (alone,) = tables_of("values", value_records("Alien", L2(), [0.1]))
    assert alone.rows == []
    assert "Without a finite seed of both losses on one file: Alien." in alone.notes


@pytest.mark.parametrize("form", ["text", "markdown", "latex"])
def test_both_tables_can_be_shown(form):
    for table in both(RECORDS["values"]):
        assert table.title in table.shown(form)


def test_what_is_not_finished_is_told_below():
    runs = selected(EXPERIMENTS["values"].runs, datasets=["Breakout", "Gravitar"])
    for table in both(values({"Breakout": ([0.2], [0.1])}), runs=runs):
        assert table.notes[-1] == "Not finished: 6 of 8 runs (HL-Gauss 3, l2 3)."
