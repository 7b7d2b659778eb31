import json
import re
from importlib.metadata import version

from histreg.study.environment import environment


def test_the_environment_names_versions_and_commit_and_is_json():
    told = environment()
    assert told["torch"] == version("torch")
    assert told["commit"] is None or re.match(r"[0-9a-f]{12}(-dirty)?$", told["commit"])
    assert json.loads(json.dumps(told)) == told


def test_the_environment_names_no_person_and_no_path():
    assert not any("/" in str(value) for value in environment().values())
