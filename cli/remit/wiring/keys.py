"""Where the key of a model comes from: a variable, the user's file of keys, a command that prints one."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress

from remit.base.errors import PreflightFault
from remit.base.redact import KeyGuard, Redactor
from remit.base.spec import ModelSpec
from remit.base.text import head
from remit.providers.opening import Credential
from remit.store.auth import AuthFile

COMMAND_SECONDS = 30.0
MAX_KEY_BYTES = 64 * 1024
MOST_PRINTED = 2 * MAX_KEY_BYTES
"""Of a token command, before it is ended: a key, and whatever stands around it."""


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
    try:
        code, printed, complaint = _run(model.token_command, environ, seconds)
    except TimeoutError:
        raise _failed(model, f"did not end within {seconds:g} s") from None
    except OSError as problem:
        raise _failed(model, f"cannot be started: {problem.strerror}") from None
    key = printed.decode("utf-8", "replace").strip()
    if not key or len(key) > MAX_KEY_BYTES or not key.isascii() or not key.isprintable():
        key = ""
    if code != 0 and len(printed) <= MOST_PRINTED:
        said = Redactor((key,)).text(" ".join(complaint.decode("utf-8", "replace").split()))
        raise _failed(model, f"ended with exit code {code}: {head(said, 300) or 'it said nothing'}")
    if not key:
        raise _failed(model, "did not print one line with a key")
    return key


def _run(command: Sequence[str], environ: Mapping[str, str], seconds: float) -> tuple[int, bytes, bytes]:
    """Exit code and the output of a program, which is ended when it prints more than a key can have, when
    its time is up, and with all that it started. Raises OSError, TimeoutError."""
    import selectors
    import signal
    import subprocess
    import time

    pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    deadline = time.monotonic() + seconds
    with (
        subprocess.Popen(command, env=environ, start_new_session=True, **pipes) as process,  # type: ignore[call-overload]
        selectors.DefaultSelector() as ready,
    ):
        read = {process.stdout: bytearray(), process.stderr: bytearray()}
        for pipe in read:
            ready.register(pipe, selectors.EVENT_READ)
        try:
            while ready.get_map() and all(len(data) <= MOST_PRINTED for data in read.values()):
                left = deadline - time.monotonic()
                if left <= 0:
                    raise TimeoutError
                for found, _ in ready.select(left):
                    if data := os.read(found.fd, MAX_KEY_BYTES):
                        read[found.fileobj] += data
                    else:
                        ready.unregister(found.fileobj)
            if not ready.get_map():
                process.wait(max(0.0, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            raise TimeoutError from None
        finally:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
    return process.returncode, bytes(read[process.stdout]), bytes(read[process.stderr])


def _failed(model: ModelSpec, what: str) -> PreflightFault:
    return PreflightFault(
        f"the token command of {model.provider}, {model.token_command[0]}, {what}",
        hint=f"run it by hand; it stands in [{model.provider}] of providers.toml",
        kind="no_key",
    )
