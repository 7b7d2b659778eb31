import json
import os
import re
import shutil
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

import histreg
from histreg.study.engine.environment import environment

COMMIT = "4922fa4d0c1b2a39485766554433221100ffeedd"
CHECKOUT = "file:///home/somebody/histreg"


def test_the_environment_names_versions_and_commit_and_is_json():
    told = environment()
    assert told["torch"] == version("torch")
    assert told["scikit-learn"] == version("scikit-learn")
    assert told["commit"] is None or re.match(r"[0-9a-f]{12}(-dirty)?$", told["commit"])
    assert json.loads(json.dumps(told)) == told


def test_the_environment_names_no_person_and_no_path():
    assert not any("/" in str(value) for value in environment().values())


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """Return a folder with the package in it, as a non-editable installation has it."""
    folder = tmp_path_factory.mktemp("lib") / "python3" / "site-packages"
    here = Path(histreg.__file__).parent
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(here, folder / "histreg", ignore=ignored)
    return folder


def describe(folder, origin):
    """Write the metadata of an installation into a folder."""
    metadata = folder / "histreg-1.2.3.dist-info"
    shutil.rmtree(metadata, ignore_errors=True)
    metadata.mkdir(parents=True)
    (metadata / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: histreg\nVersion: 1.2.3\n"
    )
    if origin is not None:
        (metadata / "direct_url.json").write_text(json.dumps(origin))


def environment_with(*folders):
    """Return what a process says that finds packages in these folders first."""
    code = (
        "import json; from histreg.study.engine.environment import environment; "
        "print(json.dumps(environment()))"
    )
    path = os.pathsep.join(map(str, folders))
    result = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": path},
        cwd=folders[0],
    )
    return json.loads(result.stdout)


# What PEP 610 has pip write: for a repository, its commit; for a folder and for a
# package index none.
@pytest.mark.parametrize(
    ("origin", "commit"),
    [
        (
            {
                "url": CHECKOUT,
                "vcs_info": {
                    "vcs": "git",
                    "commit_id": COMMIT,
                    "requested_revision": "main",
                },
            },
            COMMIT[:12],
        ),
        ({"url": CHECKOUT, "dir_info": {}}, None),
        (None, None),
    ],
)
def test_an_installed_package_names_the_commit_it_was_installed_from(
    site, origin, commit
):
    describe(site, origin)
    told = environment_with(site)
    assert (told["histreg"], told["commit"]) == ("1.2.3", commit)


def test_the_commit_of_another_installation_is_not_that_of_this_code(site, tmp_path):
    vcs_info = {"vcs": "git", "commit_id": COMMIT}
    describe(tmp_path, {"url": CHECKOUT, "vcs_info": vcs_info})  # metadata alone
    shutil.rmtree(site / "histreg-1.2.3.dist-info", ignore_errors=True)
    assert environment_with(site, tmp_path)["commit"] is None


def test_a_checkout_names_its_own_commit_whatever_was_installed(tmp_path):
    root = tmp_path / "checkout"
    shutil.copytree(
        Path(histreg.__file__).parent,
        root / "src" / "histreg",
        ignore=shutil.ignore_patterns("__pycache__"),
    )
    vcs_info = {"vcs": "git", "commit_id": COMMIT}
    describe(root / "src", {"url": CHECKOUT, "vcs_info": vcs_info})
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b", "-C", str(root)]
    for command in (["init", "-q"], ["add", "src"], ["commit", "-qm", "all"]):
        subprocess.run([*git, *command], check=True)
    head = subprocess.run(
        [*git, "rev-parse", "--short=12", "HEAD"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.strip()
    assert environment_with(root / "src")["commit"] == head
