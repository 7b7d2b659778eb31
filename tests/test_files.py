"""Files that are whole or absent."""

import pytest

from histreg.files import whole


def test_a_block_that_ends_well_leaves_its_file(tmp_path):
    path = tmp_path / "a.csv"
    with whole(path) as partial:
        assert partial.suffix == ".csv" and partial != path
        partial.write_text("all of it")
        assert not path.exists()
    assert path.read_text() == "all of it"
    assert list(tmp_path.iterdir()) == [path]


def test_a_block_that_fails_leaves_the_old_file_alone(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("old")
    with pytest.raises(KeyboardInterrupt), whole(path) as partial:
        partial.write_text("half of")
        raise KeyboardInterrupt
    assert path.read_text() == "old" and list(tmp_path.iterdir()) == [path]


def test_a_missing_folder_is_told_in_one_sentence(tmp_path):
    with (
        pytest.raises(ValueError, match="there is no folder"),
        whole(tmp_path / "no" / "a.csv"),
    ):
        pass
