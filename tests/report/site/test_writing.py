"""The site: whole, linked, light, and without complaints in a browser."""

import re
from html.parser import HTMLParser
from urllib.parse import unquote, urldefrag

import pytest

from histreg.report.site import writing
from histreg.report.site.writing import is_site, with_code, write_site
from histreg.study.catalogue import EXPERIMENTS
from histreg.study.claims import CLAIMS, Origin
from histreg.study.engine.store import Store
from tests.report.examples import RECORDS

KINDS = ["index", "claims", "loss", "inconsistencies", "experiments/overall"]
LARGEST = 300_000  # bytes of a page


class Anchors(HTMLParser):
    def __init__(self, page):
        super().__init__()
        self.names, self.links, self.found = [], [], {}
        self.feed(page.read_text())

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        self.found.setdefault(tag, []).append(given)
        if "id" in given:
            self.names.append(given["id"])
        for name in ("href", "src"):
            if name in given:
                self.links.append(given[name])


@pytest.fixture(scope="module")
def pages(site):
    return {page: Anchors(page) for page in sorted(site.rglob("*.html"))}


def test_there_is_a_page_for_each_experiment_and_four_more(site, pages):
    assert len(pages) == len(EXPERIMENTS) + 4
    for name in EXPERIMENTS:
        assert (site / "experiments" / f"{name}.html") in pages


def test_all_links_lead_somewhere_on_the_site(pages):
    n_links = 0
    for page, found in pages.items():
        assert len(set(found.names)) == len(found.names), page
        for link in found.links:
            if link.startswith(("https://", "data:")):
                continue
            address, anchor = urldefrag(unquote(link))
            # A drawing refers to its own parts.
            to = (page.parent / address).resolve() if address else page
            assert to.is_file(), f"{page.name}: {link}"
            if anchor:
                assert anchor in pages[to].names, f"{page.name}: {link}"
            n_links += 1
    assert n_links > 300


def test_every_claim_has_an_anchor_that_the_front_page_links_to(site, pages):
    front, claims = pages[site / "index.html"], pages[site / "claims.html"]
    for name in CLAIMS:
        assert name in claims.names
        assert f"claims.html#{name}" in front.links


def test_a_subset_is_named_as_none_of_the_papers_data(site):
    for name in ("index", "claims"):
        text = (site / f"{name}.html").read_text()
        assert "song-7000" in text
        assert "not the paper\u2019s data" in text


def test_claims_of_ours_come_after_those_of_the_paper(site, pages):
    names = pages[site / "claims.html"].names
    for name, claim in CLAIMS.items():
        is_after = names.index(name) > names.index("ours")
        assert is_after == (claim.origin is not Origin.PAPER)
    n = sum(claim.origin is Origin.PAPER for claim in CLAIMS.values())
    assert f"{n} claims of the paper" in (site / "index.html").read_text()


def test_the_front_page_counts_the_paper_s_numbers_and_leads_to_the_far_ones(site):
    front = (site / "index.html").read_text()
    table = front.split('id="coverage"')[1].split("</table>")[0]
    cells = re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", table)
    total = cells[-11:]
    # l2 and HL-Gauss in Tables 7 and 9, HL-Gauss and HL-OneBin in 2 and 8, of five
    # seeds; and HL-Gauss on CT Position in Tables 1, 2, 3 and 8, of one.
    n_complete = 3 * 4 + 2 * 4 + 2 * 1 + 2 * 4
    assert total[:5] == ["all", "412", str(n_complete), "13", str(412 - 30 - 13)]
    assert 'href="inconsistencies.html#differences"' in front
    page = (site / "inconsistencies.html").read_text().split('id="differences"')[1]
    assert ">Pole, l2</th>" in page
    assert "of 412 cells" in page


def test_pages_say_their_language_title_and_one_heading(pages):
    titles = set()
    for page, found in pages.items():
        assert found.found["html"] == [{"lang": "en"}]
        assert len(found.found["h1"]) == 1
        assert len(found.found["main"]) == 1
        titles.add(re.search("<title>(.+)</title>", page.read_text())[1])
    assert len(titles) == len(pages)


def test_every_picture_has_a_text_alternative(pages):
    n_pictures = 0
    for page, found in pages.items():
        for each in found.found.get("svg", []):
            n_pictures += 1
            told = each.get("aria-label") or each.get("aria-labelledby")
            assert each["role"] == "img" and told, page
        for each in found.found.get("img", []):
            assert each["alt"], page
    assert n_pictures >= 6


def test_pages_are_light(pages):
    for page in pages:
        assert page.stat().st_size < LARGEST, page


def test_an_experiment_without_records_is_called_not_run(site):
    text = (site / "experiments" / "sines.html").read_text()
    assert "<strong>Not run.</strong>" in text
    assert not (site / "data" / "sines.csv").exists()
    assert (site / "data" / "overall.csv").exists()


def test_the_loss_page_without_snapshots_says_so(tmp_path):
    store = Store(tmp_path / "store")
    store.save(*RECORDS["bound"])
    told = []
    n_pages = write_site(store, tmp_path / "site", lambda *now: told.append(now))
    text = (tmp_path / "site" / "loss.html").read_text()
    assert "<code>histreg study run snapshots</code>" in text
    assert 'id="epoch"' not in text
    assert told[0] == ("front page", 0, n_pages)
    assert told[-1] == ([*EXPERIMENTS][-1], n_pages - 1, n_pages)


def test_a_site_is_replaced_and_anything_else_is_not(store, tmp_path, monkeypatch):
    monkeypatch.setattr(writing, "EXPERIMENTS", {})
    monkeypatch.setattr(writing._Site, "makers", lambda self: {"front": lambda: None})
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "thesis.tex").write_text("years of work")
    with pytest.raises(
        ValueError, match="contains files that this command did not write"
    ):
        write_site(store, mine)
    assert [each.name for each in mine.iterdir()] == ["thesis.tex"]
    mark = f'<meta name="generator" content="{writing.GENERATOR}">'
    (mine / "index.html").write_text(mark)
    assert is_site(mine)
    write_site(store, mine)
    assert [each.name for each in mine.iterdir()] == ["static"]


def test_the_front_page_says_that_it_is_ours(site):
    assert is_site(site)
    assert not is_site(site / "static")


def test_code_is_marked_and_the_rest_escaped():
    assert with_code("a `b<c` <d>") == "a <code>b&lt;c</code> &lt;d&gt;"


@pytest.mark.parametrize("width", [1200, 390])
def test_a_browser_complains_of_nothing_and_no_page_is_too_wide(site, browser, width):
    how = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", how)
    for name in KINDS:
        browser.get((site / f"{name}.html").as_uri())
        overflow = browser.execute_script(
            "return document.documentElement.scrollWidth - window.innerWidth"
        )
        assert overflow <= 0, name
        assert browser.get_log("browser") == [], name
    browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_on_a_phone_words_are_not_cut_at_the_edge(site, browser):
    how = {"width": 390, "height": 900, "deviceScaleFactor": 1, "mobile": True}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", how)
    for name in ("index", "claims"):
        browser.get((site / f"{name}.html").as_uri())
        hidden = browser.execute_script(
            "return [...document.querySelectorAll('.stacked')].map((table) =>"
            " table.parentElement.scrollWidth - table.parentElement.clientWidth)"
        )
        assert hidden and set(hidden) == {0}, name
    browser.get((site / "index.html").as_uri())
    beyond = browser.execute_script(
        "return [...document.querySelectorAll('.headline td')].filter((cell) =>"
        " cell.scrollWidth > cell.clientWidth).map((cell) => cell.textContent)"
    )
    assert beyond == []
    browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_on_paper_a_figure_is_not_taller_than_a_page(site, browser):
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    heights = []
    for page in sorted(site.rglob("*.html")):
        browser.get(page.as_uri())
        heights += browser.execute_script(
            "return [...document.querySelectorAll('.drawing')].map((each) =>"
            " each.getBoundingClientRect().height)"
        )
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
    assert min(heights) > 0
    assert max(heights) < 25 / 2.54 * 96  # of 29.7 cm, in CSS's pixels


def test_dark_pages_have_light_ink_in_drawings_too(site, browser):
    def ink(scheme):
        feature = {"name": "prefers-color-scheme", "value": scheme}
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [feature]})
        return browser.execute_script(
            "return ['body', '.drawing text'].map((each) => {"
            " const style = getComputedStyle(document.querySelector(each));"
            " return each === 'body' ? style.color : style.fill })"
        )

    browser.get((site / "index.html").as_uri())
    light, dark = ink("light"), ink("dark")
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
    assert light[0] == light[1] and dark[0] == dark[1]
    assert light != dark
