"""Where remit keeps the user's settings and its own state."""

from __future__ import annotations

import os
from collections.abc import Mapping

CONFIG_DIR = "REMIT_CONFIG_DIR"
STATE_DIR = "REMIT_STATE_DIR"
CACHE_DIR = "REMIT_CACHE_DIR"


def config_dir(environ: Mapping[str, str]) -> str:
    """The directory of `remit.toml` and the user's `policy.toml`; it may not exist."""
    if environ.get(CONFIG_DIR):
        return os.path.abspath(environ[CONFIG_DIR])
    import platformdirs

    return platformdirs.user_config_dir("remit", appauthor=False)


def state_dir(environ: Mapping[str, str]) -> str:
    """The directory of runs, proposals and counts of used approvals; it may not exist.

    The setting `state_dir` goes before this one's default, see `settings.load_settings`."""
    if environ.get(STATE_DIR):
        return os.path.abspath(environ[STATE_DIR])
    import platformdirs

    return _own(platformdirs.user_state_dir("remit", appauthor=False))


def cache_dir(environ: Mapping[str, str]) -> str:
    """The directory of what remit can find out anew at any time; it may not exist.

    The setting `cache_dir` goes before this one's default, see `settings.load_settings`."""
    if environ.get(CACHE_DIR):
        return os.path.abspath(environ[CACHE_DIR])
    import platformdirs

    return _own(platformdirs.user_cache_dir("remit", appauthor=False))


def examples_dir() -> str:
    """The directory of copies of examples: not one of remit's own, which no run may read. It may not exist."""
    import platformdirs

    return _own(platformdirs.user_data_dir("remit-examples", appauthor=False))


def _own(path: str) -> str:
    """`path`; for root, who was left the home directory of another user, the same place in root's own. What root makes
    in that of another, that user could not change any more."""
    home = os.path.expanduser("~")
    if os.geteuid() != 0 or not path.startswith(f"{home}/"):
        return path
    above = path
    while not os.path.lexists(above):
        above = os.path.dirname(above)
    try:
        owner = os.stat(above).st_uid
    except OSError:
        return path
    return path if owner == 0 else _home_of_root() + path[len(home) :]


def _home_of_root() -> str:
    import pwd

    try:
        return pwd.getpwuid(0).pw_dir
    except KeyError:
        return "/root"
