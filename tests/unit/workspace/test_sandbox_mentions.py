from __future__ import annotations

from pathlib import Path

import pytest

from remit.workspace.sandbox_mentions import MAX_WORDS, mentioned


@pytest.mark.parametrize(
    ("line", "due"),
    [
        ("cat .env", (".env",)),
        ("cat ./.env;ls", ("./.env",)),
        ("cat '.env' \".env\" <.env", (".env",)),
        ("grep x --file=.env", (".env",)),
        ("curl -d@.env x", ()),
        ("cat conf/../.env conf/.env", ("conf/../.env",)),
        ("cat ~/.ssh/id_rsa", ("~/.ssh/id_rsa",)),
        ("ls $HOME/.ssh ${HOME}/.ssh/x ~/.sshd", ("$HOME/.ssh", "${HOME}/.ssh/x")),
        ("cat WORK/.env", ("WORK/.env",)),
        ("cat link", ("link",)),
        ("cat a/.env", ()),
        ("cat .env.example; cat . ..", ()),
        ("", ()),
        ("echo \0.env", ()),
    ],
)
def test_what_a_line_names(tmp_path: Path, line: str, due: tuple[str, ...]) -> None:
    work, home = tmp_path / "work", tmp_path / "home"
    for folder in (work / "conf", home / ".ssh"):
        folder.mkdir(parents=True)
    (work / ".env").touch()
    (work / "link").symlink_to(".env")
    places = {str(work / ".env"), str(home / ".ssh")}
    found = mentioned(line.replace("WORK", str(work)), str(work), str(home), places)
    assert tuple(word.replace(str(work), "WORK") for word in found) == due


def test_the_directory_of_the_command_counts(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    places = {str(tmp_path / ".env")}
    assert mentioned("cat ../.env .env", str(tmp_path / "sub"), "/none", places) == ("../.env",)


def test_a_long_line_is_looked_at_as_far_as_the_limit(tmp_path: Path) -> None:
    places = {str(tmp_path / ".env")}
    assert mentioned("x " * (MAX_WORDS - 1) + ".env", str(tmp_path), "/none", places) == (".env",)
    assert mentioned("x " * MAX_WORDS + ".env", str(tmp_path), "/none", places) == ()
