"""The encoding that a page declares for itself. Pure."""

from __future__ import annotations

import re

META_BYTES = 1024
"""Where a declaration has to stand, by the HTML standard."""

_COMMENT = re.compile(rb"<!--.*?(?:-->|\Z)", re.DOTALL)
_META = re.compile(rb"<meta[\s/][^>]*?charset\s*=\s*[\"']?\s*([^\s\"'/>;]+)", re.IGNORECASE)
_XML = re.compile(rb"\A<\?xml\s[^>]*?encoding\s*=\s*[\"']([A-Za-z][A-Za-z0-9._-]*)[\"']")


def declared_charset(body: bytes) -> str:
    """The label in an XML declaration or a `<meta>` at the start of a page; "" when there is none.

    A declaration that could be read is not UTF-16, whatever it says: it counts as UTF-8 then.
    """
    start = body[:META_BYTES]
    found = _XML.match(start) or _META.search(_COMMENT.sub(b"", start))
    if found is None:
        return ""
    label = found[1].decode("ascii", "replace").lower()
    return "utf-8" if label.startswith("utf-16") else label
