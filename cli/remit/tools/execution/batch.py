"""batch: several calls in one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import msgspec

from remit.base.calls import Outcome, done
from remit.base.clipping import again
from remit.base.errors import ErrorCode, Failure
from remit.base.limits import Bounds
from remit.base.model_json import decode_json
from remit.base.ports import World
from remit.base.records import CallSettled
from remit.base.resources import Effect, Resource
from remit.base.text import shorten
from remit.tools.contract import Part, Tool

MAX_CALLS = 25
PREFIX = "functions."
"""Some models put it before the names of tools."""

_NESTED = "a batch holds no other batch; list the calls of that one here"
_TOO_MANY = f"a batch has at most {MAX_CALLS} calls, so that this one was not made; put it into another batch"

_ENTRY = {
    "properties": {
        "tool": {"type": "string", "description": "Name of the tool."},
        "parameters": {"type": "object", "description": "Its parameters."},
    },
    "required": ["tool"],
}


class BatchParams(msgspec.Struct, forbid_unknown_fields=True):
    tool_calls: Annotated[
        list[Annotated[dict[str, msgspec.Raw], msgspec.Meta(extra_json_schema=_ENTRY)]],
        msgspec.Meta(min_length=1, description="The calls to make: 1 to 25, each a tool and its parameters."),
    ]


class Batch(Tool):
    """Make up to 25 calls at once, where none of them needs the result of another: reading files,
    searching, looking things up. It saves you the turns between them.

    Each call is judged as if you had made it alone. They run at the same time, but for those that change
    what another one uses: those keep the order of the list. A call that fails stops no other. The result has
    a section for each call in the order of the list, and 51,200 bytes for all of them, so call what prints
    much by itself. A batch cannot hold another batch.
    """

    name = "batch"
    toolset = "execution"
    effects = frozenset({Effect.NONE})
    # Its parts have bounds of lines, and are kept.
    bounds = Bounds(output_lines=1 << 20)
    retained = False
    repeatable = True
    Params = BatchParams

    def resources(self, params: BatchParams, world: World) -> Sequence[Resource]:
        for number, entry in enumerate(params.tool_calls, 1):
            try:
                _wanted(entry)
            except ValueError as problem:
                message = f"tool_calls, entry {number}: {problem}; nothing was called"
                raise Failure(ErrorCode.INVALID_ARGUMENTS, message) from None
        return []

    def expand(self, params: BatchParams) -> Sequence[Part]:
        parts = []
        for number, entry in enumerate(params.tool_calls, 1):
            tool, parameters = _wanted(entry)
            problem = _TOO_MANY if number > MAX_CALLS else _NESTED if tool == self.name else ""
            parts.append(Part(tool, msgspec.json.encode(parameters).decode(), problem))
        return parts

    def join(self, params: BatchParams, results: Sequence[CallSettled], max_bytes: int) -> Outcome:
        heads = [f"## {each.tool}{'' if each.outcome.ok else ' (error)'}\n" for each in results]
        texts = [each.content.rstrip("\n") for each in results]
        sizes = [len(text.encode()) for text in texts]
        room = max_bytes - sum(len(head.encode()) + 2 for head in heads)
        sections = (
            head + again(text, share, (each.output.handle,) if each.output else ())
            for head, text, share, each in zip(heads, texts, shares(sizes, max(0, room)), results, strict=True)
        )
        told = [{"id": each.id, "tool": each.tool, "ok": each.outcome.ok} for each in results]
        failed = sum(not each.outcome.ok for each in results)
        images = tuple(image for each in results for image in each.outcome.images)
        return done({"calls": told, "failed": failed}, text="\n\n".join(sections), images=images)


def _wanted(entry: dict[str, msgspec.Raw]) -> tuple[str, dict[str, msgspec.Raw]]:
    """The tool that an entry calls and its parameters, as they are spelled. Raises ValueError."""
    if "tool" not in entry:
        seen = ", ".join(shorten(key) for key in entry) or "nothing"
        raise ValueError(f"it has no `tool`, only {seen}")
    tool = _decoded(entry["tool"], str, "`tool` is no text")
    flat = {key: value for key, value in entry.items() if key not in ("tool", "parameters")}
    nested: dict[str, msgspec.Raw] = {}
    if "parameters" in entry:
        nested = _decoded(entry["parameters"], dict[str, msgspec.Raw], "`parameters` is no object")
    twice = sorted(flat.keys() & nested.keys())
    if twice:
        raise ValueError(f"{shorten(twice[0])} stands both beside `parameters` and in it; give it once")
    return tool.removeprefix(PREFIX), flat | nested


def _decoded(value: msgspec.Raw, type: Any, otherwise: str) -> Any:
    try:
        return decode_json(bytes(value).decode(), type)
    except msgspec.DecodeError:
        raise ValueError(f"{otherwise}, seen {shorten(msgspec.json.decode(value))}") from None


def shares(sizes: Sequence[int], room: int) -> list[int]:
    """What each text gets of the room: short ones all they need, and what they leave goes to the longer ones."""
    given = [0] * len(sizes)
    by_size = sorted(range(len(sizes)), key=sizes.__getitem__)
    for rank, index in enumerate(by_size):
        given[index] = min(sizes[index], room // (len(sizes) - rank))
        room -= given[index]
    return given
