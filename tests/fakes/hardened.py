"""Machines that lend less than this one: calls are refused, as a container's filter and an older kernel do."""

from __future__ import annotations

_PROGRAM = """
import ctypes, os, struct, sys
refused = %s
code = [(0x20, 0, 0, 0)]
for number, errno in refused.items():
    code += [(0x15, 0, 1, number), (0x06, 0, 0, 0x00050000 | errno)]
code += [(0x06, 0, 0, 0x7FFF0000)]
program = ctypes.create_string_buffer(b"".join(struct.pack("=HBBI", *each) for each in code))
libc = ctypes.CDLL(None, use_errno=True)
libc.prctl(38, 1, 0, 0, 0)
assert libc.prctl(22, 2, struct.pack("@HP", len(code), ctypes.addressof(program)), 0, 0) == 0
os.execv(sys.argv[1], sys.argv[1:])
"""

HARDENED = (
    _PROGRAM % '{272: 1, 444: 38, 165: 1, 428: 1, 429: 1} if os.uname().machine == "x86_64" else {97: 1, 444: 38}'
)
"""A program for Python that runs the command line it is given where there is no namespace and no Landlock."""

BUBBLEWRAP_ALONE = _PROGRAM % "{428: 38, 444: 38}"
"""The same where only the program bwrap hides files: no Landlock, and no trees of mounts (open_tree)."""

NO_WAY_OUT = _PROGRAM % '{428: 38, 444: 38, 319 if os.uname().machine == "x86_64" else 279: 38}'
"""The same without files that have no name (memfd_create), by which commands are led to from inside bwrap."""
