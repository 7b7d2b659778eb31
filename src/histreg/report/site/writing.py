"""Writing the site: pages from templates, into a folder that is complete or absent."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup, escape

from histreg._files import atomic_folder
from histreg.report.beside_paper import FAR_APART
from histreg.report.claim_tables import HOW_COUNTED
from histreg.report.coverage_tables import cells_beyond, coverage_summary
from histreg.report.site import story
from histreg.report.site.downloads import csv_of, jsonl_of
from histreg.report.site.experiment_pages import ExperimentPage, neighbours
from histreg.report.site.headline import headline, what_was_run
from histreg.report.site.inconsistencies import inconsistencies
from histreg.report.site.loss_page import RANGE, recommended_bias, snapshots_of
from histreg.report.site.page_figures import page_figure
from histreg.report.site.page_tables import SYMBOLS, class_of, page_table
from histreg.report.site.study_results import SUBSET, StudyResults
from histreg.study.catalogue import EXPERIMENTS
from histreg.study.claims import CLAIMS, HOW_DECIDED, Verdict
from histreg.study.datasets import source
from histreg.study.engine.store import Store

GENERATOR = "histreg study report"
STATIC = (
    "site.css",
    *("drawing.js", "loss.js", "loss_page.js", "network.js", "network_page.js"),
)
Progress = Callable[[str, int, int], None]
"""Called with the page that is written next, how many are done, and their number."""


def is_site(folder: Path) -> bool:
    """Return whether a folder is a site of the study, which may be replaced."""
    page = folder / "index.html"
    mark = f'<meta name="generator" content="{GENERATOR}">'
    return page.is_file() and mark in page.read_text(encoding="utf-8", errors="replace")


def write_site(store: Store, out: Path, on_page: Progress | None = None) -> int:
    """Write all pages of a store's records; return how many there are.

    Parameters
    ----------
    store : Store
    out : Path
        A folder: new, empty, or an earlier site, which is replaced once the new one is
        complete.
    on_page : callable, optional
    """
    with atomic_folder(out, may_replace=is_site) as folder:
        study = StudyResults.of(store)
        site = _Site(study, folder)
        makers = site.makers()
        for n, (name, make) in enumerate(makers.items()):
            if on_page is not None:
                on_page(name, n, len(makers))
            make()
        for name in STATIC:
            text = files("histreg.report.site").joinpath("static", name).read_text()
            site.write(f"static/{name}", text)
    return len(makers)


class _Site:
    """A site that is being written."""

    def __init__(self, study: StudyResults, folder: Path) -> None:
        self.study, self.folder = study, folder
        self.environment = jinja2.Environment(
            loader=jinja2.PackageLoader("histreg.report.site"),
            autoescape=True,
            undefined=jinja2.StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        self.environment.filters |= {"page_table": page_table, "code": with_code}
        everything = study.everything.values()
        self.environment.globals |= {
            "generator": GENERATOR,
            "version": version("histreg"),
            "n_records": len(everything),
            "newest": max(record.finished for record in everything)[:10],
            "SYMBOLS": SYMBOLS,
            "class_of": class_of,
            "experiments": EXPERIMENTS,
            "subset": source(SUBSET),
            "claim_links": {name: f"claims.html#{name}" for name in CLAIMS},
        }

    def makers(self) -> dict[str, Callable[[], None]]:
        """Return the functions that write pages, by the names that progress shows."""
        pages: dict[str, Callable[[], None]] = {
            "front page": self.front,
            "claims": self.claims,
            "the loss": self.loss,
            "inconsistencies": self.inconsistencies,
        }
        for name in EXPERIMENTS:
            pages[name] = lambda name=name: self.experiment(name)  # type: ignore[misc]
        return pages

    def front(self) -> None:
        of_paper, others = self.study.by_origin
        judged = self.study.judged
        counts = Counter(each.verdict for each in of_paper)
        links = {e.title: f"experiments/{e.name}.html" for e in EXPERIMENTS.values()}
        effects = story.effects_of(self.study.evidence)
        self.render(
            "index.html",
            "front.html",
            range=RANGE,
            answer=story.answer(effects),
            effects=page_figure(story.draw_effects(effects), "effects")
            if effects
            else None,
            when=story.when_section(judged, self.study.evidence),
            why=story.why_sections(judged, self.study.evidence),
            failed=story.failed(of_paper),
            advice=story.advice(),
            use=story.section(judged, "", "", story.USE),
            headline=headline(self.study.records["overall"]),
            counts=[(verdict, counts[verdict]) for verdict in Verdict],
            of_paper=story.run_first(of_paper),
            others=story.run_first(others),
            on_subset=self.study.on_subset,
            coverage=coverage_summary(self.study.coverage),
            run=what_was_run(self.study),
            run_links=links,
        )

    def claims(self) -> None:
        of_paper, others = self.study.by_origin
        self.render(
            "claims.html",
            "claims.html",
            how=(HOW_DECIDED, HOW_COUNTED),
            of_paper=story.run_first(of_paper),
            others=story.run_first(others),
            on_subset=self.study.on_subset,
        )

    def loss(self) -> None:
        records = self.study.records.get("snapshots", ())
        self.render(
            "loss.html",
            "loss.html",
            range=RANGE,
            bias=recommended_bias(),
            snapshots=snapshots_of(records),
        )

    def inconsistencies(self) -> None:
        entries = inconsistencies(self.study.evidence)
        self.render(
            "inconsistencies.html",
            "inconsistencies.html",
            entries=entries,
            differences=cells_beyond(self.study.coverage, FAR_APART),
        )

    def experiment(self, name: str) -> None:
        page = ExperimentPage.of(EXPERIMENTS[name], self.study)
        before, after = neighbours(name)
        files: Mapping[str, str] = {}
        if page.records:
            files = {
                f"{name}.csv": csv_of(page.records),
                f"{name}.jsonl": jsonl_of(page.records),
            }
        for file, text in files.items():
            self.write(f"data/{file}", text)
        sizes = {file: _size(len(text.encode())) for file, text in files.items()}
        self.render(
            f"experiments/{name}.html",
            "experiment.html",
            root="../",
            page=page,
            files=sizes,
            before=before,
            after=after,
        )

    def render(self, path: str, template: str, root: str = "", **context: Any) -> None:
        """Write a page; root leads from it to the front page's folder."""
        page = self.environment.get_template(template)
        self.write(path, page.render(root=root, path=path, **context))

    def write(self, path: str, text: str) -> None:
        """Write a file of the site."""
        file = self.folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")


def with_code(text: str) -> Markup:
    """Return a text as HTML, with what is between backticks as code."""
    parts = [escape(part) for part in text.split("`")]
    return Markup("").join(
        Markup("<code>{}</code>").format(part) if i % 2 else part
        for i, part in enumerate(parts)
    )


def _size(n_bytes: int) -> str:
    if n_bytes < 1e6:
        return f"{max(1, round(n_bytes / 1e3))} kB"
    return f"{n_bytes / 1e6:.1f} MB"
