import torch

from histreg.study.methods import MDN
from histreg.study.methods.criteria.criterion import ByAutograd, Targets


def test_gradients_of_many_components_far_from_y_are_those_of_autograd(generator):
    y = torch.linspace(0.0, 1.0, 20, dtype=torch.float64)
    targets = Targets(y, 0.0, 1.0, seed=1, dtype=torch.float64)
    methods = [MDN(8)] * 3
    # Means up to thirty from y, spreads down to the smallest.
    outputs = 10 * torch.randn(3, 20, 24, dtype=torch.float64, generator=generator)
    gradients = []
    for criterion in (MDN.criterion(methods, targets), ByAutograd(methods, targets)):
        criterion.start_epoch(1, torch.arange(20))
        gradients.append(torch.empty_like(outputs))
        criterion.gradient(outputs, slice(0, 20), gradients[-1])
    torch.testing.assert_close(*gradients)
