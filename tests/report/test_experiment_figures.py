"""The study's figures, whichever they are, of records made by hand."""

import io

import pytest

from histreg.report.experiment_figures import figure_of
from histreg.study.catalogue import EXPERIMENTS
from histreg.study.methods import (
    MDN,
)
from tests.report.examples import (
    RECORDS,
)
from tests.study.made_up import tabular_records


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_a_figure_can_be_written(name):
    page = io.BytesIO()
    figure_of(name, RECORDS[name]).savefig(page, format="png", dpi=40)
    assert page.getvalue().startswith(b"\x89PNG")


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_a_figure_of_nothing_is_refused(name):
    with pytest.raises(ValueError, match=f"the figure {name} must have records"):
        figure_of(name, [])


@pytest.mark.parametrize(
    "name", ["overall", "overall-validation", "uniform", "training", "rates"]
)
def test_a_figure_of_errors_without_a_finite_run_is_refused(name):
    records = [
        *tabular_records("pole", MDN(2), [1.0], diverged=[1]),
        *tabular_records("pole", MDN(4), [1.0], diverged=[1]),
    ]
    with pytest.raises(ValueError, match="must have finite runs"):
        figure_of(name, records)


def test_a_figure_that_is_not_there_is_refused():
    with pytest.raises(ValueError, match="figure must be one of 'sines', "):
        figure_of("overal", RECORDS["overall"])
