"""Whether grammars are there: asked by every run that offers a tool for source, so that it loads nothing of them."""

from __future__ import annotations

import importlib.util
import os
from functools import cache

FOLDER = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "_grammars")
RECORD = "NOTICE"
"""Written last by the build, a line for each grammar that begins with its name."""


def missing_grammars(folder: str = FOLDER) -> str:
    """Why no source can be read on this machine, or ""."""
    if importlib.util.find_spec("tree_sitter") is None:
        return "tree-sitter is not installed: pip install tree-sitter"
    try:
        with open(os.path.join(folder, RECORD), encoding="utf-8") as file:
            names = [line.partition(":")[0] for line in file]
    except OSError:
        names = []
    absent = [name for name in names if not os.path.isfile(os.path.join(folder, f"{name}.xz"))]
    if absent or not names:
        told = ", ".join(absent[:3]) or "all of them"
        return f"grammars are missing ({told}): install remit from its wheel, or with pip install -e ."
    return ""


@cache
def missing_here() -> str:
    """The same of this installation, looked up once in a process."""
    return missing_grammars()
