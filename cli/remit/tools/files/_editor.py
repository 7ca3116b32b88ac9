"""Which editor a model is offered: the one it was trained on."""

from __future__ import annotations

from typing import Literal

from remit.base.lazy_pattern import lazy_pattern

Editor = Literal["file_apply_patch", "file_edit"]

EDITORS: tuple[Editor, ...] = ("file_apply_patch", "file_edit")

_PATCHES = lazy_pattern(r"(?:gpt-?(?:[5-9]|[1-9]\d)(?!\d)|o[34](?![\w])|(?:[\w.]*-)?codex(?![a-z]))")


def editor_for(model: str) -> Editor:
    """The editor for a model by its name, with or without a provider (`openai/gpt-5.1-codex`): GPT-5 and later,
    o3, o4 and Codex models get file_apply_patch, every other file_edit."""
    name = model.casefold().rsplit("/", 1)[-1].rsplit(":", 1)[0]
    return "file_apply_patch" if _PATCHES.match(name) else "file_edit"
