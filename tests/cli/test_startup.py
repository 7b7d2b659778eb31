"""Start-up: which libraries a command loads before it answers."""

import subprocess
import sys

import pytest

LIBRARIES = ["torch", "sklearn", "scipy", "pandas", "numpy", "pyarrow", "matplotlib"]
CODE = """
import sys
from histreg.__main__ import main

sys.argv[0] = "histreg"
try:
    main()
except SystemExit as stop:
    code = stop.code or 0
else:
    code = 0
print("LOADED", code, *sys.modules)
"""
COMMANDS = [
    "demo",
    "check",
    "compare",
    "fit",
    "tune",
    "predict",
    "inspect",
    "explain",
    "report",
    "serve",
]
STUDY = ["list", "run", "status", "collect", "table", "claims", "figure", "report"]
FIT = "fit t.csv --target y --out m"
PREDICT = "predict m t.csv"
REFUSED = [
    "nonsense",
    "study nonsense",
    "fit",
    "fit t.csv --target y",
    "predict m",
    "fit no.csv --target y --out m",
    "fit t.txt --target y --out m",
    "predict m no.csv",
    "report m no.csv --out r.html",
    f"{FIT} --holdout 1",
    f"{FIT} --nonsense",
    f"{FIT} --eval no.csv",
    f"{FIT} --format pdf",
    f"{FIT} --time a --groups b",
    "check no.csv --target y",
    "check t.csv --target y --format pdf",
    "compare no.csv --target y",
    "compare t.csv --target y --folds 1",
    "tune no.csv --target y",
    "tune t.csv --target y --time-budget never",
    f"{FIT} --epochs many",
    f"{FIT} --spacing nope",
    f"{FIT} --tails nope",
    f"{FIT} --loss nope",
    f"{FIT} --epochs 0",
    f"{FIT} --bins 1",
    f"{FIT} --seed -1",
    f"{FIT} --range 2 1",
    f"{FIT} --drop y",
    f"{FIT} --decimal !",
    f"{FIT} --delimiter ::",
    f"{FIT} --save-holdout rows.txt",
    "fit t.csv --target y --out t.csv",
    f"{PREDICT} --method nope",
    f"{PREDICT} --interval 90",
    f"{PREDICT} --quantiles 2",
    f"{PREDICT} --above nan",
    f"{PREDICT} --decimal !",
    f"{PREDICT} --out p.txt",
    "report m t.csv --out r.pdf",
    "explain m no.csv",
    "serve m --port 0",
    "explain m t.csv --row 0",
    "explain m t.csv --format nope",
    "explain m t.csv --plot p.txt",
    "study run bound --jobs 0",
    "study run bound --data-dir no",
    "study table bound --format pdf",
    "study claims --format pdf",
    "study figure bound --out a.txt",
    "study collect bound --out t.csv",
]


def loaded_by(*arguments, cwd, code=CODE):
    """Return the exit code of a command, and the modules that it loaded."""
    result = subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)],
        capture_output=True,
        text=True,
        cwd=cwd,
    )
    assert "LOADED" in result.stdout, result.stderr
    exit_code, *modules = result.stdout.split("LOADED")[-1].split()
    return int(exit_code), set(modules)


@pytest.mark.parametrize(
    "arguments",
    [
        "--help",
        "--version",
        "study --help",
        "study list",
        *(f"{name} --help" for name in COMMANDS),
        *(f"study {name} --help" for name in STUDY),
    ],
)
def test_help_and_lists_are_shown_without_libraries(arguments, tmp_path):
    code, modules = loaded_by(*arguments.split(), cwd=tmp_path)
    assert code == 0
    assert not modules & set(LIBRARIES)


@pytest.mark.parametrize("arguments", REFUSED)
def test_options_are_refused_without_libraries(arguments, tmp_path):
    (tmp_path / "t.csv").write_text("x,y\n1,2\n")
    code, modules = loaded_by(*arguments.split(), cwd=tmp_path)
    assert code == 2
    assert not modules & set(LIBRARIES)


@pytest.mark.parametrize("arguments", ["inspect model", "predict model test.csv"])
def test_the_study_is_not_loaded_to_predict_or_inspect(arguments, place):
    code, modules = loaded_by(*arguments.split(), cwd=place)
    assert code == 0 and "torch" in modules
    unneeded = ("histreg.study", "histreg.report", "histreg.cli.fit", "matplotlib")
    assert {m for m in modules if m.startswith(unneeded)} <= {
        "histreg.cli.fit",
        "histreg.report",
        "histreg.report.printed_table",
    }
