"""What a client of Claude Code asks for between its messages, and what it is told."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from remit.base.errors import Failure
from remit.engine.client import Control, ControlFault, Reply
from remit.engine.jobs import Jobs
from remit.engine.turn import Asker
from remit.stream.claude import VERSION
from remit.wiring.client_tools import ClientServer
from remit.wiring.sdk_agents import SdkAgent

MODELS = {
    "sonnet": "anthropic/claude-sonnet-4-5",
    "opus": "anthropic/claude-opus-4-5",
    "haiku": "anthropic/claude-haiku-4-5",
}
"""Short names of models."""

ELSEWHERE = "a session takes them from the command line that started it"
REFUSED = {
    "apply_flag_settings": f"Settings cannot be changed: {ELSEWHERE}; set_model, set_permission_mode and "
    "set_max_thinking_tokens change a session.",
    "update_settings": "No settings file is written here: people keep them.",
    "mcp_set_servers": f"MCP servers cannot be changed: {ELSEWHERE}.",
    "set_mcp_permission_mode_override": "There is no permission mode of one server; rules name mcp__SERVER__*.",
    "mcp_read_resource": "Resources of MCP servers are not read: only servers of the client are served.",
    "mcp_call": "Tools of MCP servers are called by the model alone: only servers of the client are served.",
    "reload_plugins": "There are no plugins.",
    "reload_skills": "There are no skills to be reloaded.",
    "reload_output_styles": "There are no output styles but the default.",
    "rewind_files": "File rewinding is not enabled. remit does not support it: no checkpoints of files are kept, "
    "whatever enable_file_checkpointing says.",
    "seed_read_state": "What the model has seen of files cannot be set: let it read the file again.",
    "read_file": "Files are read by tools alone.",
    "get_settings": "Settings are not told; `remit doctor` shows where they come from.",
    "get_usage": "Usage is told with each result.",
    "get_session_cost": "The cost is told with each result.",
}
"""Requests that the official clients have a method for, and why none of them is served."""


def refusals() -> dict[str, Control]:
    return {subtype: _refusing(why) for subtype, why in REFUSED.items()}


def _refusing(why: str) -> Control:
    async def refuse(fields: Mapping[str, Any]) -> Reply:
        raise ControlFault(why)

    return refuse


def initialized(mode: str, key_source: str, agents: Mapping[str, SdkAgent]) -> Reply:
    """The answer to `initialize`. agents: those that the client defines."""
    return {
        "commands": [],
        "agents": [{"name": name, "description": agent.description} for name, agent in agents.items()],
        "models": models(),
        "account": {"apiKeySource": key_source},
        "output_style": "default",
        "available_output_styles": ["default"],
        "pid": os.getpid(),
        "claude_code_version": VERSION,
        "current_permission_mode": mode,
        "hook_on_failure_supported": False,
        "hooks_applied": True,
        "capabilities": [],
    }


def models() -> list[dict[str, str]]:
    """Those with a short name; every other may be set by its own."""
    default = {"value": "default", "displayName": "Default", "description": "The model that the session began with."}
    named = [
        {
            "value": short,
            "resolvedModel": model.partition("/")[2],
            "displayName": short.capitalize(),
            "description": model,
        }
        for short, model in MODELS.items()
    ]
    return [default, *named]


def servers(hosted: Sequence[ClientServer], listed: Sequence[Mapping[str, str]]) -> Reply:
    """The answer to `mcp_status`. hosted: by the client. listed: all, as `init` tells them."""
    ours = {server.name for server in hosted}
    known = [
        {
            "name": server.name,
            "status": server.status,
            "serverInfo": server.info,
            "config": {"type": "sdk", "name": server.name},
            "scope": "dynamic",
            "tools": [{"name": tool.told_name, "annotations": {}} for tool in server.tools],
        }
        for server in hosted
    ]
    return {"mcpServers": known + [{**each, "scope": "dynamic"} for each in listed if each["name"] not in ours]}


def context_usage(system: int, messages: int, asker: Asker) -> Reply:
    """The answer to `get_context_usage`. system, messages: tokens of the next request."""
    most, total = asker.model.spec.context_window or 0, system + messages
    categories = [
        {"name": "System prompt and tools", "tokens": system, "color": "gray", "kind": "used"},
        {"name": "Messages", "tokens": messages, "color": "blue", "kind": "used"},
    ]
    return {
        "categories": categories,
        "totalTokens": total,
        "maxTokens": most,
        "rawMaxTokens": most,
        "percentage": round(100 * total / most, 1) if most else 0.0,
        "model": asker.model.spec.name,
        "gridRows": [],
        "memoryFiles": [],
        "mcpTools": [],
        "agents": [],
        "isAutoCompactEnabled": True,
    }


def to_background(jobs: Jobs | None) -> Control:
    """`background_tasks`: calls that wait for their work go on without it."""

    async def background(fields: Mapping[str, Any]) -> Reply:
        wanted = fields.get("tool_use_id")
        waited = [job.facts for job in jobs.live() if not job.facts.background] if jobs is not None else []
        moved = [facts for facts in waited if wanted in (None, facts.call_id)]
        try:
            for facts in moved:
                assert jobs is not None
                jobs.promote(facts.task_id)
        except Failure as failure:
            raise ControlFault(failure.message, failure.code.value) from None
        return {"backgrounded": bool(moved)}

    return background


def effort_of_tokens(tokens: Any) -> Any:
    """How much to think, from a number of tokens. None: as the model does by itself."""
    if not isinstance(tokens, int | float) or isinstance(tokens, bool):
        return None
    for most, effort in ((0, "off"), (4_000, "low"), (16_000, "medium"), (32_000, "high")):
        if tokens <= most:
            return effort
    return "max"
