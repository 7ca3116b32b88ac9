"""What is mentioned without being called: types before the names behind them, functions that are kept, constants."""

from __future__ import annotations

import pytest

from fakes.trees import edges, graph

GO = {
    "lib/lib.go": "package lib\n\ntype Thing struct{}\n\nfunc New() *Thing { return nil }\n\nfunc (t *Thing) M() {}\n\n"
    "const K = 1\n\nvar V = 2\n"
}
RUST = {
    "src/lib.rs": "pub mod thing;\n",
    "src/thing.rs": "pub struct Thing;\nimpl Thing {\n    pub fn new() -> Self { Thing }\n}\npub fn helper() {}\n"
    "pub const LIMIT: u8 = 3;\n",
}
SCRIPT = {
    "thing.ts": "export class Thing {\n  static make() {}\n}\nexport const LIMIT = 3;\nexport function helper() {}\n"
}
PYTHON = {"thing.py": "LIMIT = 3\nclass Thing:\n    @staticmethod\n    def make(): ...\ndef helper(): ...\n"}
KOTLIN = {"a/Thing.kt": "package a\nclass Thing { companion object { const val K = 1 } }\nconst val TOP = 1\n"}
SWIFT = {"Thing.swift": "class Thing { static func make() {} }\nfunc helper() {}\n"}
C = {"a.h": "int helper(int);\n", "a.c": '#include "a.h"\nint helper(int x) { return x; }\n'}

GO_HEAD = 'package main\n\nimport "example.com/x/lib"\n\n'
RUST_HEAD = "use crate::thing::{self, Thing, helper, LIMIT};\n"
SCRIPT_HEAD = 'import { Thing, LIMIT, helper } from "./thing";\nimport * as lib from "./thing";\n'
PYTHON_HEAD = "import thing\nfrom thing import LIMIT, Thing, helper\nlog = open()\n"


@pytest.mark.parametrize(
    ("files", "path", "source", "mentioned"),
    [
        (GO, "run.go", GO_HEAD + "func run() { f := lib.New; f() }\n", {"New"}),
        (GO, "run.go", GO_HEAD + "func run() { var f = lib.New; f() }\n", {"New"}),
        (GO, "run.go", GO_HEAD + "func run() func() { return lib.New }\n", {"New"}),
        (GO, "run.go", GO_HEAD + "func run(x int) { switch x { case lib.K: x = lib.V + 1 } }\n", {"K", "V"}),
        (GO, "run.go", GO_HEAD + "func run() { f := (*lib.Thing).M; f(nil) }\n", {"Thing"}),
        (
            GO,
            "run.go",
            GO_HEAD + "func run() { all := []any{own, lib.New}; use(&all) }\nfunc own() {}\n",
            {"own", "New"},
        ),
        # A field of something is no mention of what is called so elsewhere.
        (GO, "run.go", GO_HEAD + "func run(x T) { y := x.New; z := x.K; use(y, z) }\n", set()),
        (RUST, "src/run.rs", RUST_HEAD + "fn run() { let t = Thing::new(); }\n", {"Thing", "Thing.new"}),
        (RUST, "src/run.rs", RUST_HEAD + "fn run() { let f = Thing::new; }\n", {"Thing", "Thing.new"}),
        (RUST, "src/run.rs", RUST_HEAD + "fn run() { x.map(Thing::new); }\n", {"Thing", "Thing.new"}),
        (RUST, "src/run.rs", RUST_HEAD + "fn run() -> u8 { let f = helper; 1 + LIMIT }\n", {"helper", "LIMIT"}),
        (RUST, "src/run.rs", RUST_HEAD + 'fn run() { println!("{}", LIMIT); }\n', {"LIMIT"}),
        (SCRIPT, "run.ts", SCRIPT_HEAD + "function run() { Thing.make() }\n", {"Thing", "Thing.make"}),
        (SCRIPT, "run.ts", SCRIPT_HEAD + "function run() { const f = lib.helper; f() }\n", {"helper"}),
        (
            SCRIPT,
            "run.ts",
            SCRIPT_HEAD + "function run(x) { return x > LIMIT ? Thing : helper }\n",
            {"LIMIT", "Thing", "helper"},
        ),
        (SCRIPT, "run.ts", SCRIPT_HEAD + "function run(x) { const y = x.helper; return x.make }\n", set()),
        (PYTHON, "run.py", PYTHON_HEAD + "def run():\n    return Thing.make()\n", {"Thing", "Thing.make"}),
        (PYTHON, "run.py", PYTHON_HEAD + "def run(x):\n    return x > LIMIT\n", {"LIMIT"}),
        (PYTHON, "run.py", PYTHON_HEAD + "def run():\n    f = thing.helper\n", {"helper"}),
        (PYTHON, "run.py", PYTHON_HEAD + "def run():\n    log.write(1)\n", {"log"}),
        (PYTHON, "run.py", PYTHON_HEAD + "def run(log):\n    log.write(1)\n", set()),
        (KOTLIN, "b/Run.kt", "package b\nimport a.Thing\nfun run() = Thing.K\n", {"Thing", "Thing.K"}),
        (KOTLIN, "b/Run.kt", "package b\nimport a.TOP\nfun run() = TOP + 1\n", {"TOP"}),
        (SWIFT, "Run.swift", "func run() { let f = helper; f() }\n", {"helper"}),
        (SWIFT, "Run.swift", "func run() { Thing.make() }\n", {"Thing", "Thing.make"}),
        (C, "run.c", '#include "a.h"\nint run() { int (*f)(int) = &helper; return f(1); }\n', {"helper"}),
    ],
)
def test_a_mention_without_a_call(files: dict[str, str], path: str, source: str, mentioned: set[str]) -> None:
    found = edges(graph({**files, path: source}))
    assert {each.rpartition(":")[2] for each in found if each.startswith(f"{path}:run -> ")} == mentioned
