"""The one rule for what a command writes."""

import os
from pathlib import Path

import pytest

from histreg.cli.outputs import check_output, check_output_folder
from histreg.errors import InputError, WriteError

LINKS = {
    "itself": lambda path: path,
    "a relative path": lambda path: path.parent / "folder" / ".." / path.name,
    "a symbolic link": lambda path: _linked(path, os.symlink),
    "a hard link": lambda path: _linked(path, os.link),
}


def _linked(path, link):
    other = path.with_name("other.csv")
    link(path, other)
    return other


def is_model(folder):
    return (folder / "model.json").exists()


@pytest.mark.parametrize("overwrite", [False, True])
@pytest.mark.parametrize("link", LINKS)
def test_a_file_that_is_read_is_never_written_whatever_it_is_called(
    tmp_path, link, overwrite
):
    (tmp_path / "folder").mkdir()
    path = tmp_path / "table.csv"
    path.write_text("x")
    for out, read in ((LINKS[link](path), path), (path, tmp_path / "other.csv")):
        if read.exists():
            with pytest.raises(InputError, match="must not be a file that this com"):
                check_output("--out", out, overwrite=overwrite, reads=[read])


def test_a_file_that_is_there_is_replaced_only_if_asked_for(tmp_path):
    path = tmp_path / "out.csv"
    check_output("--out", path, overwrite=False)
    path.write_text("x")
    with pytest.raises(InputError, match=r"out\.csv exists already; --overwrite repl"):
        check_output("--out", path, overwrite=False)
    check_output("--out", path, overwrite=True, reads=[tmp_path / "other.csv"])
    assert path.read_text() == "x"


def test_a_link_to_nowhere_is_something_that_is_there(tmp_path):
    link = tmp_path / "link.csv"
    link.symlink_to(tmp_path / "nowhere.csv")
    with pytest.raises(InputError, match="exists already"):
        check_output("--out", link, overwrite=False)


@pytest.mark.parametrize("path", ["/dev/null", "."])
def test_what_is_no_plain_file_is_never_replaced(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match="--out must be a regular file, got "):
        check_output("--out", Path(path), overwrite=True)


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("no/out.csv", "there is no folder"),
        ("file/out.csv", "cannot be written: "),
        ("x" * 250 + ".csv", "File name too long"),
        ("x" * 300, "File name too long"),
    ],
)
def test_a_file_that_cannot_be_written_is_reported_before_any_work(
    tmp_path, name, sentence
):
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match=sentence):
        check_output("--out", tmp_path / name, overwrite=False)
    if name != "no/out.csv":
        with pytest.raises(InputError, match="cannot be written"):
            check_output_folder("--out", tmp_path / name)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_without_permission_is_reported(tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(WriteError, match="Permission denied"):
        check_output("--out", tmp_path / "out.csv", overwrite=False)


@pytest.mark.skipif(not Path("/proc/self").is_dir(), reason="needs Linux")
def test_a_file_system_that_takes_no_files_is_reported():
    with pytest.raises(WriteError, match="/proc/out cannot be written"):
        check_output("--out", Path("/proc/out"), overwrite=False)
    with pytest.raises(WriteError, match="/proc/out cannot be written"):
        check_output_folder("--out", Path("/proc/out"))


def test_checking_leaves_nothing_behind(tmp_path):
    check_output("--out", tmp_path / "out.csv", overwrite=False)
    check_output_folder("--out", tmp_path / "a" / "b")
    assert list(tmp_path.iterdir()) == []


def test_a_folder_with_such_content_is_replaced_only_if_asked_for(tmp_path):
    options = {"content": "a model", "is_there": is_model}
    check_output_folder("--out", tmp_path, overwrite=False, **options)
    (tmp_path / "model.json").touch()
    with pytest.raises(InputError, match="holds a model already; --overwrite replaces"):
        check_output_folder("--out", tmp_path, overwrite=False, **options)
    check_output_folder("--out", tmp_path, overwrite=True, **options)


def test_a_file_is_no_folder(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="--out must be a folder, got file"):
        check_output_folder("--out", tmp_path / "file", overwrite=True)
