"""Names of files that hold credentials. Pure: only names are looked at, never content."""

from __future__ import annotations

from fnmatch import fnmatchcase

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


def looks_like_credentials(*names: str) -> bool:
    """Whether any of these POSIX names is, or lies in, what people keep credentials in.

    Hold it against both the spelled and the real name. Case does not matter, nor do dots and blanks
    at the end of a part, which some file systems drop.
    """
    return any(_is_credential(name) for name in names)


def _is_credential(name: str) -> bool:
    parts = [part.rstrip(". ") for part in name.casefold().split("/")]
    if any(part in FOLDERS for part in parts[:-1]):
        return True
    base = parts[-1]
    if any(fnmatchcase(base, pattern) for pattern in PUBLIC):
        return False
    return any(fnmatchcase(base, pattern) for pattern in FILES)
