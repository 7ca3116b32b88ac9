"""Regular expressions that are compiled when they are first used.

A run loads many modules and uses few of their patterns: compiling all of them takes a tenth of the time to start.
"""

from __future__ import annotations

import re
from typing import Any, AnyStr, cast

METHODS = ("search", "match", "fullmatch", "finditer", "findall", "split", "sub", "subn")


class _Lazy:
    """Becomes as quick as the compiled pattern with its first use."""

    def __init__(self, source: Any, flags: int) -> None:
        self._source = source
        self._flags = flags

    def __getattr__(self, name: str) -> Any:
        compiled = re.compile(self._source, self._flags)
        vars(self).update((method, getattr(compiled, method)) for method in METHODS)
        return getattr(compiled, name)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Lazy) and (self._source, self._flags) == (other._source, other._flags)

    def __hash__(self) -> int:
        return hash((self._source, self._flags))


def lazy_pattern(source: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """As `re.compile`, but for an error in the pattern, which shows when it is used. Not for `re.sub` and its like,
    which want the pattern itself."""
    return cast("re.Pattern[AnyStr]", _Lazy(source, flags))
