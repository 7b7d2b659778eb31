"""The command that writes records into one file."""

import pytest

from tests.cli.study.running import assert_refused


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["collect", "bound", "--out", "file"], "--out must be a folder, got file"),
        (["collect", "bound", "--out", "x" * 300], "File name too long"),
    ],
    ids=lambda part: " ".join(part) if isinstance(part, list) else None,
)
def test_bad_input_is_refused_in_one_sentence(arguments, sentence, place):
    assert_refused(place, arguments, sentence)
