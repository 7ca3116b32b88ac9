"""Imports whose syntax nests: read by their text."""

from __future__ import annotations

from collections.abc import Callable

from remit.code.facts import Import

READERS: dict[str, Callable[[str, int], list[Import]]] = {}
"""By language: the text of an import and its line in, what it imports out."""
