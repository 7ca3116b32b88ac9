"""System prompt profiles of agents: their words, model, tools, and what rules say of them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from fakes.cli import Home, Ran, journal
from fakes.model_server import ModelServer, calls, text
from remit.engine.prompt import AGENT_RULES, CONVENTIONS, IDENTITY, PLAN_RULE, RULES, STYLE, TOOLS
from remit.tools.agents.task import MAX_PROFILES, MAX_PURPOSE

TICKS = "task=auto,file_read=auto,file_glob=auto,file_write=auto,todo_write=auto"
PROVIDERS = """version = 1
[own]
protocol = "openai"
base_url = "{url}"
api_key_env = "OWN_KEY"
purposes = {{fast = "small"}}
[[own.models]]
id = "small"
thinking = "effort"
[other]
protocol = "openai"
base_url = "{url}"
api_key_env = "OTHER_KEY"
"""


def profile(home: Home, name: str, content: str) -> None:
    place = home.path / "config" / "system-prompts"
    place.mkdir(exist_ok=True)
    (place / f"{name}.md").write_text(content)


def sent(
    home: Home, *flags: str, ticks: str = TICKS, settings: str = "", **arguments: Any
) -> tuple[Ran, list[dict[str, Any]]]:
    """A run that sends one agent with these arguments, and the bodies of its requests: the second is the agent's."""
    order = json.dumps({"description": "look", "prompt": "Look.", **arguments})
    with ModelServer([calls(("c1", "task", order)), text("Looked."), text("Done.")]) as server:
        (home.path / "config" / "providers.toml").write_text(PROVIDERS.format(url=server.url))
        (home.path / "config" / "remit.toml").write_text(settings)
        environ = {"OWN_KEY": "sk-0123456789abcdef"}
        ran = home.stream("Go", "-m", "own/m", "--tools", ticks, "-o", str(home.out), *flags, environ=environ)
    return ran, [request.body for request in server.requests]


def agents(home: Home, *flags: str, **more: Any) -> dict[str, Any]:
    """The body of the agent's request."""
    ran, bodies = sent(home, *flags, **more)
    assert ran.code == 0, ran.stderr
    assert len(bodies) == 3, ran.stdout
    return bodies[1]


def system(body: dict[str, Any]) -> str:
    return str(body["messages"][0]["content"])


def names(body: dict[str, Any]) -> set[str]:
    return {tool["function"]["name"] for tool in body["tools"]}


def test_an_agent_has_the_profile_of_the_main_one_unless_it_is_given_another(home: Home) -> None:
    profile(home, "look", "Look closely.\n")
    profile(home, "write", "Write well.\n")
    flags = ("--system-prompt-profile", "look", "--append-system-prompt", "Be kind.")
    assert system(agents(home, *flags)) == f"{RULES}\n\n{AGENT_RULES}\n\nLook closely.\n\nBe kind."
    [started] = journal(home.out, "job_started")
    assert started["profile"] == "look"
    assert system(agents(home, *flags, profile="builtin")) == f"{RULES}\n\n{AGENT_RULES}\n\nBe kind."
    assert system(agents(home, *flags, profile="write")) == f"{RULES}\n\n{AGENT_RULES}\n\nWrite well.\n\nBe kind."


def test_the_profile_of_the_settings_is_that_of_runs_that_name_none(home: Home) -> None:
    profile(home, "look", "Look closely.\n")
    settings = '[agent]\nsystem_prompt_profile = "look"\n'
    _, bodies = sent(home, settings=settings)
    assert system(bodies[0]) == f"{RULES}\n\nLook closely."
    _, bodies = sent(home, "--system-prompt-profile", "builtin", settings=settings)
    assert system(bodies[0]) == RULES
    _, bodies = sent(home, "--system-prompt", "Mine.", settings=settings)
    assert system(bodies[0]) == "Mine."
    ran, bodies = sent(home, settings='[agent]\nsystem_prompt_profile = "none"\n')
    assert ran.code == 2 and "there is no profile none" in ran.stderr and not bodies


@pytest.mark.parametrize(
    ("keys", "settings", "model", "effort"),
    [
        ("", "", "m", None),
        ("subagent_model: own/other", "", "other", None),
        ("subagent_model: fast\nsubagent_thinking: high", "", "small", "high"),
        ("subagent_model: chat", '[agent]\nsubagent_model = "fast"\n', "m", None),
        ("", '[agent]\nsubagent_model = "fast"\nsubagent_thinking = "low"\n', "small", "low"),
    ],
)
def test_whom_an_agent_asks(home: Home, keys: str, settings: str, model: str, effort: str | None) -> None:
    profile(home, "look", f"---\n{keys}\n---\n")
    body = agents(home, settings=settings, profile="look")
    assert (body["model"], body.get("reasoning_effort")) == (model, effort)


def test_what_another_model_took_is_booked_under_its_name(home: Home) -> None:
    profile(home, "look", "---\nsubagent_model: fast\n---\n")
    ran, _ = sent(home, profile="look")
    assert set(ran.result["modelUsage"]) == {"own/m", "own/small"}


def test_a_profile_has_its_say_in_the_tools_of_its_own_agent(home: Home) -> None:
    profile(home, "lead", "---\ntools: {overrides: {file_write: disabled}}\n---\n")
    profile(home, "hand", "---\ntools: {overrides: {file_glob: disabled, todo_write: lazy}}\n---\n")
    _, bodies = sent(home, "--system-prompt-profile", "lead", profile="hand")
    assert "file_write" not in names(bodies[0]) and "file_glob" in names(bodies[0])
    assert names(bodies[1]) == {"file_read", "file_write", "tool_search"}


def test_no_profile_has_more_than_the_run_allows(home: Home) -> None:
    profile(home, "hand", "---\ntools: {default: eager}\n---\n")
    body = agents(home, "--disallowed-tools", "file_write", "--deny", "file_glob:path=**", profile="hand", mode="plan")
    assert names(body) <= {"file_read", "todo_write", "file_glob"}


def test_sections_of_a_custom_layout(home: Home) -> None:
    profile(home, "own", "---\nlayout: custom\n---\n{{identity}}\nMine.\n{{tools}}\n{{conventions}}\n{{plan}}\n")
    body = agents(home, profile="own", mode="plan")
    told = f"{IDENTITY}\nMine.\n{TOOLS}\n{CONVENTIONS}\n{PLAN_RULE}\n\n{AGENT_RULES}"
    assert system(body) == told
    profile(home, "own", "---\nlayout: custom\n---\nBefore.\n{{ default }}\nAfter {{default}}.\n{{style}}\n")
    refused, bodies = sent(home, profile="own")
    assert refused.code == 2 and "own.md:5: there is no section '{{ default }}'" in refused.stderr and not bodies
    profile(home, "own", "---\nlayout: custom\n---\nBefore.\n{{default}}\nAfter {{default}}.\n{{style}}\n")
    body = agents(home, profile="own")
    assert system(body) == f"Before.\n{RULES}\nAfter {{{{default}}}}.\n{STYLE}\n\n{AGENT_RULES}"


def test_the_completion_section_says_what_the_task_promises(home: Home) -> None:
    profile(home, "own", "---\nlayout: custom\n---\n{{completion}}\nMine.\n")
    task = home.task(prompt="Go", tools={"write_artifact": "auto"}, expect={"artifacts": ["a.md"]})
    with ModelServer([text("Done.")] * 3) as server:
        environ = {"OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": "sk-x"}
        home.stream("-t", task, "-m", "openai/m", "--system-prompt-profile", "own", environ=environ)
    assert system(server.requests[0].body) == "- Artifacts that must exist at the end: a.md.\nMine."


def test_the_model_is_told_of_profiles_if_there_are_any(home: Home) -> None:
    def told() -> str:
        _, bodies = sent(home)
        return str(next(tool["function"]["description"] for tool in bodies[0]["tools"] if "task" in str(tool)))

    assert "Profiles:" not in told()
    profile(home, "look", f"---\ndescription: 'finds  things {'x' * MAX_PURPOSE}'\n---\n")
    profile(home, "write", "Write.")
    assert told().endswith(f" Profiles: look (finds things {'x' * (MAX_PURPOSE - 13)}); write; builtin (none of them).")
    for number in range(MAX_PROFILES):
        profile(home, f"p{number}", "P.")
    assert told().endswith("; and 2 more; builtin (none of them).")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("---\nlayuot: custom\n---\n", "look.md:2"),
        ("---\nsubagent_model: nowhere/m\n---\n", "look.md: `subagent_model`: there is no provider"),
        ("---\nsubagent_thinking: deeply\n---\n", "look.md:2"),
        ("{{default}}\n", "look.md:1: {{default}} stands for a section"),
        ("---\nlayout: custom\n---\nA.\n{{defualt}}\n", "look.md:5: there is no section '{{defualt}}'"),
    ],
)
def test_a_profile_that_is_wrong_ends_the_start_of_a_run_with_agents_only(home: Home, content: str, said: str) -> None:
    profile(home, "look", content)
    ran, bodies = sent(home)
    assert ran.code == 2 and said in ran.stderr and not bodies
    script = home.script({"text": "Done."})
    assert home.run("run", "Go", "-m", script, "--tools", "file_read").code == 0


def test_a_model_without_a_key_ends_the_start(home: Home) -> None:
    profile(home, "look", "---\nsubagent_model: other/m\n---\n")
    ran, bodies = sent(home)
    assert (ran.code, ran.result["verdict"]) == (8, "preflight") if ran.stdout else ran.code == 8
    assert "OTHER_KEY" in ran.stderr and not bodies


def test_rules_name_profiles(home: Home) -> None:
    profile(home, "look", "Look.")
    (home.path / "policy.toml").write_text(
        'version = 1\n[[rule]]\ntools = ["task"]\nagent = "look"\ndecide = "deny"\nwhy = "not now"\n'
    )
    flags = ("--policy", str(home.path / "policy.toml"))
    _, bodies = sent(home, *flags, profile="look")
    assert "not now" in json.dumps(bodies[1]["messages"])
    assert not journal(home.out, "job_started")
    # The profile of the main one is meant where none is said.
    _, bodies = sent(home, *flags, "--system-prompt-profile", "look")
    assert "not now" in json.dumps(bodies[1]["messages"])


def test_a_task_that_goes_on_is_judged_by_its_own_profile(home: Home) -> None:
    profile(home, "look", "Look.")
    (home.path / "policy.toml").write_text(
        'version = 1\n[[rule]]\ntools = ["task"]\nagent = "builtin"\ndecide = "deny"\nwhy = "not now"\n'
    )
    script = home.script(
        {"calls": [{"tool": "task", "arguments": {"description": "look", "prompt": "LOOK", "profile": "look"}}]},
        {"calls": [{"tool": "task", "arguments": {"description": "go on", "task_id": "look", "prompt": "LOOK"}}]},
        {"calls": [{"tool": "task", "arguments": {"description": "another", "prompt": "LOOK"}}]},
        {"text": "Done."},
        agents=[{"when": "LOOK", "turns": [{"text": "seen", "repeat": 3}]}],
    )
    policy = str(home.path / "policy.toml")
    ran = home.stream("Go", "-m", script, "--tools", "task=auto", "--policy", policy, "-o", str(home.out))
    checked = [(each["resources"][0]["name"], each["allowed"]) for each in journal(home.out, "call_checked")]
    assert checked == [("look", True), ("look", True), ("builtin", False)], ran.stderr


def test_a_resumed_run_has_the_profiles_it_was_started_with(home: Home) -> None:
    profile(home, "look", "Look closely.\n")
    script = home.script(
        {"calls": [{"tool": "todo_write", "arguments": {"todos": []}}]},
        {"calls": [{"tool": "task", "arguments": {"description": "look", "prompt": "LOOK", "profile": "look"}}]},
        {"text": "Done."},
        agents=[{"when": "LOOK", "turns": [{"text": "seen"}]}],
    )
    flags = ("--tools", "task=auto,todo_write=auto", "-o", str(home.out))
    ran = home.stream("Go", "-m", script, *flags, "--max-turns", "1")
    assert ran.code == 7, ran.stderr
    (home.path / "config" / "system-prompts" / "look.md").unlink()
    again = home.run("resume", str(home.out), "--max-turns", "9")
    assert again.code == 0 and "look.md is gone" in again.stderr
    [started] = journal(home.out, "job_started")
    assert started["profile"] == "look"


def test_a_recorded_run_is_played_with_the_models_and_tools_of_profiles(home: Home) -> None:
    head = "subagent_model: fast\ntools: {overrides: {file_glob: disabled, todo_write: lazy}}"
    profile(home, "look", f"---\n{head}\n---\nLook.\n")
    profile(home, "lead", "---\ntools: {overrides: {file_write: disabled}}\n---\n")
    recording = str(home.path / "run.jsonl")
    ran, _ = sent(home, "--system-prompt-profile", "lead", "--record", recording, profile="look")
    assert ran.code == 0, ran.stderr
    for name in ("look", "lead"):
        (home.path / "config" / "system-prompts" / f"{name}.md").unlink()
    (home.path / "config" / "providers.toml").unlink()
    played = home.run("replay", recording, "--output-format", "stream-json")
    assert played.code == 0, played.stderr
    assert set(played.result["modelUsage"]) == {"own/m", "own/small"}


def test_commands_of_agents_are_confined_where_only_they_have_a_shell(home: Home) -> None:
    profile(home, "lead", "---\ntools: {overrides: {shell: disabled}}\n---\n")
    script = home.script(
        {"calls": [{"tool": "task", "arguments": {"description": "look", "prompt": "LOOK", "profile": "builtin"}}]},
        {"text": "Done."},
        agents=[
            {
                "when": "LOOK",
                "turns": [{"calls": [{"tool": "shell", "arguments": {"command": "echo hello"}}]}, {"text": "ok"}],
            }
        ],
    )
    flags = ("--tools", "task=auto,shell=auto", "--system-prompt-profile", "lead")
    ran = home.stream("Go", "-m", script, *flags, "-o", str(home.out))
    assert "writes" in ran.events[0]["layers"], ran.events[0]["layers"]
    assert "hello" in ran.stdout.decode()
