"""The constants are those of log and exp."""

import math

from histreg.tabular import polynomials as of


def test_exp_is_its_taylor_series_within_half_an_octave():
    terms = [of.E3, of.E4, of.E5, of.E6, of.E7, of.E8, of.E9]
    terms += [of.E10, of.E11, of.E12, of.E13]
    for x in (-0.34, -0.1, 0.0, 0.2, 0.34):
        total = 1 + x + x * x / 2
        total += sum(term * x ** (3 + i) for i, term in enumerate(terms))
        assert math.isclose(total, math.exp(x), rel_tol=1e-15)
    assert math.isclose(of.LN2_HIGH + of.LN2_LOW, math.log(2), rel_tol=1e-16)
    assert math.isclose(of.LOG2_E * math.log(2), 1, rel_tol=1e-15)


def test_log_is_its_series_in_s():
    terms = [of.LG1, of.LG2, of.LG3, of.LG4, of.LG5, of.LG6, of.LG7]
    for x in (0.71, 0.9, 1.0, 1.2, 1.41):
        s = (x - 1) / (x + 1)
        rest = sum(term * s ** (2 + 2 * i) for i, term in enumerate(terms))
        assert math.isclose(s * (2 + rest), math.log(x), rel_tol=4e-16)
