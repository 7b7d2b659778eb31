"""Games and the files of their actions."""

import gzip

import numpy as np
import pytest

from histreg.study.datasets import GAMES, SERIES, game, source
from histreg.study.datasets.atari import RESETS
from tests.study.datasets.conftest import DATA

PONG = GAMES["Pong"]


def with_file(folder, content):
    (folder / "atari").mkdir(exist_ok=True)
    (folder / PONG.files[1]).write_bytes(gzip.compress(content))
    return folder


def test_there_are_the_paper_s_games_and_the_three_without_reward():
    assert len(GAMES) == 58
    assert {"Tennis", "Venture", "MontezumaRevenge"} < set(GAMES)
    assert list(GAMES) == sorted(GAMES)


def test_names_are_in_snake_case_for_the_emulator():
    told = {name: game(name).rom for name in ("Pong", "MsPacman", "UpNDown")}
    assert told == {"Pong": "pong", "MsPacman": "ms_pacman", "UpNDown": "up_n_down"}


@pytest.mark.parametrize("name", GAMES)
def test_the_emulator_knows_each_game(name):
    roms = pytest.importorskip("ale_py.roms")
    assert game(name).rom in roms.get_all_rom_ids()


def test_games_are_found_beside_the_other_data():
    assert source("Pong") is PONG
    assert not set(GAMES) & set(SERIES)
    with pytest.raises(ValueError, match="game must be one of 'AirRaid'"):
        game("pong")


def test_letters_are_actions_and_r_is_a_reset(tmp_path):
    actions = PONG.actions(with_file(tmp_path, b"RabfRc"))
    np.testing.assert_array_equal(actions.codes, [RESETS, 0, 1, 5, RESETS, 2])
    assert len(actions) == 6


def test_files_are_told_apart_by_their_content(tmp_path):
    first = PONG.actions(with_file(tmp_path, b"Rab")).sha256
    assert PONG.actions(with_file(tmp_path, b"Rac")).sha256 != first


def test_the_first_frames_are_the_same_of_any_file_that_has_them(tmp_path):
    short = PONG.actions(with_file(tmp_path, b"Rabc\n"), 4)
    cut = PONG.actions(with_file(tmp_path, b"RabcRab"), 4)
    np.testing.assert_array_equal(cut.codes, short.codes)
    assert cut.sha256 == short.sha256
    assert cut.sha256 != PONG.actions(tmp_path).sha256


def test_a_file_with_fewer_frames_than_are_asked_for_is_refused(tmp_path):
    with pytest.raises(ValueError, match=r"of Pong must have 1,000 frames, got 4"):
        PONG.actions(with_file(tmp_path, b"Rabc\n"), 1000)


@pytest.mark.parametrize(
    ("content", "found"),
    [(b"abc", "b'a' at 0"), (b"Rab cd", "b' ' at 3"), (b"RaQ", "b'Q' at 2"), (b"", "")],
)
def test_another_file_is_refused(tmp_path, content, found):
    with pytest.raises(ValueError, match="the file of Pong must begin with R") as told:
        PONG.actions(with_file(tmp_path, content))
    assert found in str(told.value)


def test_a_missing_file_is_told_where_to_put_it(tmp_path):
    with pytest.raises(
        ValueError, match="cannot be downloaded: its source is https://"
    ) as told:
        PONG.actions(tmp_path)
    assert "that has it as atari/PongNoFrameskip-v4.txt" in str(told.value)


@pytest.mark.parametrize("name", ["Alien", "Pong", "Zaxxon"])
def test_real_files_are_as_told(name):
    if not DATA.is_dir() or game(name).find(DATA) is None:
        pytest.skip(f"needs {game(name).files[0]} in the folder of HISTREG_DATA")
    actions = game(name).actions(DATA)
    assert len(actions) >= 250_000
    assert actions.codes.max() < 18
