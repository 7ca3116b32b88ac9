"""The processes that read source: started when there is work for them, fed, watched, replaced, ended."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import selectors
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

import msgspec

from remit.base.errors import ErrorCode, Failure
from remit.code.facts import Facts, unpack
from remit.code.languages import FIRST_LANGUAGE

MAX_WORKERS = 4
LATE_SECONDS = 30.0
"""Without an answer, until a worker is killed: what it allows itself may take as long on a machine that is busy."""

START_SECONDS = 60.0
"""For a worker to be ready."""

_AHEAD_BYTES = 128 << 10
"""Of work before a worker, until another one is started: it takes a worker as long as starting one."""

_AHEAD = 16
_MAX_BAD_STARTS = 3
_LENGTH_BYTES = 4
_MAX_ANSWER = 128 << 20
_CHUNK = 1 << 18
_POLL_SECONDS = 0.1
_START = (
    "import sys; sys.path[:0] = sys.argv[1:]; sys.modules['typing_extensions'] = None; "
    "from remit.code.worker import main; main()"
)
"""msgspec takes from typing_extensions, where that is, what typing has as well: a fourth of the start."""

_PACKAGES = ("remit", "msgspec", "tree_sitter")

Check = Callable[[], None]
"""Asked now and then; raises to end the work."""


class Job(NamedTuple):
    """One file to read. tag: what its answer is known by. language: its name. mentions: whether it is wanted what
    refers to what."""

    tag: bytes
    language: str
    source: bytes
    mentions: bool = True


class Answer(NamedTuple):
    """packed, facts: the same, b"" and None where no worker survived the file. lasting: whether they would be the same
    another time."""

    tag: bytes
    packed: bytes
    lasting: bool = True
    facts: Facts | None = None


class Pool:
    """At most `most` workers (None: as many as there are processors, up to MAX_WORKERS), which stay until `close`,
    and one more for single files. Threads may share it. argv: the program of a worker. failed: tags of files that came
    to nothing. passing: by tag, facts that might be others another time: one run answers from one state of a file.
    late: seconds without an answer, until a worker is killed."""

    def __init__(self, most: int | None = None, argv: Sequence[str] | None = None, late: float = LATE_SECONDS) -> None:
        self._most = most or min(os.cpu_count() or 1, MAX_WORKERS)
        self.failed: set[bytes] = set()
        self.passing: dict[bytes, bytes] = {}
        self.late = late
        self._argv = argv
        self._idle: list[_Worker] = []
        self._all: set[_Worker] = set()
        self._bad_starts = 0
        self._closed = False
        self._changed = threading.Condition()

    @property
    def pids(self) -> list[int]:
        """Of the workers there are."""
        with self._changed:
            return [worker.pid for worker in self._all]

    def prepare(self, language: str = "") -> None:
        """Have a worker ready, for work that is about to come. language: that it is likely to be in."""
        with self._changed:
            if not self._all and not self._closed:
                self._idle.append(self._start(language))

    def read(self, jobs: Iterable[Job], check: Check) -> Iterator[Answer]:
        """The answers to jobs, as they come. `jobs` is asked for more as there is room for them. Raises
        Failure(command_failed) when workers do not start, and what `check` raises."""
        for answer in self._answers(jobs, check):
            if answer.packed and not answer.lasting:
                self.passing[answer.tag] = answer.packed
            yield answer

    def read_one(self, job: Job, check: Check) -> Facts | None:
        """The facts of one file; None when no worker survives it."""
        answers = [] if job.tag in self.failed else list(self._answers([job], check, extra=1))
        return answers[0].facts if answers else None

    def _answers(self, jobs: Iterable[Job], check: Check, extra: int = 0) -> Iterator[Answer]:
        for answer in _Shift(self, check, extra).work(iter(jobs)):
            if not answer.packed:
                self.failed.add(answer.tag)
            yield answer

    def rest(self) -> None:
        """Much work is done: one idle worker is enough for what may come, and each takes memory."""
        with self._changed:
            spare, self._idle = self._idle[1:], self._idle[:1]
            self._all.difference_update(spare)
        for worker in spare:
            worker.end()

    def close(self) -> None:
        """End all workers, those at work too."""
        with self._changed:
            self._closed = True
            workers = list(self._all)
            self._all.clear()
            self._idle.clear()
            self._changed.notify_all()
        for worker in workers:
            worker.end()

    def hire(self, extra: int) -> _Worker | None:
        """A worker for one shift, None when all are busy. Raises Failure."""
        with self._changed:
            self._hold_open()
            if self._idle:
                return self._idle.pop()
            return self._start() if len(self._all) < self._most + extra else None

    def wait(self) -> None:
        """Until a worker may be free, a moment at most."""
        with self._changed:
            self._changed.wait(_POLL_SECONDS)

    def give_back(self, worker: _Worker) -> None:
        with self._changed:
            if worker.busy or self._closed:
                self._drop(worker)
            else:
                self._idle.append(worker)
            self._changed.notify()

    def replace(self, worker: _Worker) -> None:
        """A worker did not survive. Raises Failure when it is for starting that they do not."""
        with self._changed:
            self._bad_starts = 0 if worker.ready else self._bad_starts + 1
            self._drop(worker)
            self._changed.notify()
            self._hold_open()
            if self._bad_starts >= _MAX_BAD_STARTS:
                raise Failure(
                    ErrorCode.COMMAND_FAILED, "no source can be read: the process that parses it does not start here"
                )

    def _hold_open(self) -> None:
        if self._closed:
            raise Failure(ErrorCode.CANCELLED, "the run is ending; no more source is read")

    def _start(self, language: str = "") -> _Worker:
        try:
            worker = _Worker(self._argv or worker_argv(), language)
        except OSError as problem:
            raise Failure(
                ErrorCode.COMMAND_FAILED, f"the process that parses source could not be started: {problem.strerror}"
            ) from None
        self._all.add(worker)
        return worker

    def _drop(self, worker: _Worker) -> None:
        self._all.discard(worker)
        worker.end()


class _Shift:
    """One piece of work, and the workers that are at it."""

    def __init__(self, pool: Pool, check: Check, extra: int = 0) -> None:
        self._pool = pool
        self._check = check
        self._extra = extra
        self._crew: list[_Worker] = []
        self._again: deque[Job] = deque()

    def work(self, jobs: Iterator[Job]) -> Iterator[Answer]:
        try:
            with selectors.DefaultSelector() as self._selector:
                while self._hand_out(jobs):
                    self._check()
                    for key, events in self._selector.select(_POLL_SECONDS):
                        yield from self._turn(key.data, events)
                    now = time.monotonic()
                    for worker in [each for each in self._crew if each.is_late(now, self._pool.late)]:
                        yield from self._lose(worker)
        finally:
            for worker in self._crew:
                self._pool.give_back(worker)

    def _hand_out(self, jobs: Iterator[Job]) -> bool:
        """Give work to whoever has room for it; whether any is being done."""
        while (job := self._again.popleft() if self._again else next(jobs, None)) is not None:
            worker = self._with_room()
            if worker is None:
                self._again.appendleft(job)
                break
            worker.take(job)
            self._write(worker)
        return any(worker.busy for worker in self._crew)

    def _with_room(self) -> _Worker | None:
        least = min(self._crew, key=lambda each: each.ahead, default=None)
        if least is not None and least.has_room:
            return least
        worker = self._pool.hire(self._extra)
        while worker is None and not self._crew:
            self._check()
            self._pool.wait()
            worker = self._pool.hire(self._extra)
        if worker is not None:
            self._crew.append(worker)
            self._selector.register(worker.answers, selectors.EVENT_READ, worker)
        return worker

    def _turn(self, worker: _Worker, events: int) -> Iterator[Answer]:
        if worker not in self._crew:
            return
        if events & selectors.EVENT_WRITE:
            self._write(worker)
            return
        alive = worker.hear()
        yield from worker.done()
        if not alive:
            yield from self._lose(worker)

    def _write(self, worker: _Worker) -> None:
        """Send what the pipe takes, and come back for the rest."""
        unsent = worker.send()
        registered = worker.requests in self._selector.get_map()
        if unsent and not registered:
            self._selector.register(worker.requests, selectors.EVENT_WRITE, worker)
        elif registered and not unsent:
            self._selector.unregister(worker.requests)

    def _lose(self, worker: _Worker) -> Iterator[Answer]:
        """What a worker that is lost was at has failed; what waited behind that is done by others."""
        self._crew.remove(worker)
        for pipe in (worker.answers, worker.requests):
            if pipe in self._selector.get_map():
                self._selector.unregister(pipe)
        jobs = list(worker.jobs)
        if worker.ready and jobs:
            lost = jobs.pop(0)
            yield Answer(lost.tag, b"")
        self._again.extend(jobs)
        self._pool.replace(worker)


class _Worker:
    """One process, seen from our side. requests, answers: descriptors of its pipes. jobs: given and not answered."""

    def __init__(self, argv: Sequence[str], language: str = "") -> None:
        env = {name: value for name in ("LD_LIBRARY_PATH",) if (value := os.environ.get(name))}
        self._process = subprocess.Popen(
            argv,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd="/",
            env={**env, FIRST_LANGUAGE: language} if language else env,
            bufsize=0,
            start_new_session=True,
        )
        assert self._process.stdin is not None and self._process.stdout is not None
        self.requests, self.answers = self._process.stdin.fileno(), self._process.stdout.fileno()
        os.set_blocking(self.requests, False)
        os.set_blocking(self.answers, False)
        self.jobs: deque[Job] = deque()
        self.ready = False
        self.ahead = 0
        self._unsent = bytearray()
        self._heard = bytearray()
        self._since = time.monotonic()

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def busy(self) -> bool:
        return bool(self.jobs)

    @property
    def has_room(self) -> bool:
        return len(self.jobs) < _AHEAD and self.ahead < _AHEAD_BYTES

    def is_late(self, now: float, seconds: float) -> bool:
        return self.busy and now - self._since > (seconds if self.ready else START_SECONDS)

    def take(self, job: Job) -> None:
        if not self.jobs and self.ready:
            self._since = time.monotonic()
        name = job.language.encode()
        size = 2 + len(name) + len(job.source)
        self._unsent += size.to_bytes(_LENGTH_BYTES, "big")
        self._unsent += b"%c%c%b%b" % (job.mentions, len(name), name, job.source)
        self.jobs.append(job)
        self.ahead += len(job.source)

    def send(self) -> bool:
        """Send what the pipe takes; whether there is more. The end of the process is told by its answers."""
        try:
            sent = os.write(self.requests, self._unsent) if self._unsent else 0
        except BlockingIOError:
            return True
        except OSError:
            self._unsent.clear()
            return False
        del self._unsent[:sent]
        return bool(self._unsent)

    def hear(self) -> bool:
        """Take what the process says; False once it has ended, or says what it cannot mean."""
        try:
            part = os.read(self.answers, _CHUNK)
        except BlockingIOError:
            return True
        self._heard += part
        return bool(part) and self._next() <= _MAX_ANSWER

    def done(self) -> Iterator[Answer]:
        """The answers that are complete."""
        while len(self._heard) >= _LENGTH_BYTES and len(self._heard) >= (end := _LENGTH_BYTES + self._next()):
            answer = bytes(memoryview(self._heard)[_LENGTH_BYTES:end])
            del self._heard[:end]
            self._since = time.monotonic()
            if not self.ready:
                self.ready = True
            elif self.jobs:
                job = self.jobs.popleft()
                self.ahead -= len(job.source)
                yield _answered(job.tag, answer)

    def _next(self) -> int:
        return int.from_bytes(self._heard[:_LENGTH_BYTES], "big")

    def end(self) -> None:
        self._process.kill()
        for pipe in (self._process.stdin, self._process.stdout):
            with contextlib.suppress(OSError):
                assert pipe is not None
                pipe.close()
        self._process.wait()


def _answered(tag: bytes, packed: bytes) -> Answer:
    """An answer as far as it can be worked with: a parser that was taken over may say anything."""
    try:
        facts = unpack(packed) if packed else None
    except msgspec.DecodeError:
        facts = None
    if facts is None or not _sound(facts):
        return Answer(tag, b"")
    return Answer(tag, packed, facts.cut != "time", facts)


def _sound(facts: Facts) -> bool:
    """Whether what refers to definitions refers to some that are there."""
    number = len(facts.definitions)
    return all(-1 <= each.parent < at for at, each in enumerate(facts.definitions)) and all(
        -1 <= each.scope < number for each in facts.references
    )


def worker_argv() -> list[str]:
    """The command line of a worker: remit itself, where that is one frozen program."""
    if getattr(sys, "frozen", False):
        return [sys.executable, "__parse"]
    specs = [importlib.util.find_spec(name) for name in _PACKAGES]
    places = [os.path.dirname(os.path.dirname(spec.origin)) for spec in specs if spec is not None and spec.origin]
    return [sys.executable, "-I", "-S", "-c", _START, *dict.fromkeys(os.path.abspath(each) for each in places)]
