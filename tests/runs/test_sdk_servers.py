"""Tools of MCP servers in the client whose names no provider would take."""

from __future__ import annotations

import asyncio
import re
from typing import Any

import pytest

from fakes.cli import Home
from fakes.model_server import ModelServer, calls, text
from fakes.sdk import options

client = pytest.importorskip("claude_agent_sdk", reason="the official client is part of the extra `dev`")

PROVIDERS = """\
version = 1
[mine]
protocol = "openai"
base_url = "URL"
[[mine.models]]
id = "calls"
"""
LONG = "long" * 20
TOOLS = ("odd.name/with space", "a.b", "a_b", LONG, f"{LONG}er")
NAMES = (
    "mcp__my_srv__odd_name_with_space",
    "mcp__my_srv__a_b",
    "mcp__my_srv__a_b_2",
    f"mcp__my_srv__{LONG}"[:64],
    f"mcp__my_srv__{LONG}"[:62] + "_2",
)
"""Of the tools, in their order: none of them may stay, for the name of the server."""


def heard(home: Home, name: str, **keys: Any) -> tuple[list[str], list[str], list[Any]]:
    """The names that the model is offered, the tools of the client that ran, and the refusals."""
    ran: list[str] = []

    def make(told: str) -> Any:
        async def run(given: dict[str, Any]) -> dict[str, Any]:
            ran.append(told)
            return {"content": [{"type": "text", "text": "fine"}]}

        return client.tool(told, "Do it", {})(run)

    async def talk(given: Any) -> Any:
        async with asyncio.timeout(60):
            return [message async for message in client.query(prompt="go", options=given)][-1]

    with ModelServer([calls(("call_1", name, "{}")), text("done")]) as server:
        (home.path / "config" / "providers.toml").write_text(PROVIDERS.replace("URL", server.url))
        hosted = client.create_sdk_mcp_server("my srv", tools=[make(told) for told in TOOLS])
        last = asyncio.run(talk(options(home, "mine/calls", mcp_servers={"my srv": hosted}, **keys)))
        offered = [tool["function"]["name"] for tool in server.requests[0].body["tools"]]
    return [name for name in offered if name.startswith("mcp__")], ran, last.permission_denials


def test_names_are_those_that_providers_take(home: Home) -> None:
    offered, _, _ = heard(home, NAMES[0])
    assert sorted(offered) == sorted(NAMES)
    assert all(re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", name) for name in offered)


@pytest.mark.parametrize(("name", "told"), list(zip(NAMES, TOOLS, strict=True)))
def test_the_client_is_asked_under_its_own_names(home: Home, name: str, told: str) -> None:
    assert heard(home, name, allowed_tools=["mcp__my srv"])[1] == [told]


@pytest.mark.parametrize("name", NAMES[1:3])
def test_a_refusal_that_may_mean_several_means_all(home: Home, name: str) -> None:
    offered, ran, _ = heard(home, name, allowed_tools=["mcp__my srv"], disallowed_tools=["mcp__my_srv__a.b"])
    assert (set(NAMES[1:3]) & set(offered), ran) == (set(), [])


@pytest.mark.parametrize(
    ("rule", "name", "runs"),
    [
        ("mcp__my srv__odd.name/with space", NAMES[0], True),
        ("mcp__my_srv__odd_name_with_space", NAMES[0], True),
        ("mcp__my srv__odd*", NAMES[0], True),
        ("mcp__my_srv__*", NAMES[0], True),
        ("mcp__my_srv", NAMES[0], True),
        ("mcp__my_srv__odd.name*", NAMES[0], True),
        ("mcp__my srv__a.b", NAMES[1], True),
        ("mcp__my srv__a.b", NAMES[2], False),
        ("mcp__my srv__a_b", NAMES[2], True),
        ("mcp__your srv__*", NAMES[0], False),
    ],
)
def test_rules_take_both_spellings(home: Home, rule: str, name: str, runs: bool) -> None:
    told = TOOLS[NAMES.index(name)]
    assert heard(home, name, allowed_tools=[rule])[1] == ([told] if runs else [])
    offered, ran, _ = heard(home, name, allowed_tools=["mcp__my srv"], disallowed_tools=[rule])
    assert (name in offered, ran) == (not runs, [] if runs else [told])
