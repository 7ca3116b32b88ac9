"""Section 7: the event stream and the tools."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from remit.commands.manual.page import Block, Code, Item, Page, Para, Section, Span, Sub, bold
from remit.commands.manual.schema_words import default_words, type_words
from remit.tools.contract import Tool

_TOOLS_CALLED = """\
remit run -t task.yaml --output-format stream-json |
  jq -r 'select(.type == "assistant").message.content[] | select(.type == "tool_use").name'
"""
_WHAT_WAS_REFUSED = """\
jq -r 'select(.subtype == "permission_denied") | [.tool_name, .resource, .rule] | @tsv' events.jsonl
"""
_LOADING = (
    "Requests leave tools out until they are needed, unless the model is its provider's `best` (`purposes` in "
    "remit-providers(5)): the toolset code, python_execution and some others come in when the model searches for them "
    "(tool_search) or calls them, tool_output with the first result that is cut. `[agent] defer_builtin_tools = "
    '"always"` or `"never"` of the settings decides for every model, a profile for its runs, see remit-profiles(7).',
    "`--allowed-tools a,b` offers of the ticked tools only these, in every request. `--disallowed-tools` and `[agent] "
    "disabled_tools` turn tools off; a project does so with a rule that denies the tool in its `.remit/policy.toml`.",
)
_STAMPS = ("session_id", "uuid")


def events_page() -> Page:
    """remit-events(7)."""
    from remit.stream.schema import events_schema

    schema = events_schema()
    kinds = [schema["$defs"][each["$ref"].rsplit("/", 1)[1]] for each in schema["anyOf"]]
    return Page(
        "remit-events",
        7,
        "the event stream of remit",
        (
            Section(
                "DESCRIPTION",
                (
                    Para(
                        "`remit run --output-format stream-json` prints one JSON object a line, and the run "
                        "directory keeps the same lines in `events.jsonl`. The last line of a prompt, and the only one "
                        "of its type, is `result`, on every path: success, refusal, limit, failure, signal. The "
                        "first is `init`, once there is a run: a bad command line or file, a missing key or "
                        "a signal before that leave the `result` alone, with an empty `run_id`."
                    ),
                    Para(
                        "Names follow the stream-JSON of Claude Code, so that its clients read them; what that lacks "
                        "stands in further subtypes of `system` and in further fields. Readers pass over types and "
                        "fields they do not know: later versions add some, and never change a meaning. `remit "
                        "events` prints the JSON Schema."
                    ),
                    Para(
                        "Every line carries `session_id`, the same through a resume, and `uuid`, its own. A result "
                        "without a run has a `session_id` that no other line has."
                    ),
                ),
            ),
            Section("EVENTS", tuple(block for kind in kinds for block in _event(kind, schema["$defs"]))),
            Section(
                "EXAMPLES",
                (
                    Para("The tools as they are called:"),
                    Code(_TOOLS_CALLED),
                    Para("What was refused, and by which rule:"),
                    Code(_WHAT_WAS_REFUSED),
                ),
            ),
            Section("SEE ALSO", (Para("remit-run(1), remit-events(1)"),)),
        ),
    )


def _event(kind: Mapping[str, Any], definitions: Mapping[str, Any]) -> Iterator[Block]:
    fields: dict[str, Any] = kind["properties"]
    (type_,) = fields["type"]["enum"]
    subtypes = fields.get("subtype", {}).get("enum", ())
    yield Sub(f"{type_}, {subtypes[0]}" if len(subtypes) == 1 else type_)
    if kind.get("description"):
        yield Para(kind["description"])
    required = kind.get("required", ())
    rows = [
        (name, type_words(field, definitions) + ("" if name in required else "; left out while it says nothing"))
        for name, field in fields.items()
        if name not in ("type", *_STAMPS) and not (name == "subtype" and len(subtypes) == 1)
    ]
    width = max(len(name) for name, _ in rows) + 2
    yield Code("\n".join(f"{name:<{width}}{words}" for name, words in rows))


def tools_page() -> Page:
    """remit-tools(7). Imports every tool."""
    from remit.tools.registry import all_tools

    toolsets: dict[str, list[Tool]] = {}
    for tool in all_tools().values():
        toolsets.setdefault(tool.toolset, []).append(tool)
    return Page(
        "remit-tools",
        7,
        "the tools of remit",
        (
            Section(
                "DESCRIPTION",
                (
                    Para(
                        "A model gets the tools that its task ticks, and no others; `remit tools` lists what a run "
                        "would offer. Every call goes through the rules first, see remit-policy(5), and then works "
                        "with just the resources they judged."
                    ),
                    *map(Para, _LOADING),
                    Para(
                        "What follows is what the model reads of each tool and what it meets in results, then its "
                        "parameters, what it does to the world, and what one call may take."
                    ),
                ),
            ),
            *(
                Section(f"TOOLSET {name.upper()}", tuple(block for tool in tools for block in _tool(tool)))
                for name, tools in toolsets.items()
            ),
            Section("TOOLS OF THE HARNESS", tuple(_harness())),
            Section("SEE ALSO", (Para("remit-tools(1), remit-task(5), remit-policy(5), remit-profiles(7)"),)),
        ),
    )


def _tool(tool: Tool) -> Iterator[Block]:
    yield Sub(tool.name)
    yield from (Para(part) for part in tool.spec().description.split("\n\n"))
    if tool.notes:
        yield Para(tool.notes)
    schema = tool.schema()
    for name, parameter in schema.get("properties", {}).items():
        yield from _parameter(name, parameter, name in schema.get("required", ()))
    yield Para(_facts(tool))


def _parameter(name: str, schema: Mapping[str, Any], required: bool) -> Iterator[Item]:
    # Null and leaving it out are the same.
    given = [each for each in schema.get("anyOf", ()) if each.get("type") != "null"]
    words = type_words({"anyOf": given} if given else schema)
    default = default_words(schema)
    remark = ", required" if required else f", default {default}" if default else ""
    yield Item((bold(name), Span(f" ({words}{remark})")), (Para(schema.get("description", "")),))
    items = schema.get("items", {})
    for inner, each in items.get("properties", {}).items():
        yield from _parameter(f"{name}[].{inner}", each, inner in items.get("required", ()))


def _facts(tool: Tool) -> str:
    effects = ", ".join(sorted(effect.value for effect in tool.effects)) or "none"
    again = "a call that was interrupted is run again" if tool.repeatable else "an interrupted call is not run again"
    offered = " Offered by need, without a tick." if tool.harness else ""
    time = "as long as the calls in it take" if tool.has_parts else f"at most {_span(tool.bounds.seconds)}"
    return (
        f"Effect: {effects}. One call: {time}, and at most {tool.bounds.output_bytes:,} bytes of result. "
        f"On a resume {again}.{offered}"
    )


def _span(seconds: float) -> str:
    days, rest = divmod(seconds, 86_400)
    return f"{seconds:,g} seconds" if rest or not days else f"{days:g} day{'' if days == 1 else 's'}"


def _harness() -> Iterator[Block]:
    from remit.tools.harness.check import Check
    from remit.tools.harness.structured_output import StructuredOutput

    yield Sub(StructuredOutput.name)
    yield Para(
        "Offered when the task has `expect.schema`. The model gives the result of the task as its arguments; a value "
        "that does not fit the schema comes back with the reason."
    )
    yield Sub(Check.name)
    yield Para(
        "Runs a command of `expect.checks` through the gate, with the effect execute. It is never offered to a "
        "model, but rules may name it."
    )
