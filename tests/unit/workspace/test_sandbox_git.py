"""Commands that use git, and commands that try to leave behind what git runs."""

from __future__ import annotations

import os
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from fakes.confined import Confined, confined
from fakes.programs import needs
from remit.workspace.sandbox_git import RULING, Repositories

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the sandbox is made of parts of Linux")

ENV = """
export GIT_CONFIG_GLOBAL=/dev/null GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b.c
export GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b.c
"""
SETUP = """
set -e
make() { git init -q "$1"; git -C "$1" config user.name a; git -C "$1" config user.email a@b.c;
  echo 1 > "$1/file"; git -C "$1" add file; git -C "$1" commit -qm one; }
make .
make sub/inner
git -C sub/inner worktree add -q ../tree
make upstream
git -c protocol.file.allow=always submodule --quiet add ./upstream module 2>/dev/null
git commit -qm module
rm -r .git/hooks
"""
HOOK = "printf '#!/bin/sh\\ntouch %s\\n' $WORK/owned"
ATTACKS = {
    "settings": "git config core.fsmonitor 'touch owned'",
    "settings as a file": "echo '[core]' >> .git/config",
    "settings replaced": "cp .git/config c && mv -f c .git/config",
    "settings removed": "rm -f .git/config",
    "settings by a link": "ln -f .git/HEAD .git/config",
    "settings below": "echo '[core]' >> sub/inner/.git/config",
    "settings of a submodule": "echo '[core]' >> .git/modules/module/config",
    "a hook": f"{HOOK} > sub/inner/.git/hooks/pre-commit",
    "hooks moved": "mv sub/inner/.git/hooks sub/inner/.git/other",
    "a hook of a submodule": f"{HOOK} > .git/modules/module/hooks/pre-commit",
    "another directory": "mv .git moved",
    "another directory below": "mv sub/inner/.git sub/moved",
    "another directory for a worktree": "echo 'gitdir: /tmp/x' > sub/tree/.git",
    "the file of a worktree moved": "mv sub/tree/.git sub/tree/x",
    "the file of a submodule": "rm -f module/.git",
    "the common directory of a worktree": "echo /tmp > sub/inner/.git/worktrees/tree/commondir",
}
WORK = {
    "commit": "echo 2 > file && git add file && git commit -qm two && git log --oneline | wc -l",
    "commit below": "cd sub/inner && echo 2 > file && git commit -qam two",
    "commit in a worktree": "cd sub/tree && echo 3 > file && git commit -qam three",
    "commit in a submodule": "cd module && echo 4 > file && git commit -qam four",
    "branch and merge": "git switch -qc b && git commit -qm b --allow-empty && git switch -q - && git merge -q b",
    "stash": "echo 9 > file && git stash -q && git stash pop -q && git checkout -q file",
    "rebase": "git rebase -q HEAD~1",
    "tag, gc": "git tag v && git gc -q",
    "status": "git status --short | grep -v '^??'; true",
}
LATER = {
    "hooks appear": f"mkdir .git/hooks && {HOOK} > .git/hooks/pre-commit && chmod +x .git/hooks/pre-commit",
    "a common directory appears": "mkdir evil && cp -r .git/objects .git/refs .git/HEAD evil/ && "
    "printf '[core]\\n\\tfsmonitor = \"touch owned\"\\n' > evil/config && echo ../evil > .git/commondir",
    "settings of a worktree appear": "echo x > .git/config.worktree",
}


@cache
def ran(way: str) -> Confined:
    needs("git")
    lines = {name: f"{ENV}{line}" for name, line in (WORK | ATTACKS).items()}
    for name, line in LATER.items():
        lines[name] = f"{ENV}{line}"
        lines[f"after {name}"] = f"{ENV}git commit -q --allow-empty -m x; git status >/dev/null; ls -A . .git"
    if way == "bubblewrap":
        return confined(lines, setup=ENV + SETUP, bubblewrap=os.path.realpath(needs("bwrap")), devices=True)
    return confined(lines, setup=ENV + SETUP, as_user=way)


WAYS = pytest.mark.parametrize("way", ["self", "nobody", "bubblewrap"] if os.geteuid() == 0 else ["self", "bubblewrap"])


@WAYS
@pytest.mark.parametrize("line", WORK)
def test_git_works(way: str, line: str) -> None:
    assert ran(way).code[line] == 0, ran(way).said[line]


@WAYS
@pytest.mark.parametrize("attack", ATTACKS)
def test_what_rules_git_is_not_changed(way: str, attack: str) -> None:
    assert ran(way).code[attack] != 0, ran(way).said[attack]


@WAYS
@pytest.mark.parametrize("attack", LATER)
def test_what_appears_is_put_aside(way: str, attack: str) -> None:
    assert ran(way).code[attack] == 0, ran(way).said[attack]
    left = ran(way).said[f"after {attack}"].split()
    assert not {"owned", "hooks", "commondir", "config.worktree"}.intersection(left)
    assert any(".refused-" in name for name in left)


# -- without a command -------------------------------------------------------------------------


def git(folder: Path, *args: str) -> None:
    needs("git")
    subprocess.run(["git", "-C", str(folder), *args], check=True, capture_output=True, env={**os.environ, "HOME": "/"})


def test_what_the_user_makes_meanwhile_stays(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "--template=")
    found = Repositories([str(tmp_path / ".git")])
    (tmp_path / ".git" / "hooks").mkdir()
    found.begin()
    (tmp_path / ".git" / "commondir").write_text("x")
    found.end()
    assert (tmp_path / ".git" / "hooks").is_dir() and not (tmp_path / ".git" / "commondir").exists()
    found.close()


def test_what_a_command_makes_while_another_one_runs_is_put_aside(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "--template=")
    found = Repositories([str(tmp_path / ".git")])
    found.begin()
    (tmp_path / ".git" / "hooks").mkdir()
    found.begin()
    found.end()
    assert not (tmp_path / ".git" / "hooks").exists()
    found.end()
    found.close()


def test_only_what_is_there_is_held(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    store = tmp_path / ".git"
    found = Repositories([str(store), str(tmp_path / "gone" / ".git")])
    assert found.held() == [str(store)]
    assert found.fixed() == [f"{store}/{name}" for name in RULING if (store / name).exists()]
    store.rename(tmp_path / "elsewhere")
    assert found.held() == [str(tmp_path / "elsewhere")]
    found.close()


@pytest.mark.parametrize("text", ["", "gitdir", "nogitdir: /x", "gitdir: /x\0y", "gitdir: gone"])
def test_a_file_that_leads_nowhere_is_fixed_all_the_same(tmp_path: Path, text: str) -> None:
    (tmp_path / ".git").write_text(text)
    found = Repositories([str(tmp_path / ".git")])
    assert (found.fixed(), found.held()) == ([str(tmp_path / ".git")], [])
    found.close()
