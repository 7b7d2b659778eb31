"""Drawings: a figure as part of a page, and in words for those who cannot see it."""

from __future__ import annotations

import base64
import html
import io
import re
from dataclasses import dataclass
from typing import Any

import matplotlib as mpl
import numpy as np
from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from PIL import Image

from histreg.report.figures import BLUE, GREY, ORANGE
from histreg.report.panels import BLACK, GREEN, PURPLE

HEAVY = 150_000  # letters, beyond which points are better than lines
PHONE, COLUMN = 21, 69  # rem, the widths of a page of a phone and of a large screen
MANY = 40  # names in a text, beyond which nobody listens
COLOURS = {
    BLACK: "currentColor",
    "#ffffff": "var(--paper)",
    BLUE: "var(--blue)",
    ORANGE: "var(--orange)",
    GREEN: "var(--green)",
    PURPLE: "var(--purple)",
    GREY: "var(--grey)",
}
"""What the page's style has for them, so that a drawing is right in the dark too."""
_PLACES = re.compile(r'\b(d|x|y|width|height|transform|points)="([^"]*)"')
_LONG = re.compile(r"-?\d+\.\d{3,}")


@dataclass(frozen=True)
class Drawing:
    """A figure on a page.

    Parameters
    ----------
    markup : Markup
        An ``svg``, or an ``img`` where that would be heavy.
    words : str
        What is to be seen.
    """

    markup: Markup
    words: str


def drawing_of(figure: Figure, name: str) -> Drawing:
    """Return a figure for a page; names differ between the drawings of one."""
    words = described(figure)
    markup = _svg(figure, name, words)
    if len(markup) > HEAVY:
        markup = _image(figure, words)
    return Drawing(Markup(markup), words)


def _svg(figure: Figure, name: str, words: str) -> str:
    data = io.StringIO()
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": name}):
        figure.savefig(data, format="svg", metadata={"Date": None})
    text = data.getvalue()
    body = text[text.index(">", text.index("<svg")) + 1 :]
    body = re.sub(r"<metadata>.*?</metadata>|<!--.*?-->", "", body, flags=re.DOTALL)
    body = re.sub(r'(font: [\d.]+px )[^;"]+', r"\1sans-serif", body)  # the page's own
    referred = {*re.findall(r"#([\w-]+)", body)}
    body = re.sub(r' id="([\w-]+)"', lambda m: m[0] if m[1] in referred else "", body)
    # A style in a drawing holds for the whole page.
    body = body.replace("*{stroke", ".drawing *{stroke")
    body = _PLACES.sub(lambda m: f'{m[1]}="{_LONG.sub(_rounded, m[2])}"', body)
    body = re.sub(r"\s+", " ", body).replace("> <", "><")
    for colour, of_page in COLOURS.items():
        body = body.replace(colour, of_page)
    width, height = (72 * inches for inches in figure.get_size_inches())
    return (
        f'<svg class="drawing" viewBox="0 0 {width:g} {height:g}" role="img" '
        f'aria-label="{html.escape(words)}" style="{_widths(figure)}">'
        f"{body.strip()}"
    )


def _rounded(number: re.Match[str]) -> str:
    return f"{float(number[0]):.2f}".rstrip("0").rstrip(".")


def _image(figure: Figure, words: str) -> str:
    data, light = io.BytesIO(), io.BytesIO()
    figure.savefig(data, format="png", dpi=110)
    # A few colours and their edges, for which a palette is enough.
    with Image.open(data) as drawn:
        drawn.convert("RGB").quantize(64).save(light, format="png", optimize=True)
    encoded = base64.b64encode(light.getvalue()).decode()
    return (
        f'<img class="drawing" alt="{html.escape(words)}" style="{_widths(figure)}" '
        f'src="data:image/png;base64,{encoded}">'
    )


def _widths(figure: Figure) -> str:
    """Return how wide a drawing may become, and how narrow, to be read."""
    width = figure.get_size_inches()[0] * 6  # rem, of a sixth of an inch
    least = 0.6 * width
    if least > PHONE:  # it is moved anyway, and its letters may as well be larger
        least = min(0.85 * width, COLUMN)
    return f"max-width: {1.1 * width:.0f}rem; min-width: {least:.0f}rem"


def described(figure: Figure) -> str:
    """Return what is to be seen: of each drawing its axes and where its lines go."""
    drawn = [ax for ax in figure.axes if ax.get_xlabel() or ax.get_title()]
    told = [_described(ax) for ax in drawn]
    if len(told) == 1:
        return told[0]
    numbered = (f"({i}) {each}" for i, each in enumerate(told, start=1))
    return " ".join([f"{len(told)} drawings.", *numbered])


def _described(ax: Axes) -> str:
    title = ax.get_title() or ax.get_title(loc="left")
    labels = [each.get_text() for each in ax.get_yticklabels()]
    names = [each for each in labels if _is_name(each)]
    over = f"over {ax.get_xlabel()}" if ax.get_xlabel() else ""
    height = ax.get_ylabel() or ("one row each" if names else "")
    head = " ".join(part for part in (height, over) if part)
    told = [f"{title}: {head}" if title and head else title or head]
    if names:
        told += [", ".join(names[:MANY]), _lowest_mark(ax)]
    handles, labels = ax.get_legend_handles_labels()
    told += [
        f"{label} {course}" if course else label
        for label, course in zip(labels, map(_course, handles), strict=True)
    ][:MANY]
    return "; ".join(each for each in told if each) + "."


def _is_name(label: str) -> bool:
    """Return whether a label is no number, nor a power of one."""
    return any(map(str.isalpha, label)) and "$" not in label


def _lowest_mark(ax: Axes) -> str:
    """Return which of the rows, each a label of the upright axis, is lowest."""
    places = [
        (y, each.get_text())
        for y, each in zip(ax.get_yticks(), ax.get_yticklabels(), strict=True)
    ]
    points = [
        np.asarray(line.get_data(), dtype=float)  # (2, n)
        for line in ax.lines
        if line.get_marker() == "o"
    ]
    marks = [(each[0, 0], each[1, 0]) for each in points if each.shape == (2, 1)]
    if not marks:
        return ""
    value, height = min(marks)
    name = min(places, key=lambda place: abs(place[0] - height))[1]
    return f"lowest filled mark: {name} at {_number(value)}"


def _course(handle: Any) -> str:
    """Return where a line starts and ends, and its lowest point; nothing of others."""
    line = handle[0] if isinstance(handle, tuple) else handle
    if not isinstance(line, Line2D):
        return ""
    x, y = (np.asarray(each, dtype=float) for each in line.get_data())
    finite = np.isfinite(x) & np.isfinite(y)
    x, y = x[finite], y[finite]
    if len(x) == 2 and y[0] == y[1]:
        return f"level at {_number(y[0])}"
    if len(x) < 3 or np.ptp(x) == 0:
        return ""
    lowest = int(y.argmin())
    told = f"goes from {_number(y[0])} at {_number(x[0])} to {_number(y[-1])} at "
    told += _number(x[-1])
    if 0 < lowest < len(x) - 1:
        told += f", lowest {_number(y[lowest])} at {_number(x[lowest])}"
    return told


def _number(value: float) -> str:
    return f"{value:.3g}"
