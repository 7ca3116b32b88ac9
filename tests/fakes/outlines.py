"""Facts as text, for golden files: definitions in their tree, imports, and references by scope."""

from __future__ import annotations

from remit.code.facts import DECLARED, EXPORTED, TEST, Definition, Facts


def outline(facts: Facts) -> str:
    lines = [
        f"{facts.language}, {facts.lines} lines{', broken' * facts.broken}{f', cut: {facts.cut}' * bool(facts.cut)}"
    ]
    lines += [f"| {facts.doc}"] * bool(facts.doc)
    lines += ["", "definitions"]
    lines += [_definition(facts, each) for each in facts.definitions]
    lines += ["", "imports"]
    lines += [
        f"  {each.line}: {each.module}{f' . {each.name}' * bool(each.name)}{f' as {each.alias}' * bool(each.alias)}"
        for each in facts.imports
    ]
    lines += ["", "references"]
    for each in facts.references:
        scope = facts.definitions[each.scope].name if each.scope >= 0 else "-"
        mention = f"{each.qualifier} . {each.name}" if each.qualifier else each.name
        lines.append(f"  {each.line}: {scope} {each.kind} {mention}{f' x{each.count}' * (each.count > 1)}")
    return "\n".join(lines) + "\n"


def _definition(facts: Facts, definition: Definition) -> str:
    depth, above = 1, definition.parent
    while above >= 0:
        depth, above = depth + 1, facts.definitions[above].parent
    marks = " declared" * bool(definition.flags & DECLARED)
    marks += " exported" * bool(definition.flags & EXPORTED) + " test" * bool(definition.flags & TEST)
    owner = f"{definition.owner} . " if definition.owner else ""
    doc = f" | {definition.doc}" if definition.doc else ""
    head = f"{'  ' * depth}{definition.kind} {owner}{definition.name} [{definition.start}-{definition.end}]{marks}"
    return f"{head}: {definition.signature}{doc}"
