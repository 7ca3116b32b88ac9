"""Names that people write in tasks and settings, and what can be wrong with them."""

from __future__ import annotations

import os
import re
import shlex

from remit.base.text import shorten

_LABEL = r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?"
_HOST = re.compile(rf"{_LABEL}(?:\.{_LABEL})*\Z")


def normal_host(host: str) -> str:
    """A host name in lower case, without the dot at the end."""
    return host.lower().removesuffix(".")


def host_fault(host: str) -> tuple[str, str]:
    """Why this is no host name, and what to do; two empty strings when it is one."""
    name = normal_host(host)
    if _HOST.match(name) and len(name) <= 253:
        return "", ""
    if not name.isascii():
        return "a host name is written in ASCII", _punycode(name)
    if name.startswith("*."):
        return "a host name has no wildcard", f"write {name[2:]}: it covers its subdomains"
    if "/" in name or ":" in name:
        return "expected a host name without scheme, port and path", ""
    return "not a host name", ""


def _punycode(name: str) -> str:
    try:
        return f"write {name.encode('idna').decode()}"
    except UnicodeError:
        return ""


def directory_fault(path: str) -> str:
    """Why a path is no directory to work in, or ""."""
    if os.path.isdir(path):
        return ""
    return "not a directory" if os.path.lexists(path) else "there is no such directory"


def model_fault(model: str) -> str:
    """Why this is no model's name, or ""."""
    if not model or all(model.partition("/")) or (model.isidentifier() and model.isascii()):
        return ""
    return f"expected PROVIDER/NAME, seen {shorten(model)}"


def artifact_fault(name: str) -> str:
    """Why this is no artifact's name, or ""."""
    if not name or len(name.encode()) > 255:
        return "an artifact's name has 1 to 255 bytes"
    if "/" in name or "\\" in name:
        return "an artifact's name is a bare file name, without folders"
    if name.startswith("."):
        return "an artifact's name does not start with a dot"
    return "" if name.isprintable() else "an artifact's name has printable characters only"


def check_fault(command: str) -> str:
    """Why this is no command, or ""."""
    try:
        words = shlex.split(command)
    except ValueError as problem:
        return f"not a command: {str(problem).lower()}"
    return "" if words and words[0] else "the command is empty"
