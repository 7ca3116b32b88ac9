"""What policy knows of programs: those that run another command, and those whose arguments are a program."""

from __future__ import annotations


def _listed(text: str) -> list[str]:
    return [" ".join(item.split()) for item in text.split(",")]


RESERVED = frozenset(
    _listed(
        "!, {, }, if, then, elif, else, fi, for, while, until, do, done, in, function, time, coproc, select, [[, ]]"
    )
)
"""Words of the shell that stand before a command."""

WRAPPERS: dict[str, int] = dict.fromkeys(
    _listed(
        """env, sudo, doas, nice, time, nohup, command, xargs, exec, builtin, setsid, stdbuf, ionice, busybox, toybox,
        unbuffer, unshare, nsenter, setpriv, runuser, su, strace, ltrace"""
    ),
    0,
) | dict.fromkeys(_listed("timeout, chroot, taskset, chrt, flock"), 1)
"""Programs that run the command in their own arguments, and how many operands come before it."""

SCRIPT_OPTION = frozenset(_listed("sh, bash, dash, zsh, ksh, ash, fish, su, runuser, script, flock"))
"""Programs that run the text given with `-c`."""

JOINED = frozenset(_listed("eval, watch, trap"))
"""Programs that run their arguments as one line."""

_FD_OPTIONS = frozenset(_listed("-x, --exec, -X, --exec-batch"))
EXEC_OPTIONS: dict[str, frozenset[str]] = {
    "find": frozenset(_listed("-exec, -execdir, -ok, -okdir")),
    "fd": _FD_OPTIONS,
    "fdfind": _FD_OPTIONS,
}
"""Programs that run what stands behind one of these options."""

_RUNS_ANYTHING = {
    "an interpreter takes a program as its arguments": """python, python3, pypy3, ipython, node, nodejs, deno, bun,
        ruby, perl, php, lua, Rscript, julia, pwsh, powershell, osascript, tclsh, expect, awk, gawk, mawk, sed""",
    "a shell takes a program as its arguments": "sh, bash, dash, zsh, ksh, ash, fish, eval, source, .",
    "it runs the command in its arguments": """env, sudo, doas, su, runuser, nice, time, timeout, nohup, command,
        xargs, exec, builtin, setsid, stdbuf, ionice, busybox, toybox, unbuffer, chroot, unshare, nsenter, setpriv,
        strace, ltrace, taskset, chrt, flock, parallel, watch, script, tmux, screen, ssh, docker run, docker exec,
        podman run, podman exec, kubectl exec""",
    "it runs any program or script that it is given or can fetch": """npx, bunx, pnpx, uvx, pipx run, npm exec,
        npm x, npm run, npm run-script, pnpm exec, pnpm dlx, pnpm run, yarn exec, yarn dlx, yarn run, bun x, bun run,
        uv run, poetry run, pdm run, hatch run, bundle exec, cargo run, go run, go generate, dotnet run""",
    "its targets and variables run any command": "make, gmake, just, task, rake",
    "a setting of git can name a command to run": "git -c, git --config-env",
    "it has commands that run a program": "vim, vi, nvim, emacs, ed, gdb, lldb",
}
RUNS_ANYTHING: dict[str, str] = {prefix: why for why, listed in _RUNS_ANYTHING.items() for prefix in _listed(listed)}
"""Command prefixes that, with further arguments left open, can run anything; and why."""

OPERANDS: dict[str, int] = WRAPPERS | dict.fromkeys(
    _listed("ssh, docker run, docker exec, podman run, podman exec, kubectl exec"), 1
)
"""How many operands such a prefix takes before the command."""

RUNS_BY_OPTION: dict[str, str] = {
    "find": "-exec",
    "fd": "--exec",
    "tar": "--checkpoint-action",
    "rsync": "-e",
    "sort": "--compress-program",
    "rg": "--pre",
    "zip": "-TT",
    "git grep": "--open-files-in-pager",
    "git rebase": "--exec",
    "git bisect": "run",
    "git submodule": "foreach",
}
"""Commands of which one option or word, wherever it stands, runs a program."""
