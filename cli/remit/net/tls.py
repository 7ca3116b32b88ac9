"""The one TLS context, built when the first https connection needs it."""

from __future__ import annotations

import os
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import ssl


@cache
def shared_context() -> ssl.SSLContext:
    """Verifies names and certificates against the system's authorities, or certifi's where the system
    has none. Building it takes tens of milliseconds, so there is one for the whole process."""
    import ssl

    context = ssl.create_default_context()
    if not _system_has_authorities(ssl.get_default_verify_paths()):
        import certifi

        context.load_verify_locations(certifi.where())
    return context


def _system_has_authorities(paths: ssl.DefaultVerifyPaths) -> bool:
    if paths.cafile is not None:
        return True
    if paths.capath is None:
        return False
    with os.scandir(paths.capath) as entries:
        return next(entries, None) is not None
