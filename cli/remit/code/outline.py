"""The outline of a source file from its facts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from remit.base.outline import Item, Outline, Range, Section
from remit.code.facts import MEMBER_KINDS, OWN, TEST, Definition, Facts, Import
from remit.code.languages import find_name

_IMPORTS = "imports"
_TESTS = "tests"
_TITLES = {
    "modules": ("module",),
    "types": ("class", "struct", "enum", "union", "interface", "trait", "type"),
    "functions": ("function", "method"),
    "macros": ("macro",),
    "constants": ("constant", "variable"),
    "fields": tuple(MEMBER_KINDS),
    "sections": ("section",),
    "keys": ("key",),
    "selectors": ("selector",),
    "targets": ("target",),
    "stages": ("stage",),
    "messages": ("message",),
    "services": ("service",),
    "elements": ("element",),
    "resources": ("resource",),
    "tables": ("table",),
    _TESTS: ("test",),
    "declarations": (),
}
"""In the order in which they are told where definitions refer to one another."""

_TITLE_OF = {kind: title for title, kinds in _TITLES.items() for kind in kinds}
_MAX_DEPTH = 12
_MAX_PARTS = 16
"""Of the name of a module; what is longer is left whole."""

_OWN_TITLES = {"Markdown": {"sections": "headings"}}
_LEAVES = frozenset(["function", "method", "macro", "test", "constant", "variable"])
"""What lies in one of these is its own affair."""

_SEPARATORS = {"Rust": "::", "PHP": "\\"} | dict.fromkeys(["C", "C++", "CUDA", "Objective-C", "Go", "Ruby"], "/")
"""Of the parts of a module's name; elsewhere it is a dot."""

_BY_MODULE = frozenset(["JavaScript", "TypeScript", "TSX"])
"""Languages that tell the names of a module apart from its path."""

Marked = tuple[int, Definition]
"""A definition and its index."""


def outline_of_facts(facts: Facts) -> Outline:
    """Sections of imports, of definitions by kind, and of tests. Without sections where nothing is defined."""
    below: dict[int, list[Marked]] = {}
    for index, each in enumerate(facts.definitions):
        below.setdefault(each.parent, []).append((index, each))
    tests, others = _apart(below.get(-1, []))
    sections = [*_import_section(facts), *_sections(facts, others, below), *_test_section(tests)]
    return Outline(tuple(sections), facts.doc, facts.broken, bool(facts.cut), facts.cut == "minified")


def _apart(tops: Sequence[Marked]) -> tuple[list[Marked], list[Marked]]:
    """The tests that stand beside other things, and those others. A file of tests holds tests as others hold code."""
    tests = [each for each in tops if each[1].flags & TEST]
    if 2 * len(tests) > len(tops):
        return [], list(tops)
    return tests, [each for each in tops if not each[1].flags & TEST]


def _test_section(tests: Sequence[Marked]) -> Iterator[Section]:
    if tests:
        yield Section(f"{_TESTS} ({len(tests)})", _around([each for _, each in tests]))


# -- definitions -------------------------------------------------------------------------------


def _sections(facts: Facts, tops: Sequence[Marked], below: dict[int, list[Marked]]) -> Iterator[Section]:
    language = find_name(facts.language)
    own = _OWN_TITLES.get(facts.language, {})
    if language is None or language.calls:
        # All but documents, which are told in their own order.
        order = list(_TITLES)
        tops = sorted(tops, key=lambda each: order.index(_title(each)))
    runs = [(title, list(some)) for title, some in groupby(tops, _title)]
    for title, some in runs:
        items = tuple(item for owner, own in groupby(some, _owner) for item in _owned(facts, owner, list(own), below))
        yield Section(own.get(title, title), _around([each for _, each in some]), items)


def _title(marked: Marked) -> str:
    return _TITLE_OF.get(marked[1].kind, "declarations")


def _owner(marked: Marked) -> str:
    """The type that a definition belongs to where that is told around it, and not by itself."""
    definition = marked[1]
    return "" if definition.owner in definition.signature else definition.owner


def _owned(facts: Facts, owner: str, some: Sequence[Marked], below: dict[int, list[Marked]]) -> Iterator[Item]:
    """Definitions, those that belong to one type beneath its name."""
    if owner:
        yield Item(f"impl {owner}" if facts.language == "Rust" else owner, _around([each for _, each in some]))
    for each in some:
        yield from _items(each, below, 1 if owner else 0)


def _items(marked: Marked, below: dict[int, list[Marked]], depth: int) -> Iterator[Item]:
    """A definition, its members as fields, and what else it holds after it, deeper."""
    index, definition = marked
    inner = [] if definition.kind in _LEAVES or depth >= _MAX_DEPTH else below.get(index, [])
    fields = tuple(_item(each) for _, each in inner if each.kind in MEMBER_KINDS)
    yield _item(definition, fields, depth)
    for each in inner:
        if each[1].kind not in MEMBER_KINDS:
            yield from _items(each, below, depth + 1)


def _item(definition: Definition, fields: tuple[Item, ...] = (), depth: int = 0) -> Item:
    return Item(definition.signature or definition.name, (definition.start, definition.end), fields, depth)


def _around(definitions: Sequence[Definition]) -> Range:
    return min(each.start for each in definitions), max(each.end for each in definitions)


# -- imports -----------------------------------------------------------------------------------


class _Branch:
    """One part of the names of modules. leaf: it is imported itself."""

    def __init__(self, line: int) -> None:
        self.first = self.last = line
        self.leaf = False
        self.branches: dict[str, _Branch] = {}

    def grow(self, part: str, line: int) -> _Branch:
        branch = self.branches.setdefault(part, _Branch(line))
        branch.first, branch.last = min(branch.first, line), max(branch.last, line)
        return branch


def _import_section(facts: Facts) -> Iterator[Section]:
    """All imports, names that begin alike told together: `os.{path.join, sep}`. What a file lends is none."""
    imports = [each for each in facts.imports if each.module != OWN]
    if not imports:
        return
    items = _modules(imports) if facts.language in _BY_MODULE else _alike(imports, _SEPARATORS.get(facts.language, "."))
    lines = [each.line for each in imports]
    yield Section(_IMPORTS, (min(lines), max(lines)), tuple(items))


def _modules(imports: Sequence[Import]) -> Iterator[Item]:
    """One for each module, with what is named of it: `./shapes {Circle, area as size}`."""
    told: dict[str, list[Import]] = {}
    for each in imports:
        told.setdefault(each.module, []).append(each)
    for module, some in told.items():
        names = [_renamed(each.name, each.alias) for each in some if each.name]
        aliases = [_renamed("", each.alias) for each in some if each.alias and not each.name]
        text = " ".join(
            [module, *dict.fromkeys(aliases), *([f"{{{', '.join(dict.fromkeys(names))}}}"] if names else [])]
        )
        lines = [each.line for each in some]
        yield Item(text.strip(), (min(lines), max(lines)))


def _renamed(name: str, alias: str) -> str:
    return f"{name} as {alias}".strip() if alias else name


def _alike(imports: Sequence[Import], separator: str) -> Iterator[Item]:
    top = _Branch(0)
    for each in imports:
        branch = top
        for part in _parts(each, separator):
            branch = branch.grow(part, each.line)
        branch.leaf = True
    for part, branch in top.branches.items():
        yield Item(_told(part, branch, separator), (branch.first, branch.last))


def _parts(each: Import, separator: str) -> list[str]:
    bare = each.module.lstrip(separator)
    lead = each.module[: len(each.module) - len(bare)]
    parts = bare.split(separator, _MAX_PARTS) if bare else []
    if lead:
        parts = [lead + parts[0], *parts[1:]] if parts else [lead]
    if each.name:
        parts.append(each.name)
    if each.alias:
        parts = [*parts[:-1], f"{parts[-1]} as {each.alias}"] if parts else [each.alias]
    return parts


def _told(part: str, branch: _Branch, separator: str) -> str:
    below = [_told(each, deeper, separator) for each, deeper in branch.branches.items()]
    if not below:
        return part
    joint = "" if part.endswith(separator) else separator
    if len(below) == 1 and not branch.leaf:
        return f"{part}{joint}{below[0]}"
    return f"{part}{joint}{{{', '.join(['self'] * branch.leaf + below)}}}"
