"""The process that reads source for remit: parsers are native code, and what they are given is anybody's.

It runs as `python -I -S -c ...`, or as `remit __parse` where remit is one frozen program. Requests come on stdin,
answers go to stdout in the same order, each with its length before it (4 bytes, big endian). First goes an empty
answer, as soon as it is ready.

    request   whether mentions are wanted (1 byte, 0 or 1), length of the language's name (1 byte), the name, the source
    answer    facts as `facts.pack` makes them; empty where they could not be taken

A request that takes too long, by whatever fault of whoever's, is the end of the process. So is the end of stdin.
"""

from __future__ import annotations

import gc
import os
import resource
import signal
import sys
from typing import BinaryIO

from remit.code.extract import MAX_SECONDS, extract
from remit.code.facts import pack
from remit.code.grammars import queries
from remit.code.languages import FIRST_LANGUAGE, by_name, find_name

HARD_SECONDS = 6.0
"""For one file, of processor time, whatever the parser's own clock says."""

MAX_MEMORY = 3 << 29
"""Bytes of address space."""

LENGTH_BYTES = 4

_MAX_WRITTEN = 64 << 20
"""Bytes of a file: of grammars as they are loaded, and nothing else is written."""

_COLLECT_EVERY = 200
_LIMITS = (
    # Other systems refuse this one.
    *(((resource.RLIMIT_AS, MAX_MEMORY),) if sys.platform == "linux" else ()),
    (resource.RLIMIT_CORE, 0),
    (resource.RLIMIT_FSIZE, _MAX_WRITTEN),
)


def main() -> None:
    """Serve until stdin ends."""
    _hold_back()
    # What a library prints must not be taken for an answer.
    answers = os.fdopen(os.dup(1), "wb", 0)
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 1)
    os.dup2(null, 2)
    _answer(answers, b"")
    if language := find_name(os.environ.get(FIRST_LANGUAGE, "")):
        queries(language)
    served = 0
    with os.fdopen(0, "rb") as requests:
        while (request := _request(requests)) is not None:
            _answer(answers, _serve(request))
            served += 1
            if served % _COLLECT_EVERY == 0:
                gc.collect()


def _hold_back() -> None:
    for limit, most in _LIMITS:
        _, hard = resource.getrlimit(limit)
        held = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(limit, (held, held))
    # By the system's hand: no handler of ours would run while native code does.
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGPROF])
    gc.disable()


def _request(requests: BinaryIO) -> bytes | None:
    head = requests.read(LENGTH_BYTES)
    return requests.read(int.from_bytes(head, "big")) if len(head) == LENGTH_BYTES else None


def _serve(request: bytes) -> bytes:
    source = 2 + request[1]
    signal.setitimer(signal.ITIMER_PROF, HARD_SECONDS)
    try:
        return pack(extract(by_name(request[2:source].decode()), request[source:], MAX_SECONDS, bool(request[0])))
    except (MemoryError, RecursionError):
        return b""
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def _answer(answers: BinaryIO, answer: bytes) -> None:
    message = memoryview(len(answer).to_bytes(LENGTH_BYTES, "big") + answer)
    while message:
        message = message[answers.write(message) :]
