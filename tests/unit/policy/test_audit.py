from __future__ import annotations

import pytest

from fakes.rules import EFFECTS, HOME, WORKSPACE, source
from remit.policy.audit import lint
from remit.policy.decide import Layer
from remit.policy.load import load_rules
from remit.policy.patterns import Place
from remit.policy.programs import RUNS_ANYTHING, RUNS_BY_OPTION
from remit.policy.shell import read_command

PLACE = Place((WORKSPACE,), (HOME,))


def findings(*rules: str, kind: str = "policy", level: str = "warning") -> list[str]:
    given = source(*rules, kind=kind)
    compiled, faults = load_rules(given, EFFECTS, PLACE)
    assert not faults
    return [each.message for each in lint(Layer(kind, compiled), EFFECTS, PLACE) if each.level == level]


def auto(pattern: str) -> str:
    return f"decide = 'auto'\ncommand = '{pattern}'"


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("decide = 'auto'", "decide = 'deny'\npath = 'a'"),
        ("decide = 'deny'\npath = 'docs/**'", "decide = 'auto'\npath = 'docs/a'"),
        ("decide = 'deny'\npath = 'docs/**'", "decide = 'auto'\npath = 'docs/*.md'"),
        ("decide = 'deny'\npath = 'docs/**'", "decide = 'auto'\npath = 'docs'"),
        ("decide = 'deny'\npath = '**'", "decide = 'auto'\npath = 'docs/**'"),
        ("decide = 'deny'\npath = 'a'", "decide = 'auto'\npath = './a'"),
        ("decide = 'deny'\npath = '~/**'", "decide = 'auto'\npath = '~/a'"),
        ("decide = 'deny'\nhost = 'example.org'", "decide = 'auto'\nhost = 'a.example.org'"),
        ("decide = 'deny'\nhost = 'example.org'", "decide = 'auto'\nhost = '*.example.org'"),
        ("decide = 'deny'\nhost = 'example.org'", "decide = 'auto'\nurl = 'https://a.example.org/x/**'"),
        ("decide = 'deny'\nurl = 'https://a.b/x'", "decide = 'auto'\nurl = 'https://a.b:443/x'"),
        ("decide = 'deny'\ncommand = 'git *'", "decide = 'auto'\ncommand = 'git log *'"),
        ("decide = 'deny'\ncommand = 'git * x'", "decide = 'auto'\ncommand = 'git log x'"),
        ("decide = 'deny'\ncommand = 'git l*'", "decide = 'auto'\ncommand = 'git log'"),
        ("decide = 'deny'\nname = '*'", "decide = 'auto'\nname = 'a.md'"),
        ("decide = 'deny'\ntopic = 'a'", "decide = 'auto'\ntopic = 'a'"),
        ("decide = 'deny'\ntools = ['shell', 'task']", "decide = 'auto'\ntools = ['shell']"),
        ("decide = 'deny'\neffect = ['read', 'write']", "decide = 'auto'\neffect = 'read'\npath = 'a'"),
    ],
)
def test_a_rule_behind_one_that_covers_it_is_dead(first: str, second: str) -> None:
    assert findings(first, second) == ["this rule never speaks: policy.toml:2 comes first and covers it all"]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("decide = 'deny'\npath = 'docs/a'", "decide = 'auto'\npath = 'docs/**'"),
        ("decide = 'deny'\npath = 'docs/**'", "decide = 'auto'\npath = 'docs2'"),
        ("decide = 'deny'\npath = '**'", "decide = 'auto'\npath = '/etc/x'"),
        ("decide = 'deny'\npath = '*.md'", "decide = 'auto'\npath = 'docs/a.md'"),
        ("decide = 'deny'\nhost = '*.example.org'", "decide = 'auto'\nhost = 'example.org'"),
        ("decide = 'deny'\nhost = 'example.org'", "decide = 'auto'\nhost = 'evilexample.org'"),
        ("decide = 'deny'\ncommand = 'git log'", "decide = 'auto'\ncommand = 'git log *'"),
        ("decide = 'deny'\ncommand = 'git log *'", "decide = 'ask'\ncommand = 'git *'"),
        ("decide = 'deny'\ncommand = 'git l*'", "decide = 'auto'\ncommand = 'git * x'"),
        ("decide = 'deny'\ntools = ['shell']", "decide = 'auto'"),
        ("decide = 'deny'\nmode = 'plan'", "decide = 'auto'\npath = 'a'"),
        ("decide = 'deny'\npath = 'a'", "decide = 'auto'"),
        ("decide = 'deny'\npath = 'a'", "decide = 'auto'\nhost = 'a.b'"),
    ],
)
def test_a_rule_that_still_speaks_for_something_is_alive(first: str, second: str) -> None:
    assert findings(first, second) == []


def test_a_projects_auto_is_told_and_shadows_nothing() -> None:
    seen = findings("decide = 'auto'\npath = '**'", "decide = 'deny'\npath = 'a'", kind="project")
    assert seen == ["`auto` is ignored in a project's own rules, which may only tighten"]


@pytest.mark.parametrize("prefix", sorted(RUNS_ANYTHING.keys() - {"time"}))
def test_a_prefix_that_runs_anything_is_told(prefix: str) -> None:
    (seen,) = findings(auto(f"{prefix} *"))
    assert "allows any program" in seen
    assert RUNS_ANYTHING[prefix].example.startswith(prefix)


@pytest.mark.parametrize("example", [each.example for each in RUNS_ANYTHING.values()])
def test_the_example_of_a_prefix_is_one_command(example: str) -> None:
    (part,) = read_command(example).parts
    assert part.argv is not None or example.startswith("time ")


@pytest.mark.parametrize("prefix", sorted(RUNS_BY_OPTION))
def test_a_command_with_an_option_that_runs_anything_is_told(prefix: str) -> None:
    (seen,) = findings(auto(f"{prefix} x *"))
    assert f"leaves open options that run any program, as in `{RUNS_BY_OPTION[prefix]}`" in seen


WIDE = "python -c *, python -m *, python3* *, git *, npm *, p* *, *, sudo -u *, env * x, timeout 5 *, ssh h *"
NARROW = """git log *, python manage.py *, python -m json.tool *, python, npm test, sudo systemctl status *,
cargo test *, docker ps *, ls *, make check, find . -name x, timeout 5 ls *, ssh h ls *"""


@pytest.mark.parametrize("pattern", WIDE.split(", "))
def test_wider_prefixes_are_told_too(pattern: str) -> None:
    assert len(findings(auto(pattern))) == 1


@pytest.mark.parametrize("pattern", NARROW.replace("\n", " ").split(", "))
def test_narrow_ones_are_not(pattern: str) -> None:
    assert findings(auto(pattern)) == []


def test_only_what_is_allowed_is_held_against_the_list() -> None:
    assert findings("decide = 'deny'\ncommand = 'python *'", "decide = 'ask'\ncommand = 'env *'") == []


def test_a_rule_without_examples_is_a_hint() -> None:
    assert findings(auto("git log *"), level="hint") == [
        "it has no examples; `examples.match` and `examples.miss` are run at load"
    ]
    assert findings(auto("git log *") + "\nwhy='x'\n[rule.examples]\nmatch=['git log']", level="hint") == []
    assert findings("decide = 'deny'\neffect = 'write'", level="hint") == []


def test_a_rule_for_a_mode_that_no_run_has_is_a_hint() -> None:
    assert findings("decide = 'deny'\nmode = 'plan'", level="hint") == [
        "it never speaks: every run is in the mode build"
    ]
    assert findings("decide = 'deny'\nmode = 'build'", level="hint") == []


@pytest.mark.parametrize(
    ("host", "due"),
    [
        ("org", ["it allows every host whose name ends in .org"]),
        ("*.org", ["it allows every host whose name ends in .org"]),
        ("example.org", []),
    ],
)
def test_an_allowed_domain_of_the_first_level_is_told(host: str, due: list[str]) -> None:
    assert findings(f"decide = 'auto'\nhost = '{host}'") == due
    assert findings(f"decide = 'deny'\nhost = '{host}'") == []


LOOP = "127.0.0.1 is not a public address: loopback range 127.0.0.0/8"
ONLY = "only public hosts are reached"
NEVER = "which no call and no command is let connect to"


@pytest.mark.parametrize(
    ("selector", "due"),
    [
        (
            "host = '127.0.0.1'",
            [f"it allows 127.0.0.1, {NEVER}: {LOOP}"],
        ),
        (
            "host = '2130706433'",
            [f"it allows 127.0.0.1, {NEVER}: {LOOP}"],
        ),
        ("host = '[::1]'", [f"it allows ::1, {NEVER}: ::1 is not a public address: loopback address ::1/128"]),
        ("host = 'localhost'", [f"it allows localhost, {NEVER}: localhost is a local name; {ONLY}"]),
        ("host = 'db.corp'", [f"it allows db.corp, {NEVER}: db.corp is a local name; {ONLY}"]),
        (
            "url = 'https://nas/x/**'",
            [
                f"it allows nas, {NEVER}: nas is a name without a domain, which only a local network knows; give the "
                "full name"
            ],
        ),
        ("host = '8.8.8.8'", []),
        ("host = 'example.org'", []),
        ("url = 'https://example.org/**'", []),
    ],
)
def test_allowed_hosts_that_are_never_reached_are_told(selector: str, due: list[str]) -> None:
    assert findings(f"decide = 'auto'\n{selector}") == due
    assert findings(f"decide = 'deny'\n{selector}") == []


def closed(*tools: str, path: str = "private/**", decide: str = "deny", more: str = "") -> str:
    return f"decide = '{decide}'\npath = '{path}'\ntools = {list(tools)!r}\n{more}"


ADVICE = "can still read the path: leave `tools` out, or name them too"


@pytest.mark.parametrize(
    ("rules", "due"),
    [
        ([closed("read_file")], [f"file_edit, file_read, list_files {ADVICE}"]),
        ([closed("read_file", decide="ask")], [f"file_edit, file_read, list_files {ADVICE}"]),
        ([closed("read_file", "file_read", "list_files")], [f"file_edit {ADVICE}"]),
        ([closed("read_file", "file_read", "list_files", "file_edit")], []),
        ([closed("read_file", "file_read"), closed("list_files", "file_edit")], []),
        ([closed("read_file"), "decide = 'deny'\neffect = 'read'\npath = 'private/**'"], []),
        ([closed("read_file"), "decide = 'deny'\nmode = 'plan'\npath = 'private/**'"], None),
        ([closed("read_file"), "decide = 'deny'\neffect = 'write'\npath = 'private/**'"], None),
        ([closed("read_file", path="private/a"), "decide = 'deny'\npath = 'private/**'"], []),
        ([closed("read_file", path="private/**"), "decide = 'deny'\npath = 'private/a'"], None),
        (["decide = 'deny'\npath = 'private/**'"], []),
        ([closed("read_file", decide="auto")], []),
        ([closed("file_write")], []),
        ([closed("file_edit", more="effect = 'write'")], []),
        ([closed("read_file", path=f"{WORKSPACE}/private/**")], None),
        ([closed("read_file", path="/srv/**")], None),
        ([closed("read_file", path="/etc/**")], []),
        ([closed("read_file", path="~/notes/**")], []),
    ],
)
def test_a_path_closed_to_some_reading_tools_only_is_told(rules: list[str], due: list[str] | None) -> None:
    assert findings(*rules) == ([f"file_edit, file_read, list_files {ADVICE}"] if due is None else due)
