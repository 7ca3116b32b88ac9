"""A machine that lends no namespace and no Landlock: the calls for them are refused, as a container's filter does."""

from __future__ import annotations

HARDENED = """
import ctypes, os, struct, sys
refused = {272: 1, 444: 38, 165: 1, 428: 1, 429: 1} if os.uname().machine == "x86_64" else {97: 1, 444: 38}
code = [(0x20, 0, 0, 0)]
for number, errno in refused.items():
    code += [(0x15, 0, 1, number), (0x06, 0, 0, 0x00050000 | errno)]
code += [(0x06, 0, 0, 0x7FFF0000)]
program = ctypes.create_string_buffer(b"".join(struct.pack("=HBBI", *each) for each in code))
libc = ctypes.CDLL(None, use_errno=True)
libc.prctl(38, 1, 0, 0, 0)
assert libc.prctl(22, 2, struct.pack("@HP", len(code), ctypes.addressof(program)), 0, 0) == 0
os.execv(sys.executable, [sys.executable, "-m", "remit", *sys.argv[1:]])
"""
"""A program that runs remit on such a machine, with the arguments that it is given."""
