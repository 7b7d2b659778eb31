"""Laws that hold for every method."""

import json

import pytest

from histreg.study import methods
from tests.study.descriptions import method_of
from tests.study.methods.registry import METHODS

each_method = pytest.mark.parametrize("method", METHODS, ids=lambda m: m.label)


def test_every_method_of_the_study_is_tested():
    trained = {
        name
        for name, each in methods.METHODS.items()
        if issubclass(each, methods.NetworkMethod)
    }
    assert trained == {method.name for method in METHODS}


@each_method
def test_a_method_survives_json(method):
    assert method_of(json.loads(json.dumps(method.to_json()))) == method


@each_method
def test_a_label_tells_settings_apart(method):
    assert method.label.startswith(method.name)
    others = [other.label for other in METHODS if other != method]
    assert method.label not in others
