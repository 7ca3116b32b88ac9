"""`remit run` read without typer, where nothing on the line takes more than a look at a table.

Help, mistakes and what is seldom written are typer's: it is loaded for those alone, and takes a sixth of the time
to start.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from remit.commands.run_flags import DEFAULTS, FLAGS


def plain_run(argv: Sequence[str]) -> dict[str, Any] | None:
    """The parameters of `remit run` by name, as typer would give them; None for what typer has to read. argv: what
    stands behind `run`."""
    given = dict(DEFAULTS)
    words = iter(argv)
    for word in words:
        if not word.startswith("-") or word == "-":
            if given["prompt"] is not None:
                return None
            given["prompt"] = word
            continue
        flag = FLAGS.get(word)
        if flag is None:
            return None
        name, kind = flag
        if isinstance(kind, bool):
            given[name] = kind
            continue
        value = next(words, None)
        if value is None or value.startswith("-") or (isinstance(kind, tuple) and value not in kind):
            return None
        given[name] = [*(given[name] or ()), value] if kind == "many" else value
    return given
