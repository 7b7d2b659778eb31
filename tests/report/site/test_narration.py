"""Narration: sentences of ratios that change with the records."""

from histreg.report.site import narration
from histreg.study.catalogue import FORECAST_HL, RECOMMENDED, experiment
from histreg.study.catalogue.synthetic import FAR, NEAR
from histreg.study.claims import Evidence
from histreg.study.methods import L2, HLGauss, HLOneBin, L2SoftmaxMean
from tests.study.made_up import forecast_records, record_of, tabular_records


def told(of, *records):
    return " ".join(of(Evidence([record for group in records for record in group])))


def test_without_records_nothing_is_said():
    for of in (narration.when, narration.optimisation, narration.representation):
        assert of(Evidence([])) == []
    assert narration.simpler(Evidence([])) is None


def test_one_seed_is_not_enough():
    records = [
        *tabular_records("pole", L2(), [2.0]),
        *tabular_records("pole", HLGauss(), [1.0]),
    ]
    assert narration.optimisation(Evidence(records)) == []


def test_a_closer_fit_is_told_from_a_better_prediction():
    pole = tabular_records("pole", L2(), [2.0, 4.0])
    closer = tabular_records("pole", HLGauss(), [1.0, 1.0])  # 1/2 and 1/4
    text = told(narration.optimisation, pole, closer)
    assert "training MAE is 0.35 of that of l2 on Pole." in text
    assert "does not explain" not in text
    looser = tabular_records("pole", HLGauss(), [1.0, 1.0], train_MAE=[4.0, 8.0])
    text = told(narration.optimisation, pole, looser)
    assert "does not explain everything: its training MAE is 2.00 " in text
    assert "its test MAE is 0.35." in text
    worse = tabular_records("pole", HLGauss(), [4.0, 8.0])
    assert told(narration.optimisation, pole, worse) == ""


def test_sines_have_the_areas_of_the_runs_of_the_paper_s_size():
    records = []
    for run in experiment("sines").runs:
        area = {NEAR: 1.0, FAR: 0.5}.get(run.value_range, 2.0)
        curves = {"iteration": [0], "MSE": [area]}
        records.append(record_of(run, {"area": area, "final MSE": area}, curves))
    text = told(narration.optimisation, records)
    assert "0.50 to 0.50 of that of l2 over the frequencies" in text
    assert "0.25 where the target has an offset of 10." in text
    assert told(narration.optimisation, records[1:]) == ""  # one is missing


FROZEN = {"has_frozen_body": True}


def test_layers_of_the_other_loss_are_told_from_its_head():
    own = tabular_records("pole", L2(), [1.0, 1.0])
    changes = {"donor": HLGauss(), **FROZEN}
    borrowed = tabular_records("pole", L2(), [3.0, 3.0], changes=changes)
    text = told(narration.representation, own, borrowed)
    assert text.endswith("3.00 times that with its own layers on Pole.")
    with_head = tabular_records("pole", L2SoftmaxMean(), [1.5, 1.5], changes=changes)
    text = told(narration.representation, own, borrowed, with_head)
    assert text.endswith("; with a softmax in place of the linear head, it is 1.50.")


def test_on_random_layers_the_head_may_be_what_helps():
    l2, hl = (
        tabular_records("pole", method, errors, changes=FROZEN)
        for method, errors in ((L2(), [4.0, 4.0]), (HLGauss(), [2.0, 2.0]))
    )
    text = told(narration.representation, l2, hl)
    assert text.endswith("0.50 of that of l2 on Pole.")
    assert told(narration.representation, l2) == ""
    better, worse = (
        tabular_records("pole", L2SoftmaxMean(), errors, changes=FROZEN)
        for errors in ([1.0, 1.0], [3.0, 3.0])
    )
    text = told(narration.representation, l2, hl, better)
    assert text.endswith("with a softmax 0.25: there the head helps, not the loss.")
    assert told(narration.representation, l2, hl, worse).endswith("softmax 0.75.")


def test_when_it_helps_as_it_comes_and_when_forecasters_are_linear():
    text = told(
        narration.when,
        tabular_records("bike", L2(), [4.0, 4.0]),
        tabular_records("bike", RECOMMENDED, [3.0, 3.0]),
        forecast_records("ETTh1", "Linear", L2(), [1.0, 1.0]),
        forecast_records("ETTh1", "Linear", FORECAST_HL, [2.0, 2.0]),
        forecast_records("ETTh2", "Linear", L2(), [1.0, 1.0]),
        forecast_records("ETTh2", "Linear", FORECAST_HL, [3.0, 3.0]),
    )
    assert "0.75 of that of l2 on Bike Sharing." in text
    assert "2.00 to 3.00 times as large as that of l2." in text


def test_simpler_changes_are_beside_hl_gauss():
    records = [
        *tabular_records("pole", L2(), [2.0, 2.0]),
        *tabular_records("pole", HLGauss(), [1.0, 1.0]),
        *tabular_records("pole", HLOneBin(), [3.0, 3.0]),
        *tabular_records("bike", L2(), [2.0, 2.0]),
        *tabular_records("bike", HLGauss(), [1.0, 1.0]),
    ]
    table = narration.simpler(Evidence(records))
    assert table.header == ("method", "Pole")  # Bike has nothing to compare with
    assert [row[1] for row in table.rows] == ["0.50", "", "1.50", "", "", ""]
