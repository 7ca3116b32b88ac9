"""The tool contract: one class per file, and this base class is all a tool sees of the house."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from functools import cache
from typing import Any, ClassVar, Literal

import msgspec

from remit.base.built import built
from remit.base.calls import Outcome
from remit.base.errors import ErrorCode, Failure
from remit.base.limits import Bounds
from remit.base.messages import ToolSpec
from remit.base.model_json import decode_json
from remit.base.ports import ToolContext, World
from remit.base.records import CallSettled
from remit.base.resources import Effect, Resource

Hand = Literal["person", "python", "machine", "pictures", "code", "outline", "agents", "jobs", "principal"]

LARGEST = 2**53 - 1
"""The largest whole number of a parameter that has no limit of its own: every reader of JSON holds it exactly."""

Awaited = Literal["outputs"]
"""outputs: a result was kept."""


class Part(msgspec.Struct, frozen=True):
    """A call that another one is made of. arguments: JSON text. problem: why it is not to be made, "" when it is."""

    tool: str
    arguments: str
    problem: str = ""


class Tool:
    """One tool. Subclass it in a file named as the tool.

    Class facts: `name`, `toolset`, `effects`, `bounds`, `repeatable` (running a call twice is
    harmless), `Params` (a msgspec Struct with `forbid_unknown_fields`; its field docs come from
    `Annotated[..., Meta(description=...)]`). The class docstring is what the model reads, limits
    included.
    """

    name: ClassVar[str]
    toolset: ClassVar[str]
    effects: ClassVar[frozenset[Effect]]
    bounds: ClassVar[Bounds] = Bounds()
    repeatable: ClassVar[bool] = False
    bounds_repeats: ClassVar[bool] = False
    """Counts its own failures, so that the guard against repeated calls leaves it alone."""

    harness: ClassVar[bool] = False
    """Offered by need, without a tick."""

    retained: ClassVar[bool] = True
    """Long results are kept whole, and cut ones too."""

    bundle: ClassVar[str] = ""
    """Where it may be left out of requests until it is needed: what it is loaded with, by itself its own name."""

    awaits: ClassVar[Awaited | None] = None
    """Where it may be left out of requests: what has to happen before it is of use."""

    hands: ClassVar[frozenset[Hand]] = frozenset()
    """What it works with beyond its resources. Where one is missing the tool is not offered."""

    notes: ClassVar[str] = ""
    """What people read beyond the description; a model meets it in results and errors, where it matters."""

    Params: ClassVar[type[msgspec.Struct]]

    def spec(self) -> ToolSpec:
        """What the model is told."""
        description = inspect.cleandoc(type(self).__doc__ or "")
        return ToolSpec(self.name, description, self.schema())

    def schema(self) -> dict[str, Any]:
        """JSON Schema of the arguments, with local references resolved."""
        return schema_of(self.Params)

    def parse(self, arguments: str) -> Any:
        """The typed arguments. Raises Failure(invalid_arguments) with what was seen and what is due."""
        try:
            return decode_json(arguments or "{}", self.Params)
        except msgspec.DecodeError as problem:
            raise Failure(ErrorCode.INVALID_ARGUMENTS, self._complaint(problem, arguments)) from None

    def _complaint(self, problem: msgspec.DecodeError, arguments: str) -> str:
        if isinstance(problem, msgspec.ValidationError):
            from remit.tools.complaint import complaint

            known = ", ".join(field.encode_name for field in msgspec.structs.fields(self.Params))
            what = complaint(str(problem), arguments, full_schema(self.Params))
            return f"{self.name}: {what}; the parameters are: {known or 'none'}"
        return f"{self.name}: the arguments are not valid JSON: {problem}"

    def resources(self, params: Any, world: World) -> Sequence[Resource]:
        """What the call will touch: asked before policy, pure and cheap. May raise Failure."""
        raise NotImplementedError(type(self).__name__)

    @property
    def has_parts(self) -> bool:
        """Whether a call is made of others. Its own seconds then bound nothing."""
        return type(self).expand is not Tool.expand

    def expand(self, params: Any) -> Sequence[Part]:
        """The calls that this one is made of, none for a call that runs. The same for the same parameters."""
        return ()

    def join(self, params: Any, results: Sequence[CallSettled], max_bytes: int) -> Outcome:
        """What comes of a call from the results of its parts, in their order. max_bytes: of the text."""
        raise NotImplementedError(type(self).__name__)

    def producer(self, params: Any) -> str:
        """What a kept result of the call is named after: the tool, or the program it runs."""
        return self.name

    async def run(self, params: Any, ctx: ToolContext) -> Outcome:
        """Do it, with the grants in `ctx` and nothing else. Expected failures: raise Failure."""
        raise NotImplementedError(type(self).__name__)


@cache
def schema_of(params: type[msgspec.Struct]) -> dict[str, Any]:
    """JSON Schema of arguments as a model reads it. It is not to be changed."""
    known = (built("SCHEMAS") or {}).get(params_name(params))
    if known is not None:
        assert isinstance(known, dict)
        return known
    resolved = _lean(full_schema(params))
    resolved.pop("description", None)
    assert isinstance(resolved, dict)
    return resolved


def params_name(params: type[msgspec.Struct]) -> str:
    return f"{params.__module__}.{params.__qualname__}"


def full_schema(params: type[msgspec.Struct]) -> dict[str, Any]:
    """JSON Schema of arguments as they are read, with local references resolved."""
    schema = msgspec.json.schema(params)
    definitions = schema.pop("$defs", {})
    resolved = _inline(schema, definitions)
    assert isinstance(resolved, dict)
    return resolved


_NULL = {"type": "null"}


def _says_nothing(key: str, value: Any) -> bool:
    return (key == "title" and isinstance(value, str)) or (key == "maximum" and value == LARGEST)


def _lean(node: Any) -> Any:
    """The schema without what tells a model nothing: names of our structs, the largest of all numbers, and null where
    leaving out is the same."""
    if isinstance(node, list):
        return [_lean(item) for item in node]
    if not isinstance(node, dict):
        return node
    node = {key: _lean(value) for key, value in node.items() if not _says_nothing(key, value)}
    choices = node.get("anyOf")
    if choices and _NULL in choices and node.get("default", 0) is None:
        del node["default"]
        node["anyOf"] = left = [choice for choice in choices if choice != _NULL]
        if len(left) == 1:
            del node["anyOf"]
            node = {**left[0], **node}
    return node


def _inline(node: Any, definitions: dict[str, Any]) -> Any:
    if isinstance(node, dict):
        if "$ref" in node:
            return _inline(definitions[node["$ref"].rsplit("/", 1)[1]], definitions)
        return {key: _inline(value, definitions) for key, value in node.items()}
    if isinstance(node, list):
        return [_inline(item, definitions) for item in node]
    return node
