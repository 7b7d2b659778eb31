"""The command that draws figures."""

import pytest

from tests.cli.study.running import assert_refused


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["figure", "bound", "--out", "no/a.png"], "there is no folder no"),
        (["figure", "overall", "--out", "a.txt"], "--out must be named .png, .svg or"),
        (["figure", "bound", "--out", "a.png"], "must have records, got none yet"),
    ],
    ids=lambda part: " ".join(part) if isinstance(part, list) else None,
)
def test_bad_input_is_refused_in_one_sentence(arguments, sentence, place):
    assert_refused(place, arguments, sentence)
