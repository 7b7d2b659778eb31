"""Tables of the sines, of records made by hand."""

from tests.report.reading import one
from tests.study.made_up import sine_record


def test_the_sines_table_has_the_best_rate_of_each_loss():
    records = [
        sine_record("l2", rate=1e-3, seed=0, area=0.2, curve=[0.5, 0.01]),
        sine_record("l2", rate=1e-3, seed=1, area=0.4, curve=[0.5, 0.03]),
        sine_record("l2", rate=1e-1, seed=0, area=0.1),
        sine_record("l2", rate=1e-1, seed=1, area=None),
        sine_record("HL-Gauss", beta=1.0, rate=1e-2, far=True, area=0.05),
    ]
    l2, hl = one("sines", records).rows
    # The standard error of 0.2 and 0.4 is 0.1.
    assert l2 == ("l2", "10", "0", "", "0.001", "0.3000", "0.1000", "0.02", "2")
    assert hl == (
        "HL-Gauss", "10", "1", "[-1.5, 11.5]", "0.01", "0.0500", "", "0.05", "1"
    )  # fmt: skip
