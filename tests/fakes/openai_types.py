"""Bodies against the types of the official `openai` package, which are the API's own description."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

from openai.types.chat.completion_create_params import CompletionCreateParamsStreaming
from openai.types.responses.response_create_params import ResponseCreateParamsStreaming
from pydantic import ConfigDict, TypeAdapter

TYPES: dict[str, Any] = {
    "/v1/chat/completions": CompletionCreateParamsStreaming,
    "/v1/responses": ResponseCreateParamsStreaming,
}


@cache
def _adapter(path: str) -> TypeAdapter[Any]:
    # The configuration reaches dictionaries only from the outside, so a list is put around them.
    return TypeAdapter(list[TYPES[path]], config=ConfigDict(extra="forbid", strict=False))


def check_body(path: str, body: Any) -> None:
    """path: without a query. Raises pydantic.ValidationError for a field that is wrong, missing, or not of the API."""
    _read_through(_adapter(path).validate_python([body]))


def _read_through(value: Any) -> None:
    """The package types many lists as iterables, whose items are checked only as they are read."""
    if isinstance(value, Mapping):
        value = value.values()
    if isinstance(value, Iterable) and not isinstance(value, (str, bytes)):
        for item in value:
            _read_through(item)
