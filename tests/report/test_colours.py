"""Colours and marks of losses."""

from histreg.report.colours import looks_of


def test_known_losses_keep_their_looks_and_others_take_none_of_them():
    alone, together = looks_of(["HL-Gauss"]), looks_of(["MDN", "l2", "HL-Gauss", "x"])
    assert alone["HL-Gauss"] == together["HL-Gauss"]
    assert len({color for color, _ in together.values()}) == 4
    assert len({mark for _, mark in together.values()}) == 4


def test_more_losses_than_looks_are_drawn_all_the_same():
    assert len(looks_of(map(str, range(12)))) == 12
