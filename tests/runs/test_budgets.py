"""Every limit at its boundary: what it allows passes, one more ends the run, and a resume goes on counting."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from fakes.cli import Home, Ran, ended, journal, settled
from fakes.model_server import ModelServer, calls, delta, stream, text, usage

DONE = {"text": "Done."}


def call(tool: str, **arguments: Any) -> dict[str, Any]:
    return {"tool": tool, "arguments": arguments}


def turn(*wanted: dict[str, Any], **keys: Any) -> dict[str, Any]:
    return {"calls": list(wanted), **keys}


LIST = call("list_files")
TOOLS = ["--tools", "list_files,write_artifact"]


def write(name: str, size: int) -> dict[str, Any]:
    return call("write_artifact", name=name, content="x" * size)


def resume(home: Home, *flags: str) -> Ran:
    return home.run("resume", str(home.out), *flags, "--output-format", "stream-json")


def test_a_limit_that_is_just_enough(home: Home) -> None:
    """All limits at once, each met exactly."""
    script = home.script(
        turn(LIST, write("a.md", 6), usage={"input": 40, "output": 2}),
        turn(write("b.md", 4), usage={"input": 50, "output": 8}),
        {**DONE, "usage": {"input": 60}},
        price={"input": 1_000_000, "output": 2_000_000},
    )
    flags = {"turns": "3", "tokens": "101", "usd": "111", "calls": "3", "artifact-bytes": "6",
             "artifacts-total-bytes": "10", "network-requests": "0"}  # fmt: skip
    given = [word for name, value in flags.items() for word in (f"--max-{name}", value)]
    ran = home.stream("Go", "-m", script, *TOOLS, *given, "-o", str(home.out))
    result = ended(home.out, 0)
    assert ran.result == result
    # The last answer may go over: no request was made after it.
    spent = {"turns": 3, "tokens": 160, "usd": 170.0, "calls": 3, "network_requests": 0, "artifacts_total_bytes": 10}
    assert {name: result["spent"][name] for name in spent} == spent
    assert result["total_cost_usd"] == 170.0 and result["cost_known"]
    limits = ran.events[0]["limits"]
    assert limits["turns"] == 3 and limits["usd"] == 111.0 and limits["network_requests"] == 0


USES = {"input": 40, "output": 2}
OVER: dict[str, tuple[list[dict[str, Any]], str, str, str, int]] = {
    # turns of the script, the limit, a limit that is enough, the subtype, calls done when it is spent
    "turns": ([turn(LIST), turn(LIST), DONE], "2", "3", "error_max_turns", 2),
    "tokens": ([turn(LIST, usage=USES), turn(LIST, usage=USES), DONE], "84", "85", "error_during_execution", 2),
    "usd": ([turn(LIST, usage=USES), turn(LIST, usage=USES), DONE], "88", "88.01", "error_max_budget_usd", 2),
    "calls": ([turn(LIST), turn(LIST, LIST, LIST), DONE], "3", "4", "error_during_execution", 3),
    "artifacts_total_bytes": (
        [turn(write("a.md", 6)), turn(write("b.md", 4), write("c.md", 1)), DONE], "10", "11",
        "error_during_execution", 2,
    ),
}  # fmt: skip


@pytest.mark.parametrize("limit", OVER)
def test_one_more_than_the_limit(home: Home, limit: str) -> None:
    turns, cap, enough, subtype, done = OVER[limit]
    flag = "--max-" + limit.replace("_", "-")
    script = home.script(*turns, price={"input": 1_000_000, "output": 2_000_000})
    ran = home.stream("Go", "-m", script, *TOOLS, flag, cap, "-o", str(home.out))
    result = ended(home.out, 7)
    assert ran.result == result
    told = (result["verdict"], result["subtype"], result["error_kind"], result["resumable"])
    assert told == ("budget", subtype, limit, True)
    assert result["errors"] == [f"the limit {limit} = {cap} is spent"] and flag in result["hint"]
    assert result["spent"][limit] == float(cap)
    kept = [key for key, _, ok in settled(home.out) if ok]
    assert len(kept) == done

    # Without more to spend there is nothing to do; with it, what was done is not done again.
    same = resume(home)
    if limit not in {"calls", "artifacts_total_bytes"}:
        assert (same.code, same.result["error_kind"]) == (7, limit)
        assert same.result["spent"][limit] == float(cap) and same.result["num_turns"] == result["num_turns"]
        more = resume(home, flag, enough)
        assert more.result == ended(home.out, 0) and more.result["verdict"] == "done"
        assert more.result["spent"]["turns"] == 3
    # A spent call was an answer to the model, which then said the last word.
    assert ended(home.out, 0)["result"] == "Done."
    assert [key for key, _, ok in settled(home.out) if ok] == kept
    assert len({record["turn"] for record in journal(home.out, "answered")}) == 3


def test_artifact_bytes_is_an_error_result(home: Home) -> None:
    script = home.script(turn(write("a.md", 11)), turn(write("a.md", 10)), DONE)
    task = home.task(prompt="Go", tools={"write_artifact": "auto"}, limits={"artifact_bytes": 10})
    ran = home.stream("-t", task, "-m", script, "-o", str(home.out))
    assert ran.result == ended(home.out, 0)
    first, second = (record["outcome"] for record in journal(home.out, "call_settled"))
    assert first["error"]["code"] == "artifact_too_large" and "10 bytes" in first["error"]["message"]
    assert second["ok"] and ran.result["spent"]["artifacts_total_bytes"] == 10


def test_network_requests(home: Home) -> None:
    fetch = [call("fetch_url", url=f"https://example.com/{number}") for number in range(3)]
    tools = {"fetch_url": {"decide": "auto", "hosts": ["example.com"]}}
    task = home.task(prompt="Go", tools=tools, limits={"network_requests": 2})
    ran = home.ported("paged", "-t", task, "-m", home.script(turn(*fetch), DONE), "-o", str(home.out))
    result = ended(home.out, 7)
    assert ran.result == result and result["error_kind"] == "network_requests"
    assert result["spent"]["network_requests"] == 2
    outcomes = [record["outcome"] for record in journal(home.out, "call_settled")]
    assert [outcome["ok"] for outcome in outcomes] == [True, True, False]
    assert outcomes[2]["error"]["code"] == "budget_spent"


def test_seconds_go_on_counting(home: Home) -> None:
    script = home.script(turn(LIST), {**DONE, "delay": 30})
    ran = home.stream("Go", "-m", script, *TOOLS, "--max-seconds", "1.5", "-o", str(home.out))
    result = ended(home.out, 7)
    assert ran.result == result and result["error_kind"] == "seconds"
    assert result["spent"]["seconds"] >= 1.5 and result["duration_ms"] >= 1500

    again = resume(home)
    assert again.result == ended(home.out, 7)
    assert again.result["spent"]["seconds"] >= result["spent"]["seconds"]
    assert again.result["num_turns"] == result["num_turns"], "the model was asked although the time was over"


def priced(home: Home) -> None:
    (home.path / "config" / "remit.toml").write_text(
        '[prices."openai/m"]\ninput = 1000\noutput = 2000\ncache_read = 100\n'
    )


def test_a_money_cap_without_a_price(home: Home) -> None:
    with ModelServer([]) as server:
        ran = home.stream(
            "Go", "-m", "openai/m", "--max-usd", "1", "-o", str(home.out), environ={"OPENAI_BASE_URL": server.url}
        )
    [result] = ran.events
    assert (ran.code, result["verdict"], result["error_kind"]) == (8, "preflight", "no_price")
    assert '[prices."openai/m"]' in result["hint"] and "remit.toml" in result["hint"]
    assert server.requests == [] and not home.out.exists()


def test_a_money_cap_with_a_price(home: Home) -> None:
    """Input, output and cached tokens at the prices of remit.toml; the cap is met after the second answer."""
    priced(home)
    listing = [("c1", "list_files", "{}")]
    answers = [calls(*listing), stream(delta({"content": "Done."}, "stop"), usage(20, 5, cached=10)), text("More.")]
    with ModelServer(answers) as server:
        # 10 in and 5 out cost 0.02; 10 in, 10 of them cached, and 5 out cost 0.021.
        ran = home.stream(
            "Go", "-m", "openai/m", "--max-usd", "0.03", "-o", str(home.out), environ={"OPENAI_BASE_URL": server.url}
        )
        assert ran.result == ended(home.out, 0) and ran.result["cost_known"]
        assert ran.result["total_cost_usd"] == pytest.approx(0.041)
    other = home.path / "other"
    with ModelServer([calls(*listing)] * 3) as server:
        ran = home.stream(
            "Go", "-m", "openai/m", "--max-usd", "0.04", "-o", str(other), environ={"OPENAI_BASE_URL": server.url}
        )
        assert ran.result == ended(other, 7) and ran.result["error_kind"] == "usd"
        assert ran.result["total_cost_usd"] == pytest.approx(0.04) and len(server.requests) == 2


def test_without_a_price_the_cost_is_not_known(home: Home) -> None:
    with ModelServer([text("Done.")]) as server:
        ran = home.stream("Go", "-m", "openai/m", "-o", str(home.out), environ={"OPENAI_BASE_URL": server.url})
    assert ran.result["total_cost_usd"] == 0 and not ran.result["cost_known"]
    assert Path(home.out, "run.json").exists()
