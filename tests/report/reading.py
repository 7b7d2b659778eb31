"""What a printed table or a drawing says, for tests."""

import numpy as np

from histreg.report.experiment_figures import figure_of
from histreg.report.experiment_tables import tables_of


def rows(table):
    """Return the rows by their first cell."""
    return {row[0]: row[1:] for row in table.rows}


def one(name, records, metrics=("test MAE",), **options):
    """Return the one table that there is."""
    (table,) = tables_of(name, records, metrics, **options)
    return table


def lines_of(ax):
    """Return the lines by their labels, those of error bars by that of their bars."""
    handles, labels = ax.get_legend_handles_labels()
    return {
        label: handle[0] if isinstance(handle, tuple) else handle
        for handle, label in zip(handles, labels, strict=True)
    }


def data_of(line):
    """Return x and y; those of error bars are objects."""
    return [np.asarray(values, dtype=float) for values in line.get_data()]


def marks_of(ax, marker):
    """Return where marks of a kind are, by the label of their height."""
    labels = [text.get_text() for text in ax.get_yticklabels()]
    names = dict(zip(ax.get_yticks(), labels, strict=True))
    found = {}
    for line in ax.lines:
        if line.get_marker() == marker:
            (x,), (height,) = line.get_data()
            found[names[np.ceil(height)]] = x
    return found


def ours_of(ax):
    """Return filled marks."""
    return marks_of(ax, "o")


def papers_of(ax):
    """Return open marks."""
    return marks_of(ax, "D")


def axes_of(name, records):
    """Return the drawings of a figure."""
    return figure_of(name, records).axes
