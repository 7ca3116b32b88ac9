"""Repositories that commands make, and what the user's git runs in them afterwards, outside the sandbox."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from fakes.programs import needs
from remit.base.ports import Finished
from remit.base.resources import Effect, Resource
from remit.workspace.process import ProcessGrant
from remit.workspace.sandbox import Grounds, Sandbox
from remit.workspace.sandbox_git import GIT_NOTE, MAX_STORES, recover
from remit.workspace.sandbox_git_settings import harmless
from remit.workspace.sandbox_probe import probe, wished
from remit.workspace.sandbox_secrets import WorkspaceSecrets

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the sandbox is made of parts of Linux")

IDENTITY = ["-c", "user.name=a", "-c", "user.email=a@b.c"]
GIT = "git -c user.name=a -c user.email=a@b.c"
POISON = "config core.fsmonitor 'touch $OWNED; false'"
HOOK = "printf '#!/bin/sh\\ntouch $OWNED\\n' > $H/pre-commit; chmod +x $H/pre-commit"


class Ground:
    """A workspace with a sandbox. owned: the file that an attack would make, outside of all that it may write."""

    def __init__(self, base: Path) -> None:
        self.work, self.private, self.owned = base / "work", base / "private", base / "owned"
        for place in (self.work, self.private):
            place.mkdir()
        self._sandbox: Sandbox | None = None

    @property
    def sandbox(self) -> Sandbox:
        if self._sandbox is None:
            grounds = Grounds(workspace=str(self.work), private=str(self.private), shared=())
            self._sandbox = probe(grounds, WorkspaceSecrets(str(self.work)), wished())
        return self._sandbox

    def run(self, line: str) -> Finished:
        line = line.replace("$OWNED", str(self.owned))
        said: list[bytes] = []
        process = ProcessGrant(
            str(self.work),
            [Resource("command", line, Effect.EXECUTE)],
            {"GIT_CONFIG_GLOBAL": "/dev/null"},
            confinement=self.sandbox,
        )
        done = asyncio.run(process.shell(line, workdir=".", seconds=20, take=lambda stream, data: said.append(data)))
        assert done.exit_code == 0, b"".join(said)
        return done

    def git(self, *words: str, into: str = ".") -> None:
        environment = {**os.environ, "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_COUNT": "1"}
        environment |= {"GIT_CONFIG_KEY_0": "safe.directory", "GIT_CONFIG_VALUE_0": "*"}
        line = ["git", *IDENTITY, *words]
        subprocess.run(line, cwd=self.work / into, env=environment, capture_output=True, check=False)

    def use(self, into: str = ".") -> None:
        """As the user does later."""
        self.git("status", into=into)
        self.git("diff", "HEAD", into=into)
        self.git("commit", "--allow-empty", "-m", "x", into=into)


@pytest.fixture
def ground(tmp_path: Path) -> Iterator[Ground]:
    needs("git")
    made = Ground(tmp_path.resolve())
    yield made
    if made._sandbox is not None:
        made._sandbox.close()


MADE = {
    "the workspace itself": (f"git init -q . && git {POISON}", "."),
    "a link in the index": (
        f"git init -q . && git init -q n && {GIT} -C n commit -q --allow-empty -m x && git -C n {POISON} && git add n",
        ".",
    ),
    "a directory below": (f"mkdir -p a/b && git init -q a/b/c && git -C a/b/c {POISON}", "a/b/c"),
    "a bare one": (
        "git init -q --bare b && git -C b config core.bare false && git -C b config core.worktree .. && "
        f"git -C b {POISON}",
        "b",
    ),
    "a separate one": (f"git init -q --separate-git-dir=s t && git -C t {POISON}", "t"),
    "a separate one within git": (
        f"git init -q . && git init -q --separate-git-dir=.git/objects/s t && git -C t {POISON}",
        "t",
    ),
    "a module": (
        f"git init -q . && mkdir .git/modules && git init -q --separate-git-dir=.git/modules/m t && git -C t {POISON}",
        "t",
    ),
    "settings included": (
        "git init -q . && printf '[core]\\nfsmonitor = touch $OWNED\\n' > x && git config include.path ../x",
        ".",
    ),
    "settings by a link": (f"git init -q . && git {POISON} && mv .git/config x && ln -s ../x .git/config", "."),
    "settings of a worktree": (
        "git init -q . && git config extensions.worktreeConfig true && "
        "git config --worktree core.fsmonitor 'touch $OWNED; false'",
        ".",
    ),
    "another common directory": (
        "git init -q . && git init -q e && mv e/.git e/x && rm e/x/HEAD && "
        "printf '[core]\\nfsmonitor = touch $OWNED\\n' > e/x/config && echo ../e/x > .git/commondir",
        ".",
    ),
    "a hook": (f"git init -q . && H=.git/hooks; mkdir -p $H; {HOOK}", "."),
    "hooks elsewhere": (f"git init -q . && H=h; mkdir $H; {HOOK}; git config core.hooksPath $PWD/h", "."),
    "hooks by a link": (f"git init -q . && H=h; mkdir $H; {HOOK}; rm -rf .git/hooks; ln -s ../h .git/hooks", "."),
    "no right to rename": (f"git init -q . && H=.git/hooks; mkdir -p $H; {HOOK}; git {POISON}; chmod 500 .git", "."),
    "no right to look": (f"git init -q d/n && git -C d/n {POISON} && chmod 300 d d/n", "d/n"),
    "one half made": ("mkdir .git && printf '[core]\\nfsmonitor = touch $OWNED\\n' > .git/config", "."),
}


@pytest.mark.parametrize("attack", MADE)
def test_a_repository_that_a_command_makes_runs_nothing(ground: Ground, attack: str) -> None:
    line, into = MADE[attack]
    done = ground.run(line)
    if attack == "one half made":
        ground.git("init", "-q")
    ground.use(into)
    assert not ground.owned.exists()
    assert any(".refused-*" in text for text in done.left_behind), done.left_behind


@pytest.mark.parametrize("attack", MADE)
def test_the_attack_would_work_without_the_end_of_the_command(ground: Ground, attack: str) -> None:
    line, into = MADE[attack]
    subprocess.run(
        ["bash", "-c", line.replace("$OWNED", str(ground.owned))],
        cwd=ground.work,
        check=True,
        env={**os.environ, "GIT_CONFIG_GLOBAL": "/dev/null"},
    )
    if attack == "one half made":
        ground.git("init", "-q")
    ground.use(into)
    assert ground.owned.exists()


def test_a_later_command_finds_it_tamed_and_may_go_on(ground: Ground) -> None:
    assert ground.run("git init -q n && git -C n config user.name a && git -C n config user.email b").left_behind == ()
    assert (
        ground.run("cd n && echo 1 > f && git add f && git commit -qm one && git worktree add -q ../t").left_behind
        == ()
    )
    assert ground.run("cd t && echo 2 > f && git commit -qam two").left_behind == ()
    [text] = ground.run(f"git -C n {POISON}").left_behind
    assert text.startswith("n/.git/config was renamed to n/.git/config.refused-*")
    assert ground.run("cd n && git commit -q --allow-empty -m three && cat .git/config").left_behind == ()
    kept = (ground.work / "n" / ".git" / "config").read_text()
    assert "fsmonitor" not in kept and "name = a" in kept


def test_a_hard_link_to_settings_is_replaced(ground: Ground) -> None:
    ground.run("git init -q . && ln .git/config x")
    assert os.stat(ground.work / ".git" / "config").st_nlink == 1


def test_a_bare_repository_that_was_there_is_held(ground: Ground) -> None:
    ground.git("init", "-q", "--bare", "b")
    ground.git("config", "core.editor", "vi", into="b")
    done = ground.run(f"! git -C b {POISON} && ! touch b/hooks/x && ! mv b c")
    assert done.left_behind == ()
    assert "vi" in (ground.work / "b" / "config").read_text()


COMMITS = f"{GIT} commit -q --allow-empty -m one && {GIT} commit -q --allow-empty -m two"
STOPPED = f"GIT_SEQUENCE_EDITOR=\"sed -i '1s/^/LINES/'\" {GIT} rebase -q --keep-empty -i HEAD~1"
TODO = Path(".git/rebase-merge/git-rebase-todo")


@pytest.mark.parametrize(
    "attack",
    [
        STOPPED.replace("LINES", "break\\nexec touch x; touch $OUT\\n"),
        STOPPED.replace("LINES", "break\\n  x\\ttouch $OUT\\n"),
        STOPPED.replace("LINES", "break\\nx touch $OUT\\n") + f" && {{ ln {TODO} other || true; }}",
        STOPPED.replace("LINES", "break\\nx touch $OUT\\n")
        + " && mv .git/rebase-merge r && ln -s ../r .git/rebase-merge",
        STOPPED.replace("LINES", "break\\nx touch $OUT\\n") + f" && mv {TODO} t && ln -s ../../t {TODO}",
    ],
)
@pytest.mark.parametrize("made", [False, True])
def test_the_list_of_a_rebase_runs_nothing_that_a_command_put_there(ground: Ground, attack: str, made: bool) -> None:
    begin = f"git init -q . && {COMMITS}"
    if not made:
        subprocess.run(["bash", "-c", begin], cwd=ground.work, check=True)
    done = ground.run(
        f"{begin if made else 'true'} && {attack.replace('$OUT', str(ground.owned).replace('/', chr(92) + '/'))}"
    )
    assert any("rebase-merge" in text for text in done.left_behind), done.left_behind
    ground.git("rebase", "--continue")
    assert not ground.owned.exists()


def test_a_rebase_of_the_user_keeps_what_it_runs(ground: Ground) -> None:
    line = STOPPED.replace("LINES", "break\\nexec touch mine\\n")
    subprocess.run(["bash", "-c", f"git init -q . && {COMMITS} && {line}"], cwd=ground.work, check=True)
    before = (ground.work / TODO).read_text()
    assert ground.run("ls").left_behind == ()
    assert (ground.work / TODO).read_text() == before
    [text] = ground.run(f"echo 'exec touch $OWNED' >> {TODO}").left_behind
    assert text.startswith(".git/rebase-merge/git-rebase-todo was renamed to ")
    assert (ground.work / TODO).read_text() == before
    ground.git("rebase", "--continue")
    assert (ground.work / "mine").exists() and not ground.owned.exists()


def test_a_rebase_that_runs_nothing_goes_on_in_a_later_command(ground: Ground) -> None:
    line = STOPPED.replace("LINES", "break\\n")
    assert ground.run(f"git init -q . && {COMMITS} && {line}").left_behind == ()
    assert ground.run(f"{GIT} rebase --continue").left_behind == ()
    assert not (ground.work / TODO).exists()


def test_repositories_beyond_the_limit_are_told(ground: Ground) -> None:
    ground.git("init", "-q")
    for number in range(MAX_STORES - 1):
        folder = ground.work / ".git" / "modules" / str(number)
        folder.mkdir(parents=True)
        (folder / "HEAD").write_text("ref: refs/heads/main\n")
        (folder / "objects").mkdir()
    assert ground.run("ls").left_behind == ()
    ground.git("init", "-q", "more")
    ground.sandbox.close()
    ground._sandbox = None
    ground.private.mkdir(exist_ok=True)
    [text] = ground.run("ls").left_behind
    assert text.startswith(f"only {MAX_STORES} directories of git are kept as they were")


def killed(ground: Ground, line: str) -> None:
    """A command whose end nobody is left to see to."""
    sandbox = ground.sandbox
    end: Callable[[], Any] = sandbox.end
    sandbox.end = lambda: ()  # type: ignore[method-assign]
    ground.run(line)
    sandbox.end = end  # type: ignore[method-assign]


@pytest.mark.parametrize(
    "attack",
    [
        "cp -r .git e && printf '[core]\\nfsmonitor = touch $OWNED\\n' > e/config && echo ../e > .git/commondir",
        f"git init -q n && git -C n {POISON} && {GIT} -C n commit -q --allow-empty -m x && git add n",
    ],
)
def test_what_a_killed_run_left_is_put_aside_by_the_next_one(ground: Ground, attack: str) -> None:
    ground.git("init", "-q")
    ground.git("config", "core.editor", "vi")
    ground.git("init", "-q", "mine")
    ground.git("config", "core.editor", "vi", into="mine")
    killed(ground, attack)
    recover(str(ground.private / GIT_NOTE))
    ground.use()
    assert not ground.owned.exists()
    for kept in (".git", "mine/.git"):
        assert "vi" in (ground.work / kept / "config").read_text()
    recover(str(ground.private / "none"))


@pytest.mark.parametrize(
    "line",
    [
        "fsmonitor = x",
        "hooksPath = x",
        "sshCommand = x",
        "pager = less",
        "gitProxy = x",
        "worktree = /",
        "worktree = ../../../..",
        "excludesFile = x",
        "bare = false \\",
        'bare = "fal\\\nse"',
    ],
)
def test_a_setting_of_the_core_that_is_not_harmless(line: str) -> None:
    assert harmless(f"[core]\n\t{line}\n", lambda tree: tree == "..")[1] is False


@pytest.mark.parametrize(
    "text",
    [
        "[alias]\ns = !x",
        '[filter "a"]\nclean = x',
        '[diff "a"]\ntextconv = x',
        "[include]\npath = x",
        '[includeIf "gitdir:x"]\npath = x',
        "[credential]\nhelper = x",
        '[remote "o"]\nurl = ext::sh -c x',
        '[remote "o"]\nuploadpack = x',
        "[core] fsmonitor = x",
        "[core]fsmonitor=x",
        "[core.x]\nbare = true",
        "[user]\nname = a\\\n",
        "[user]\nname = a\x00",
        "fsmonitor = x",
        '[submodule "a"]\nupdate = !x',
    ],
)
def test_settings_that_are_not_harmless(text: str) -> None:
    kept, whole = harmless(f"[user]\n\tname = b\n{text}\n", lambda tree: True)
    assert not whole and kept == "[user]\n\tname = b\n"


def test_harmless_settings_stay_as_they_are() -> None:
    text = (
        '[core]\n\tbare = false\n\tworktree = ..\n[remote "o"]\n\turl = https://a.example/b\n[user]\n\tname = "a b"\n'
    )
    assert harmless(f"# note\n\n{text}", lambda tree: tree == "..") == (text, True)
