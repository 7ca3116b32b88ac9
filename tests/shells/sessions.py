"""Real shells, asked what they offer at the end of a line.

bash and zsh run interactively on a terminal of their own: the line is typed, TAB is pressed, and a
probe in the shell writes what the completion found into a FIFO. fish answers without a terminal.
"""

from __future__ import annotations

import contextlib
import os
import pty
import select
import signal
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

SECONDS = 30.0

BASH_PROBE = r"""
PS1=; PS2=; unset HISTFILE
bind 'set bell-style none'; bind 'set completion-query-items 0'; bind 'set page-completions off'
source "$REMIT_SCRIPT"
remit() { printf '%s\n' "$@" @end > "$REMIT_PROBE"; }
_probe() { _remit "$@"; printf '%s\n' "${COMPREPLY[@]}" @end > "$REMIT_PROBE"; }
complete -o nosort -F _probe remit
printf '%s\n' @end > "$REMIT_PROBE"
"""

# Every match goes through compadd; what it keeps with -A is what it would offer.
ZSH_PROBE = r"""
PROMPT=; unset HISTFILE; setopt no_beep interactive_comments
fpath=(${REMIT_SCRIPT:h} $fpath)
autoload -Uz compinit; compinit -u -D
remit() { print -rl -- "$@" @end > $REMIT_PROBE; }
typeset -ga probe_found
compadd() {
    if [[ ${@[1,(i)(-|--)]} == *-(O|A|D)\ * ]]; then builtin compadd "$@"; return; fi
    typeset -a probe_hits
    builtin compadd -A probe_hits "$@"
    (( $#probe_hits )) && probe_found+=($IPREFIX$^probe_hits)
    builtin compadd "$@"
}
probe() { zle complete-word; print -rl -- "${probe_found[@]}" @end > $REMIT_PROBE; probe_found=() }
zle -N probe; bindkey '^I' probe
LISTMAX=10000
stty rows 300
print -r -- @end > $REMIT_PROBE
"""

PROBES = {"bash": (BASH_PROBE, ["--noprofile", "--norc", "-i"]), "zsh": (ZSH_PROBE, ["-f", "-i"])}


class Session:
    """An interactive bash or zsh in a directory, with the completion script loaded."""

    def __init__(self, shell: str, script: Path, directory: Path, environ: Mapping[str, str]) -> None:
        self.screen = b""
        """All that the terminal has shown."""
        self._fifo = directory.parent / f"{shell}.fifo"
        os.mkfifo(self._fifo)
        # Held open for writing too, so that it never ends between two writers.
        self._answers = os.open(self._fifo, os.O_RDWR | os.O_NONBLOCK)
        probe = directory.parent / f"probe.{shell}"
        code, flags = PROBES[shell]
        probe.write_text(code, encoding="utf-8")
        self._terminal, inner = pty.openpty()
        env = {**environ, "REMIT_SCRIPT": str(script), "REMIT_PROBE": str(self._fifo), "TERM": "dumb"}
        self._process = subprocess.Popen(
            [shell, *flags], cwd=directory, env=env, stdin=inner, stdout=inner, stderr=inner, start_new_session=True
        )
        os.close(inner)
        self._drain = threading.Thread(target=self._read_screen, daemon=True)
        self._drain.start()
        self._type(f"source {probe}\n")
        self._answer()

    def offers(self, line: str) -> list[str]:
        """What TAB offers at the end of the line."""
        self._type(f"{line}\t")
        found = self._answer()
        self._type("\x15")
        return found

    def takes(self, line: str) -> list[str]:
        """The arguments that remit is given when TAB has completed the line and it is entered."""
        self._type(f"{line}\t")
        self._answer()
        self._type("\n")
        return self._answer()

    def close(self) -> None:
        self._process.send_signal(signal.SIGKILL)
        self._process.wait()
        self._drain.join()
        os.close(self._terminal)
        os.close(self._answers)

    def _type(self, text: str) -> None:
        os.write(self._terminal, text.encode())

    def _read_screen(self) -> None:
        with contextlib.suppress(OSError):
            while piece := os.read(self._terminal, 1 << 16):
                self.screen += piece

    def _answer(self) -> list[str]:
        text = b""
        end = time.monotonic() + SECONDS
        while not text.endswith(b"@end\n"):
            ready, _, _ = select.select([self._answers], [], [], max(0.0, end - time.monotonic()))
            assert ready, f"no answer; the terminal shows {self.screen[-2000:]!r}"
            text += os.read(self._answers, 1 << 16)
        return text.decode().splitlines()[:-1]


class Fish:
    """fish, which says by itself what it would offer."""

    def __init__(self, script: Path, directory: Path, environ: Mapping[str, str]) -> None:
        self._script, self._directory, self._environ = script, directory, environ

    def all_offers(self, lines: Sequence[str]) -> list[list[str]]:
        code = "source $argv[1]; for line in $argv[2..]; complete -C $line; echo @end; end"
        run = subprocess.run(
            ["fish", "--no-config", "-c", code, str(self._script), *lines],
            cwd=self._directory,
            env=dict(self._environ),
            capture_output=True,
            text=True,
            timeout=SECONDS * 4,
            check=True,
        )
        assert run.stderr == ""
        parts = run.stdout.split("@end\n")[:-1]
        return [[line.partition("\t")[0] for line in part.splitlines()] for part in parts]


@contextlib.contextmanager
def session(shell: str, script: Path, directory: Path, environ: Mapping[str, str]) -> Iterator[Session]:
    opened = Session(shell, script, directory, environ)
    try:
        yield opened
    finally:
        opened.close()


def ask(shell: str, lines: Sequence[str], script: Path, directory: Path, environ: Mapping[str, str]) -> list[list[str]]:
    """What a shell offers at the end of each line."""
    if shell == "fish":
        return Fish(script, directory, environ).all_offers(lines)
    with session(shell, script, directory, environ) as opened:
        return [opened.offers(line) for line in lines]
