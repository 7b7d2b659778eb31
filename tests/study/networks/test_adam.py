import pytest
import torch

from histreg.study.tabular.adam import Adam


@pytest.mark.parametrize("epsilon", [1e-7, 1e-8])
def test_steps_are_those_of_torch(generator, dtype, epsilon):
    start = torch.randn(50, generator=generator, dtype=dtype)
    expected = torch.nn.Parameter(start.clone())
    theirs = torch.optim.Adam([expected], lr=0.1, eps=epsilon)
    weights, gradients = start.clone(), torch.empty_like(start)
    ours = Adam(weights, gradients, learning_rate=0.1, epsilon=epsilon)
    for _ in range(20):
        gradients.normal_(generator=generator)
        gradients[:5] = 0  # units that are switched off
        expected.grad = gradients.clone()
        theirs.step()
        ours.step()
    torch.testing.assert_close(weights, expected.detach())


def test_a_state_that_is_put_back_goes_on(generator):
    gradients = torch.randn(2, 10, generator=generator)

    def adam(weights):
        return Adam(weights, torch.empty(10), learning_rate=0.1, epsilon=1e-8)

    whole, first = adam(torch.zeros(10)), adam(torch.zeros(10))
    for each in (whole, first):
        each.gradients.copy_(gradients[0])
        each.step()
    second = adam(first.weights.clone())
    second.state = {name: part.clone() for name, part in first.state.items()}
    for each in (whole, second):
        each.gradients.copy_(gradients[1])
        each.step()
    assert torch.equal(whole.weights, second.weights)
