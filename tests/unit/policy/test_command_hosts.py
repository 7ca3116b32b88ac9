"""Which hosts the rules let commands connect to."""

from __future__ import annotations

from typing import Any

import pytest

from fakes.rules import EFFECTS, rule_set, source, ticks
from remit.base.errors import Faults
from remit.base.resources import Effect, Resource
from remit.base.spec import Tick
from remit.policy.decide import RuleSet


def decide(rules: RuleSet, name: str, tool: str = "shell") -> str:
    return rules.decide(tool, EFFECTS["shell"], [Resource("host", name, Effect.NETWORK)]).decide


def rule(decide: str, **keys: str) -> str:
    """A rule; `tools` as it is written in TOML."""
    tools = keys.pop("tools", "")
    lines = [f'decide = "{decide}"', *(f'{key} = "{value}"' for key, value in keys.items())]
    return "\n".join([*lines, *([f"tools = {tools}"] if tools else [])])


SHELL = '["shell"]'
GRANTED = rule("auto", tools=SHELL, host="a.example")


@pytest.mark.parametrize(
    ("spec", "reached"),
    [
        ({"ticks": ticks(shell=Tick("auto", ("a.example",)))}, True),
        ({"ticks": ticks(shell=Tick("ask", ("a.example",)))}, True),
        ({"allow": ("shell:host=a.example",)}, True),
        ({"allow": ("shell", "shell:host=a.example")}, True),
        ({"allow": ("shell:*", "shell:host=a.example")}, True),
        ({"allow": ("Bash", "shell")}, False),
        ({"allow": ("shell:*",)}, False),
        ({"allow": ("*:host=a.example",)}, False),
        ({"allow": ("fetch_url:host=a.example",)}, False),
        ({"allow": ("check:host=a.example",)}, False),
        ({"ticks": ticks(shell="auto")}, False),
        ({"ticks": ticks(fetch_url=Tick("auto", ("a.example",)), shell="auto")}, False),
        ({"allow": ("shell:host=a.example",), "deny": ("shell:host=a.example",)}, False),
        ({"allow": ("shell:host=a.example",), "deny": ("*:host=a.example",)}, False),
        ({"allow": ("shell:host=a.example",), "deny": ("shell",)}, False),
        ({"ticks": ticks(shell=Tick("auto", ("a.example",))), "deny": ("fetch_url:host=a.example",)}, True),
    ],
)
def test_what_grants_a_host(spec: dict[str, Any], reached: bool) -> None:
    rules = rule_set(**spec)
    for name in ("a.example:443", "a.example:80", "sub.a.example:443", "http://a.example/x"):
        assert (decide(rules, name) == "auto") is reached, name
    for name in ("b.example:443", "xa.example:443", "a.example.b.example:443", "http://b.example/a.example"):
        assert decide(rules, name) != "auto", name
    assert list(rules.reaches("shell")) == (["a.example"] if reached else [])


@pytest.mark.parametrize(
    ("rules", "name", "reached"),
    [
        ([GRANTED], "a.example:443", True),
        ([rule("auto", host="a.example")], "a.example:443", False),
        ([rule("auto", effect="network")], "a.example:443", False),
        ([rule("auto", tools=SHELL)], "a.example:443", False),
        ([rule("auto", host="a.example"), GRANTED], "a.example:443", True),
        ([rule("deny", host="x.a.example"), GRANTED], "x.a.example:443", False),
        ([rule("deny", host="x.a.example"), GRANTED], "a.example:443", True),
        ([rule("deny", effect="network"), GRANTED], "a.example:443", False),
        ([rule("deny", url="http://a.example/secret/**"), GRANTED], "http://a.example/secret/x", False),
        ([rule("deny", url="http://a.example/secret/**"), GRANTED], "http://a.example/open", True),
        # What goes through a tunnel may be that URL.
        ([rule("deny", url="https://a.example/secret/**"), GRANTED], "a.example:443", False),
        ([rule("deny", url="https://b.example/secret/**"), GRANTED], "a.example:443", True),
        ([rule("auto", tools=SHELL, host="*.a.example")], "x.a.example:443", True),
        ([rule("auto", tools=SHELL, host="*.a.example")], "a.example:443", False),
    ],
)
def test_rules_of_a_file(rules: list[str], name: str, reached: bool) -> None:
    found = rule_set(source(*rules), ticks=ticks(shell="auto"))
    assert (decide(found, name) == "auto") is reached


@pytest.mark.parametrize("kind", ["user", "project"])
def test_a_standing_deny_takes_a_host_back(kind: Any) -> None:
    found = rule_set(
        source(rule("deny", host="a.example"), kind=kind), allow=("shell:host=a.example", "shell:host=b.example")
    )
    assert list(found.reaches("shell")) == ["b.example"]
    assert decide(found, "a.example:443") == "deny"


def test_a_project_grants_nothing() -> None:
    assert rule_set(source(GRANTED, kind="project"), ticks=ticks(shell="auto")).reaches("shell") == {}


def test_hosts_are_listed_as_they_are_written_with_their_rules() -> None:
    found = rule_set(
        allow=("shell:host=*.b.example", "check:host=c.example"), ticks=ticks(shell=Tick("auto", ("a.example",), "t:4"))
    )
    assert {host: ref.source for host, ref in found.reaches("shell").items()} == {
        "*.b.example": "flag",
        "a.example": "task",
    }
    assert list(found.reaches("check")) == ["c.example"]


def test_hosts_do_not_let_a_command_run() -> None:
    denied = rule_set(deny=("shell",), allow=("shell:host=a.example",))
    assert denied.never_allows("shell", EFFECTS["shell"]) is not None
    asks = rule_set(ticks=ticks(shell=Tick("ask", ("a.example",))))
    assert asks.never_allows("shell", EFFECTS["shell"], lambda tool: False) is not None
    assert asks.decide("shell", EFFECTS["shell"], [Resource("command", "ls", Effect.EXECUTE)]).decide == "ask"


def test_a_url_grants_commands_nothing_and_is_refused() -> None:
    with pytest.raises(Faults) as caught:
        rule_set(allow=("shell:url=https://a.example/x",))
    assert "shell has no url" in str(caught.value.faults[0])
    assert "`host`" in caught.value.faults[0].hint


@pytest.mark.parametrize(
    ("pattern", "command", "directory", "due"),
    [
        ("./build.sh *", "./build.sh", "", "auto"),
        ("./build.sh *", "./build.sh", "sub", "ask"),
        ("cat docs/*", "cat docs/a.md", "", "auto"),
        ("cat docs/*", "cat docs/a.md", "private", "ask"),
        ("/bin/cat *", "/bin/cat x", "sub", "auto"),
        ("git log *", "git log", "sub", "auto"),
        ("git clone https://a.example/x", "git clone https://a.example/x", "sub", "auto"),
        ("*", "./build.sh", "sub", "auto"),
    ],
)
def test_a_pattern_with_a_relative_path_is_about_the_workspace(
    pattern: str, command: str, directory: str, due: str
) -> None:
    found = rule_set(allow=(f"shell:{pattern}",), ticks=ticks(shell="ask"))
    resource = Resource("command", command, Effect.EXECUTE, cwd=directory)
    assert found.decide("shell", EFFECTS["shell"], [resource]).decide == due


def test_a_deny_holds_in_every_directory() -> None:
    found = rule_set(deny=("shell:./build.sh *",), ticks=ticks(shell="auto"))
    resource = Resource("command", "./build.sh", Effect.EXECUTE, cwd="sub")
    assert found.decide("shell", EFFECTS["shell"], [resource]).decide == "deny"
