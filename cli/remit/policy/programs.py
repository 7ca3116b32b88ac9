"""What policy knows of programs: those that run another command, and those whose arguments are a program."""

from __future__ import annotations

import msgspec


def _listed(text: str) -> list[str]:
    return [" ".join(item.split()) for item in text.split(",")]


RESERVED = frozenset(
    _listed(
        "!, {, }, if, then, elif, else, fi, for, while, until, do, done, in, function, time, coproc, select, [[, ]]"
    )
)
"""Words of the shell that stand before a command."""

TRANSPARENT = frozenset(_listed("!, {, }, if, then, elif, else, fi, while, until, do, done"))
"""Those that say only whether and when the command behind them runs."""

CHANGES_DIRECTORY = frozenset(_listed("cd, pushd, popd"))

SHELLS = frozenset(_listed("sh, bash, dash, zsh, ksh, ash, fish"))
"""Programs that run the text of their standard input."""

READERS = SHELLS | frozenset(_listed("source, ., at, batch"))
"""What runs a text that it reads, from its input or from what stands for a file."""

PRINTERS = frozenset(_listed("echo, printf"))
"""What prints its own words."""

DECLARES = frozenset(_listed("export, declare, typeset, local, readonly"))
"""Builtins whose words are assignments."""

RUN_VARIABLES = frozenset(
    _listed(
        """PROMPT_COMMAND, PAGER, MANPAGER, EDITOR, VISUAL, BROWSER, GIT_PAGER, GIT_EDITOR, GIT_SEQUENCE_EDITOR,
        GIT_SSH_COMMAND, GIT_SSH, GIT_EXTERNAL_DIFF, GIT_ASKPASS, GIT_PROXY_COMMAND, RSYNC_RSH"""
    )
)
"""Variables whose value is a command line that some program runs."""

WRAPPERS: dict[str, int] = dict.fromkeys(
    _listed(
        """env, sudo, doas, nice, time, nohup, command, xargs, exec, builtin, setsid, stdbuf, ionice, busybox, toybox,
        unbuffer, unshare, nsenter, setpriv, runuser, su, strace, ltrace, pkexec, fakeroot, firejail, systemd-run,
        rlwrap, valgrind, parallel, entr, chronic, numactl, prlimit, torsocks, ld.so, ld-linux, ld-linux.so.2,
        ld-linux-x86-64.so.2, ld-linux-aarch64.so.1, ld-linux-armhf.so.3, ld64.so.2, ld-musl-x86_64.so.1,
        ld-musl-aarch64.so.1"""
    ),
    0,
) | dict.fromkeys(_listed("timeout, chroot, taskset, chrt, flock"), 1)
"""Programs that run the command in their own arguments, and how many operands come before it."""

SCRIPT_OPTION = frozenset(_listed("sh, bash, dash, zsh, ksh, ash, fish, su, runuser, script, flock"))
"""Programs that run the text given with `-c`."""

JOINED = frozenset(_listed("eval, watch, trap"))
"""Programs that run their arguments as one line."""

TEXT_OPTIONS = dict.fromkeys(_listed("mapfile, readarray, compgen"), "-C")
"""Builtins that run the text behind an option."""

_GIT_RUNS = "core\\.(?:pager|editor|sshcommand|askpass|fsmonitor)|sequence\\.editor|diff\\.external|pager\\.[^=]+"
SETTINGS = {
    "alias": r"\A[^=]+=(.+)",
    "git": rf"(?i)\A(?:(?:-c)?alias\.[^=]+=!|!|(?:-c)?(?:{_GIT_RUNS})=)(.+)",
    "sed": r"(?:\A|[0-9$/;{}\n=]|-e)[ \t]*e[ \t]+([^\n]+)",
    **dict.fromkeys(
        _listed("ssh, scp, sftp"), r"(?i)\A(?:-o)?\s*(?:ProxyCommand|LocalCommand|KnownHostsCommand)\s*[\s=](.+)"
    ),
    **dict.fromkeys(
        _listed("vim, vi, nvim, ex, view, gvim"), r"\A(?:-c|--cmd=?)?\+?\s*:?\s*(?:sil(?:ent)?!?\s+)?!\s*(.+)"
    ),
}
"""Programs that run a text in some of their words: an expression of such words, whose group is that text."""

_FD_OPTIONS = frozenset(_listed("-x, --exec, -X, --exec-batch"))
EXEC_OPTIONS: dict[str, frozenset[str]] = {
    "find": frozenset(_listed("-exec, -execdir, -ok, -okdir")),
    "fd": _FD_OPTIONS,
    "fdfind": _FD_OPTIONS,
}
"""Programs that run what stands behind one of these options."""

# -- for `policy check` and for prefixes that are allowed ----------------------------------------


class Runner(msgspec.Struct, frozen=True):
    """Why a command prefix, with further arguments left open, can run anything, and a command that does."""

    why: str
    example: str


_INTERPRETER = "an interpreter takes a program as its arguments"
_WRAPPER = "it runs the command in its arguments"
_SCRIPTS = "it runs any program or script that it is given or can fetch"
_RUNNERS: tuple[tuple[str, str, str], ...] = (
    (_INTERPRETER, "{} -c 'import os; os.system(\"id\")'", "python, python3, pypy3, ipython"),
    (_INTERPRETER, '{} -e \'require("child_process").execSync("id")\'', "node, nodejs, bun"),
    (_INTERPRETER, "{} eval 'new Deno.Command(\"id\").spawn()'", "deno"),
    (_INTERPRETER, "{} -e 'system(\"id\")'", "ruby, perl, Rscript"),
    (_INTERPRETER, "{} -r 'system(\"id\");'", "php"),
    (_INTERPRETER, "{} -e 'os.execute(\"id\")'", "lua"),
    (_INTERPRETER, "{} -e 'run(`id`)'", "julia"),
    (_INTERPRETER, "{} -e 'do shell script \"id\"'", "osascript"),
    (_INTERPRETER, "{} -c id", "pwsh, powershell"),
    (_INTERPRETER, "{} script", "tclsh, expect"),
    (_INTERPRETER, "{} 'BEGIN { system(\"id\") }'", "awk, gawk, mawk"),
    (_INTERPRETER, "{} '1e id' file", "sed"),
    ("a shell takes a program as its arguments", "{} -c id", "sh, bash, dash, zsh, ksh, ash, fish"),
    ("a shell takes a program as its arguments", "{} id", "eval"),
    ("a shell takes a program as its arguments", "{} script", "source, ."),
    (
        _WRAPPER,
        "{} rm -rf x",
        """env, sudo, doas, nice, time, nohup, command, xargs, exec, builtin, setsid, ionice, busybox, toybox,
        unbuffer, unshare, nsenter, setpriv, strace, ltrace, watch, pkexec, fakeroot, firejail, systemd-run, rlwrap,
        valgrind, entr, chronic, numactl, prlimit, torsocks""",
    ),
    (_WRAPPER, "{} 5 rm -rf x", "timeout, taskset, chrt"),
    (_WRAPPER, "{} -oL rm -rf x", "stdbuf"),
    (_WRAPPER, "{} -c 'rm -rf x'", "su, runuser, script"),
    (_WRAPPER, "{} dir rm -rf x", "chroot, flock"),
    (_WRAPPER, "{} rm ::: x", "parallel"),
    (_WRAPPER, "{} new-session 'rm -rf x'", "tmux"),
    (_WRAPPER, "{} -dm rm -rf x", "screen"),
    (_WRAPPER, "{} host rm -rf x", "ssh"),
    (_WRAPPER, "{} image rm -rf x", "docker run, docker exec, podman run, podman exec, kubectl exec"),
    (
        _SCRIPTS,
        "{} anything",
        """npx, bunx, pnpx, uvx, pipx run, npm exec, npm x, npm run, npm run-script, pnpm exec, pnpm dlx, pnpm run,
        yarn exec, yarn dlx, yarn run, bun x, bun run, uv run, poetry run, pdm run, hatch run, bundle exec, cargo run,
        go run, go generate, dotnet run""",
    ),
    ("its targets and variables run any command", "{} SHELL=/tmp/x", "make, gmake"),
    ("its recipes run any command", "{} target", "just, task, rake"),
    ("a setting of git can name a command to run", "{} alias.x '!id'", "git config"),
    ("a setting of git can name a command to run", "{} alias.x='!id' x", "git -c"),
    ("a setting of git can name a command to run", "{}=core.pager=PAGER log", "git --config-env"),
    ("its tool is any command", "{} -x id", "git difftool"),
    ("it has commands that run a program", "{} -c '!id'", "vim, vi, nvim"),
    ("it has commands that run a program", "{} --eval '(shell-command \"id\")'", "emacs"),
    ("it has commands that run a program", "{} file", "ed"),
    ("it has commands that run a program", "{} -ex 'shell id'", "gdb"),
    ("it has commands that run a program", "{} -o 'platform shell id'", "lldb"),
)
RUNS_ANYTHING: dict[str, Runner] = {
    prefix: Runner(why, example.replace("{}", prefix, 1))
    for why, example, listed in _RUNNERS
    for prefix in _listed(listed)
}
"""Command prefixes that, with further arguments left open, can run anything."""

OPERANDS: dict[str, int] = WRAPPERS | dict.fromkeys(
    _listed("ssh, docker run, docker exec, podman run, podman exec, kubectl exec"), 1
)
"""How many operands such a prefix takes before the command."""

RUNS_BY_OPTION: dict[str, str] = {
    "find": "find . -exec rm {} +",
    "fd": "fd --exec rm",
    "tar": "tar xf x.tar --to-command=id",
    "rsync": "rsync -e id a host:b",
    "sort": "sort --compress-program=id file",
    "rg": "rg --pre id x",
    "zip": "zip x.zip file -T -TT id",
    "git grep": "git grep --open-files-in-pager=id x",
    "git rebase": "git rebase --exec id main",
    "git bisect": "git bisect run id",
    "git submodule": "git submodule foreach id",
    "git fetch": "git fetch --upload-pack=id .",
    "git clone": "git clone -c core.sshCommand=id host:x",
    "go build": "go build -toolexec=id",
    "go test": "go test -exec=id",
    "go vet": "go vet -vettool=id",
    "wget": "wget --use-askpass=id http://example.org/",
    "split": "split --filter=id file",
    "man": "man -P id ls",
}
"""Commands of which one option or word, wherever it stands, runs a program; each with an example."""

LEADING_OPTIONS: dict[str, frozenset[str]] = {
    "git": frozenset(_listed("-c, -C, --config-env, --exec-path, --git-dir, --work-tree, --paginate, -p"))
}
"""Options before the subcommand that make it another command: no prefix that is allowed covers them."""

_OUTPUT = "--output, --ext-diff, --textconv"
_TRANSFER = "--upload-pack, --receive-pack, --exec, -u, -c, --config, --template"
GUARDED_OPTIONS: dict[str, frozenset[str]] = {
    prefix: frozenset(_listed(options))
    for prefix, options in {
        **dict.fromkeys(
            _listed("git log, git diff, git show, git format-patch, git diff-tree, git diff-index, git diff-files"),
            _OUTPUT,
        ),
        "git stash": _OUTPUT,
        "git blame": "--textconv, --contents",
        "git cat-file": "--textconv, --filters",
        "git whatchanged": _OUTPUT,
        "git reflog": _OUTPUT,
        "git grep": "-O, --open-files-in-pager, --textconv, --ext-grep",
        "git archive": "-o, --output, --exec, --remote",
        "git rebase": "-x, --exec",
        "git bisect": "run",
        "git submodule": "foreach",
        "git difftool": "-x, --extcmd",
        **dict.fromkeys(_listed("git clone, git fetch, git pull, git push, git ls-remote"), _TRANSFER),
        "find": "-exec, -execdir, -ok, -okdir, -delete, -fprint, -fprint0, -fprintf, -fls",
        "fd": "-x, -X, --exec, --exec-batch",
        "fdfind": "-x, -X, --exec, --exec-batch",
        "rg": "--pre, --hostname-bin",
        "sort": "-o, --output, --compress-program, -T, --temporary-directory",
        "tar": "--to-command, -I, --use-compress-program, --checkpoint-action, --info-script, --new-volume-script, "
        "-F, --rsh-command, --rmt-command",
        "zip": "-TT, --unzip-command",
        "rsync": "-e, --rsh, --rsync-path",
        "curl": "-o, -O, -J, -K, -T, -c, -D, --output, --output-dir, --remote-name, --remote-name-all, --config, "
        "--upload-file, --cookie-jar, --dump-header, --trace, --trace-ascii, --stderr, --etag-save, --libcurl",
        "wget": "-O, -o, -a, -P, -e, --output-document, --output-file, --append-output, --directory-prefix, "
        "--execute, --use-askpass, --post-file, --body-file, --config",
        "sed": "-i, --in-place, -f, --file",
        "yq": "-i, --inplace",
        "tree": "-o, -R",
        "shuf": "-o, --output",
        "iconv": "-o, --output",
        "split": "--filter",
        "xxd": "-r, -revert",
        "date": "-s, --set",
        "man": "-P, --pager, -H, --html, -C, --config-file",
        **dict.fromkeys(_listed("go build, go test, go vet, go install, go list"), "-exec, -toolexec, -vettool, -o"),
        "cargo": "--config",
        "less": "-o, -O, --log-file",
        "file": "-C, --compile, -m, --magic-file",
    }.items()
}
"""Options by which a command writes or runs what its prefix does not show. A prefix that is allowed covers
them only where it names them."""
