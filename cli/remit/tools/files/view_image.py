"""view_image: a picture of the workspace, for models that see."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import msgspec

from remit.base.calls import Outcome, done
from remit.base.errors import ErrorCode, Failure
from remit.base.limits import Bounds
from remit.base.messages import ImageBlock
from remit.base.pictures import MAX_INPUT_BYTES, kind_of
from remit.base.ports import ToolContext, World
from remit.base.resources import Effect, Resource
from remit.base.text import shorten, visible
from remit.tools.contract import Tool
from remit.workspace.pictures import Fitted, fit_picture


class ViewImageParams(msgspec.Struct, forbid_unknown_fields=True):
    path: Annotated[
        str | msgspec.UnsetType, msgspec.Meta(description="Picture inside the workspace, relative or absolute.")
    ] = msgspec.UNSET
    file_path: Annotated[str | msgspec.UnsetType, msgspec.Meta(description="Another word for path.")] = msgspec.UNSET


class ViewImage(Tool):
    """See a picture: PNG, JPEG, GIF or WebP, by what the file holds, not by its name.

    You get the picture itself and a line with its size. Give path. Files up to 50 MiB and 50 megapixels. A
    picture over 1,568 pixels an edge or 3 MiB is made smaller before you see it, and the line says so; what is
    turned by its metadata is put upright, and of an animation you see the first frame. A file that is cut off
    or broken is an error (picture_invalid). file_read is for text.
    """

    name = "view_image"
    toolset = "files"
    effects = frozenset({Effect.READ})
    bounds = Bounds()
    repeatable = True
    hands = frozenset({"pictures"})
    Params = ViewImageParams

    def schema(self) -> dict[str, Any]:
        """Offers `path` alone; its other word is understood."""
        schema = dict(super().schema())
        schema["properties"] = {"path": schema["properties"]["path"]}
        schema["required"] = ["path"]
        return schema

    def parse(self, arguments: str) -> ViewImageParams:
        """Raises Failure(invalid_arguments) unless exactly one of the two words is there."""
        params: ViewImageParams = super().parse(arguments)
        given = [value for value in (params.path, params.file_path) if isinstance(value, str)]
        if len(given) != 1:
            raise Failure(ErrorCode.INVALID_ARGUMENTS, "view_image: give path, once: the picture to see")
        return ViewImageParams(path=given[0])

    def resources(self, params: ViewImageParams, world: World) -> Sequence[Resource]:
        return [world.path(world.relative(_path(params)), Effect.READ)]

    async def run(self, params: ViewImageParams, ctx: ToolContext) -> Outcome:
        outcome: Outcome = await ctx.in_thread(_view, _path(params), ctx)
        return outcome


def _path(params: ViewImageParams) -> str:
    assert isinstance(params.path, str)
    return params.path


def _view(path: str, ctx: ToolContext) -> Outcome:
    import base64

    original = ctx.files.read(path, MAX_INPUT_BYTES)
    content = original.content or b""
    try:
        fitted = fit_picture(content, ctx.check_cancelled)
    except Failure as failure:
        if failure.code is ErrorCode.CANCELLED:
            raise
        raise Failure(failure.code, f"{shorten(original.name)}: {failure.message}") from None
    image = ImageBlock(fitted.media_type, base64.b64encode(fitted.data).decode("ascii"))
    data = {
        "path": original.name,
        "size": len(content),
        "mediaType": fitted.header.media_type,
        "width": fitted.header.width,
        "height": fitted.header.height,
        "shown": {
            "size": len(fitted.data),
            "mediaType": fitted.media_type,
            "width": fitted.width,
            "height": fitted.height,
            "changes": list(fitted.done),
        },
    }
    return done(data, _caption(original.name, len(content), fitted), (image,))


def _caption(name: str, size: int, fitted: Fitted) -> str:
    header = fitted.header
    text = f"{visible(name)}: {kind_of(header.media_type)}, {size} bytes, {header.width}x{header.height}"
    if not fitted.done:
        return f"{text}\n"
    kind = kind_of(fitted.media_type)
    return f"{text} [shown as {kind} of {fitted.width}x{fitted.height}: {'; '.join(fitted.done)}]\n"
