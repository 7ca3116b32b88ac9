"""The languages and formats that are read: how their files are known, their grammar, their queries, their habits."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache

import msgspec

_HASH_BANG = re.compile(rb"#!\s*(?:\S*/)?(?:env\s+(?:-S\s+)?)?([A-Za-z]+)")
HEAD_BYTES = 256
FIRST_LANGUAGE = "_REMIT_PARSE_FIRST"
"""The variable by which a worker is told what it reads first: what that takes is at hand when the source comes. Ours
alone: nobody sets it."""


class Language(msgspec.Struct, frozen=True, kw_only=True):
    """name: as people know it. grammar: file in `_grammars`. queries: files in `queries`, read as one.

    endings, names: of files, lower case; a name may end in `*`. programs: of a `#!` line. calls: whether
    definitions refer to one another. family: languages that share one space of names ("": its own). tests:
    pattern over a path from the root that tells a file of tests. test_names: pattern over the name of a function
    or class that tells a test. depth: how deep an outline goes.
    block_comments: it has no others. name_marks: characters before a name that are no part of it. joint: what
    stands between an owner and a name where a definition is written with both.
    """

    name: str
    grammar: str
    queries: tuple[str, ...]
    endings: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    programs: tuple[str, ...] = ()
    calls: bool = True
    family: str = ""
    tests: str = r"(^|/)(tests?|spec)/"
    test_names: str = ""
    depth: int = 8
    block_comments: bool = False
    name_marks: str = "\0"
    joint: str = ""


def _language(name: str, endings: str, grammar: str = "", **more: object) -> Language:
    grammar = grammar or name.lower()
    facts: dict[str, object] = {"queries": (grammar,), **more}
    return Language(name=name, grammar=grammar, endings=tuple(endings.split()), **facts)  # type: ignore[arg-type]


_SCRIPT_TESTS = r"(^|/)(__tests__|tests?|spec|e2e)/|\.(test|spec)\.[cm]?[jt]sx?$"
_JVM_TESTS = r"(^|/)(src/)?(test|androidTest|it)/|(Test|Tests|Spec|IT)\.(java|kt|kts|scala)$"
_C_TESTS = r"(^|/)(tests?|unittests?)/|(^|/)test_[^/]*$|_(test|unittest)\.(c|cc|cpp|cu|cxx|m|mm)$"

LANGUAGES: tuple[Language, ...] = (
    _language("Rust", ".rs", tests=r"(^|/)(tests|benches)/"),
    _language(
        "Python",
        ".py .pyi .pyw",
        programs=("python", "pypy"),
        tests=r"(^|/)(tests?|testing)/|(^|/)test_[^/]*\.py$|_test\.py$|(^|/)conftest\.py$",
        test_names=r"^(test_|Test)",
    ),
    _language("TypeScript", ".ts .mts .cts", queries=("script", "typescript"), family="script", tests=_SCRIPT_TESTS),
    _language("TSX", ".tsx", queries=("script", "typescript", "jsx"), family="script", tests=_SCRIPT_TESTS),
    _language(
        "JavaScript",
        ".js .mjs .cjs .jsx .jsm .es6",
        queries=("script", "javascript", "jsx"),
        programs=("node", "deno", "bun"),
        family="script",
        tests=_SCRIPT_TESTS,
    ),
    _language("Gleam", ".gleam", test_names=r"_test$"),
    _language("Go", ".go", tests=r"_test\.go$", test_names=r"^(Test|Benchmark|Example|Fuzz)([A-Z_]|$)"),
    _language("HTML", ".html .htm .xhtml", calls=False),
    _language("Java", ".java", family="jvm", tests=_JVM_TESTS),
    _language("C", ".c .h", family="c", tests=_C_TESTS),
    _language(
        "C++",
        ".cc .cpp .cxx .c++ .cppm .ixx .hpp .hh .hxx .h++ .ipp .inl .tpp",
        "cpp",
        queries=("cpp", "c"),
        family="c",
        tests=_C_TESTS,
        joint="::",
    ),
    _language("CUDA", ".cu .cuh", queries=("cuda", "cpp", "c"), family="c", tests=_C_TESTS, joint="::"),
    _language(
        "Objective-C",
        ".m .mm",
        "objc",
        queries=("objc", "c"),
        family="c",
        tests=_C_TESTS + r"|Tests\.mm?$",
        test_names=r"^test[A-Z]",
    ),
    _language("C#", ".cs .csx", "csharp", tests=r"(^|/)[^/]*\.?Tests?/|Tests?\.cs$"),
    _language(
        "Ruby",
        ".rb .rake .gemspec",
        names=("rakefile", "gemfile"),
        programs=("ruby",),
        tests=r"(^|/)(tests?|spec)/|_(test|spec)\.rb$",
        name_marks=":",
        test_names=r"^test_",
    ),
    _language("PHP", ".php .phtml", programs=("php",), tests=r"(^|/)tests?/|Test\.php$", test_names=r"^test[A-Z_]"),
    _language("Swift", ".swift", tests=r"(^|/)Tests/|Tests?\.swift$", test_names=r"^test[A-Z]"),
    _language("Kotlin", ".kt .kts", family="jvm", tests=_JVM_TESTS),
    _language("Scala", ".scala .sc .sbt", family="jvm", tests=_JVM_TESTS),
    _language(
        "Bash",
        ".sh .bash .bats .ksh",
        programs=("sh", "bash", "dash", "ksh", "bats"),
        names=(".bashrc", ".bash_profile", ".profile"),
        tests=r"(^|/)tests?/|\.bats$|_test\.sh$",
    ),
    _language("Lua", ".lua", programs=("lua", "luajit"), tests=r"(^|/)(tests?|spec)/|_(test|spec)\.lua$"),
    _language("Elixir", ".ex .exs", programs=("elixir",), tests=r"(^|/)test/|_test\.exs$"),
    _language("Markdown", ".md .markdown .mdown", calls=False),
    _language("Starlark", ".bzl .bazel .star", names=("build", "workspace", "tiltfile")),
    _language("Zig", ".zig .zon"),
    _language("Nix", ".nix"),
    _language("Dart", ".dart", tests=r"(^|/)test/|_test\.dart$"),
    _language("TOML", ".toml", names=("cargo.lock", "poetry.lock", "uv.lock"), calls=False, depth=3),
    _language("YAML", ".yaml .yml", calls=False, depth=3),
    _language("SQL", ".sql .ddl", calls=False),
    _language("CSS", ".css", calls=False, depth=3, block_comments=True),
    _language("JSON", ".json .jsonc .webmanifest .geojson", calls=False, depth=3),
    _language("HCL", ".hcl .tf .tfvars .nomad", calls=True),
    _language(
        "Containerfile",
        ".dockerfile .containerfile",
        "dockerfile",
        names=("dockerfile", "containerfile", "dockerfile.*", "containerfile.*"),
        calls=False,
    ),
    _language("Make", ".mk .mak", names=("makefile", "gnumakefile", "makefile.*"), programs=("make",), calls=False),
    _language("CMake", ".cmake", names=("cmakelists.txt",), calls=False),
    _language("Protobuf", ".proto", "proto", calls=False),
    _language("XML", ".xml .xsd .xsl .xslt .svg .plist .csproj .props .targets .rss .wsdl", calls=False, depth=3),
)


_CPP_SIGNS = re.compile(
    rb"^[ \t]*(?:template[ \t]*<|(?:inline[ \t]+)?namespace(?:[ \t]+[\w:]+)?[ \t]*\{?[ \t]*$"
    rb"|(?:enum[ \t]+)?class[ \t]+(?:(?:\w+[ \t]+)?[\w:]+[ \t]*[;{:]|[\w:]+[ \t]*$)"
    rb"|using[ \t]+(?:namespace\b|[\w:]+[ \t]*[=;])|(?:public|private|protected)[ \t]*:"
    rb"|#[ \t]*include[ \t]*<\w+>)|\bstd::",
    re.MULTILINE,
)
_OBJC_SIGNS = re.compile(rb"^[ \t]*(?:@(?:interface|protocol|import|class)\b|#[ \t]*import\b)", re.MULTILINE)

_OBJC_WORDS = (b"@interface", b"@protocol", b"@import", b"@class", b"import")
"""One of them is in each sign."""


@cache
def _tables() -> tuple[Mapping[str, Language], Mapping[str, Language], Mapping[str, Language], Mapping[str, Language]]:
    endings = {ending: each for each in LANGUAGES for ending in each.endings}
    names = {name: each for each in LANGUAGES for name in each.names if not name.endswith("*")}
    begins = {name[:-1]: each for each in LANGUAGES for name in each.names if name.endswith("*")}
    programs = {program: each for each in LANGUAGES for program in each.programs}
    return endings, names, begins, programs


def by_name(name: str) -> Language:
    """The language that people know by this name. Raises KeyError."""
    return _by_name()[name]


def find_name(name: str) -> Language | None:
    """The language that people know by this name, if there is one."""
    return _by_name().get(name)


@cache
def _by_name() -> Mapping[str, Language]:
    return {each.name: each for each in LANGUAGES}


def language_of(path: str) -> Language | None:
    """The language of a file by its name alone."""
    endings, names, begins, _ = _tables()
    name = path[path.rfind("/") + 1 :].lower()
    dot = name.rfind(".")
    found = names.get(name) or (endings.get(name[dot:]) if dot > 0 else None)
    return found or next((each for begin, each in begins.items() if name.startswith(begin)), None)


def by_content(language: Language, source: bytes) -> Language:
    """The language that a header is written in: names of files do not tell C from C++ and Objective-C."""
    if language.name != "C":
        return language
    if any(word in source for word in _OBJC_WORDS) and _OBJC_SIGNS.search(source):
        return by_name("Objective-C")
    return by_name("C++") if _CPP_SIGNS.search(source) else language


def language_by_head(head: bytes) -> Language | None:
    """The language that the `#!` line of a file names."""
    match = _HASH_BANG.match(head[:HEAD_BYTES])
    return _tables()[3].get(match[1].decode().lower()) if match else None
