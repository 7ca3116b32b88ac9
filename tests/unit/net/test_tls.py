from __future__ import annotations

import ssl
import subprocess
import sys
from pathlib import Path

import trustme

from remit.net.tls import shared_context

COUNT = "from remit.net.tls import shared_context; print(shared_context().cert_store_stats()['x509_ca'])"


def authorities(**environment: str) -> int:
    """How many authorities the shared context of a new process trusts from the start."""
    done = subprocess.run([sys.executable, "-c", COUNT], env=environment, capture_output=True, text=True, check=True)
    return int(done.stdout)


def test_one_context_verifies_for_all() -> None:
    context = shared_context()
    assert shared_context() is context
    assert context.verify_mode is ssl.CERT_REQUIRED
    assert context.check_hostname


def test_the_systems_authorities_come_first(tmp_path: Path) -> None:
    trustme.CA().cert_pem.write_to_path(tmp_path / "own.pem")
    assert authorities(SSL_CERT_FILE=str(tmp_path / "own.pem"), SSL_CERT_DIR=str(tmp_path / "none")) == 1


def test_without_authorities_of_the_system_those_of_certifi_serve(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    for directory in ("empty", "none"):
        found = authorities(SSL_CERT_FILE=str(tmp_path / "none.pem"), SSL_CERT_DIR=str(tmp_path / directory))
        assert found > 50
