from __future__ import annotations

import os
from pathlib import Path

import pytest

from fakes.rules import EFFECTS, WORKSPACE, command, rule_set, source, ticks, word
from remit.base.resources import Effect, Resource
from remit.policy.patterns import Place
from remit.policy.redirects import touched
from remit.policy.shell import read_command

READ, WRITE = Effect.READ, Effect.WRITE
PLACE = Place((WORKSPACE,), ("/home/ada",))


def files(line: str, cwd: str = "") -> list[tuple[str, Effect, bool]]:
    return [(each.name, each.effect, each.inside) for each in touched(read_command(line), cwd, PLACE)]


@pytest.mark.parametrize(
    ("line", "due"),
    [
        ("a > f", [("f", WRITE, True)]),
        ("a >f", [("f", WRITE, True)]),
        ("a 2> f", [("f", WRITE, True)]),
        ("a >> f", [("f", WRITE, True)]),
        ("a >| f", [("f", WRITE, True)]),
        ("a &> f", [("f", WRITE, True)]),
        ("a &>> f", [("f", WRITE, True)]),
        ("a >& f", [("f", WRITE, True)]),
        ("a < f", [("f", READ, True)]),
        ("a <> f", [("f", READ, True), ("f", WRITE, True)]),
        ("a < f > g; b >> f", [("f", READ, True), ("g", WRITE, True), ("f", WRITE, True)]),
        ("a > 'x y'", [("x y", WRITE, True)]),
        ("a > \\>", [(">", WRITE, True)]),
        ("a > ./d/../f", [("f", WRITE, True)]),
        ("a > ../f", [("/srv/f", WRITE, False)]),
        ("a > /etc/f", [("/etc/f", WRITE, False)]),
        (f"a > {WORKSPACE}/f", [("f", WRITE, True)]),
        (f"a > {WORKSPACE}x/f", [(f"{WORKSPACE}x/f", WRITE, False)]),
        ("echo $(a > f)", [("f", WRITE, True)]),
        ("cat <<E\n$(a > f)\nE", [("f", WRITE, True)]),
        ("{ a; } > f", [("f", WRITE, True)]),
        ("> f", [("f", WRITE, True)]),
        ("a > 2", [("2", WRITE, True)]),
        ("a 2>&1 >&2 <&0 2>&- >&1-", []),
        ("a > /dev/null 2> /dev/stderr < /dev/zero", []),
        ("a <<< f", []),
        ("a <<f\nx > y\nf", []),
        ("a '>' f", []),
        ("a \\> f", []),
        ("a # > f", []),
    ],
)
def test_every_file_that_the_shell_opens_is_told(line: str, due: list[tuple[str, Effect, bool]]) -> None:
    assert files(line) == due


@pytest.mark.parametrize("target", ["$F", "~/f", "f*", "{f,g}", "$(a)", '""', "/dev/tcp/h/1", "/dev/udp/h/1", ">(a)"])
def test_a_file_that_is_not_known_is_left_to_rules_for_any_command(target: str) -> None:
    line = command(f"a > {target}")
    assert files(line.name) == []
    named = [
        source("decide = 'auto'\ncommand = 'a *'", "decide = 'auto'\npath = '**'", "decide = 'auto'\npath = '/**'")
    ]
    assert word(rule_set(*named), "shell", line) == "ask"
    assert word(rule_set(ticks=ticks(shell="auto")), "shell", line) == "auto"


def test_behind_a_change_of_directory_every_place_counts() -> None:
    assert [name for name, _, _ in files("cd d && a > f")] == ["f", "d/f"]
    assert [name for name, _, _ in files("cd d && cd e && a > f")] == ["f", "d/f", "e/f", "d/e/f"]
    assert [name for name, _, _ in files("cd .. && a > f")] == ["f", "/srv/f"]
    assert [name for name, _, _ in files("cd d && a > /f")] == ["/f"]
    rules = rule_set(
        source(
            "decide = 'deny'\npath = 'docs/**'",
            "decide = 'auto'\npath = '**'",
            "decide = 'auto'\ncommand = 'cd *'",
            "decide = 'auto'\ncommand = 'a *'",
        )
    )
    assert word(rules, "shell", command("cd docs; a")) == "auto"
    assert word(rules, "shell", command("cd docs; a > f")) == "deny"
    assert word(rules, "shell", command("cd other; a > f")) == "ask"
    assert word(rules, "shell", command(f"cd other; a > {WORKSPACE}/f")) == "auto"
    assert word(rules, "shell", command("cd $X; a > f")) == "ask"


def test_a_command_may_start_in_another_directory() -> None:
    assert files("a > f", "docs") == [("docs/f", WRITE, True)]
    assert files("a > ../f", "docs") == [("f", WRITE, True)]
    rules = rule_set(source("decide = 'deny'\npath = 'docs/**'"), ticks=ticks(shell="auto"))
    assert word(rules, "shell", Resource("command", "a > f", Effect.EXECUTE, cwd="docs")) == "deny"
    assert word(rules, "shell", Resource("command", "a > f", Effect.EXECUTE)) == "auto"


def test_links_are_followed(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / "secret").write_text("x")
    os.symlink("../secret", tmp_path / "work/link")
    os.symlink("..", tmp_path / "work/up")
    place = Place.of(str(tmp_path / "work"), "/home/ada")
    for line in ("a < link", "a < up/secret"):
        (file,) = touched(read_command(line), "", place)
        assert (file.real, file.inside) == (str(tmp_path / "secret"), False)
    rules = rule_set(
        source("decide = 'auto'\ncommand = 'a *'", "decide = 'auto'\npath = 'link'"), workspace=str(tmp_path / "work")
    )
    assert word(rules, "shell", command("a < link")) == "deny"


BOTH = ("decide = 'auto'\ncommand = 'a *'", "decide = 'auto'\npath = 'out/**'\neffect = 'write'")


@pytest.mark.parametrize(
    ("rules", "line", "due"),
    [
        (BOTH, "a > out/f", "auto"),
        (BOTH, "a > f", "ask"),
        (BOTH, "a < f", "auto"),
        (BOTH, "a <> out/f", "auto"),
        (BOTH, "a <> f", "ask"),
        (BOTH, "a 3<>out/f && a <>f", "ask"),
        (BOTH, "a; (a <> out/f) | a", "auto"),
        (BOTH, "a <<E\n$(a <> out/f)\nE", "ask"),
        ((*BOTH, "decide = 'auto'\neffect = 'execute'"), "a <> f", "auto"),
        (("decide = 'deny'\neffect = 'read'\npath = 'out/**'", *BOTH), "a <> out/f", "deny"),
        (BOTH, "b > out/f", "ask"),
        (BOTH[:1], "a > out/f", "ask"),
        (BOTH[1:], "a > out/f", "ask"),
        ((*BOTH, "decide = 'deny'\npath = 'out/f'"), "a > out/f", "auto"),
        (("decide = 'deny'\npath = 'out/f'", *BOTH), "a > out/f", "deny"),
        (("decide = 'ask'\npath = 'out/f'", *BOTH), "a > out/f", "ask"),
        ((*BOTH, "decide = 'auto'\neffect = ['read', 'execute']\npath = 'src/**'"), "a > src/f", "ask"),
        (("decide = 'auto'\neffect = 'execute'",), "$X > /f", "auto"),
        (("decide = 'auto'\ncommand = '*'",), "$X > /f", "auto"),
        (("decide = 'auto'\neffect = 'write'",), "a > f", "ask"),
        (("decide = 'deny'\neffect = 'write'", "decide = 'auto'"), "a > f", "deny"),
        (("decide = 'deny'\neffect = 'write'", "decide = 'auto'"), "a < f", "auto"),
    ],
)
def test_a_redirect_is_judged_by_path_or_with_any_command(rules: tuple[str, ...], line: str, due: str) -> None:
    assert word(rule_set(source(*rules)), "shell", command(line)) == due


@pytest.mark.parametrize(("tick", "due"), [("auto", "auto"), ("ask", "ask"), ("deny", "deny")])
def test_a_tick_is_about_what_a_line_touches_too(tick: str, due: str) -> None:
    rules = rule_set(ticks=ticks(shell=tick))
    assert word(rules, "shell", command("make > /tmp/log 2>&1")) == due


@pytest.mark.parametrize("line", ["cat < .env", "cat < /home/ada/.ssh/id_rsa", "echo x > .remit/policy.toml"])
def test_the_floor_holds_for_redirects(line: str) -> None:
    assert word(rule_set(ticks=ticks(shell="auto")), "shell", command(line)) == "deny"


def test_an_ask_for_a_redirect_is_an_ask_for_the_command() -> None:
    rules = rule_set(source(BOTH[0]))
    line = command("a > f")
    assert rules.asked("shell", [line]) == (line,)
    decision = rules.decide("shell", EFFECTS["shell"], [line])
    assert decision.resource is not None
    assert (decision.resource.kind, decision.resource.name) == ("path", "f")
    assert [each.part for each in rules.trace("shell", [line])] == ["a > f", "a > f", "f"]
