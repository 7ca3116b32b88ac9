from __future__ import annotations

import hashlib
import json
from datetime import UTC, datetime, timedelta

import pytest
import tomli
from hypothesis import given
from hypothesis import strategies as st

from fakes.rules import EFFECTS, command, path, tree, url
from remit.base.errors import Faults
from remit.base.resources import Effect, Resource
from remit.base.spec import Source
from remit.policy.answers import Answers, Pending, arguments_digest, load_answers, paste, paste_entry, toml_string

NOON = datetime(2026, 6, 1, 12, tzinfo=UTC)
PAGE = "https://example.org/report"
NAMES = frozenset(EFFECTS)


class Counter:
    """Uses counted in memory."""

    def __init__(self) -> None:
        self.taken: dict[str, int] = {}

    def take(self, entry: str, limit: int) -> bool:
        if self.taken.get(entry, 0) >= limit:
            return False
        self.taken[entry] = self.taken.get(entry, 0) + 1
        return True


def answers(text: str, counter: Counter | None = None, now: datetime = NOON) -> Answers:
    return load_answers(Source("a.toml", text), NAMES, now=lambda: now, uses=counter or Counter())


def entry(*lines: str, tool: str = "fetch_url", decide: str = "allow") -> str:
    head = [f'tool = "{tool}"', f'decide = "{decide}"', 'why = "checked"']
    return "\n".join(["[[approval]]", *head, *lines, ""])


def file(*entries: str) -> str:
    return "version = 1\n" + "".join(entries)


def allowed(given_answers: Answers, tool: str, *resources: Resource, digest: str = "") -> bool | None:
    answer = given_answers.answer(tool, digest, resources)
    return answer.allow if answer else None


def test_an_entry_answers_for_its_tool_and_its_url_only() -> None:
    given_answers = answers(file(entry(f'url = "{PAGE}"')))
    answer = given_answers.answer("fetch_url", "", [url(PAGE)])
    assert answer is not None
    digest = hashlib.sha256(file(entry(f'url = "{PAGE}"')).encode()).hexdigest()
    assert (answer.allow, answer.where, answer.why, answer.entry) == (True, "a.toml:2", "checked", f"{digest}:0")
    assert allowed(given_answers, "webfetch", url(PAGE)) is None
    assert allowed(given_answers, "fetch_url", url(PAGE + "?x")) is None
    assert allowed(given_answers, "fetch_url", url("https://EXAMPLE.org:443/%72eport")) is True
    assert allowed(given_answers, "fetch_url", url("no url")) is None
    assert allowed(given_answers, "fetch_url") is None


@pytest.mark.parametrize(
    ("line", "tool", "resource", "due"),
    [
        ('path = "docs/a.md"', "file_write", path("docs/a.md", Effect.WRITE), True),
        ('path = "docs/a.md"', "file_write", path("docs/b.md", Effect.WRITE), None),
        ('path = "docs"', "file_write", path("docs/a.md", Effect.WRITE), None),
        ('path = "docs"', "list_files", tree("docs"), True),
        ('path = "."', "list_files", tree("."), True),
        ('path = "/etc/hosts"', "file_read", path("/etc/hosts"), True),
        ('path = "link"', "file_read", path("link", real="real"), None),
        ('path = "real"', "file_read", path("link", real="real"), True),
        ('command = "git push"', "shell", command("git push"), True),
        ('command = "git push"', "shell", command("git  push"), None),
        ('command = "git push"', "shell", command("git push -f"), None),
        (f'digest = "{arguments_digest("{}")}"', "task", Resource("agent", "x", Effect.AGENT), True),
        (f'digest = "{arguments_digest("[]")}"', "task", Resource("agent", "x", Effect.AGENT), None),
        ('path = "x"', "task", Resource("agent", "x", Effect.AGENT), None),
    ],
)
def test_what_an_entry_covers(line: str, tool: str, resource: Resource, due: bool | None) -> None:
    assert allowed(answers(file(entry(line, tool=tool))), tool, resource, digest=arguments_digest("{}")) is due


def test_an_entry_for_a_command_is_about_the_workspace_itself() -> None:
    elsewhere = Resource("command", "make", Effect.EXECUTE, cwd="sub")
    assert allowed(answers(file(entry('command = "make"', tool="shell"))), "shell", elsewhere) is None
    denying = answers(file(entry('command = "make"', tool="shell", decide="deny")))
    assert allowed(denying, "shell", elsewhere) is False
    arguments = '{"command": "make", "workdir": "sub"}'
    pasted = paste_entry(Pending("shell", arguments, (elsewhere,)))
    assert "# command make in sub\n" in pasted
    given_answers = answers(file(pasted))
    assert allowed(given_answers, "shell", elsewhere, digest=arguments_digest(arguments)) is True
    assert allowed(given_answers, "shell", elsewhere, digest=arguments_digest('{"command": "make"}')) is None


def test_every_asking_resource_has_to_be_covered() -> None:
    one, two = path("a", Effect.WRITE), path("b", Effect.WRITE)
    first, second = entry('path = "a"', tool="file_write"), entry('path = "b"', tool="file_write")
    assert allowed(answers(file(first)), "file_write", one, two) is None
    both = answers(file(first, second)).answer("file_write", "", [one, two])
    assert both is not None
    assert (both.allow, both.where, both.why) == (True, "a.toml:2, a.toml:7", "checked")
    digest = answers(file(first, entry(f'digest = "{arguments_digest("{}")}"', tool="file_write")))
    answer = digest.answer("file_write", arguments_digest("{}"), [one, two])
    assert answer is not None
    assert answer.where == "a.toml:7"


def test_a_denying_entry_for_any_resource_denies() -> None:
    text = file(
        entry('path = "a"', tool="file_write"),
        entry(
            'path = "b"',
            tool="file_write",
            decide="deny",
        ),
    )
    one, two = path("a", Effect.WRITE), path("b", Effect.WRITE)
    assert allowed(answers(text), "file_write", one, two) is False
    assert allowed(answers(text), "file_write", two) is False
    assert allowed(answers(text), "file_write", one) is True


ARGUMENTS = '{"paths": ["a", "b"]}'
BY_DIGEST = f'digest = "{arguments_digest(ARGUMENTS)}"'


@pytest.mark.parametrize(
    ("allowing", "denying"),
    [
        (('path = "a"', 'path = "b"'), 'path = "a"'),
        (('path = "a"', 'path = "b"'), 'path = "b"'),
        (('path = "a"', 'path = "b"'), BY_DIGEST),
        ((BY_DIGEST,), 'path = "b"'),
        ((BY_DIGEST,), BY_DIGEST),
    ],
)
def test_a_denying_entry_goes_first_wherever_it_stands(allowing: tuple[str, ...], denying: str) -> None:
    allows = [entry(each, tool="file_write") for each in allowing]
    denies = entry(denying, tool="file_write", decide="deny")
    resources = (path("a", Effect.WRITE), path("b", Effect.WRITE))
    digest = arguments_digest(ARGUMENTS)
    assert allowed(answers(file(*allows)), "file_write", *resources, digest=digest) is True
    for place in range(len(allows) + 1):
        counter = Counter()
        text = file(*allows[:place], denies, *allows[place:])
        assert allowed(answers(text, counter), "file_write", *resources, digest=digest) is False
        assert counter.taken == {}


def test_a_denying_entry_goes_first_for_a_call_that_touches_nothing() -> None:
    lines = [entry(BY_DIGEST, tool="question"), entry(BY_DIGEST, tool="question", decide="deny")]
    for text in (file(*lines), file(*reversed(lines))):
        assert allowed(answers(text), "question", digest=arguments_digest(ARGUMENTS)) is False


def test_an_expired_denying_entry_denies_nothing() -> None:
    text = file(entry(f'url = "{PAGE}"', "expires = 2026-01-01T00:00:00Z", decide="deny"), entry(f'url = "{PAGE}"'))
    assert allowed(answers(text), "fetch_url", url(PAGE)) is True


def test_a_denied_path_is_denied_by_either_of_its_names() -> None:
    link = path("link", real="real")
    for name, due in (("link", False), ("real", False), ("other", None)):
        assert (
            allowed(answers(file(entry(f'path = "{name}"', tool="read_file", decide="deny"))), "read_file", link) is due
        )
    assert allowed(answers(file(entry('path = "link"', tool="read_file"))), "read_file", link) is None


def test_uses_are_counted_when_it_allows_and_then_it_is_spent() -> None:
    text = file(entry(f'url = "{PAGE}"', "uses = 2"))
    counter = Counter()
    given_answers = answers(text, counter)
    assert allowed(given_answers, "fetch_url", url("https://other.example/")) is None
    assert counter.taken == {}
    assert [allowed(given_answers, "fetch_url", url(PAGE)) for _ in range(3)] == [True, True, None]
    assert list(counter.taken.values()) == [2]
    assert given_answers.why_not("fetch_url", [url(PAGE)]) == "a.toml:2 would answer it, but its 2 use(s) are spent"
    assert not given_answers.answerable("fetch_url")
    again = answers(text, counter)
    assert allowed(again, "fetch_url", url(PAGE)) is None
    changed = answers(text + "# another file\n", counter)
    assert allowed(changed, "fetch_url", url(PAGE)) is True


def test_a_spent_entry_leaves_the_word_to_the_next() -> None:
    text = file(entry(f'url = "{PAGE}"', "uses = 1"), entry(f'url = "{PAGE}"', "uses = 1"))
    given_answers = answers(text)
    seen = [given_answers.answer("fetch_url", "", [url(PAGE)]) for _ in range(3)]
    assert [each and each.where for each in seen] == ["a.toml:2", "a.toml:8", None]


def test_an_entry_without_uses_is_never_counted() -> None:
    counter = Counter()
    given_answers = answers(file(entry(f'url = "{PAGE}"')), counter)
    assert all(allowed(given_answers, "fetch_url", url(PAGE)) for _ in range(10))
    assert counter.taken == {}


@pytest.mark.parametrize(
    ("late", "due"), [(timedelta(seconds=-1), True), (timedelta(0), None), (timedelta(seconds=1), None)]
)
def test_an_entry_answers_until_the_moment_it_expires(late: timedelta, due: bool | None) -> None:
    text = file(entry(f'url = "{PAGE}"', "expires = 2026-06-01T14:00:00+02:00"))
    given_answers = answers(text, now=NOON + late)
    assert allowed(given_answers, "fetch_url", url(PAGE)) is due
    assert given_answers.answerable("fetch_url") is (due is True)
    if due is None:
        seen = given_answers.why_not("fetch_url", [url(PAGE)])
        assert seen == "a.toml:2 would answer it, but expired at 2026-06-01T12:00:00+00:00"


@pytest.mark.parametrize(
    ("expires", "expired"), [("0001-01-01T00:00:00+12:00", True), ("9999-12-31T23:59:59-12:00", False)]
)
def test_an_entry_may_expire_at_a_moment_that_utc_has_no_name_for(expires: str, expired: bool) -> None:
    given_answers = answers(file(entry(f'url = "{PAGE}"', f"expires = {expires}")))
    assert allowed(given_answers, "fetch_url", url(PAGE)) is (None if expired else True)
    if expired:
        assert given_answers.why_not("fetch_url", [url(PAGE)]) == f"a.toml:2 would answer it, but expired at {expires}"


def test_entries_that_lapsed_are_named() -> None:
    spent = entry(f'url = "{PAGE}"', "uses = 1")
    expired = entry('url = "https://b.example/"', "expires = 2026-01-01T00:00:00Z")
    denying = entry('url = "https://c.example/"', "expires = 2026-01-01T00:00:00Z", decide="deny")
    given_answers = answers(file(spent, expired, denying))
    at_first = "a.toml:8 would answer it, but expired at 2026-01-01T00:00:00+00:00"
    assert given_answers.lapsed("fetch_url") == at_first
    assert [allowed(given_answers, "fetch_url", url(PAGE)) for _ in range(2)] == [True, None]
    assert given_answers.lapsed("fetch_url") == f"a.toml:2 would answer it, but its 1 use(s) are spent; {at_first}"
    assert given_answers.lapsed("shell") == ""


def test_why_not_says_what_is_missing() -> None:
    given_answers = answers(file(entry('path = "a"', tool="file_write")))
    resources = [path("a", Effect.WRITE), path("b", Effect.WRITE)]
    assert allowed(given_answers, "file_write", *resources) is None
    assert given_answers.why_not("file_write", resources) == "a.toml:2 answers for a part of it only"
    assert given_answers.why_not("file_write", resources[1:]) == "a.toml has no approval for it"
    assert given_answers.why_not("shell", [command("ls")]) == "a.toml has no approval for it"
    of_nothing = answers(file(entry(f'digest = "{arguments_digest("{}")}"', "expires = 2026-01-01T00:00:00Z")))
    assert of_nothing.answer("fetch_url", arguments_digest("{}"), []) is None
    assert "would answer it, but expired" in of_nothing.why_not("fetch_url", [])


def test_only_an_allowing_entry_makes_a_tool_answerable() -> None:
    given_answers = answers(file(entry(f'url = "{PAGE}"', decide="deny"), entry('command = "ls"', tool="shell")))
    assert [given_answers.answerable(tool) for tool in ("fetch_url", "shell", "task")] == [False, True, False]


@pytest.mark.parametrize(
    ("text", "due"),
    [
        (
            "[[approval]]\n" + 'tool = "shell"\ncommand = "a"\ndecide = "allow"\nwhy = "x"\n',
            "a.toml:1: `version` is missing",
        ),
        (file(entry()), "a.toml:2: `approval[0]` has none of them (name exactly one of url, path, command, digest)"),
        (
            file(entry('url = "https://a.b/"', 'command = "x"')),
            "a.toml:2: `approval[0]` has `url` and `command` (name exactly one of url, path, command, digest)",
        ),
        (
            file(entry('url = "a.b"')),
            "a.toml:6: `approval[0].url` cannot be used: a URL begins with a scheme such as https://",
        ),
        (
            file(entry('path = "~/a"')),
            "a.toml:6: `approval[0].path` cannot be used: `~` is not expanded here; write the path as the ask shows it",
        ),
        (
            file(entry('path = "a/../b"')),
            "a.toml:6: `approval[0].path` cannot be used: write the path as the ask shows it: with single slashes and"
            " without `.` and `..`",
        ),
        (
            file(entry('digest = "ABC"')),
            "a.toml:6: `approval[0].digest` cannot be used: a digest is 64 lower case hexadecimal digits",
        ),
        (
            file(entry('command = "x"', tool="sheel")),
            "a.toml:3: `approval[0].tool` names the unknown tool 'sheel' (did you mean `shell`?)",
        ),
        (
            file(entry('command = "x"', "uses = 0")),
            "a.toml:7: `approval[0].uses`: expected a whole number of at least 1, seen 0",
        ),
        (
            file(entry('command = "x"', "expires = 2026-12-31T00:00:00")),
            "a.toml:7: `approval[0].expires` has no time zone (write it as 2026-12-31T00:00:00Z)",
        ),
        (
            file(entry('command = "x"', decide="auto")),
            "a.toml:4: `approval[0].decide`: expected allow | deny, seen 'auto'",
        ),
        (
            file(entry('command = "x"', "use = 1")),
            "a.toml:7: unknown key `approval[0].use` (did you mean `uses`?)",
        ),
        (
            file('[[approval]]\ntool = "shell"\ncommand = "a"\ndecide = "allow"\n'),
            "a.toml:2: `approval[0].why` is missing",
        ),
        (
            file('[[approval]]\ntool = "shell"\ncommand = "a"\ndecide = "allow"\nwhy = " "\n'),
            "a.toml:6: `approval[0].why` is blank (say who answered, or why)",
        ),
        ("version = 1\n[[aproval]]\n", "a.toml:2: unknown key `aproval` (did you mean `approval`?)"),
        ("", "a.toml:1: the file is empty"),
    ],
)
def test_faults_of_an_approvals_file(text: str, due: str) -> None:
    with pytest.raises(Faults) as caught:
        answers(text)
    assert [str(fault) for fault in caught.value.faults] == [due]


@pytest.mark.parametrize(
    ("line", "seen"),
    [
        ("expires = 2030-01-01", "seen 2030-01-01"),
        ("expires = 12:30:00", "seen 12:30:00"),
        ("expires = true", "seen true"),
        ("uses = 2030-01-01T00:00:00Z", "seen 2030-01-01T00:00:00Z"),
        ("uses = false", "seen false"),
        ("uses = 'a'", "seen 'a'"),
    ],
)
def test_a_fault_shows_a_value_as_the_file_has_it(line: str, seen: str) -> None:
    with pytest.raises(Faults) as caught:
        answers(file(entry('command = "x"', line, tool="shell")))
    assert seen in str(caught.value)


@pytest.mark.parametrize("when", ["2026-12-31", "12:00:00", "'2026-12-31'"])
def test_an_expiry_is_a_moment(when: str) -> None:
    with pytest.raises(Faults) as caught:
        answers(file(entry('command = "x"', f"expires = {when}")))
    assert [fault.where for fault in caught.value.faults] == ["a.toml:7"]


def test_all_faults_are_told_at_once() -> None:
    with pytest.raises(Faults) as caught:
        answers("version = 3\n" + entry(tool="x") + entry('url = "z"', "uses = 'a'") + "[[answer]]\nchoose = []\n")
    assert len(caught.value.faults) == 7


# -- digests -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ('{"a": 1, "b": [1, 2]}', '{"b":[1,2],"a":1}', True),
        ('{"a": "\\u00e9"}', '{"a": "é"}', True),
        ("", "{}", True),
        ('{"a": 1}', '{"a": 1.0}', False),
        ('{"a": 1}', '{"a": "1"}', False),
        ('{"a": [1, 2]}', '{"a": [2, 1]}', False),
        ('{"a": "x"}', '{"a": "x "}', False),
        ("not json", "not json", True),
        ("not json", "not  json", False),
        ("\ud800", "\ud801", False),
        ("[" * 100_000, "[" * 100_001, False),
    ],
)
def test_the_digest_is_that_of_the_json(one: str, other: str, same: bool) -> None:
    assert (arguments_digest(one) == arguments_digest(other)) is same


def test_the_digest_is_a_sha256_of_canonical_json() -> None:
    assert arguments_digest('{"b": 1, "a": "é"}') == hashlib.sha256(b'{"a":"\\u00e9","b":1}').hexdigest()


# -- pasting -----------------------------------------------------------------------------------


def test_a_pasted_file_reads_well_and_answers_the_call() -> None:
    pending = Pending("fetch_url", f'{{"url": "{PAGE}"}}', (url(PAGE),), "task.yaml:4: every host asks")
    text = paste([pending])
    assert text == (
        '# Read each entry, change what you do not want, and say why. `decide = "deny"` refuses.\n'
        "version = 1\n"
        "\n"
        "# task.yaml:4: every host asks\n"
        "[[approval]]\n"
        'tool = "fetch_url"\n'
        f'url = "{PAGE}"\n'
        'decide = "allow"\n'
        'why = "approved by hand"\n'
        "uses = 1\n"
    )
    given_answers = answers(text)
    assert [allowed(given_answers, "fetch_url", url(PAGE)) for _ in range(2)] == [True, None]


def test_the_same_call_twice_is_one_entry_with_two_uses() -> None:
    pending = Pending("shell", '{"command": "ls"}', (command("ls"),))
    assert paste([pending, pending]).count("[[approval]]") == 1
    given_answers = answers(paste([pending, pending]))
    assert [allowed(given_answers, "shell", command("ls")) for _ in range(3)] == [True, True, None]


def test_a_call_with_several_resources_is_pasted_by_its_arguments() -> None:
    resources = (path("a", Effect.WRITE), path("b\n\x1b[2J", Effect.WRITE))
    arguments = json.dumps({"paths": ["a", "b"]})
    given_answers = answers(paste([Pending("file_write", arguments, resources)]))
    assert allowed(given_answers, "file_write", *resources, digest=arguments_digest(arguments)) is True
    assert allowed(given_answers, "file_write", *resources, digest=arguments_digest("{}")) is None


def test_a_path_behind_a_link_is_pasted_by_what_is_really_touched() -> None:
    resource = path("link", Effect.WRITE, real="real")
    text = paste_entry(Pending("file_write", "{}", (resource,)))
    assert 'path = "real"\n' in text
    assert text.startswith("[[approval]]\n")
    assert allowed(answers(file(text)), "file_write", resource) is True


kinds = st.sampled_from(["path", "tree", "url", "command", "state", "artifact", "topic", "agent"])
texts = st.one_of(
    st.text(max_size=60),
    st.text(st.sampled_from("\"'\\\n\r\t#[]= \x00\x7f\u2028\ufeff\ud800é./~ab"), max_size=20),
    st.text(max_size=20).map(lambda tail: f"https://example.org/{tail}"),
)
resources_of_any_kind = st.builds(
    Resource, kinds, texts, st.just(Effect.WRITE), st.one_of(st.just(""), texts), st.booleans()
)
pendings = st.builds(
    Pending,
    st.sampled_from(sorted(NAMES)),
    st.one_of(st.dictionaries(texts, texts, max_size=2).map(json.dumps), texts),
    st.lists(resources_of_any_kind, max_size=2).map(tuple),
    texts,
)


@given(st.lists(pendings, min_size=1, max_size=3))
def test_whatever_is_pasted_loads_and_answers_exactly_these_calls(calls: list[Pending]) -> None:
    text = paste(calls)
    assert tomli.loads(text)["version"] == 1
    given_answers = answers(text)
    for call in calls:
        digest = arguments_digest(call.arguments)
        assert allowed(given_answers, call.tool, *call.resources, digest=digest) is True
    assert not any(given_answers.answer(call.tool, arguments_digest(call.arguments), call.resources) for call in calls)


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_any_text_is_written_as_a_toml_string(text: str) -> None:
    written = toml_string(text)
    assert "\n" not in written
    assert tomli.loads(f"a = {written}\n")["a"] == text
