"""Names and signatures as a definition spells them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tree_sitter import Node

MAX_QUALIFIER = 60
MAX_SPELLED = 4 * MAX_QUALIFIER
"""Bytes of what may be a qualifier."""

EXPRESSION = "()"
"""The qualifier of what is called on a longer expression."""

MAX_SIGNATURE = 240
"""Characters."""

MAX_DECORATORS = 6
MAX_DECORATOR = 60
"""Characters of one in a signature."""

_ANNOTATIONS = re.compile(
    r"^(?:(?:@(?!interface\b|implementation\b|protocol\b|property\b)[\w.:]+(?:\((?:[^()\"]|\"[^\"]*\"|\([^()]*\))*\))?"
    r"|#?\[[^\]]*\])\s+)+"
)
_MARKS = ("@", "#", "[")
_COMMENTS = re.compile(r"^\s*(?:#|//)\s.*$", re.MULTILINE)
"""Lines between a head and a body. Within a line the same marks may be operators."""
_BLOCK_COMMENT = re.compile(r"(\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*'|`[^`]*`)|\s*/\*.*?\*/", re.DOTALL)
_BODY_NODES = frozenset(
    {"compound_statement", "function_body", "class_body", "enum_class_body", "do_block", "Block", "template_body"}
)
"""Bodies that are no fields of their nodes."""

_SPACE = b" \t\n\r\v\f"
_TEMPLATE_ARGUMENTS = re.compile(r"<[^<>]*>")


def signature(source: bytes, node: Node, span: Node, kind: str, decorators: Sequence[Node] = ()) -> str:
    """What a definition says before its body, in one line: behind its decorators, and without its annotations."""
    head = _head(source, node, _start(source, node, span, decorators), kind)
    return " ".join([*_decorations(source, decorators), head]) if decorators else head


def _decorations(source: bytes, decorators: Sequence[Node]) -> Iterator[str]:
    """Each in one line; the arguments of a long one are left out."""
    for each in decorators[:MAX_DECORATORS]:
        text = source[each.start_byte : min(each.end_byte, each.start_byte + 4 * MAX_DECORATOR)]
        one_line = " ".join(text.decode("utf-8", "ignore").split())
        if len(one_line) > MAX_DECORATOR:
            name, arguments, _ = one_line.partition("(")
            one_line = f"{name[:MAX_DECORATOR]}{'(...)' if arguments else ''}"
        yield one_line


def _start(source: bytes, node: Node, span: Node, decorators: Sequence[Node]) -> int:
    """The byte where a definition begins without its decorators; words before it count on its own line alone."""
    at = node.start_byte
    if not decorators and span.start_byte == at and source[at] not in _SPACE:
        return at
    start = max(span.start_byte, source.rfind(b"\n", 0, at) + 1)
    if decorators:
        start = max(start, min(decorators[-1].end_byte, node.end_byte))
        at = max(at, start)
    before = source[start:at]
    if before.isspace() or not before:
        end = node.end_byte
        while at < end and source[at] in _SPACE:
            at += 1
        return at
    return start + len(before) - len(before.lstrip())


def _head(source: bytes, node: Node, start: int, kind: str) -> str:
    body = _body(node) if kind != "variant" else None
    if body is not None and body.start_byte > start:
        end = body.start_byte
    elif kind in ("function", "method"):
        end = node.end_byte
    else:
        end = source.find(b"\n", start)
        end = node.end_byte if end < 0 else min(end, node.end_byte)
    text = source[start : min(end, start + 4 * MAX_SIGNATURE)].decode("utf-8", "ignore")
    if body is not None and ("#" in text or "//" in text):
        text = _COMMENTS.sub("", text)
    if kind in ("function", "method") and "/*" in text:
        text = _BLOCK_COMMENT.sub(lambda match: match[1] or "", text)
    one_line = " ".join(text.split())
    # What begins with a mark may be the very thing.
    if one_line[:1] in _MARKS and kind not in ("constant", "section"):
        one_line = _ANNOTATIONS.sub("", one_line)
    return one_line[:MAX_SIGNATURE].rstrip(" {:=;,").removesuffix(" =>")


def _body(node: Node) -> Node | None:
    """The body of a definition, or of the value that it gives its name to."""
    body = node.child_by_field_name("body")
    if body is not None:
        return body
    for holder in (node.child_by_field_name("value"), node.child_by_field_name("right")):
        body = holder.child_by_field_name("body") if holder is not None else None
        if body is not None:
            return body
    last = node.named_children[-1] if node.named_child_count else None
    return last if last is not None and last.type in _BODY_NODES else None


def split_name(name: str, joint: str, owner: str) -> tuple[str, str]:
    """Owner and name of what is defined as `a::Type<T>::name`. Operators keep what belongs to their names."""
    before, operator, after = name.partition("operator")
    if operator and not after[:1].isidentifier() and not before[-1:].isidentifier():
        last = operator + (after if after.startswith("()") else after.partition("(")[0])
        path = before
    else:
        path, _, last = _without_arguments(name).rpartition(joint)
    above = _without_arguments(path).removesuffix(joint).rpartition(joint)[2]
    return above or owner, last.strip()


def _without_arguments(name: str) -> str:
    """A name without the arguments of templates in it."""
    while (shorter := _TEMPLATE_ARGUMENTS.sub("", name)) != name:
        name = shorter
    return name


def qualifier_name(source: bytes, start: int, end: int) -> str:
    """What stands before a name, where it is a name itself, a path of names, or the like of `super()`. Looks no
    further than that: chains of calls qualify one another all along."""
    if end - start > MAX_SPELLED:
        return EXPRESSION
    bare = source[start:end].decode("utf-8", "replace").rstrip("!?").removeprefix("new ")
    return EXPRESSION if len(bare) > MAX_QUALIFIER or "(" in bare[:-2] or len(bare.split(None, 1)) != 1 else bare
