"""The story of the front page: its sentences say what the records say."""

import math
import re

import pytest

from histreg.report.site import story
from histreg.report.site.story import Effect
from histreg.study.analysis.comparisons import Comparison
from histreg.study.claims import CLAIMS, Verdict


def effect(label, *ratios, group=story.TABLES):
    return Effect(group, label, Comparison(tuple(map(math.log, ratios))))


def test_effects_are_ratios_of_errors_paired_by_seed(study):
    by_label = {each.label: each for each in story.effects_of(study.evidence)}
    pole = by_label["Pole"]
    ratios = [0.7 / 1.0, 0.72 / 1.1, 0.7 / 1.1, 0.7 / 1.0, 0.74 / 1.1]
    assert pole.ratio == pytest.approx(math.prod(ratios) ** 0.2)
    assert pole.is_decided and pole.logs.n == 5
    assert by_label.keys() == {"Pole"}  # CT has one loss alone


def test_the_answer_counts_data_sets_and_names_what_is_decided():
    effects = [
        effect("A", 0.5, 0.5, 0.5001),
        effect("B", 0.9, 1.0, 0.95),
        effect("S, Linear", 2.0, 2.0, group=story.SERIES),
    ]
    assert story.answer(effects) == (
        "HL-Gauss has a lower test MAE than the squared error on 2 of 2 tables (by "
        "50 % on A) and none of 1 forecasters of series."
    )
    assert "No data set" in story.answer([])


def test_a_single_seed_decides_nothing():
    assert not effect("A", 0.1).is_decided
    assert effect("A", 0.1, 0.1001).is_decided


def test_the_figure_has_a_row_for_each_data_set():
    figure = story.draw_effects([effect("A", 0.5, 0.6), effect("B", 3.0)])
    (ax,) = figure.axes
    assert [tick.get_text() for tick in ax.get_yticklabels()] == ["A", "B"]
    low, high = ax.get_xlim()
    assert low < 0.5 and high > 3.0


@pytest.mark.parametrize(
    "names", [story.WHEN[2], *(e[2] for e in story.WHY), story.USE]
)
def test_sections_name_claims_that_exist(names):
    assert {*names} <= {*CLAIMS}


def test_texts_of_sections_have_no_numbers():
    for title, text, _ in (story.WHEN, *story.WHY):
        assert not re.search(r"\d", title + text)


def test_a_section_counts_what_was_run_only(study):
    section = story.section(study.judged, *story.WHEN)
    assert section.n_open + len(section.claims) == len(story.WHEN[2])
    assert all(each.verdict is not Verdict.NOT_RUN for each in section.claims)
    assert section.summary.startswith(story.verdicts_in_words(section.claims))
    assert (f"{section.n_open} more not run." in section.summary) == bool(
        section.claims and section.n_open
    )
    assert story.verdicts_in_words([]) == "None of this was run."


def test_what_was_not_run_comes_last(study):
    ordered = story.run_first(study.judged)
    is_open = [each.verdict is Verdict.NOT_RUN for each in ordered]
    assert is_open == sorted(is_open) and True in is_open and False in is_open
    assert len(ordered) == len(study.judged)


def test_what_failed_is_what_was_refuted_or_depends(study):
    for each in story.failed(study.judged):
        assert each.verdict in (
            Verdict.REFUTED,
            Verdict.FAILS_SO_FAR,
            Verdict.DEPENDS,
        )


def test_the_advice_is_the_library_s_recommendation():
    assert story.advice().startswith("100 bins, a sigma of 2 bins and a padding of 3 ")
