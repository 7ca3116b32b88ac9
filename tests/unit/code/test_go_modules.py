"""Modules of Go that are a part of a tree: their names stand in a go.mod below its root."""

from __future__ import annotations

import pytest

from fakes.trees import edges, graph

LIB = "package store\n\nfunc Open() {}\n"


def calls(imported: str, importer: str, library: str) -> bool:
    source = f'package main\n\nimport "{imported}"\n\nfunc run() {{ store.Open() }}\n'
    return f"{importer}:run -> {library}:Open" in edges(graph({importer: source, library: LIB}))


@pytest.mark.parametrize(
    ("imported", "importer", "library", "found"),
    [
        ("example.com/api/store", "services/api/main.go", "services/api/store/a.go", True),
        ("example.com/api/store", "services/api/cmd/run/main.go", "services/api/store/a.go", True),
        ("example.com/api/inner/store", "services/api/main.go", "services/api/inner/store/a.go", True),
        ("example.com/mono/services/api/store", "services/api/main.go", "services/api/store/a.go", True),
        # Of somebody else: only the last part agrees, or the importer lies elsewhere.
        ("github.com/others/store", "services/api/main.go", "services/api/store/a.go", False),
        ("example.com/api/store", "tools/main.go", "services/api/store/a.go", False),
    ],
)
def test_a_module_below_the_root(imported: str, importer: str, library: str, found: bool) -> None:
    assert calls(imported, importer, library) is found
