"""What a module of JavaScript or TypeScript lends by default, whatever its importers call it."""

from __future__ import annotations

import pytest

from fakes.trees import edges, graph

OTHERS = "export function other() {}\nexport class More {}\n"


@pytest.mark.parametrize(
    "lent",
    [
        "export default function made() {}\n",
        "function made() {}\nexport default made;\n",
        "function made() {}\nexport { made as default };\n",
    ],
)
@pytest.mark.parametrize("ending", ["ts", "js"])
def test_a_default_import_under_another_name(lent: str, ending: str) -> None:
    found = edges(
        graph(
            {
                f"a.{ending}": lent + OTHERS,
                f"barrel.{ending}": "export { default } from './a';\nexport * from './a';\n",
                f"named.{ending}": "export { default as shown } from './a';\n",
                f"b.{ending}": "import m2 from './a';\nfunction near() { m2(); }\n",
                f"c.{ending}": "import m3 from './barrel';\nfunction far() { m3(); }\n",
                f"d.{ending}": "import { shown } from './named';\nfunction called() { shown(); }\n",
            }
        )
    )
    for caller in ("b", "c", "d"):
        name = {"b": "near", "c": "far", "d": "called"}[caller]
        assert f"{caller}.{ending}:{name} -> a.{ending}:made" in found


def test_a_default_class_and_what_it_holds() -> None:
    found = edges(
        graph(
            {
                "a.ts": "export default class Store { keep() {} }\n" + OTHERS,
                "b.ts": "import Kept from './a';\nfunction go() { const s = new Kept(); s.keep(); }\n",
            }
        )
    )
    assert {"b.ts:go -> a.ts:Store", "b.ts:go -> a.ts:Store.keep"} <= found


def test_nothing_is_lent_that_is_not_said() -> None:
    found = edges(graph({"a.ts": OTHERS, "b.ts": "import m2 from './a';\nfunction near() { m2(); }\n"}))
    assert not any(edge.startswith("b.ts:near") for edge in found)
    circle = {"a.ts": "export { default } from './b';\n", "b.ts": "export { default } from './a';\n"}
    assert edges(graph({**circle, "c.ts": "import x from './a';\nfunction f() { x(); }\n"})) <= {
        *("c.ts:f -> a.ts", "c.ts:f -> b.ts", "c.ts -> a.ts", "a.ts -> b.ts", "b.ts -> a.ts")
    }


@pytest.mark.parametrize(
    ("between", "user"),
    [
        ("import Own from './a';\nexport default Own;\n", "import X from './between';\nfunction go() { X.keep(); }\n"),
        (
            "import Own from './a';\nexport { Own as X };\n",
            "import { X } from './between';\nfunction go() { X.keep(); }\n",
        ),
        ("", "import * as all from './a';\nfunction go() { all.default.keep(); }\n"),
    ],
)
def test_what_is_lent_on(between: str, user: str) -> None:
    files = {"a.ts": "export default class Store { static keep() {} }\n" + OTHERS, "between.ts": between, "b.ts": user}
    assert "b.ts:go -> a.ts:Store.keep" in edges(graph(files))


def test_what_is_all_that_a_module_exports() -> None:
    found = edges(
        graph(
            {
                "a.js": "function made() {}\nfunction other() {}\nmodule.exports = made;\n",
                "b.js": "const run = require('./a');\nfunction go() { run(); }\n",
            }
        )
    )
    assert "b.js:go -> a.js:made" in found


@pytest.mark.parametrize(
    "bound", ["const all = await import('./a'); all.other()", "const { other } = await import('./a'); other()"]
)
def test_what_is_imported_when_it_is_needed(bound: str) -> None:
    assert "b.ts:go -> a.ts:other" in edges(graph({"a.ts": OTHERS, "b.ts": f"async function go() {{ {bound} }}\n"}))
