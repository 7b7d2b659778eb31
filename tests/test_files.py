"""Files and folders that are whole or absent."""

import errno
import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest

from histreg._files import TEMPORARY, atomic_folder, atomic_write, locked
from histreg.errors import WriteError


def test_a_block_that_ends_well_leaves_its_file(tmp_path):
    path = tmp_path / "a.csv"
    with atomic_write(path) as partial:
        assert partial.suffix == ".csv" and partial != path
        partial.write_text("all of it")
        assert not path.exists()
    assert path.read_text() == "all of it"
    assert list(tmp_path.iterdir()) == [path]


def test_a_block_that_fails_leaves_the_old_file_alone(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("old")
    with pytest.raises(KeyboardInterrupt), atomic_write(path) as partial:
        partial.write_text("half of")
        raise KeyboardInterrupt
    assert path.read_text() == "old" and list(tmp_path.iterdir()) == [path]


def test_a_missing_folder_is_told_in_one_sentence(tmp_path):
    with (
        pytest.raises(ValueError, match="there is no folder"),
        atomic_write(tmp_path / "no" / "a.csv"),
    ):
        pass


def never(_):
    return False


@pytest.mark.parametrize("is_there", [False, True])
def test_a_new_or_empty_folder_is_written(tmp_path, is_there):
    path = tmp_path / "site"
    if is_there:
        path.mkdir()
    with atomic_folder(path, may_replace=never) as partial:
        (partial / "a").write_text("all of it")
        assert not (path / "a").exists()
    assert (path / "a").read_text() == "all of it"
    assert list(tmp_path.iterdir()) == [path]


def test_a_folder_of_ours_is_replaced_as_a_whole(tmp_path):
    path = tmp_path / "site"
    path.mkdir()
    (path / "old").touch()
    with atomic_folder(
        path, may_replace=lambda each: (each / "old").exists()
    ) as partial:
        (partial / "new").touch()
    assert [each.name for each in path.iterdir()] == ["new"]
    assert list(tmp_path.iterdir()) == [path]


def test_a_folder_of_others_is_refused_before_the_block(tmp_path):
    (tmp_path / "thesis").touch()
    with (
        pytest.raises(
            ValueError, match="contains files that this command did not write"
        ),
        atomic_folder(tmp_path, may_replace=never),
    ):
        raise AssertionError
    assert [each.name for each in tmp_path.iterdir()] == ["thesis"]


def test_a_block_that_fails_leaves_the_old_folder_alone(tmp_path):
    path = tmp_path / "site"
    path.mkdir()
    (path / "old").touch()
    with (
        pytest.raises(KeyboardInterrupt),
        atomic_folder(path, may_replace=lambda _: True) as partial,
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
        atomic_folder(tmp_path / name, may_replace=never),
    ):
        raise AssertionError


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EACCES, errno.EROFS])
def test_a_file_that_cannot_be_written_is_told_in_one_sentence(tmp_path, code):
    with (
        pytest.raises(WriteError, match=r"a\.csv cannot be written: ") as told,
        atomic_write(tmp_path / "a.csv"),
    ):
        raise OSError(code, os.strerror(code))
    assert told.value.errno == code


def test_other_errors_of_a_block_stay_what_they_are(tmp_path):
    with pytest.raises(ConnectionError), atomic_write(tmp_path / "a.csv"):
        raise ConnectionRefusedError(errno.ECONNREFUSED, "refused")


def killed(code: str, path) -> None:
    """Run code in a process that kills itself."""
    code = f"import os, signal, sys\nfrom pathlib import Path\n{code}"
    run = subprocess.run([sys.executable, "-c", code, path], check=False)
    assert run.returncode == -signal.SIGKILL


KILLED_IN_FILE = """
from histreg._files import atomic_write
with atomic_write(Path(sys.argv[1])) as partial:
    partial.write_text("half of")
    os.kill(os.getpid(), signal.SIGKILL)
"""
KILLED_IN_FOLDER = """
from histreg._files import atomic_folder
with atomic_folder(Path(sys.argv[1]), may_replace=lambda _: True) as partial:
    (partial / "new").touch()
    os.kill(os.getpid(), signal.SIGKILL)
"""
KILLED_BETWEEN_RENAMES = """
from histreg._files import atomic_folder
rename = Path.rename
def last_rename(self, target):
    rename(self, target)
    os.kill(os.getpid(), signal.SIGKILL)
Path.rename = last_rename
with atomic_folder(Path(sys.argv[1]), may_replace=lambda _: True) as partial:
    (partial / "new").touch()
"""


def test_what_a_killed_process_left_is_removed_by_the_next_writer(tmp_path):
    killed(KILLED_IN_FILE, tmp_path / "a.csv")
    (left,) = tmp_path.iterdir()
    assert TEMPORARY.fullmatch(left.name) and left.read_text() == "half of"
    with atomic_write(tmp_path / "b.csv") as partial:
        partial.write_text("all of it")
    assert [path.name for path in tmp_path.iterdir()] == ["b.csv"]


def test_a_folder_that_a_killed_process_left_is_removed_too(tmp_path):
    path = tmp_path / "site"
    path.mkdir()
    (path / "old").touch()
    killed(KILLED_IN_FOLDER, path)
    assert len(list(tmp_path.iterdir())) == 2
    with atomic_write(tmp_path / "b.csv") as partial:
        partial.write_text("all of it")
    assert sorted(each.name for each in tmp_path.iterdir()) == ["b.csv", "site"]
    assert (path / "old").exists()


def test_a_kill_between_the_renames_does_not_lose_the_old_folder(tmp_path):
    path = tmp_path / "site"
    path.mkdir()
    (path / "old").touch()
    killed(KILLED_BETWEEN_RENAMES, path)
    assert not path.exists()
    seen = []
    with atomic_folder(path, may_replace=lambda each: not seen.append(each)) as partial:
        assert [each.name for each in path.iterdir()] == ["old"]
        (partial / "newer").touch()
    assert seen == [path]  # it was there, and asked about
    assert [each.name for each in path.iterdir()] == ["newer"]
    assert list(tmp_path.iterdir()) == [path]


def test_a_rename_that_fails_does_not_lose_the_old_folder(tmp_path):
    path = tmp_path / "site"
    path.mkdir()
    (path / "old").touch()
    with (
        pytest.raises(FileNotFoundError),
        atomic_folder(path, may_replace=lambda _: True) as partial,
    ):
        partial.rmdir()  # nothing is left to take the place
    assert [each.name for each in path.iterdir()] == ["old"]
    assert list(tmp_path.iterdir()) == [path]


def test_what_may_still_be_written_is_left_alone(tmp_path):
    """By this process, by one of another machine, or by another program."""
    path = tmp_path / "a.csv"
    with atomic_write(path) as partial:
        partial.write_text("half of")
        mine = partial.name
        dead = subprocess.Popen([sys.executable, "-c", ""])
        dead.wait()
        machine = mine[1:9]
        elsewhere = mine.replace(machine, "0" * 8).replace(
            f"-{os.getpid()}-", f"-{dead.pid}-"
        )
        others = [elsewhere, f".{dead.pid}.partial.a.csv", ".partial.a.csv", ".a"]
        for name in others:
            (tmp_path / name).touch()
        with atomic_write(tmp_path / "b.csv") as other:
            other.touch()
        assert sorted(each.name for each in tmp_path.iterdir()) == sorted(
            [mine, "b.csv", *others]
        )
    assert path.read_text() == "half of"


def test_threads_that_write_one_file_do_not_meet(tmp_path):
    path = tmp_path / "a.txt"
    together = Barrier(4)

    def write(letter: str) -> None:
        for _ in range(20):
            with atomic_write(path) as partial:
                partial.write_text(letter * 1000)
                together.wait(timeout=60)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(write, "abcd"))
    assert path.read_text() in {letter * 1000 for letter in "abcd"}
    assert list(tmp_path.iterdir()) == [path]


def test_threads_that_replace_one_folder_do_not_meet(tmp_path):
    path = tmp_path / "site"
    together = Barrier(3)

    def write(letter: str) -> None:
        for _ in range(10):
            with atomic_folder(path, may_replace=lambda _: True) as partial:
                (partial / letter).touch()
                together.wait(timeout=60)

    with ThreadPoolExecutor(3) as pool:
        list(pool.map(write, "abc"))
    assert [each.name for each in path.iterdir()] in (["a"], ["b"], ["c"])
    assert list(tmp_path.iterdir()) == [path]


def test_one_holds_a_lock_at_a_time_or_all_share_it(tmp_path):
    holders, most = [], []

    def hold(_: int) -> None:
        for _ in range(100):
            with locked(tmp_path):
                holders.append(1)
                most.append(len(holders))
                holders.pop()

    with ThreadPoolExecutor(3) as pool:
        list(pool.map(hold, range(3)))
    assert set(most) == {1}
    together = Barrier(2)

    def share(_: int) -> None:
        with locked(tmp_path, shared=True):
            together.wait(timeout=60)  # which only both at once can pass

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(share, range(2)))


def test_a_process_that_was_forked_does_not_keep_a_lock(tmp_path):
    """It has a copy of what holds the lock, as long as it lives."""
    with locked(tmp_path):
        start, end = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(end)
            os.read(start, 1)  # until the other end is closed
            os._exit(0)
        os.close(start)
    with locked(tmp_path):
        os.close(end)
    assert os.waitpid(child, 0)[1] == 0
