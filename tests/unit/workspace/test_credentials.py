from __future__ import annotations

import pytest

from remit.workspace.credentials import FILES, looks_like_credentials

CREDENTIALS = [
    ".env",
    ".ENV",
    ".env.local",
    ".env.production",
    "docs/.env",
    "prod.env",
    ".envrc",
    "server.pem",
    "SERVER.PEM",
    "certs/ca.Pem",
    "private.key",
    "tls.KEY",
    "id_rsa",
    "ID_RSA",
    "id_dsa",
    "id_ecdsa",
    "id_ed25519",
    "keys/id_rsa",
    "id_rsa.bak",
    "id_ed25519_sk",
    ".npmrc",
    ".pypirc",
    ".netrc",
    "_netrc",
    ".pgpass",
    ".git-credentials",
    ".htpasswd",
    ".dockercfg",
    "store.p12",
    "cert.pfx",
    "vault.kdbx",
    "key.ppk",
    "app.keystore",
    "AuthKey.p8",
    "credentials",
    "CREDENTIALS",
    "credentials.json",
    "credentials.csv",
    "aws_credentials.json",
    "my-credentials.json",
    "service-account.json",
    "my-service-account-prod.json",
    "service_account.json",
    "serviceAccountKey.json",
    "client_secret_123.json",
    "secrets.yaml",
    ".aws/config",
    ".aws/anything.txt",
    "home/.ssh/known_hosts",
    ".ssh/config.txt",
    ".gnupg/x.txt",
    ".SSH/readme.md",
    ".kube/config",
    ".docker/config.json",
    ".config/gcloud/x.json",
    ".env.",
    "id_rsa..",
    ".env ",
    "a/.ssh /x.txt",
    "server.pem . ",
]

PLAIN = [
    "a.txt",
    "env",
    "env.txt",
    "environment.md",
    ".envelope",
    "envoy.yaml",
    "pem",
    "pem.txt",
    "key.txt",
    "keys.md",
    "keyboard.csv",
    "monkey.txt",
    "id_rsa.pub",
    "id_ed25519.pub",
    "idrsa",
    "my_id_rsa_notes.md",
    "credentials-howto.md",
    "credentialing.txt",
    "account.json",
    "service.json",
    "accounts.csv",
    ".ssh",
    ".aws",
    "docs/ssh/x.txt",
    "aws/config",
    ".gitignore",
    "secrets.md",
    ".",
]


@pytest.mark.parametrize("name", CREDENTIALS)
def test_credentials(name: str) -> None:
    assert looks_like_credentials(name)


@pytest.mark.parametrize("name", PLAIN)
def test_plain(name: str) -> None:
    assert not looks_like_credentials(name)


def test_any_of_the_names_counts() -> None:
    assert looks_like_credentials("notes.txt", ".env")
    assert looks_like_credentials(".env", "notes.txt")
    assert not looks_like_credentials("notes.txt", "real.txt")
    assert not looks_like_credentials()


def test_the_patterns_are_lower_case() -> None:
    assert all(pattern == pattern.casefold() for pattern in FILES)
