"""Boosted trees as tensors: the same predictions as scikit-learn's own."""

import numpy as np
import pytest
import torch

from histreg import InputError
from histreg.tabular.simple_models import SimpleInputs, folds_of
from histreg.tabular.tree_model import (
    N_LEVELS,
    TreeModel,
    _boosted,
    _borders,
    _ranks,
    fit_trees,
)


def rows(n=300, n_codes=(6,), seed=0):
    generator = torch.Generator().manual_seed(seed)
    numbers = torch.randn(n, 3, dtype=torch.float64, generator=generator)
    numbers[::9, 1] = torch.nan
    codes = torch.stack(
        [torch.randint(k, (n,), generator=generator) for k in n_codes], dim=1
    )
    y = numbers[:, 0].sin() + (codes[:, 0] % 2) * numbers[:, 2]
    y = y + numbers[:, 1].isnan() + 0.1 * torch.randn(n, generator=generator)
    return SimpleInputs(numbers, numbers.nan_to_num().float(), codes), y


def test_predictions_are_the_mean_of_scikit_learns_boosters():
    inputs, y = rows()
    folds = folds_of(len(y), torch.Generator().manual_seed(0))
    weight = torch.ones(len(y))
    model, held_out = fit_trees(inputs, y, weight, folds, (6,), seed=3)
    codes = model.codes(inputs).numpy().T  # (n, 3 + 5)
    of_folds = [codes[:, [0, 1, 2, 3 + fold]] for fold in range(5)]
    boosted = _boosted(
        of_folds, y.numpy(), np.ones(len(y)), folds.numpy(), model.depth, seed=3
    )
    # The boosters may have more trees than are used.
    expected = np.zeros(len(y))
    for booster, own in zip(boosted.boosters, of_folds, strict=True):
        expected += list(booster.staged_predict(own))[boosted.n_trees - 1] / 5
    np.testing.assert_allclose(model(inputs), expected, rtol=1e-9, atol=1e-12)
    for fold, own in enumerate(of_folds):
        booster = boosted.boosters[fold]
        staged = list(booster.staged_predict(own))[boosted.n_trees - 1]
        is_in = (folds == fold).numpy()
        np.testing.assert_array_equal(held_out[is_in], staged[is_in])
    assert ((held_out - y) ** 2).mean() < 0.3 * y.var()


def test_the_number_of_trees_is_best_on_held_out_rows():
    inputs, y = rows()
    folds = folds_of(len(y), torch.Generator().manual_seed(0)).numpy()
    codes = [inputs.codes.numpy().astype(np.uint8)] * 5
    noise = np.random.default_rng(0).normal(size=len(y))
    boosted = _boosted(codes, noise, np.ones(len(y)), folds, depth=4, seed=0)
    assert boosted.n_trees < 20  # nothing can be learnt
    errors = []
    for n_trees in range(1, 50):
        squares = 0.0
        for fold, booster in enumerate(boosted.boosters):
            is_in = folds == fold
            staged = list(booster.staged_predict(codes[fold][is_in]))
            squares += ((staged[n_trees - 1] - noise[is_in]) ** 2).sum()
        errors.append(squares)
    assert boosted.n_trees == 1 + int(np.argmin(errors))


def test_trees_are_deeper_where_shallow_ones_do_not_hold_it_all():
    generator = torch.Generator().manual_seed(0)
    numbers = torch.rand(2_000, 6, dtype=torch.float64, generator=generator)
    y = (4 * numbers[:, :3].sum(dim=1)).sin()  # of three columns together
    inputs = SimpleInputs(numbers, numbers.float(), torch.zeros(2_000, 0).long())
    folds = folds_of(2_000, generator)
    deep = fit_trees(inputs, y, torch.ones(2_000), folds, (), seed=0)
    assert deep.model.depth == 6
    noise = torch.randn(2_000, dtype=torch.float64, generator=generator)
    noisy = fit_trees(inputs, y + 9 * noise, torch.ones(2_000), folds, (), seed=0)
    assert noisy.model.depth == 4


def test_numbers_have_as_many_levels_as_a_byte():
    few = torch.tensor([[1.0], [2.0], [2.0], [4.0], [torch.nan]]).double()
    borders = _borders(few)
    assert borders[0, :2].tolist() == [1.5, 3.0] and borders[0, 2:].isinf().all()
    many = torch.arange(10_000.0, dtype=torch.float64)[:, None]
    assert _borders(many).isfinite().all()
    model = TreeModel(1, (), 1, 0, 2)
    model.borders[:] = _borders(many)
    nothing = torch.zeros(len(many), 0).long()
    codes = model.codes(SimpleInputs(many, many.float(), nothing))[0]
    counts = codes.long().bincount()
    assert counts[0] == 0 and len(counts) == N_LEVELS + 1  # 0 is for gaps
    assert counts[1:].max() <= 2 * 10_000 / N_LEVELS


def test_labels_are_ordered_by_their_mean():
    codes = torch.tensor([[0], [1], [1], [2]]).repeat(100, 1)
    y = torch.tensor([5.0, -3.0, -1.0, 1.0]).double().repeat(100)
    assert _ranks(codes, y, torch.ones(400), (4,)).tolist() == [3, 0, 2, 1]
    seen = torch.ones(400)
    seen[codes[:, 0] == 0] = 0  # its y is not looked at
    ranks = _ranks(codes, y.where(codes[:, 0] > 0, 1e9), seen, (4,))
    assert ranks[1] < ranks[2]
    many = torch.arange(1000)[:, None]
    ranks = _ranks(many, many[:, 0].double(), torch.ones(1000), (1000,))
    assert ranks[0] == 0 and ranks[-1] == N_LEVELS - 1
    assert (ranks.long().diff() >= 0).all()


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("columns", 7, "columns from 0 to 1"),
        ("borders", -1.0, "rising"),
        ("values", torch.nan, "finite"),
    ],
)
def test_damaged_models_are_refused(name, value, message):
    model = TreeModel(2, (), 1, 3, 2)
    model.check()
    getattr(model, name)[-1, -1] = value
    with pytest.raises(InputError, match=message):
        model.check()
