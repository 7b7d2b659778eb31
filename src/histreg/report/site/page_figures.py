"""Page figures: a figure inside a page, and in words for readers who cannot see it."""

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

from histreg.report.colours import BLACK, BLUE, GREEN, GREY, ORANGE, PURPLE

MAX_SVG_LETTERS = 150_000  # beyond which a PNG is smaller
PHONE, COLUMN = 21, 69  # rem, the widths of a page of a phone and of a large screen
MAX_NAMES = 40  # in a description, for screen readers
COLOURS = {
    BLACK: "currentColor",
    "#ffffff": "var(--paper)",
    BLUE: "var(--blue)",
    ORANGE: "var(--orange)",
    GREEN: "var(--green)",
    PURPLE: "var(--purple)",
    GREY: "var(--grey)",
}
"""Variables of the page's style sheet, which differ in dark mode."""
_PLACES = re.compile(r'\b(d|x|y|width|height|transform|points)="([^"]*)"')
_LONG = re.compile(r"-?\d+\.\d{3,}")


@dataclass(frozen=True)
class PageFigure:
    """A figure on a page.

    Parameters
    ----------
    markup : Markup
        An ``svg``, or an ``img`` where that would be large.
    words : str
        What it shows.
    """

    markup: Markup
    words: str


def page_figure(figure: Figure, name: str) -> PageFigure:
    """Return a figure for a page, on which its name must be unique."""
    words = figure_in_words(figure)
    markup = _svg(figure, name, words)
    if len(markup) > MAX_SVG_LETTERS:
        markup = _image(figure, words)
    return PageFigure(Markup(markup), words)


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
    # A style inside an SVG applies to the whole page.
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
    """Return the largest and the smallest width at which a drawing can be read."""
    width = figure.get_size_inches()[0] * 6  # rem, of a sixth of an inch
    least = 0.7 * width
    if least > PHONE:  # it is scrolled anyway, so that its letters may be larger
        least = min(0.85 * width, COLUMN)
    return f"max-width: {1.1 * width:.0f}rem; min-width: {least:.0f}rem"


def figure_in_words(figure: Figure) -> str:
    """Return what a figure shows: the axes of each panel and where its lines go."""
    drawn = [ax for ax in figure.axes if ax.get_xlabel() or ax.get_title()]
    panels = [_panel_in_words(ax) for ax in drawn]
    if len(panels) == 1:
        return panels[0]
    numbered = (f"({i}) {words}" for i, words in enumerate(panels, start=1))
    return " ".join([f"{len(panels)} drawings.", *numbered])


def _panel_in_words(ax: Axes) -> str:
    title = ax.get_title() or ax.get_title(loc="left")
    labels = [tick.get_text() for tick in ax.get_yticklabels()]
    names = [label for label in labels if _is_name(label)]
    over = f"over {ax.get_xlabel()}" if ax.get_xlabel() else ""
    height = ax.get_ylabel() or ("one row each" if names else "")
    head = " ".join(part for part in (height, over) if part)
    parts = [f"{title}: {head}" if title and head else title or head]
    if names:
        parts += [", ".join(names[:MAX_NAMES]), _lowest_mark(ax)]
    handles, labels = ax.get_legend_handles_labels()
    parts += [
        f"{label} {course}" if course else label
        for label, course in zip(labels, map(_course, handles), strict=True)
    ][:MAX_NAMES]
    return "; ".join(part for part in parts if part) + "."


def _is_name(label: str) -> bool:
    """Return whether a label is a name, neither a number nor a power."""
    return any(map(str.isalpha, label)) and "$" not in label


def _lowest_mark(ax: Axes) -> str:
    """Return the row, a label of the y axis, with the lowest filled mark."""
    places = [
        (y, tick.get_text())
        for y, tick in zip(ax.get_yticks(), ax.get_yticklabels(), strict=True)
    ]
    points = [
        np.asarray(line.get_data(), dtype=float)  # (2, n)
        for line in ax.lines
        if line.get_marker() == "o"
    ]
    marks = [(point[0, 0], point[1, 0]) for point in points if point.shape == (2, 1)]
    if not marks:
        return ""
    value, height = min(marks)
    name = min(places, key=lambda place: abs(place[0] - height))[1]
    return f"lowest filled mark: {name} at {_number(value)}"


def _course(handle: Any) -> str:
    """Return where a line starts and ends and is lowest; empty for other artists."""
    line = handle[0] if isinstance(handle, tuple) else handle
    if not isinstance(line, Line2D):
        return ""
    x, y = (np.asarray(values, dtype=float) for values in line.get_data())
    finite = np.isfinite(x) & np.isfinite(y)
    x, y = x[finite], y[finite]
    if len(x) == 2 and y[0] == y[1]:
        return f"level at {_number(y[0])}"
    if len(x) < 3 or np.ptp(x) == 0:
        return ""
    lowest = int(y.argmin())
    course = f"goes from {_number(y[0])} at {_number(x[0])} to {_number(y[-1])} at "
    course += _number(x[-1])
    if 0 < lowest < len(x) - 1:
        course += f", lowest {_number(y[lowest])} at {_number(x[lowest])}"
    return course


def _number(value: float) -> str:
    return f"{value:.3g}"
