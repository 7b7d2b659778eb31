"""Saved models: damaged ones are refused in one sentence, those of old are read."""

import json
import shutil

import numpy as np
import pytest
import torch
from torch import nn

from histreg import HistogramRegressor
from histreg.errors import InputError
from histreg.tabular import model_schema
from tests import damage
from tests.damage import DAMAGES, FILE_DAMAGES


@pytest.fixture(scope="module")
def sound(tmp_path_factory):
    """The folder of a sound model, which is not to be changed."""
    folder = tmp_path_factory.mktemp("sound") / "model"
    damage.sound_model().save(folder)
    return folder


@pytest.fixture
def folder(sound, tmp_path):
    return shutil.copytree(sound, tmp_path / "model")


@pytest.mark.parametrize("name", [*DAMAGES, *FILE_DAMAGES])
def test_damage_with_right_checksums_is_refused_in_one_sentence(folder, name):
    damage.apply(name, folder)
    with pytest.raises(InputError) as refusal:
        HistogramRegressor.load(folder)
    sentence = str(refusal.value)
    assert "\n" not in sentence and len(sentence) < 1500
    assert str(folder) in sentence


def predictions(model):
    table, _ = damage.sound_table()
    return np.stack([model.predict(table), *model.predict_interval(table)])


def test_a_model_file_of_the_first_days_of_this_version_is_read(folder, sound):
    described, tensors = damage.read(folder)
    for key in ("n_seen", "n_growths"):
        del described[key]
    del described["options"]["bins_grow"]
    damage.write(folder, described, tensors)
    old, new = HistogramRegressor.load(folder), HistogramRegressor.load(sound)
    assert old.n_seen_ == old.n_growths_ == 0 and old.bins_grow == "auto"
    np.testing.assert_array_equal(predictions(old), predictions(new))


def test_keys_of_a_later_version_are_left_alone(folder, sound):
    described, tensors = damage.read(folder)
    damage.write(folder, {**described, "unheard_of": [1]}, tensors)
    np.testing.assert_array_equal(
        predictions(HistogramRegressor.load(folder)),
        predictions(HistogramRegressor.load(sound)),
    )


def test_every_option_that_is_saved_is_declared(sound):
    code = {"backbone", "callback", "bins", "device"}
    assert (
        model_schema.OPTIONS.keys() == HistogramRegressor().get_params().keys() - code
    )
    assert model_schema.OPTIONS.keys() == damage.read(sound)[0]["options"].keys()


def test_a_bin_without_mass_may_be_calibrated_on(folder):
    described, tensors = damage.read(folder)
    tensors["calibration.logits"][0, 0, 0] = -torch.inf
    damage.write(folder, described, tensors)
    assert np.isfinite(predictions(HistogramRegressor.load(folder))).all()


@pytest.mark.parametrize(
    "groups, codes, sentence",
    [
        ({"levels": ["a"], "column": "no"}, 0, "must be one of 'feature_names'"),
        ({"levels": ["a", "a"], "column": None}, 0, "a list of levels"),
        ({"levels": ["a"]}, 0, "a list of levels, and a column or null"),
        ({"levels": ["a"], "column": None}, 1, "must hold numbers below 1"),
        ({"levels": ["a"], "column": None}, -1, "must be non-negative"),
    ],
)
def test_damaged_groups_are_refused(folder, groups, codes, sentence):
    described, tensors = damage.read(folder)
    n = len(tensors["calibration.y"])
    tensors["calibration.groups"] = torch.full((n,), codes)
    described["calibration_groups"] = groups
    damage.write(folder, described, tensors)
    with pytest.raises(InputError, match=sentence):
        HistogramRegressor.load(folder)


ATOMS = [None, True, False, 0, 1, -1, 2, 7, 2**40, 0.5, 1e300, "", "label", "x", [], {}]


def places(value, place=()):
    """Yield where the values of JSON are, objects and lists included."""
    yield place
    if isinstance(value, dict | list):
        for key in value if isinstance(value, dict) else range(len(value)):
            yield from places(value[key], (*place, key))


@pytest.mark.filterwarnings("ignore:X has feature names")
@pytest.mark.parametrize("seed", range(80))
def test_a_random_change_is_refused_or_leaves_a_model_that_works(folder, seed):
    """Of a description: one to three values are taken out, or become others."""
    random = np.random.default_rng(seed)
    described, tensors = damage.read(folder)
    for _ in range(random.integers(1, 4)):
        several = [place for place in places(described) if place]
        *path, key = several[random.integers(len(several))]
        holder = described
        for step in path:
            holder = holder[step]
        if random.random() < 0.2:
            del holder[key]
        else:
            holder[key] = ATOMS[random.integers(len(ATOMS))]
    damage.write(folder, described, tensors)
    try:
        model = HistogramRegressor.load(folder)
    except InputError as refusal:
        assert "\n" not in str(refusal)
        return
    table, _ = damage.sound_table()
    names = described["feature_names"]
    table = table.rename(columns=dict(zip(table.columns, names or "abcd", strict=True)))
    assert np.isfinite(model.predict(table)).all()
    model.save(folder)  # what is read can be written
    again = HistogramRegressor.load(folder)
    np.testing.assert_array_equal(again.predict(table), model.predict(table))


@pytest.mark.parametrize("seed", range(40))
def test_a_flipped_bit_of_a_tensor_is_refused_or_leaves_a_model_that_works(
    folder, seed
):
    random = np.random.default_rng(seed)
    described, tensors = damage.read(folder)
    name = sorted(tensors)[random.integers(len(tensors))]
    flat = tensors[name].flatten().clone()
    as_bytes = flat.view(torch.uint8)
    as_bytes[random.integers(len(as_bytes))] ^= 1 << random.integers(8)
    tensors[name] = flat.view(tensors[name].shape)
    damage.write(folder, described, tensors)
    try:
        model = HistogramRegressor.load(folder)
    except InputError as refusal:
        assert "\n" not in str(refusal)
        return
    assert model.predict(damage.sound_table()[0]).shape == (60,)


def test_another_backbone_is_refused_with_what_differs(tmp_path):
    def backbone(width, n_inputs=6):
        return nn.Sequential(nn.Linear(n_inputs, width), nn.ReLU())

    model = damage.sound_model(backbone=backbone(8))
    model.save(tmp_path / "m")
    for other, sentence in [
        (backbone(9), r"'network.body.copies.0.0.weight' must be .*\(9, 6\).*\(8, 6\)"),
        (
            nn.Sequential(backbone(8), backbone(8, 8)),
            "must have the 4 tensors .* got 8",
        ),
        (backbone(8, 5), r"backbone must take rows of shape \(n, 6\)"),
        (nn.Identity(), "must have the 4 tensors that were saved .* got 0"),
    ]:
        with pytest.raises(InputError, match=sentence) as refusal:
            HistogramRegressor.load(tmp_path / "m", backbone=other)
        assert "does not fit the given backbone" in str(refusal.value)
    again = HistogramRegressor.load(tmp_path / "m", backbone=backbone(8))
    np.testing.assert_array_equal(predictions(again), predictions(model))


def test_a_backbone_may_have_a_mask_of_infinities(tmp_path):
    class Masked(nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = nn.Linear(6, 3)
            self.register_buffer("mask", torch.tensor([0.0, 0.0, -torch.inf]))

        def forward(self, rows):
            return (self.linear(rows) + self.mask).softmax(dim=-1)

    model = damage.sound_model(backbone=Masked())
    model.save(tmp_path / "m")
    again = HistogramRegressor.load(tmp_path / "m", backbone=Masked())
    np.testing.assert_array_equal(predictions(again), predictions(model))


def test_a_device_that_is_not_there_is_no_damage(sound):
    with pytest.raises(InputError, match=r"^device must be 'auto' or available"):
        HistogramRegressor.load(sound, device="abacus")


def with_nan(model):
    with torch.no_grad():
        model.model_.network.readout.bias[0, 0, 0] = torch.nan


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda model: setattr(model, "notes_", [1]), "'notes' must be an object"),
        (lambda model: setattr(model, "notes_", {"a": np.inf}), "not JSON compliant"),
        (lambda model: setattr(model, "notes_", {"a": {1}}), "not JSON serializable"),
        (lambda model: setattr(model, "notes_", {1: 1, "1": 1}), "occurs twice"),
        (
            lambda model: setattr(model, "notes_", {"a": damage.NESTED}),
            "100 levels deep",
        ),
        (
            lambda model: setattr(model, "notes_", {"a": "x" * 2**26}),
            "67,108,864 bytes",
        ),
        (lambda model: model.set_params(dropout=7), r"dropout must lie in \[0, 1\)"),
        (with_nan, "'network.readout.bias' must be finite, got 1 of 40"),
    ],
)
def test_what_would_not_be_read_again_is_not_written(sound, tmp_path, change, sentence):
    model = HistogramRegressor.load(sound)
    change(model)
    with pytest.raises(InputError, match=sentence):
        model.save(tmp_path / "m")
    assert not (tmp_path / "m").exists()


def test_notes_whose_keys_are_numbers_are_read_again_as_json_has_them(sound, tmp_path):
    model = HistogramRegressor.load(sound)
    model.notes_ = {10: (1, 2), 9: None}
    model.save(tmp_path / "m")
    assert HistogramRegressor.load(tmp_path / "m").notes_ == {"10": [1, 2], "9": None}
    assert json.loads((tmp_path / "m" / "model.json").read_text())["version"] == 2


def test_loading_draws_no_random_numbers(sound):
    before = torch.get_rng_state()
    HistogramRegressor.load(sound)
    assert torch.equal(torch.get_rng_state(), before)
