"""Update the tables of a page from the committed records.

    python docs/refresh.py README.md docs/paper.md

A block between ``<!-- table NAME OPTIONS -->`` and ``<!-- end -->`` becomes what
``histreg study table NAME OPTIONS --format markdown --store results/study`` prints;
those after ``<!-- claims OPTIONS -->`` and ``<!-- coverage OPTIONS -->`` likewise.
``<!-- peers SCORE -->`` becomes the table of a score, such as ``crps``, of the records
of ``benchmarks/regressor.py`` in results/regressor.jsonl, and ``<!-- parts SCORE -->``
that of our regressor and its parts. ``<!-- standing -->`` becomes a paragraph on the
regressor beside its peers. A table without records becomes a note.
"""

from __future__ import annotations

import importlib.util
import json
import re
import shlex
import statistics
import sys
import textwrap
from pathlib import Path
from types import ModuleType

from typer.testing import CliRunner

from histreg.cli import app
from histreg.report.peer_tables import CONSTANT
from histreg.study.analysis.peer_scores import PeerScores
from histreg.study.catalogue import EXPERIMENTS
from histreg.study.claims.goals import MOST_BEHIND
from histreg.study.datasets import FRAMES
from histreg.study.engine.store import Store
from histreg.study.tables.metrics import CRPS, FIT_S, PREDICT_S
from histreg.study.tables.peers import OURS

ROOT = Path(__file__).parents[1]
RECORDS = ROOT / "results" / "study"
NOTHING = "must have records, got none yet"
PEERS = ROOT / "results" / "regressor.jsonl"
BLOCK = re.compile(
    r"(<!-- ((?:table|claims|coverage|peers|parts|standing)\b.*?) -->\n)"
    r".*?(<!-- end -->)",
    re.DOTALL,
)


def printed(command: str) -> str:
    """Return what a command prints for the committed records."""
    name, _, score = command.partition(" ")
    if name in ("peers", "parts"):
        return scores_by_set(score, of_parts=name == "parts")
    if command == "standing":
        return standing()
    arguments = ["study", *shlex.split(command)]
    arguments += ["--format", "markdown", "--store", str(RECORDS)]
    result = CliRunner().invoke(app, arguments)
    if result.exit_code and NOTHING in result.output:
        return f"Not run yet: `histreg study run {arguments[2]}`.\n"
    if result.exit_code:
        raise ValueError(f"{command}: {result.output}")
    return result.stdout


def scores_by_set(name: str, *, of_parts: bool) -> str:
    """Return the table of a score for all data sets, of our parts or of packages."""
    benchmark = module_at(ROOT / "benchmarks" / "regressor.py")
    records = [json.loads(line) for line in PEERS.read_text().splitlines()]
    sets = [s for s in benchmark.DATA_SETS if any(r["set"] == s for r in records)]
    shown = benchmark.OURS | benchmark.PARTS
    if not of_parts:
        shown = benchmark.OURS | benchmark.PEERS
    known = {r["method"] for r in records if name in r}
    methods = [method for method in shown if method in known]
    lines = ["| | " + " | ".join(sets) + " |", "|---" + "|---:" * len(sets) + "|"]
    for method in methods:
        cells = []
        for data_set in sets:
            runs = (data_set, method)
            mine = [r for r in records if (r["set"], r["method"]) == runs]
            values = [r[name] for r in mine if name in r]
            mean = sum(values) / len(values) if values else None
            cells.append(benchmark.shown(mean, name))
            if 0 < len(values) < benchmark.N_SEEDS:
                cells[-1] += " †"
        lines.append(f"| {method} | " + " | ".join(cells) + " |")
    note = "Mean over three seeds; † over fewer. A dash: not run."
    return "\n".join(lines) + f"\n\n{note}\n"


def standing() -> str:
    """Return how our regressor compares with others: accuracy, losses and time."""
    store = Store(RECORDS)
    seen = store.records(EXPERIMENTS["tables"].runs)
    unseen = store.records(EXPERIMENTS["tables-last"].runs)
    scores = PeerScores.of(unseen or seen)
    fewest, most = min(scores.n_folds()), max(scores.n_folds())
    if unseen:
        rows = "The rows were not used for any choice."
    else:
        number = f"{most}" if fewest == most else f"{fewest} to {most}"
        rows = (
            f"These numbers flatter histreg: they come from {number} of the four "
            "development folds of each table, on which its defaults were also chosen."
        )
    on_average = ", ".join(
        f"{peer} {statistics.geometric_mean(ratios.values()):.2f}"
        + (f" ({len(ratios)} tables)" if len(ratios) < len(scores.tables) else "")
        for peer in scores.peers
        if peer != CONSTANT and (ratios := scores.ratios(peer, CRPS))
    )
    n_best = [scores.best(table) for table in scores.tables].count(OURS)
    behind = [s for s in scores.standings() if s.ratio > MOST_BEHIND]
    losses = ", ".join(
        f"{s.table} ({FRAMES[s.table].n_rows:,} rows, {s.ratio:.2f} times that of "
        f"{s.best})"
        for s in sorted(behind, key=lambda s: -s.ratio)
    )
    fit, predict = (
        statistics.median(scores.ratios("CatBoost", metric).values())
        for metric in (FIT_S, PREDICT_S)
    )
    lines = [
        "**Accuracy**: its CRPS (the error of the whole distribution) divided by that "
        "of each other method, as a geometric mean over the tables; below 1, histreg "
        f"is better: {on_average}. It had the lowest CRPS of all methods that were run "
        f"on {n_best} of {len(scores.tables)} tables. {rows}",
        f"**Where it loses**: its CRPS was more than {100 * (MOST_BEHIND - 1):.0f} % "
        f"above that of the best other method on {losses or 'no table'}.",
        f"**Time**: fits took {fit:.1f} times as long as CatBoost's, and predictions "
        f"{predict:.1f} times as long (medians, on a machine busy with other work).",
    ]
    return "".join(
        textwrap.fill(
            line,
            120,
            initial_indent="- ",
            subsequent_indent="  ",
            break_long_words=False,
            break_on_hyphens=False,
        )
        + "\n"
        for line in lines
    )


def module_at(path: Path) -> ModuleType:
    """Return a script as a module."""
    specification = importlib.util.spec_from_file_location(path.stem, path)
    assert specification is not None and specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def refreshed(text: str) -> str:
    """Return a page with its tables updated."""
    return BLOCK.sub(lambda m: m[1] + "\n" + printed(m[2]) + "\n" + m[3], text)


if __name__ == "__main__":
    for name in sys.argv[1:]:
        page = Path(name)
        page.write_text(refreshed(page.read_text()))
