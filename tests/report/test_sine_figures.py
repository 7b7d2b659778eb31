"""The figure of the sines, of records made by hand."""

import numpy as np

from histreg.report.experiment_figures import figure_of
from tests.report.examples import RECORDS
from tests.report.reading import lines_of
from tests.study.made_up import sine_record


def sine_axes(records):
    return figure_of("sines", records).axes


def test_both_parts_have_the_curves_of_their_targets():
    near = [(1.0, 0.0), (10.0, 0.0), (20.0, 0.0)]
    records = [
        sine_record(name, alpha, beta, curve=[alpha / 100, beta / 100, 0.0])
        for name in ("l2", "HL-Gauss")
        for alpha, beta in [*near, (10.0, 1.0), (10.0, 10.0)]
        if name == "l2" or beta == 0
    ]
    records += [
        sine_record("HL-Gauss", 10.0, beta, far=True, curve=[0.7, beta / 100])
        for beta in (0.0, 1.0, 10.0)
    ]
    _, middle, right = sine_axes(records)
    frequencies, offsets = lines_of(middle), lines_of(right)
    methods = ("l2", "HL-Gauss")
    assert set(frequencies) == {f"{m}, alpha {a}" for m in methods for a in (1, 10, 20)}
    assert set(offsets) == {f"{m}, beta {b}" for m in methods for b in (0, 1, 10)}
    assert len(middle.lines) == len(right.lines) == 6
    x, y = frequencies["l2, alpha 20"].get_data()
    assert list(x) == [0, 5, 10] and list(y) == [0.2, 0.0, 0.0]
    # At beta 0, HL-Gauss is another run in each part, l2 the same.
    assert list(frequencies["HL-Gauss, alpha 10"].get_ydata()) == [0.1, 0.0, 0.0]
    assert list(offsets["HL-Gauss, beta 0"].get_ydata()) == [0.7, 0.0]
    assert list(offsets["l2, beta 0"].get_ydata()) == [0.1, 0.0, 0.0]


def test_losses_differ_in_line_style_and_targets_in_width():
    records = [
        sine_record(name, alpha)
        for name in ("l2", "HL-Gauss")
        for alpha in (1.0, 10.0, 20.0)
    ]
    lines = lines_of(sine_axes(records)[1])
    for alpha in (1, 10, 20):
        assert lines[f"l2, alpha {alpha}"].get_linestyle() == "--"
        assert lines[f"HL-Gauss, alpha {alpha}"].get_linestyle() == "-"
    widths = [lines[f"l2, alpha {alpha}"].get_linewidth() for alpha in (1, 10, 20)]
    assert widths == sorted(set(widths))


def test_errors_of_sines_are_cut_at_six_tenths():
    for ax in sine_axes(RECORDS["sines"])[1:]:
        assert ax.get_ylim() == (0, 0.6)
        assert (ax.get_xlabel(), ax.get_ylabel()) == ("iteration", "train MSE")


def test_the_fits_drawn_are_those_at_the_rates_of_the_paper_over_the_target():
    records = [
        sine_record("l2", rate=1e-3, fit=[1.0, 2.0, 3.0]),
        sine_record("l2", rate=1e-2, fit=[7.0, 7.0, 7.0]),
        sine_record("l2", 20.0, rate=1e-3, fit=[7.0, 7.0, 7.0]),
        sine_record("l2", 10.0, 1.0, rate=1e-3, fit=[7.0, 7.0, 7.0]),
        sine_record("HL-Gauss", rate=1e-2, fit=[4.0, 5.0, 6.0]),
        sine_record("HL-Gauss", rate=1e-3, fit=[7.0, 7.0, 7.0]),
        sine_record("HL-Gauss", rate=1e-2, far=True, fit=[7.0, 7.0, 7.0]),
    ]
    left, _, _ = sine_axes(records)
    lines = lines_of(left)
    assert list(lines) == ["target", "l2", "HL-Gauss"]
    assert len(left.lines) == 3
    assert list(lines["l2"].get_ydata()) == [1.0, 2.0, 3.0]
    assert list(lines["HL-Gauss"].get_ydata()) == [4.0, 5.0, 6.0]
    np.testing.assert_allclose(lines["l2"].get_xdata(), [-np.pi, 0, np.pi])
    x, y = lines["target"].get_data()
    np.testing.assert_allclose(y, np.sin(10 * np.asarray(x)), atol=1e-12)
