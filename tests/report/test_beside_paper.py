"""Numbers beside the paper's."""

import pytest

from histreg.report.beside_paper import shown
from histreg.study.analysis.estimates import Estimate

MAE = ("test MAE",)


# Choices


@pytest.mark.parametrize(
    ("values", "expected"),
    [([1.0, 2.0], "1.500 ± 0.500"), ([1.0], "1.000"), ([31.0312, 31.0312], "31.031")],
)
def test_an_estimate_is_shown_to_three_digits(values, expected):
    assert shown(Estimate.of(values)).startswith(expected)


# Exchanged representations
