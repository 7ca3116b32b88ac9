from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path
from typing import Any, cast

import msgspec
import pytest

from remit.base.calls import Outcome
from remit.base.errors import BudgetSpent, ErrorCode, Failure
from remit.base.ports import World
from remit.base.records import Record
from remit.base.resources import Effect, Resource
from remit.engine.context import CallContext
from remit.store.artifacts import ArtifactStore
from remit.tools.documents.write_artifact import WriteArtifact, check_name

NOWHERE = cast(World, None)
TOOL = WriteArtifact()


def call(run_dir: Path, arguments: dict[str, Any] | str, max_bytes: int = 1000, budget: int = 10**9) -> Outcome:
    """One call the way the gate makes it: parse, resources, grant, run."""

    def spend(size: int) -> None:
        if size > budget:
            raise BudgetSpent("artifacts_total_bytes", "spent")

    records: list[Record] = []
    store = ArtifactStore(str(run_dir), max_bytes, spend, records.append)
    params = TOOL.parse(arguments if isinstance(arguments, str) else json.dumps(arguments))
    (resource,) = TOOL.resources(params, NOWHERE)
    grant = store.grant("t1.c1", [resource.name])
    return asyncio.run(TOOL.run(params, CallContext("t1.c1", TOOL.name, granted_artifacts=grant)))


def refused(run_dir: Path, arguments: dict[str, Any] | str, **settings: Any) -> Failure:
    with pytest.raises(Failure) as caught:
        call(run_dir, arguments, **settings)
    assert not (run_dir / "artifacts").exists()
    return caught.value


@pytest.mark.parametrize(
    ("name", "content", "kind"),
    [
        ("report.md", "# Größe 🔥\r\n", "text/markdown"),
        ("notes.txt", "", "text/plain"),
        ("table.csv", "a,b\n1,2\n", "text/csv"),
        ("data.json", '{"a": [1, 2.5e3, null, "\\ud83d\\udd25"]}\n', "application/json"),
        ("UPPER.JSON", "null", "application/json"),
        ("a.b.c.md", "x", "text/markdown"),
        ("Bericht März (final).md", "x", "text/markdown"),
        ("👩‍💻.txt", "x", "text/plain"),
    ],
)
def test_each_type_is_saved_as_it_was_given(tmp_path: Path, name: str, content: str, kind: str) -> None:
    outcome = call(tmp_path, {"name": name, "content": content})

    saved = (tmp_path / "artifacts" / name).read_bytes()
    assert saved == content.encode()
    assert outcome.envelope()["ok"] is True
    data = outcome.envelope()["data"]
    assert (data["name"], data["bytes"], data["mediaType"]) == (name, len(saved), kind)
    assert (data["path"], len(data["sha256"])) == (f"artifacts/{name}", 64)
    assert json.loads(outcome.for_model()) == outcome.envelope()


def test_the_call_names_the_artifact_it_will_write() -> None:
    params = TOOL.parse('{"name": "a.md", "content": ""}')

    assert TOOL.resources(params, NOWHERE) == [Resource("artifact", "a.md", Effect.WRITE)]
    assert TOOL.effects == {Effect.WRITE}
    assert TOOL.repeatable


def test_writing_again_replaces_the_artifact(tmp_path: Path) -> None:
    for content in ("one", "two", "two"):
        call(tmp_path, {"name": "a.md", "content": content})

    assert os.listdir(tmp_path / "artifacts") == ["a.md"]
    assert (tmp_path / "artifacts" / "a.md").read_text() == "two"


@pytest.mark.parametrize(
    ("name", "what"),
    [
        ("", "empty"),
        ("reports/a.md", "no folders"),
        ("../a.md", "no folders"),
        ("/etc/a.md", "no folders"),
        ("a\\b.md", "no folders"),
        ("C:\\a.md", "no folders"),
        (".md", "start with a dot"),
        (".hidden.md", "start with a dot"),
        ("..md", "start with a dot"),
        (" a.md", "start with a space"),
        ("a.md ", "end with a space"),
        ("a.md.", "end with a space or a dot"),
        ("C:a.md", "':' is not allowed"),
        ("a.md:stream.txt", "':' is not allowed"),
        ("what?.md", "'?' is not allowed"),
        ("a*.md", "'*' is not allowed"),
        ('a".md', "'\"' is not allowed"),
        ("a|b.md", "'|' is not allowed"),
        ("<a>.md", "'<' is not allowed"),
        ("a\n.md", "control characters"),
        ("a\0.md", "control characters"),
        ("a\x1b[31m.md", "control characters"),
        ("a\x7f.md", "control characters"),
        ("a\x85.md", "control characters"),
        ("a\u2028.md", "control characters"),
        ("a\u202egpj.md", "invisible marks"),
        ("a\u200b.md", "invisible marks"),
        ("\ufeffa.md", "invisible marks"),
        ("nul.md", "device"),
        ("CON.txt", "device"),
        ("con .txt", "device"),
        ("Aux.tar.md", "device"),
        ("com1.csv", "device"),
        ("LPT9.json", "device"),
        ("COM¹.md", "device"),
        ("x" * 253 + ".md", "256 bytes, 255 are allowed"),
        ("é" * 126 + "x.md", "256 bytes, 255 are allowed"),
    ],
)
def test_a_name_that_is_no_bare_filename_is_refused(tmp_path: Path, name: str, what: str) -> None:
    failure = refused(tmp_path, {"name": name, "content": "x"})

    assert failure.code is ErrorCode.INVALID_NAME
    assert what in failure.message
    assert "report.md" in failure.message
    assert failure.message.isprintable()


@pytest.mark.parametrize("name", ["x" * 252 + ".md", "é" * 126 + ".md", "console.md", "com10.md", "nul1.txt", "a..md"])
def test_names_at_the_edge_of_the_rules_are_taken(tmp_path: Path, name: str) -> None:
    assert call(tmp_path, {"name": name, "content": "x"}).ok
    assert os.listdir(tmp_path / "artifacts") == [name]


def test_a_surrogate_in_a_name_is_refused_even_past_the_parser() -> None:
    with pytest.raises(Failure) as caught:
        check_name("a\ud800.md")
    assert caught.value.code is ErrorCode.INVALID_NAME


@pytest.mark.parametrize(
    ("name", "what"),
    [
        ("a.html", "'.html' is not one of .md .txt .csv .json"),
        ("a.md.exe", "'.exe' is not one of"),
        ("report", "the name has no type; allowed are .md .txt .csv .json"),
        ("a.jsonl", "'.jsonl' is not one of"),
        ("a.md~", "'.md~' is not one of"),
    ],
)
def test_other_types_are_refused(tmp_path: Path, name: str, what: str) -> None:
    failure = refused(tmp_path, {"name": name, "content": "x"})

    assert failure.code is ErrorCode.UNSUPPORTED_FORMAT
    assert what in failure.message


@pytest.mark.parametrize(
    ("content", "what"),
    [
        ("", "Expecting value at line 1, column 1"),
        ('{"a": 1,\n "b": }', "line 2, column 7"),
        ("{'a': 1}", "line 1, column 2"),
        ('{"a": 1} x', "Extra data at line 1, column 10"),
        ('{"a": 1,}', "line 1"),
        ('["\t"]', "Invalid control character"),
        ("\ufeff{}", "line 1, column 1"),
        ("NaN", "NaN is not JSON"),
        ('{"a": Infinity}', "Infinity is not JSON"),
        ("[-Infinity]", "-Infinity is not JSON"),
        ('{"a": 1, "b": {"x": 1, "x": 1}}', "the key 'x' stands twice"),
        ('{"a": 1, "\\u0061": 2}', "the key 'a' stands twice"),
        ("```json\n{}\n```", "line 1, column 1"),
    ],
)
def test_json_that_does_not_parse_is_refused_with_its_place(tmp_path: Path, content: str, what: str) -> None:
    failure = refused(tmp_path, {"name": "a.json", "content": content})

    assert failure.code is ErrorCode.INVALID_JSON
    assert what in failure.message


@pytest.mark.parametrize("content", ["1", '"x"', " [ ] \n", "1e400", "1" * 5000, '{"a": {"a": 1}}', "-0.0"])
def test_json_of_any_kind_is_taken_word_for_word(tmp_path: Path, content: str) -> None:
    assert call(tmp_path, {"name": "a.json", "content": content}, max_bytes=10_000).ok
    assert (tmp_path / "artifacts" / "a.json").read_text() == content


def test_json_nested_past_reason_is_refused(tmp_path: Path) -> None:
    failure = refused(tmp_path, {"name": "a.json", "content": "[" * 200_000}, max_bytes=10**6)

    assert failure.code is ErrorCode.INVALID_JSON
    assert "nested too deeply" in failure.message


def test_other_types_are_not_read_as_json(tmp_path: Path) -> None:
    assert call(tmp_path, {"name": "a.txt", "content": "{"}).ok


@pytest.mark.parametrize("char", ["x", "é"])
def test_content_at_the_limit_passes_and_a_byte_more_is_refused_with_both_sizes(tmp_path: Path, char: str) -> None:
    full = char * (100 // len(char.encode()))
    failure = refused(tmp_path, {"name": "a.md", "content": full + "."}, max_bytes=100)

    assert failure.code is ErrorCode.ARTIFACT_TOO_LARGE
    assert "101 bytes" in failure.message and "100 bytes" in failure.message
    assert call(tmp_path, {"name": "a.md", "content": full}, max_bytes=100).ok


def test_the_size_is_looked_at_before_the_json(tmp_path: Path) -> None:
    failure = refused(tmp_path, {"name": "a.json", "content": "{" * 101}, max_bytes=100)

    assert failure.code is ErrorCode.ARTIFACT_TOO_LARGE


def test_a_spent_total_ends_the_run_and_not_only_the_call(tmp_path: Path) -> None:
    with pytest.raises(BudgetSpent):
        call(tmp_path, {"name": "a.md", "content": "12345"}, budget=4)


@pytest.mark.parametrize(
    "arguments",
    [
        "{}",
        '{"name": "a.md"}',
        '{"name": "a.md", "content": null}',
        '{"name": "a.md", "content": {"a": 1}}',
        '{"name": "a.md", "content": "x", "path": "/"}',
        '{"name": "a.md", "content": "\\ud800"}',
        '{"name": "a.md", "content": "x',
        "[]",
    ],
)
def test_bad_arguments_are_told(tmp_path: Path, arguments: str) -> None:
    assert refused(tmp_path, arguments).code is ErrorCode.INVALID_ARGUMENTS


def test_without_the_grant_nothing_is_written() -> None:
    params = TOOL.parse('{"name": "a.md", "content": "x"}')

    with pytest.raises(Failure) as caught:
        asyncio.run(TOOL.run(params, CallContext("t1.c1", TOOL.name)))
    assert caught.value.code is ErrorCode.UNDECLARED


def test_the_model_is_told_the_limits() -> None:
    spec = TOOL.spec()

    assert spec.name == "write_artifact"
    for fact in (".md, .txt, .csv and .json", "no folders, no leading dot", "255 bytes", "never into the workspace"):
        assert fact in " ".join(spec.description.split())
    assert set(spec.schema["required"]) == {"name", "content"}
    assert spec.schema["additionalProperties"] is False
    assert msgspec.json.encode(spec.schema)
