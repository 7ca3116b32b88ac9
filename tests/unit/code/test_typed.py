"""Names whose type is told where they are bound."""

from __future__ import annotations

import pytest

from fakes.trees import edges, graph
from remit.code.extract import extract
from remit.code.languages import by_name

SOURCE = b"""
import argparse

class Service:
    field = Made()

    def __init__(self, store: Store, other: "quoted.Type" = None, *, late: pkg.Late = None,
                 unasked_parameter: Kept, nobody_asks: Type):
        self.queue = Queue()
        self.declared: Other = store
        self.kept = unasked_parameter
        store.get(); late.go(); other.put(); self.kept.go()
        self.queue.push(); self.declared.pop(); self.field.run()
        unasked = Thing()

parser = argparse.ArgumentParser()
parser.parse_args()
with Opened() as handle:
    handle.read()
"""


def test_python_tells_types_by_calls_and_annotations() -> None:
    facts = extract(by_name("Python"), SOURCE)
    told = [
        (each.name, each.type, facts.definitions[each.scope].name if each.scope >= 0 else "") for each in facts.typed
    ]
    assert told == [
        ("field", "Made", "field"),
        ("store", "Store", "__init__"),
        ("other", '"quoted.Type"', "__init__"),
        ("late", "pkg.Late", "__init__"),
        ("unasked_parameter", "Kept", "__init__"),
        ("self.queue", "Queue", "__init__"),
        ("self.declared", "Other", "__init__"),
        ("self.kept", "unasked_parameter", "__init__"),
        ("parser", "argparse.ArgumentParser", "parser"),
        ("handle", "Opened", ""),
    ]


@pytest.mark.parametrize(
    ("path", "source"),
    [
        (
            "a.go",
            "package a\n\ntype C struct{}\n\nfunc (c *C) Flag() (flag *flag.Flag) { return nil }\n\n"
            "func run(c *C) { made := c.Flag(); made.Go() }\nfunc (c *C) Go() {}\n",
        ),
        ("a.go", "package a\n\nfunc F() F { return nil }\n\nfunc run() { x := F(); x.F() }\n"),
        ("a.py", "def a() -> b: ...\ndef b() -> a: ...\ndef run():\n    x = a()\n    x.go()\n"),
    ],
)
def test_what_functions_are_told_to_return_may_go_round_in_a_circle(path: str, source: str) -> None:
    assert any(edge.startswith(f"{path}:run -> ") for edge in edges(graph({path: source})))
