"""What imports of Go mean: by the go.mod files of a tree, and where there are none by what their names look like."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from fakes.trees import edges, graph, tree
from remit.code.graph import build_graph
from remit.code.roots import go_module

LIB = "package store\n\nfunc Open() {}\n"


def calls(imported: str, importer: str, library: str, manifests: Mapping[str, str] = {}) -> bool:
    source = f'package main\n\nimport "{imported}"\n\nfunc run() {{ store.Open() }}\n'
    return f"{importer}:run -> {library}:Open" in edges(graph({**manifests, importer: source, library: LIB}))


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


@pytest.mark.parametrize(
    ("imported", "importer", "library", "found"),
    [
        # The directory is not called as the module is.
        ("example.com/api/store", "backend/main.go", "backend/store/a.go", True),
        ("example.com/api/v2/store", "backend/main.go", "backend/store/a.go", False),
        # Of the module next to it.
        ("example.com/tools/store", "backend/main.go", "cmd/store/a.go", True),
        ("example.com/tools/store", "backend/main.go", "backend/store/a.go", False),
        # The package right in the directory of the module.
        ("example.com/store", "store/cmd/main.go", "store/a.go", True),
        ("example.com/store", "backend/main.go", "store/a.go", True),
        # Another's, and what is brought along of it.
        ("github.com/others/store", "backend/main.go", "backend/store/a.go", False),
        ("github.com/others/store", "backend/main.go", "backend/vendor/github.com/others/store/a.go", True),
    ],
)
def test_modules_are_known_by_their_manifests(imported: str, importer: str, library: str, found: bool) -> None:
    manifests = {
        "backend/go.mod": "// all of it\nmodule example.com/api\n\ngo 1.22\n",
        "cmd/go.mod": 'module "example.com/tools"\n',
        "store/go.mod": "module example.com/store // here\n",
    }
    assert calls(imported, importer, library, manifests) is found


def test_the_package_at_the_top_of_a_tree() -> None:
    source = 'package sub\n\nimport "example.com/store"\n\nfunc run() { store.Open() }\n'
    files = {"go.mod": "module example.com/store\n", "store.go": LIB, "sub/sub.go": source}
    assert "sub/sub.go:run -> store.go:Open" in edges(graph(files))
    below = {"sub/sub.go": source, "store.go": LIB}
    tree_of_a_part = tree(below)
    tree_of_a_part.go_modules = {"": "example.com/store"}
    assert "lib/sub/sub.go:run -> lib/store.go:Open" in edges(build_graph(tree_of_a_part, "lib/"))


@pytest.mark.parametrize(
    ("text", "name"),
    [
        (b"module example.com/a\n", "example.com/a"),
        (b"// module x\n\tmodule   example.com/a/v2 // indirect\r\n", "example.com/a/v2"),
        (b'module "a b"\n', "a b"),
        (b"module\n", ""),
        (b"", ""),
        (b"modules x\n", ""),
    ],
)
def test_the_name_in_a_manifest(text: bytes, name: str) -> None:
    assert go_module(text) == name
