"""Each layer of the sandbox, from inside: what a command tries, and what it comes to."""

from __future__ import annotations

import os
import sys
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import pytest

import remit
from fakes.confined import SECRET, Confined, confined
from fakes.programs import needs
from remit.workspace.sandbox_rights import MAX_FILE_BYTES, MAX_MEMORY_BYTES, landlock_abi

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the sandbox is made of parts of Linux")

PTRACE = (
    "python3 -c 'import ctypes, os, sys; libc = ctypes.CDLL(None); "
    'sys.exit(libc.ptrace(16, int(os.environ["PID"]), None, None) and 1)\''
)
CONNECT_UNIX = "python3 -c 'import os, socket; socket.socket(socket.AF_UNIX).connect(os.environ[\"UNIX\"])'"

WRITES = {
    "create": "echo x > $OUTSIDE/new",
    "append": "echo x >> $OUTSIDE/kept",
    "truncate": "truncate -s 0 $OUTSIDE/kept",
    "remove": "rm -f $OUTSIDE/kept",
    "rename": "mv $OUTSIDE/kept $OUTSIDE/moved",
    "bring in": "mv $OUTSIDE/kept .",
    "link": "ln $OUTSIDE/kept inner && echo x >> inner",
    "through a link": "ln -s $OUTSIDE out; echo x > out/new",
    "directory": "mkdir $OUTSIDE/directory",
    "pipe": "mkfifo $OUTSIDE/pipe",
    "up": "echo x > ../outside/new",
    "through /proc": "echo x > /proc/self/cwd/../outside/new",
    "through the root of a process": "echo x > /proc/1/root$OUTSIDE/new",
}
METADATA = {"mode": "chmod 777 $OUTSIDE/kept", "times": "touch -d 2001-01-01 $OUTSIDE/kept"}
READS = {
    "ssh key": "cat ~/.ssh/id_rsa",
    "netrc": "cat ~/.netrc",
    "env file": "cat .env",
    "env file by another way": "cat /proc/self/cwd/.env; cat conf/../.env; cat $WORK/.env",
    "env file below": "cat conf/.env",
    "credentials directory": "cat .aws/config; ls .aws",
    "own files": "cat $OWN/auth.toml",
    "temporary files of others": "cat $SHARED/theirs",
    "unmount": "umount .env; umount -l .env; cat .env",
    "unmount as root of a namespace": "unshare -rm sh -c 'umount .env; cat .env'",
    "hard link": "ln .env here; cat here",
    "copy": "cp -a . ../shared/copy; cat ../shared/copy/.env",
    "archive": "tar cf - . 2>/dev/null",
    "before the mounts": "cat /proc/1/root/$WORK/.env; cat /proc/1/cwd/$WORK/.env",
}
NETWORK = {
    "tcp": "exec 3<>/dev/tcp/127.0.0.1/$TCP",
    "udp": "echo x > /dev/udp/127.0.0.1/$UDP; false",
    "tcp to the world": "exec 3<>/dev/tcp/192.0.2.1/80",
}
PROCESSES = {
    "signal": "kill -9 $PID",
    "all signals": "kill -9 -1; false",
    "trace": PTRACE,
    "environment": "tr '\\0' '\\n' < /proc/$PID/environ",
    "memory": "head -c 1 /proc/$PID/mem",
}
USERS = ("self", "nobody") if os.geteuid() == 0 else ("self",)


@cache
def attacked(user: str) -> Confined:
    lines = {**WRITES, **METADATA, **READS, **NETWORK, **PROCESSES, "daemon": CONNECT_UNIX}
    return confined(lines, as_user=user)


@pytest.mark.parametrize("user", USERS)
def test_all_layers_hold_here(user: str) -> None:
    layers = attacked(user).layers
    assert {name: layer.partition(":")[0] for name, layer in layers.items()} == dict.fromkeys(
        ("writes", "secrets", "network", "processes"), "held"
    )


@pytest.mark.parametrize("user", USERS)
@pytest.mark.parametrize("attack", [*WRITES, *METADATA])
def test_nothing_outside_is_written(user: str, attack: str) -> None:
    ran = attacked(user)
    assert ran.code[attack] != 0, ran.said[attack]
    assert {name: facts[:2] for name, facts in ran.left.items() if name != "daemon"} == {"kept": [0o644, 5]}
    assert ran.left["kept"][2] > 1_000_000_000


@pytest.mark.parametrize("user", USERS)
@pytest.mark.parametrize("attack", READS)
def test_no_secret_is_read(user: str, attack: str) -> None:
    assert SECRET not in attacked(user).said[attack]


@pytest.mark.parametrize("user", USERS)
@pytest.mark.parametrize("attack", [*NETWORK, "daemon"])
def test_nobody_is_reached(user: str, attack: str) -> None:
    ran = attacked(user)
    assert ran.code[attack] != 0
    assert ran.heard == []


@pytest.mark.parametrize("user", USERS)
@pytest.mark.parametrize("attack", PROCESSES)
def test_no_other_process_is_touched(user: str, attack: str) -> None:
    ran = attacked(user)
    assert ran.code[attack] != 0
    assert SECRET not in ran.said[attack]
    assert "signal" not in ran.heard


WORK = {
    "workspace": "echo x > new && mkdir -p a/b && mv new a/b && cat a/b/new && rm -r a",
    "artifacts": "echo x > $ART/report && cat $ART/report",
    "temporary": 'f=$(mktemp) && echo x > $f && cat $f && case $f in "$TMPDIR"/*) ;; *) exit 1;; esac',
    "temporary is kept": "echo x > $TMPDIR/kept",
    "temporary was kept": "cat $TMPDIR/kept",
    "null": "echo x > /dev/null; echo x",
    "standard streams": "echo x > /dev/stderr; echo x > /dev/stdout",
    "zero": "head -c 3 /dev/zero | wc -c | grep -q 3 && head -c 3 /dev/urandom | wc -c | grep -q 3 && echo x",
    "terminal": "script -qec 'test -t 0 && echo x' /dev/null",
    "shared memory": "python3 -c 'import multiprocessing; multiprocessing.Lock(); print(\"x\")'",
    "substitution": "cat <(echo x)",
    "loopback": (
        'python3 -c \'import socket; s = socket.create_server(("127.0.0.1", 0)); '
        'c = socket.create_connection(s.getsockname()); c.send(b"x"); print(s.accept()[0].recv(1).decode())\''
    ),
    "rest is readable": "test -r /etc/passwd && cat $OUTSIDE/kept && echo x",
    "rules are readable": "cat rules.toml && echo x",
    "own processes": "sleep 9 & kill $! && wait $!; [ $? = 143 ] && echo x",
    "cache": 'mkdir -p "$XDG_CACHE_HOME/tool" && echo x',
}


@cache
def worked(user: str) -> Confined:
    return confined(WORK, as_user=user)


@pytest.mark.parametrize("user", USERS)
@pytest.mark.parametrize("work", WORK)
def test_work_goes_on(user: str, work: str) -> None:
    needs("python3")
    ran = worked(user)
    assert (ran.code[work], "x" in ran.said[work] or work == "temporary is kept") == (0, True), ran.said[work]


LIMITS = {
    "core": "ulimit -c",
    "privileges": "grep NoNewPrivs /proc/self/status",
    "capabilities": "grep CapEff /proc/self/status",
    "bounding": "grep CapBnd /proc/self/status",
    "processes": "ulimit -u; cat /proc/sys/kernel/pid_max",
    "largest file": f"truncate -s {MAX_FILE_BYTES} big && rm big",
    "larger file": f"truncate -s {MAX_FILE_BYTES + 1} big",
    "memory": "ulimit -d; ulimit -Hd",
    "more memory": f"ulimit -d unlimited || python3 -c 'import mmap; mmap.mmap(-1, {MAX_MEMORY_BYTES}, 2)'",
    "reserved memory": f"python3 -c 'import mmap; mmap.mmap(-1, {MAX_MEMORY_BYTES}, 2, mmap.PROT_READ)'",
    "devices": "ls /dev",
    "device node": "mknod disk b 8 0",
    "mount": "mount -t tmpfs none .",
    "settings": "echo 1 > /proc/sys/kernel/sysrq",
    "rules": "echo x > rules.toml",
    "rules again": "rm -f rules.toml",
    "number of processes": "ls /proc | grep -c '^[0-9]'",
}


@cache
def limited(user: str) -> Confined:
    return confined(LIMITS, as_user=user)


@pytest.mark.parametrize("user", USERS)
def test_limits(user: str) -> None:
    ran = limited(user)
    assert ran.said["core"] == "0\n"
    assert ran.said["privileges"].split() == ["NoNewPrivs:", "1"]
    assert ran.code["largest file"] == 0, ran.said["largest file"]
    assert ran.said["memory"].split() == [str(MAX_MEMORY_BYTES // 1024)] * 2
    assert ran.code["reserved memory"] == 0, ran.said["reserved memory"]
    refused = ("larger file", "more memory", "device node", "mount", "settings", "rules", "rules again")
    assert [name for name in refused if ran.code[name] == 0] == []
    assert "8192" in ran.said["processes"].split()
    shown = {
        "fd",
        "full",
        "null",
        "ptmx",
        "pts",
        "random",
        "shm",
        "stderr",
        "stdin",
        "stdout",
        "tty",
        "urandom",
        "zero",
    }
    assert set(ran.said["devices"].split()) <= shown
    assert int(ran.said["number of processes"]) < 10


@pytest.mark.parametrize("user", USERS)
@pytest.mark.parametrize("name", ["capabilities", "bounding"])
def test_root_keeps_only_what_reaches_no_further(user: str, name: str) -> None:
    held = int(limited(user).said[name].split()[1], 16)
    allowed = 0b100_1111_1011 if user == "self" and os.geteuid() == 0 else 0
    assert held & ~allowed == 0


PYTHON_GET = "python3 -c 'import urllib.request as u; print(u.urlopen(\"http://site.example/\").read())'"
REACHES = {
    "curl": "curl -sS http://site.example/",
    "curl by a tunnel": "curl -sS --proxytunnel http://site.example/",
    "python": PYTHON_GET,
    "python in many": f"for i in 1 2 3 4 5 6 7 8; do {PYTHON_GET} & done; wait",
    "a child of a child": "setsid sh -c 'curl -sS http://site.example/' | cat",
}
REACHES_NOT = {
    "a host that is not granted": ("curl -sS http://other.example/", "other.example:80 is refused: it is not granted"),
    "its tunnel": (
        "curl -sSv https://other.example/ 2>&1",
        "403 other.example:443 is refused: it is not granted",
    ),
    "a redirect to such a host": ("curl -sSL http://site.example/moved", "other.example:80 is refused"),
    "a private address": ("curl -sS http://private.example/", "not public"),
    "a literal": ("curl -sS --noproxy '' http://127.0.0.1/; curl -sS --noproxy '' http://127.0.0.1:22/", "127.0.0.1"),
    "a port": ("curl -sS http://site.example:8080/", "allowed are only: 80, 443"),
    "without the proxy": ("curl -sS -m 5 --noproxy '*' http://site.example/ 2>&1", "Could not resolve host"),
    "an address without the proxy": ("curl -sS -m 5 --noproxy '*' http://93.184.216.34/ 2>&1", "curl: ("),
    "its own name server": (
        "python3 -c 'import socket; s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); "
        's.sendto(b"x" * 12, ("1.1.1.1", 53))\' 2>&1',
        "Network is unreachable",
    ),
}
AROUND = {
    "descriptors": "ls /proc/self/fd | wc -l",
    "variables": "env | grep -i _proxy= | sort",
    "port": "python3 -c 'import socket; socket.create_server((\"127.0.0.1\", 20128))'",
}


@cache
def connected(user: str, program: str) -> Confined:
    lines = {**REACHES, **{name: line for name, (line, _) in REACHES_NOT.items()}, **NETWORK, **AROUND}
    keys: dict[str, Any] = {"as_user": user, "hosts": ["site.example", "private.example"]}
    if program:
        keys |= {"bubblewrap": os.path.realpath(needs(program)), "devices": True, **within_reach(user)}
    return confined({**lines, "daemon": CONNECT_UNIX}, **keys)


def within_reach(user: str) -> dict[str, Any]:
    """An interpreter that this user can start without the rights of another: what leads to a command inside bubblewrap
    is started with none."""
    if user == "self" or readable_by_all(os.path.realpath(getattr(sys, "_base_executable", sys.executable))):
        return {}
    python = f"/usr/bin/python{sys.version_info[0]}.{sys.version_info[1]}"
    if not os.access(python, os.X_OK):
        pytest.skip(f"nobody can start the interpreter of these tests, and there is no {python}")
    above = (os.path.dirname(os.path.dirname(str(module.__file__))) for module in (remit, msgspec))
    return {"python": [python], "environ": {**os.environ, "PYTHONPATH": ":".join(above)}}


def readable_by_all(path: str) -> bool:
    return all(place.stat().st_mode & 0o1 for place in (Path(path), *Path(path).parents))


@pytest.mark.parametrize("user", USERS)
@pytest.mark.parametrize("name", REACHES)
@pytest.mark.parametrize("program", ["", "bwrap"])
def test_granted_hosts_are_reached(user: str, name: str, program: str) -> None:
    needs("curl")
    ran = connected(user, program)
    assert (ran.code[name], ran.said[name].count("come-through")) == (0, 8 if "many" in name else 1), ran.said[name]


@pytest.mark.parametrize("user", USERS)
@pytest.mark.parametrize("name", REACHES_NOT)
@pytest.mark.parametrize("program", ["", "bwrap"])
def test_nothing_else_is_reached(user: str, name: str, program: str) -> None:
    needs("curl")
    ran = connected(user, program)
    assert "come-through" not in ran.said[name]
    assert REACHES_NOT[name][1] in ran.said[name]


@pytest.mark.parametrize("user", USERS)
@pytest.mark.parametrize("program", ["", "bwrap"])
def test_a_way_out_opens_no_other(user: str, program: str) -> None:
    ran = connected(user, program)
    assert [name for name in (*NETWORK, "daemon") if ran.code[name] == 0] == []
    assert ran.heard == []


@pytest.mark.parametrize("user", USERS)
@pytest.mark.parametrize("program", ["", "bwrap"])
def test_what_a_command_sees_of_the_proxy(user: str, program: str) -> None:
    ran = connected(user, program)
    # Three standard streams, and the directory that is read.
    assert ran.said["descriptors"].strip() == "4"
    assert [line.partition("=")[0].lower() for line in sorted(ran.said["variables"].split(), key=str.lower)] == [
        name for name in ("all_proxy", "http_proxy", "https_proxy", "no_proxy") for _ in range(2)
    ]
    assert ran.code["port"] != 0


@pytest.mark.parametrize("way", ["replaced", "own"])
def test_a_way_out_opens_where_what_leads_to_it_is_out_of_sight(way: str) -> None:
    """The interpreter, where it does not lie with the programs of the system, and remit itself."""
    source = os.path.dirname(os.path.dirname(os.path.realpath(remit.__file__)))
    base = os.path.realpath(sys.base_prefix)
    hidden = [source] + ([base] if base != "/usr" else [])
    lines = {
        "reach": "curl -sS http://site.example/",
        "source": f"ls {source}/remit {source}/remit/workspace",
        "write": f"echo >> {source}/remit/workspace/launcher_door.py",
    }
    program = os.path.realpath(needs("bwrap"))
    ran = confined(lines, hosts=["site.example"], bubblewrap=program, devices=True, **{way: hidden})  # type: ignore[arg-type]
    assert (ran.code["reach"], ran.said["reach"]) == (0, "come-through")
    assert set(ran.said["source"].split()) == {
        *(f"{source}/{name}:" for name in ("remit", "remit/workspace")),
        "launcher_door.py",
        "workspace",
    }
    assert "Read-only file system" in ran.said["write"]


MOVES = {
    "move": "mv conf elsewhere",
    "read it there": "cat elsewhere/.env",
    "read it again": "mv elsewhere other; cat other/.env elsewhere/.env",
}


@pytest.mark.parametrize("user", USERS)
def test_moving_a_secret_does_not_uncover_it(user: str) -> None:
    ran = confined(MOVES, as_user=user)
    assert ran.code["move"] == 0
    assert not any(SECRET in said for said in ran.said.values())


def opens(*arguments: object) -> str:
    return f"python3 -c 'import socket; socket.socket({', '.join(map(str, arguments))})'"


SOCKETS = {
    "unix": opens(1, 1),
    "inet": opens(2, 1),
    "inet, datagrams": opens(2, 2),
    "inet6": opens(10, 1),
    "netlink route": opens(16, 3, 0),
    "pair": "python3 -c 'import socket; socket.socketpair()'",
    "names": "python3 -c 'import socket; socket.getaddrinfo(\"localhost\", 1); socket.if_nameindex()'",
}
NO_SOCKETS = {
    "vsock": opens(40, 1),
    "packet": opens(17, 3, 3),
    "netlink audit": opens(16, 3, 9),
    "netlink netfilter": opens(16, 3, 12),
    "netlink uevent": opens(16, 3, 15),
    "alg": opens(38, 5),
}


@pytest.mark.parametrize("user", USERS)
@pytest.mark.parametrize("program", ["", "bwrap"])
def test_kinds_of_sockets(user: str, program: str) -> None:
    wish = {"bubblewrap": os.path.realpath(needs(program)), "devices": True} if program else {}
    ran = confined({**SOCKETS, **NO_SOCKETS}, as_user=user, **wish)
    assert {name: ran.said[name] for name in SOCKETS if ran.code[name] != 0} == {}
    assert [name for name in NO_SOCKETS if "Address family not supported" not in ran.said[name]] == []


WITHHELD = {
    "read": "cat a/private/deep/x.txt",
    "move": "mv a/private a/other",
    "move what it lies in": "mv a b",
    "move what is in it": "mv a/private/deep here",
    "exchange": "mkdir c && mv --exchange a c",
    "remove": "rm -rf a",
    "work beside it": "mkdir -p a/b && echo x > a/b/c && mv a/b a/d && rm -r a/d",
}


@pytest.mark.parametrize("user", USERS)
def test_what_rules_withhold_by_its_place_stays_there(user: str) -> None:
    setup = f"mkdir -p a/private/deep && echo {SECRET} > a/private/deep/x.txt"
    ran = confined({**WITHHELD, "left": "ls a/private/deep"}, as_user=user, setup=setup, withheld="a/private")
    assert [name for name in WITHHELD if ran.code[name] == 0] == ["work beside it"]
    assert ran.said["left"] == "x.txt\n"
    assert not any(SECRET in said for said in ran.said.values())


HIDDEN_FILE = {
    "read": "cat .env",
    "read by a program": "python3 -c 'open(\".env\")'",
    "write": "echo x > .env",
    "copy": "cp .env here",
    "remove": "rm -f .env",
}


@pytest.mark.parametrize("user", USERS)
def test_a_hidden_file_is_refused_and_not_empty(user: str) -> None:
    ran = confined(HIDDEN_FILE, as_user=user)
    assert [name for name in HIDDEN_FILE if ran.code[name] == 0] == []
    assert all("ermission denied" in ran.said[name] for name in ("read", "read by a program", "copy"))


GIT = "git -c user.name=a -c user.email=a@example.com"
TRACKED = {
    "all": f"echo 1 >> file; {GIT} commit -qam all",
    "add": "git add -A",
    "by name": f"{GIT} commit -qm name .env",
    "stash": f"{GIT} stash",
    "kept": "git ls-tree -r HEAD --name-only | grep -c env; git ls-files | grep -c env",
    "file": "cat file",
    "the rest": f"git add file && {GIT} commit -qm file && git show --name-only --format=",
}


@pytest.mark.parametrize("user", USERS)
def test_git_does_not_record_that_a_hidden_file_is_gone(user: str) -> None:
    needs("git")
    setup = f"git init -q && echo 0 > file && git add -f file .env conf/.env && {GIT} commit -qm first"
    ran = confined(TRACKED, as_user=user, setup=setup)
    assert [name for name in TRACKED if ran.code[name] == 0] == ["kept", "file", "the rest"], ran.said
    assert ran.said["kept"] == "2\n2\n"
    assert ran.said["file"] == "0\n1\n"
    assert ran.said["the rest"] == "file\n"


@pytest.mark.parametrize("user", USERS)
def test_landlock_alone(user: str) -> None:
    if landlock_abi() < 6:
        pytest.skip("this kernel has no Landlock 6")
    ran = confined({**WRITES, **PROCESSES, "secret": "cat .env"}, as_user=user, landlock=landlock_abi())
    inside = {"through the root of a process"}
    assert [name for name in WRITES if ran.code[name] == 0 and name not in inside] == []
    assert {name: facts[:2] for name, facts in ran.left.items() if name != "daemon"} == {"kept": [0o644, 5]}
    assert [name for name in PROCESSES if ran.code[name] == 0 or SECRET in ran.said[name]] == []
    assert "signal" not in ran.heard
    assert ran.layers["writes"].startswith("held: Landlock")
    assert "modes and times" in ran.layers["writes"]
    assert ran.layers["secrets"].startswith("not held: ")
    assert ran.layers["network"].startswith("not held: ")
    assert ran.layers["processes"].startswith("held: Landlock")


@pytest.mark.parametrize("user", USERS)
def test_mounts_alone(user: str) -> None:
    wish = {"user": user == "nobody" or os.geteuid() != 0, "mounts": True, "read_only": True}
    ran = confined({**WRITES, **METADATA, "secret": "cat .env", "own": "cat $OWN/auth.toml"}, as_user=user, **wish)
    assert [name for name in (*WRITES, *METADATA) if ran.code[name] == 0] == []
    assert {name: facts[:2] for name, facts in ran.left.items() if name != "daemon"} == {"kept": [0o644, 5]}
    assert SECRET not in ran.said["secret"] + ran.said["own"]
    assert ran.layers["writes"] == "held: read-only mounts; commands can make files that run as their owner"


@pytest.mark.parametrize("user", USERS)
def test_seccomp_stands_in_for_a_network_namespace(user: str) -> None:
    lines = {**NETWORK, "daemon": CONNECT_UNIX, "pair": "python3 -c 'import socket; socket.socketpair()'"}
    ran = confined(lines, as_user=user, seccomp=True)
    assert ran.heard == []
    assert [name for name in (*NETWORK, "daemon") if ran.code[name] == 0] == []
    assert ran.code["pair"] == 0, ran.said["pair"]
    assert ran.layers["network"] == "held: seccomp: no sockets at all"


@pytest.mark.parametrize("user", USERS)
def test_bubblewrap_stands_in_for_namespaces_of_our_own(user: str) -> None:
    program = os.path.realpath(needs("bwrap"))
    lines = {**WRITES, **METADATA, **READS, **NETWORK, **PROCESSES, "daemon": CONNECT_UNIX, **WORK}
    # Of our own means none: it is bubblewrap, or nothing.
    ran = confined(lines, as_user=user, bubblewrap=program, devices=True)
    refused = [name for name in (*WRITES, *METADATA, *NETWORK, *PROCESSES, "daemon") if ran.code[name] == 0]
    assert refused == []
    assert [name for name in READS if SECRET in ran.said[name]] == []
    assert ran.heard == []
    assert {name: ran.said[name] for name in WORK if ran.code[name] != 0} == {}
    assert ran.layers == dict.fromkeys(("writes", "secrets", "network", "processes"), "held: bubblewrap")


def test_bubblewrap_that_does_not_work_is_not_used() -> None:
    ran = confined({"secret": "cat .env"}, bubblewrap="/bin/false", devices=True)
    assert ran.layers["secrets"].startswith("not held: ")
    assert ran.said["secret"] == SECRET


def test_bubblewrap_that_keeps_descriptors_to_itself_opens_no_way_out(tmp_path: Path) -> None:
    closing = tmp_path / "bwrap"
    closing.write_text(f'#!/bin/bash\nexec 20<&-\nexec {needs("bwrap")} "$@"\n')
    closing.chmod(0o755)
    lines = {"variables": "env | grep -ci _proxy=", "secret": "cat .env", "tcp": NETWORK["tcp"]}
    ran = confined(lines, hosts=["site.example"], bubblewrap=str(closing), devices=True)
    assert ran.closed.startswith("what would lead there from inside bubblewrap ends with exit code 1")
    assert (ran.said["variables"], ran.layers["secrets"]) == ("0\n", "held: bubblewrap")
    assert SECRET not in ran.said["secret"] and ran.code["tcp"] != 0 and ran.heard == []


def test_without_a_sandbox_the_attacks_do_what_they_are_meant_to() -> None:
    lines = {"secret": "cat .env", **NETWORK, "daemon": CONNECT_UNIX}
    ran = confined({**lines, **METADATA, "create": WRITES["create"], "signal": "kill -9 $PID; sleep 0.2"}, devices=True)
    assert ran.said["secret"] == SECRET
    assert ran.heard == ["tcp", "udp", "unix", "signal"]
    assert ran.left["kept"][:2] == [0o777, 5] and "new" in ran.left
    assert {layer.partition(":")[0] for layer in ran.layers.values()} == {"not held"}
