from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakes.rules import EFFECTS, HOME, WORKSPACE, command, path, rule_set, source, ticks, tree, url, word
from remit.base.calls import RuleRef
from remit.base.resources import Effect, Resource
from remit.base.spec import Expect, RunSpec, Source, Tick
from remit.policy.decide import Layer, RuleSet
from remit.policy.load import load_policy
from remit.policy.patterns import Place
from remit.policy.rules import Rule, never_speaks
from remit.policy.subjects import Coverage, Subject
from remit.workspace.credentials import looks_like_credentials

PLACE = Place((WORKSPACE,), (HOME,))


def one(decide: str, **selectors: str) -> str:
    return "\n".join([f'decide = "{decide}"', *(f'{key} = "{value}"' for key, value in selectors.items())])


# -- the table of sources ----------------------------------------------------------------------

ON_FILE = path("a.txt", Effect.WRITE)
"""Writing it asks by default, so that each word of a rule is seen."""

SOURCES = {
    "user": lambda decide: {"policies": [source(one(decide, path="a.txt"), kind="user")]},
    "project": lambda decide: {"policies": [source(one(decide, path="a.txt"), kind="project")]},
    "flag": lambda decide: {{"auto": "allow", "deny": "deny"}[decide]: ("file_write:path=a.txt",)},
    "policy": lambda decide: {"policies": [source(one(decide, path="a.txt"))]},
    "task": lambda decide: {"ticks": ticks(file_write=decide)},
}


def combined(*words: tuple[str, str]) -> str:
    """What is decided when these sources say so of one file."""
    settings: dict[str, object] = {}
    policies = []
    for name, decide in words:
        part = dict(SOURCES[name](decide))
        policies += part.pop("policies", [])
        settings |= part
    return word(rule_set(*policies, **settings), "file_write", ON_FILE)


@pytest.mark.parametrize(
    ("name", "decide", "due"),
    [
        ("user", "deny", "deny"),
        ("user", "ask", "ask"),
        ("user", "auto", "auto"),
        ("project", "deny", "deny"),
        ("project", "ask", "ask"),
        ("project", "auto", "ask"),
        ("flag", "deny", "deny"),
        ("flag", "auto", "auto"),
        ("policy", "deny", "deny"),
        ("policy", "ask", "ask"),
        ("policy", "auto", "auto"),
        ("task", "deny", "deny"),
        ("task", "ask", "ask"),
        ("task", "auto", "auto"),
    ],
)
def test_each_source_alone_against_the_default(name: str, decide: str, due: str) -> None:
    assert combined((name, decide)) == due


@pytest.mark.parametrize("grant", ["flag", "policy", "task", "user"])
@pytest.mark.parametrize("holder", ["user", "project"])
@pytest.mark.parametrize("decide", ["deny", "ask"])
def test_user_and_project_always_hold(grant: str, holder: str, decide: str) -> None:
    if grant == holder:
        policies = [
            source(one(decide, path="a.txt"), kind=holder, path="first.toml"),
            source(one("auto", path="a.txt"), kind=holder, path="second.toml"),
        ]
        assert word(rule_set(*policies), "file_write", ON_FILE) == decide
    else:
        assert combined((grant, "auto"), (holder, decide)) == decide


RANKED = ["flag", "policy", "task", "user"]


@pytest.mark.parametrize(
    ("first", "second"), [(a, b) for i, a in enumerate(RANKED) for b in RANKED[i + 1 :] if b != "user"]
)
def test_the_first_rank_that_speaks_gives_the_grant(first: str, second: str) -> None:
    assert combined((first, "auto"), (second, "deny")) == "auto"
    assert combined((first, "deny"), (second, "auto")) == "deny"


@pytest.mark.parametrize("first", ["flag", "policy", "task"])
def test_the_users_auto_ranks_behind_all_but_the_defaults(first: str) -> None:
    assert combined((first, "deny"), ("user", "auto")) == "deny"
    if first != "flag":
        assert combined((first, "ask"), ("user", "auto")) == "ask"


def test_a_project_auto_grants_nothing_and_loosens_nothing() -> None:
    assert combined(("project", "auto"), ("task", "ask")) == "ask"
    assert combined(("project", "auto"), ("policy", "deny")) == "deny"
    assert combined(("project", "auto"), ("user", "deny")) == "deny"


def test_an_ignored_project_auto_does_not_shadow_the_files_own_deny() -> None:
    rules = rule_set(source(one("auto", path="a.txt"), one("deny", path="**"), kind="project"))
    assert word(rules, "file_write", ON_FILE) == "deny"


def test_in_one_file_the_first_matching_rule_speaks() -> None:
    first_auto = source(one("auto", path="a.txt"), one("deny", path="**"))
    first_deny = source(one("deny", path="**"), one("auto", path="a.txt"))
    assert word(rule_set(first_auto), "file_write", ON_FILE) == "auto"
    assert word(rule_set(first_auto), "file_write", path("b.txt", Effect.WRITE)) == "deny"
    assert word(rule_set(first_deny), "file_write", ON_FILE) == "deny"


def test_a_users_exception_keeps_its_own_deny_away_and_grants_by_rank() -> None:
    rules = rule_set(source(one("auto", path="a.txt"), one("deny", path="**"), kind="user"))
    assert word(rules, "file_write", ON_FILE) == "auto"
    assert word(rules, "file_write", path("b.txt", Effect.WRITE)) == "deny"


def test_policy_files_speak_in_order() -> None:
    auto, deny = (source(one(decide, path="a.txt"), path=f"{decide}.toml") for decide in ("auto", "deny"))
    assert word(rule_set(auto, deny), "file_write", ON_FILE) == "auto"
    assert word(rule_set(deny, auto), "file_write", ON_FILE) == "deny"


def test_of_two_flags_the_denying_one_speaks() -> None:
    rules = rule_set(allow=("file_write:path=**",), deny=("file_write:path=a.txt",))
    assert word(rules, "file_write", ON_FILE) == "deny"
    assert word(rules, "file_write", path("b.txt", Effect.WRITE)) == "auto"


def test_the_decision_names_the_rule_the_place_and_the_resource() -> None:
    text = source(
        '\n# a comment\ndecide = "deny"\npath = "docs/**"\nwhy = "frozen for the release"', path="rules/p.toml"
    )
    decision = rule_set(text).decide(
        "file_write", EFFECTS["file_write"], [path("a.txt", Effect.WRITE), path("docs/b.md", Effect.WRITE)]
    )
    assert decision.rule == RuleRef("policy", "rules/p.toml:2", "frozen for the release")
    assert decision.resource == path("docs/b.md", Effect.WRITE)


def test_of_equally_strict_words_the_one_that_always_holds_is_named() -> None:
    rules = rule_set(source(one("deny", path="a.txt"), kind="user"), deny=("file_write",))
    assert rules.decide("file_write", EFFECTS["file_write"], [ON_FILE]).rule.source == "user"


# -- defaults ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("resource", "due"),
    [
        (path("a.txt"), "auto"),
        (path("."), "auto"),
        (tree("."), "auto"),
        (path("/etc/hostname"), "deny"),
        (tree("/etc"), "deny"),
        (path("a.txt", Effect.WRITE), "ask"),
        (tree("docs", Effect.WRITE), "ask"),
        (path("/etc/hostname", Effect.WRITE), "deny"),
        (path("/tmp/x", Effect.STATE), "deny"),
        (Resource("state", "plan", Effect.STATE), "auto"),
        (Resource("artifact", "report.md", Effect.WRITE), "auto"),
        (Resource("artifact", "report.md", Effect.MESSAGE), "ask"),
        (command("ls"), "ask"),
        (url("https://example.org/"), "ask"),
        (Resource("topic", "news", Effect.MESSAGE), "ask"),
        (Resource("agent", "helper", Effect.AGENT), "ask"),
        (Resource("url", "https://example.org/", Effect.SPEND), "ask"),
        (Resource("url", "https://example.org/", Effect.READ), "deny"),
        (Resource("topic", "news", Effect.READ), "deny"),
        (Resource("state", "x", Effect.NONE), "auto"),
    ],
)
def test_defaults_go_by_effect_and_resource(resource: Resource, due: str) -> None:
    assert rule_set().decide("anything", frozenset({resource.effect}), [resource]).decide == due


def test_what_nobody_speaks_for_is_denied_and_says_so() -> None:
    decision = rule_set().decide("x", frozenset({Effect.READ}), [Resource("topic", "news", Effect.READ)])
    assert decision.rule == RuleRef("none", "", "no rule speaks for it")


@pytest.mark.parametrize("effect", [effect for effect in Effect if effect is not Effect.NONE])
def test_an_effect_without_a_resource_is_denied(effect: Effect) -> None:
    rules = rule_set(source('decide = "auto"'), allow=("question",))
    decision = rules.decide("question", frozenset({effect, Effect.NONE}), [])
    assert (decision.decide, decision.rule.source) == ("deny", "none")


def test_a_call_without_effect_and_resource_is_judged_by_rules_without_selector() -> None:
    assert word(rule_set(), "question") == "auto"
    assert word(rule_set(ticks=ticks(question="deny")), "question") == "deny"
    assert word(rule_set(source('tools = ["question"]\ndecide = "ask"')), "question") == "ask"
    assert word(rule_set(source(one("deny", name="*"))), "question") == "auto"


# -- ticks -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("tick", "tool", "resource", "due"),
    [
        ("auto", "file_write", path("a", Effect.WRITE), "auto"),
        ("auto", "file_write", path("/a", Effect.WRITE), "deny"),
        ("ask", "read_file", path("a"), "ask"),
        ("ask", "read_file", path("/a"), "deny"),
        ("deny", "read_file", path("a"), "deny"),
        ("deny", "read_file", path("/a"), "deny"),
        ("auto", "shell", command("a; b | c > d"), "auto"),
        ("auto", "shell", command("cat <<E\nit's\nE"), "auto"),
        ("ask", "shell", command("ls"), "ask"),
        ("ask", "update_plan", Resource("state", "plan", Effect.STATE), "ask"),
        ("ask", "write_artifact", Resource("artifact", "a.md", Effect.WRITE), "ask"),
        ("deny", "write_artifact", Resource("artifact", "a.md", Effect.WRITE), "deny"),
        ("auto", "fetch_url", url("https://example.org/"), "ask"),
        ("ask", "fetch_url", url("https://example.org/"), "ask"),
        ("deny", "fetch_url", url("https://example.org/"), "deny"),
        ("auto", "publish_message", Resource("topic", "news", Effect.MESSAGE), "auto"),
        ("auto", "task", Resource("agent", "helper", Effect.AGENT), "auto"),
    ],
)
def test_a_tick_as_rules(tick: str, tool: str, resource: Resource, due: str) -> None:
    assert word(rule_set(ticks=ticks(**{tool: tick})), tool, resource) == due


@pytest.mark.parametrize(
    ("address", "due"),
    [
        ("https://example.org/x", "auto"),
        ("http://example.org:8080/x", "auto"),
        ("https://www.example.org/", "auto"),
        ("https://a.b.example.org/", "auto"),
        ("https://evilexample.org/", "ask"),
        ("https://example.org.evil.com/", "ask"),
        ("https://example.com/?example.org", "ask"),
        ("https://example.org@evil.com/", "ask"),
        ("https://org/", "ask"),
    ],
)
def test_hosts_of_a_tick_cover_their_subdomains_and_others_ask(address: str, due: str) -> None:
    rules = rule_set(ticks=ticks(fetch_url=Tick("auto", ("Example.ORG",), "task.yaml:4")))
    assert word(rules, "fetch_url", url(address)) == due
    assert word(rules, "webfetch", url(address)) == "ask"


def test_a_tick_that_asks_asks_for_its_hosts_too() -> None:
    rules = rule_set(ticks=ticks(fetch_url=Tick("ask", ("example.org",))))
    assert word(rules, "fetch_url", url("https://example.org/")) == "ask"


def test_a_tick_is_named_by_its_line() -> None:
    rules = rule_set(ticks=ticks(fetch_url=Tick("auto", ("example.org",), "task.yaml:9")))
    said = [
        rules.decide("fetch_url", EFFECTS["fetch_url"], [url(f"https://{host}/")]) for host in ("example.org", "b.c")
    ]
    assert [each.rule.where for each in said] == ["task.yaml:9"] * 2
    assert [each.rule.why for each in said] == [
        "the task lets fetch_url reach example.org",
        "the task has fetch_url ask for a host that the task does not list",
    ]


def test_a_check_of_the_task_runs_as_it_is_written_and_no_other_way() -> None:
    rules = rule_set(expect=Expect(checks=("python -m json.tool out.json",), checks_where="task.yaml:7"))
    effects = frozenset({Effect.EXECUTE})

    def decided(tool: str, text: str) -> str:
        return rules.decide(tool, effects, [command(text)]).decide

    assert decided("check", "python -m json.tool out.json") == "auto"
    assert decided("check", "python -m json.tool  out.json") == "ask"
    assert decided("check", "python -m json.tool out.json; rm x") == "ask"
    assert decided("shell", "python -m json.tool out.json") == "ask"


def test_a_deny_holds_against_a_check_of_the_task() -> None:
    rules = rule_set(source(one("deny", command="rm *"), kind="user"), expect=Expect(checks=("rm -r build",)))
    assert rules.decide("check", frozenset({Effect.EXECUTE}), [command("rm -r build")]).decide == "deny"


# -- names and resources -----------------------------------------------------------------------


def test_every_resource_has_to_pass() -> None:
    rules = rule_set(source(one("auto", path="docs/**"), one("deny", path="frozen/**")))
    docs, other, frozen = (path(name, Effect.WRITE) for name in ("docs/a", "b", "frozen/c"))
    assert word(rules, "file_write", docs) == "auto"
    assert word(rules, "file_write", docs, other) == "ask"
    assert word(rules, "file_write", docs, other, frozen) == "deny"
    assert rules.asked("file_write", [docs, other, path("e", Effect.WRITE)]) == (other, path("e", Effect.WRITE))


@pytest.mark.parametrize(("spelled", "real"), [("link", "frozen/a"), ("frozen/a", "link")])
def test_a_deny_of_either_name_holds(spelled: str, real: str) -> None:
    rules = rule_set(source(one("deny", path="frozen/**")), ticks=ticks(read_file="auto"))
    assert word(rules, "read_file", path(spelled, real=real)) == "deny"


def test_an_auto_has_to_cover_both_names() -> None:
    rules = rule_set(source(one("auto", path="docs/**")))
    assert word(rules, "file_write", path("docs/a", Effect.WRITE, real="docs/b")) == "auto"
    assert word(rules, "file_write", path("docs/a", Effect.WRITE, real="src/b")) == "ask"
    assert word(rules, "file_write", path("src/b", Effect.WRITE, real="docs/a")) == "ask"


def test_an_absolute_rule_reaches_into_the_workspace_and_out_of_it() -> None:
    rules = rule_set(source(one("deny", path=f"{WORKSPACE}/docs/**"), one("auto", path="~/notes/**"), kind="user"))
    assert word(rules, "read_file", path("docs/a")) == "deny"
    assert word(rules, "read_file", path(f"{HOME}/notes/a")) == "auto"
    assert word(rules, "read_file", path(f"{HOME}/other")) == "deny"


def test_a_rule_about_the_tool_and_the_effect_speaks_for_nothing_else() -> None:
    rules = rule_set(source('tools = ["file_edit"]\neffect = "write"\npath = "**"\ndecide = "deny"'))
    assert word(rules, "file_edit", path("a", Effect.WRITE)) == "deny"
    assert word(rules, "file_edit", path("a", Effect.READ)) == "auto"
    assert word(rules, "file_write", path("a", Effect.WRITE)) == "ask"


def test_a_rule_of_another_mode_is_silent() -> None:
    text = source('mode = "plan"\neffect = ["write", "execute"]\ndecide = "deny"')
    assert word(rule_set(text), "file_write", ON_FILE) == "ask"
    assert word(rule_set(text, mode="plan"), "file_write", ON_FILE) == "deny"


@pytest.mark.parametrize(
    ("key", "pattern", "resource", "due"),
    [
        ("topic", "news.*", Resource("topic", "news.eu", Effect.MESSAGE), "auto"),
        ("topic", "news.*", Resource("topic", "old.news.eu", Effect.MESSAGE), "ask"),
        ("agent", "review?", Resource("agent", "review1", Effect.AGENT), "auto"),
        ("agent", "review?", Resource("agent", "review", Effect.AGENT), "ask"),
        ("name", "*.md", Resource("artifact", "a.md", Effect.MESSAGE), "auto"),
        ("name", "*.md", Resource("artifact", "a.mdx", Effect.MESSAGE), "ask"),
        ("url", "https://example.org/docs/**", url("https://example.org/docs"), "auto"),
        ("url", "https://example.org/docs/**", url("https://example.org/docs/a/b?c=/d"), "auto"),
        ("url", "https://example.org/docs/**", url("https://example.org/docs/../private"), "ask"),
        ("url", "https://example.org/docs/**", url("https://example.org/docs/%2E%2e/private"), "ask"),
        ("url", "https://example.org/docs/**", url("http://example.org/docs/a"), "ask"),
        ("url", "https://example.org/a", url("https://EXAMPLE.org:443/%61"), "auto"),
        ("url", "https://example.org/a", url("https://example.org/a?b"), "ask"),
        ("path", "*.txt", path("a.txt", Effect.WRITE), "auto"),
        ("path", "*.txt", path("docs/a.txt", Effect.WRITE), "ask"),
        ("path", "docs/**", tree("docs", Effect.WRITE), "auto"),
        ("path", "docs", tree("docs/a", Effect.WRITE), "ask"),
    ],
)
def test_selectors(key: str, pattern: str, resource: Resource, due: str) -> None:
    rules = rule_set(source(one("auto", **{key: pattern})))
    assert rules.decide("x", frozenset({resource.effect}), [resource]).decide == due


# -- the floor ---------------------------------------------------------------------------------

CREDENTIALS = [".env", "deploy/.env.production", "tls/server.pem", "a/server.KEY", "id_rsa", ".npmrc", ".pypirc"]
CREDENTIALS += [".netrc", ".git-credentials", ".ssh/config", ".ssh", "x/.aws/credentials", ".gnupg/a/b", "server.pem. "]


@pytest.mark.parametrize("name", [*CREDENTIALS, f"{HOME}/.ssh/known_hosts", "/home/other/.aws"])
@pytest.mark.parametrize("effect", [Effect.READ, Effect.WRITE])
def test_credentials_are_denied_whatever_is_allowed(name: str, effect: Effect) -> None:
    open_rule = 'decide = "auto"\npath = "/**"'
    rules = rule_set(
        source(open_rule), source(open_rule, kind="user"), allow=("read_file",), ticks=ticks(read_file="auto")
    )
    decision = rules.decide("read_file", frozenset({effect}), [path(name, effect)])
    assert (decision.decide, decision.rule.source) == ("deny", "floor")


parts = st.sampled_from(
    [".env", ".ssh", "gcloud", "a", "credentials", ".ENV.local ", "id_rsa", "id_rsa.pub", "x.pem", "x.p12.", "b.md"]
)


@given(st.lists(parts, min_size=1, max_size=3).map("/".join))
def test_whatever_a_workspace_tool_takes_for_credentials_is_on_the_floor(name: str) -> None:
    if looks_like_credentials(name):
        assert word(rule_set(), "read_file", path(name)) == "deny"
    elif not {".ssh", "gcloud"} & set(name.split("/")):
        assert word(rule_set(), "read_file", path(name)) == "auto"


@pytest.mark.parametrize("name", ["env", "a.env.md", "pem", "keys.md", "id_rsa.pub", "ssh/config", ".sshd", "aws/x"])
def test_names_that_only_look_alike_are_open(name: str) -> None:
    assert word(rule_set(), "read_file", path(name)) == "auto"


@pytest.mark.parametrize(("spelled", "real"), [("notes.txt", ".env"), (".env", "notes.txt")])
def test_the_floor_holds_for_either_name(spelled: str, real: str) -> None:
    assert word(rule_set(ticks=ticks(read_file="auto")), "read_file", path(spelled, real=real)) == "deny"


@pytest.mark.parametrize("kind", ["user", "policy"])
def test_the_floor_gives_way_to_a_rule_that_names_the_exact_path(kind: str) -> None:
    rules = rule_set(source('tools = ["read_file"]\npath = "tls/ca.pem"\ndecide = "auto"', kind=kind))
    assert word(rules, "read_file", path("tls/ca.pem")) == "auto"
    assert word(rules, "list_files", path("tls/ca.pem")) == "deny"
    assert word(rules, "read_file", path("tls/other.pem")) == "deny"
    assert word(rules, "read_file", path("tls/ca.pem", real="tls/real.pem")) == "deny"


@pytest.mark.parametrize(
    "settings",
    [
        {"allow": ("read_file:path=.env",)},
        {"ticks": ticks(read_file="auto")},
        {"policies": [source(one("auto", path=".en[v]"))]},
        {"policies": [source(one("auto", path="**/.env"))]},
        {"policies": [source(one("auto", path=".env"), kind="project")]},
        {"policies": [source(one("deny", path="**"), one("auto", path=".env"))]},
    ],
)
def test_the_floor_gives_way_to_nothing_else(settings: dict[str, object]) -> None:
    policies = settings.pop("policies", [])
    assert isinstance(policies, list)
    assert word(rule_set(*policies, **settings), "read_file", path(".env")) == "deny"


def test_an_ask_of_the_exact_path_opens_the_floor_to_an_ask() -> None:
    assert word(rule_set(source(one("ask", path=".env"), kind="user")), "read_file", path(".env")) == "ask"
    assert word(rule_set(source(one("ask", path=".env"))), "read_file", path(".env")) == "ask"


@pytest.mark.parametrize(
    "name", [f"{HOME}/.config/remit/policy.toml", f"{HOME}/.local/state/remit/runs", "/var/own/x", "/var/own"]
)
def test_remits_own_files_are_closed(name: str) -> None:
    rules = rule_set(source(one("auto", path="/**")), own=("/var/own",))
    assert word(rules, "read_file", path(name)) == "deny"
    assert word(rules, "read_file", path("/var/owned")) == "auto"


def test_files_that_rule_the_run_are_read_and_not_written() -> None:
    spec = RunSpec(
        prompt="",
        workspace=WORKSPACE,
        task=f"{WORKSPACE}/task.yaml",
        policies=(source(one("auto", path="**"), path=f"{WORKSPACE}/a[1]{{x}}.toml"),),
        approvals=Source(f"{WORKSPACE}/approvals.toml", ""),
    )
    rules = load_policy(spec, EFFECTS, home=HOME)
    for name in ("task.yaml", "a[1]{x}.toml", "approvals.toml", ".remit/policy.toml"):
        assert word(rules, "file_read", path(name)) == "auto"
        assert word(rules, "file_write", path(name, Effect.WRITE)) == "deny"
    assert word(rules, "file_write", path("a1x.toml", Effect.WRITE)) == "auto"


# -- entries of a tree -------------------------------------------------------------------------


def test_entries_of_a_tree_are_filtered_by_the_rules() -> None:
    rules = rule_set(source(one("deny", path="secret/**"), one("ask", path="drafts/*")), ticks=ticks(list_files="auto"))

    def shown(name: str, real: str = "") -> bool:
        return rules.entry_allowed("list_files", Effect.READ, path(name, real=real))

    assert word(rules, "list_files", tree(".")) == "auto"
    names = ["a.txt", "secret", "secret/a", "drafts", "drafts/a", ".env", "x/.ssh", "docs/a"]
    assert [name for name in names if shown(name)] == ["a.txt", "drafts", "docs/a"]
    assert not shown("docs/link", real="secret/a")


def test_the_effect_of_the_call_is_what_entries_are_judged_by() -> None:
    rules = rule_set()
    assert rules.entry_allowed("x", Effect.READ, path("a", Effect.WRITE))
    assert not rules.entry_allowed("x", Effect.WRITE, path("a", Effect.READ))


def test_an_answered_ask_covers_the_entries_that_the_same_rule_asks_for() -> None:
    rules = rule_set(source(one("ask", path="docs/**"), one("ask", path="drafts/**"), one("deny", path="no/**")))
    asked = rules.decide("list_files", EFFECTS["list_files"], [tree("docs")])
    assert asked.decide == "ask"
    assert not rules.entry_allowed("list_files", Effect.READ, path("docs/a"))
    assert rules.entry_allowed("list_files", Effect.READ, path("docs/a"), asked.rule)
    assert not rules.entry_allowed("list_files", Effect.READ, path("drafts/a"), asked.rule)
    assert not rules.entry_allowed("list_files", Effect.READ, path("no/a"), asked.rule)
    assert not rules.entry_allowed("list_files", Effect.READ, path("docs/.env"), asked.rule)


# -- never -------------------------------------------------------------------------------------


def nobody(tool: str) -> bool:
    return False


@pytest.mark.parametrize(
    ("settings", "tool", "due"),
    [
        ({}, "read_file", None),
        ({"ticks": ticks(read_file="auto")}, "read_file", None),
        ({"ticks": ticks(read_file="deny")}, "read_file", "task"),
        ({"deny": ("read_file",)}, "read_file", "flag"),
        ({"deny": ("read_file:path=**",)}, "read_file", None),
        ({"allow": ("read_file",), "ticks": ticks(read_file="deny")}, "read_file", None),
        ({"ticks": ticks(question="deny")}, "question", "task"),
        ({"ticks": ticks(question="auto")}, "question", None),
        ({"policies": (source('effect = "read"\ndecide = "deny"', kind="project"),)}, "read_file", "project"),
        ({"policies": (source('effect = "read"\ndecide = "deny"', kind="project"),)}, "file_edit", None),
        ({"policies": (source('effect = ["read", "write"]\ndecide = "deny"', kind="user"),)}, "file_edit", "user"),
        ({"policies": (source(one("auto", path="a"), 'decide = "deny"', kind="user"),)}, "read_file", None),
        ({"policies": (source('decide = "auto"', 'decide = "deny"', kind="project"),)}, "read_file", "project"),
        ({"ticks": ticks(shell="ask")}, "shell", None),
    ],
)
def test_never_allows_names_the_rule_that_refuses_every_call(
    settings: dict[str, object], tool: str, due: str | None
) -> None:
    policies = settings.get("policies", ())
    assert isinstance(policies, tuple)
    rules = rule_set(*policies, **{key: value for key, value in settings.items() if key != "policies"})
    ref = rules.never_allows(tool, EFFECTS[tool])
    assert (ref.source if ref else None) == due


@pytest.mark.parametrize(
    ("tick", "tool", "due"),
    [
        (Tick("ask"), "shell", "task"),
        (Tick("auto"), "shell", None),
        (Tick("ask"), "read_file", "task"),
        (Tick("ask"), "question", "task"),
        (Tick("auto"), "fetch_url", None),
        (Tick("ask", ("example.org",)), "fetch_url", "task"),
        (Tick("auto", ("example.org",)), "fetch_url", None),
    ],
)
def test_an_ask_that_nobody_can_answer_never_allows(tick: Tick, tool: str, due: str | None) -> None:
    rules = rule_set(ticks=ticks(**{tool: tick}))
    ref = rules.never_allows(tool, EFFECTS[tool], nobody)
    assert (ref.source if ref else None) == due
    assert rules.never_allows(tool, EFFECTS[tool], lambda name: name == tool) is None


# -- breaking, and staying the same ------------------------------------------------------------


class _Breaks:
    literal = False

    def matches(self, subject: Subject, *, grants: bool) -> bool:
        raise RuntimeError("out of order")

    def covers(self, kind: str, inside: bool) -> Coverage:
        return "some"


@pytest.mark.parametrize("decide", ["auto", "ask", "deny"])
@pytest.mark.parametrize("name", ["user", "policy", "task"])
def test_a_rule_that_breaks_denies_and_is_never_skipped(decide: str, name: str) -> None:
    broken = Rule(decide, RuleRef(name, "p.toml:3", "because"), selector=_Breaks())
    open_rule = Rule("auto", RuleRef("default", "", ""))
    rules = RuleSet([Layer(name, (broken, open_rule)), Layer("default", (open_rule,))], PLACE)
    decision = rules.decide("x", frozenset({Effect.READ}), [path("a")])
    assert decision.decide == "deny"
    assert decision.rule.where == "p.toml:3"
    assert decision.rule.why == "the rule cannot be held against it (RuntimeError: out of order): because"


@pytest.mark.parametrize(
    "text", ["", "example.org", "https://", "https://ex ample.org/", "https://a\\@example.org/", "x:y"]
)
def test_a_url_that_cannot_be_understood_is_denied_once_a_rule_looks_at_it(text: str) -> None:
    rules = rule_set(ticks=ticks(fetch_url=Tick("auto", ("example.org",))))
    decision = rules.decide("fetch_url", EFFECTS["fetch_url"], [url(text)])
    assert decision.decide == "deny"
    assert decision.rule.why.startswith("the rule cannot be held against it (ValueError: ")


def test_three_hundred_calls_are_decided_alike() -> None:
    rules = rule_set(
        source(one("ask", host="example.org"), kind="user"), ticks=ticks(fetch_url=Tick("auto", ("example.org",)))
    )
    first = rules.decide("fetch_url", EFFECTS["fetch_url"], [url("https://a.example.org/")])
    assert first.decide == "ask"
    for _ in range(300):
        assert rules.decide("fetch_url", EFFECTS["fetch_url"], [url("https://a.example.org/")]) == first


def test_a_trace_tells_all_words_and_which_gave_way() -> None:
    rules = rule_set(
        source(one("auto", path=".env"), kind="user"), allow=("read_file:path=**",), ticks=ticks(read_file="ask")
    )
    words = rules.trace("read_file", [path(".env")])
    assert [(each.source, each.decide, each.counts) for each in words] == [
        ("floor", "deny", False),
        ("user", "auto", True),
        ("flag", "auto", True),
        ("task", "ask", True),
        ("default", "auto", True),
    ]
    assert {each.part for each in words} == {".env"}


# -- laws --------------------------------------------------------------------------------------

STRICT = {"auto": 0, "ask": 1, "deny": 2}
TOOLS = ["file_write", "read_file", "shell", "fetch_url"]
RESOURCES = [path(name, effect) for name in ("a", "docs/b", "/etc/x", ".env") for effect in (Effect.READ, Effect.WRITE)]
RESOURCES += [path("a", real="docs/b"), tree("docs"), url("https://example.org/"), url("https://a.example.com/x")]
RESOURCES += [command(text) for text in ("git log", "git log; rm x", "env rm x", "$X", "'", "rm 'a'")]

selections = st.sampled_from(
    [
        "",
        'path = "**"',
        'path = "a"',
        'path = "docs/**"',
        'path = "/**"',
        'path = ".env"',
        'host = "example.org"',
        'url = "https://a.example.com/**"',
        'command = "git *"',
        'command = "rm *"',
        'effect = "write"',
    ]
)


def fits(tool: str, key: str) -> bool:
    """Whether a rule on this tool with that selection loads."""
    if key == "effect":
        return Effect.WRITE in EFFECTS[tool]
    return never_speaks(key, [tool], None, EFFECTS) is None


@st.composite
def bodies(draw: st.DrawFn, decides: tuple[str, ...] = ("auto", "ask", "deny")) -> str:
    selection = draw(selections)
    lines = [f'decide = "{draw(st.sampled_from(decides))}"', selection]
    fitting = [tool for tool in TOOLS if fits(tool, selection.split(" ")[0])]
    tools = draw(st.lists(st.sampled_from(fitting), max_size=2, unique=True))
    lines += [f"tools = {msgspec.json.encode(tools).decode()}"] if tools else []
    return "\n".join(lines)


kinds = st.sampled_from(["user", "project", "policy"])
files = st.lists(st.tuples(kinds, st.lists(bodies(), max_size=3)), max_size=3)
tick_sets = st.dictionaries(st.sampled_from(TOOLS), st.sampled_from(["auto", "ask", "deny"]), max_size=3)
calls = st.tuples(st.sampled_from(TOOLS), st.lists(st.sampled_from(RESOURCES), min_size=1, max_size=3))


def built(given_files: list[tuple[str, list[str]]], given_ticks: dict[str, str]) -> RuleSet:
    sources = [source(*rules, kind=kind, path=f"{place}.toml") for place, (kind, rules) in enumerate(given_files)]
    return rule_set(*sources, ticks=ticks(**given_ticks))


def strictness(rules: RuleSet, call: tuple[str, list[Resource]]) -> int:
    return STRICT[rules.decide(call[0], EFFECTS[call[0]], call[1]).decide]


@given(files, tick_sets, calls, bodies(decides=("deny",)), st.integers(0, 2), st.integers(0, 3))
def test_adding_a_deny_never_loosens(
    given_files: list[tuple[str, list[str]]],
    given_ticks: dict[str, str],
    call: tuple[str, list[Resource]],
    deny: str,
    file: int,
    place: int,
) -> None:
    before = strictness(built(given_files, given_ticks), call)
    changed = [(kind, list(rules)) for kind, rules in given_files] or [("policy", [])]
    changed[file % len(changed)][1].insert(place, deny)
    assert strictness(built(changed, given_ticks), call) >= before


@given(files, tick_sets, calls, st.lists(bodies(), max_size=3))
def test_a_project_file_never_loosens(
    given_files: list[tuple[str, list[str]]],
    given_ticks: dict[str, str],
    call: tuple[str, list[Resource]],
    rules: list[str],
) -> None:
    before = strictness(built(given_files, given_ticks), call)
    assert strictness(built([*given_files, ("project", rules)], given_ticks), call) >= before


@given(files, tick_sets, calls)
def test_more_resources_never_loosen(
    given_files: list[tuple[str, list[str]]], given_ticks: dict[str, str], call: tuple[str, list[Resource]]
) -> None:
    rules = built(given_files, given_ticks)
    assert strictness(rules, call) == max(strictness(rules, (call[0], [each])) for each in call[1])


@given(files, tick_sets, calls)
def test_never_allows_is_never_wrong(
    given_files: list[tuple[str, list[str]]], given_ticks: dict[str, str], call: tuple[str, list[Resource]]
) -> None:
    rules = built(given_files, given_ticks)
    tool, resources = call[0], [each for each in call[1] if each.effect in EFFECTS[call[0]]]
    # Its every call names the command: where that may connect to makes no call of its own.
    runs = Effect.EXECUTE in EFFECTS[tool]
    if not resources or (runs and all(each.effect != Effect.EXECUTE for each in resources)):
        return
    decision = rules.decide(tool, EFFECTS[tool], resources)
    if rules.never_allows(tool, EFFECTS[tool]) is not None:
        assert decision.decide == "deny"
    if rules.never_allows(tool, EFFECTS[tool], nobody) is not None:
        assert decision.decide != "auto"


# -- the tool that no rule is asked about ------------------------------------------------------------


def test_what_calls_of_the_run_brought_is_shown_whatever_the_rules_say() -> None:
    everything = one("deny", effect="state")
    rules = rule_set(source(everything, kind="user"), source(everything))
    kept = Resource("state", "outputs", Effect.STATE)
    effects = frozenset({Effect.STATE})
    decision = rules.decide("tool_output", effects, [kept])
    assert (decision.decide, decision.rule.source) == ("auto", "floor")
    assert rules.never_allows("tool_output", effects, lambda tool: False) is None
    assert rules.decide("todo_write", effects, [kept]).decide == "deny"


def test_it_is_excepted_for_nothing_else() -> None:
    rules = rule_set(source(one("deny", path="a.txt")))
    read = path("a.txt", Effect.READ)
    kept = Resource("state", "outputs", Effect.STATE)
    assert rules.decide("tool_output", frozenset({Effect.STATE}), [kept, read]).decide == "deny"
    assert rules.decide("tool_output", frozenset({Effect.STATE}), []).decide == "deny"
