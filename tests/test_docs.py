"""The pages of docs: their code runs, and what they show is so."""

import json
import re
from pathlib import Path
from types import ModuleType

import pytest
import torch
import typer

import histreg
from histreg import Bins, theory
from histreg.cli.study import app as study_app
from tests.pages import DOCS, PAGES, ROOT, blocks, script


def run_in_one_session(parts: list[str], monkeypatch, folder: Path) -> None:
    monkeypatch.chdir(folder)
    torch.manual_seed(0)
    known: dict = {}
    for i, block in enumerate(parts):
        exec(compile(block, f"block {i + 1}", "exec"), known)


@pytest.mark.parametrize("page", [page for page in DOCS if blocks(page, "python")])
def test_the_code_of_a_page_runs_from_top_to_bottom(
    page, capsys, tmp_path, monkeypatch
):
    run_in_one_session(blocks(page, "python"), monkeypatch, tmp_path)
    capsys.readouterr()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # torch.onnx and onnxruntime warn of their parts
def test_the_chapter_on_export_runs_in_onnxruntime(tmp_path, monkeypatch):
    pytest.importorskip("onnxruntime")
    parts = blocks("docs/guide_network.md", "python|py")
    run_in_one_session(parts, monkeypatch, tmp_path)


def test_the_pages_have_blocks_to_run():
    assert sum(len(blocks(page, "python")) for page in DOCS) >= 25


def test_the_table_in_the_guide_is_what_explain_prints():
    bins = Bins.around(0.0, 100.0)
    y = torch.linspace(0, 100, 1000)
    printed = str(theory.explain(bins, sigma=2 * bins.width, y=y))
    shown = blocks("docs/choosing_bins_and_sigma.md", "text")[0].strip()
    # Numbers that are rounding noise differ between machines; words do not.
    assert [line[:34] for line in shown.splitlines()] == [
        line[:34] for line in printed.splitlines()
    ]
    assert shown.splitlines()[3:] == printed.splitlines()[3:]


def test_the_study_s_guide_shows_every_command_and_option():
    text = (ROOT / "docs" / "guide_study.md").read_text()
    for name, command in typer.main.get_command(study_app).commands.items():
        assert f"| `{name}" in text
        for parameter in command.params:
            for option in parameter.opts:
                assert not option.startswith("--") or option in text, option


@pytest.mark.parametrize(
    ("name", "n_blocks"),
    [
        ("paper", 11),
        ("analysis", 9),
        ("forecasts", 5),
        ("values", 4),
        ("claims", 2),
        ("choosing_bins_and_sigma", 4),
        ("comparison", 5),
        ("regressor", 5),
    ],
)
def test_pages_have_tables_of_records(name, n_blocks):
    page = (ROOT / "docs" / f"{name}.md").read_text()
    assert page.count("<!-- end -->") >= n_blocks


@pytest.mark.parametrize(
    "page", [page for page in PAGES if "<!-- end -->" in (ROOT / page).read_text()]
)
def test_what_pages_say_of_the_records_is_what_the_records_say(page):
    text = (ROOT / page).read_text()
    assert script("refresh.py").refreshed(text) == text


def test_what_the_page_on_survival_shows_is_what_its_records_say():
    lines = (ROOT / "results" / "survival.jsonl").read_text().splitlines()
    table = script("survival.py", "benchmarks").table(list(map(json.loads, lines)))
    assert table in (ROOT / "docs" / "survival.md").read_text()


def test_what_the_page_on_the_regressor_says_of_rows_is_what_their_records_say():
    lines = (ROOT / "results" / "rows.jsonl").read_text().splitlines()
    table = script("rows.py", "benchmarks").printed(list(map(json.loads, lines)))
    assert table in (ROOT / "docs" / "regressor.md").read_text()


def test_what_the_page_on_critics_shows_is_what_its_records_say():
    benchmark = script("critics.py", "benchmarks")
    records = benchmark.read(ROOT / "results" / "critics.jsonl")
    page = (ROOT / "docs" / "critics.md").read_text()
    for shown in (benchmark.table, benchmark.differences, benchmark.starts):
        assert shown(records) in page


def test_what_the_guide_says_of_int8_is_what_its_records_say():
    lines = (ROOT / "results" / "int8.jsonl").read_text().splitlines()
    records = list(map(json.loads, lines))
    changes = [f"{100 * record['change']:+.2f}" for record in records]
    scores = [f"{record['crps']['float32']:.2f}" for record in records]
    page = (ROOT / "docs" / "guide_network.md").read_text().replace("\n", " ")
    for first, second, third in (scores, changes):
        assert f"{first}, {second} and {third}" in page
    largest = max(abs(record["change"]) for record in records)
    frameworks = (ROOT / "docs" / "frameworks.md").read_text()
    assert f"the CRPS changes by at most {100 * largest:.2f} %" in frameworks


def test_what_the_page_on_frameworks_says_of_its_recipes_is_what_their_records_say():
    lines = (ROOT / "results" / "recipes.jsonl").read_text().splitlines()
    page = (ROOT / "docs" / "frameworks.md").read_text()
    for record in map(json.loads, lines):
        (row,) = re.findall(rf"^\| {record['recipe']} \|.*", page, re.MULTILINE)
        assert f" {record['number']:.2f} " in row
        assert set(record["environment"].values()) & set(row.split(" | "))  # version


def test_what_the_page_on_forecasting_shows_is_what_its_records_say():
    benchmark = script("forecasting.py", "benchmarks")
    table = benchmark.table(benchmark.read(ROOT / "results" / "forecasting.jsonl"))
    assert table in (ROOT / "docs" / "forecasting.md").read_text()


def test_every_public_name_is_in_the_reference():
    pages = (ROOT / "docs" / "api").glob("*.md")
    text = "\n".join(page.read_text() for page in pages)
    for name in histreg.__all__:
        whole = isinstance(getattr(histreg, name), ModuleType)
        kind = "automodule" if whole else "auto(?:class|data|exception)"
        is_there = re.search(rf"^\.\. {kind}:: histreg\.{name}$", text, re.MULTILINE)
        assert is_there or name == "Tail", name  # which histreg.tails has
    assert ".. automodule:: histreg.tabular\n" in text


def test_links_that_lead_nowhere_are_found(tmp_path):
    (tmp_path / "b.html").write_text('<p id="here">')
    links = ["b.html#here", "b.html", "https://example.org/", "#top"]
    wrong = ["c.html", "b.html#there", "#bottom", "picture.png"]
    page = "".join(f'<a href="{link}">' for link in (*links, *wrong))
    (tmp_path / "a.html").write_text(f'<p id="top">{page}')
    assert script("links.py").broken_links(tmp_path) == [
        f"a.html: {link}" for link in wrong
    ]


def test_pages_are_weighed_with_what_they_load(tmp_path):
    links = script("links.py")
    (tmp_path / "style.css").write_text("x" * 1000)
    (tmp_path / "picture.png").write_bytes(b"x" * 10_000)
    (tmp_path / "data.csv").write_text("x" * 100_000)
    page = tmp_path / "page.html"
    page.write_text(
        '<link rel="stylesheet" href="style.css?v=1"><a href="data.csv">data</a>'
        '<img loading="lazy" src="picture.png"><img src="picture.png">'
        '<img src="data:image/png;base64,AAAA">'
    )
    assert links.weight(page) == page.stat().st_size + 11_000
    assert links.heavy_pages(tmp_path) == []
    (tmp_path / "picture.png").write_bytes(b"x" * 1000 * links.MAX_KB)
    assert len(links.heavy_pages(tmp_path)) == 1


def test_files_of_other_sites_are_found(tmp_path):
    loaded = '<img src="https://example.org/badge.svg">'
    (tmp_path / "page.html").write_text(f'<a href="https://example.org/">{loaded}')
    assert script("links.py").remote_files(tmp_path) == [
        "page.html: https://example.org/badge.svg"
    ]


def test_versions_of_the_site_are_listed_and_the_newest_release_is_shown(tmp_path):
    versions = script("versions.py")
    site, pages = tmp_path / "site", tmp_path / "pages"
    site.mkdir()
    with pytest.raises(SystemExit, match=r"index\.html"):
        versions.publish(site, pages, "0.1.0")
    for name in ("dev", "0.9.0", "0.10.0", "0.10.0rc2", "0.10.0rc1", "1.0rc1"):
        (site / "index.html").write_text(name)
        listed = versions.publish(site, pages, name)
    assert listed == ["dev", "1.0rc1", "0.10.0", "0.10.0rc2", "0.10.0rc1", "0.9.0"]
    in_file = json.loads((pages / "versions.json").read_text())
    assert [each["name"] for each in in_file] == listed
    for name in listed:
        assert (pages / name / "index.html").read_text() == name
    assert "url=0.10.0/" in (pages / "index.html").read_text()
    with pytest.raises(SystemExit, match=r"or dev, got \.\./x"):
        versions.publish(site, pages, "../x")


def test_every_picture_is_drawn_by_one_script():
    pictures = {path.stem for path in (ROOT / "docs" / "images").glob("*.png")}
    assert pictures == {*script("draw.py").PICTURES, "report"}


def test_the_index_has_every_page():
    index = (ROOT / "docs" / "index.md").read_text()
    for page in DOCS:
        assert f"]({Path(page).name})" in index or page == "docs/index.md", page
