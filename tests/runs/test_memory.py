"""What one run proposes reaches a later one only when somebody accepted it."""

from __future__ import annotations

import json

from fakes.cli import Home, ended
from fakes.model_server import ModelServer, calls, text


def test_a_proposal_counts_once_it_is_accepted(home: Home) -> None:
    task = home.task(prompt="Go", name="weekly", memory={"enabled": True, "proposals": True})
    other = home.task("other.yaml", prompt="Go", name="monthly", memory={"enabled": True})
    note = "Amounts are in euros."
    proposal = json.dumps({"text": note, "reason": "It stood in the file.", "tags": ["money"]})

    def system(path: str, number: int, *replies: object) -> str:
        """The system prompt of a run."""
        out = home.path / f"out{number}"
        with ModelServer(replies) as server:  # type: ignore[arg-type]
            ran = home.stream("-t", path, "-m", "openai/m", "-o", str(out), environ={"OPENAI_BASE_URL": server.url})
            assert ran.result == ended(out, 0), ran.stderr
            prompt: str = server.requests[0].body["messages"][0]["content"]
            return prompt

    assert note not in system(task, 1, calls(("p", "propose_memory", proposal)), text("Done."))
    assert note not in system(task, 2, text("Done."))
    [waiting] = json.loads(home.run("memory", "proposals", "--json").stdout)
    assert waiting["text"] == note
    accepted = home.run("memory", "accept", waiting["id"])
    assert accepted.code == 0, accepted.stderr
    assert note in system(task, 3, text("Done."))
    # It is a note of that task, and not of others.
    assert note not in system(other, 4, text("Done."))
    assert json.loads(home.run("memory", "proposals", "--json").stdout) == []


def test_without_the_task_s_word_there_is_no_memory(home: Home) -> None:
    """Neither the tool nor a store that a model could fill."""
    script = home.script(
        {"calls": [{"tool": "propose_memory", "arguments": {"text": "x", "reason": "y"}}]}, {"text": "Done."}
    )
    ran = home.stream("-t", home.task(prompt="Go", memory={"enabled": True}), "-m", script, "-o", str(home.out))
    assert ran.result == ended(home.out, 0) and ran.events[0]["tools"] == []
    assert json.loads(home.run("memory", "proposals", "--json").stdout) == []
