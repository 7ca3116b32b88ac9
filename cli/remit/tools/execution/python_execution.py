"""python_execution: a short Python script in an isolated interpreter."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Annotated

import msgspec

from remit.base.calls import Outcome, done
from remit.base.errors import ErrorCode, Failure
from remit.base.limits import KIB, Bounds
from remit.base.ports import Evaluated, Raised, ToolContext, World
from remit.base.resources import Effect, Resource
from remit.tools.contract import Tool

MAX_CODE_BYTES = 64 * KIB
DEFAULT_SECONDS = 5
MAX_SECONDS = 30

UNCHECKED = "the type check found faults, so that nothing was run; repair them and call again"
LACKING = "the interpreter lacks this; its description says what it has"
LIMITS = {
    "time": "the script was ended by its time limit of {seconds} s; do less, or give timeoutSec up to 30",
    "memory": "the script was ended by its memory limit of 256 MiB; keep less at once",
    "recursion": "the script was ended by its recursion limit of 1,000 calls; use a loop",
}


class PythonExecutionParams(msgspec.Struct, forbid_unknown_fields=True):
    code: Annotated[
        str,
        msgspec.Meta(
            min_length=1, description="Python source, at most 64 KiB. The value of its last expression is the result."
        ),
    ]
    timeoutSec: Annotated[
        int, msgspec.Meta(ge=1, le=MAX_SECONDS, description="Seconds it may run; give more only where it needs them.")
    ] = DEFAULT_SECONDS


class PythonExecution(Tool):
    """Run a short Python script in an isolated interpreter; the result is the value of its last
    expression and what it printed. For arithmetic, dates, text and data that you have at hand.

    It reaches nothing: no files, network, environment or processes, so put the data into the script. Each
    call begins anew, nothing is kept. Clocks, sleep and unseeded randomness are refused: pass dates in,
    call random.seed first. The script is type-checked before it runs. At most 30 s (5 unless timeoutSec
    says more), 256 MiB of memory, 1,000 nested calls, 256 KiB each of stdout, stderr and the value.

    Modules there are, each in its common parts: asyncio, base64, binascii, bisect, collections (no
    OrderedDict, no abc), copy, csv, dataclasses (no asdict, no order), datetime, decimal, functools (no
    cmp_to_key), hashlib, itertools, json, math, os (paths only), pathlib (names only), random, re, sys, time
    (no clock), tomllib, typing (no NamedTuple, no TypedDict), unicodedata. No others, so no statistics,
    string, io, struct, heapq, textwrap, contextlib, enum, fractions, operator, and no packages.

    Missing in the language: class inheritance and own exceptions, nested classes, generators and yield,
    property, classmethod, staticmethod, del, except*, type aliases, super, issubclass, callable, bytearray,
    memoryview, __doc__ and __name__ of functions, str.translate, int.bit_length, len() of own classes.
    """

    name = "python_execution"
    toolset = "execution"
    bundle = "python_execution"
    effects = frozenset({Effect.NONE})
    # Two scripts run at once; with eight calls in a turn the last one waits for three others.
    bounds = Bounds(seconds=180.0)
    repeatable = True
    hands = frozenset({"python"})
    Params = PythonExecutionParams

    def resources(self, params: PythonExecutionParams, world: World) -> Sequence[Resource]:
        size = len(params.code.encode("utf-8", "replace"))
        if size > MAX_CODE_BYTES:
            message = (
                f"the script has {size} bytes, at most {MAX_CODE_BYTES} are allowed; give it less data or less code"
            )
            raise Failure(ErrorCode.INVALID_ARGUMENTS, message)
        return []

    async def run(self, params: PythonExecutionParams, ctx: ToolContext) -> Outcome:
        ended = await ctx.python.run(params.code, seconds=params.timeoutSec)
        hint = _hint(ended, params.timeoutSec)
        data = msgspec.to_builtins(ended) | ({"hint": hint} if hint else {})
        return done(data, text="\n".join(_told(ended, hint)))


def _hint(ended: Evaluated, seconds: int) -> str:
    """What to do about it."""
    if ended.limit:
        return LIMITS[ended.limit].format(seconds=seconds)
    if ended.raised is None:
        return ""
    return {"TypeCheckError": UNCHECKED, "NotImplementedError": LACKING}.get(ended.raised.type, "")


def _told(ended: Evaluated, hint: str) -> Iterator[str]:
    """The result as the model reads it."""
    if ended.raised is not None:
        yield f"{ended.outcome}: {hint}" if hint else f"{ended.outcome}:"
        yield _failure(ended.raised)
    elif ended.value_repr:
        yield f"value: {ended.value_repr}"
    elif ended.value is not None:
        yield f"value: {json.dumps(ended.value, ensure_ascii=False)}"
    elif not (ended.stdout or ended.stderr):
        yield "no value and no output: end with an expression, or print"
    for name, text, cut in (
        ("stdout", ended.stdout, ended.stdout_truncated),
        ("stderr", ended.stderr, ended.stderr_truncated),
    ):
        if text:
            yield f"{name}{', the first 256 KiB' if cut else ''}:"
            yield text.removesuffix("\n")


def _failure(raised: Raised) -> str:
    if raised.traceback:
        return raised.traceback
    return raised.message if raised.type == "TypeCheckError" else f"{raised.type}: {raised.message}"
