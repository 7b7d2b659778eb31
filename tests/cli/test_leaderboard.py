"""A leaderboard is printed, or written as JSON."""

import json
import math
from dataclasses import replace

from histreg.cli.leaderboard import leaderboard_as_json, print_leaderboard
from histreg.tabular.comparison import Leaderboard, Standing
from histreg.tabular.scores import Scores
from histreg.tabular.verdict import Estimate, Verdict

SCORES = Scores(2.0, 3.0, 2.0, 1.5, 0.9, math.inf, r2=0.5, skill=0.25)
VERDICT = Verdict(Estimate(0.25, 0.2, 0.3), Estimate(0.5, 0.4, 0.6))
BOARD = Leaderboard(
    (Standing("[b]est", SCORES, VERDICT, 61.0, 0.25),), 300, VERDICT, "[b]est"
)


def test_all_columns_are_printed_on_a_wide_terminal(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "140")
    print_leaderboard(BOARD, "price [€]")
    verdict, title, header, row, *_ = capsys.readouterr().out.splitlines()
    assert verdict == f"[b]est: {VERDICT}"
    assert str(VERDICT) == (
        "Better than a constant (skill 25 %, 95 % interval 20 to 30)."
    )
    assert title.strip() == "300 rows, each tested once, in units of price [€]"
    assert header.split() == [
        *("skill", "(95", "%)", "CRPS", "MAE", "RMSE", "R²"),
        *("R²", "(95", "%)", "covers", "width", "fit", "predict"),
    ]
    expected = (
        "[b]est 25.0 % 20 to 30 1.5 2 3 0.500 0.400 to 0.600 90.0 % inf 61 s 0.25 s"
    )
    assert " ".join(row.split()) == expected


def test_models_with_a_distribution_of_their_own_are_named(capsys):
    own = replace(BOARD.standings[0], distribution="own")
    print_leaderboard(replace(BOARD, standings=(own, *BOARD.standings)), "y")
    assert "Models with a distribution of their own: [b]est." in capsys.readouterr().out
    print_leaderboard(BOARD, "y")
    assert "Models with a distribution of their own: none." in capsys.readouterr().out


def test_json_has_every_number():
    document = leaderboard_as_json(BOARD)
    assert document["verdict"] == str(VERDICT) and document["n_rows"] == 300
    [model] = document["models"]
    assert model["name"] == "[b]est" and model["fit_s"] == 61.0
    assert model["scores"]["r2"] == 0.5
    assert model["verdict"]["skill"] == {"value": 0.25, "low": 0.2, "high": 0.3}
    json.dumps(model["verdict"])
