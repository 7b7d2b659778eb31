"""Run all code of docs/migrating_from_hl_gauss_pytorch.md, in the order of the page.

    make bench-loss       (installs the PyPI package hl-gauss-pytorch to compare with)

The tests run the blocks marked ``python``. Those marked ``py`` need hl-gauss-pytorch
and assert what the page says about it; a failed assertion ends this program.
"""

from __future__ import annotations

import re
from pathlib import Path

import torch

PAGE = Path(__file__).parents[1] / "docs" / "migrating_from_hl_gauss_pytorch.md"
BLOCK = re.compile(r"^```(?:py|python)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def main() -> None:
    """Run the blocks in one namespace."""
    torch.manual_seed(0)
    namespace: dict[str, object] = {}
    blocks = BLOCK.findall(PAGE.read_text())
    for i, block in enumerate(blocks, start=1):
        exec(compile(block, f"{PAGE.name}, block {i}", "exec"), namespace)
    print(f"{PAGE.name}: all {len(blocks)} blocks of code hold")


if __name__ == "__main__":
    main()
