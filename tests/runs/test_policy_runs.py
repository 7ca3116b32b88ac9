"""The gate in whole runs: which rule decided, what is withheld, what waits, and what an approval is good for."""

from __future__ import annotations

import json
from typing import Any

import pytest

from fakes.cli import Home, Ran, ended, journal, lines, reads, settled

DONE = {"text": "Done."}


def call(tool: str, **arguments: Any) -> dict[str, Any]:
    return {"tool": tool, "arguments": arguments}


def read(*paths: str) -> dict[str, Any]:
    return {"calls": [call("read_file", path=path) for path in paths]}


def rule(decide: str, why: str, **selectors: Any) -> str:
    lines = [f"{key} = {json.dumps(value)}" for key, value in {**selectors, "decide": decide, "why": why}.items()]
    return "[[rule]]\n" + "\n".join(lines) + "\n"


def policy(*rules: str) -> str:
    return "version = 1\n" + "".join(rules)


def denials(ran: Ran) -> list[tuple[str, str, str]]:
    """(resource, source, rule) of what was refused, as stream and result have it alike."""
    told = [event for event in ran.events if event.get("subtype") == "permission_denied"]
    in_stream = [(each["resource"], each["source"], each["rule"]) for each in told]
    in_result = [(each["resource"], each["source"], each["rule"]) for each in ran.result["permission_denials"]]
    assert in_stream == in_result
    assert [each["tool_use_id"] for each in told] == [each["tool_use_id"] for each in ran.result["permission_denials"]]
    return in_stream


def test_who_outranks_whom(home: Home) -> None:
    """Floor, user, project, flags, policy, task: each denied call names the rule that decided, by file and line."""
    for name in (
        "floor.pem",
        "a-user.md",
        "a-project.md",
        "a-flag.md",
        "policy.md",
        "granted.md",
        "free.md",
        "asked.md",
    ):
        home.write(name, f"{name}\n")
    (home.path / "config" / "policy.toml").write_text(
        policy(rule("deny", "the user's", tools=["read_file"], path="a-user.md"))
    )
    home.write(
        ".remit/policy.toml",
        policy(
            rule("auto", "ignored: a project only tightens", tools=["read_file", "fetch_url"]),
            rule("deny", "the project's", tools=["read_file"], path="a-project.md"),
            rule("ask", "the project's", tools=["read_file"], path="asked.md"),
        ),
    )
    (home.work / "p.toml").write_text(
        policy(
            rule("auto", "everything", tools=["read_file"], path="*a*.md"),
            rule("deny", "the policy's", tools=["read_file"], path="policy.md"),
        )
    )
    names = ["floor.pem", "a-user.md", "a-project.md", "a-flag.md", "policy.md", "granted.md", "free.md", "asked.md"]
    script = home.script(read(*names), {"calls": [call("fetch_url", url="https://example.com/")]}, DONE)
    task = home.task(prompt="Go", tools={"read_file": "auto", "fetch_url": "ask"})
    flags = ["--deny", "read_file:path=a-flag.md", "--allow", "read_file:path=policy.md"]
    home.write(
        "a.toml",
        'version = 1\n[[approval]]\ntool = "fetch_url"\nurl = "https://other.example/"\ndecide = "allow"\nwhy = "x"\n',
    )
    ran = home.stream("-t", task, "-m", script, "-p", "p.toml", *flags, "-a", "a.toml", "-o", str(home.out))
    assert ran.result == ended(home.out, 0)
    refused = denials(ran)
    assert [(resource, source) for resource, source, _ in refused] == [
        ("", "floor"),
        ("a-user.md", "user"),
        ("a-project.md", "project"),
        ("a-flag.md", "flag"),
        ("asked.md", "project"),
        ("https://example.com/", "task"),
    ]
    built_in, *wheres = [where for _, _, where in refused]
    assert built_in == "built in"
    assert wheres[0] == f"{home.path}/config/policy.toml:2"
    assert wheres[1] == f"{home.work}/.remit/policy.toml:6"
    assert wheres[2] == "--deny 'read_file:path=a-flag.md'"
    assert wheres[3] == f"{home.work}/.remit/policy.toml:11"
    assert wheres[4].startswith(f"{task}:")
    assert {key for key, _, ok in settled(home.out) if ok} == {"t1.c5", "t1.c6", "t1.c7"}
    first = journal(home.out, "call_settled")[0]["outcome"]["error"]
    assert first["code"] == "file_refused"
    # decisions.jsonl is the audit: every call that was judged, allowed or not.
    decided = lines(home.out / "decisions.jsonl")
    assert [each["allowed"] for each in decided].count(False) == 6
    assert {each["rule"]["source"] for each in decided if each["allowed"]} == {"flag", "policy", "task"}


def test_trees_show_what_rules_leave(home: Home) -> None:
    home.write("open/a.md", "needle\n")
    home.write("secret/b.md", "needle\n")
    home.write("secret/deep/c.md", "needle\n")
    home.write("open/keys.pem", "needle\n")
    script = home.script(
        {
            "calls": [
                call("search_files", query="needle"),
                call("list_files", recursive=True),
                call("list_files", path="secret"),
                call("search_files", path="secret", query="needle"),
            ]
        },
        DONE,
    )
    flags = ["--deny", "search_files:path=secret/**", "--deny", "list_files:path=secret/**"]
    flags += ["--tools", "list_files,search_files"]
    ran = home.stream("Go", "-m", script, *flags, "-o", str(home.out))
    assert ran.result == ended(home.out, 0)
    search, listing, *within = (record["outcome"] for record in journal(home.out, "call_settled"))
    assert [match["file"] for match in search["data"]["matches"]] == ["open/a.md"]
    assert search["data"]["skipped"]["withheld"] >= 2
    shown = {entry["path"] for entry in listing["data"]["entries"]}
    assert {"open", "open/a.md"} <= shown and not any(path.startswith("secret/") for path in shown)
    assert "keys.pem" not in json.dumps(listing) and listing["data"]["withheld"] >= 2
    assert "withheld" in " ".join(listing["data"]["notes"])
    for outcome in within:
        assert not outcome["ok"] or "b.md" not in json.dumps(outcome)


def test_a_path_denied_to_every_tool_is_seen_by_none(home: Home) -> None:
    """The example of the help: what one tool may not read no other shows."""
    home.write("private/a.csv", "needle,b\n1,2\n")
    home.write("open.md", "needle\n")
    calls = [
        call("read_file", path="private/a.csv"),
        call("analyze_csv", path="private/a.csv"),
        call("search_files", query="needle"),
        call("list_files", recursive=True),
        call("list_files", path="private"),
    ]
    task = home.task(prompt="Go", tools={each["tool"]: "auto" for each in calls})
    flags = ["--deny", "*:path=private/**", "-o", str(home.out)]
    ran = home.stream("-t", task, "-m", home.script({"calls": calls}, DONE), *flags)
    assert ran.result == ended(home.out, 0)
    outcomes = [record["outcome"] for record in journal(home.out, "call_settled")]
    assert [outcome["ok"] for outcome in outcomes] == [False, False, True, True, False]
    assert [match["file"] for match in outcomes[2]["data"]["matches"]] == ["open.md"]
    assert not any(entry["path"].startswith("private/") for entry in outcomes[3]["data"]["entries"])
    assert {where for _, _, where in denials(ran)} == {"--deny '*:path=private/**'"}


def test_a_denying_answer_holds_behind_an_allowing_one(home: Home) -> None:
    home.write("a.md", "A\n")
    denying = ENTRY.replace("allow", "deny")
    answers = home.write("answers.toml", f"version = 1\n{ENTRY}{denying}")
    task = home.task(prompt="Go", tools={"read_file": "ask"})
    ran = home.stream("-t", task, "-m", home.script(read("a.md"), DONE), "-a", str(answers), "-o", str(home.out))
    assert denials(ran) == [("a.md", "approval", f"{answers}:7")]


def test_an_escaped_way_out_of_an_allowed_url_is_refused(home: Home) -> None:
    script = home.script({"calls": [call("fetch_url", url="https://example.org/docs/..%2fsecret")]}, DONE)
    task = home.task(prompt="Go", tools={"fetch_url": "ask"})
    flags = ["--allow", "fetch_url:url=https://example.org/docs/**", "-o", str(home.out)]
    ran = home.stream("-t", task, "-m", script, *flags)
    assert ran.result == ended(home.out, 0)
    assert [(resource, source) for resource, source, _ in denials(ran)] == [
        ("https://example.org/docs/..%2Fsecret", "task")
    ]


def test_an_ask_stops_and_goes_on_with_the_pasted_approvals(home: Home) -> None:
    """What stderr prints is a file; with it the run goes on, and nothing that finished is done again."""
    home.write("a.md", "A\n")
    odd = "odd #'name' \u00e9 [1].md"
    home.write(odd, "O\n")
    writes = {"calls": [call("write_artifact", name="first.md", content="1")]}
    waiting = {"calls": [call("write_artifact", name="second.md", content="2"), *read("a.md", "a.md", odd)["calls"]]}
    task = home.task(prompt="Go", tools={"write_artifact": "auto", "read_file": "ask"}, on_ask="stop")
    ran = home.stream("-t", task, "-m", home.script(writes, waiting, DONE), "-o", str(home.out))
    result = ended(home.out, 4)
    assert ran.result == result and result["resumable"]
    asked = [event for event in ran.events if event.get("subtype") == "permission_asked"]
    assert [event["resource"] for event in asked] == ["a.md", "a.md", odd]
    assert [each["resource"] for each in result["pending"]] == ["a.md", "a.md", odd]
    assert settled(home.out) == [("t1.c1", "write_artifact", True)]
    assert not (home.out / "artifacts" / "second.md").exists()

    # Nobody answered: it stops again, and asks the same.
    again = home.run("resume", str(home.out), "--output-format", "stream-json")
    assert again.code == 4 and len(again.result["pending"]) == 3

    printed = ran.stderr[ran.stderr.index("version = 1\n") :].split("\nnext: ")[0]
    answers = home.write("answers.toml", printed)
    done = home.run("resume", str(home.out), "-a", str(answers), "--output-format", "stream-json")
    assert done.result == ended(home.out, 0), done.stderr
    assert done.result["result"] == "Done." and done.result["pending"] == []
    assert settled(home.out) == [
        ("t1.c1", "write_artifact", True),
        ("t2.c1", "write_artifact", True),
        ("t2.c2", "read_file", True),
        ("t2.c3", "read_file", True),
        ("t2.c4", "read_file", True),
    ]
    # One prompt it was, however often it was taken up.
    assert json.loads((home.out / "run.json").read_text())["prompts"] == 1
    home.run("resume", str(home.out), "And more", "-m", home.script(DONE))
    assert json.loads((home.out / "run.json").read_text())["prompts"] == 2
    assert len(journal(home.out, "answered")) == 3
    assert len(journal(home.out, "artifact_written")) == 2


def test_an_answer_may_be_no(home: Home) -> None:
    home.write("a.md", "A\n")
    answers = home.write(
        "answers.toml",
        'version = 1\n[[approval]]\ntool = "read_file"\npath = "a.md"\ndecide = "deny"\nwhy = "private"\n',
    )
    task = home.task(prompt="Go", tools={"read_file": "ask"}, on_ask="stop")
    home.stream("-t", task, "-m", home.script(read("a.md"), DONE), "-o", str(home.out))
    ran = home.run("resume", str(home.out), "-a", str(answers), "--output-format", "stream-json")
    assert ran.result == ended(home.out, 0)
    assert denials(ran) == [("a.md", "approval", f"{answers}:2")]


ENTRY = '[[approval]]\ntool = "read_file"\npath = "a.md"\ndecide = "allow"\nwhy = "checked"\n'


def test_uses_are_counted_across_runs(home: Home) -> None:
    """Three uses: two in one run, one in the next, none after; an entry that changed is another one."""
    home.write("a.md", "A\n")
    answers = home.write("answers.toml", f"version = 1\n{ENTRY}uses = 3\n")
    task = home.task(prompt="Go", tools={"read_file": "ask"})
    script = home.script(read("a.md", "a.md"), DONE)

    def outcomes(number: int) -> list[bool]:
        out = home.path / f"out{number}"
        ran = home.stream("-t", task, "-m", script, "-a", str(answers), "-o", str(out))
        assert ran.result == ended(out, 0)
        used = [event for event in ran.events if event.get("subtype") == "approval_used"]
        assert [(event["approval"], event["why"]) for event in used] == [(f"{answers}:2", "checked")] * len(used)
        told = [event["message"] for event in ran.events if event.get("subtype") == "permission_denied"]
        assert all("its 3 use(s) are spent" in message for message in told)
        return [ok for _, _, ok in settled(out)]

    assert outcomes(1) == [True, True]
    assert outcomes(2) == [True, False]
    assert outcomes(3) == [False, False]
    answers.write_text(answers.read_text().replace("checked", "checked again"))
    assert [ok for _, _, ok in settled(home.path / "out3")] == [False, False]


def test_an_expired_approval_answers_nothing(home: Home) -> None:
    home.write("a.md", "A\n")
    home.write("b.md", "B\n")
    other = ENTRY.replace("a.md", "b.md")
    answers = home.write(
        "answers.toml",
        f"version = 1\n{ENTRY}expires = 2020-01-01T00:00:00Z\n{other}expires = 2999-12-31T00:00:00Z\n",
    )
    task = home.task(prompt="Go", tools={"read_file": "ask"})
    ran = home.stream(
        "-t", task, "-m", home.script(read("a.md", "b.md"), DONE), "-a", str(answers), "-o", str(home.out)
    )
    assert [ok for _, _, ok in settled(home.out)] == [False, True]
    [told] = [event for event in ran.events if event.get("subtype") == "permission_denied"]
    assert "expired at 2020-01-01T00:00:00+00:00" in told["message"]


@pytest.mark.parametrize(
    ("end", "why"),
    [
        ("expires = 2020-01-01T00:00:00Z", "would answer it, but expired at 2020-01-01T00:00:00+00:00"),
        ("uses = 1", "would answer it, but its 1 use(s) are spent"),
    ],
)
@pytest.mark.parametrize("on_ask", ["deny", "stop"])
def test_an_entry_that_lapsed_is_named_wherever_the_refusal_is(home: Home, end: str, why: str, on_ask: str) -> None:
    home.write("a.md", "A\n")
    answers = home.write("answers.toml", f"version = 1\n{ENTRY}{end}\n")
    task = home.task(prompt="Go", tools={"read_file": "ask"}, on_ask=on_ask)
    home.stream("-t", task, "-m", home.script(read("a.md"), DONE), "-a", str(answers), "-o", str(home.path / "first"))
    ran = home.stream("-t", task, "-m", home.script(read("a.md"), DONE), "-a", str(answers), "-o", str(home.out))
    due = f"{answers}:2 {why}"
    assert ran.result == ended(home.out, 4 if on_ask == "stop" else 0)
    [told] = [each for each in ran.events if each.get("subtype") in ("permission_denied", "permission_asked")]
    assert due in told["decision_reason"]
    assert due in ran.result["permission_denials"][0]["why"]
    assert any(due in line for line in ran.stderr.splitlines() if "refused" in line or "needs an approval" in line)
    [decided] = lines(home.out / "decisions.jsonl")
    assert due in decided["rule"]["why"]
    shown = home.run("runs", "show", str(home.out)).stdout.decode()
    assert any(due in line for line in shown.splitlines() if line.startswith("refused read_file"))
    if on_ask == "stop":
        assert ran.result["errors"] == [f"stopped: 1 call(s) wait for an approval (read_file); {due}"]
    elif "expires" in end:
        assert due in ran.events[0]["withheld_tools"]["read_file"]


@pytest.mark.parametrize("decide", ["auto", "ask", "deny"])
def test_decision_300_equals_decision_1(home: Home, decide: str) -> None:
    home.write("a.md", "A\n")
    (home.work / "p.toml").write_text(policy(rule(decide, "the rule", tools=["read_file"], path="a.md")))
    script = home.script(*reads("a.md", 100, at_once=3), DONE)
    flags = ["-p", "p.toml", "--tools", "read_file", "--max-turns", "200", "-o", str(home.out), "-q"]
    ran = home.stream("Go", "-m", script, *flags)
    assert ran.result == ended(home.out, 0)
    decided = lines(home.out / "decisions.jsonl")
    assert len(decided) == 300
    told = {(each["decide"], each["allowed"], each["rule"]["where"], each["rule"]["why"]) for each in decided}
    assert told == {(decide, decide == "auto", "p.toml:2", "the rule")}
    assert {ok for _, _, ok in settled(home.out)} == {decide == "auto"}


def test_a_tool_that_could_never_run_is_not_offered(home: Home) -> None:
    task = home.task(
        prompt="Go", tools={"read_file": "deny", "list_files": "auto", "fetch_url": "ask", "search_files": "auto"}
    )
    flags = ["-t", task, "--deny", "search_files"]
    script = home.script(read("a.md"), {"calls": [call("fetch_url", url="https://example.com/")]}, DONE)
    ran = home.stream(*flags, "-m", script, "-o", str(home.out))
    assert ran.result == ended(home.out, 0)
    init = ran.events[0]
    assert init["tools"] == ["list_files", "update_plan"]
    assert set(init["withheld_tools"]) == {"read_file", "fetch_url", "search_files"}
    errors = [record["outcome"]["error"] for record in journal(home.out, "call_settled")]
    assert [error["code"] for error in errors] == ["denied", "denied"]
    assert ran.result["counts"]["refusals"] == 2

    listed = {entry["name"]: entry for entry in json.loads(home.run("tools", *flags, "--json").stdout)}
    for name, why in init["withheld_tools"].items():
        assert listed[name]["state"] == "off" and listed[name]["reason"] == why
        assert why.startswith("every call would be refused: ")
    assert "--deny" in listed["search_files"]["reason"] and task in listed["read_file"]["reason"]
    assert listed["list_files"]["state"] == "on" and listed["analyze_csv"]["reason"] == "not ticked"
    shown = home.run("tools", *flags).stdout.decode()
    assert "off  fetch_url" in shown

    # A line of each, with one place and no name where there is none.
    refusing = [line.strip() for line in ran.stderr.splitlines() if line.strip().startswith("refused ")]
    assert refusing == [
        f"refused read_file: every call would be refused: the task ticks read_file as deny [task {task}:1]",
        f"refused fetch_url: every call would be refused: the task ticks fetch_url as ask [task {task}:1]",
    ]
    show = home.run("runs", "show", str(home.out)).stdout.decode()
    assert [line for line in show.splitlines() if line.startswith("refused ")] == refusing

    # Where an ask can be answered, it is offered.
    stopping = json.loads(home.run("tools", *flags, "--on-ask", "stop", "--json").stdout)
    assert {entry["name"]: entry["state"] for entry in stopping}["fetch_url"] == "on"


def test_an_ask_never_hangs(home: Home) -> None:
    """For every kind of resource that can be asked for, with nobody there: an answer at once, ten times the same."""
    home.write("a.md", "A\n")
    rules = [
        rule(
            "ask",
            "look",
            tools=["read_file", "list_files", "search_files", "analyze_csv", "write_artifact", "update_plan"],
        ),
    ]
    (home.work / "p.toml").write_text(policy(*rules))
    calls = [
        call("read_file", path="a.md"),
        call("list_files"),
        call("search_files", query="x"),
        call("analyze_csv", path="a.csv"),
        call("write_artifact", name="a.md", content="x"),
        call("fetch_url", url="https://example.com/"),
        call("update_plan", steps=[{"step": "x"}]),
    ]
    names = sorted({each["tool"] for each in calls})
    task = home.task(prompt="Go", tools={name: "ask" for name in names if name != "update_plan"})
    answers = home.write(
        "answers.toml",
        "version = 1\n"
        + "".join(
            f'[[approval]]\ntool = "{name}"\ndigest = "{"0" * 64}"\ndecide = "allow"\nwhy = "of another call"\n'
            for name in names
        ),
    )
    script = home.script({"calls": calls, "repeat": 10}, DONE)
    ran = home.stream("-t", task, "-m", script, "-p", "p.toml", "-a", str(answers), "-o", str(home.out), "-q")
    assert ran.result == ended(home.out, 0)
    errors = [record["outcome"]["error"]["code"] for record in journal(home.out, "call_settled")]
    assert errors == ["approval_required"] * 70
    assert ran.result["counts"]["refusals"] == 70 and len(denials(ran)) == 70


def test_a_refused_check_is_not_met(home: Home) -> None:
    """Checks pass the same gate: a rule that denies the command decides, and nothing runs."""
    home.write(".remit/policy.toml", policy(rule("deny", "no commands here", tools=["check"])))
    task = home.task(prompt="Go", expect={"checks": ["touch ran"]})
    ran = home.stream("-t", task, "-m", home.script(DONE), "-o", str(home.out))
    assert ran.result == ended(home.out, 3)
    assert "no commands here" in ran.result["unmet"][0]
    assert not (home.work / "ran").exists()
