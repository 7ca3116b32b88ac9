from __future__ import annotations

import os
from pathlib import Path

import pytest

from remit.base.errors import ErrorCode, Failure
from remit.store.plans import MAX_PLAN_BYTES, PlanDocument


def refusal(document: PlanDocument, content: str | None = None) -> tuple[ErrorCode, str]:
    with pytest.raises(Failure) as seen:
        document.read() if content is None else document.write(content)
    return seen.value.code, seen.value.message


def test_a_plan_is_this_users_alone_and_replaced_whole(tmp_path: Path) -> None:
    document = PlanDocument(str(tmp_path))
    assert refusal(document)[0] is ErrorCode.NOT_FOUND
    document.write("one\n")
    assert document.write("zwei ü\n") == "zwei ü\n".encode()
    assert document.read() == "zwei ü\n"
    assert (tmp_path / "plan.md").stat().st_mode & 0o777 == 0o600
    document.remove()
    document.remove()
    assert list(tmp_path.iterdir()) == []


def test_the_bounds_of_a_plan(tmp_path: Path) -> None:
    document = PlanDocument(str(tmp_path))
    document.write("x" * MAX_PLAN_BYTES)
    assert len(document.read()) == MAX_PLAN_BYTES
    for content, due in (
        ("x" * (MAX_PLAN_BYTES + 1), "262,145 bytes; 262,144 are allowed"),
        (" \n", "blank"),
        ("a\0b", "NUL"),
        ("\ud800", "UTF-8"),
    ):
        code, message = refusal(document, content)
        assert code is ErrorCode.INVALID_ARGUMENTS and due in message
    assert len(document.read()) == MAX_PLAN_BYTES


@pytest.mark.parametrize(
    ("content", "due"),
    [(b"\xff", "not UTF-8"), (b"", "blank"), (b"x" * (MAX_PLAN_BYTES + 1), "are allowed")],
)
def test_what_people_put_there_is_held_to_the_same(tmp_path: Path, content: bytes, due: str) -> None:
    (tmp_path / "plan.md").write_bytes(content)
    code, message = refusal(PlanDocument(str(tmp_path)))
    assert code is ErrorCode.FILE_REFUSED and due in message


def test_links_and_other_things_are_refused(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("secret")
    document = PlanDocument(str(tmp_path))
    (tmp_path / "plan.md").symlink_to("secret")
    assert refusal(document) == (ErrorCode.FILE_REFUSED, "the plan cannot be read: a link stands in its place")
    document.write("plan")
    assert (tmp_path / "secret").read_text() == "secret"
    (tmp_path / "plan.md").unlink()
    os.mkfifo(tmp_path / "plan.md")
    assert "no file" in refusal(document)[1]
