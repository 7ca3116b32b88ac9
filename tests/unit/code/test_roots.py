"""Where the modules of packages lie by their manifests and by what files say of themselves."""

from __future__ import annotations

import pytest

from fakes.trees import edges, graph

SCRIPT = "export function area() {}\n"
RUST = "pub fn area() {}\n"
PHP = "<?php\nnamespace Acme\\Shapes;\nclass Area { static function of() {} }\n"
JAVA = "package org.acme.shapes;\npublic class Area { public static int of() { return 1; } }\n"


@pytest.mark.parametrize(
    ("files", "edge"),
    [
        # package.json: the name of a package of the same repository.
        (
            {
                "libs/shapes/package.json": '{"name": "@acme/geometry", "version": "1"}',
                "libs/shapes/src/index.ts": SCRIPT,
                "app/main.ts": 'import { area } from "@acme/geometry";\nfunction run() { area() }\n',
            },
            "app/main.ts:run -> libs/shapes/src/index.ts:area",
        ),
        (
            {
                "libs/shapes/package.json": '{\n  "name": "geometry"\n}\n',
                "libs/shapes/flat/circle.js": SCRIPT,
                "app/main.js": 'import { area } from "geometry/flat/circle.js";\nfunction run() { area() }\n',
            },
            "app/main.js:run -> libs/shapes/flat/circle.js:area",
        ),
        # tsconfig.json: other names for directories and files.
        (
            {
                "web/tsconfig.json": '{\n  // ours\n  "compilerOptions": {\n    "baseUrl": "./source",\n'
                '    "paths": {\n      "#shapes/*": ["shapes/*"],\n    },\n  },\n}\n',
                "web/source/shapes/circle.ts": SCRIPT,
                "web/main.ts": 'import { area } from "#shapes/circle";\nfunction run() { area() }\n',
            },
            "web/main.ts:run -> web/source/shapes/circle.ts:area",
        ),
        (
            {
                "tsconfig.base.json": '{"compilerOptions": {"paths": {"@geo": ["libs/all.ts"]}}}',
                "libs/all.ts": SCRIPT,
                "web/main.ts": 'import { area } from "@geo";\nfunction run() { area() }\n',
            },
            "web/main.ts:run -> libs/all.ts:area",
        ),
        # Cargo.toml: the name of a crate is not that of its directory.
        (
            {
                "crates/geo/Cargo.toml": '[package]\nname = "acme-geometry"\n',
                "crates/geo/src/lib.rs": "pub mod flat;\n",
                "crates/geo/src/flat.rs": RUST,
                "crates/app/Cargo.toml": '[package]\nname = "app"\n',
                "crates/app/src/main.rs": "use acme_geometry::flat;\nfn run() { flat::area() }\n",
            },
            "crates/app/src/main.rs:run -> crates/geo/src/flat.rs:area",
        ),
        # composer.json, and what files of PHP say themselves.
        (
            {
                "composer.json": '{"autoload": {"psr-4": {"Acme\\\\Shapes\\\\": "code/"}}}',
                "code/Area.php": PHP.replace("namespace Acme\\Shapes;\n", ""),
                "run.php": "<?php\nuse Acme\\Shapes\\Area;\nfunction run() { Area::of(); }\n",
            },
            "run.php:run -> code/Area.php:Area",
        ),
        (
            {"code/all.php": PHP, "run.php": "<?php\nuse Acme\\Shapes\\Area;\nfunction run() { Area::of(); }\n"},
            "run.php:run -> code/all.php:Area.of",
        ),
        # Packages of the JVM wherever their files lie.
        (
            {
                "a/Area.java": JAVA,
                "b/Run.java": "package app;\nimport org.acme.shapes.Area;\nclass Run { void run() { Area.of(); } }\n",
            },
            "b/Run.java:Run.run -> a/Area.java:Area.of",
        ),
        (
            {
                "a/Area.java": JAVA,
                "b/Run.java": "package app;\nimport static org.acme.shapes.Area.*;\n"
                "class Run { void run() { of(); } }\n",
            },
            "b/Run.java:Run.run -> a/Area.java:Area.of",
        ),
        (
            {
                "a/Area.java": JAVA,
                "b/Run.java": "package org.acme.shapes;\nclass Run { void run() { Area.of(); } }\n",
            },
            "b/Run.java:Run.run -> a/Area.java:Area.of",
        ),
        (
            {
                "a/all.kt": "package org.acme.shapes\nfun area() = 1\n",
                "b/run.kt": "package app\nimport org.acme.shapes.area\nfun run() = area()\n",
            },
            "b/run.kt:run -> a/all.kt:area",
        ),
        (
            {
                "a/all.scala": "package org.acme\npackage shapes\nobject Area { def of() = 1 }\n",
                "b/run.scala": "package app\nimport org.acme.shapes.Area\nobject Run { def run() = Area.of() }\n",
            },
            "b/run.scala:Run.run -> a/all.scala:Area.of",
        ),
    ],
)
def test_what_is_imported_by_the_name_of_a_package(files: dict[str, str], edge: str) -> None:
    assert edge in edges(graph(files))


@pytest.mark.parametrize(
    "files",
    [
        # Of the same name as somebody else's.
        {
            "a/Area.java": JAVA,
            "b/Run.java": "package app;\nimport com.others.shapes.Area;\nclass Run { void run() { Area.of(); } }\n",
        },
        {
            "crates/geo/Cargo.toml": '[package]\nname = "acme-geometry"\n',
            "crates/geo/src/lib.rs": RUST,
            "crates/geo/src/run.rs": "use others::area;\nfn run() { area() }\n",
        },
        {
            "tsconfig.json": '{"compilerOptions": {"paths": {"@geo": ["libs/all.ts"], "@out/*": ["../../out/*"]}}}',
            "libs/all.ts": SCRIPT,
            "main.ts": 'import { area } from "@geo/other";\nfunction run() { area() }\n',
        },
    ],
)
def test_what_is_of_another_package_is_not_in_the_tree(files: dict[str, str]) -> None:
    assert not [edge for edge in edges(graph(files)) if "run -> " in edge]
