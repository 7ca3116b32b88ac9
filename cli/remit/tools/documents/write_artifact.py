"""write_artifact: keep a text as a file in the artifact store of the run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import msgspec

from remit.base.artifact_names import SUFFIXES, name_fault, suffix_of
from remit.base.calls import Outcome, done
from remit.base.errors import ErrorCode, Failure
from remit.base.limits import Bounds
from remit.base.ports import ToolContext, World
from remit.base.resources import Effect, Resource
from remit.base.text import shorten
from remit.tools.contract import Tool


class WriteArtifactParams(msgspec.Struct, forbid_unknown_fields=True):
    name: Annotated[str, msgspec.Meta(description="Bare filename ending in .md, .txt, .csv or .json.")]
    content: Annotated[str, msgspec.Meta(description="The whole text of the file.")]


class WriteArtifact(Tool):
    """Save text as an artifact: a file that people can open and download after the run.

    Types: .md, .txt, .csv and .json; JSON must be valid, without NaN and without a key twice in
    one object. The name is a bare filename: no folders, no leading dot, at most 255 bytes. Give
    the whole content: writing a name again replaces the artifact. One artifact is at most the
    task's artifact-size limit (1 MiB unless the task says otherwise). Artifacts go to the artifact
    store, never into the workspace, so no file there can be overwritten.
    """

    name = "write_artifact"
    toolset = "documents"
    effects = frozenset({Effect.WRITE})
    bounds = Bounds()
    repeatable = True
    Params = WriteArtifactParams

    def resources(self, params: WriteArtifactParams, world: World) -> Sequence[Resource]:
        check_name(params.name)
        return [Resource("artifact", params.name, Effect.WRITE)]

    async def run(self, params: WriteArtifactParams, ctx: ToolContext) -> Outcome:
        content = params.content.encode()
        limit = ctx.artifacts.max_bytes
        if len(content) > limit:
            raise Failure(
                ErrorCode.ARTIFACT_TOO_LARGE,
                f"{params.name}: {len(content)} bytes of content; one artifact of this task may have {limit} bytes. "
                "Write less, or split it over several artifacts.",
            )
        if suffix_of(params.name) == ".json":
            check_json(params.name, params.content)
        info = ctx.artifacts.write(params.name, content)
        return done(
            {
                "name": info.name,
                "bytes": info.bytes,
                "mediaType": info.media_type,
                "sha256": info.sha256,
                "path": info.path,
            }
        )


def check_name(name: str) -> None:
    """Raises Failure(invalid_name, unsupported_format) for what is no bare filename of an artifact."""
    problem = name_fault(name)
    if problem:
        raise Failure(ErrorCode.INVALID_NAME, f"{shorten(name)}: {problem}; give a bare filename such as report.md")
    suffix = suffix_of(name)
    if suffix not in SUFFIXES:
        seen = f"the type {shorten(suffix)} is not one of" if suffix else "the name has no type; allowed are"
        raise Failure(ErrorCode.UNSUPPORTED_FORMAT, f"{shorten(name)}: {seen} {' '.join(SUFFIXES)}")


def check_json(name: str, text: str) -> None:
    """Raises Failure(invalid_json) for text that any strict reader of JSON would refuse, or read
    differently from another (a key twice)."""
    import json

    # Numbers are only looked at, not built: a huge one is valid JSON.
    reader = json.JSONDecoder(
        object_pairs_hook=_unique_keys, parse_int=str, parse_float=str, parse_constant=_no_constant
    )
    try:
        reader.decode(text)
    except json.JSONDecodeError as problem:
        what = f"{problem.msg} at line {problem.lineno}, column {problem.colno}"
    except _Unfit as problem:
        what = str(problem)
    except RecursionError:
        what = "it is nested too deeply"
    else:
        return
    raise Failure(
        ErrorCode.INVALID_JSON, f"{name}: the content is not valid JSON: {what}. Mend it, or use another type."
    )


class _Unfit(Exception):
    """JSON that Python would take and others would not."""


def _no_constant(word: str) -> Any:
    raise _Unfit(f"{word} is not JSON; use null or a string")


def _unique_keys(pairs: list[tuple[str, Any]]) -> None:
    seen: set[str] = set()
    for key, _ in pairs:
        if key in seen:
            raise _Unfit(f"the key {shorten(key)} stands twice in one object")
        seen.add(key)
