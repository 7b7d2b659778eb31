"""Tables on a page: cells with classes for their style."""

import pytest

from histreg.report.printed_table import PrintedTable
from histreg.report.site.page_tables import SYMBOLS, class_of, distance, page_table
from histreg.study.claims import Verdict

TABLE = PrintedTable(
    "Errors",
    ("method", "test MAE", "paper", "apart"),
    [
        ("l2", "1.0", "1.1", "-0.9"),
        ("l1", "2.0", "1.1", "+3.5*"),
        ("ours", "1", "", ""),
    ],
    ["A note."],
)


def test_a_table_keeps_its_texts_title_and_notes():
    found = page_table(TABLE)
    assert [[each.text for each in row] for row in found.rows] == [
        list(row) for row in TABLE.rows
    ]
    assert [each.text for each in found.header] == list(TABLE.header)
    assert (found.title, found.notes) == ("Errors", ["A note."])
    assert found.has_names_alone


@pytest.mark.parametrize(
    ("apart", "kind"),
    [
        ("+0.0", "near"),
        ("-1.0", "near"),
        ("+1.1", "fair"),
        ("-3.0", "fair"),
        ("-3.0*", "better"),  # 3.04, say
        ("+12.5*", "worse"),
        ("+inf*", "worse"),
    ],
)
def test_differences_are_near_fair_better_or_worse(apart, kind):
    assert distance(apart) == kind


def test_only_differences_are_coloured():
    kinds = [[each.kind for each in row] for row in page_table(TABLE).rows]
    assert kinds[0] == ["short", "number", "number", "number near"]
    assert kinds[1][3] == "number worse"
    assert kinds[2][3] == "number"  # the paper has no such number


def test_verdicts_have_symbols_that_differ_without_colour():
    table = PrintedTable("", ("verdict",), [(each,) for each in Verdict])
    cells = [row[0] for row in page_table(table).rows]
    symbols, words = zip(*(cell.text.split(" ", 1) for cell in cells), strict=True)
    assert len({*symbols}) == len(SYMBOLS) == len(Verdict)
    assert list(words) == list(Verdict)
    kinds = {word: cell.kind for word, cell in zip(words, cells, strict=True)}
    assert kinds["not significant"] == "short verdict not-significant"
    assert kinds["holds so far"] == "short verdict holds-so-far"
    assert class_of(Verdict.NOT_RUN) == "not-run"


def test_cells_lead_where_they_are_told_to():
    (row, *_) = page_table(TABLE, {"l2": "there.html"}).rows
    assert [each.link for each in row] == ["there.html", "", "", ""]


def test_long_words_may_be_broken_and_short_ones_not():
    table = PrintedTable("", ("a", "b"), [("x", "a sentence of many words")], n_words=2)
    assert [each.kind for each in page_table(table).header] == ["short", "short"]
    table = PrintedTable("", ("a", "b"), [("x", "a sentence " * 3)], n_words=2)
    assert [each.kind for each in page_table(table).header] == ["short", "words"]
    assert not page_table(table).has_names_alone


def test_a_table_without_rows_has_a_header():
    assert len(page_table(PrintedTable("", ("a", "b"), [])).header) == 2
