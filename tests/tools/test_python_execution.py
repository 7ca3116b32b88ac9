"""python_execution with its real interpreter."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest

from remit.base.calls import Outcome
from remit.base.errors import ErrorCode, Failure
from remit.base.ports import World
from remit.base.resources import Effect
from remit.engine.context import CallContext
from remit.tools.execution.python_execution import PythonExecution
from remit.workspace.monty import MontyInterpreter, find_worker, missing_interpreter

NOWHERE = cast(World, None)
TOOL = PythonExecution()


async def start(code: str, seconds: int | None = None, interpreter: MontyInterpreter | None = None) -> Outcome:
    arguments = {"code": code} | ({} if seconds is None else {"timeoutSec": seconds})
    params = TOOL.parse(json.dumps(arguments))
    assert TOOL.resources(params, NOWHERE) == []
    python = interpreter or MontyInterpreter(find_worker())
    return await TOOL.run(params, CallContext("t1.c1", TOOL.name, granted_python=python))


def call(code: str, seconds: int | None = None) -> Outcome:
    return asyncio.run(start(code, seconds))


def workers() -> list[str]:
    """The children of this process that run scripts. One that was killed may wait for its end to be read."""
    listed = subprocess.run(
        ["ps", "-o", "stat=,args=", "--ppid", str(os.getpid())], capture_output=True, text=True, check=False
    )
    return [line for line in listed.stdout.splitlines() if "monty" in line and not line.startswith("Z")]


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(30):
        while not holds():
            await asyncio.sleep(0.01)


@pytest.mark.parametrize(
    ("code", "value", "shown"),
    [
        ("1 + 1", 2, "value: 2"),
        ("import math\nmath.sqrt(16)", 4.0, "value: 4.0"),
        ("'a\\u00e9\"'", 'aé"', 'value: "aé\\""'),
        ("{'a': [1, None, True], 'b': (2.5, 'x')}", {"a": [1, None, True], "b": [2.5, "x"]}, ""),
        ("2**64 - 1", 2**64 - 1, "value: 18446744073709551615"),
        ("list(map(lambda x: x * 2, filter(None, [0, 1])))", [2], "value: [2]"),
        ("import asyncio\nasync def f():\n    return 3\nasyncio.run(f())", 3, "value: 3"),
        ("import random\nrandom.seed(7)\nrandom.random() == random.Random(7).random()", True, "value: true"),
        ("import datetime\n(datetime.date(2026, 3, 1) - datetime.date(2026, 2, 1)).days", 28, "value: 28"),
    ],
)
def test_the_value_of_the_last_expression_comes_back_as_json(code: str, value: Any, shown: str) -> None:
    outcome = call(code)

    assert (outcome.data["outcome"], outcome.data["value"], outcome.data["value_repr"]) == ("ok", value, "")
    assert shown in outcome.for_model()


@pytest.mark.parametrize(
    ("code", "text"),
    [
        ("2**64", "18446744073709551616"),
        ("10**5000 - 1", "<an integer of 16610 bits>"),
        ("float('nan')", "nan"),
        ("{1: 2}", "{1: 2}"),
        ("{1}", "{1}"),
        ("(b'ab\\xff', frozenset([1]))", "(b'ab\\xff', frozenset({1}))"),
        ("[(1,), {2}]", "[(1,), {2}]"),
        ("import datetime\ndatetime.date(2026, 1, 2)", "datetime.date(2026, 1, 2)"),
        ("from decimal import Decimal\nDecimal('1.50')", "Decimal('1.50')"),
        (
            "class A:\n    def __init__(self) -> None:\n        self.x = [1]\n        self.y = {'a': 2}\nA()",
            "A(x=[1], y={'a': 2})",
        ),
        ("a: list[object] = [1]\na.append(a)\n{1: a}", "{1: [1, '[...]']}"),
    ],
)
def test_what_json_has_no_word_for_comes_back_as_text(code: str, text: str) -> None:
    outcome = call(code)

    assert (outcome.data["outcome"], outcome.data["value"], outcome.data["value_repr"]) == ("ok", None, text)
    assert outcome.for_model() == f"value: {text}"


def test_a_value_of_the_limit_is_json_and_a_larger_one_is_clipped_text() -> None:
    fits = call(f"'x' * {256 * 1024 - 3}").data
    assert (len(fits["value"]), fits["value_repr"]) == (256 * 1024 - 3, "")

    large = call(f"'x' * {256 * 1024}").data
    assert large["value"] is None
    assert len(large["value_repr"]) <= 256 * 1024
    assert "bytes left out" in large["value_repr"]


def test_a_value_that_is_small_inside_and_endless_on_paper_is_bounded() -> None:
    began = time.monotonic()
    outcome = call("x = [0] * 1000\ny = [x] * 1000\nz = [y] * 1000\n[z] * 1000")

    assert outcome.data["value"] is None
    assert len(outcome.data["value_repr"]) <= 256 * 1024
    assert time.monotonic() - began < 10


def test_a_value_that_is_nested_too_deeply_is_told_in_part() -> None:
    deep = "x: list[object] = []\nfor _ in range({}):\n    x = [x]\nx"
    value = call(deep.format(63)).data["value"]
    for _ in range(63):
        (value,) = value
    assert value == []

    shown = call(deep.format(64)).data
    assert (shown["value"], shown["value_repr"]) == (None, "[" * 64 + "..." + "]" * 64)
    assert call(deep.format(2000)).data["value_repr"] == "[" * 64 + "..." + "]" * 64


def test_what_was_printed_comes_back_by_stream() -> None:
    outcome = call("import sys\nprint('a', 'é')\nprint('b', file=sys.stderr)\n3")

    assert (outcome.data["stdout"], outcome.data["stderr"]) == ("a é\n", "b\n")
    assert outcome.for_model() == "value: 3\nstdout:\na é\nstderr:\nb"
    assert call("print('only')").for_model() == "stdout:\nonly"
    assert call("x = 1").for_model() == "no value and no output: end with an expression, or print"


def test_output_up_to_the_limit_is_whole_and_more_is_cut() -> None:
    whole = call(f"print('x' * {256 * 1024 - 1})").data
    assert (len(whole["stdout"]), whole["stdout_truncated"]) == (256 * 1024, False)

    outcome = call(f"import sys\nprint('é' * {128 * 1024}, end='x')\nprint('e', file=sys.stderr)\n1")
    data = outcome.data
    assert (data["outcome"], data["value"], data["stdout_truncated"], data["stderr_truncated"]) == (
        "ok",
        1,
        True,
        False,
    )
    assert data["stdout"] == "é" * 128 * 1024
    assert "stdout, the first 256 KiB:" in outcome.for_model()


def test_an_exception_comes_back_with_its_traceback_and_what_was_printed_before() -> None:
    outcome = call("def half(a: int) -> float:\n    return 1 / a\nprint('on the way')\nhalf(0)")

    assert outcome.ok
    assert outcome.data["outcome"] == "error"
    assert outcome.data["raised"]["type"] == "ZeroDivisionError"
    assert outcome.data["raised"]["message"] == "division by zero"
    assert 'File "script.py", line 2, in half' in outcome.data["raised"]["traceback"]
    assert outcome.for_model().startswith("error:\nTraceback")
    assert outcome.for_model().endswith("ZeroDivisionError: division by zero\nstdout:\non the way")


def test_a_long_message_is_clipped() -> None:
    raised = call("raise ValueError('x' * 100_000)").data["raised"]

    assert len(raised["message"]) <= 4096
    assert len(raised["traceback"]) <= 16 * 1024


@pytest.mark.parametrize(
    ("code", "diagnostic"),
    [
        ("print('ran')\nx: int = 'a'", "script.py:2:10: error[invalid-assignment]"),
        ("print('ran')\nfoo(1)", "Name `foo` used when not defined"),
        ("print('ran'\n", "invalid-syntax"),
        ("import statistics", "Cannot resolve imported module `statistics`"),
    ],
)
def test_a_script_that_does_not_pass_its_type_check_is_not_run(code: str, diagnostic: str) -> None:
    outcome = call(code)

    assert (outcome.data["outcome"], outcome.data["stdout"]) == ("error", "")
    assert outcome.data["raised"]["type"] == "TypeCheckError"
    assert diagnostic in outcome.data["raised"]["message"]
    assert "nothing was run" in outcome.for_model() and diagnostic in outcome.for_model()


@pytest.mark.parametrize(
    "code",
    [
        "def f():\n    yield 1\nlist(f())",
        "class E(Exception):\n    pass",
        "class A:\n    @property\n    def x(self):\n        return 1",
        "x = [1]\ndel x[0]",
        "try:\n    pass\nexcept* ValueError:\n    pass",
        "type X = int",
        "class A:\n    class B:\n        pass",
    ],
)
def test_what_the_description_says_is_missing_is_missing(code: str) -> None:
    outcome = call(code)

    assert outcome.data["raised"]["type"] == "NotImplementedError"
    assert "the interpreter lacks this" in outcome.for_model()


def test_the_modules_of_the_description_are_there_and_no_others() -> None:
    text = TOOL.spec().description
    named = text.split("common parts:", 1)[1].split("No others, so no", 1)
    there = [part.split("(", 1)[0].strip() for part in named[0].rstrip(" .\n").split(",") if ")" not in part]
    assert {"math", "datetime", "tomllib"} <= set(there)
    assert call("\n".join(f"import {name}" for name in there) + "\n1").data["value"] == 1

    for name in ("statistics", "string", "io", "struct", "heapq", "textwrap", "contextlib", "enum", "operator"):
        assert name in named[1]
        assert call(f"import {name}").data["outcome"] == "error"


@pytest.mark.parametrize(
    ("code", "refusal"),
    [
        ("import datetime\ndatetime.datetime.now()", "there is no clock here"),
        ("import datetime\ndatetime.date.today()", "there is no clock here"),
        ("import time\ntime.time()", "there is no clock here"),
        ("import time\ntime.monotonic()", "there is no clock here"),
        ("import time\ntime.perf_counter()", "there is no clock here"),
        ("import time\ntime.localtime()", "there is no clock here"),
        ("import time\ntime.sleep(20)", "there is no sleep here"),
        ("import asyncio\nasync def f():\n    await asyncio.sleep(20)\nasyncio.run(f())", "there is no sleep here"),
        ("import random\nrandom.random()", "there is no chance here"),
        ("import random\nrandom.Random().random()", "there is no chance here"),
        ("import random\nrandom.seed()\nrandom.random()", "there is no chance here"),
        ("import os\nos.urandom(4)", "there is no chance here"),
        ("from pathlib import Path\nPath('/etc/passwd').read_text()", "there are no files"),
        ("from pathlib import Path\nPath('/tmp/x').write_text('x')", "there are no files"),
        ("import os\nos.listdir('/')", "there are no files"),
        ("import os\nos.getenv('PATH')", "there are no files"),
        ("import os\nos.environ['PATH']", "there are no files"),
    ],
)
def test_a_script_reaches_neither_the_system_nor_chance_nor_time(code: str, refusal: str) -> None:
    outcome = call(code)

    assert outcome.data["raised"]["type"] == "PermissionError"
    assert refusal in outcome.data["raised"]["message"]


@pytest.mark.parametrize(
    "code",
    [
        "open('/etc/passwd')",
        "import socket",
        "import subprocess",
        "import urllib.request",
        "import ctypes",
        "__import__('os')",
        "import os\nos.system('true')",
        "import os\nos.fork()",
        "().__class__.__subclasses__()",
        "eval('open(\"/etc/passwd\")')",
    ],
)
def test_there_is_no_other_way_out(code: str) -> None:
    assert call(code).data["outcome"] == "error"


def test_the_worker_sees_no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")

    async def look() -> str:
        task = asyncio.create_task(start("while True:\n    pass", 30))
        try:
            await until(lambda: bool(workers()))
            children = [
                pid
                for listed in Path(f"/proc/{os.getpid()}/task").glob("*/children")
                for pid in listed.read_text().split()
                if b"monty" in Path(f"/proc/{pid}/cmdline").read_bytes()
            ]
            return Path(f"/proc/{children[-1]}/environ").read_text()
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    assert asyncio.run(look()) == ""


@pytest.mark.parametrize(
    ("code", "limit", "hint"),
    [
        ("print('begun')\nwhile True:\n    pass", "time", "its time limit of 1 s"),
        ("x = []\nwhile True:\n    x.append('a' * 1_000_000)", "memory", "its memory limit of 256 MiB"),
        ("'a' * 10**12", "memory", "its memory limit of 256 MiB"),
        ("[0] * 15_000_000", "memory", "its memory limit of 256 MiB"),
        ("def f(n: int) -> int:\n    return f(n + 1)\nf(0)", "recursion", "its recursion limit"),
    ],
)
def test_what_a_limit_ended_is_said_to_be_limited(code: str, limit: str, hint: str) -> None:
    outcome = call(code, 1 if limit == "time" else 10)

    assert outcome.ok
    assert (outcome.data["outcome"], outcome.data["limit"]) == ("limited", limit)
    assert outcome.for_model().startswith("limited: the script was ended")
    assert hint in outcome.for_model()
    if limit == "time":
        assert outcome.data["stdout"] == "begun\n"
    assert workers() == []


def test_a_limit_that_a_script_only_speaks_of_is_an_error_of_the_script() -> None:
    assert call("raise TimeoutError('too late')").data["outcome"] == "error"
    assert call("raise MemoryError('forgot')").data["outcome"] == "error"


def test_the_memory_there_is_can_be_used() -> None:
    assert call("len('a' * (100 * 1024 * 1024))").data["value"] == 100 * 1024 * 1024


def test_nothing_is_kept_from_one_call_to_the_next() -> None:
    async def both() -> tuple[Outcome, Outcome]:
        interpreter = MontyInterpreter(find_worker())
        first = await start("x = 1\nx", None, interpreter)
        return first, await start("x", None, interpreter)

    first, second = asyncio.run(both())
    assert first.data["value"] == 1
    assert second.data["raised"]["type"] == "TypeCheckError"
    assert workers() == []


def test_two_run_at_once_and_the_others_wait() -> None:
    async def four() -> float:
        interpreter = MontyInterpreter(find_worker())
        await start("1", None, interpreter)
        began = time.monotonic()
        loops = [start("while True:\n    pass", 1, interpreter) for _ in range(4)]
        running = asyncio.gather(*loops)
        most = 0
        while not running.done():
            most = max(most, len(workers()))
            await asyncio.sleep(0.05)
        assert most == 2
        assert {outcome.data["limit"] for outcome in running.result()} == {"time"}
        return time.monotonic() - began

    assert 2.0 <= asyncio.run(four()) < 10


def test_a_cancelled_call_takes_its_worker_with_it_and_the_next_one_works() -> None:
    async def run() -> Outcome:
        interpreter = MontyInterpreter(find_worker())
        task = asyncio.create_task(start("while True:\n    pass", 30, interpreter))
        await until(lambda: bool(workers()))
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await until(lambda: not workers())
        return await start("1 + 1", None, interpreter)

    began = time.monotonic()
    assert asyncio.run(run()).data["value"] == 2
    assert time.monotonic() - began < 10


def test_the_loop_goes_on_while_a_script_runs() -> None:
    async def run() -> int:
        interpreter = MontyInterpreter(find_worker())
        await start("1", None, interpreter)
        task = asyncio.create_task(start("while True:\n    pass", 1, interpreter))
        beats = 0
        while not task.done():
            beats += 1
            await asyncio.sleep(0.01)
        return beats

    assert asyncio.run(run()) > 20


@pytest.mark.parametrize(
    ("passes", "fails"),
    [
        ({"code": "1", "timeoutSec": 1}, {"code": "1", "timeoutSec": 0}),
        ({"code": "1", "timeoutSec": 30}, {"code": "1", "timeoutSec": 31}),
        ({"code": "1#" + "x" * (64 * 1024 - 2)}, {"code": "1#" + "x" * (64 * 1024 - 1)}),
        ({"code": "1#" + "é" * (32 * 1024 - 1)}, {"code": "1#" + "é" * (32 * 1024)}),
        ({"code": "1"}, {"code": ""}),
        ({"code": "1"}, {}),
        ({"code": "1"}, {"code": "1", "timeoutSec": 1.5}),
        ({"code": "1"}, {"code": "1", "stdin": ""}),
    ],
)
def test_the_limit_passes_and_one_more_is_refused(passes: dict[str, Any], fails: dict[str, Any]) -> None:
    assert TOOL.resources(TOOL.parse(json.dumps(passes)), NOWHERE) == []

    with pytest.raises(Failure) as caught:
        TOOL.resources(TOOL.parse(json.dumps(fails)), NOWHERE)
    assert caught.value.code is ErrorCode.INVALID_ARGUMENTS


def test_a_worker_that_cannot_be_started_is_a_failure(tmp_path: Path) -> None:
    for program in (tmp_path / "missing", tmp_path / "broken"):
        if program.name == "broken":
            program.write_text("#!/bin/sh\nexit 3\n")
            program.chmod(0o755)
        with pytest.raises(Failure) as caught:
            asyncio.run(start("1", None, MontyInterpreter(str(program))))
        assert caught.value.code is ErrorCode.COMMAND_FAILED


def test_a_missing_worker_has_a_reason(tmp_path: Path) -> None:
    assert missing_interpreter() == ""
    (tmp_path / "plain").touch()
    for name in ("plain", "absent"):
        assert find_worker(str(tmp_path / name)) == ""
        assert "is no program that can be run" in missing_interpreter(str(tmp_path / name))
    assert find_worker(find_worker()) == find_worker()


def test_it_has_no_effect() -> None:
    assert (TOOL.effects, TOOL.repeatable) == ({Effect.NONE}, True)
