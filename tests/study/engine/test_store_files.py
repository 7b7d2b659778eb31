"""Files of a store: what damage and a full disk lead to."""

import errno

import pytest

from histreg.errors import WriteError
from histreg.study.engine.runs import DamagedError
from histreg.study.engine.store_files import (
    DiskFullError,
    parsed,
    reason,
    set_aside,
    writing_to,
)


@pytest.mark.parametrize("text", ["", "{", b"\xff", "1" * 5000, "[" * 100_000])
def test_what_is_no_json_is_damaged(text):
    with pytest.raises(DamagedError, match="it is no JSON"):
        parsed(text)


def test_json_is_parsed():
    assert parsed(b'{"a": [1, null]}') == {"a": [1, None]}


def test_a_reason_is_one_line_and_never_empty():
    assert reason(ValueError("two\n  lines")) == "two lines"
    assert reason(KeyError()) == "KeyError"


def test_files_that_are_set_aside_keep_all_their_contents(tmp_path):
    path = tmp_path / "a.json"
    for text in ("first", "second"):
        path.write_text(text)
        set_aside(path)
    set_aside(path)  # it is gone already
    contents = {each.name: each.read_text() for each in tmp_path.iterdir()}
    assert contents == {"a.json.damaged": "first", "a.json.damaged2": "second"}


@pytest.mark.parametrize(
    ("number", "expected"),
    [
        (errno.ENOSPC, DiskFullError),
        (errno.EDQUOT, DiskFullError),
        (errno.EACCES, WriteError),
        (errno.EROFS, WriteError),
    ],
)
def test_a_place_that_cannot_be_written_is_named_by_its_kind(
    number, expected, tmp_path
):
    with pytest.raises(expected), writing_to(tmp_path / "a"):
        raise OSError(number, "why")


def test_other_errors_pass(tmp_path):
    with pytest.raises(InterruptedError), writing_to(tmp_path / "a"):
        raise InterruptedError(errno.EINTR, "why")
