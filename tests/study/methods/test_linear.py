import torch

from histreg.study.methods import LinearRegression


def test_a_line_is_found_also_with_constant_and_equal_columns(generator):
    x = torch.randn(50, 3, dtype=torch.float64, generator=generator)
    x = torch.cat([x, torch.zeros(50, 1), x[:, :1]], dim=1)
    y = 2 * x[:, 0] - x[:, 1] + 3
    method = LinearRegression()
    coefficients = method.fit(x, y)
    torch.testing.assert_close(method.predict(x, coefficients), y)
    # Of all that are as good, the shortest: the weight is shared by equal columns.
    expected = torch.tensor([1, -1, 0, 0, 1, 3], dtype=torch.float64)
    torch.testing.assert_close(coefficients, expected, atol=1e-10, rtol=0)
