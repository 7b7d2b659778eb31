"""Files and folders that are whole or absent."""

import errno
import os

import pytest

from histreg.errors import WriteError
from histreg.files import whole, whole_folder


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


def nobody(_):
    return False


@pytest.mark.parametrize("is_there", [False, True])
def test_a_new_or_empty_folder_is_written(tmp_path, is_there):
    path = tmp_path / "site"
    if is_there:
        path.mkdir()
    with whole_folder(path, is_ours=nobody) as partial:
        (partial / "a").write_text("all of it")
        assert not (path / "a").exists()
    assert (path / "a").read_text() == "all of it"
    assert list(tmp_path.iterdir()) == [path]


def test_a_folder_of_ours_is_replaced_as_a_whole(tmp_path):
    path = tmp_path / "site"
    path.mkdir()
    (path / "old").touch()
    with whole_folder(path, is_ours=lambda each: (each / "old").exists()) as partial:
        (partial / "new").touch()
    assert [each.name for each in path.iterdir()] == ["new"]
    assert list(tmp_path.iterdir()) == [path]


def test_a_folder_of_others_is_refused_before_the_block(tmp_path):
    (tmp_path / "thesis").touch()
    with (
        pytest.raises(ValueError, match="has files that are not of this command"),
        whole_folder(tmp_path, is_ours=nobody),
    ):
        raise AssertionError
    assert [each.name for each in tmp_path.iterdir()] == ["thesis"]


def test_a_block_that_fails_leaves_the_old_folder_alone(tmp_path):
    path = tmp_path / "site"
    path.mkdir()
    (path / "old").touch()
    with (
        pytest.raises(KeyboardInterrupt),
        whole_folder(path, is_ours=lambda _: True) as partial,
    ):
        (partial / "new").touch()
        raise KeyboardInterrupt
    assert [each.name for each in path.iterdir()] == ["old"]
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(
    ("name", "sentence"), [("file", "must be a folder"), ("no/site", "no folder")]
)
def test_what_cannot_become_a_folder_is_told(tmp_path, name, sentence):
    (tmp_path / "file").touch()
    with (
        pytest.raises(ValueError, match=sentence),
        whole_folder(tmp_path / name, is_ours=nobody),
    ):
        raise AssertionError


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EACCES, errno.EROFS])
def test_a_file_that_cannot_be_written_is_told_in_one_sentence(tmp_path, code):
    with (
        pytest.raises(WriteError, match=r"a\.csv cannot be written: ") as told,
        whole(tmp_path / "a.csv"),
    ):
        raise OSError(code, os.strerror(code))
    assert told.value.errno == code


def test_other_errors_of_a_block_stay_what_they_are(tmp_path):
    with pytest.raises(ConnectionError), whole(tmp_path / "a.csv"):
        raise ConnectionRefusedError(errno.ECONNREFUSED, "refused")
