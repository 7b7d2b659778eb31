"""Printed tables, letter by letter."""

import json

import pytest

from histreg.report.printed_table import FORMATS, PrintedTable, shown_number

TABLE = PrintedTable(
    "Errors",
    ("method", "MAE", "apart"),
    [("l2", "1.000 ± 0.100", "+0.5"), ("HL-Gauss", "0.5", "")],
    ["Over 5 seeds.", "Marked * beyond 3."],
)


def test_a_table_of_items_has_a_row_for_each_and_headers_may_repeat():
    columns = [("x", str), ("place", lambda x: f"{x:.1f}"), ("place", lambda _: "")]
    table = PrintedTable.of("Numbers", [1, 2], columns, ["A note."])
    assert table.header == ("x", "place", "place")
    assert table.rows == [("1", "1.0", ""), ("2", "2.0", "")]
    assert (table.title, list(table.notes), table.n_words) == (
        "Numbers",
        ["A note."],
        1,
    )


def test_text_has_words_to_the_left_and_numbers_to_the_right():
    assert TABLE.text().splitlines() == [
        "Errors",
        "------------------------------",
        "method              MAE  apart",
        "------------------------------",
        "l2        1.000 ± 0.100   +0.5",
        "HL-Gauss            0.5",
        "------------------------------",
        "Over 5 seeds.",
        "Marked * beyond 3.",
    ]


def test_a_long_note_is_broken_between_words_in_text():
    note = "word " * 40
    lines = PrintedTable("t", ("a",), [("b",)], [note]).text().splitlines()
    told = lines[6:]
    assert len(told) > 1 and max(map(len, told)) <= 72
    assert " ".join(told).split() == note.split()


def test_markdown_has_a_line_that_aligns_and_notes_as_paragraphs():
    assert TABLE.markdown().splitlines() == [
        "**Errors**",
        "",
        "| method | MAE | apart |",
        "|---|---:|---:|",
        "| l2 | 1.000 ± 0.100 | +0.5 |",
        "| HL-Gauss | 0.5 |  |",
        "",
        "Over 5 seeds.",
        "",
        "Marked * beyond 3.",
    ]


def test_latex_has_the_rules_of_booktabs_and_the_notes_in_the_caption():
    assert TABLE.latex().splitlines() == [
        r"\begin{table}",
        r"\centering",
        r"\caption{Errors. Over 5 seeds. Marked * beyond 3.}",
        r"\begin{tabular}{lrr}",
        r"\toprule",
        r"method & MAE & apart \\",
        r"\midrule",
        r"l2 & 1.000 $\pm$ 0.100 & +0.5 \\",
        r"HL-Gauss & 0.5 &  \\",
        r"\bottomrule",
        r"\end{tabular}",
        r"\end{table}",
    ]


# LaTeX's ten letters with a meaning (lshort, "Special Characters"), and those of ours
# that are not ASCII.
@pytest.mark.parametrize(
    ("letter", "expected"),
    [
        ("#", r"\#"),
        ("$", r"\$"),
        ("%", r"\%"),
        ("^", r"\textasciicircum{}"),
        ("&", r"\&"),
        ("_", r"\_"),
        ("{", r"\{"),
        ("}", r"\}"),
        ("~", r"\textasciitilde{}"),
        ("\\", r"\textbackslash{}"),
        ("±", r"$\pm$"),
        ("≥", r"$\geq$"),
        ("²", "$^2$"),
    ],
)
def test_latex_writes_letters_with_a_meaning_as_themselves(letter, expected):
    table = PrintedTable(letter, (f"a{letter}b",), [(letter,)], [f"See {letter}."])
    lines = table.latex().splitlines()
    assert rf"\caption{{{expected}. See {expected}.}}" in lines
    assert rf"a{expected}b \\" in lines
    assert rf"{expected} \\" in lines


def test_latex_escapes_once():
    table = PrintedTable("t", ("noise_sd=50%",), [])
    assert r"noise\_sd=50\% \\" in table.latex().splitlines()


def test_a_pipe_in_a_cell_does_not_end_it():
    table = PrintedTable("t", ("a|b", "n"), [("|c|", "1")])
    lines = table.markdown().splitlines()
    assert r"| a\|b | n |" in lines
    assert r"| \|c\| | 1 |" in lines


@pytest.mark.parametrize("form", FORMATS)
def test_a_table_without_rows_still_has_its_header(form):
    shown = PrintedTable("Nothing yet", ("method", "MAE"), []).shown(form)
    assert "Nothing yet" in shown and "method" in shown and "MAE" in shown


def test_every_form_is_shown_as_itself():
    shown = [TABLE.shown(form) for form in ("text", "markdown", "latex", "json")]
    assert shown == [TABLE.text(), TABLE.markdown(), TABLE.latex(), TABLE.json()]
    assert len(set(shown)) == len(FORMATS)


def test_a_row_that_is_too_short_is_refused_in_text():
    with pytest.raises(ValueError, match="shorter"):
        PrintedTable("t", ("a", "b"), [("only",)]).text()


def test_several_columns_can_be_words():
    table = PrintedTable("t", ("a", "b", "c"), [("x", "y", "1")], n_words=2)
    wide = PrintedTable("t", ("aa", "bb", "cc"), [("x", "y", "1")], n_words=2)
    assert wide.text().splitlines()[4] == "x   y    1"
    assert table.markdown().splitlines()[3] == "|---|---|---:|"
    assert r"\begin{tabular}{llr}" in table.latex()


def test_long_words_go_on_in_the_next_line():
    words = "word " * 20
    table = PrintedTable("t", ("a", "b"), [(words.strip(), "1"), ("short", "2")])
    first, second, third = table.text().splitlines()[4:7]
    assert first.split() == ["word"] * 13 + ["1"]
    assert second.split() == ["word"] * 7
    assert third.split() == ["short", "2"]
    assert first.index("1") == third.index("2")


def test_words_stay_whole_so_that_a_command_can_be_copied():
    options = [",".join(["HL-Gauss"] * 9), "--models", "a-b"]
    table = PrintedTable("t", ("a", "b"), [(" ".join(["run", *options]), "1")])
    printed = " ".join(table.text().splitlines()[4:-1]).split()
    assert printed == ["run", "1", *options]


def test_numbers_are_shown_as_people_write_them():
    shown = {0.123456: "0.1235", 12345.6: "12,346", -2500.0: "-2,500", 1e12: "1e+12"}
    assert {value: shown_number(value) for value in shown} == shown


def test_json_has_the_cells_as_they_are_shown():
    table = PrintedTable("Errors", ("name", "MAE"), [("a|b", "1 ± 2")], ("Small.",))
    assert json.loads(table.json()) == {
        "title": "Errors",
        "header": ["name", "MAE"],
        "rows": [["a|b", "1 ± 2"]],
        "notes": ["Small."],
    }
