"""Files that would run as their owner, whoever starts them: commands cannot make any."""

from __future__ import annotations

import os
import platform
import sys
from functools import cache

import pytest

from fakes.confined import Confined, confined
from fakes.programs import needs

pytestmark = pytest.mark.skipif(
    not sys.platform.startswith("linux") or platform.machine() not in ("x86_64", "aarch64"),
    reason="the filter is for calls of Linux on these machines",
)


def python(code: str) -> str:
    return f'touch f; python3 -c "import ctypes, os, stat; c = ctypes.CDLL(None, use_errno=True); {code}"'


ATTACKS = {
    "chmod": "touch f && chmod 4755 f",
    "chmod by letters": "touch f && chmod u+s f",
    "fchmod": python("os.fchmod(os.open('f', os.O_RDWR), 0o4755)"),
    "fchmodat2": python("import sys; sys.exit(c.syscall(452, -100, b'f', 0o4755, 0))"),
    "open": python("os.close(os.open('g', os.O_CREAT | os.O_WRONLY, 0o4755))"),
    "open without a name": python("os.close(os.open('.', os.O_TMPFILE | os.O_WRONLY, 0o4755))"),
    "creat": python("import sys; sys.exit(c.creat(b'g', 0o4755) < 0)"),
    "openat2": python(
        "import struct, sys; how = struct.pack('QQQ', os.O_CREAT | os.O_WRONLY, 0o4755, 0);"
        "sys.exit(c.syscall(437, -100, b'g', how, 24) < 0)"
    ),
    "mknod": python("os.mknod('g', 0o104755)"),
    "install": "echo > f && install -m 4755 f g",
}
WORK = {
    "other modes": "touch f && chmod 755 f && chmod 2755 f && mkdir -p d && chmod 2775 d && chmod 1777 d",
    "new files": python("os.close(os.open('h', os.O_CREAT | os.O_WRONLY, 0o755)); os.mknod('i', 0o100644)"),
    "an old file": python("import sys; sys.exit(c.open(b'f', os.O_RDONLY, 0o4755) < 0)"),
    "a file without a name": python("os.close(os.open('.', os.O_TMPFILE | os.O_WRONLY, 0o644))"),
}


@cache
def ran(user: str, program: str = "") -> Confined:
    look = {f"after {name}": "find . -perm -4000 | grep . && exit 1; rm -rf f g" for name in ATTACKS}
    lines = {}
    for name, line in ATTACKS.items():
        lines[name] = line
        lines[f"after {name}"] = look[f"after {name}"]
    wish = {"bubblewrap": os.path.realpath(needs(program)), "devices": True} if program else {}
    return confined({**lines, **WORK}, as_user=user, **wish)


USERS = pytest.mark.parametrize("user", ["self", "nobody"] if os.geteuid() == 0 else ["self"])


@USERS
@pytest.mark.parametrize("attack", ATTACKS)
def test_no_file_becomes_one_that_runs_as_its_owner(user: str, attack: str) -> None:
    assert ran(user).code[attack] != 0, ran(user).said[attack]
    assert ran(user).code[f"after {attack}"] == 0, ran(user).said[f"after {attack}"]


@USERS
def test_bubblewrap_lets_no_file_become_one_either(user: str) -> None:
    found = ran(user, "bwrap")
    assert [name for name in ATTACKS if found.code[name] == 0] == []
    assert [name for name in ATTACKS if found.code[f"after {name}"] != 0] == []
    assert {name: found.said[name] for name in WORK if found.code[name] != 0} == {}


@USERS
@pytest.mark.parametrize("line", WORK)
def test_other_modes_may_be_given(user: str, line: str) -> None:
    assert ran(user).code[line] == 0, ran(user).said[line]
