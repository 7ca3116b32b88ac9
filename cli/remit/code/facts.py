"""What is known of one source file, independent of all others: the unit that is extracted, kept and resolved."""

from __future__ import annotations

from typing import Literal

import msgspec

FACTS_VERSION = 11
"""Part of the key of every kept fact: another shape or another meaning is another number."""

EXPORTED = 1
TEST = 2
DECLARED = 4
DEFAULT = 8
"""Flags of a definition. Declared: announced here (a prototype), its body stands elsewhere. Default: what its module
lends to those who name nothing of it."""

SYMBOL_KINDS = frozenset(
    [
        "module",
        "class",
        "struct",
        "enum",
        "union",
        "interface",
        "trait",
        "type",
        "function",
        "method",
        "macro",
        "constant",
        "variable",
    ]
)
"""Kinds of definitions that are nodes of the graph; a `module` here is one that source declares."""

MEMBER_KINDS = frozenset(["field", "variant"])
"""Kinds that only an outline shows, beneath what holds them."""

OUTLINE_KINDS = frozenset(
    ["section", "key", "selector", "target", "stage", "message", "service", "element", "resource", "table", "test"]
)
"""Kinds of formats without calls, and of tests that have a text for a name."""

HOLDERS = frozenset(["class", "struct", "enum", "union", "interface", "trait"])
"""A function right inside one of these is a method."""


class Definition(msgspec.Struct, array_like=True, gc=False):
    """start, end: lines, from 1, both included. parent: index of the definition it lies in, -1: none.
    owner: the type it belongs to where that is named elsewhere (a receiver, a qualifier), or "".
    signature: from its begin to its body, in one line. doc: first line of its documentation. returns: the type that a
    function is told to return, or ""."""

    name: str
    kind: str
    start: int
    end: int
    parent: int = -1
    flags: int = 0
    owner: str = ""
    signature: str = ""
    doc: str = ""
    returns: str = ""


class Reference(msgspec.Struct, array_like=True, gc=False):
    """All mentions of one name in one scope, in one way. scope: index of the definition around them, -1: the file
    itself. line: of the first. qualifier: what stands before the name (`self`, a module, an object; `()` for a longer
    expression), or "".
    kind: call | type | inherit | use."""

    name: str
    kind: str
    line: int
    scope: int = -1
    count: int = 1
    qualifier: str = ""


OWN = "="
"""The module of an import by which a file lends what it has itself, under another name."""


class Import(msgspec.Struct, array_like=True, gc=False):
    """One name that another module lends. module: as spelled, leading dots included. name: what of it, "" for the
    module itself, `*` for all. alias: what it is called here, "" for its own name."""

    module: str
    line: int
    name: str = ""
    alias: str = ""


class Typed(msgspec.Struct, array_like=True, gc=False):
    """A name whose type is told where it is bound: declared, or made by a call of that name. name: as it stands before
    the names it qualifies (`parser`, `self.store`). type: as spelled. scope: index of the definition around."""

    name: str
    type: str
    scope: int = -1


class Facts(msgspec.Struct, array_like=True):
    """lines: of the file. broken: the parser recovered from errors. cut: what bound left something out, or ""."""

    language: str
    lines: int = 0
    doc: str = ""
    broken: bool = False
    cut: Literal["", "time", "nodes", "size", "depth", "minified"] = ""
    definitions: list[Definition] = []
    references: list[Reference] = []
    imports: list[Import] = []
    typed: list[Typed] = []


_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(Facts)


def pack(facts: Facts) -> bytes:
    return _encoder.encode(facts)


def unpack(packed: bytes) -> Facts:
    """Raises msgspec.DecodeError for what are no facts."""
    return _decoder.decode(packed)
