"""Definitions against those of Universal Ctags: languages of scripts."""

from __future__ import annotations

import pytest

from fakes.ctags import ANONYMOUS, CODE, NEEDS_CTAGS, Compared, Known, compare, files_below

pytestmark = NEEDS_CTAGS

COMPARED = {
    each.language: each
    for each in (
        Compared(
            "Ruby",
            frozenset(["alias", "class", "method", "module", "singletonMethod", "accessor", "constant"]),
            (".rb",),
            known=(
                Known("an accessor, found by the name of what it sets", line=r"\battr_(writer|accessor)\b", name=r"=$"),
                Known("what stands in a text, not a definition", name=r"^not_a_method$"),
            ),
        ),
        Compared(
            "PHP",
            frozenset(["class", "define", "function", "interface", "namespace", "trait"]),
            (".php",),
            known=(ANONYMOUS,),
        ),
        Compared(
            "Lua",
            frozenset(["function"]),
            (".lua",),
            bare=r"^.*[.:]|^\w+\[\"|\"\]$",
            known=(
                Known("what stands in a text, not a definition", line=r"= \[\[.*function not_one"),
                Known("a table that holds a function, not a function", line=r"^return \{.*\w+ = function\("),
            ),
        ),
    )
}


@pytest.mark.parametrize("name", list(COMPARED))
def test_of_samples_and_projects_nothing_is_lost(name: str) -> None:
    language = COMPARED[name]
    compare(language, files_below(CODE / "samples" / name, language) + files_below(CODE / "projects" / name, language))
