"""Permission modes: what each of their rule files adds to the rules of a session."""

from __future__ import annotations

import pytest

from fakes.rules import HOME, WORKSPACE, command, path, source, url
from remit.base.errors import Faults, UsageFault
from remit.base.resources import Effect, Resource
from remit.base.spec import RunSpec, Tick
from remit.policy.audit import lint
from remit.policy.decide import RuleSet
from remit.policy.load import load_policy
from remit.policy.modes import MODES, ModeName, in_mode, mode_named
from remit.tools.registry import all_tools, tool_effects

EFFECTS = tool_effects()
TICKED = {name: Tick("auto") for name in ("shell", "file_write", "file_read", "file_edit", "write_artifact")}


def rules(mode: ModeName, **spec: object) -> RuleSet:
    keys = {"ticks": TICKED, "workspace": WORKSPACE, **spec}
    return load_policy(RunSpec(prompt="", mode=mode, **keys), EFFECTS, home=HOME)  # type: ignore[arg-type]


def word(given: RuleSet, tool: str, resource: Resource) -> str:
    return given.decide(tool, EFFECTS[tool], [resource]).decide


A_FILE = path("a.txt", Effect.WRITE)
OUTSIDE = Resource("path", "/etc/motd", Effect.WRITE, inside=False)


@pytest.mark.parametrize(
    ("line", "due"),
    [
        ("git log --oneline -5", "auto"),
        ("cd src && grep -rn main . | sort | uniq -c | head -20", "auto"),
        ("cat < a.txt", "auto"),
        ("ls 2>/dev/null", "auto"),
        ("ls > a.txt", "deny"),
        ("rm -rf x", "deny"),
        ("ls; rm x", "deny"),
        ("ls $(rm x)", "deny"),
        ("find . -exec rm {} +", "deny"),
        ("find . -delete", "deny"),
        ("sort a -o a", "deny"),
        ("tree -R -L 1 .", "deny"),
        ("date 01010000", "deny"),
        ("git branch new", "deny"),
        ("git reflog expire --all", "deny"),
        ("git -c core.pager=x log", "deny"),
        ("env ls", "deny"),
        ("./ls", "deny"),
        ("python -c 1", "deny"),
        ("$X", "deny"),
        ("ls 'unclosed", "deny"),
    ],
)
def test_plan_mode_runs_only_what_is_proven_to_read(line: str, due: str) -> None:
    assert word(rules("default"), "shell", command(line)) == "auto"
    assert word(rules("plan"), "shell", command(line)) == due


def test_plan_mode_grants_nothing() -> None:
    given = rules("plan", ticks={"shell": Tick("ask")})
    assert word(given, "shell", command("git log")) == "ask"
    assert word(rules("plan", deny=("shell:git log *",)), "shell", command("git log")) == "deny"
    assert word(rules("plan", ticks={"file_read": Tick("deny")}), "file_read", path("a")) == "deny"


def test_no_rule_of_the_session_opens_plan_mode() -> None:
    given = rules("plan", allow=("*", "file_write:path=**"), policies=(source('path = "a.txt"\ndecide = "auto"'),))
    assert word(given, "file_write", A_FILE) == "deny"
    assert word(given, "write_artifact", Resource("artifact", "x.md", Effect.WRITE)) == "deny"
    assert word(given, "file_read", path("a.txt")) == "auto"
    assert word(given, "fetch_url", url("https://example.org/")) == "auto"


def test_plan_mode_offers_no_tool_that_only_changes() -> None:
    given = rules("plan")
    closed = {name for name, tool in all_tools().items() if (rule := given.never_allows(name, tool.effects)) and rule}
    assert {"file_write", "file_edit", "file_apply_patch", "write_artifact"} <= closed
    assert not closed & {"shell", "file_read", "file_grep", "python_execution", "todo_write", "fetch_url"}


@pytest.mark.parametrize(
    ("mode", "inside", "outside", "line"),
    [
        ("default", "ask", "deny", "ask"),
        ("acceptEdits", "auto", "deny", "ask"),
        ("bypassPermissions", "auto", "auto", "auto"),
        ("dontAsk", "ask", "deny", "ask"),
        ("plan", "deny", "deny", "deny"),
    ],
)
def test_what_the_modes_say_of_a_change(mode: ModeName, inside: str, outside: str, line: str) -> None:
    given = rules(mode, ticks={})
    assert word(given, "file_write", A_FILE) == inside
    assert word(given, "file_write", OUTSIDE) == outside
    assert word(given, "shell", command("make")) == line


@pytest.mark.parametrize("mode", ["acceptEdits", "bypassPermissions"])
def test_what_always_holds_and_denials_by_flag_hold_in_every_mode(mode: ModeName) -> None:
    given = rules(mode, deny=("file_write:path=locked/**",))
    assert word(given, "file_write", path("locked/a", Effect.WRITE)) == "deny"
    assert word(given, "file_write", path(".remit/policy.toml", Effect.WRITE)) == "deny"
    project = source('path = "a.txt"\ndecide = "deny"', kind="project")
    assert word(rules(mode, policies=(project,)), "file_write", A_FILE) == "deny"


def test_only_dont_ask_asks_nobody() -> None:
    assert [name for name, mode in MODES.items() if not mode.asks] == ["dontAsk"]


def test_another_mode_takes_the_place_of_the_last() -> None:
    given = in_mode(rules("plan"), "acceptEdits", EFFECTS)
    assert word(given, "file_write", A_FILE) == "auto"
    assert given.mode == "build"
    back = in_mode(given, "default", EFFECTS)
    assert [layer.source for layer in back.layers] == [layer.source for layer in rules("default").layers]


def test_rules_that_come_later_stand_as_flags() -> None:
    base = rules("default", ticks={}, allow=("file_write:path=docs/**",))
    given = in_mode(base, "default", EFFECTS, allow=["shell:make *"], deny=["file_write:path=docs/old/**"])
    assert word(given, "shell", command("make all")) == "auto"
    assert word(given, "file_write", path("docs/a", Effect.WRITE)) == "auto"
    assert word(given, "file_write", path("docs/old/a", Effect.WRITE)) == "deny"
    with pytest.raises(Faults, match="unknown tool 'nothing'"):
        in_mode(base, "default", EFFECTS, allow=["nothing"])


def test_a_word_for_a_mode() -> None:
    assert mode_named("build") == "default"
    assert mode_named("plan") == "plan"
    with pytest.raises(UsageFault, match="did you mean `plan`"):
        mode_named("plann")


@pytest.mark.parametrize("mode", MODES)
def test_their_files_are_sound(mode: ModeName) -> None:
    given = rules(mode)
    for layer in given.layers:
        if layer.source in ("plan", "mode"):
            assert all(rule.ref.where.startswith(f"{MODES[mode].file}:") for rule in layer.rules)
            found = [each.message for each in lint(layer, EFFECTS, given.place) if each.level == "warning"]
            assert not [message for message in found if "it covers none of those that are known" not in message]
