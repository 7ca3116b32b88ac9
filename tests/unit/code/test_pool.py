from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from fakes.source import FAULTY, faulty_pool
from remit.base.errors import ErrorCode, Failure
from remit.code.extract import extract
from remit.code.facts import unpack
from remit.code.languages import by_name
from remit.code.pool import Job, Pool, worker_argv
from remit.code.worker import HARD_SECONDS, MAX_MEMORY

PYTHON = by_name("Python")
SOURCE = b"def one():\n    return two()\n"


def nothing() -> None:
    return None


def job(source: bytes, tag: bytes = b"") -> Job:
    return Job(tag or source, "Python", source)


def gone(pid: int) -> bool:
    """Whether a process has ended; one that only waits to be noticed has."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True


def wait_until_gone(pids: list[int], seconds: float = 20) -> None:
    deadline = time.monotonic() + seconds
    while not all(map(gone, pids)):
        assert time.monotonic() < deadline, pids
        time.sleep(0.02)


def test_facts_come_as_they_would_in_this_process() -> None:
    sources = [b"def f%d():\n    return g()\n" % number for number in range(100)]
    with closing(Pool(2)) as pool:
        answers = {answer.tag: answer for answer in pool.read(map(job, sources), nothing)}
    assert {tag: unpack(answer.packed) for tag, answer in answers.items()} == {
        source: extract(PYTHON, source) for source in sources
    }
    assert all(answer.lasting for answer in answers.values())


def test_one_file() -> None:
    with closing(Pool(1)) as pool:
        assert pool.read_one(job(SOURCE), nothing) == extract(PYTHON, SOURCE)
        assert pool.read_one(job(b""), nothing) == extract(PYTHON, b"")


def test_a_source_larger_than_any_pipe() -> None:
    source = b"".join(b"def f%06d(): return g()\n" % number for number in range(40_000))
    with closing(Pool(1)) as pool:
        facts = pool.read_one(job(source), nothing)
    assert facts is not None
    assert facts.lines == 40_000


def test_workers_start_when_there_is_work_and_stay() -> None:
    with closing(Pool(2)) as pool:
        assert pool.pids == []
        assert list(pool.read([], nothing)) == []
        assert pool.pids == []
        list(pool.read([job(SOURCE)], nothing))
        first = pool.pids
        list(pool.read([job(SOURCE)], nothing))
        assert pool.pids == first and len(first) == 1
        list(pool.read([job(SOURCE, b"%d" % number) for number in range(200)], nothing))
        assert len(pool.pids) == 2
    wait_until_gone(first)
    assert pool.pids == []


def test_one_is_ready_ahead_of_the_work() -> None:
    with closing(Pool(2)) as pool:
        pool.prepare()
        pool.prepare()
        ahead = pool.pids
        assert len(ahead) == 1
        list(pool.read([job(SOURCE)], nothing))
        assert pool.pids == ahead


@pytest.mark.parametrize("fault", [b"die", b"spin", b"sleep", b"lie", b"mislead", b"exhaust"])
def test_a_file_that_no_worker_survives_is_the_only_one_lost(fault: bytes) -> None:
    with closing(faulty_pool()) as pool:
        jobs = [job(SOURCE, b"a"), job(fault, b"b"), job(SOURCE, b"c"), job(SOURCE, b"d")]
        answers = {answer.tag: answer.packed for answer in pool.read(jobs, nothing)}
        assert {tag: bool(packed) for tag, packed in answers.items()} == {
            b"a": True,
            b"b": False,
            b"c": True,
            b"d": True,
        }
        assert pool.failed == {b"b"}
        assert len(pool.pids) == 1


def test_a_file_that_killed_a_worker_is_not_given_to_another() -> None:
    with closing(faulty_pool()) as pool:
        assert pool.read_one(job(b"die"), nothing) is None
        assert pool.failed == {b"die"}
        assert pool.read_one(job(b"die"), nothing) is None
        assert pool.pids == []


@pytest.mark.parametrize("fault", [b"die", b"lie", b"exhaust"])
def test_what_came_to_nothing_is_not_tried_again(fault: bytes) -> None:
    with closing(faulty_pool()) as pool:
        for _ in range(2):
            assert pool.read_one(job(fault, b"a"), nothing) is None
            assert pool.failed == {b"a"}


def test_what_took_too_long_is_what_the_run_goes_on_with() -> None:
    with closing(faulty_pool()) as pool:
        (answer,) = pool.read([job(b"hurry", b"a")], nothing)
        assert not answer.lasting
        assert pool.passing == {b"a": answer.packed}


def test_many_files_that_kill_do_not_end_the_reading() -> None:
    with closing(faulty_pool(2)) as pool:
        jobs = [job(b"die" if number % 3 else SOURCE, b"%d" % number) for number in range(12)]
        answers = list(pool.read(jobs, nothing))
        assert sorted(int(answer.tag) for answer in answers) == list(range(12))
        assert [int(answer.tag) % 3 for answer in answers if answer.packed] == [0] * 4


def test_a_program_that_does_not_start() -> None:
    for argv in ([sys.executable, "-c", "raise SystemExit(3)"], ["/no/such/program"]):
        with closing(Pool(1, argv)) as pool, pytest.raises(Failure) as caught:
            list(pool.read([job(SOURCE)], nothing))
        assert caught.value.code is ErrorCode.COMMAND_FAILED


def test_whoever_asks_may_stop_it_at_once() -> None:
    begun = threading.Event()

    def jobs() -> Iterator[Job]:
        yield job(b"sleep")
        begun.set()

    def check() -> None:
        if begun.is_set():
            raise Failure(ErrorCode.CANCELLED, "enough")

    with closing(faulty_pool()) as pool:
        started = time.monotonic()
        with pytest.raises(Failure, match="enough"):
            list(pool.read(jobs(), check))
        assert time.monotonic() - started < 2.5
        # The one at work is of no more use.
        assert pool.pids == []
        assert pool.read_one(job(SOURCE), nothing) is not None


def test_a_single_file_does_not_wait_for_a_tree() -> None:
    with closing(faulty_pool()) as pool:
        tree = pool.read(iter([job(SOURCE, b"a"), job(b"spin", b"b")]), nothing)
        assert next(tree).tag == b"a"
        assert pool.read_one(job(SOURCE), nothing) is not None
        assert [answer.tag for answer in tree] == [b"b"]


def test_two_trees_at_once_share_the_workers() -> None:
    counts: list[int] = []

    def read(pool: Pool) -> None:
        jobs = (job(SOURCE, b"%d" % number) for number in range(300))
        counts.append(sum(bool(answer.packed) for answer in pool.read(jobs, nothing)))

    with closing(Pool(2)) as pool:
        threads = [threading.Thread(target=read, args=(pool,)) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert counts == [300] * 3
        assert len(pool.pids) <= 2


def test_closing_ends_those_at_work_too() -> None:
    pool = faulty_pool()
    reading = pool.read(iter([job(SOURCE, b"a"), job(b"sleep", b"b")]), nothing)
    next(reading)
    pids = pool.pids
    pool.close()
    wait_until_gone(pids)
    with pytest.raises(Failure) as caught:
        list(reading)
    assert caught.value.code is ErrorCode.CANCELLED


def test_what_a_worker_may_take() -> None:
    with closing(Pool(1)) as pool:
        pool.read_one(job(SOURCE), nothing)
        (pid,) = pool.pids
        limits = Path(f"/proc/{pid}/limits").read_text()
        rows = {line[:25].strip(): line[25:].split()[:2] for line in limits.splitlines()}
        assert rows["Max address space"] == [str(MAX_MEMORY)] * 2
        assert rows["Max core file size"] == ["0", "0"]
        environ = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
        assert {each.partition(b"=")[0] for each in environ} <= {b"", b"LD_LIBRARY_PATH", b"LC_CTYPE"}
        assert os.getsid(pid) == pid
        places = {os.readlink(f"/proc/{pid}/fd/{fd}").partition(":")[0] for fd in os.listdir(f"/proc/{pid}/fd")}
        assert {place for place in places if not place.startswith("/memfd")} == {"pipe", "/dev/null"}


@pytest.mark.parametrize("source", [SOURCE, b"spin"])
def test_workers_end_with_us_however_we_end(source: bytes) -> None:
    argv = worker_argv()
    script = (
        "import sys\n"
        "from remit.code.pool import Job, Pool\n"
        "pool = Pool(1, sys.argv[2:])\n"
        "source = sys.argv[1].encode()\n"
        "def check():\n"
        "    print(*pool.pids, flush=True)\n"
        "    if source != b'spin': sys.stdin.read()\n"
        "jobs = [Job(b'a', 'Python', b'x = 1\\n'), Job(b'b', 'Python', source)]\n"
        "for answer in pool.read(iter(jobs), check): pass\n"
    )
    faulty = [sys.executable, "-I", "-S", str(FAULTY), *argv[argv.index("-c") + 2 :]]
    with subprocess.Popen(
        [sys.executable, "-c", script, source.decode(), *faulty], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        pids = [int(word) for word in process.stdout.readline().split()]
        process.send_signal(signal.SIGKILL)
    assert pids
    wait_until_gone(pids)


def test_the_clock_of_the_parser_goes_before_that_of_the_process() -> None:
    assert HARD_SECONDS > 2 * 2.0


def test_after_much_work_one_worker_is_left() -> None:
    pool = Pool(3)
    try:
        jobs = [Job(b"%d" % number, "Python", b"a = 1\n" * 20_000) for number in range(9)]
        assert len(list(pool.read(jobs, lambda: None))) == 9
        assert len(pool.pids) > 1
        pool.rest()
        assert len(pool.pids) == 1
        assert pool.read_one(Job(b"more", "Python", b"def f(): pass\n"), lambda: None) is not None
    finally:
        pool.close()


@pytest.mark.parametrize("language", ["Python", "no such language", ""])
def test_a_worker_that_is_told_what_comes_first_reads_all(language: str) -> None:
    pool = Pool(1)
    try:
        pool.prepare(language)
        (pid,) = pool.pids
        for name, source in (("Python", b"def f(): pass\n"), ("Go", b"package p\n\nfunc f() {}\n")):
            facts = pool.read_one(Job(name.encode(), name, source), lambda: None)
            assert facts is not None
            assert facts.definitions[-1].name == "f"
        assert pool.pids == [pid]
    finally:
        pool.close()
