"""Whole runs that go on until their goal is met, or cannot be."""

from __future__ import annotations

import json
from typing import Any

import pytest

from fakes.cli import Home, Ran, ended, journal
from fakes.model_server import ModelServer, calls, refusal, text
from fakes.speaking import KEY
from remit.commands.manual.formats import GOAL_SCRIPT_EXAMPLE

GOAL = "report.txt says how many lines there are"


def verdict(word: str, reason: str = "because") -> dict[str, str]:
    return {"text": json.dumps({"verdict": word, "reason": reason})}


def is_said(turn: dict[str, Any]) -> bool:
    return turn.get("text", "").endswith(".") and len(turn["text"]) < 20


def ask(home: Home, *turns: dict[str, Any], more: tuple[str, ...] = ()) -> Ran:
    """Turns as they come: what is said by the model, and after it what is said of it by the evaluator."""
    spoken = [turn["text"] for turn in turns if is_said(turn)]
    judging: list[dict[str, Any]] = []
    for turn in turns:
        if is_said(turn):
            judging.insert(0, {"when": f"[assistant] {turn['text']}", "turns": []})
        else:
            judging[0]["turns"].append(turn)
    assert len(spoken) == len(set(spoken))
    script = home.script(*(turn for turn in turns if is_said(turn)), agents=judging)
    return home.stream("Count.", "-m", script, "--goal", GOAL, "-o", str(home.out), *more)


def told(ran: Ran) -> list[tuple[str, str]]:
    return [(event["kind"], event["verdict"]) for event in ran.events if event.get("subtype") == "goal"]


def test_a_goal_that_is_met_at_once(home: Home) -> None:
    ran = ask(home, {"text": "There are 3."}, verdict("met"))
    assert ended(home.out, 0)["result"] == "There are 3."
    assert told(ran) == [("evaluating", ""), ("evaluation", "met")]
    [judged] = journal(home.out, "goal_judged")
    assert (judged["turn"], judged["number"], judged["reason"]) == (1, 1, "because")
    assert ran.result["num_turns"] == 1


def test_the_script_of_the_manual_plays_a_goal(home: Home) -> None:
    home.write("script.yaml", GOAL_SCRIPT_EXAMPLE)
    ran = home.stream("Test it.", "-m", "scripted/script.yaml", "--goal", "the tests pass", "-o", str(home.out))
    assert ended(home.out, 0)["result"] == "The tests pass."
    assert [word for kind, word in told(ran) if kind == "evaluation"] == ["not_met", "met"]


def test_the_reason_sends_the_model_on(home: Home) -> None:
    ran = ask(home, {"text": "Hm."}, verdict("not_met", "no file yet"), {"text": "Now."}, verdict("met"))
    assert ended(home.out, 0)["result"] == "Now."
    said = [record["text"] for record in journal(home.out, "user_said") if record["reason"] == "goal"]
    assert len(said) == 1 and "no file yet" in said[0] and GOAL in said[0]
    assert [kind for kind, _ in told(ran)] == ["evaluating", "evaluation"] * 2


def test_a_script_without_an_entry_for_the_judge_is_told_that_it_lacks_one(home: Home) -> None:
    ran = home.stream("Go", "-m", home.script({"text": "a"}), "--goal", GOAL, "-o", str(home.out))
    assert ran.code == 5
    assert "the script has 1 turn and the run asks for one more" in ran.stderr
    assert "hint: an agent asks, or the model that judges the goal: add an entry to `agents`" in ran.stderr


def test_an_impossible_goal_is_unmet(home: Home) -> None:
    ran = ask(home, {"text": "Hm."}, verdict("impossible", "there is no such file"))
    assert ended(home.out, 3)["verdict"] == "unmet"
    assert "cannot be reached: there is no such file" in ran.result["errors"][0]


@pytest.mark.parametrize("limit", [1, 2])
def test_the_model_is_sent_on_so_often_and_no_more(home: Home, limit: int) -> None:
    turns = [turn for number in range(limit + 1) for turn in ({"text": f"{number}."}, verdict("not_met"))]
    ran = ask(home, *turns, more=("--goal-limit", str(limit)))
    assert ended(home.out, 3)["verdict"] == "unmet"
    assert len(journal(home.out, "goal_judged")) == limit + 1
    assert told(ran)[-1] == ("loop_cap", "")


def test_one_malformed_verdict_is_asked_for_again(home: Home) -> None:
    ran = ask(home, {"text": "3."}, {"text": "It looks fine"}, verdict("met"))
    assert ended(home.out, 0)["verdict"] == "done"
    assert told(ran)[-1] == ("evaluation", "met")


@pytest.mark.parametrize("bad", ["fine", '{"verdict": "maybe", "reason": ""}', '{"verdict": "met"}', "[]"])
def test_two_malformed_verdicts_are_none(home: Home, bad: str) -> None:
    ran = ask(home, {"text": "3."}, {"text": bad}, {"text": bad})
    assert ended(home.out, 3)["verdict"] == "unmet"
    assert told(ran)[-1][0] == "evaluation_failed"
    assert "could not be judged" in ran.result["errors"][0]


def test_calls_of_the_evaluator_are_no_verdict(home: Home) -> None:
    wanted = {"calls": [{"tool": "file_read", "arguments": {"filePath": "a"}}]}
    ask(home, {"text": "3."}, wanted, verdict("met"))
    assert ended(home.out, 0)["verdict"] == "done"
    assert journal(home.out, "call_started") == []


def test_the_fast_model_of_the_provider_judges_and_its_cost_counts(home: Home) -> None:
    met = text(json.dumps({"verdict": "met", "reason": "ok"}))
    with ModelServer([calls(("c", "file_glob", '{"pattern": "*"}')), text("Done."), met]) as server:
        tables = f'version = 1\n[own]\nprotocol = "openai"\nbase_url = "{server.url}"\napi_key_env = "OWN_KEY"\n'
        (home.path / "config" / "providers.toml").write_text(f'{tables}purposes = {{fast = "small"}}\n')
        flags = ("-m", "own/m", "--goal", GOAL, "-o", str(home.out))
        home.stream("Ignore the goal.", *flags, environ={"OWN_KEY": KEY})
    result = ended(home.out, 0)
    assert [request.body["model"] for request in server.requests] == ["m", "m", "small"]
    judge = server.requests[-1].body
    assert "tools" not in judge
    question = judge["messages"][-1]["content"]
    assert "[call of file_glob]" in question and question.endswith(f"The goal: {GOAL}")
    assert set(result["modelUsage"]) == {"own/m", "own/small"}


def test_the_own_model_judges_where_the_fast_one_cannot(home: Home) -> None:
    met = text(json.dumps({"verdict": "met", "reason": "ok"}))
    with ModelServer([text("Done."), refusal(404), met]) as server:
        tables = f'version = 1\n[own]\nprotocol = "openai"\nbase_url = "{server.url}"\napi_key_env = "OWN_KEY"\n'
        (home.path / "config" / "providers.toml").write_text(f'{tables}purposes = {{fast = "small"}}\n')
        home.stream("Go", "-m", "own/m", "--goal", GOAL, "-o", str(home.out), environ={"OWN_KEY": KEY})
    ended(home.out, 0)
    assert [request.body["model"] for request in server.requests] == ["m", "small", "m"]


def test_a_recorded_run_with_a_goal_is_played(home: Home) -> None:
    tape = home.path / "tape.jsonl"
    ask(home, {"text": "Hm."}, verdict("not_met"), {"text": "Now."}, verdict("met"), more=("--record", str(tape)))
    ended(home.out, 0)
    ran = home.run("replay", str(tape), "-o", str(home.path / "played"))
    assert ran.code == 0, ran.stderr


def test_a_run_stopped_after_its_verdict_goes_on_from_it(home: Home) -> None:
    ask(home, {"text": "Hm."}, verdict("not_met", "no file yet"), {"text": "Now."}, verdict("met"))
    records = (home.out / "journal.jsonl").read_text().splitlines()
    at = next(index for index, line in enumerate(records) if '"goal_judged"' in line)
    (home.out / "journal.jsonl").write_text("\n".join(records[: at + 1]) + "\n")
    ran = home.run("resume", str(home.out))
    assert ran.code == 0, ran.stderr
    verdicts = [record["verdict"] for record in journal(home.out, "goal_judged")]
    assert verdicts == ["not_met", "met"], "the verdict stands, and is not asked for again"


def test_the_token_budget_holds_for_verdicts(home: Home) -> None:
    turn = {"text": "Hm.", "usage": {"input": 900, "output": 200}}
    ask(home, turn, verdict("met"), more=("--max-tokens", "1000"))
    ended(home.out, 7)
    assert journal(home.out, "goal_judged") == []


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (("--goal", " "), "seen nothing"),
        (("--goal", "x" * 4001), "4,001 characters"),
        (("--goal", "x", "--goal-limit", "0"), "expected 1 to 100, seen 0"),
        (("--goal", "x", "--goal-limit", "101"), "expected 1 to 100, seen 101"),
        (("--goal-limit", "2"), "there is no goal"),
    ],
)
def test_what_is_no_goal(home: Home, flags: tuple[str, ...], said: str) -> None:
    ran = home.run("run", "Go", "-m", home.script({"text": "Done."}), *flags)
    assert ran.code == 2 and said in ran.stderr
