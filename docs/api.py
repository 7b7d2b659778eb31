"""Write docs/api.md from the docstrings of the public names.

    python docs/api.py

A test checks that the page is up to date.
"""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import histreg
from histreg import (
    displays,
    forecasting,
    losses,
    metrics,
    rl,
    spacings,
    tabular,
    tails,
    targets,
    theory,
)

PAGE = Path(__file__).with_suffix(".md")
OPENING = """# API reference

Generated from the docstrings by `python docs/api.py`; a test checks that it is up to
date. Shapes: `...` any batch, `n` samples, `d` features, `k` bins, `m` targets. The
tests run the examples. The [guides](README.md) show whole programs, and
[CONTRIBUTING.md](../CONTRIBUTING.md) shows how to add a method, a data set or an
experiment to the study.
"""
SECTION = re.compile(r"^(\w+)\n-{3,}\n", re.MULTILINE)
ENTRY = re.compile(r"^(\S[^\n:]*?)(?: : ([^\n]+))?$")


def page() -> str:
    """Return the whole page."""
    modules = [histreg, spacings, tails, targets, losses, metrics, theory, rl]
    modules += [displays, tabular, forecasting]
    parts = [OPENING, *(contents(module) for module in modules)]
    parts += [part for module in modules for part in described(module)]
    return "\n".join(parts)


def names_of(module: ModuleType) -> list[str]:
    """Return the public names of a module, without modules."""
    names = [
        name
        for name in module.__all__
        if not isinstance(getattr(module, name), ModuleType)
    ]
    if module is histreg:
        return names
    return [name for name in names if name not in histreg.__all__]


def heading(module: ModuleType, name: str) -> str:
    """Return a name with its module; `crps` is a loss and a score."""
    return name if module is histreg else f"{module.__name__}.{name}"


def contents(module: ModuleType) -> str:
    """Return a line of links to the anchors that GitHub makes of headings."""
    links = []
    for name in names_of(module):
        anchor = heading(module, name).lower().replace(".", "")
        links.append(f"[{name}](#{anchor})")
    if not links:  # only the docstring of the module
        return f"- [`{module.__name__}`](#{module.__name__.replace('.', '')})"
    return f"- `{module.__name__}`: " + ", ".join(links)


def described(module: ModuleType) -> Iterator[str]:
    """Yield the sections of a module."""
    yield f"\n## {module.__name__}\n"
    if module is not histreg:
        yield text_of(inspect.getdoc(module) or "")
    for name in names_of(module):
        thing = getattr(module, name)
        yield f"### {heading(module, name)}\n"
        if not callable(thing):  # a dictionary
            for key, value in thing.items():
                is_plain = "<" not in repr(value)  # no function, which has an address
                yield f'- `"{key}"`' + (f": `{value!r}`" if is_plain else "")
            yield ""
            continue
        yield from entry(name, thing)
        if inspect.isclass(thing):
            yield from members(thing)


def entry(name: str, thing: Any) -> Iterator[str]:
    """Yield the signature of an object, and its docstring."""
    yield f"```py\n{called(name, thing)}\n```\n"
    yield text_of(inspect.getdoc(thing) or "")


def members(cls: type) -> Iterator[str]:
    """Yield the methods, properties and documented fields of a class."""
    noted = list(fields(cls))
    for name, member in vars(cls).items():
        is_public = not name.startswith("_") and getattr(member, "__doc__", None)
        if not is_public or name in ("get_extra_state", "set_extra_state"):
            continue
        thing = getattr(cls, name)
        if inspect.isfunction(thing) or inspect.ismethod(thing):
            yield f"#### {cls.__name__}.{name}\n"
            yield from entry(name, thing)
        elif isinstance(member, property) or hasattr(member, "wrapped"):
            noted.append((name, inspect.cleandoc(member.__doc__)))
    if noted:
        yield f"Attributes of `{cls.__name__}`:\n"
        lines = ((name, inline(doc).replace("\n", "\n  ")) for name, doc in noted)
        yield "".join(f"- `{name}`: {doc}\n" for name, doc in lines)


def fields(cls: type) -> Iterator[tuple[str, str]]:
    """Yield fields with the docstring below them."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(cls))).body[0]
    assert isinstance(tree, ast.ClassDef)
    for field, below in zip(tree.body, tree.body[1:], strict=False):
        match field, below:
            case (
                ast.AnnAssign(target=ast.Name(id=name)),
                ast.Expr(value=ast.Constant(value=str(doc))),
            ):
                yield name, inspect.cleandoc(doc)


def called(name: str, thing: Any) -> str:
    """Return the call without types, which the docstring has."""
    if inspect.isclass(thing) and issubclass(thing, Exception):
        return name  # it is caught, not called
    signature = inspect.signature(thing)
    kept = [
        parameter.replace(annotation=inspect.Parameter.empty)
        for parameter in signature.parameters.values()
        if parameter.name != "self"
    ]
    shown = str(
        signature.replace(parameters=kept, return_annotation=inspect.Signature.empty)
    )
    if len(name) + len(shown) > 88:  # one parameter per line
        inside = ",\n    ".join(str(parameter) for parameter in kept)
        star = next((i for i, p in enumerate(kept) if p.kind is p.KEYWORD_ONLY), None)
        if star is not None:
            keyword = str(kept[star])
            inside = inside.replace(f"    {keyword}", f"    *,\n    {keyword}", 1)
        shown = f"(\n    {inside},\n)"
    return f"{name}{shown}".replace("'", '"')


def text_of(doc: str) -> str:
    """Return a numpydoc docstring as Markdown."""
    first, *rest = SECTION.split(doc)
    parts = [paragraphs(first)]
    for title, body in zip(rest[::2], rest[1::2], strict=True):
        parts.append(f"**{title}**\n")
        if title in ("Parameters", "Attributes", "Returns"):
            parts.append(listed(body))
        elif title == "Examples":
            parts.append(f"```pycon\n{body.strip()}\n```\n")
        else:
            parts.append(paragraphs(body))
    return "\n".join(parts)


def listed(body: str) -> str:
    """Return names, types and descriptions as a list."""
    items: list[str] = []
    for line in body.rstrip().splitlines():
        if not line.strip():
            continue
        if line.startswith(" "):
            items[-1] += f"\n  {line.strip()}"
            continue
        match = ENTRY.match(line)
        assert match is not None
        name, kind = match.groups()
        items.append(f"- `{name}`: *{kind}*." if kind else f"- {name}")
    return "".join(f"{inline(item)}\n" for item in items)


def paragraphs(text: str) -> str:
    """Return text with its formulas and definitions as Markdown."""
    text = re.sub(
        r"^\.\. math::[ \n]((?:.+\n?|\n(?= ))+)",
        lambda m: f"```math\n{inspect.cleandoc(m[1])}\n```\n",
        text,
        flags=re.MULTILINE,
    )
    text = re.sub(r"^(``.+)\n {4}", r"- \1: ", text, flags=re.MULTILINE)
    text = re.sub(r"^ {4}(?=\S)", "  ", text, flags=re.MULTILINE)
    return inline(text.strip()) + "\n"


def inline(text: str) -> str:
    """Return the literals and formulas of reStructuredText as Markdown."""
    text = re.sub(r":math:`([^`]+)`", r"$\1$", text)
    return re.sub(r"(?<!`)``(?!`)", "`", text)


if __name__ == "__main__":
    PAGE.write_text(page())
