import torch

from histreg.study.engine.seeding import generator_for


def draws(*purpose):
    return torch.rand(8, generator=generator_for(*purpose))


def test_a_stream_is_a_function_of_seed_and_purpose():
    assert torch.equal(draws(1, "order", 2), draws(1, "order", 2))


def test_streams_of_other_seeds_and_purposes_differ():
    given = [(1, "order", 1), (1, "order", 2), (2, "order", 1), (1, "dropout", 1)]
    assert len({tuple(draws(*each).tolist()) for each in given}) == len(given)


def test_a_stream_leaves_the_global_one_alone():
    torch.manual_seed(0)
    expected = torch.rand(1)
    torch.manual_seed(0)
    draws(1, "order")
    assert torch.equal(torch.rand(1), expected)
