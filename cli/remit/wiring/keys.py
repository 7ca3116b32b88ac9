"""Where the key of a model comes from: a variable, the user's file of keys, a command that prints one."""

from __future__ import annotations

from collections.abc import Mapping

from remit.base.errors import PreflightFault
from remit.base.redact import KeyGuard, Redactor
from remit.base.spec import ModelSpec
from remit.base.text import head
from remit.providers.opening import Credential
from remit.store.auth import AuthFile

COMMAND_SECONDS = 30.0
MAX_KEY_BYTES = 64 * 1024


def find_credential(model: ModelSpec, environ: Mapping[str, str], config_dir: str, guard: KeyGuard) -> Credential:
    """The key of a model, none where there is none. The guard learns it, and each one it is renewed by.

    Raises PreflightFault: an unsafe file of keys, a command that gives none."""
    found = _find(model, environ, config_dir, guard)
    guard.add(found.value)
    return found


def _find(model: ModelSpec, environ: Mapping[str, str], config_dir: str, guard: KeyGuard) -> Credential:
    for name in model.key_env:
        if value := environ.get(name, "").strip():
            return Credential(value, name)
    if model.key_env:
        file = AuthFile(config_dir)
        if value := file.read().get(model.provider, ""):
            return Credential(value, file.path)
    if not model.token_command:
        return Credential()

    def renew() -> str:
        key = printed_key(model, environ)
        guard.add(key)
        return key

    return Credential(renew(), f"the token command of {model.provider}", renew)


def printed_key(model: ModelSpec, environ: Mapping[str, str], *, seconds: float = COMMAND_SECONDS) -> str:
    """What the token command of a model prints within so many seconds. Raises PreflightFault."""
    import subprocess  # most runs start no program

    command = model.token_command
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, timeout=seconds, env=environ, check=False
        )
    except subprocess.TimeoutExpired:
        raise _failed(model, f"did not end within {seconds:g} s") from None
    except OSError as problem:
        raise _failed(model, f"cannot be started: {problem.strerror}") from None
    key = done.stdout[: MAX_KEY_BYTES + 1].decode("utf-8", "replace").strip()
    if done.returncode != 0:
        said = Redactor((key,)).text(" ".join(done.stderr.decode("utf-8", "replace").split()))
        raise _failed(model, f"ended with exit code {done.returncode}: {head(said, 300) or 'it said nothing'}")
    if not key or len(key) > MAX_KEY_BYTES or not key.isascii() or not key.isprintable():
        raise _failed(model, "did not print one line with a key")
    return key


def _failed(model: ModelSpec, what: str) -> PreflightFault:
    return PreflightFault(
        f"the token command of {model.provider}, {model.token_command[0]}, {what}",
        hint=f"run it by hand; it stands in [{model.provider}] of providers.toml",
        kind="no_key",
    )
