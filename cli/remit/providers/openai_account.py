"""What both APIs of OpenAI share, and the servers that copied them."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

from remit.base.lazy_pattern import lazy_pattern
from remit.base.messages import Effort
from remit.providers.opening import Opening

EFFORTS: dict[Effort, str] = {"off": "none", "low": "low", "medium": "medium", "high": "high", "max": "xhigh"}
"""`xhigh` is the highest word that all models with an effort above `high` take."""


def openai_headers(opening: Opening) -> dict[str, str]:
    """The organisation and project that the official client takes from the environment."""
    if opening.model.provider != "openai":
        return {}
    names = {"OpenAI-Organization": "OPENAI_ORG_ID", "OpenAI-Project": "OPENAI_PROJECT_ID"}
    return {header: value for header, name in names.items() if (value := opening.environ.get(name, ""))}


def host_of(opening: Opening) -> str:
    return (urlsplit(opening.base_url).hostname or "").lower()


_FOREIGN = lazy_pattern(r"[^a-zA-Z0-9_-]")
_MAX_NAME = 64


def sound_name(tool: str) -> str:
    """A name that the servers take back. Models make up names of tools too, and one such call in the
    transcript would have every later request refused."""
    return _FOREIGN.sub("_", tool)[:_MAX_NAME] or "_"


class IdShape:
    """What a server takes as the id of a call. pattern: of all of it; length: of the ids that replace others."""

    def __init__(self, pattern: str, length: int) -> None:
        self._pattern = re.compile(pattern, re.DOTALL)
        self._length = length

    def fit(self, call_id: str) -> str:
        """The id, or one made from it, always the same. Calls of another model bring ids that this server
        refuses, and the whole request with them."""
        if self._pattern.fullmatch(call_id):
            return call_id
        from hashlib import sha256

        return sha256(call_id.encode("utf-8", "replace")).hexdigest()[: self._length]
