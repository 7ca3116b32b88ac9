from __future__ import annotations

import hashlib
import os
from pathlib import Path

import msgspec
import pytest

from remit.base.errors import BudgetSpent, EnvironmentFault, ErrorCode, Failure
from remit.base.ports import ArtifactInfo
from remit.base.records import ArtifactRemoved, ArtifactWritten, Record
from remit.store.artifacts import ArtifactStore, media_type


class Book:
    """What a store charges and records, with a budget."""

    def __init__(self, budget: int = 10_000) -> None:
        self.budget = budget
        self.charged: list[int] = []
        self.records: list[Record] = []

    def spend(self, size: int) -> None:
        if sum(self.charged) + size > self.budget:
            raise BudgetSpent("artifacts_total_bytes", "spent")
        self.charged.append(size)

    def record(self, written: ArtifactWritten | ArtifactRemoved) -> None:
        self.records.append(written)

    def store(self, run_dir: Path, max_bytes: int = 1000) -> ArtifactStore:
        return ArtifactStore(str(run_dir), max_bytes, self.spend, self.record)


@pytest.fixture
def book() -> Book:
    return Book()


def index(run_dir: Path) -> list[dict[str, object]]:
    listing = msgspec.json.decode((run_dir / "artifacts.json").read_bytes())
    assert listing["version"] == 1
    artifacts = listing["artifacts"]
    assert isinstance(artifacts, list)
    return artifacts


def test_an_artifact_is_published_recorded_and_listed(tmp_path: Path, book: Book) -> None:
    content = "Grüße\n".encode()
    info = book.store(tmp_path).grant("t1.c1", ["report.md"]).write("report.md", content)

    expected = {
        "name": "report.md",
        "bytes": 8,
        "sha256": hashlib.sha256(content).hexdigest(),
        "media_type": "text/markdown",
        "call": "t1.c1",
        "path": "artifacts/report.md",
    }
    assert msgspec.structs.asdict(info) == expected
    assert (tmp_path / "artifacts" / "report.md").read_bytes() == content
    assert (tmp_path / "calls" / "t1.c1" / "report.md").read_bytes() == content
    assert index(tmp_path) == [expected]
    assert book.records == [ArtifactWritten(**expected)]  # type: ignore[arg-type]
    assert book.charged == [8]
    assert os.listdir(tmp_path / "artifacts") == ["report.md"]


def test_an_artifact_may_be_empty(tmp_path: Path, book: Book) -> None:
    assert book.store(tmp_path).grant("t1.c1", ["a.txt"]).write("a.txt", b"").bytes == 0
    assert (tmp_path / "artifacts" / "a.txt").read_bytes() == b""


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("a.md", "text/markdown"),
        ("a.txt", "text/plain"),
        ("a.csv", "text/csv"),
        ("a.JSON", "application/json"),
        ("a.png", "image/png"),
        ("a.exe", "application/octet-stream"),
        ("a", "application/octet-stream"),
    ],
)
def test_the_media_type_follows_the_suffix(name: str, kind: str) -> None:
    assert media_type(name) == kind


def test_the_same_call_writing_the_same_again_changes_nothing(tmp_path: Path, book: Book) -> None:
    grant = book.store(tmp_path).grant("t1.c1", ["a.txt"])

    assert grant.write("a.txt", b"one") == grant.write("a.txt", b"one")
    assert (len(book.records), book.charged) == (1, [3])


def test_another_call_replaces_what_is_published_and_both_copies_are_kept(tmp_path: Path, book: Book) -> None:
    store = book.store(tmp_path)
    store.grant("t1.c1", ["a.txt"]).write("a.txt", b"one")
    store.grant("t2.c1", ["a.txt"]).write("a.txt", b"second")

    assert (tmp_path / "artifacts" / "a.txt").read_bytes() == b"second"
    assert (tmp_path / "calls" / "t1.c1" / "a.txt").read_bytes() == b"one"
    assert [entry["call"] for entry in index(tmp_path)] == ["t2.c1"]
    assert (len(book.records), book.charged) == (2, [3, 6])

    store.grant("t1.c1", ["a.txt"]).write("a.txt", b"one")
    assert (tmp_path / "artifacts" / "a.txt").read_bytes() == b"one"
    assert [entry["call"] for entry in index(tmp_path)] == ["t1.c1"]
    assert (len(book.records), book.charged) == (3, [3, 6])


def test_a_deleted_artifact_is_published_again_without_a_new_charge(tmp_path: Path, book: Book) -> None:
    grant = book.store(tmp_path).grant("t1.c1", ["a.txt"])
    grant.write("a.txt", b"one")
    (tmp_path / "artifacts" / "a.txt").unlink()
    grant.write("a.txt", b"one")

    assert (tmp_path / "artifacts" / "a.txt").read_bytes() == b"one"
    assert (len(book.records), book.charged) == (1, [3])


def test_only_declared_names_can_be_written(tmp_path: Path, book: Book) -> None:
    with pytest.raises(Failure) as caught:
        book.store(tmp_path).grant("t1.c1", ["a.txt"]).write("b.txt", b"x")
    assert caught.value.code is ErrorCode.UNDECLARED
    assert not (tmp_path / "artifacts").exists()


@pytest.mark.parametrize("name", ["", ".a.txt", "a/b.txt", "../a.txt", "/a.txt", "..", "a\0.txt"])
def test_a_name_that_could_leave_the_store_is_refused_by_the_store_too(tmp_path: Path, book: Book, name: str) -> None:
    with pytest.raises(Failure) as caught:
        book.store(tmp_path).grant("t1.c1", [name]).write(name, b"x")
    assert caught.value.code is ErrorCode.INVALID_NAME
    assert os.listdir(tmp_path) == []


def test_the_limit_of_one_artifact_passes_and_a_byte_more_does_not(tmp_path: Path, book: Book) -> None:
    grant = book.store(tmp_path, max_bytes=10).grant("t1.c1", ["a.txt", "b.txt"])
    assert grant.max_bytes == 10
    assert grant.write("a.txt", b"x" * 10).bytes == 10

    with pytest.raises(Failure) as caught:
        grant.write("b.txt", b"x" * 11)
    assert caught.value.code is ErrorCode.ARTIFACT_TOO_LARGE
    assert "11 bytes" in caught.value.message and "10 bytes" in caught.value.message
    assert os.listdir(tmp_path / "artifacts") == ["a.txt"]
    assert book.charged == [10]


def test_a_spent_budget_leaves_nothing_behind(tmp_path: Path) -> None:
    book = Book(budget=5)
    store = book.store(tmp_path)
    store.grant("t1.c1", ["a.txt"]).write("a.txt", b"12345")

    with pytest.raises(BudgetSpent):
        store.grant("t1.c2", ["b.txt"]).write("b.txt", b"6")
    assert os.listdir(tmp_path / "artifacts") == ["a.txt"]
    assert len(book.records) == 1
    assert os.listdir(tmp_path / "calls" / "t1.c2") == []


@pytest.mark.parametrize(
    ("first", "second"), [("Report.md", "report.md"), ("\u00e9.md", "e\u0301.md"), ("STRASSE.md", "straße.md")]
)
def test_names_that_some_file_systems_take_for_one_are_not_both_written(
    tmp_path: Path, book: Book, first: str, second: str
) -> None:
    store = book.store(tmp_path)
    store.grant("t1.c1", [first]).write(first, b"x")

    with pytest.raises(Failure) as caught:
        store.grant("t1.c2", [second]).write(second, b"y")
    assert caught.value.code is ErrorCode.INVALID_NAME
    assert repr(first) in caught.value.message


@pytest.mark.parametrize("key", ["t1.c1", "a/b", "..", ".hidden", "x" * 300, ""])
def test_any_call_key_has_a_place_of_its_own(tmp_path: Path, book: Book, key: str) -> None:
    book.store(tmp_path).grant(key, ["a.txt"]).write("a.txt", b"x")

    (place,) = os.listdir(tmp_path / "calls")
    assert (tmp_path / "calls" / place / "a.txt").read_bytes() == b"x"
    assert sorted(os.listdir(tmp_path)) == ["artifacts", "artifacts.json", "calls"]


# Things planted in the run directory


def test_a_link_planted_at_the_artifact_is_replaced_and_not_followed(tmp_path: Path, book: Book) -> None:
    victim = tmp_path / "victim"
    victim.write_text("precious")
    (tmp_path / "artifacts").mkdir()
    (tmp_path / "artifacts" / "a.txt").symlink_to(victim)

    book.store(tmp_path).grant("t1.c1", ["a.txt"]).write("a.txt", b"x")

    assert victim.read_text() == "precious"
    assert not (tmp_path / "artifacts" / "a.txt").is_symlink()
    assert (tmp_path / "artifacts" / "a.txt").read_bytes() == b"x"


@pytest.mark.parametrize("planted", ["artifacts", "calls", "calls/t1.c1"])
def test_a_link_planted_at_a_directory_of_ours_is_not_followed(tmp_path: Path, book: Book, planted: str) -> None:
    run, victim = tmp_path / "run", tmp_path / "victim"
    victim.mkdir()
    (run / planted).parent.mkdir(parents=True, exist_ok=True)
    (run / planted).symlink_to(victim)

    with pytest.raises(EnvironmentFault):
        book.store(run).grant("t1.c1", ["a.txt"]).write("a.txt", b"x")
    assert os.listdir(victim) == []
    assert book.records == []


def test_a_link_planted_at_the_call_copy_or_its_temporary_is_replaced(tmp_path: Path, book: Book) -> None:
    victim = tmp_path / "victim"
    victim.write_text("precious")
    place = tmp_path / "calls" / "t1.c1"
    place.mkdir(parents=True)
    (place / "a.txt").symlink_to(victim)
    (place / ".partial").symlink_to(victim)

    book.store(tmp_path).grant("t1.c1", ["a.txt"]).write("a.txt", b"precious")

    assert victim.read_text() == "precious"
    assert not (place / "a.txt").is_symlink()
    assert os.listdir(place) == ["a.txt"]
    assert book.charged == [8]


def test_a_fifo_planted_at_the_call_copy_blocks_nothing(tmp_path: Path, book: Book) -> None:
    place = tmp_path / "calls" / "t1.c1"
    place.mkdir(parents=True)
    os.mkfifo(place / "a.txt")

    assert book.store(tmp_path).grant("t1.c1", ["a.txt"]).write("a.txt", b"x").bytes == 1


def test_a_directory_in_the_way_is_said(tmp_path: Path, book: Book) -> None:
    (tmp_path / "artifacts" / "a.txt").mkdir(parents=True)

    with pytest.raises(EnvironmentFault, match="Is a directory"):
        book.store(tmp_path).grant("t1.c1", ["a.txt"]).write("a.txt", b"x")
    assert book.records == []


# After a crash


def resumed(run_dir: Path, records: list[Record]) -> tuple[ArtifactStore, Book, list[str]]:
    book = Book()
    store = book.store(run_dir)
    return store, book, store.rebuild(records)


def test_a_rebuilt_store_knows_what_was_published(tmp_path: Path, book: Book) -> None:
    store = book.store(tmp_path)
    store.grant("t1.c1", ["a.txt"]).write("a.txt", b"one")
    store.grant("t2.c1", ["a.txt"]).write("a.txt", b"two")
    store.grant("t2.c2", ["b.txt"]).write("b.txt", b"three")
    (tmp_path / "artifacts.json").unlink()

    again, later, notices = resumed(tmp_path, book.records)

    assert notices == []
    assert again.published() == store.published()
    assert [entry["name"] for entry in index(tmp_path)] == ["a.txt", "b.txt"]
    again.grant("t2.c2", ["b.txt"]).write("b.txt", b"three")
    assert (later.records, later.charged) == ([], [])


def test_a_write_stored_but_not_recorded_is_finished_by_writing_again_at_no_charge(tmp_path: Path, book: Book) -> None:
    book.store(tmp_path).grant("t1.c1", ["a.txt"]).write("a.txt", b"one")

    again, later, notices = resumed(tmp_path, [])
    assert (notices, index(tmp_path)) == ([], [])
    again.grant("t1.c1", ["a.txt"]).write("a.txt", b"one")

    assert (len(later.records), later.charged) == (1, [])
    assert len(index(tmp_path)) == 1


def test_a_publication_without_a_record_is_taken_back_to_the_recorded_one(tmp_path: Path, book: Book) -> None:
    store = book.store(tmp_path)
    store.grant("t1.c1", ["a.txt"]).write("a.txt", b"one")
    store.grant("t2.c1", ["a.txt"]).write("a.txt", b"unrecorded")

    _, _, notices = resumed(tmp_path, book.records[:1])

    assert notices == []
    assert (tmp_path / "artifacts" / "a.txt").read_bytes() == b"one"


def test_a_missing_publication_is_made_again_from_the_copy(tmp_path: Path, book: Book) -> None:
    book.store(tmp_path).grant("t1.c1", ["a.txt"]).write("a.txt", b"one")
    (tmp_path / "artifacts" / "a.txt").unlink()

    assert resumed(tmp_path, book.records)[2] == []
    assert (tmp_path / "artifacts" / "a.txt").read_bytes() == b"one"


def test_what_someone_else_changed_is_left_and_said(tmp_path: Path, book: Book) -> None:
    book.store(tmp_path).grant("t1.c1", ["a.txt"]).write("a.txt", b"one")
    (tmp_path / "artifacts" / "a.txt").write_bytes(b"by hand")

    assert resumed(tmp_path, book.records)[2] == ["artifacts/a.txt was changed since the run wrote it"]
    assert (tmp_path / "artifacts" / "a.txt").read_bytes() == b"by hand"
    assert (tmp_path / "calls" / "t1.c1" / "a.txt").read_bytes() == b"one"


def test_what_is_lost_altogether_is_said(tmp_path: Path, book: Book) -> None:
    book.store(tmp_path).grant("t1.c1", ["a.txt"]).write("a.txt", b"one")
    (tmp_path / "artifacts" / "a.txt").unlink()
    (tmp_path / "calls" / "t1.c1" / "a.txt").unlink()

    assert resumed(tmp_path, book.records)[2] == ["artifacts/a.txt is missing, and so is its copy"]


def test_a_full_disk_is_told_and_the_published_version_stands(small_disk: Path, book: Book) -> None:
    store = Book(budget=10**9).store(small_disk, max_bytes=10**9)
    first = store.grant("t1.c1", ["a.txt"]).write("a.txt", b"1" * 50_000)
    with pytest.raises(EnvironmentFault) as caught:
        store.grant("t2.c1", ["a.txt"]).write("a.txt", b"2" * 120_000)
    assert caught.value.kind == "disk_full"
    assert (small_disk / "artifacts" / "a.txt").read_bytes() == b"1" * 50_000
    assert store.published() == (first,)
    assert [entry["sha256"] for entry in index(small_disk)] == [first.sha256]
    assert not list(small_disk.rglob(".partial"))


def test_published_artifacts_come_by_name(tmp_path: Path, book: Book) -> None:
    store = book.store(tmp_path)
    infos: dict[str, ArtifactInfo] = {}
    for name in ("b.txt", "a.txt"):
        infos[name] = store.grant("t1.c1", [name]).write(name, name.encode())

    assert store.published() == (infos["a.txt"], infos["b.txt"])


# -- what commands write by themselves ---------------------------------------------------------


def told(store: ArtifactStore, key: str = "t1.c1") -> str:
    return "; ".join(store.take_in(key))


def test_files_of_commands_are_artifacts_of_the_call(tmp_path: Path, book: Book) -> None:
    store = book.store(tmp_path)
    store.write("t1.c1", "a.md", b"one")
    (tmp_path / "artifacts" / "b.csv").write_bytes(b"two")
    assert told(store, "t2.c1") == ""
    assert [(each.name, each.call, each.bytes) for each in store.published()] == [
        ("a.md", "t1.c1", 3),
        ("b.csv", "t2.c1", 3),
    ]
    assert [each["name"] for each in index(tmp_path)] == ["a.md", "b.csv"]
    assert (tmp_path / "calls" / "t2.c1" / "b.csv").read_bytes() == b"two"
    assert (book.charged, len(book.records), store.altered()) == ([3, 3], 2, [])

    assert told(store, "t3.c1") == ""
    assert len(book.records) == 2, "nothing is published twice"
    assert not (tmp_path / "calls" / "t3.c1").exists()


def test_a_command_writes_an_artifact_again(tmp_path: Path, book: Book) -> None:
    store = book.store(tmp_path)
    store.write("t1.c1", "a.md", b"one")
    store.take_in("t1.c2")
    (tmp_path / "artifacts" / "a.md").write_bytes(b"two")
    store.take_in("t2.c1")
    assert [(each.call, each.sha256) for each in store.published()] == [("t2.c1", hashlib.sha256(b"two").hexdigest())]
    again = book.store(tmp_path)
    assert again.rebuild(book.records) == []
    assert again.published() == store.published()


def test_links_and_the_like_are_removed(tmp_path: Path, book: Book) -> None:
    store = book.store(tmp_path)
    store.write("t1.c1", "a.md", b"one")
    place = tmp_path / "artifacts"
    (tmp_path / "secret").write_text("secret")
    (place / "key.md").symlink_to(tmp_path / "secret")
    (place / "loop").symlink_to("loop")
    os.mkfifo(place / "pipe.md")
    (place / "site" / "deep").mkdir(parents=True)
    (place / "site" / "page.html").write_text("page")
    (place / "site" / "deep" / "home").symlink_to("/root")
    (place / "shut").mkdir()
    (place / "shut" / "link").symlink_to("/etc/passwd")
    (place / "shut").chmod(0)
    text = told(store)
    for name, what in (("key.md", f"a link to {tmp_path}/secret"), ("loop", "a link to loop"), ("pipe.md", "a pipe")):
        assert f"{name} was removed from the artifacts, which are files: it was {what}" in text
    assert "site/deep/home was removed" in text and "shut/link was removed" in text
    assert "site among the artifacts is not listed as one: it is a directory, and only files are" in text
    left = sorted(str(path.relative_to(place)) for path in place.rglob("*"))
    assert left == ["a.md", "shut", "site", "site/deep", "site/page.html"]
    assert (tmp_path / "secret").read_text() == "secret"
    assert told(store) == "", "each is told once"


def test_what_cannot_be_looked_through_goes_whole(tmp_path: Path, book: Book, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("remit.store.left_files.MAX_ENTRIES", 5)
    deep = tmp_path / "artifacts" / "deep"
    (deep / "/".join("d" * 40)).mkdir(parents=True)
    assert "levels" in told(book.store(tmp_path))
    wide = tmp_path / "artifacts" / "wide"
    for number in range(6):
        (wide / str(number)).mkdir(parents=True)
    assert "more than 5 entries" in told(book.store(tmp_path))


@pytest.mark.parametrize(
    ("name", "size", "why"),
    [
        (".hidden", 1, "does not start with a dot"),
        ("large.md", 1001, "one artifact of this task may have 1000 bytes"),
        ("A.MD", 1, "differs only in case"),
        ("x\udc80.md", 1, "control characters"),
        ("two\nlines.md", 1, "control characters"),
    ],
)
def test_what_is_no_artifact_is_told_once_and_stays(tmp_path: Path, book: Book, name: str, size: int, why: str) -> None:
    store = book.store(tmp_path)
    store.write("t1.c1", "a.md", b"one")
    (tmp_path / "artifacts" / name).write_bytes(b"x" * size)
    text = told(store, "t2.c1")
    assert why in text and bool(text) == bool(why), text
    assert "\n" not in text
    assert len(store.published()) == (1 if why else 2)
    assert (tmp_path / "artifacts" / name).exists()
    assert told(store) == ""


def test_files_of_commands_are_charged(tmp_path: Path) -> None:
    book = Book(budget=5)
    store = book.store(tmp_path)
    store.write("t1.c1", "a.md", b"one")
    (tmp_path / "artifacts" / "b.md").write_bytes(b"two")
    with pytest.raises(BudgetSpent):
        store.take_in("t2.c1")
    assert [each.name for each in store.published()] == ["a.md"]


def test_a_change_by_another_hand_is_not_taken_for_that_of_a_command(tmp_path: Path, book: Book) -> None:
    book.store(tmp_path).write("t1.c1", "a.md", b"one")
    (tmp_path / "artifacts" / "a.md").write_bytes(b"by another hand")
    (tmp_path / "artifacts" / "link").symlink_to("/etc/passwd")
    store = book.store(tmp_path)
    notices = store.rebuild(book.records)
    assert [each.split(" was ")[0] for each in notices] == ["link", "artifacts/a.md"]
    assert told(store, "t2.c1") == ""
    assert store.altered() == ["artifact a.md was changed after it was written"]


def test_what_a_command_renames_is_listed_under_its_new_name(tmp_path: Path, book: Book) -> None:
    store = book.store(tmp_path)
    place = tmp_path / "artifacts"
    store.take_in("t1.c1")
    (place / "part").write_bytes(b"one")
    store.take_in("t1.c1")
    store.write("t1.c2", "kept.md", b"two")
    (place / "part").rename(place / "report.md")
    store.take_in("t2.c1")
    assert [each.name for each in store.published()] == ["kept.md", "report.md"]
    assert [each["name"] for each in index(tmp_path)] == ["kept.md", "report.md"]
    assert book.records[-2] == ArtifactRemoved("part", "t2.c1")
    assert store.altered() == []
    again = book.store(tmp_path)
    assert (again.rebuild(book.records), again.published()) == ([], store.published())


def test_what_another_hand_took_away_is_not_let_go(tmp_path: Path, book: Book) -> None:
    book.store(tmp_path).write("t1.c1", "a.md", b"one")
    (tmp_path / "artifacts" / "a.md").unlink()
    (tmp_path / "calls" / "t1.c1" / "a.md").unlink()
    store = book.store(tmp_path)
    store.rebuild(book.records)
    store.take_in("t2.c1")
    assert store.altered() == ["artifact a.md was written, and is gone"]


def test_not_every_file_of_a_heap_is_an_artifact(tmp_path: Path, book: Book, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("remit.store.artifacts.MAX_TAKEN_IN", 5)
    store = book.store(tmp_path)
    store.write("t1.c1", "first.md", b"x")
    for number in range(40):
        (tmp_path / "artifacts" / f"{number:02}.md").write_bytes(b"x")
    told = store.take_in("t2.c1")
    assert (len(store.published()), len(told), told[-1]) == (5, 21, "and 16 more among the artifacts")
    assert told[0] == "04.md among the artifacts is not listed as one: there are 5 already"
