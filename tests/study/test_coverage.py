"""The paper's numbers beside ours, of records made by hand."""

import math
import shlex
from dataclasses import replace

import pytest

from histreg.cli.study.selection import Selection
from histreg.study.analysis.estimates import Estimate
from histreg.study.analysis.paper import paper_cells, row_of
from histreg.study.catalogue import EXPERIMENTS
from histreg.study.coverage import (
    EXPERIMENT_OF,
    NO_RUN,
    SEEDS_DIVERGED,
    Cell,
    Coverage,
)
from histreg.study.methods import L2, HLGauss, L2Noise
from histreg.study.series.runs import READING
from tests.study.made_up import DIRECT, forecast_records, tabular_records

DOUBTFUL = ("l2+Softmax", "l2+Softmax+Mean")
"""The paper does not say which loss each of these rows is."""
GAUSS = tabular_records("pole", HLGauss(), [0.7, 0.72, 0.7, 0.7, 0.74])


def cells_of(coverage, dataset, method, metric="test MAE"):
    """Return the cells of a row, by their table."""
    return {
        cell.paper.table: cell
        for cell in coverage.cells
        if (cell.paper.dataset, cell.paper.method) == (dataset, method)
        and cell.paper.metric == metric
    }


def test_without_records_nothing_is_covered_and_everything_is_missing():
    coverage = Coverage.of([])
    assert len(coverage.cells) == 412
    assert not any(cell.n_seeds or cell.is_complete for cell in coverage.cells)
    assert all(math.isnan(cell.apart) for cell in coverage.cells)
    assert sum(len(gap.cells) for gap in coverage.gaps) == 412
    assert coverage.expected_s(coverage.cells) > 0


def test_each_experiment_has_the_tables_that_it_names():
    for table, name in EXPERIMENT_OF.items():
        assert str(table) in EXPERIMENTS[name].place
    assert {cell.table for cell in paper_cells()} == EXPERIMENT_OF.keys()


def test_each_row_of_the_paper_is_run_by_its_experiment():
    for cell in paper_cells():
        runs = EXPERIMENTS[EXPERIMENT_OF[cell.table]].runs
        seeds = {run.facet("seed") for run in runs if row_of(run) == cell.row}
        is_doubtful = cell.method in DOUBTFUL and not seeds
        assert is_doubtful or seeds == {1, 2, 3, 4, 5}, cell


def test_a_distance_is_the_difference_in_joint_standard_errors():
    cells = cells_of(Coverage.of(GAUSS), "pole", "HL-Gauss")
    assert list(cells) == [2, 7, 8]
    # Mean 0.712; squared deviations 144 + 64 + 144 + 144 + 784 = 1280 in millionths,
    # so the standard error is sqrt(1280e-6 / 4 / 5) = 0.008. The paper: 0.714 ± 0.024.
    assert cells[7].ours == Estimate(pytest.approx(0.712), pytest.approx(0.008), 5)
    expected = (0.712 - 0.714) / math.sqrt(0.008**2 + 0.024**2)
    assert [cell.apart for cell in cells.values()] == [pytest.approx(expected)] * 3
    assert all(cell.is_complete for cell in cells.values())


def test_a_network_with_its_own_body_stands_in_the_table_of_bodies():
    coverage = Coverage.of(GAUSS)
    default = cells_of(coverage, "pole", "HL-Gauss [Default]")
    assert default[9].ours == cells_of(coverage, "pole", "HL-Gauss")[7].ours
    assert cells_of(coverage, "pole", "HL-Gauss [Random]")[9].ours is None


def test_one_seed_is_a_number_without_a_distance():
    coverage = Coverage.of(tabular_records("ct", HLGauss(), [0.09]))
    cell = cells_of(coverage, "ct", "HL-Gauss")[1]
    assert (cell.n_seeds, cell.is_complete) == (1, False)
    assert math.isnan(cell.apart)


def test_fewer_seeds_than_the_paper_s_have_a_distance_but_are_not_complete():
    coverage = Coverage.of(tabular_records("ct", HLGauss(), [0.09, 0.1]))
    cell = cells_of(coverage, "ct", "HL-Gauss")[1]
    assert (cell.n_seeds, cell.is_complete) == (2, False)
    assert math.isfinite(cell.apart)


def test_an_error_of_zero_leaves_ours_alone():
    paper = next(cell for cell in paper_cells() if cell.estimate.se == 0)
    ours = Estimate(paper.estimate.mean + 0.1, 0.05, 5)
    assert Cell(paper, ours).apart == pytest.approx(2)


def test_of_several_settings_the_one_of_lowest_test_error_counts():
    records = [
        *tabular_records("pole", L2Noise(0.1), [2.0] * 5),
        *tabular_records("pole", L2Noise(0.01), [1.0] * 5),
    ]
    cell = cells_of(Coverage.of(records), "pole", "l2+Noise")[7]
    assert cell.ours == Estimate(1.0, 0.0, 5)


@pytest.mark.parametrize(("reading", "n_cells"), [(READING, 2), (DIRECT, 0)])
def test_forecasts_count_in_the_reading_of_the_text_alone(reading, n_cells):
    records = forecast_records("ETTh1", "Linear", L2(), [0.07] * 5, changes=reading)
    covered = [cell for cell in Coverage.of(records).cells if cell.n_seeds]
    assert len(covered) == n_cells


def test_other_epochs_and_other_data_do_not_count():
    records = [
        *tabular_records("pole", L2(), [1.0] * 5, changes={"epochs": 10}),
        *tabular_records("song-7000", L2(), [1.0] * 5),
        *tabular_records("pole", L2(), [1.0] * 5, part="validation"),
    ]
    assert not any(cell.n_seeds for cell in Coverage.of(records).cells)


def test_one_table_alone_has_its_cells_and_its_commands():
    coverage = Coverage.of([], tables=[2])
    assert len(coverage.cells) == 12
    assert {gap.experiment for gap in coverage.gaps} == {"projected"}


def test_every_incomplete_cell_is_in_one_gap():
    coverage = Coverage.of(GAUSS)
    in_gaps = [cell for gap in coverage.gaps for cell in gap.cells]
    incomplete = [cell for cell in coverage.cells if not cell.is_complete]
    assert len(in_gaps) == len(incomplete) == len(set(in_gaps))
    assert set(in_gaps) == set(incomplete)


def test_commands_compute_what_is_missing_and_no_run_twice():
    coverage = Coverage.of(GAUSS)
    done = set(coverage.records)
    for gap in coverage.gaps:
        if not gap.command:
            continue
        program, study, run, name, *options = shlex.split(gap.command)
        assert (program, study, run) == ("histreg", "study", "run")
        given = dict(zip(options[::2], options[1::2], strict=True))
        selection = Selection(
            given["--datasets"], given["--methods"], given.get("--models")
        )
        assert set(gap.runs) == set(selection.runs([name])) - done
        done |= set(gap.runs)
    missing = {
        run
        for cell in coverage.cells
        for run in EXPERIMENTS[EXPERIMENT_OF[cell.paper.table]].runs
        if row_of(run) == cell.paper.row
    }
    assert missing <= done


def test_what_no_command_completes_says_why(monkeypatch):
    overall = EXPERIMENTS["overall"]
    without_l1 = tuple(run for run in overall.runs if run.facet("method") != "l1")
    monkeypatch.setitem(EXPERIMENTS, "overall", replace(overall, runs=without_l1))
    records = tabular_records("pole", HLGauss(), [0.7] * 5, diverged=[2])
    gaps = {gap.methods: gap for gap in Coverage.of(records).gaps if not gap.command}
    assert gaps["l1",].obstacle == NO_RUN
    assert gaps["l1",].datasets == ("ct", "song", "bike", "pole")
    assert len(gaps["l1",].cells) == 16
    assert gaps["HL-Gauss",].obstacle == SEEDS_DIVERGED
    assert {gap.expected_s for gap in gaps.values()} == {0.0}


def test_a_run_that_several_cells_need_costs_once():
    coverage = Coverage.of([])
    cells = [*cells_of(coverage, "pole", "HL-Gauss").values()]
    assert len(cells) == 3
    expected_s = 5 * GAUSS[0].run.expected_s  # five seeds
    assert coverage.expected_s(cells) == pytest.approx(expected_s)
    assert coverage.expected_s(cells[:1]) == pytest.approx(expected_s)


def test_costs_go_by_stored_times():
    seeds = [replace(record, elapsed_s=3 * record.run.expected_s) for record in GAUSS]
    coverage = Coverage.of(seeds[:2])
    cells = cells_of(coverage, "pole", "HL-Gauss").values()
    expected_s = 3 * 3 * GAUSS[0].run.expected_s  # of the three other seeds
    assert coverage.expected_s(cells) == pytest.approx(expected_s)
    complete = Coverage.of(seeds)
    assert complete.expected_s(cells_of(complete, "pole", "HL-Gauss").values()) == 0
