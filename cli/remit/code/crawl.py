"""A source tree read: which files there are, what is known of them already, and the facts of the rest by workers.

What is known is kept by content (`_key`) and, so that a file that was not touched need not be opened, by the state
in which the file system has it (`_mark`). A file that was written just now may be written once more without a change
of its times: it is read, and no note is made of its state.
"""

from __future__ import annotations

import os
import re
import stat
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache
from hashlib import blake2b
from operator import attrgetter

import msgspec

from remit.base.errors import Failure
from remit.base.ports import Ground
from remit.code.facts import Facts
from remit.code.grammars import version
from remit.code.languages import HEAD_BYTES, Language, by_content, by_name, find_name, language_by_head, language_of
from remit.code.pool import Answer, Check, Job, Pool
from remit.code.roots import MAX_GO_MOD_BYTES, MAX_ROOTS, go_module
from remit.code.tree import (
    HELD_BYTES,
    MAX_ENTRIES,
    MAX_FILE_BYTES,
    MAX_FILES,
    MAX_TREE_BYTES,
    MAX_TREE_SECONDS,
    Bound,
    Lively,
    Recalled,
    Skipped,
    SourceFile,
    SourceTree,
)
from remit.store.facts import Kept, KeptFacts

SETTLED_NS = 2_000_000_000
"""Since the last change of a file, until its times tell it from a later state."""

_FEW = 8
"""Files that may all turn out to have the content they had: they are looked at before a process is started."""

_CHUNK_FILES = 64
_CHUNK_BYTES = 8 << 20
_KEY_BYTES = 20
_BINARY = "binary"
_HERE = "."
_GO_MOD = "go.mod"


class Listing(msgspec.Struct, frozen=True):
    """The files below a ground, by name from there, as a search finds them. unreadable: what the file system does
    not show. stopped: the bound that ended it, or "". go_module: what a go.mod above says that packages right in the
    ground are called, or ""."""

    names: Sequence[str]
    unreadable: int = 0
    stopped: Bound = ""
    go_module: str = ""


class TreeBounds(msgspec.Struct, frozen=True, kw_only=True):
    """Where the reading of a tree ends, with what it has by then."""

    files: int = MAX_FILES
    entries: int = MAX_ENTRIES
    file_bytes: int = MAX_FILE_BYTES
    tree_bytes: int = MAX_TREE_BYTES
    seconds: float = MAX_TREE_SECONDS


Names = Callable[[Ground, Check], Listing]
DEFAULT_BOUNDS = TreeBounds()
NOTHING_RECALLED = Recalled()


def read_tree(
    ground: Ground,
    names: Names,
    pool: Pool,
    kept: KeptFacts,
    check: Check,
    bounds: TreeBounds = DEFAULT_BOUNDS,
    recalled: Recalled = NOTHING_RECALLED,
    keep: Callable[[Mapping[bytes, bytes]], None] | None = None,
) -> SourceTree:
    """The files below a ground in languages that are read, and their facts, those of recalled content left out. keep:
    keeps what was found out, in its own time; None: it is kept at once. It blocks, and asks `check` now and then.
    Raises Failure(command_failed) when no worker starts, and what `check` raises."""
    deadline = time.monotonic() + bounds.seconds
    listing = names(ground, check)
    crawl = _Crawl(ground, bounds, deadline, check)
    crawl.tree.stopped = listing.stopped
    crawl.tree.skipped.unreadable = listing.unreadable
    seen = crawl.look(crawl.choose(listing.names))
    crawl.tree.go_modules = _go_modules(ground, listing)
    with kept.opened() as store:
        reading = _Reading(crawl, store, pool, recalled)
        reading.recall(seen)
        reading.read()
        pool.rest()
        store.keep(reading.fresh if keep is None else {})
    if keep is not None and reading.fresh:
        keep(reading.fresh)
    return reading.finish()


class _Seen:
    """A file that is to be read. language: by its name. note: whether its state may be noted as `mark`."""

    __slots__ = ("key", "language", "mark", "name", "note", "size")

    def __init__(self, name: str, language: Language | None) -> None:
        self.name = name
        self.language = language
        self.size = 0
        self.mark = b""
        self.note = False
        self.key = b""


class _Crawl:
    """Which files there are, judged by names, rules and sizes."""

    def __init__(self, ground: Ground, bounds: TreeBounds, deadline: float, check: Check) -> None:
        self.ground = ground
        self.bounds = bounds
        self.check = check
        self.tree = SourceTree([], Skipped())
        self._deadline = deadline
        self._began = time.time_ns()

    def late(self) -> bool:
        self.check()
        if time.monotonic() > self._deadline:
            self.stop("time")
        return self.tree.stopped == "time"

    def stop(self, bound: Bound) -> None:
        self.tree.stopped = self.tree.stopped or bound

    def choose(self, names: Sequence[str]) -> list[_Seen]:
        """Those of a known language, or of none that their names would tell, which may be shown."""
        chosen, known = [], 0
        if len(names) > self.bounds.entries:
            self.stop("entries")
        for name in sorted(names)[: self.bounds.entries]:
            language = language_of(name)
            if language is None and not _may_be_script(name):
                self.tree.unknown += 1
            elif not self.ground.shows(name):
                self.tree.skipped.withheld += language is not None
            elif language is not None and known >= self.bounds.files:
                self.stop("files")
            else:
                known += language is not None
                chosen.append(_Seen(name, language))
        return chosen

    def look(self, files: Sequence[_Seen]) -> list[_Seen]:
        """Those that are regular files of a size to be read, and their states."""
        looked, total = [], 0
        for folder, some in _by_folder(files).items():
            if self.late():
                break
            try:
                fd = self.ground.open_directory(folder)
            except (Failure, OSError):
                self.tree.skipped.unreadable += len(some)
                continue
            try:
                looked += [file for file in some if self._fits(file, fd)]
            finally:
                os.close(fd)
        within = []
        for file in sorted(looked, key=attrgetter("name")):
            total += file.size
            if total > self.bounds.tree_bytes:
                self.stop("bytes")
                break
            within.append(file)
        return within

    def _fits(self, file: _Seen, folder: int) -> bool:
        try:
            info = os.stat(file.name[file.name.rfind("/") + 1 :], dir_fd=folder, follow_symlinks=False)
        except (OSError, ValueError):
            self.tree.skipped.unreadable += 1
            return False
        if not stat.S_ISREG(info.st_mode):
            return False
        if info.st_size > self.bounds.file_bytes:
            self.tree.skipped.too_large += file.language is not None
            self.tree.unknown += file.language is None
            return False
        file.size = info.st_size
        file.mark = _mark(info)
        file.note = self._began - max(info.st_mtime_ns, info.st_ctime_ns) > SETTLED_NS
        return True


class _Reading:
    """What is known of the files, and the rest found out. fresh: what is worth keeping for another time."""

    def __init__(self, crawl: _Crawl, store: Kept, pool: Pool, recalled: Recalled) -> None:
        self._crawl = crawl
        self._store = store
        self._pool = pool
        self._unread: list[_Seen] = []
        self._read: list[tuple[_Seen, bytes]] = []
        self._waiting: dict[bytes, list[_Seen]] = {}
        self._recalled = recalled
        self._expecting = False
        self._opened: dict[bytes, Facts] = {}
        self._weight = 0
        self.fresh: dict[bytes, bytes] = {}

    def recall(self, files: Sequence[_Seen]) -> None:
        """Take what is known of files by their states."""
        known = self._recalled.notes
        others = self._store.values([file.mark for file in files if file.mark not in known])
        notes = self._crawl.tree.notes
        keyed = []
        for file in files:
            note = known.get(file.mark) or others.get(file.mark)
            label = note[_KEY_BYTES:].decode() if note is not None else ""
            if note is None or not _plausible(file, label):
                self._unread.append(file)
                continue
            notes[file.mark] = note
            if self._settle(file, label):
                file.key = note[:_KEY_BYTES]
                keyed.append(file)
        if len(self._unread) > _FEW:
            self._expect(self._unread[0].language)
        values = self._known(keyed)
        for file in keyed:
            if file.key in values:
                self._read.append((file, values[file.key]))
            else:
                self._unread.append(file)

    def _known(self, files: Iterable[_Seen]) -> dict[bytes, bytes]:
        """Facts by key, b"" where they need not be at hand."""
        recalled = self._recalled.keys
        keys = [file.key for file in files]
        return {**dict.fromkeys(recalled.intersection(keys), b""), **self._store.values([*{*keys} - recalled])}

    def _expect(self, language: Language | None) -> None:
        """Something is about to be parsed."""
        self._pool.prepare(_first_language(language))
        if not self._expecting:
            self._expecting = True
            self._recalled.meanwhile()

    def read(self) -> None:
        """Read the others, and have workers parse what is in no known state."""
        for answer in self._pool.read(self._jobs(), self._crawl.check):
            files = self._waiting.pop(answer.tag)
            if not answer.packed:
                self._crawl.tree.skipped.failed += len(files)
                continue
            self._crawl.tree.parsed += len(files)
            self._open(answer)
            self._read += [(file, answer.packed) for file in files]
            if answer.lasting:
                self.fresh[answer.tag] = answer.packed

    def _open(self, answer: Answer) -> None:
        """Have facts at hand as they are, unless there are too many."""
        self._weight += len(answer.packed)
        if self._weight > HELD_BYTES:
            self._opened.clear()
        elif answer.facts is not None:
            self._opened[answer.tag] = answer.facts

    def finish(self) -> SourceTree:
        tree = self._crawl.tree
        above = self._crawl.ground.name
        self._read.sort(key=lambda each: each[0].name)
        digest = blake2b(tree.stopped.encode(), digest_size=_KEY_BYTES)
        digest.update(repr(sorted(tree.go_modules.items())).encode())
        for file, packed in self._read:
            assert file.language is not None
            path = file.name if above == _HERE else f"{above}/{file.name}"
            tests = _pattern(file.language.tests).search(path) is not None
            source = SourceFile(file.name, file.size, packed, tests, file.key)
            source.open(self._opened.get(file.key))
            tree.files.append(source)
            digest.update(b"%b\0%b" % (os.fsencode(file.name), file.key))
        tree.mark = digest.digest()
        return tree

    def _jobs(self) -> Iterator[Job]:
        """One for each content that is not known."""
        for some in _chunks(self._unread):
            if self._crawl.late():
                return
            sources = {file.name: (file, source) for file in some if (source := self._source(file)) is not None}
            known = self._known(file for file, _ in sources.values())
            for file, source in sources.values():
                if file.key in known:
                    self._read.append((file, known[file.key]))
                elif file.key in self._waiting:
                    self._waiting[file.key].append(file)
                elif file.key in self._pool.passing:
                    self._read.append((file, self._pool.passing[file.key]))
                elif file.key in self._pool.failed:
                    self._crawl.tree.skipped.failed += 1
                else:
                    assert file.language is not None
                    self._waiting[file.key] = [file]
                    self._expect(file.language)
                    yield Job(file.key, file.language.name, source)

    def _source(self, file: _Seen) -> bytes | None:
        """The source of a file in a known language, its key set."""
        try:
            with self._crawl.ground.open(file.name) as opened:
                before = os.fstat(opened.fileno())
                source = opened.read(HEAD_BYTES) if file.language is None else b""
                if file.language is None and language_by_head(source) is None:
                    self._conclude(file, before, "")
                    return None
                source += opened.read(self._crawl.bounds.file_bytes + 1 - len(source))
        except (Failure, OSError):
            self._crawl.tree.skipped.unreadable += 1
            return None
        if len(source) > self._crawl.bounds.file_bytes:
            self._crawl.tree.skipped.too_large += 1
            return None
        language = told_by_content(file.language, source)
        label = _BINARY if b"\0" in source else language.name if language is not None else ""
        if label not in ("", _BINARY):
            assert language is not None
            file.key = _key(language, source)
        file.size = len(source)
        return source if self._conclude(file, before, label) else None

    def _conclude(self, file: _Seen, info: os.stat_result, label: str) -> bool:
        """Note what a file turned out to be; whether it is source."""
        if file.note and _mark(info) == file.mark:
            note = (file.key or bytes(_KEY_BYTES)) + label.encode()
            self.fresh[file.mark] = self._crawl.tree.notes[file.mark] = note
        return self._settle(file, label)

    def _settle(self, file: _Seen, label: str) -> bool:
        if not label:
            self._crawl.tree.unknown += 1
        elif label == _BINARY:
            self._crawl.tree.skipped.binary += 1
        else:
            file.language = by_name(label)
            return True
        return False


def _first_language(language: Language | None) -> str:
    return language.name if language is not None else ""


def changed_language(ground: Ground, lively: Lively) -> Language | None:
    """The language of the first of those files that has changed again; as far as that is soon told: enough to start
    what will parse it."""
    marks = set(lively.marks)
    for packed, key in lively.files:
        name = os.fsdecode(packed)
        language = language_of(name)
        if language is not None and _is_other(ground, name, language, key, marks):
            return language
    return None


def _is_other(ground: Ground, name: str, language: Language, key: bytes, marks: Collection[bytes]) -> bool:
    try:
        if _mark(os.stat(name, dir_fd=ground.fd, follow_symlinks=False)) in marks:
            return False
        with ground.open(name) as opened:
            return _key(language, opened.read(MAX_FILE_BYTES)) != key
    except (Failure, OSError, ValueError):
        return False


def _go_modules(ground: Ground, listing: Listing) -> dict[str, str]:
    """See `SourceTree.go_modules`."""
    found = {"": listing.go_module} if listing.go_module else {}
    for name in [each for each in listing.names if each.endswith(_GO_MOD)][:MAX_ROOTS]:
        folder, _, base = name.rpartition("/")
        if base == _GO_MOD and ground.shows(name):
            try:
                with ground.open(name) as opened:
                    module = go_module(opened.read(MAX_GO_MOD_BYTES))
            except (Failure, OSError):
                continue
            found |= {folder: module} if module else {}
    return found


def read_source(pool: Pool, language: Language, source: bytes, check: Check) -> Facts | None:
    """What one file defines and imports; None when it cannot be parsed at all."""
    return pool.read_one(Job(_key(language, source), language.name, source, mentions=False), check)


def told_by_content(language: Language | None, source: bytes) -> Language | None:
    """The language of a file whose name leaves more than one; else that of its name."""
    return language_by_head(source) if language is None else by_content(language, source)


def _may_be_script(name: str) -> bool:
    return "." not in name[name.rfind("/") + 1 :]


def _plausible(file: _Seen, label: str) -> bool:
    """Whether a note can be about this very file: one state may have several names, each of another language."""
    if file.language is None or file.language.name == "C":
        return label in ("", _BINARY) or find_name(label) is not None
    return label in (_BINARY, file.language.name)


def _mark(info: os.stat_result) -> bytes:
    state = (info.st_dev, info.st_ino, info.st_size, info.st_mtime_ns, info.st_ctime_ns)
    return blake2b(repr(state).encode(), digest_size=_KEY_BYTES, key=_marking()).digest()


@cache
def _marking() -> bytes:
    return version(None)


def _key(language: Language, source: bytes) -> bytes:
    return blake2b(source, digest_size=_KEY_BYTES, key=version(language)).digest()


@cache
def _pattern(text: str) -> re.Pattern[str]:
    return re.compile(text)


def _by_folder(files: Sequence[_Seen]) -> dict[str, list[_Seen]]:
    folders: dict[str, list[_Seen]] = {}
    for file in files:
        folders.setdefault(file.name.rpartition("/")[0] or _HERE, []).append(file)
    return folders


def _chunks(files: Sequence[_Seen]) -> Iterator[list[_Seen]]:
    """Pieces of work that fit into memory."""
    chunk: list[_Seen] = []
    held = 0
    for file in files:
        if chunk and (len(chunk) >= _CHUNK_FILES or held + file.size > _CHUNK_BYTES):
            yield chunk
            chunk, held = [], 0
        chunk.append(file)
        held += file.size
    if chunk:
        yield chunk
