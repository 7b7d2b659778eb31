"""One JSON document, whatever the numbers."""

import json
import math

from histreg.cli.json_output import print_json


def test_numbers_that_json_does_not_have_are_null(capsys):
    print_json({"a": [1.5, math.inf, {"b": math.nan}], "c": ("é", None, True)})
    document = json.loads(capsys.readouterr().out)
    assert document == {"a": [1.5, None, {"b": None}], "c": ["é", None, True]}
