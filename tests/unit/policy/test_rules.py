from __future__ import annotations

import posixpath
from pathlib import Path
from urllib.parse import unquote

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fakes.context import World
from fakes.rules import EFFECTS, HOME, WORKSPACE, command, path, rule_set, source, tree, url, word
from remit.base.errors import Faults
from remit.base.resources import Effect, Resource
from remit.base.spec import PolicySource, RunSpec, Tick
from remit.policy.load import load_policy, load_rules
from remit.policy.patterns import BadPattern, HostPattern, PathPattern, Place, TextPattern, UrlPattern, canonical_url
from remit.policy.rules import kinds_touched
from remit.tools.registry import all_tools
from remit.workspace.root import Root

PLACE = Place((WORKSPACE,), (HOME,))


def faults_of(text: str) -> list[str]:
    rules, faults = load_rules(PolicySource("policy", "p.toml", text), EFFECTS, PLACE)
    assert not (rules and not faults and "version" not in text)
    return [str(fault) for fault in faults]


def faulty(*lines: str) -> list[str]:
    return faults_of("version = 1\n[[rule]]\n" + "\n".join(lines) + "\n")


OK = ('decide = "deny"', 'why = "because"')


@pytest.mark.parametrize(
    ("text", "due"),
    [
        ("", ["p.toml:1: the file is empty"]),
        ("[[rule]]\ndecide='deny'\nwhy='x'\n", ["p.toml:1: `version` is missing"]),
        ("version = 2\n", ["p.toml:1: `version`: expected 1, seen 2"]),
        ("version = '1'\n", ["p.toml:1: `version`: expected 1, seen '1' (did you mean `1`?)"]),
        (
            "version = 1\nrules = []\n",
            ["p.toml:2: unknown key `rules` (did you mean `rule`?)"],
        ),
        ("version = 1\n[rule]\n", ["p.toml:2: `rule`: expected a list, seen {}"]),
        ("version = 1\nrule = [1]\n", None),
        ("version = = 1\n", None),
    ],
)
def test_faults_of_the_file(text: str, due: list[str] | None) -> None:
    seen = faults_of(text)
    assert seen if due is None else seen == due


@pytest.mark.parametrize(
    ("lines", "due"),
    [
        (('why = "x"',), "p.toml:2: `rule[0].decide` is missing"),
        (('decide = "deny"',), "p.toml:2: `rule[0].why` is missing"),
        (
            ('decide = "allow"', 'why = "x"'),
            "p.toml:3: `rule[0].decide`: expected auto | ask | deny, seen 'allow'",
        ),
        (('decide = "deny"', 'why = " "'), "p.toml:4: `rule[0].why` is blank (say why the rule is there)"),
        (
            ('decide = "deny"', 'why = ""'),
            "p.toml:4: `rule[0].why`: expected a string of at least 1 characters, seen ''",
        ),
        ((*OK, 'comand = "x"'), "p.toml:5: unknown key `rule[0].comand` (did you mean `command`?)"),
        (
            (*OK, 'tools = ["read_file", "raed_file"]'),
            "p.toml:5: `rule[0].tools[1]`: unknown tool 'raed_file' (did you mean `read_file`?)",
        ),
        ((*OK, "tools = []"), "p.toml:5: `rule[0].tools` is empty (leave it out for every tool)"),
        ((*OK, "effect = []"), "p.toml:5: `rule[0].effect` is empty (leave it out for every effect)"),
        (
            (*OK, 'effect = "wirte"'),
            "p.toml:5: `rule[0].effect`: expected none | state | read | write | execute | network | message | spend |"
            " agent or a list, seen 'wirte' (did you mean `write`?)",
        ),
        (
            (*OK, 'mode = "plane"'),
            "p.toml:5: `rule[0].mode`: expected build | plan, seen 'plane' (did you mean `plan`?)",
        ),
        (
            (*OK, 'path = "a"', 'host = "b"'),
            "p.toml:6: `rule[0]` has `path` and `host`, but nothing is both (write one rule for each)",
        ),
        (
            (*OK, 'path = "a[b"'),
            "p.toml:5: `rule[0].path`: 'a[b' cannot be used: a `[` is not closed; write [[] for the character itself",
        ),
        (
            (*OK, 'url = "example.org"'),
            "p.toml:5: `rule[0].url`: 'example.org' cannot be used: a URL begins with a scheme such as https://;"
            " wildcards go into the path, `host` covers subdomains",
        ),
        (
            (*OK, 'command = "a; b"'),
            "p.toml:5: `rule[0].command`: 'a; b' cannot be used: a command pattern is one simple command, but it holds"
            " an operator",
        ),
        (
            (*OK, "[rule.examples]", 'match = ["a"]'),
            "p.toml:5: `rule[0].examples`: the rule selects nothing to try them on (name one of path, host, url,"
            " command, topic, agent, name, or leave the examples out)",
        ),
        (
            (*OK, 'command = "git log *"', "[rule.examples]", 'match = ["git log x", "git push"]'),
            "p.toml:7: `rule[0].examples.match[1]`: the rule does not match 'git push' (command = 'git log *')",
        ),
        (
            (*OK, 'command = "git log *"', "[rule.examples]", "miss = [", '  "git push",', '  "true; git log",', "]"),
            "p.toml:9: `rule[0].examples.miss[1]`: the rule matches 'true; git log' (command = 'git log *')",
        ),
        (
            (*OK, 'url = "https://a.b/"', "[rule.examples]", 'miss = ["a.b"]'),
            "p.toml:7: `rule[0].examples.miss[0]`: 'a.b' is no url: a URL begins with a scheme such as https://",
        ),
        (
            (*OK, 'path = "a"', "[rule.examples]", 'matches = ["a"]'),
            "p.toml:7: unknown key `rule[0].examples.matches` (did you mean `match`?)",
        ),
    ],
)
def test_faults_of_a_rule(lines: tuple[str, ...], due: str) -> None:
    assert faulty(*lines) == [due]


@pytest.mark.parametrize(
    ("lines", "due"),
    [
        (('tools = ["read_file"]', 'host = "x.org"'), "`rule[0].host`: read_file has no host*(did you mean `path`?)"),
        (('tools = ["read_file"]', 'url = "https://x.org/"'), "`rule[0].url`: read_file has no url*`path`?)"),
        (('tools = ["fetch_url"]', 'path = "x.org"'), "`rule[0].path`: fetch_url has no path*(did you mean `host`?)"),
        (('tools = ["write_artifact"]', 'path = "a.md"'), "`rule[0].path`: write_artifact has no path*`name`?)"),
        (('tools = ["shell"]', 'path = "a"'), "`rule[0].path`: shell has no path*(did you mean `command`?)"),
        (('tools = ["check"]', 'path = "a"'), "`rule[0].path`: check has no path*(did you mean `command`?)"),
        (('tools = ["read_file"]', 'command = "ls"'), "`rule[0].command`: read_file has no command*`path`?)"),
        (('tools = ["read_file"]', 'name = "a"'), "`rule[0].name`: read_file has no name*(did you mean `path`?)"),
        (('tools = ["update_plan"]', 'agent = "a"'), "`rule[0].agent`: update_plan has no agent*`name`?)"),
        (('tools = ["task"]', 'topic = "a"'), "`rule[0].topic`: task has no topic*(did you mean `agent`?)"),
        (('tools = ["question"]', 'path = "a"'), "`rule[0].path`: question has no path*(leave `path` out)"),
        (('tools = ["read_file", "file_edit"]', 'host = "a.b"'), "`rule[0].host`: file_edit, read_file has no host*"),
        (('effect = "network"', 'path = "a"'), "`rule[0].path`: a call with the effect network has no path*`host`?)"),
        (
            ('tools = ["read_file"]', 'effect = ["write", "network"]'),
            "`rule[0].effect`: read_file never has the effect network, write (what there is: read)",
        ),
        (
            ('tools = ["file_edit", "fetch_url"]', 'effect = "network"', 'path = "a"'),
            "`rule[0].path`: fetch_url, file_edit with the effect network has no path*(did you mean `host`?)",
        ),
    ],
)
def test_a_rule_that_no_call_can_meet_is_a_fault(lines: tuple[str, ...], due: str) -> None:
    [seen] = faulty(*OK, *lines)
    first, _, last = due.partition("*")
    assert first in seen and seen.endswith(last)


@pytest.mark.parametrize(
    "lines",
    [
        ('host = "x.org"',),
        ('tools = ["read_file", "fetch_url"]', 'host = "x.org"'),
        ('tools = ["read_file", "fetch_url"]', 'path = "x.org"'),
        ('tools = ["read_file", "file_write"]', 'effect = "write"', 'path = "a"'),
        ('tools = ["write_artifact"]', 'name = "a"'),
        ('tools = ["image_generate"]', 'path = "a"'),
        ('effect = ["network", "read"]', 'path = "a"'),
        ('tools = ["question"]',),
    ],
)
def test_a_rule_that_some_call_can_meet_is_none(lines: tuple[str, ...]) -> None:
    assert faulty(*OK, *lines) == []


def test_every_tool_keeps_to_the_kinds_that_rules_may_select(tmp_path: Path) -> None:
    """What a tool says it touches is what a rule about it may name."""
    samples = {
        "path": "a.csv",
        "name": "a.md",
        "url": "https://example.org/",
        "query": "x",
        "content": "x",
        "code": "1",
        "output_id": "output-ls",
        "tool_calls": [{"tool": "file_read"}],
        "questions": [{"question": "Which one?", "header": "One"}],
        "task": "x",
        "symbol": "x",
        "command": "true",
        "todos": [],
        "filePath": "a.csv",
        "oldString": "a",
        "newString": "b",
        "pattern": "a",
        "patchText": "*** Begin Patch\n*** Delete File: a.csv\n*** End Patch",
    }
    extra: dict[str, dict[str, object]] = {
        "update_plan": {"steps": [{"step": "x"}]},
        "propose_memory": {"text": "x", "reason": "y", "tags": []},
        "plan": {"action": "read"},
        "task": {"description": "x", "prompt": "y"},
        "task_control": {"action": "list"},
    }
    (tmp_path / "a.csv").write_text("a,b\n1,2\n")
    with Root(str(tmp_path)) as root:
        for name, tool in all_tools().items():
            fields = tool.schema()["properties"]
            required = tool.schema().get("required", [])
            given_arguments = {key: samples[key] for key in required if key in samples} | extra.get(name, {})
            assert set(required) <= set(given_arguments) <= set(fields), name
            params = tool.parse(msgspec.json.encode(given_arguments).decode())
            for resource in tool.resources(params, World(root)):
                assert resource.kind in kinds_touched(name, resource.effect), (name, resource)


def test_all_faults_of_all_sources_are_told_at_once() -> None:
    first = PolicySource("user", "u.toml", "version = 1\n[[rule]]\npath = 'a//b'\n[[rule]]\nwhy = ''\ntools = ['x']\n")
    second = PolicySource("policy", "p.toml", "version = ")
    spec = RunSpec(
        prompt="",
        workspace=WORKSPACE,
        policies=(first, second),
        allow=("nothing",),
        ticks={"sheel": Tick("auto", (), "task.yaml:2"), "read_file": Tick("auto", ("a.b",), "task.yaml:3")},
    )
    with pytest.raises(Faults) as caught:
        load_policy(spec, EFFECTS, home=HOME)
    places = [fault.where for fault in caught.value.faults]
    assert sorted(places) == [
        "--allow 'nothing'",
        "p.toml:1",
        "task.yaml:2",
        "task.yaml:3",
        "u.toml:2",
        "u.toml:2",
        "u.toml:3",
        "u.toml:4",
        "u.toml:5",
        "u.toml:6",
    ]
    hints = {fault.where: fault.hint for fault in caught.value.faults}
    assert hints["task.yaml:2"] == "did you mean `shell`?"


@pytest.mark.parametrize(
    ("key", "pattern", "match", "miss"),
    [
        ("path", "docs/**", ["docs", "docs/a", "./docs/a/b", f"{WORKSPACE}/docs/a"], ["a", "docsx", "/docs/a"]),
        ("path", "~/x", ["~/x", f"{HOME}/x"], ["x", "~/x/y", "~"]),
        ("host", "example.org", ["example.org", "a.example.org", "https://example.org/x"], ["evilexample.org"]),
        ("url", "https://example.org/*", ["https://example.org/a"], ["https://example.org/a/b"]),
        ("command", "git log *", ["git log", "g''it log x"], ["git push", "gitx log"]),
        ("topic", "news", ["news"], ["news.eu"]),
        ("agent", "rev*", ["review"], ["a"]),
        ("name", "*.md", ["a.md"], ["a.txt"]),
    ],
)
@pytest.mark.parametrize("decide", ["auto", "ask", "deny"])
def test_examples_are_read_as_the_rules_own_kind(
    key: str, pattern: str, match: list[str], miss: list[str], decide: str
) -> None:
    lines = [f"decide = '{decide}'", "why = 'x'", f"{key} = '{pattern}'", "[rule.examples]"]
    assert faulty(*lines, f"match = {match!r}".replace('"', "'''"), f"miss = {miss!r}") == []
    swapped = faulty(*lines, f"match = {miss!r}", f"miss = {match!r}".replace('"', "'''"))
    assert len(swapped) == len(match) + len(miss)


def test_the_example_of_the_manual_loads_and_holds() -> None:
    text = """
version = 1
[[rule]]
tools = ["shell"]
command = "git log *"                 # token by token
decide = "auto"                       # auto | ask | deny
why = "reading history is harmless"
[rule.examples]
match = ["git log --oneline"]
miss = ["git push", "git log; rm -rf x", "gitx log"]
"""
    assert faults_of(text) == []
    assert word(rule_set(PolicySource("policy", "p.toml", text)), "shell", command("git log -1")) == "auto"


def test_a_rule_with_a_fault_is_not_a_rule() -> None:
    rules, faults = load_rules(
        PolicySource(
            "policy", "p.toml", "version = 1\n[[rule]]\ndecide = 'auto'\n[[rule]]\ndecide = 'deny'\nwhy = 'x'\n"
        ),
        EFFECTS,
        PLACE,
    )
    assert [rule.decide for rule in rules] == ["deny"]
    assert len(faults) == 1


# -- patterns ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pattern", "name", "due"),
    [
        ("docs/**", "docs", True),
        ("docs/**", "docs/a/b", True),
        ("docs/**", "docs2", False),
        ("docs/*", "docs", False),
        ("docs/*", "docs/a", True),
        ("docs/*", "docs/.a", True),
        ("docs/*", "docs/a/b", False),
        ("./docs", "docs", True),
        (".", ".", True),
        (".", "a", False),
        ("**", ".", True),
        ("**", "a/b", True),
        ("**", "/etc", False),
        ("/**", "/etc", True),
        ("/**", "a", True),
        ("/", "/", True),
        ("/", "a", False),
        ("*.md", "a.md", True),
        ("*.md", "b/a.md", False),
        ("*.md", "a.md\n", False),
        ("**/*.md", "a.md", True),
        ("**/*.md", "b/c/a.md", True),
        ("a/**/z", "a/z", True),
        ("a/**/z", "a/b/c/z", True),
        ("a/**/z", "a/bz", False),
        ("a/**/m/**/z", "a/m/m/z", True),
        ("a/**/m/**/z", "a/m/z/y", False),
        ("**/a*b/**", "x/a/acb/y", True),
        ("a*b*c", "abbc", True),
        ("a*b*c", "ab/c", False),
        ("a?c", "abc", True),
        ("a?c", "a/c", False),
        ("[ab]", "b", True),
        ("[!ab]", "b", False),
        ("[!ab]", "c", True),
        ("[a-c]x", "bx", True),
        ("[]]", "]", True),
        ("[[]a]", "[a]", True),
        ("[*]", "*", True),
        ("[*]", "a", False),
        ("[{]a[}]", "{a}", True),
        ("a+b.c", "a+b.c", True),
        ("a+b.c", "aab.c", False),
        ("A", "a", False),
        ("~", f"{HOME}", True),
        ("~/**", f"{HOME}/a/b", True),
        ("~/**", "~/a", False),
    ],
)
def test_path_patterns(pattern: str, name: str, due: bool) -> None:
    assert PathPattern.compile(pattern, PLACE, follow=False).matches(PLACE.absolute(name)) is due


@pytest.mark.parametrize(
    ("pattern", "why"),
    [
        ("", "it is empty"),
        ("a//b", "it has an empty component; `dir/**` names a directory and all below it"),
        ("a/", "it has an empty component; `dir/**` names a directory and all below it"),
        ("../a", "it holds `.` or `..`; a relative pattern lies in the workspace, else write an absolute one"),
        ("/a/./b", "it holds `.` or `..`; a relative pattern lies in the workspace, else write an absolute one"),
        ("a\\b", "it holds a backslash; write / between components and [*] for a plain `*`"),
        ("*.{a,b}", "braces are not expanded; write one rule for each, and [{] for the character itself"),
        ("~bob/x", "only `~/` is expanded; write the absolute path"),
        ("a**/b", "`**` stands alone between slashes"),
        ("[a", "a `[` is not closed; write [[] for the character itself"),
        ("[a/b]", "a `[` is not closed; write [[] for the character itself"),
        ("[z-a]", "[z-a] is no range of characters"),
    ],
)
def test_bad_path_patterns(pattern: str, why: str) -> None:
    with pytest.raises(BadPattern) as caught:
        PathPattern.compile(pattern, PLACE, follow=False)
    assert str(caught.value) == why


def test_a_workspace_and_a_home_behind_links_are_the_same_place(tmp_path: Path) -> None:
    (tmp_path / "real/docs").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "real")
    (tmp_path / "real/alias").symlink_to("docs")
    spec = RunSpec(
        prompt="",
        workspace=str(tmp_path / "link"),
        policies=(
            source(
                f"decide = 'deny'\npath = '{tmp_path.resolve()}/real/no/**'",
                f"decide = 'deny'\npath = '{tmp_path}/link/never/**'",
                "decide = 'deny'\npath = 'alias/**'",
                "decide = 'auto'\npath = '~/x'",
                kind="user",
            ),
        ),
    )
    rules = load_policy(spec, EFFECTS, home=str(tmp_path / "link"))
    assert word(rules, "read_file", path("no/a")) == "deny"
    assert word(rules, "read_file", path("never/a")) == "deny"
    assert word(rules, "read_file", path("docs/a")) == "deny"
    assert word(rules, "file_write", path("x", Effect.WRITE)) == "auto"
    assert word(rules, "file_write", path(f"{tmp_path.resolve()}/real/x", Effect.WRITE)) == "auto"


def test_an_auto_does_not_follow_a_link_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    spec = RunSpec(prompt="", workspace=str(tmp_path), policies=(source("decide = 'auto'\npath = 'link/**'"),))
    rules = load_policy(spec, EFFECTS, home=HOME)
    assert word(rules, "file_write", path("link/a", Effect.WRITE, real="real/a")) == "ask"


@pytest.mark.parametrize(
    ("text", "due"),
    [
        ("https://Example.ORG", "https://example.org/"),
        ("HTTPS://example.org.:443/a/./b/../c", "https://example.org/a/c"),
        ("http://example.org:80?q=%7e#frag", "http://example.org/?q=~"),
        ("http://example.org:8080/%7Eü%2f", "http://example.org:8080/~%C3%BC%2F"),
        ("https://example.org/..", "https://example.org/"),
        ("https://example.org/a/..", "https://example.org/"),
        ("https://bücher.example/", "https://xn--bcher-kva.example/"),
        ("https://u:p@example.org/", "https://u:p@example.org/"),
        ("https://[::1]:443/", "https://[::1]/"),
        ("https://0x7f.1/", "https://127.0.0.1/"),
    ],
)
def test_urls_have_one_form(text: str, due: str) -> None:
    assert str(canonical_url(text)) == due


NO_URLS = "|a|//a/|https:///a|https://a b/|https://a\\b/|https://a\n/|https://a%2eb/|https://a:b/|https://[::1/"
NO_URLS += "|https://a\u200bb/|https://\ud800/|https://a/\x00"


@pytest.mark.parametrize("text", NO_URLS.split("|"))
def test_what_is_no_url_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        canonical_url(text)


@pytest.mark.parametrize(
    ("pattern", "why"),
    [
        ("*", "a host takes no wildcard; `example.org` covers its subdomains too"),
        ("a.*.b", "a host takes no wildcard; `example.org` covers its subdomains too"),
        ("*.", "a host takes no wildcard; `example.org` covers its subdomains too"),
        ("https://a.b", "a host has no scheme or path; write `example.org`, or use `url`"),
    ],
)
def test_bad_hosts(pattern: str, why: str) -> None:
    with pytest.raises(BadPattern) as caught:
        HostPattern.compile(pattern)
    assert str(caught.value) == why


@pytest.mark.parametrize(
    ("pattern", "why"),
    [
        ("", "it is empty"),
        ("[a", "a `[` is not closed; write [[] for the character itself"),
        ("{a,b}", "braces are not expanded; write one rule for each, and [{] for the character itself"),
        ("a}", "braces are not expanded; write one rule for each, and [{] for the character itself"),
    ],
)
def test_bad_names(pattern: str, why: str) -> None:
    with pytest.raises(BadPattern) as caught:
        TextPattern.compile(pattern)
    assert str(caught.value) == why


def test_braces_of_a_name_stand_in_brackets() -> None:
    assert TextPattern.compile("[{]a[}]").matches("{a}")


def test_a_starred_host_covers_only_what_is_below() -> None:
    rules = rule_set(source("decide = 'auto'\nhost = '*.example.org'"))
    assert word(rules, "fetch_url", url("https://a.example.org/")) == "auto"
    assert word(rules, "fetch_url", url("https://example.org/")) == "ask"


@pytest.mark.parametrize(
    "text", ["https://*.example.org/", "https://*/a", "https://example.org/a**", "a/*", "https://a.org/{b,c}"]
)
def test_bad_url_patterns(text: str) -> None:
    with pytest.raises(BadPattern):
        UrlPattern.compile(text)


@pytest.mark.parametrize(
    ("pattern", "text", "due"),
    [
        ("https://example.org/*.html", "https://example.org/a.html", True),
        ("https://example.org/*.html", "https://example.org/a.html?x", False),
        ("https://example.org/*", "https://example.org/a?x=/y", True),
        ("https://example.org/*", "https://example.org/", True),
        ("https://example.org/a?b=*", "https://example.org/a?b=c&d=/e", True),
        ("https://example.org/a?b=*", "https://example.org/ab=c", False),
        ("https://example.org/a[1]", "https://example.org/a[1]", True),
        ("https://example.org/**/z", "https://example.org//y/z", True),
        ("https://example.org/**", "https://example.org.evil.com/", False),
        ("https://example.org/**", "https://example.org@evil.com/", False),
        ("https://example.org/**", "https://u@example.org/", False),
        ("https://example.org/**", "https://example.org:444/", False),
    ],
)
def test_url_patterns(pattern: str, text: str, due: bool) -> None:
    compiled = UrlPattern.compile(pattern)
    assert compiled.grants(canonical_url(text)) is due
    assert compiled.hits(canonical_url(text)) is due


DOCS = UrlPattern.compile("https://example.org/docs/**")
SECRET = UrlPattern.compile("https://example.org/secret/**")


@pytest.mark.parametrize(
    "path",
    [
        "docs/..%2fsecret/x",
        "docs/..%5Csecret/x",
        "docs/%2e%2e%2fsecret/x",
        "docs/%252e%252e/secret/x",
        "docs/..%252fsecret/x",
        "docs/..%255csecret/x",
        "docs/%25252e%25252e%25252fsecret%25252fx",
        "docs/..%c0%afsecret/x",
        "docs/%c0%ae%c0%ae/secret/x",
        "docs/..;/secret/x",
        "docs/..;a=b/secret/x",
        "docs/..%3b/secret/x",
        "docs/a/..%2f..%2fsecret/x",
        "docs/%C0%2f..%2f..%2f%2e%2e/secret/x",
    ],
)
def test_an_escaped_way_out_is_not_granted_and_still_denied(path: str) -> None:
    seen = canonical_url(f"https://example.org/{path}")
    assert not DOCS.grants(seen)
    assert DOCS.hits(seen)
    assert SECRET.hits(seen)
    assert UrlPattern.compile(str(seen)).grants(seen)


@pytest.mark.parametrize(
    ("pattern", "text", "due"),
    [
        ("https://example.org/docs/**", "https://example.org/docs/a%2Fb", False),
        ("https://example.org/docs/a%2Fb", "https://example.org/docs/a%2fb", True),
        ("https://example.org/docs/a%2Fb", "https://example.org/docs/a/b", False),
        ("https://example.org/p/a%2Fb/**", "https://example.org/p/a%2Fb/c", True),
        ("https://example.org/p/a%2Fb/**", "https://example.org/p/a%2Fb/..%2Fc", False),
        ("https://example.org/p/a%2F*", "https://example.org/p/a%2Fb", False),
        ("https://example.org/.*", "https://example.org/.%252e", False),
        ("https://example.org/docs/**", "https://example.org/docs/caf%C3%A9%20%2525.md", True),
        ("https://example.org/docs/**", "https://example.org/docs/a...b/..c/d.", True),
        ("https://example.org/docs/**", "https://example.org/docs/a?next=..%2f..%2f", True),
    ],
)
def test_a_wildcard_stands_for_no_escaped_slash(pattern: str, text: str, due: bool) -> None:
    assert UrlPattern.compile(pattern).grants(canonical_url(text)) is due


def test_what_is_escaped_without_end_is_granted_by_nothing_and_denied() -> None:
    deep = url(f"https://example.org/docs/..%{'25' * 20}2fx")
    for decide, due in (("auto", "ask"), ("deny", "deny"), ("ask", "deny")):
        rules = rule_set(source(f"decide = '{decide}'\nurl = 'https://example.org/docs/**'"))
        assert word(rules, "fetch_url", deep) == due
    rules = rule_set(source("decide = 'deny'\nurl = 'https://example.com/**'"))
    assert word(rules, "fetch_url", deep) == "ask"


def resolved(path: str, rounds: int) -> str:
    """Where a server leads a path to that undoes its escapes that often."""
    for _ in range(rounds):
        path = unquote(path, "latin-1").replace("\\", "/")
    return posixpath.normpath("/" + path.lstrip("/"))


pieces = st.sampled_from(
    [
        "..",
        ".",
        "/",
        "\\",
        "a",
        "docs",
        "secret",
        "%2e",
        "%2E",
        "%2f",
        "%5c",
        "%25",
        "%252e",
        "%252f",
        "%255c",
        "2f",
        "2e",
    ]
)


@settings(max_examples=400)
@given(st.lists(pieces, max_size=8).map("".join), st.integers(0, 4))
def test_a_glob_never_grants_what_some_server_leads_out_of_it(tail: str, rounds: int) -> None:
    seen = canonical_url(f"https://example.org/docs/{tail.replace(chr(92), '%5C')}")
    led = resolved(seen.path, rounds)
    if DOCS.grants(seen):
        assert led == "/docs" or led.startswith("/docs/")
    if led == "/secret" or led.startswith("/secret/"):
        assert SECRET.hits(seen)


# -- flags -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("flag", "tool", "resource", "due"),
    [
        ("shell:git log *", "shell", command("git log -1"), "auto"),
        ("shell:git log *", "shell", command("git push"), "ask"),
        ("shell:command=git log *", "shell", command("git log"), "auto"),
        ("fetch_url:host=example.org", "fetch_url", url("https://a.example.org/"), "auto"),
        ("fetch_url:host=example.org", "fetch_url", url("https://evilexample.org/"), "ask"),
        ("fetch_url:url=https://example.org/a", "fetch_url", url("https://example.org/a"), "auto"),
        ("fetch_url", "fetch_url", url("https://example.org/a"), "auto"),
        ("read_file", "read_file", path("a"), "auto"),
        ("file_write", "file_write", path("a", Effect.WRITE), "auto"),
        ("file_write", "file_write", path("/a", Effect.WRITE), "deny"),
        ("file_write:path=/a", "file_write", path("/a", Effect.WRITE), "auto"),
        ("check:true", "check", command("true"), "auto"),
        ("Write(docs/**)", "file_write", path("docs/a/b", Effect.WRITE), "auto"),
        ("Write(docs)", "file_write", path("docs/a", Effect.WRITE), "auto"),
        ("Write(docs)", "file_write", path("x/docs/a", Effect.WRITE), "auto"),
        ("Write(/docs)", "file_write", path("docs/a", Effect.WRITE), "auto"),
        ("Write(/a/docs)", "file_write", path("x/a/docs/a", Effect.WRITE), "ask"),
        ("Write(//a)", "file_write", path("/a/b", Effect.WRITE), "auto"),
        ("Write(~/a)", "file_write", path(f"{HOME}/a/b", Effect.WRITE), "auto"),
        ("Bash(git diff *)", "shell", command("git diff x"), "auto"),
        ("Bash(git diff:*)", "shell", command("git diff x"), "auto"),
        ("Bash(git diff:*)", "shell", command("git push"), "ask"),
        ("Bash", "shell", command("a; b"), "auto"),
        ("Bash(*)", "shell", command("a; b"), "auto"),
        ("WebFetch(domain:example.org)", "fetch_url", url("https://example.org/a"), "auto"),
        ("WebFetch(domain:example.org)", "webfetch", url("https://example.org/a"), "auto"),
        ("WebFetch(domain:example.org)", "webfetch", url("https://example.com/a"), "ask"),
        ("*", "fetch_url", url("https://example.com/a"), "auto"),
        ("*", "file_write", path("a", Effect.WRITE), "auto"),
        ("*", "file_write", path("/a", Effect.WRITE), "deny"),
        ("*:path=docs/**", "file_write", path("docs/a", Effect.WRITE), "auto"),
        ("*:path=docs/**", "file_edit", path("a", Effect.WRITE), "ask"),
    ],
)
def test_allow_flags(flag: str, tool: str, resource: object, due: str) -> None:
    rules = rule_set(allow=(flag,))
    assert rules.decide(tool, EFFECTS.get(tool, frozenset({Effect.EXECUTE})), [resource]).decide == due


@pytest.mark.parametrize(
    ("flag", "tool", "resource", "due"),
    [
        ("file_write:path=docs/**", "file_write", path("docs/a", Effect.WRITE), "deny"),
        ("file_write:path=docs/**", "file_write", path("a", Effect.WRITE), "ask"),
        ("Read", "read_file", path("a"), "deny"),
        ("Read", "file_read", path("/a"), "deny"),
        ("Read(secrets)", "read_file", path("x/secrets/a"), "deny"),
        ("Read(*.txt)", "read_file", path("x/a.txt"), "deny"),
        ("Bash(rm:*)", "shell", command("env rm x"), "deny"),
        ("WebFetch", "fetch_url", url("https://example.org/a"), "deny"),
        ("*:path=private/**", "read_file", path("private/a"), "deny"),
        ("*:path=private/**", "list_files", tree("private"), "deny"),
        ("*:path=private/**", "file_write", path("private/a", Effect.WRITE), "deny"),
        ("*:path=private/**", "read_file", path("a"), "auto"),
        ("*:command=rm *", "shell", command("rm x"), "deny"),
        ("*", "update_plan", Resource("state", "plan", Effect.STATE), "deny"),
    ],
)
def test_deny_flags(flag: str, tool: str, resource: object, due: str) -> None:
    decision = rule_set(deny=(flag,)).decide(tool, EFFECTS[tool], [resource])
    assert decision.decide == due
    if due == "deny":
        assert decision.rule.where == f"--deny '{flag}'"


@pytest.mark.parametrize(
    ("flag", "due"),
    [
        ("", "--allow '': unknown tool '' (the tools are: " + ", ".join(sorted(EFFECTS)) + ")"),
        ("sheel:ls", "--allow 'sheel:ls': unknown tool 'sheel' (did you mean `shell`?)"),
        (
            "shell:",
            "--allow 'shell:': nothing follows `shell:` (write TOOL, TOOL:COMMAND or TOOL:SELECTOR=PATTERN with one of"
            " path, host, url, command, topic, agent, name)",
        ),
        (
            "read_file:docs",
            "--allow 'read_file:docs': 'docs' has no selector, and read_file runs no commands (write TOOL, TOOL:COMMAND"
            " or TOOL:SELECTOR=PATTERN with one of path, host, url, command, topic, agent, name)",
        ),
        (
            "fetch_url:host=*",
            "--allow 'fetch_url:host=*': host '*' cannot be used: a host takes no wildcard; `example.org` covers its"
            " subdomains too",
        ),
        (
            "shell:a; b",
            "--allow 'shell:a; b': command 'a; b' cannot be used: a command pattern is one simple command, but"
            " it holds an operator",
        ),
        (
            "fetch_url:path=x.org",
            "--allow 'fetch_url:path=x.org': fetch_url has no path, so the rule would never speak (did you mean"
            " `host`?)",
        ),
        (
            "*:docs",
            "--allow '*:docs': 'docs' has no selector, which `*` needs (write TOOL, TOOL:COMMAND or"
            " TOOL:SELECTOR=PATTERN with one of path, host, url, command, topic, agent, name)",
        ),
        ("WebFetch(x)", "--allow 'WebFetch(x)': WebFetch(x) is not understood (write WebFetch(domain:example.org))"),
        (
            "WebSearch",
            "--allow 'WebSearch': no tool here does what WebSearch does (the tools are: "
            + ", ".join(sorted(EFFECTS))
            + ")",
        ),
    ],
)
def test_bad_flags_are_named(flag: str, due: str) -> None:
    with pytest.raises(Faults) as caught:
        rule_set(allow=(flag,))
    assert str(caught.value) == due


def test_hosts_of_a_tick_are_checked() -> None:
    with pytest.raises(Faults) as caught:
        rule_set(
            ticks={
                "fetch_url": Tick("auto", ("a.b", "https://x"), "t.yaml:3"),
                "read_file": Tick("auto", ("a",), "t.yaml:4"),
            }
        )
    assert [str(fault) for fault in caught.value.faults] == [
        "t.yaml:3: host 'https://x' cannot be used: a host has no scheme or path; write `example.org`, or use `url`",
        "t.yaml:4: read_file reaches no network, so it takes no hosts",
    ]
