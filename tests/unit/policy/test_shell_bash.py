"""The reading of command lines held against a real bash."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fakes.rules import command, rule_set, source, ticks, word
from remit.policy.shell import read_command

BASH = shutil.which("bash")
needs_bash = pytest.mark.skipif(BASH is None, reason="needs bash")

HARNESS = """
record() { builtin printf '%s\\0' "$#" "$@" >> "$HITS/$N"; }
hit() { record hit "$@"; }
miss() { record miss "$@"; }
export -f record hit miss
readonly -f record hit miss
for ((N = 0; N < COUNT; N++)); do
  export N
  IFS= read -r -d '' LINE < "$HITS/line$N"
  ( ulimit -t 1; builtin eval "$LINE" ) < /dev/null > /dev/null 2>&1
done
"""


def ran(lines: list[str]) -> list[list[tuple[str, ...]]]:
    """The commands `hit` and `miss` that bash runs for each line."""
    assert BASH is not None
    with tempfile.TemporaryDirectory() as name:
        os.mkdir(f"{name}/cwd")
        for number, line in enumerate(lines):
            Path(name, f"line{number}").write_text(line)
        environ = {"PATH": "/nonexistent", "HITS": name, "COUNT": str(len(lines)), "HOME": name, "LC_ALL": "C.UTF-8"}
        process = subprocess.Popen(
            [BASH, "--norc", "--noprofile", "-c", HARNESS],
            env=environ,
            cwd=f"{name}/cwd",
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            # A disturbed line may wait for ever; what ran until then is judged all the same.
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(timeout=3)
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        return [recorded(Path(name, str(number))) for number in range(len(lines))]


def recorded(path: Path) -> list[tuple[str, ...]]:
    if not path.exists():
        return []
    fields = path.read_bytes().decode("utf-8", "surrogateescape").split("\0")[:-1]
    commands = []
    while fields:
        count = int(fields[0])
        commands.append(tuple(fields[1 : count + 1]))
        fields = fields[count + 1 :]
    return commands


WRAPS = (
    """
@
@ | a
a | @
a; @
a && @
a || @
a & @
(@)
{ @; }
! @
time @
X=1 @
X=$(@)
>f @
@ 2>&1
@ &>f
@ <<< a
eval @
eval '@'
command @
builtin eval @
echo $(@)
echo `@`
echo "$(@)"
echo ${X:-$(@)}
if @; then :; fi
if :; then @; fi
for i in 1; do @; done
while @; do break; done
until X=1 @; do break; done
f() { @; }; f
case a in a) @;; esac
case a in b) :;; a) @;; esac
case a in¶ b|a)¶ @¶ ;;¶esac
case a in (a) @;; esac
case hit in hit) @;; esac
case $X in x) hit;; *) @;& esac
for hit in a b; do @; done
for i in a; do case $i in a) @;; esac; done
for i in $(@); do :; done
: $((1<<2)) && @
: "$(( (1+2)*3 ))" && @
echo $((@))
echo $((@); @)
: <>f && @
@ <>f
cat <(@)
X=(@)
[[ a ]] && @
echo '#' # @
echo \\; @
echo ${#X} "'" ; @
: <<< a; @
coproc @
: <<E; @¶it's¶E
: <<'E'¶$(@)¶E
: <<E¶$(@)¶E
: <<-E¶\t"¶\tE¶@
echo $(: <<E¶)¶E¶@)
: <(@)#x; :
: >f a{@}
: $((1 + 2)) && @
((1 > 2)) || @
echo $'a\\'b' ; @
""".strip()
    .replace("\\t", "\t")
    .splitlines()
)
NOISE = [
    *"a \t\n'\"\\$()`{}<>|&;#*~=!12[]-",
    "X=1 ",
    "${",
    "\\\n",
    "case ",
    " esac",
    "$'a'",
    " in ",
    "<<E ",
    "\nE\n",
    "&>",
]
NOISE += ["<>", ";&", "for a in ", "$((1<<2))", "1)", "|a)", "\nesac\n", "*) "]
NOISE += ["<(", "<<<", "$((", "))", "fi", " do ", "then ", "{x}>f ", "()", ";;", "|&", "E", "[[ ", " ]]"]


def wrapped(inner: str, wrap: str) -> str:
    return wrap.replace("@", inner).replace("¶", "\n")


@st.composite
def bash_lines(draw: st.DrawFn, *inner: str) -> str:
    """A command, wrapped and disturbed."""
    line = draw(st.sampled_from(inner))
    for wrap in draw(st.lists(st.sampled_from(WRAPS), min_size=1, max_size=3)):
        line = wrapped(line, wrap)
    for noise, place in draw(st.lists(st.tuples(st.sampled_from(NOISE), st.integers(0, 60)), max_size=3)):
        line = line[:place] + noise + line[place:]
    return line


denied_lines = bash_lines("hit x", "hit", "h'i't x", "\\hit x", "hit 2>f x", "$'h\\x69t' x")
allowed_lines = bash_lines("hit x", "hit x; hit y", "hit x; miss y", "hit x | hit y", "hit '#' x", "hit >f x miss")


@needs_bash
@pytest.mark.heavy
@settings(max_examples=8, derandomize=True)
@given(st.lists(denied_lines, min_size=60, max_size=60))
def test_whatever_a_real_shell_runs_is_seen(lines: list[str]) -> None:
    rules = rule_set(source("decide = 'deny'\ncommand = 'hit *'"), ticks=ticks(shell="auto"))
    lines = ["hit x", *lines]
    runs = ran(lines)
    assert runs[0] == [("hit", "x")]
    hits = [line for line, found in zip(lines, runs, strict=True) if any(each[0] == "hit" for each in found)]
    assert [line for line in hits if word(rules, "shell", command(line)) != "deny"] == []


@needs_bash
@pytest.mark.heavy
@settings(max_examples=8, derandomize=True)
@given(st.lists(allowed_lines, min_size=60, max_size=60))
def test_a_real_shell_runs_nothing_but_what_was_allowed(lines: list[str]) -> None:
    rules = rule_set(
        source("decide = 'auto'\ncommand = 'hit *'", "decide = 'auto'\ncommand = ': *'", "decide = 'auto'\npath = '**'")
    )
    lines = ["hit x", *lines]
    runs = ran(lines)
    assert runs[0] == [("hit", "x")]
    for line, found in zip(lines, runs, strict=True):
        if word(rules, "shell", command(line)) == "auto":
            known = {part.argv for part in read_command(line).parts}
            assert [each for each in found if each not in known] == [], line


pieces = st.one_of(
    st.sampled_from([*"ab-=,.:/@%^+_{}~#!'\"\\$ *?[]", "\\\n", "''", "$'\\n'", "$'\\x41'", "é", "\\é", '"\\$"', "~"]),
    st.text(max_size=3),
)


@needs_bash
@pytest.mark.heavy
@settings(max_examples=8, derandomize=True)
@given(st.lists(st.lists(pieces, max_size=8).map("".join), min_size=80, max_size=80))
def test_the_words_are_those_of_a_real_shell(endings: list[str]) -> None:
    lines = ["hit x", *(f"hit {ending}" for ending in endings)]
    lines = [line for line in lines if "\0" not in line and (line.isprintable() or "\n" in line)]
    known = [line for line in lines if read_command(line).argv is not None]
    assert [[read_command(line).argv] for line in known] == ran(known)
