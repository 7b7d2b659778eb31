"""The command that lists experiments and data sets."""

import json

from histreg.study.catalogue import EXPERIMENTS
from histreg.study.datasets import FRAMES, GAMES, SERIES, TABLES
from tests.cli.study.running import study
from tests.study.toy_game import written


def test_the_list_has_every_experiment_and_data_set():
    printed = study("list")
    for name in (*EXPERIMENTS, "ct", "song-7000", "bike", "pole", "diabetes", *SERIES):
        assert name in printed
    assert "casual + registered = cnt" in printed


def test_the_list_has_the_games_in_a_paragraph(place):
    printed = " ".join(study("list").split())
    assert "58 of 58 not here (AirRaid, Alien, " in printed
    written(place, b"Raaa", GAMES["Pong"])
    printed = " ".join(study("list", "--data-dir", place).split())
    assert "1 of 58 here (Pong); 57 of 58 not here (AirRaid, " in printed
    assert printed.count("The first episodes are the test") == 1


def test_the_list_is_one_json_document(place):
    written(place, b"Raaa", GAMES["Pong"])
    listed = json.loads(study("list", "--data-dir", place, "--format", "json"))
    runs = {entry["name"]: entry["n_runs"] for entry in listed["experiments"]}
    assert runs == {e.name: len(e.runs) for e in EXPERIMENTS.values()}
    names = [data["name"] for data in listed["data_sets"]]
    assert names == [data.name for data in (TABLES | FRAMES | SERIES).values()]
    (diabetes,) = (d for d in listed["data_sets"] if d["name"] == "diabetes")
    assert diabetes["is_here"] and diabetes["n_rows"] == 442
    assert [game["name"] for game in listed["games"] if game["is_here"]] == ["Pong"]
