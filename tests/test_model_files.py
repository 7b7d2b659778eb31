"""Model files: whole or absent, and refused when damaged."""

import json
import os
from pathlib import Path

import pytest
import torch

from histreg import model_files

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
    "damage, sentence",
    [
        (cut_weights, "is damaged: its checksum"),
        (change_weights, "is damaged: its checksum"),
        (remove_weights, "is damaged: there is no file 'weights-"),
        (cut_description, "is damaged: it is no JSON"),
        (described_as(name="other"), "is damaged: its checksum is not that of its"),
        (described_as(name=None), "is damaged: its checksum is not that of its"),
        (described_as(format="other"), "must describe a histreg model"),
        (described_as(version=99), "must be of version 2.*got version 99"),
        (described_as(weights="../../etc/passwd"), "is damaged: its checksum"),
        (lambda folder: (folder / "model.json").write_text("[]"), "must describe"),
        (lambda folder: (folder / "model.json").unlink(), "must be a folder with a"),
    ],
)
def test_damage_is_refused_in_one_sentence(folder, damage, sentence):
    damage(folder)
    with pytest.raises(ValueError, match=sentence) as refusal:
        model_files.load(folder)
    assert "\n" not in str(refusal.value)


def test_a_file_is_no_folder(tmp_path):
    path = tmp_path / "file"
    path.write_text("here already")
    with pytest.raises(ValueError, match="must be a folder"):
        model_files.save(path, {}, TENSORS)
    assert path.read_text() == "here already"
