"""Names of files that hold credentials. Pure: only names are looked at, never content."""

from __future__ import annotations

import re
from fnmatch import translate
from functools import lru_cache

from remit.base.lazy_pattern import lazy_pattern
from remit.workspace.base_names import NameSet, is_simple

FILES = (
    ".env",
    ".env.*",
    ".envrc",
    "*.env",
    "*.pem",
    "*.key",
    "*.p8",
    "*.pk8",
    "*.p12",
    "*.pfx",
    "*.ppk",
    "*.jks",
    "*.keystore",
    "*.kdb",
    "*.kdbx",
    "id_rsa",
    "id_dsa",
    "id_ecdsa",
    "id_ed25519",
    "id_ecdsa_sk",
    "id_ed25519_sk",
    "id_rsa.*",
    "id_dsa.*",
    "id_ecdsa.*",
    "id_ed25519.*",
    ".npmrc",
    ".pypirc",
    ".netrc",
    "_netrc",
    ".pgpass",
    ".my.cnf",
    ".git-credentials",
    ".htpasswd",
    ".dockercfg",
    ".vault-token",
    "credentials",
    "credentials.*",
    "*_credentials.json",
    "*-credentials.json",
    "*service*account*.json",
    "client_secret*.json",
    "secrets.yaml",
    "secrets.yml",
    "secrets.json",
    "secrets.toml",
)
"""Patterns of base names, lower case."""

PUBLIC = ("id_*.pub",)
"""Base names that fit a pattern above and are meant to be shown."""

FOLDERS = frozenset({".aws", ".ssh", ".gnupg", ".kube", ".azure", ".docker", "gcloud"})
"""Directories whose whole content counts, lower case."""


_FILES = NameSet.of(
    filter(is_simple, FILES), re.compile("|".join(translate(glob) for glob in FILES if not is_simple(glob)))
)
_PUBLIC = lazy_pattern("|".join(translate(glob) for glob in PUBLIC))


def looks_like_credentials(*names: str) -> bool:
    """Whether any of these POSIX names is, or lies in, what people keep credentials in.

    Hold it against both the spelled and the real name. Case does not matter, nor do dots and blanks
    at the end of a part, which some file systems drop.
    """
    return any(map(_is_credential, names))


def holds_credentials(name: str) -> bool:
    """Whether a POSIX name looks like credentials, or is that of a directory of them."""
    return _is_credential(name, FOLDERS)


def _is_credential(name: str, folders: frozenset[str] = frozenset()) -> bool:
    folder, _, base = name.rpartition("/")
    if folder and _in_credential_folder(folder):
        return True
    return _is_credential_file(base) or (bool(folders) and _folded(base) in folders)


# Both are asked again and again: for every file of a directory in turn, by every rule, of names that are in many
# directories.


@lru_cache(maxsize=4096)
def _in_credential_folder(folder: str) -> bool:
    return any(_folded(part) in FOLDERS for part in folder.split("/"))


@lru_cache(maxsize=4096)
def _is_credential_file(base: str) -> bool:
    base = _folded(base)
    return _FILES.holds(base) and _PUBLIC.match(base) is None


def _folded(part: str) -> str:
    return part.casefold().rstrip(". ")
