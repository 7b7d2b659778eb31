"""Tables of networks, of records made by hand."""

from histreg.study.methods import L2, HLGauss
from tests.report.examples import ARCHITECTURES, on_network
from tests.report.reading import one, rows
from tests.study.made_up import tabular_records


def test_both_losses_stand_beside_each_other_on_every_network():
    table = one("architectures", ARCHITECTURES)
    # Differences -0.3 and -0.5: mean -0.4, error 0.1, of which Student's interval of
    # two numbers has 12.706.
    assert rows(table)["3 x 24, the paper's"][:3] == (
        "1.100 ± 0.100",
        "0.700 ± 0.000",
        "-0.400 [-1.671, +0.871]",
    )
    assert rows(table)["1 x 24"][2] == "+1.000 [+1.000, +1.000]"
    assert table.header[1:4] == ("l2 test MAE", "HL-Gauss test MAE", "difference")
    assert table.header[4] == "l2 test RMSE"


def test_networks_are_ordered_by_depth_and_then_by_width():
    table = one("architectures", ARCHITECTURES)
    assert list(rows(table)) == ["1 x 24", "3 x 24, the paper's", "3 x 72"]


def test_the_notes_answer_whether_the_order_changes():
    notes = " ".join(one("architectures", ARCHITECTURES).notes)
    assert "HL-Gauss has the lower test MAE on 2 of 3 networks" in notes
    assert "the interval is below 0 on 1, and above 0 on 1" in notes


def test_the_network_that_l2_would_choose_is_told():
    notes = " ".join(one("architectures", ARCHITECTURES).notes)
    assert "by which the paper says it chose: 3 x 72. Of HL-Gauss: 3 x 72." in notes
    deep = on_network((24,) * 5, [0.5, 0.5], [0.6, 0.6])
    notes = " ".join(one("architectures", [*ARCHITECTURES, *deep]).notes)
    assert "by which the paper says it chose: 5 x 24. Of HL-Gauss: 3 x 72." in notes


def test_one_seed_has_no_interval():
    table = one("architectures", on_network((24,), [2.0], [1.0]))
    assert rows(table)["1 x 24"][:3] == ("2.000", "1.000", "-1.000")
    assert "one seed has no interval" in " ".join(table.notes)


def test_networks_with_fewer_seeds_are_told_and_none_is_called_the_lowest():
    fewer = on_network((24, 24), [0.1], [0.1])
    table = one("architectures", [*ARCHITECTURES, *fewer])
    assert "2 x 24, 1 seed" in rows(table)
    assert "over 1 to 2 seeds" in table.notes[0]
    assert not any("Lowest" in note for note in table.notes)


def test_a_network_with_one_loss_alone_has_no_row():
    alone = tabular_records("pole", L2(), [1.0], changes={"hidden": (24, 24)})
    table = one("architectures", [*ARCHITECTURES, *alone])
    assert len(table.rows) == 3


def test_fewer_epochs_and_diverged_seeds_are_told():
    short = {"hidden": (24, 24), "epochs": 7}
    records = [
        *tabular_records("pole", L2(), [1.0, 1.0], changes=short, diverged=(2,)),
        *tabular_records("pole", HLGauss(), [0.5, 0.5], changes=short),
    ]
    table = one("architectures", records)
    assert [row[0] for row in table.rows] == ["2 x 24, epochs 7, l2 1 diverged"]
