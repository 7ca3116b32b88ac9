"""`remit man`: pages that say all there is, in roff that means what it says."""

from __future__ import annotations

import os
import pty
import re
import subprocess
from datetime import UTC, datetime
from pathlib import Path
from typing import get_args, get_type_hints

import msgspec
import pytest

from fakes.cli import REMIT, Home
from fakes.programs import needs
from remit.base.errors import EXIT_CODES, EXIT_MEANINGS, Verdict, exit_word
from remit.base.ports import Finished, HookWord
from remit.base.redact import MIN_KEY_CHARS, MIN_VALUE_CHARS, MIN_WORDS_CHARS
from remit.base.spec import SECTIONS, Goal, PolicySource, Source
from remit.commands.app import COMMANDS
from remit.commands.manual import PAGES, find_page, formats, guides, hooks, page_words
from remit.commands.manual.page import Code, Item, Page, Para, Section, Span, Sub, bold, escaped, item, plain, roff
from remit.commands.manual.schema_words import default_words, type_words
from remit.commands.manual.texts import COMMAND_TEXTS
from remit.commands.stdin import FIRST_BYTE_SECONDS
from remit.commands.tree import Command, command_at, command_tree
from remit.config.asked import MAX_PROMPT_BYTES
from remit.config.hooks import fitted, read_hooks
from remit.config.profiles import ProfileKeys, load_profile
from remit.config.schema import task_schema
from remit.config.settings import Settings
from remit.config.task import examine_task
from remit.engine.hook_answers import read_answer
from remit.engine.hooks import MAX_STOP_HOOKS
from remit.policy import answers, questions, rule_files, selectors
from remit.policy.answers import load_answers
from remit.policy.load import load_rules
from remit.policy.patterns import Place
from remit.providers.scripted import Script, ScriptCall, ScriptError, ScriptPrice, ScriptTurn, ScriptUsage
from remit.providers.wire import MAX_ATTEMPTS
from remit.store import facts, outputs
from remit.stream.schema import events_schema
from remit.tools.registry import all_tools, tool_effects
from remit.wiring.hooks import MAX_OUTPUT_BYTES

ROOT = Path(__file__).resolve().parents[3]


# -- completeness ------------------------------------------------------------------------------


def flags_of(command: Command) -> set[str]:
    return {name for each in command.walk() for flag in each.flags for name in (*flag.names, *flag.negative)}


@pytest.mark.parametrize("child", [child.name for child in command_tree().children])
def test_a_command_page_has_every_flag_of_the_help(child: str, tmp_path: Path) -> None:
    page = plain(PAGES[f"remit-{child}.1"]())
    for command in command_at(child).walk():
        if command.children:
            continue
        help_text = Home(tmp_path).run(*command.path, "--help").stdout.decode()
        columns = re.findall(r"^  ((?:--?[A-Za-z][\w-]*(?:, | / )?)+)", help_text, re.MULTILINE)
        assert {name for column in columns for name in re.split(", | / ", column)} == flags_of(command)
    for name in flags_of(command_at(child)):
        assert re.search(rf"(?:^|\s){re.escape(name)}(?:[\s,]|$)", page, re.MULTILINE), name


def test_the_first_page_names_every_command() -> None:
    page = plain(PAGES["remit.1"]())
    for child in command_tree().children:
        assert f"    remit {child.name}\n" in page
        assert f"remit-{child.name}(1)" in page


def test_help_says_of_a_command_what_the_command_says_of_itself() -> None:
    assert {child.name: child.summary.partition(". ")[0].rstrip(".") + "." for child in command_tree().children} == (
        COMMANDS
    )


@pytest.mark.parametrize("words", [(), ("run",), ("resume",), ("replay",)], ids=" ".join)
def test_help_ends_in_every_exit_code(words: tuple[str, ...], tmp_path: Path) -> None:
    table = " ".join(Home(tmp_path).run(*words, "--help").stdout.decode().partition("Exit codes:")[2].split())
    for code, meaning in EXIT_MEANINGS.items():
        assert re.search(rf"\b{code}\b[\d/]* {exit_word(code)}\b", table), code
        assert not words or f"{code} {exit_word(code)} {meaning}" in table


@pytest.mark.parametrize("file", ["remit.1", "remit-run.1", "remit-resume.1", "remit-replay.1"])
def test_exit_status_has_every_code(file: str) -> None:
    status = plain(PAGES[file]()).partition("\nEXIT STATUS\n")[2].partition("\nEXAMPLES\n")[0]
    for code, meaning in EXIT_MEANINGS.items():
        said = " ".join(status.split())
        assert f"{code} `{exit_word(code)}`: {meaning}." in said


def test_every_exit_code_has_a_meaning_that_fits_the_help() -> None:
    assert set(EXIT_CODES.values()) <= set(EXIT_MEANINGS)
    assert set(EXIT_MEANINGS) - set(EXIT_CODES.values()) == {129, 130, 141, 143}
    assert all(len(meaning) <= 60 for meaning in EXIT_MEANINGS.values())
    assert [exit_word(code) for code in (0, 9, 130)] == [Verdict.DONE, Verdict.ENVIRONMENT, Verdict.STOPPED]


def test_every_variable_of_the_source_is_in_the_manual() -> None:
    sources = [path.read_text(encoding="utf-8") for path in (ROOT / "cli" / "remit").rglob("*.py")]
    named = {name for text in sources for name in re.findall(r'"((?:REMIT|OPENAI)_[A-Z_]+)"', text)}
    assert {"REMIT_STATE_DIR", "OPENAI_ORG_ID", "REMIT_OUT"} <= named
    page = plain(PAGES["remit-run.1"]())
    assert {name for name in named if name not in page} == set()


def test_the_task_page_has_every_key() -> None:
    page = plain(PAGES["remit-task.5"]())
    schema = task_schema()
    for name, key in schema["properties"].items():
        assert f"    {name} (" in page
        inner = key.get("$ref", "").rpartition("/")[2]
        for below in schema["$defs"].get(inner, {}).get("properties", {}):
            assert f"    {name}.{below} (" in page
    assert "    inputs.NAME.default (string | integer | number | boolean)" in page
    assert "    tools.NAME.hosts (list of strings)" in page


def test_the_script_page_has_every_key_with_its_meaning() -> None:
    page = plain(PAGES["remit-script.5"]())
    places = {"": Script, "price.": ScriptPrice, "turns[].": ScriptTurn, "turns[].calls[].": ScriptCall}
    places |= {"turns[].usage.": ScriptUsage, "turns[].error.": ScriptError}
    for before, struct in places.items():
        for name, type_ in get_type_hints(struct, include_extras=True).items():
            if name in struct.__struct_fields__:
                assert f"    {before}{name} (" in page
                assert any(getattr(note, "description", None) for note in get_args(type_)), name
    assert "turns[].repeat (integer from 1 to 10000)" in page and "Default 1." in page


@pytest.mark.parametrize(
    ("listed", "struct"),
    [
        (formats.RULE_KEYS, rule_files._Entry),
        (formats.APPROVAL_KEYS, answers._Entry),
        (formats.ANSWER_KEYS, questions._Answer),
    ],
    ids=["rule", "approval", "answer"],
)
def test_the_policy_pages_have_every_key_and_no_other(listed: dict[str, str], struct: type[msgspec.Struct]) -> None:
    assert set(listed) == {field.encode_name for field in msgspec.structs.fields(struct)}
    required = {field.encode_name for field in msgspec.structs.fields(struct) if field.required}
    assert {name for name, text in listed.items() if text.endswith("Required.")} == required


def test_the_selectors_on_the_policy_page() -> None:
    *first, last = selectors.SELECTORS
    assert f"The selectors are {', '.join(first)} and {last}." in " ".join(plain(PAGES["remit-policy.5"]()).split())


def test_the_events_page_has_every_event_and_field() -> None:
    page = plain(PAGES["remit-events.7"]())
    definitions = events_schema()["$defs"]
    assert "permission_denied" in page
    for definition in definitions.values():
        for field in set(definition["properties"]) - {"type", "subtype"}:
            assert re.search(rf"\b{field}\b", page), field


def test_the_tools_page_has_every_tool_and_parameter() -> None:
    page = plain(PAGES["remit-tools.7"]())
    for name, tool in all_tools().items():
        _, _, rest = page.partition(f"\n  {name}\n")
        section = rest.partition("\n  ")[0] if rest else ""
        for parameter in tool.schema().get("properties", {}):
            assert f"    {parameter} (" in rest
        assert section
        assert f"{tool.bounds.output_bytes:,} bytes" in " ".join(rest.split())


def test_see_also_names_pages_there_are() -> None:
    for file, build in PAGES.items():
        for name, number in re.findall(r"(remit[a-z-]*)\((\d)\)", plain(build())):
            assert f"{name}.{number}" in PAGES, file


# -- examples ----------------------------------------------------------------------------------


def test_examples_of_commands_use_flags_there_are() -> None:
    seen = 0
    for name, text in COMMAND_TEXTS.items():
        command = command_tree() if name == "remit" else command_at(name)
        known = flags_of(command)
        for example in text.examples:
            ours = example.line[example.line.index("remit ") :].partition(" | ")[0]
            assert set(re.findall(r"(?<= )--?[a-z][a-z-]*", ours)) <= known, example.line
            seen += 1
    assert seen > 20
    assert set(COMMAND_TEXTS) == {"remit", *(child.name for child in command_tree().children)}


def test_the_example_task_is_right(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    task = tmp_path / "task.yaml"
    task.write_text(formats.TASK_EXAMPLE, encoding="utf-8")
    _, faults = examine_task(str(task), tool_effects())
    assert faults == []


def test_the_example_rules_are_right(tmp_path: Path) -> None:
    place = Place.of(str(tmp_path), str(tmp_path))
    source = PolicySource("policy", "policy.toml", formats.POLICY_EXAMPLE)
    compiled, faults = load_rules(source, tool_effects(), place)
    assert faults == []
    assert [rule.examples for rule in compiled] == [3, 2]


def test_the_example_hooks_are_right() -> None:
    found, faults = read_hooks(hooks.EXAMPLE, "hooks.toml")
    fit, unfit = fitted(found, tool_effects())
    assert faults == unfit == []
    assert [hook.match for hook in fit] == [("shell", "file_write"), ()]
    answer = Finished(exit_code=0, stdout=hooks.ANSWER.encode(), stdout_bytes=len(hooks.ANSWER))
    assert read_answer("PreToolUse", answer, 5) == HookWord("deny", "not on a Friday")


def test_the_example_hosts_are_right(tmp_path: Path) -> None:
    task = tmp_path / "task.yaml"
    task.write_text("version: 1\nprompt: Go.\n" + guides.HOSTS_EXAMPLE, encoding="utf-8")
    found, faults = examine_task(str(task), tool_effects())
    assert faults == [] and found is not None
    assert found.ticks["shell"].hosts == ("pypi.org", "files.pythonhosted.org")


def test_the_example_profile_is_right(tmp_path: Path) -> None:
    (tmp_path / "system-prompts").mkdir()
    (tmp_path / "system-prompts" / "short.md").write_text(guides.PROFILE_EXAMPLE, encoding="utf-8")
    profile = load_profile("short", str(tmp_path), tool_effects())
    assert profile.keys.tools.overrides == {"shell": "disabled"}
    page = plain(PAGES["remit-profiles.7"]())
    assert all(f"{{{{{section}}}}}" in page for section in SECTIONS)
    assert all(key in page for key in ProfileKeys.__struct_fields__)


def test_figures_of_settings_are_those_there_are() -> None:
    agents, run = (" ".join(plain(PAGES[file]()).split()) for file in ("remit-agents.7", "remit-run.1"))
    assert Settings(config_dir="", state_dir="").task_max_concurrent == 8
    assert "eight at a time unless `[agent] task_max_concurrent`" in agents
    assert f"{Goal('').limit} times unless `--goal-limit`" in run


class NoUses:
    def take(self, entry: str, limit: int) -> bool:
        return True


def test_the_example_approvals_are_right() -> None:
    source = Source("approvals.toml", formats.APPROVALS_EXAMPLE)
    loaded = load_answers(source, tool_effects(), now=lambda: datetime.now(UTC), uses=NoUses())
    assert loaded.answerable("fetch_url")
    assert loaded.questions.choices[0].choose == ("PostgreSQL",)


# -- the command -------------------------------------------------------------------------------


def test_prints_plain_text_into_a_pipe(tmp_path: Path) -> None:
    ran = Home(tmp_path).run("man", "run")
    assert (ran.code, ran.stderr) == (0, "")
    assert ran.stdout.decode() == plain(PAGES["remit-run.1"]())


def test_prints_the_source_that_is_published(tmp_path: Path) -> None:
    home = Home(tmp_path)
    for file in ("remit.1", "remit-task.5", "remit-tools.7"):
        assert home.run("man", "--roff", file).stdout == (ROOT / "man" / file).read_bytes()


def test_lists_every_page(tmp_path: Path) -> None:
    listed = Home(tmp_path).run("man", "--list").stdout.decode().splitlines()
    assert [line.split()[0] for line in listed] == list(PAGES)
    assert "remit-task.5       task files of remit" in listed


def test_an_unknown_page_is_refused_with_the_near_one(tmp_path: Path) -> None:
    ran = Home(tmp_path).run("man", "remit-polcy")
    assert (ran.code, ran.stdout) == (2, b"")
    assert ran.stderr == "error: there is no page 'remit-polcy'\nhint: did you mean `policy`?\n"


def test_an_unknown_page_is_refused_with_all_there_are(tmp_path: Path) -> None:
    ran = Home(tmp_path).run("man", "xyzzy")
    assert ran.code == 2
    assert ran.stderr.endswith(f"hint: pages: {', '.join(page_words())}\n")


def on_a_terminal(home: Home, *args: str, **environ: str) -> str:
    """What `remit ARGS` shows on a terminal of its own."""
    outer, inner = pty.openpty()
    process = subprocess.Popen(
        [*REMIT, *args], stdin=inner, stdout=inner, stderr=inner, env={**home.environ, "TERM": "dumb", **environ}
    )
    os.close(inner)
    shown = b""
    while True:
        try:
            piece = os.read(outer, 1 << 16)
        except OSError:
            # Linux: the other side is closed.
            break
        if not piece:
            break
        shown += piece
    os.close(outer)
    assert process.wait(timeout=30) == 0
    return shown.decode().replace("\r\n", "\n")


def test_a_terminal_gets_the_page_through_man(tmp_path: Path) -> None:
    needs("man")
    shown = on_a_terminal(Home(tmp_path), "man", "run", MANPAGER="cat", MANWIDTH="80", LC_ALL="C.UTF-8")
    assert shown.startswith("REMIT-RUN(1)")
    assert re.search(r"^REMIT-RUN\(1\) +remit manual +REMIT-RUN\(1\)$", shown, re.MULTILINE)


def test_a_terminal_without_man_gets_plain_text(tmp_path: Path) -> None:
    assert on_a_terminal(Home(tmp_path), "man", "run", PATH=str(tmp_path)) == plain(PAGES["remit-run.1"]())


def test_a_terminal_whose_man_fails_gets_plain_text(tmp_path: Path) -> None:
    broken = tmp_path / "man"
    broken.write_text("#!/bin/sh\nexit 3\n", encoding="utf-8")
    broken.chmod(0o755)
    assert on_a_terminal(Home(tmp_path), "man", "run", PATH=str(tmp_path)) == plain(PAGES["remit-run.1"]())


@pytest.mark.parametrize(
    ("word", "file"),
    [
        ("remit", "remit.1"),
        ("run", "remit-run.1"),
        ("remit-run", "remit-run.1"),
        ("remit-run.1", "remit-run.1"),
        ("task", "remit-task.1"),
        ("task.5", "remit-task.5"),
        ("remit-task.5", "remit-task.5"),
        ("approvals", "remit-approvals.5"),
        ("tools.7", "remit-tools.7"),
        ("", ""),
        ("run.5", ""),
        ("../remit", ""),
    ],
)
def test_names_of_pages(word: str, file: str) -> None:
    assert find_page(word) == file


def test_every_page_has_a_word_that_finds_it() -> None:
    assert [find_page(word) for word in page_words()] == list(PAGES)


# -- roff and plain text -----------------------------------------------------------------------


def page_of(*blocks: Para | Code | Item | Sub) -> Page:
    return Page("x", 1, "a summary", (Section("TEXT", blocks),))


def body(text: str) -> list[str]:
    lines = text.splitlines()
    return lines[lines.index(".SH TEXT") + 1 :]


@pytest.mark.parametrize(
    ("text", "source"),
    [
        ("--flag", r"\-\-flag"),
        (r"a\b", r"a\eb"),
        ("it's `x` ^ ~", r"it\(aqs \(gax\(ga \(ha \(ti"),
        ('say "hi"', r"say \(dqhi\(dq"),
        ("café →", r"caf\[u00E9] \[u2192]"),
        ("😀", r"\[u1F600]"),
    ],
)
def test_every_character_stands_for_itself(text: str, source: str) -> None:
    assert escaped(text) == source


def test_no_text_is_read_as_a_request() -> None:
    # The quote is escaped anyway; a dot at the start of a line, wrapped ones included, is guarded.
    long = "x" * 76 + " .so /etc/passwd"
    page = page_of(Para(".TH evil"), Code(".sy id\n\n'x"), Para(long), item(".x", ".y"))
    lines = body(roff(page, "1"))
    requests = [line for line in lines if line.startswith((".", "'"))]
    assert requests == [".PP", ".EX", ".EE", ".PP", ".TP"]
    assert r"\&.TH evil" in lines
    assert r"\&.so /etc/passwd" in lines
    assert r"\&.y" in lines
    assert lines[lines.index(".EX") + 1 :][:3] == [r"    .sy id", r"\&", r"    \(aqx"]


def test_the_shape_of_a_page() -> None:
    page = page_of(
        Para("First `word`."),
        Para("Second."),
        Sub("Below"),
        Item((bold("-x"), Span(" "), Span("FILE", "italic")), (Para("One."), Para("Two."), Code("three"))),
    )
    assert roff(page, "1.2").splitlines()[0] == r".\" Generated from the program. x.1"
    assert re.fullmatch(r'\.TH X 1 \d{4}-\d\d-\d\d "remit 1.2" "remit manual"', roff(page, "1.2").splitlines()[2])
    assert body(roff(page, "1.2")) == [
        r"First \fBword\fR.",
        ".PP",
        "Second.",
        ".SS Below",
        ".TP",
        r"\fB\-x\fR \fIFILE\fR",
        "One.",
        ".IP",
        "Two.",
        ".IP",
        ".EX",
        "    three",
        ".EE",
    ]
    assert plain(page).splitlines() == [
        "X(1)",
        "",
        "NAME",
        "    x - a summary",
        "",
        "TEXT",
        "    First `word`.",
        "",
        "    Second.",
        "",
        "  Below",
        "    -x FILE",
        "            One.",
        "",
        "            Two.",
        "",
        "                three",
    ]


def test_plain_text_keeps_its_width() -> None:
    for file, build in PAGES.items():
        for line in plain(build()).splitlines()[4:]:
            # Lines of code and the words that items are about stay as they are.
            as_it_is = line.startswith("        ") or re.match(r"    [\w.\[\]]+ \(", line)
            assert len(line) <= 78 or as_it_is, (file, line)


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        ({"type": "string"}, "string"),
        ({"type": "string", "minLength": 1, "maxLength": 1000}, "string of at most 1,000 characters"),
        ({"type": "string", "pattern": "^x", "title": "an x"}, "an x"),
        ({"type": "integer", "minimum": 1}, "integer of at least 1"),
        ({"type": "integer", "minimum": 1, "maximum": 9}, "integer from 1 to 9"),
        ({"type": "number", "exclusiveMinimum": 0}, "number above 0"),
        ({"type": "number", "maximum": 2}, "number of at most 2"),
        ({"enum": ["auto", "ask"]}, "auto | ask"),
        ({"type": "array", "items": {"type": "string", "maxLength": 40}}, "list of strings of at most 40 characters"),
        ({"type": "array", "maxItems": 8, "items": {"type": "object"}}, "list of at most 8 of mappings"),
        ({"type": "array"}, "list of any value"),
        ({"type": "object", "additionalProperties": {"type": "integer"}}, "mapping of names to integers"),
        ({"$ref": "#/$defs/A"}, "mapping"),
        ({"anyOf": [{"type": "boolean"}, {"type": "null"}, {"type": "boolean"}]}, "boolean | null"),
        ({}, "any value"),
    ],
)
def test_types_in_words(schema: dict[str, object], words: str) -> None:
    assert type_words(schema, {"A": {"type": "object", "properties": {}}}) == words


@pytest.mark.parametrize(
    ("default", "words"),
    [(False, "false"), (0, "0"), (".", '"."'), ("", ""), (None, ""), ([], ""), ({}, ""), (60.0, "60.0")],
)
def test_defaults_in_words(default: object, words: str) -> None:
    assert default_words({"default": default}) == words
    assert default_words({}) == ""


def test_a_reader_that_goes_away_ends_the_command_with_141() -> None:
    with subprocess.Popen([*REMIT, "man", "tools.7"], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 141


def test_the_page_on_providers_has_every_key() -> None:
    from remit.commands.manual.providers import EXAMPLE, MODEL_KEYS, PRICE_KEYS, PROVIDER_KEYS
    from remit.config.providers_keys import ModelKeys, PriceKeys, ProviderKeys

    assert set(PROVIDER_KEYS) == set(ProviderKeys.__struct_fields__)
    assert set(MODEL_KEYS) == set(ModelKeys.__struct_fields__)
    assert set(PRICE_KEYS) == set(PriceKeys.__struct_fields__)
    assert "token_command" in EXAMPLE


def test_the_example_of_providers_can_be_used(tmp_path: Path) -> None:
    from remit.commands.manual.providers import EXAMPLE
    from remit.config.providers import load_providers

    (tmp_path / "providers.toml").write_text(EXAMPLE)
    providers = load_providers(str(tmp_path))
    assert providers.model("mycorp/best").context_window == 200_000
    assert providers.model("anthropic/x").base_url == "https://gateway.example.com"


def words_of(page: str) -> str:
    """What a page that is published says, on one line and without what makes it bold."""
    text = (ROOT / "man" / page).read_text().replace("\\-", "-")
    return " ".join(re.sub(r"\\f[BRI]|^\.[A-Z]+", "", text, flags=re.MULTILINE).split())


@pytest.mark.parametrize(
    ("page", "figure"),
    [
        ("remit-run.1", f"is awaited for {FIRST_BYTE_SECONDS:g} seconds"),
        ("remit-run.1", f"of at most {MAX_PROMPT_BYTES >> 20} MiB"),
        ("remit-run.1", f"up to {MAX_ATTEMPTS} times in all"),
        ("remit-replay.1", f"Values of less than {MIN_VALUE_CHARS} characters"),
        ("remit-auth.1", f"{MIN_KEY_CHARS} characters or more. One of {MIN_KEY_CHARS} to {MIN_WORDS_CHARS - 1} is"),
        ("remit-hooks.5", f"{MAX_STOP_HOOKS} times in one prompt"),
        ("remit-hooks.5", f"more than {MAX_OUTPUT_BYTES >> 20} MiB"),
        ("remit.1", f"What was read of source files, at most {facts.MAX_BYTES >> 20} MiB"),
        ("remit.1", f"which tool_output reads. At most {outputs.MAX_TOTAL_BYTES >> 20} MiB"),
    ],
)
def test_figures_of_the_manual_are_the_limits(page: str, figure: str) -> None:
    assert figure in words_of(page), figure


def test_the_time_of_a_call_that_is_made_of_others_is_theirs() -> None:
    told = words_of("remit-tools.7")
    assert told.count("One call: as long as the calls in it take, and at most 51,200 bytes of result.") == 1
    assert "One call: at most 7 days, and" in told and "One call: at most 21,630 seconds, and" in told
