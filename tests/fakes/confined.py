"""Lines of bash in a sandbox on grounds made for it, as this user or as nobody: `Confined(...).run(...)`.

As a program it does the work, in a process that may give up its rights: a request as JSON on stdin, what
happened as JSON on stdout.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from fakes.unprivileged import NOBODY, become_nobody

SECRET = "the-secret-of-these-tests"


class Confined(NamedTuple):
    """What lines of bash came to. layers: of the sandbox. code, said: by the name of the line, the exit code and all
    that was printed. heard: whether a datagram or a connection arrived outside. left: files outside. closed: why
    there is no way out, where more is to be said than of the network."""

    layers: dict[str, str]
    code: dict[str, int | None]
    said: dict[str, str]
    heard: list[str]
    left: dict[str, list[Any]]
    closed: str


def confined(
    lines: Mapping[str, str],
    *,
    as_user: str = "self",
    bubblewrap: str = "",
    hosts: Sequence[str] = (),
    withheld: str = "",
    setup: str = "",
    replaced: Sequence[str] = (),
    own: Sequence[str] = (),
    python: Sequence[str] = (sys.executable,),
    environ: Mapping[str, str] | None = None,
    **wish: Any,
) -> Confined:
    """Run lines one after another. They see these variables: OUTSIDE, a directory that is none of their business,
    with a file `kept`; TCP, UDP, PID, UNIX of those outside; WORK, ART, OWN, SHARED. as_user: `self` or `nobody`.
    wish: facilities to use, none: all. bubblewrap: the program to use where they hide nothing. hosts: those that can
    be connected to, where a server at the end says `come-through`, and leads from /moved to http://other.example/.
    withheld: a directory of the workspace that rules withhold. setup: runs first, in the workspace, unconfined.
    replaced, own: more directories that are replaced, or hidden. python, environ: what runs all of this."""
    asked = {
        "lines": dict(lines),
        "user": as_user,
        "wish": wish,
        "bubblewrap": bubblewrap,
        "hosts": list(hosts),
        "withheld": withheld,
        "setup": setup,
        "replaced": list(replaced),
        "own": list(own),
    }
    request = json.dumps(asked)
    # One at a time: each hides the sockets of the machine, those of the others among them, which come and go.
    with open(Path(tempfile.gettempdir()) / "remit-confined.lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = subprocess.run(
            [*python, __file__],
            input=request.encode(),
            env=environ,
            capture_output=True,
            check=False,
            timeout=120,
        )
    assert done.returncode == 0, done.stderr.decode()
    return Confined(**json.loads(done.stdout))


def _grounds(base: Path) -> dict[str, Path]:
    places = {name: base / name for name in ("work", "art", "own", "outside", "home", "shared", "private")}
    for place in places.values():
        place.mkdir()
    for secret in (
        "home/.ssh/id_rsa",
        "home/.netrc",
        "work/.env",
        "work/conf/.env",
        "work/.aws/config",
        "own/auth.toml",
    ):
        (base / secret).parent.mkdir(exist_ok=True)
        (base / secret).write_text(SECRET)
    (base / "shared" / "theirs").write_text(SECRET)
    (base / "work" / "rules.toml").write_text("rules\n")
    (base / "outside" / "kept").write_text("kept\n")
    (base / "outside" / "kept").chmod(0o644)
    return places


async def _run(
    sandbox: Any, work: Path, environment: Mapping[str, str], line: str, hosts: Sequence[str]
) -> tuple[int | None, str]:
    from remit.base.resources import Effect, Resource
    from remit.workspace.process import ProcessGrant

    said = bytearray()
    resources = [Resource("command", line, Effect.EXECUTE)]
    async with _web(hosts) as way_out:
        process = ProcessGrant(str(work), resources, environment, confinement=sandbox, way_out=way_out)
        finished = await process.shell(line, workdir=".", seconds=20, take=lambda stream, data: said.extend(data))
    return finished.exit_code, said.decode("utf-8", "replace")


@contextlib.asynccontextmanager
async def _web(hosts: Sequence[str]) -> AsyncIterator[Any]:
    """The proxy for these hosts, which all lead to one server, but for `private.example`."""
    if not hosts:
        yield None
        return
    from fakes.web import Names, ToLoopback, redirect, response, serve
    from remit.net.proxy import CommandProxy

    def judge(name: str) -> str:
        host = name.removeprefix("http://").partition("/")[0].partition(":")[0]
        return "" if host in hosts else "it is not granted"

    answers = {"/": response(b"come-through"), "/moved": redirect("http://other.example/")}
    async with serve(answers) as site:
        yield CommandProxy(
            judge,
            lambda: None,
            lambda *told: None,
            ports=(80, 443),
            resolver=Names({"private.example": [["127.0.0.1"]]}),
            connector=ToLoopback(site.port),
        )


def _main() -> None:
    request = json.load(sys.stdin)
    base = Path(tempfile.mkdtemp(prefix="confined-"))
    try:
        print(json.dumps(_perform(base.resolve(), request)))
    finally:
        shutil.rmtree(base, ignore_errors=True)


def _perform(base: Path, request: Mapping[str, Any]) -> dict[str, Any]:
    import msgspec

    from remit.workspace.sandbox import Facilities, Grounds
    from remit.workspace.sandbox_probe import probe, wished
    from remit.workspace.sandbox_secrets import WorkspaceSecrets, hidden

    base.chmod(0o755)
    places = _grounds(base)
    if request["user"] == "nobody" and os.geteuid() == 0:
        for path in (base, *base.rglob("*")):
            os.chown(path, NOBODY, NOBODY)
        become_nobody()
    os.environ["HOME"] = str(places["home"])
    os.environ["OUTER"] = SECRET
    with contextlib.ExitStack() as stack:
        tcp, udp, unix = (
            stack.enter_context(socket.socket(family, kind))
            for family, kind in (
                (socket.AF_INET, socket.SOCK_STREAM),
                (socket.AF_INET, socket.SOCK_DGRAM),
                (socket.AF_UNIX, socket.SOCK_STREAM),
            )
        )
        tcp.bind(("127.0.0.1", 0))
        udp.bind(("127.0.0.1", 0))
        unix.bind(str(base / "outside" / "daemon"))
        for listener in (tcp, unix):
            listener.listen()
        bystander = stack.enter_context(
            subprocess.Popen(["sleep", "300"], env={"OUTER": SECRET, "PATH": os.environ["PATH"]})
        )
        stack.callback(bystander.kill)
        environment = {
            "WORK": str(places["work"]),
            "ART": str(places["art"]),
            "OUTSIDE": str(places["outside"]),
            "OWN": str(places["own"]),
            "SHARED": str(places["shared"]),
            "TCP": str(tcp.getsockname()[1]),
            "UDP": str(udp.getsockname()[1]),
            "UNIX": str(base / "outside" / "daemon"),
            "PID": str(bystander.pid),
        }
        grounds = Grounds(
            workspace=str(places["work"]),
            private=str(places["private"]),
            artifacts=str(places["art"]),
            own=(str(places["own"]), *request["own"]),
            fixed=(str(places["work"] / "rules.toml"),),
            shared=(str(places["shared"]), *request["replaced"]),
        )
        if request["setup"]:
            subprocess.run(["bash", "-c", request["setup"]], cwd=places["work"], check=True, capture_output=True)
        wish = msgspec.convert(request["wish"], Facilities) if request["wish"] else wished()
        below = f"{request['withheld']}/" if request["withheld"] else "/"
        secrets = WorkspaceSecrets(str(places["work"]), lambda name: hidden(name) or name.startswith(below))
        sandbox = probe(grounds, secrets, wish, request["bubblewrap"], opens=bool(request["hosts"]))
        ran = {}
        held = sandbox.layers()["processes"].held
        for name, line in request["lines"].items():
            # Unconfined, this would end whatever runs on this machine.
            assert held or "kill -9 -1" not in line, sandbox.layers()
            ran[name] = asyncio.run(_run(sandbox, places["work"], environment, line, request["hosts"]))
        heard = [name for name, each in (("tcp", tcp), ("udp", udp), ("unix", unix)) if _heard(each)]
        if bystander.poll() is not None:
            heard.append("signal")
        left = {
            path.name: [path.lstat().st_mode & 0o7777, path.lstat().st_size, int(path.lstat().st_mtime)]
            for path in places["outside"].iterdir()
        }
        sandbox.close()
        assert not places["private"].exists()
    return {
        "layers": {name: str(layer) for name, layer in sandbox.layers().items()},
        "code": {name: code for name, (code, _) in ran.items()},
        "said": {name: said for name, (_, said) in ran.items()},
        "heard": heard,
        "left": left,
        "closed": sandbox.why_closed,
    }


def _heard(listener: socket.socket) -> bool:
    listener.setblocking(False)
    with contextlib.suppress(BlockingIOError):
        if listener.type == socket.SOCK_DGRAM:
            return bool(listener.recv(100))
        listener.accept()[0].close()
        return True
    return False


if __name__ == "__main__":
    _main()
