"""The command ``histreg inspect``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from histreg._checks import check_choice
from histreg.cli.errors import exit_on_user_error, requires_extra
from histreg.cli.options import FORMATS, ModelPath, OutputFormat

if TYPE_CHECKING:
    from histreg.tabular.model import Model
    from histreg.tabular.regressor import HistogramRegressor

EXAMPLE = "Example: histreg inspect model/"


@exit_on_user_error
def inspect(
    model: ModelPath,
    bins: Annotated[
        bool, typer.Option("--bins", help="Also show what the bins cost in theory.")
    ] = False,
    output_format: OutputFormat = "text",
) -> None:
    """Show how good a model is, what it learnt from, and how it is made."""
    check_choice("--format", output_format, FORMATS)
    with requires_extra("cli"):
        from rich.console import Console
        from rich.markup import escape
        from rich.table import Table

        from histreg import theory
        from histreg.cli.json_output import print_json
        from histreg.cli.reading import target_name
        from histreg.cli.scores import (
            percentiles_from_notes,
            print_scores,
            scores_as_json,
            scores_from_notes,
            verdict_from_notes,
        )
        from histreg.tabular.regressor import HistogramRegressor

    regressor = HistogramRegressor.load(model)
    notes, fitted = regressor.notes_, regressor.model_
    scores, verdict = scores_from_notes(notes), verdict_from_notes(notes)
    facts, columns = _facts(regressor), _columns(regressor)
    details = _details(regressor)
    if output_format == "json":
        document = {"facts": facts, "columns": columns, "details": details}
        print_json(document | scores_as_json(scores, verdict))
        return
    console = Console()
    console.print(f"[bold]{escape(str(model))}[/bold]", highlight=False)
    if scores:
        target = target_name(regressor)
        print_scores(scores, notes["n_tested"], target, verdict=verdict)
    for part, style in ((facts, ""), (details, "dim")):
        console.print()
        summary = Table(box=None, show_header=False, pad_edge=False, style=style)
        for name, fact in part.items():
            summary.add_row(name, escape(fact))
        console.print(summary, highlight=False)
    for kind, names in columns.items():
        line = f"Columns of {kind}: {', '.join(names)}"
        console.print(escape(line), style="dim", highlight=False)
    for target_bins in fitted.objective.bins if bins else ():
        y = percentiles_from_notes(notes) or target_bins.centers
        sigma_in_bins = regressor.sigma_in_bins
        explanation = theory.explain(target_bins, None, y, sigma_in_bins=sigma_in_bins)
        console.print(escape(str(explanation)), highlight=False, soft_wrap=True)


def _columns(regressor: HistogramRegressor) -> dict[str, list[str]]:
    """Return the names of columns by kind, where they are known."""
    from histreg.tabular.columns import CYCLES, INSTANT, KINDS, named_kinds

    names = list(getattr(regressor, "feature_names_in_", []))
    kinds = named_kinds(regressor.model_.kinds) if names else []
    by_kind = {
        f"{kind}s": [
            name for name, its in zip(names, kinds, strict=True) if its == kind
        ]
        for kind in KINDS
    }
    if INSTANT not in regressor.model_.kinds:
        calendar = f" (as time, {', '.join(CYCLES)})"
        by_kind["times"] = [name + calendar for name in by_kind["times"]]
    return {kind: of_kind for kind, of_kind in by_kind.items() if of_kind}


def _facts(regressor: HistogramRegressor) -> dict[str, str]:
    """Return what matters to a user of the model, in words."""
    from histreg.cli.reading import target_name
    from histreg.tabular.columns import described_kinds

    notes, fitted = regressor.notes_, regressor.model_
    n_learnt = notes.get("n_learnt", regressor.n_seen_)
    rows = f"{n_learnt:,}" if isinstance(n_learnt, int) else str(n_learnt)
    facts = {
        "target": target_name(regressor) + _range(notes),
        "learnt from": f"{rows} rows of {notes.get('source', 'a table')}",
        "columns": described_kinds(fitted.kinds),
        "intervals": _calibration(fitted),
        "made of": _blend(fitted),
    }
    if regressor.n_clipped_:
        facts["clipped"] = (
            f"{regressor.n_clipped_:,} of {regressor.n_seen_:,} targets lie beyond the "
            "bins; their distance is not learnt"
        )
    return facts


def _details(regressor: HistogramRegressor) -> dict[str, str]:
    """Return how the model is made, for those who ask."""
    fitted = regressor.model_
    n_parameters = sum(p.numel() for p in fitted.network.parameters())
    details = {
        "network": f"{fitted.network.n_models} x "
        f"{regressor.hidden_layer_sizes}, {n_parameters:,} weights",
        "loss": regressor.loss,
        "epochs": str(regressor.n_iter_),
        "bins": str(regressor.bins_)
        + _atoms(fitted)
        + (f", grown {regressor.n_growths_} times" if regressor.n_growths_ else ""),
        "smoothing": f"{regressor.sigma_in_bins:g} bins in training, "
        f"{regressor.final_sigma_in_bins} in the end",
    }
    if fitted.blends is not None:
        sharpness = [f"{blend.sharpness.item():.2f}" for blend in fitted.blends]
        details["sharpness"] = ", ".join(sharpness)
    return details


def _range(notes: dict[str, Any]) -> str:
    """Return where the training targets lie, in words, if it is known."""
    from histreg.cli.scores import percentiles_from_notes
    from histreg.report.printed_table import shown_number

    percentiles = percentiles_from_notes(notes)
    if percentiles is None or len(percentiles) != 101:
        return ""
    low, middle, high = (shown_number(percentiles[i]) for i in (0, 50, 100))
    return f", {low} to {high} in training, half of it at most {middle}"


PART_NAMES = {
    "networks": "mean of the networks",
    "linear": "ridge regression",
    "kernel": "Gaussian process",
    "trees": "boosted trees",
    "forest": "forest",
}


def _blend(model: Model) -> str:
    """Return the shares of the networks and of simple models, by target, in words."""
    if model.blends is None:
        return "networks alone"
    by_target = []
    for blend in model.blends:
        kinds = [part["kind"] for part in blend.described()]
        parts = ["networks", *(PART_NAMES[kind] for kind in kinds)]
        shares = zip(blend.weights.tolist(), parts, strict=True)
        words = [
            f"{weight:.0%} {part}".replace("%", "\u00a0%") for weight, part in shares
        ]
        by_target.append(", ".join(words))
    return " | ".join(by_target)


def _atoms(model: Model) -> str:
    """Return around which values of the target the bins lie, if around any."""
    from histreg.tabular.atoms import ValueAtoms

    atoms = model.atoms
    if atoms is None:
        return ""
    if isinstance(atoms, ValueAtoms):
        return f", at the {len(atoms)} values of the target"
    values = " and ".join(f"{value:g}" for value in atoms.values.tolist())
    return f", with mass at {values}"


def _calibration(model: Model) -> str:
    """Return on how many rows intervals were calibrated, and by which groups."""
    if model.calibration is None:
        return "not calibrated: their coverage is not guaranteed"
    words = f"calibrated on {len(model.calibration.y):,} rows"
    groups = model.calibration.groups
    if groups is None:
        return words
    counts = groups.codes.bincount(minlength=groups.n).tolist()
    by = groups.column or "groups"
    shown = [f"{level} {n:,}" for level, n in zip(groups.levels, counts, strict=True)]
    return f"{words} by {by}: {', '.join(shown[:8])}{', ...' * (len(shown) > 8)}"
