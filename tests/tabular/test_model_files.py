"""Model files: whole or absent, and refused when damaged."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from threading import Event

import pytest
import torch

from histreg.errors import InputError, WriteError
from histreg.tabular import model_files
from tests import damage

TENSORS = {"a.weight": torch.arange(6.0).view(2, 3), "b": torch.tensor([1], dtype=int)}


@pytest.fixture
def folder(tmp_path):
    path = tmp_path / "model"
    model_files.save(path, {"name": "first"}, TENSORS)
    return path


def weights_in(folder):
    return sorted(folder.glob("weights-*.safetensors"))


def test_what_was_saved_is_loaded(folder):
    described, tensors = model_files.load(folder)
    assert described["name"] == "first"
    assert tensors.keys() == TENSORS.keys()
    for name, tensor in tensors.items():
        assert (
            torch.equal(tensor, TENSORS[name]) and tensor.dtype == TENSORS[name].dtype
        )


def test_saving_again_replaces_the_model_and_leaves_nothing_over(folder):
    model_files.save(folder, {"name": "second"}, {"a": torch.zeros(2)})
    described, tensors = model_files.load(folder)
    assert described["name"] == "second" and list(tensors) == ["a"]
    assert len(list(folder.iterdir())) == 2


@pytest.mark.parametrize("format", [("histreg forecaster", 1), ("histreg model", 1)])
def test_saving_over_another_format_or_version_leaves_nothing_over(format, tmp_path):
    model_files.save(tmp_path, {}, TENSORS, model_files.Format(*format))
    model_files.save(tmp_path, {"name": "second"}, {"a": torch.zeros(2)})
    assert model_files.load(tmp_path)[0]["name"] == "second"
    assert len(list(tmp_path.iterdir())) == 2


def test_saving_leaves_the_files_of_others_alone(folder):
    others = ["weights-mine.safetensors", f"weights-{'0' * 16}.safetensors", "a.txt"]
    for name in others:
        (folder / name).write_text("precious")
    model_files.save(folder, {"name": "second"}, {"a": torch.zeros(2)})
    assert model_files.load(folder)[0]["name"] == "second"
    assert sorted(others) == sorted(
        path.name for path in folder.iterdir() if path.read_bytes() == b"precious"
    )
    assert len(list(folder.iterdir())) == len(others) + 2


def test_weights_that_a_replaced_description_names_outside_its_folder_stay(folder):
    precious = folder.parent / f"weights-{'0' * 16}.safetensors"
    precious.write_text("precious")
    described = json.loads((folder / "model.json").read_text())
    described["weights"] = f"../{precious.name}"
    del described["checksum"]
    damage.write_description(folder, json.dumps(described))
    with pytest.raises(InputError, match="'weights' must be a name such as"):
        model_files.load(folder)
    model_files.save(folder, {"name": "second"}, {"a": torch.zeros(2)})
    assert precious.read_text() == "precious"


def test_a_folder_that_cannot_be_made_is_told(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(
        WriteError, match="file/model cannot be created: Not a directory"
    ):
        model_files.save(tmp_path / "file" / "model", {}, TENSORS)


def test_a_file_that_may_not_be_read_is_told(folder):
    if os.geteuid() == 0:
        pytest.skip("the superuser may read everything")
    for path in (*weights_in(folder), folder / "model.json"):
        path.chmod(0)
        with pytest.raises(InputError, match="cannot be read: Permission denied"):
            model_files.load(folder)


def model_of(number: float) -> tuple[dict[str, float], dict[str, torch.Tensor]]:
    return {"number": number}, {"a": torch.full((1000,), float(number))}


def check_whole(folder: Path) -> None:
    """Raise unless what is loaded is one model and not parts of two."""
    described, tensors = model_files.load(folder)
    assert bool((tensors["a"] == described["number"]).all())


@contextmanager
def reading(folder: Path, n_readers: int) -> Iterator[list[int]]:
    """Load in threads as long as the block takes; yield how often each did."""
    is_over = Event()

    def read() -> int:
        n_loads = 0
        while not is_over.is_set():
            check_whole(folder)
            n_loads += 1
        return n_loads

    counts: list[int] = []
    with ThreadPoolExecutor(n_readers) as pool:
        reads = [pool.submit(read) for _ in range(n_readers)]
        try:
            yield counts
        finally:
            is_over.set()
        counts += [each.result() for each in reads]


def test_threads_that_save_and_load_meet_whole_models(tmp_path):
    """Two numbers in turn: the weights of a model come back after they were removed."""
    folder = tmp_path / "model"
    model_files.save(folder, *model_of(0))

    def write(first: int) -> None:
        for i in range(40):
            model_files.save(folder, *model_of(first + i % 2))

    with reading(folder, 2) as counts, ThreadPoolExecutor(3) as pool:
        list(pool.map(write, (0, 1, 2)))
    assert min(counts) > 0
    check_whole(folder)
    assert len(list(folder.iterdir())) == 2


WRITER = """
import sys
from pathlib import Path
import torch
from histreg.tabular import model_files
print("ready", flush=True)
sys.stdin.readline()
for i in range(40):
    tensors = {"a": torch.full((1000,), float(i % 2))}
    model_files.save(Path(sys.argv[1]), {"number": i % 2}, tensors)
"""


def test_processes_that_save_and_load_meet_whole_models(tmp_path):
    folder = tmp_path / "model"
    model_files.save(folder, *model_of(0))
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, folder],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(2)
    ]
    for writer in writers:
        assert writer.stdout.readline() == "ready\n"
    with reading(folder, 1) as counts:
        for writer in writers:
            writer.stdin.write("go\n")
            writer.stdin.flush()
        for writer in writers:
            writer.communicate(timeout=120)
    assert [writer.returncode for writer in writers] == [0, 0]
    assert min(counts) > 0
    check_whole(folder)
    assert len(list(folder.iterdir())) == 2


def test_a_save_that_fails_leaves_the_old_model(folder, monkeypatch):
    def full(*_, **__):
        raise OSError("No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match="No space left"):
        model_files.save(folder, {"name": "second"}, {"a": torch.zeros(2)})
    monkeypatch.undo()
    assert model_files.load(folder)[0]["name"] == "first"
    assert len(list(folder.iterdir())) == 2


def test_what_json_cannot_say_is_refused_before_anything_is_written(tmp_path):
    with pytest.raises(ValueError, match="not JSON compliant"):
        model_files.save(tmp_path / "m", {"width": float("inf")}, TENSORS)
    assert not (tmp_path / "m").exists()


def test_a_kill_between_the_two_files_leaves_the_old_model(folder, monkeypatch):
    replaced = []

    def killed(self, target):
        if replaced:
            raise KeyboardInterrupt
        replaced.append(target)
        os.rename(self, target)  # noqa: PTH104

    monkeypatch.setattr(Path, "replace", killed)
    with pytest.raises(KeyboardInterrupt):
        model_files.save(folder, {"name": "second"}, {"a": torch.zeros(2)})
    monkeypatch.undo()
    assert len(replaced) == 1 and model_files.load(folder)[0]["name"] == "first"


def cut_weights(folder):
    path = weights_in(folder)[0]
    path.write_bytes(path.read_bytes()[:-5])


def change_weights(folder):
    path = weights_in(folder)[0]
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(bytes(data))


def remove_weights(folder):
    weights_in(folder)[0].unlink()


def cut_description(folder):
    path = folder / "model.json"
    path.write_text(path.read_text()[:-9])


def described_as(**changes):
    def change(folder):
        path = folder / "model.json"
        path.write_text(json.dumps(json.loads(path.read_text()) | changes))

    return change


@pytest.mark.parametrize(
    "change, sentence",
    [
        (cut_weights, "is damaged: its checksum"),
        (change_weights, "is damaged: its checksum"),
        (remove_weights, "is damaged: there is no file 'weights-"),
        (cut_description, "is damaged: it is not valid JSON"),
        (described_as(name="other"), "is damaged: its checksum is not that of its"),
        (described_as(name=None), "is damaged: its checksum is not that of its"),
        (described_as(format="other"), "does not describe a histreg model"),
        (described_as(version=99), "must be of version 2.*got version 99"),
        (described_as(weights="../../etc/passwd"), "is damaged: its checksum"),
        (lambda folder: (folder / "model.json").write_text("[]"), "does not describe"),
        (lambda folder: (folder / "model.json").unlink(), "must be a folder with a"),
    ],
)
def test_damage_is_refused_in_one_sentence(folder, change, sentence):
    change(folder)
    with pytest.raises(ValueError, match=sentence) as refusal:
        model_files.load(folder)
    assert "\n" not in str(refusal.value)


def test_a_file_is_no_folder(tmp_path):
    path = tmp_path / "file"
    path.write_text("here already")
    with pytest.raises(ValueError, match="must be a folder"):
        model_files.save(path, {}, TENSORS)
    assert path.read_text() == "here already"
