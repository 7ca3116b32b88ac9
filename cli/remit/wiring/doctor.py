"""What a person wants to know of this installation before a run: what is there, what works, what holds."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Callable, Iterator, Mapping
from typing import Literal

import msgspec

from remit import __version__
from remit.base.errors import Failure, RemitError
from remit.config.settings import Settings, load_settings

State = Literal["ok", "note", "broken"]

CONNECT_SECONDS = 0.3
"""For a server on loopback to take a connection."""


class Finding(msgspec.Struct, frozen=True):
    """One line. area: what it is about. state: `note` for what is not there and need not be; `broken` for what
    makes runs fail."""

    area: str
    name: str
    state: State
    detail: str


Look = Callable[[Settings, Mapping[str, str]], Iterator[Finding]]


def examine(environ: Mapping[str, str], *, parts: bool = False) -> Iterator[Finding]:
    """Everything there is to tell, in order. parts: try what remit is made of as well. Raises nothing."""
    yield from _installation()
    try:
        settings = load_settings(environ)
    except RemitError as error:
        yield Finding("settings", "remit.toml", "broken", str(error))
        return
    for look in (_settings, _keys, _servers, _policies, _sandbox, _places, *((_parts,) if parts else ())):
        try:
            yield from look(settings, environ)
        except RemitError as error:
            yield Finding(look.__name__.strip("_"), "", "broken", str(error))


def _installation() -> Iterator[Finding]:
    how = "one file" if getattr(sys, "frozen", False) else f"package, {sys.executable}"
    yield Finding("remit", __version__, "ok", how)
    system = f"{platform.system()} {platform.release()} {platform.machine()}"
    yield Finding("python", platform.python_version(), "ok", system)


def _settings(settings: Settings, environ: Mapping[str, str]) -> Iterator[Finding]:
    for path in settings.files:
        yield Finding("settings", path, "ok", "read")
    if not settings.files:
        yield Finding("settings", "remit.toml", "note", f"none in {settings.config_dir}: the defaults hold")
    if settings.model:
        yield Finding("settings", "model", "ok", f"{settings.model} [{settings.origin('model')}]")
    else:
        yield Finding("settings", "model", "note", "no default: name one with -m, REMIT_MODEL or `model`")


def _keys(settings: Settings, environ: Mapping[str, str]) -> Iterator[Finding]:
    """Where keys come from; never a key."""
    from remit.config.providers import key_source, load_providers
    from remit.store.auth import AuthFile

    stored = AuthFile(settings.config_dir).read()
    found = [
        (entry.name, source)
        for entry in load_providers(settings.config_dir).entries.values()
        if (source := key_source(entry, environ, stored)).kind != "none"
    ]
    for name, source in found:
        yield Finding("keys", name, "ok", str(source))
    if not found:
        yield Finding("keys", "", "note", "none found: set a provider's variable, or `remit auth set PROVIDER`")


def _servers(settings: Settings, environ: Mapping[str, str]) -> Iterator[Finding]:
    """Servers of models on this machine that take a connection."""
    import socket
    from urllib.parse import urlsplit

    from remit.config.providers import load_providers

    for entry in load_providers(settings.config_dir).entries.values():
        url = urlsplit(environ.get(entry.base_url_env, "") or entry.base_url)
        if url.hostname not in ("127.0.0.1", "localhost", "::1"):
            continue
        port = url.port or (443 if url.scheme == "https" else 80)
        try:
            socket.create_connection((url.hostname, port), CONNECT_SECONDS).close()
        except OSError:
            yield Finding("servers", entry.name, "note", f"nothing listens at {url.hostname}:{port}")
        else:
            yield Finding("servers", entry.name, "ok", f"{url.hostname}:{port} takes connections")


def _policies(settings: Settings, environ: Mapping[str, str]) -> Iterator[Finding]:
    """The rule files that hold for every run from here."""
    from remit.config.flags import RunFlags
    from remit.wiring.offer import load_rules, spec_without_prompt

    spec = spec_without_prompt(RunFlags(), settings)
    for source in spec.policies:
        standing = "only tightens" if source.kind == "project" else "always holds"
        yield Finding("policy", source.path, "ok", f"{source.kind}, {standing}")
    if not spec.policies:
        yield Finding("policy", "", "note", "no files of the user or of this project: only the built-in rules")
    load_rules(spec, settings, environ)


def _sandbox(settings: Settings, environ: Mapping[str, str]) -> Iterator[Finding]:
    """What this machine lends to confine commands."""
    from remit.config.flags import RunFlags
    from remit.store.leavings import Leavings
    from remit.wiring.confine import try_out
    from remit.wiring.offer import load_rules, spec_without_prompt

    if settings.sandbox == "off":
        yield Finding("sandbox", "", "note", f"off [{settings.origin('sandbox.mode')}]")
        return
    spec = spec_without_prompt(RunFlags(tools=("shell=auto",)), settings)
    leavings = Leavings(settings.state_dir)
    sandbox = try_out(spec, settings, load_rules(spec, settings, environ), leavings, opens=True)
    try:
        missing: State = "broken" if settings.sandbox == "required" else "note"
        for name, layer in sandbox.layers().items():
            yield Finding("sandbox", name, "ok" if layer.held else missing, str(layer))
        if not sandbox.opens and sandbox.layers()["network"].held:
            why = sandbox.why_closed or "there is no network namespace"
            yield Finding("sandbox", "granted hosts", "note", f"commands reach none: {why}")
    finally:
        sandbox.close()
        leavings.close()


def _places(settings: Settings, environ: Mapping[str, str]) -> Iterator[Finding]:
    """The directories that remit writes to."""
    for name, path in (("state", settings.state_dir), ("cache", settings.cache_dir)):
        if not path:
            yield Finding("places", name, "note", "off")
            continue
        above = path
        while not os.path.exists(above):
            above = os.path.dirname(above)
        usable = os.path.isdir(above) and os.access(above, os.W_OK | os.X_OK)
        size = f", {_size(path) / (1 << 20):.1f} MiB" if os.path.isdir(path) else ", not made yet"
        state: State = "ok" if usable else "broken" if name == "state" else "note"
        yield Finding("places", name, state, f"{path}{size}{'' if usable else ', cannot be written'}")


def _size(place: str) -> int:
    total = 0
    for folder, _, files in os.walk(place):
        for file in files:
            try:
                total += os.lstat(os.path.join(folder, file)).st_size
            except OSError:
                continue
    return total


# -- what remit is made of ------------------------------------------------------------------------


def _parts(settings: Settings, environ: Mapping[str, str]) -> Iterator[Finding]:
    for name, attempt in _ATTEMPTS.items():
        try:
            yield Finding("parts", name, "ok", attempt())
        except _Absent as absent:
            yield Finding("parts", name, "note", str(absent))
        except (Failure, RemitError, OSError, ImportError, ValueError, RuntimeError) as problem:
            yield Finding("parts", name, "broken", f"{type(problem).__name__}: {problem}")


class _Absent(Exception):
    """A part that is optional, and not there."""


def _tools() -> str:
    from remit.tools.registry import all_tools

    return f"{len([tool.spec() for tool in all_tools().values()])} load"


def _grammars() -> str:
    from remit.code.installed import missing_grammars
    from remit.code.languages import LANGUAGES
    from remit.code.pool import Job, Pool

    if missing := missing_grammars():
        raise RuntimeError(missing)
    pool = Pool(1)
    try:
        for language in LANGUAGES:
            if pool.read_one(Job(language.name.encode(), language.name, b"\n"), lambda: None) is None:
                raise RuntimeError(f"no reader of {language.name} survives")
    finally:
        pool.close()
    return f"{len(LANGUAGES)} languages are read"


def _ripgrep() -> str:
    import subprocess

    from remit.workspace.search_ripgrep import find_ripgrep

    path = find_ripgrep()
    if path is None:
        raise _Absent("not found; searching goes on without it, more slowly")
    said = subprocess.run(
        [path, "--version"], check=True, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=10
    )
    return said.stdout.splitlines()[0]


def _bash() -> str:
    from remit.workspace.process import find_bash

    try:
        return find_bash()
    except Failure as failure:
        raise _Absent(f"{failure.message}; the tool shell fails") from None


def _interpreter() -> str:
    import asyncio

    from remit.workspace.monty import MontyInterpreter, find_worker, missing_interpreter

    if missing := missing_interpreter():
        raise _Absent(missing)
    evaluated = asyncio.run(MontyInterpreter(find_worker()).run("6 * 7", seconds=10))
    if evaluated.value != 42:
        raise RuntimeError(f"6 * 7 came to {evaluated}")
    return "evaluates"


def _pictures() -> str:
    from remit.workspace.pictures import missing_pictures

    if missing := missing_pictures():
        raise _Absent(missing)
    return "can be read"


def _tls() -> str:
    from remit.net.tls import shared_context

    context = shared_context()
    return f"{context.cert_store_stats()['x509_ca']} authorities are trusted"


_ATTEMPTS: dict[str, Callable[[], str]] = {
    "tools": _tools,
    "grammars": _grammars,
    "ripgrep": _ripgrep,
    "bash": _bash,
    "interpreter": _interpreter,
    "pictures": _pictures,
    "tls": _tls,
}
