from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from fakes.rules import EFFECTS, HOME, WORKSPACE
from remit.base.errors import Faults, RemitError, UsageFault, exit_code
from remit.commands.policy import app, checked
from remit.policy.patterns import Place

PLACE = Place((WORKSPACE,), (HOME,))

RULES = """\
version = 1
[[rule]]
effect = "read"
path = "drafts/**"
decide = "ask"
why = "drafts are private"
[rule.examples]
match = ["drafts/a.md"]
miss = ["a.md"]
"""

TASK = """\
version: 1
prompt: p
tools:
  read_file: auto
  fetch_url: {decide: auto, hosts: [example.org]}
stdin: required
"""


def run(*arguments: str) -> tuple[str, BaseException | None]:
    result = CliRunner().invoke(app, list(arguments), standalone_mode=False)
    return result.stdout, result.exception


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty workspace as the current directory, and a user without settings."""
    for name in ("config", "state"):
        monkeypatch.setenv(f"REMIT_{name.upper()}_DIR", str(tmp_path / name))
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    yield tmp_path / "work"


# -- check -------------------------------------------------------------------------------------


def test_check_says_how_many_rules_and_examples_hold(here: Path) -> None:
    (here / "p.toml").write_text(RULES)
    assert run("check", "p.toml") == ("p.toml: OK: 1 rule, 2 examples hold\n", None)


def test_check_prints_lints_and_strict_fails_on_warnings(here: Path) -> None:
    (here / "p.toml").write_text(RULES + '[[rule]]\npath = "drafts/a"\ndecide = "deny"\nwhy = "x"\n')
    due = (
        "p.toml: OK: 2 rules, 2 examples hold\n"
        "p.toml:10: hint: it has no examples; `examples.match` and `examples.miss` are run at load\n"
    )
    assert run("check", "p.toml", "--strict") == (due, None)
    (here / "p.toml").write_text(
        'version = 1\n[[rule]]\ndecide = "auto"\nwhy = "x"\n' + RULES.removeprefix("version = 1\n")
    )
    stdout, error = run("check", "p.toml")
    warning = "p.toml:5: warning: this rule never speaks: p.toml:2 comes first and covers it all\n"
    assert (stdout, error) == ("p.toml: OK: 2 rules, 2 examples hold\n" + warning, None)
    stdout, error = run("check", "p.toml", "--strict")
    assert isinstance(error, UsageFault)
    assert (exit_code(error), str(error)) == (2, "1 warning(s)\nhint: mend the rules, or leave --strict out")
    assert warning in stdout


def test_check_reads_a_projects_own_file_as_such(here: Path) -> None:
    (here / ".remit").mkdir()
    (here / ".remit/policy.toml").write_text('version = 1\n[[rule]]\ndecide = "auto"\nwhy = "x"\n')
    stdout, _ = run("check", ".remit/policy.toml")
    assert "warning: `auto` is ignored in a project's own rules" in stdout


def test_check_tells_the_faults_of_all_files(tmp_path: Path) -> None:
    good, bad, missing = (str(tmp_path / name) for name in ("good.toml", "bad.toml", "missing.toml"))
    Path(good).write_text(RULES)
    Path(bad).write_text(RULES.replace('"a.md"', '"drafts/b.md"').replace('why = "drafts are private"\n', ""))
    with pytest.raises(Faults) as caught:
        checked([bad, good, missing], EFFECTS, PLACE)
    assert [str(fault) for fault in caught.value.faults] == [
        f"{bad}:2: `rule[0].why` is missing",
        f"{missing}: there is no such file",
    ]
    Path(bad).write_text(RULES.replace('"a.md"', '"drafts/b.md"'))
    with pytest.raises(Faults) as caught:
        checked([bad], EFFECTS, PLACE)
    assert str(caught.value) == (
        f"{bad}:9: `rule[0].examples.miss[0]`: the rule matches 'drafts/b.md' (path = 'drafts/**')"
    )


# -- explain -----------------------------------------------------------------------------------


def test_explain_tells_the_decision_its_rule_and_all_that_spoke(here: Path) -> None:
    (here / "p.toml").write_text(RULES)
    (here / "task.yaml").write_text(TASK)
    stdout, error = run("explain", "read_file", "path=drafts/a.md", "-t", "task.yaml", "-p", "p.toml")
    assert error is None
    assert stdout == (
        "ask: read_file on path drafts/a.md\n"
        "  rule: policy p.toml:2\n"
        "  why: drafts are private\n"
        "what is said of path drafts/a.md:\n"
        "  ask   policy p.toml:2 (rank 2): drafts are private\n"
        "  auto  task task.yaml:4 (rank 3): the task ticks read_file as auto\n"
        "  auto  default built in (rank 5): reading inside the workspace is open\n"
        "not answered: there is no approvals file: the call is refused\n"
        "an entry of an approvals file would answer it:\n"
        "  [[approval]]\n"
        '  tool = "read_file"\n'
        '  path = "drafts/a.md"\n'
        '  decide = "allow"\n'
        '  why = "approved by hand"\n'
        "  uses = 1\n"
    )


def test_explain_knows_user_and_project_rules_and_flags(here: Path) -> None:
    (here.parent / "config").mkdir()
    (here.parent / "config/policy.toml").write_text(RULES.replace('"ask"', '"deny"'))
    (here / ".remit").mkdir()
    (here / ".remit/policy.toml").write_text(RULES)
    flags = ["--tools", "read_file", "--allow", "read_file", "--deny", "read_file:path=a"]
    told = json.loads(run("explain", "--json", *flags, "read_file", "path=drafts/a")[0])
    assert told["decision"]["decide"] == "deny"
    assert told["decision"]["rule"]["source"] == "user"
    assert [(word["source"], word["decide"]) for word in told["words"]] == [
        ("user", "deny"),
        ("project", "ask"),
        ("flag", "auto"),
        ("task", "auto"),
        ("default", "auto"),
    ]


@pytest.mark.parametrize(
    ("call", "decide"),
    [
        (("fetch_url", "url=https://a.example.org/x"), "auto"),
        (("fetch_url", '{"url": "https://a.example.org/x"}'), "auto"),
        (("fetch_url", "url=https://example.com/x"), "ask"),
        (("read_file", "path=a=b.md"), "auto"),
        (("read_file", "path=12", "offset=3"), "auto"),
        (("list_files", "recursive=true"), "auto"),
        (("list_files",), "auto"),
        (("check", "command=rm -rf x"), "ask"),
    ],
)
def test_explain_takes_a_call_as_words_or_as_json(here: Path, call: tuple[str, ...], decide: str) -> None:
    (here / "task.yaml").write_text(TASK)
    stdout, error = run("explain", "-t", "task.yaml", "--json", *call)
    assert error is None
    assert json.loads(stdout)["decision"]["decide"] == decide


def test_explain_says_when_the_model_is_not_offered_the_tool(here: Path) -> None:
    stdout, _ = run("explain", "fetch_url", "url=https://example.org/")
    assert "  note: the model is not offered fetch_url: it is not ticked\n" in stdout
    stdout, _ = run("explain", "--deny", "file_read", "file_read", "filePath=a")
    assert "not offered file_read: every call would be refused: denied on the command line [flag --deny" in stdout


def test_explain_says_that_a_check_is_never_offered(here: Path) -> None:
    stdout, _ = run("explain", "check", "command=true")
    due = "  note: the model is not offered check: it runs the checks of the task and is never offered\n"
    assert due in stdout


ASKED = """\
version = 1
[[approval]]
tool = "fetch_url"
url = "https://example.com/a"
decide = "allow"
why = "checked"
uses = 1
[[approval]]
tool = "fetch_url"
url = "https://example.com/b"
decide = "deny"
why = "never"
uses = 1
[[approval]]
tool = "fetch_url"
url = "https://example.com/c"
decide = "allow"
why = "long ago"
expires = 2020-01-01T00:00:00Z
[[approval]]
tool = "fetch_url"
url = "https://example.com/d"
decide = "allow"
why = "checked"
"""


@pytest.mark.parametrize(
    ("page", "due"),
    [
        ("a", "answered by a.toml:2: allow, checked (for 1 call over all runs; what is left is not looked up)\n"),
        ("b", "answered by a.toml:8: deny, never\n"),
        (
            "c",
            "not answered: a.toml:14 would answer it, but expired at 2020-01-01T00:00:00+00:00: the call is refused\n",
        ),
        ("d", "answered by a.toml:20: allow, checked\n"),
        ("e", "not answered: a.toml has no approval for it: the call is refused\n"),
    ],
)
def test_explain_names_the_entry_that_would_answer_and_counts_no_use(here: Path, page: str, due: str) -> None:
    (here / "a.toml").write_text(ASKED)
    call = ("explain", "--tools", "fetch_url=ask", "-a", "a.toml", "fetch_url", f"url=https://example.com/{page}")
    first, error = run(*call)
    assert error is None
    assert due in first and first.startswith("ask: ")
    assert ("an entry of an approvals file would answer it:" in first) == due.startswith("not")
    assert "not offered" not in first
    assert run(*call)[0] == first
    assert not (here.parent / "state").exists()
    told = json.loads(run("explain", "--json", *call[1:])[0])
    assert ("answer" in told) != ("unanswered" in told)


def test_explain_takes_the_flags_of_a_run(here: Path) -> None:
    (here / "sub").mkdir()
    (here / "sub/a.md").write_text("x")
    call = ("read_file", "path=a.md", "-C", "sub", "--tools", "read_file=ask")
    assert "the run stops\n" in run("explain", *call, "--on-ask", "stop")[0]
    assert "the call is refused\n" in run("explain", *call, "--on-ask", "deny")[0]
    assert run("explain", *call, "--deny", "*:path=*.md")[0].startswith("deny: ")


def test_explain_says_that_a_tool_refuses_a_file_of_credentials_whatever_the_rules_say(here: Path) -> None:
    (here / "p.toml").write_text('version = 1\n[[rule]]\npath = ".env"\ndecide = "auto"\nwhy = "x"\n')
    stdout, _ = run("explain", "-p", "p.toml", "read_file", "path=.env")
    assert stdout.startswith("refused before any rule is asked: file_refused: '.env' looks like a credential file")


def test_explain_tells_a_call_that_fails_before_the_rules(here: Path) -> None:
    stdout, error = run("explain", "read_file", "path=../a")
    assert error is None
    assert stdout.startswith("refused before any rule is asked: path_refused: ")
    told = json.loads(run("explain", "--json", "read_file", "{}")[0])
    assert "decision" not in told
    assert told["error"].startswith("invalid_arguments: ")


@pytest.mark.parametrize(
    ("arguments", "due"),
    [
        (("raed_file", "path=a"), "unknown tool 'raed_file'\nhint: did you mean `read_file`?"),
        (("read_file", "a.md"), "'a.md' is no KEY=VALUE\nhint: the keys of read_file: path, offset, limit"),
        (
            ("read_file", "path=a.md", "path=b.md"),
            "path is given twice\nhint: a list is written as JSON: read_file '{...}'",
        ),
        (
            ("--allow", "raed_file", "read_file", "path=a"),
            "--allow 'raed_file': unknown tool 'raed_file' (did you mean `read_file`?)",
        ),
    ],
)
def test_explain_names_what_it_cannot_use(here: Path, arguments: tuple[str, ...], due: str) -> None:
    _, error = run("explain", *arguments)
    assert isinstance(error, RemitError)
    assert (exit_code(error), str(error)) == (2, due)


def test_explain_shows_a_floor_rule_that_gave_way(here: Path) -> None:
    (here / "p.toml").write_text(RULES.replace("drafts/**", "config/state.toml").split("[rule.examples]")[0])
    stdout, _ = run("explain", "-p", "p.toml", "--workspace", "..", "read_file", "path=config/state.toml")
    assert stdout.startswith("ask: read_file on path config/state.toml\n")
    due = "  deny  floor built in (gives way to a rule that names this very path): it belongs to remit itself\n"
    assert due in stdout
