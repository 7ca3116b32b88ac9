from __future__ import annotations

import shlex
import subprocess
import sys
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakes.rules import command, rule_set, source, ticks, word
from remit.policy.shell import MAX_LINE_CHARS, OPAQUE, read_command, split_words

ARGVS = [
    ("git log --oneline", ["git", "log", "--oneline"]),
    ("  git\tlog  ", ["git", "log"]),
    ("g''it log", ["git", "log"]),
    ('"git" log', ["git", "log"]),
    ("g\\it log", ["git", "log"]),
    ("git commit -m 'a; b | c > d $e `f` * ~'", ["git", "commit", "-m", "a; b | c > d $e `f` * ~"]),
    ('git commit -m "a; b (c) # d"', ["git", "commit", "-m", "a; b (c) # d"]),
    ('echo "a\\"b\\\\c\\d"', ["echo", 'a"b\\c\\d']),
    ("echo a#b x=y é", ["echo", "a#b", "x=y", "é"]),
    ("echo ''", ["echo", ""]),
    ("sudo -u root rm x", ["sudo", "-u", "root", "rm", "x"]),
    ("echo a~b", ["echo", "a~b"]),
    ("git show HEAD@{1} '{a,b}' {}", ["git", "show", "HEAD@{1}", "{a,b}", "{}"]),
]


@pytest.mark.parametrize(("line", "argv"), ARGVS)
def test_a_simple_command_has_an_argv(line: str, argv: list[str]) -> None:
    assert read_command(line).argv == tuple(argv)
    assert shlex.split(line) == argv


ONLY_A_SHELL = [
    ("git log \\\n x", ["git", "log", "x"]),
    ("git\\\n log", ["git", "log"]),
    ("git log $'a\\tb\\x41\\101\\u0042\\'\\\\'", ["git", "log", "a\tbAAB'\\"]),
    ('git log "\\$X \\`a\\`"', ["git", "log", "$X `a`"]),
    ("git log &", ["git", "log"]),
    ("git log 2>&1", ["git", "log"]),
    ("git log >/dev/null 2>&1", ["git", "log"]),
    ("git 2>/dev/null log", ["git", "log"]),
    ("git log <<< x", ["git", "log"]),
    ("git log <<E\nit's\nE", ["git", "log"]),
    ("! git log", ["git", "log"]),
    ("{ git log; }", ["git", "log"]),
    ("(git log)", ["git", "log"]),
    ("git log # all", ["git", "log"]),
    ("# all\n\ngit log\n", ["git", "log"]),
    ("for x in a 'b c' *.py ~; do git log; done", ["git", "log"]),
    ('for x in $a "$1" $@; do git log; done', ["git", "log"]),
    ("for x\ndo\n  git log\ndone", ["git", "log"]),
    ("for git in log; do git log; done", ["git", "log"]),
    ("case x in a) git log;; esac", ["git", "log"]),
    ('case "$x" in\n  a*)\n    git log\n    ;;\nesac', ["git", "log"]),
    ("for x in a; do case $x in a) git log;; esac; done", ["git", "log"]),
]


@pytest.mark.parametrize(("line", "argv"), ONLY_A_SHELL)
def test_what_stands_around_one_command_changes_no_word_of_it(line: str, argv: list[str]) -> None:
    assert read_command(line).argv == tuple(argv)


@pytest.mark.parametrize(
    "line",
    [
        "case x in a) git log;& (b|'c d') git log;; *) git log; esac",
        "if git log; then for x in a; do git log; done; fi",
        "for x in a; do case x in b) git log; esac; git log; done | git log",
    ],
)
def test_every_command_of_a_loop_or_case_is_known(line: str) -> None:
    assert {part.argv for part in read_command(line).parts} == {("git", "log")}


NOT_SIMPLE = [
    "git log; rm x",
    "git log && rm x",
    "git log || rm x",
    "git log & rm x",
    "git log | rm x",
    "git log\nrm x",
    "git log > f",
    "git log < f",
    "git log <(rm x)",
    "git log $(rm x)",
    'git log "$(rm x)"',
    "git log `rm x`",
    'git log "`rm x`"',
    "git log $X",
    'git log "$X"',
    "git log ${X}",
    "git log $((1+1))",
    "git log *.py",
    "git log a?",
    "git log [ab]",
    "git log {a,b}",
    "git log ~/x",
    "git log $'\\x00'",
    "git log $'\\xff'",
    "git log $'\\cx'",
    "git log > f",
    "git log >$F",
    "git log >/dev/tcp/h/1",
    "case x in a) git log;; b) x;; esac",
    "case x in @(a|b)) git log;; esac",
    "case $(x) in a) git log;; esac",
    "case ${x} in a) git log;; esac",
    "case $((x)) in a) git log;; esac",
    "case x in ${x}) git log;; esac",
    "case x in $[x]) git log;; esac",
    "for x in a; do git log $x; done",
    "for x in $(a); do git log; done",
    "for x in ${a[b]}; do git log; done",
    "for x in $((a)); do git log; done",
    "for X in a; do git log; done",
    "for PATH in /tmp; do git log; done",
    "for http_proxy in a; do git log; done",
    "for histchars in a; do git log; done",
    "for ((;;)); do git log; done",
    "select x in a; do git log; done",
    "for x in a; do git log; rm x; done",
    "[[ a ]] && git log",
    "git log <<E\n${X:=1}\nE",
    "git log {X}>/dev/null",
    "git log a=~/x",
    "X=1 git log",
    "X+=1 git log",
    "X[0]=1 git log",
    "time git log",
    "if git log",
    "git() { rm x; }",
    "git\u00a0log",
    "git\rlog",
    "git log \x07",
    "",
    "  ",
    "# nothing",
]


@pytest.mark.parametrize("line", NOT_SIMPLE)
def test_what_is_more_than_one_simple_command_has_none(line: str) -> None:
    assert read_command(line).argv is None


UNREADABLE = [
    "git log '",
    'git log "',
    "git log \\",
    "git log `x",
    "git log $(x",
    "git log (x",
    "git log $'x",
    "cat <<E\n'\nE\nrm x\n'",
    "git log \0",
    "git log '\ud800'",
    "echo $(case x in a) rm y;; esac)",
    "cat <<E",
    "cat <<$E\n$E",
    "cat <<E\na\\\nE\nE",
    "(cat <<E)\nE",
    "cat <<E $(a\nb)\nE",
    "$(cat <<E\nE)\nE\n)",
    "git log &\\\n> f",
    "echo " + "$(" * 20 + "x" + ")" * 20,
    "a" * (MAX_LINE_CHARS + 1),
    "; ".join(f"run{number} x" for number in range(600)),
]


@pytest.mark.parametrize("line", UNREADABLE, ids=range(len(UNREADABLE)))
def test_what_cannot_be_read_is_opaque(line: str) -> None:
    assert read_command(line).argv is None
    assert read_command(line).views == (OPAQUE,)


def test_the_longest_line_is_read() -> None:
    assert read_command("a" * MAX_LINE_CHARS).argv == ("a" * MAX_LINE_CHARS,)


# -- rules on commands -------------------------------------------------------------------------


def rule(decide: str, pattern: str) -> str:
    return f"decide = '{decide}'\ncommand = '''{pattern}'''"


AUTO = [
    ("git log *", "git log", True),
    ("git log *", "git log --oneline", True),
    ("git log *", "g''it  log x y", True),
    ("git log *", "git push", False),
    ("git log *", "git", False),
    ("git log *", "gitx log", False),
    ("git log *", "git logs", False),
    ("git log *", "git log; rm -rf x", False),
    ("git log *", "git log && curl e|sh", False),
    ("git log *", "git log $(rm x)", False),
    ("git log *", "git log > /etc/passwd", False),
    ("git log *", "git log\nrm x", False),
    ("git log *", "/tmp/git log", False),
    ("git log *", "env git log", False),
    ("git log *", "X=1 git log", False),
    ("git log *", "git -c alias.log=!sh log", False),
    ("git log *", "git log '", False),
    ("git *", "git log && curl e|sh", False),
    ("git log", "git log", True),
    ("git log", "git log x", False),
    ("git * --stat", "git diff --stat", True),
    ("git * --stat", "git diff x --stat", False),
    ("npm run test:*", "npm run test:unit", True),
    ("npm run test:*", "npm run test:unit x", False),
    ("npm run test:*", "npm run build", False),
    ("cat docs/*", "cat docs/a", True),
    ("cat docs/*", "cat docs/a/b", True),
    ("cat docs/*", "cat docs/../x", False),
    ("cat docs/*", "cat docs/a/..", False),
    ("run --out=*", "run --out=../x", False),
    ("git commit -m 'a b' *", 'git commit -m "a b" x', True),
    ("ls '*'", "ls '*'", True),
    ("ls '*'", "ls x", False),
    ("*", "anything at all", True),
    ("*", "two; commands", True),
    ("*", "X=1 $Y > /f '", True),
]


@pytest.mark.parametrize(("pattern", "line", "due"), AUTO)
def test_auto_matches_the_very_words_of_a_simple_command(pattern: str, line: str, due: bool) -> None:
    decided = word(rule_set(source(rule("auto", pattern))), "shell", command(line))
    assert (decided == "auto") == due


DODGES = [
    "rm -rf x",
    "rm -rf",
    "true; rm -rf x",
    "true && rm -rf x",
    "false || rm -rf x",
    "true & rm -rf x",
    "true | rm -rf x",
    "true\nrm -rf x",
    "(rm -rf x)",
    "{ rm -rf x; }",
    "! rm -rf x",
    "if rm -rf x; then true; fi",
    "for f in a b; do rm -rf $f; done",
    "while rm -rf x; do :; done",
    "f() { rm -rf x; }; f",
    "env rm -rf x",
    "env -i A=1 rm -rf x",
    "env -u A rm -rf x",
    "env -S 'rm -rf x'",
    "env '-Srm -rf x'",
    "env '--split-string=rm -rf x'",
    "sudo rm -rf x",
    "sudo -n -u root rm -rf x",
    "sudo -- rm -rf x",
    "nice -n 10 rm -rf x",
    "nice -10 rm -rf x",
    "time -p rm -rf x",
    "timeout 5 rm -rf x",
    "timeout -k 1 5s rm -rf x",
    "timeout --foreground 5 rm -rf x",
    "nohup rm -rf x",
    "command rm -rf x",
    "command -p rm -rf x",
    "builtin command rm -rf x",
    "exec -a y rm -rf x",
    "xargs rm -rf",
    "ls | xargs -n 1 -I {} rm -rf {}",
    "setsid rm -rf x",
    "stdbuf -oL rm -rf x",
    "chroot /x rm -rf x",
    "taskset 0x3 rm -rf x",
    "busybox rm -rf x",
    "sudo env nice nohup rm -rf x",
    "FOO=1 rm -rf x",
    "FOO=1 BAR=$(date) rm -rf x",
    "FOO=1 env BAR=2 sudo rm -rf x",
    "/bin/rm -rf x",
    "./rm -rf x",
    "~/bin/rm -rf x",
    "sudo /usr/bin/rm -rf x",
    "r''m -rf x",
    '"rm" -rf x',
    "\\rm -rf x",
    "rm \\\n-rf x",
    "r\\\nm -rf x",
    "rm\t-rf\tx",
    "rm '-rf' x",
    ">out rm -rf x",
    "2>/dev/null rm -rf x",
    "rm -rf x 2>&1 >/dev/null",
    "rm 2>/dev/null -rf x",
    "echo $(rm -rf x)",
    'echo "$(rm -rf x)"',
    "echo `rm -rf x`",
    'echo "`rm -rf x`"',
    "echo `echo \\`rm -rf x\\``",
    'echo "$(echo "$(rm -rf x)")"',
    "echo ${X:-$(rm -rf x)}",
    "cat <(rm -rf x)",
    "tee >(rm -rf x)",
    "A=$(rm -rf x)",
    "A=(rm -rf x)",
    "bash -c 'rm -rf x'",
    "bash -xec 'true; rm -rf x'",
    "bash -o pipefail -c 'rm -rf x'",
    "sh -c \"bash -c 'rm -rf x'\"",
    "su -c 'rm -rf x' root",
    "eval rm -rf x",
    "eval 'rm -rf x'",
    "watch 'rm -rf x'",
    "find . -exec rm -rf {} +",
    "find . -name a -execdir rm -rf {} \\;",
    "fd -x rm -rf",
    "flock f -c 'rm -rf x'",
    "# it's a comment\nrm -rf x",
    "! X=1 rm -rf x",
    "until X=1 rm -rf x; do break; done",
    "echo ${X=1 #a} $(rm -rf x)",
    "echo ${X:-'}'} ; rm -rf x",
    'echo "${X:-\'}" ; rm -rf x; echo "\'}"',
    "echo ${X:-<(rm -rf x)}",
    "echo ${ rm -rf x; }",
    "X='$(rm -rf x)'; echo ${X@P}",
    'echo "$\\\n(rm -rf x)"',
    "cat <\\\n<E\n'\nE\nrm -rf x\n'",
    'echo "$(! case a in a) rm -rf x;; esac)"',
    "trap 'rm -rf x' EXIT",
    "$X -rf x",
    "r$X -rf x",
    "$(echo rm) -rf x",
    "`echo rm` -rf x",
    "$'\\x72m' -rf x",
    "rm $FLAGS x",
    "rm -r* x",
    "{rm,-rf,x}",
    "r[m] -rf x",
    "env $X",
    "bash -c $X",
    "eval $X",
    "cat <<E\n'\nE\nrm -rf x\n'",
    "case x in a) rm -rf x;; esac",
    "rm -rf '",
]


@pytest.mark.parametrize("line", DODGES)
@pytest.mark.parametrize("decide", ["deny", "ask"])
def test_a_deny_or_ask_is_not_dodged(line: str, decide: str) -> None:
    rules = rule_set(source(rule(decide, "rm -rf *")), ticks=ticks(shell="auto"))
    assert word(rules, "shell", command(line)) == decide


HARMLESS = [
    "rm x",
    "rmdir -rf x",
    "echo rm -rf x",
    "echo 'rm -rf x'",
    "grep -r 'rm -rf' .",
    "git rm -rf x",
    "sudo ls -rf",
    "env A=1 ls",
    "xargs -I{} echo {}",
    "timeout 5 ls",
    "X=1",
    "",
    "# nothing",
    "X=$(date); echo $X",
    "echo $X *.py",
    "bash -c 'ls'",
    "find . -name rm",
    "cat < rm",
    "ls > rm",
    "ls > /dev/null || true",
    "# rm -rf x\nls",
    "for f in *; do echo $f; done",
]


@pytest.mark.parametrize("line", HARMLESS)
def test_a_deny_speaks_for_nothing_else(line: str) -> None:
    rules = rule_set(source(rule("deny", "rm -rf *")), ticks=ticks(shell="auto"))
    assert word(rules, "shell", command(line)) == "auto"


def test_a_deny_by_path_is_about_that_path() -> None:
    rules = rule_set(source(rule("deny", "/opt/x/rm *")), ticks=ticks(shell="auto"))
    assert word(rules, "shell", command("/opt/x/rm a")) == "deny"
    assert word(rules, "shell", command("rm a")) == "auto"


def test_an_ask_does_not_hide_a_deny_of_the_same_file() -> None:
    rules = rule_set(
        source(rule("ask", "git *"), rule("ask", "env *"), rule("deny", "rm *")), ticks=ticks(shell="auto")
    )
    assert word(rules, "shell", command("git log; rm x")) == "deny"
    assert word(rules, "shell", command("env rm x")) == "deny"
    assert word(rules, "shell", command("git log; ls")) == "ask"


def test_an_exception_holds_for_its_very_words_only() -> None:
    rules = rule_set(
        source(rule("auto", "sudo systemctl status *"), rule("deny", "systemctl *"), rule("deny", "sudo *"))
    )
    assert word(rules, "shell", command("sudo systemctl status x")) == "auto"
    assert word(rules, "shell", command("sudo systemctl stop x")) == "deny"
    assert word(rules, "shell", command("sudo systemctl status x; sudo systemctl status y")) == "auto"
    assert word(rules, "shell", command("true; sudo systemctl status x")) == "ask"
    assert word(rules, "shell", command("X=1 sudo systemctl status x")) == "deny"


def test_any_command_is_any_line_until_a_deny_speaks() -> None:
    rules = rule_set(source(rule("deny", "curl *")), ticks=ticks(shell="auto"))
    assert word(rules, "shell", command("make && make install > log")) == "auto"
    assert word(rules, "shell", command("make; curl x | sh")) == "deny"


@pytest.mark.parametrize(
    ("pattern", "why"),
    [
        ("a; b", "it holds an operator"),
        ("a > b", "it holds a redirect"),
        ("a $X", "it holds an expansion"),
        ("X=1 a", "it holds an assignment"),
        ("if a", "it holds the reserved word `if`"),
        ("a 'b", "a single quote is not closed"),
        ("# a", "it holds a comment"),
        (" ", "it is empty"),
    ],
)
def test_a_pattern_is_one_simple_command(pattern: str, why: str) -> None:
    with pytest.raises(ValueError, match=f"^{why}$"):
        split_words(pattern)


# -- laws --------------------------------------------------------------------------------------

PIECES = "a rm git -c sh env xargs eval ' \" \\ $ $( ) ( ` { } < > << <( | & ; # * ? [ ~ = X= ! case é , ${ esac"
pieces = st.sampled_from(
    [
        *PIECES.split(" "),
        "<<E",
        "\nE\n",
        "&>",
        "[[",
        "]]",
        "$((",
        "))",
        "fi",
        "$'a'",
        " ",
        "  ",
        "\t",
        "\n",
        "\r",
        "\0",
        "\\\n",
    ]
)
lines = st.one_of(st.text(max_size=40), st.lists(pieces, max_size=16).map("".join))


@given(lines)
def test_reading_never_raises_and_a_plain_argv_is_what_shlex_says(line: str) -> None:
    seen = read_command(line)
    assert seen.views
    if seen.argv is not None:
        if not set(line) & set("$\\&;|<>()#{}!\n`"):
            assert list(seen.argv) == shlex.split(line)
        assert seen.views[0] == tuple(word for word in seen.views[0] if word.known)


plain_lines = st.lists(
    st.sampled_from(["a", "-b", " ", "\t", "|", "&", ";", "\n", "{", "}", "*", "=", "X="]), max_size=9
)


@given(plain_lines.map("".join), st.sampled_from([";", "&&", "||", "|", "\n", "&"]))
def test_a_command_behind_any_line_is_seen(line: str, operator: str) -> None:
    rules = rule_set(source(rule("deny", "rm *")), ticks=ticks(shell="auto"))
    assert word(rules, "shell", command(f"{line} {operator} rm x")) == "deny"


@given(
    st.lists(
        st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=8), min_size=1, max_size=4
    )
)
def test_quoted_words_come_back(words: list[str]) -> None:
    line = " ".join("'" + word.replace("'", "'\\''") + "'" for word in words)
    assert read_command(line).argv == tuple(words)


HOSTILE = [
    "$" * 60_000,
    "`" * 60_000,
    "env " + "-a x " * 12_000,
    "sh -c " + "a " * 30_000,
    "a;" * 30_000,
    "".join(f"a{number};" for number in range(9_000)),
    "sudo " * 10_000,
    "eval " * 10_000,
    "\\\n" * 30_000,
    "find " + "-exec " * 9_000,
    "{" * 30_000 + "," + "}" * 20_000,
    "{" * 64_000,
    "a=(a=(" * 10_000,
    "a=()" * 16_000,
    "(a)" * 20_000,
    "<(a)" * 16_000,
    "a<<E " * 8_000,
    "cat <<E\n" + "$x \\$ " * 8_000 + "\nE\n",
    "cat <<E\nx\nE\n" * 5_000,
    "a[b[c]]=d " * 6_000,
    "> f " * 16_000,
    "cd a; " * 200 + "a > f; " * 5_000,
    "".join(f"a>{number};" for number in range(8_000)),
    "sh <<E\n" + "a;" * 30_000 + "\nE",
    "! " * 30_000 + "a",
    "if " * 20_000,
    "if a; then " * 4_000 + "fi; " * 4_000,
]


@pytest.mark.parametrize("line", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_lines_are_read_quickly(line: str) -> None:
    assert_read_in_time(line)


NESTED = ["$(", '"$(', "`", "(", "${a:-", '"${a:-', '${a:-"', "<(", "$((", "a=(", "case a in a) $("]


@pytest.mark.parametrize("opening", NESTED)
@pytest.mark.parametrize("closing", ["", ")", '")', "}", '"}'])
def test_what_is_nested_too_deep_cannot_be_read(opening: str, closing: str) -> None:
    line = opening * 3_001 + "a" + closing * 3_001
    assert_read_in_time(line)
    assert read_command(line).views == (OPAQUE,)


def test_the_deepest_nesting_is_read() -> None:
    assert OPAQUE not in read_command("$(" * 16 + "a" + ")" * 16).views
    assert read_command("$(" * 17 + "a" + ")" * 17).views == (OPAQUE,)


@given(st.lists(pieces, min_size=1, max_size=6).map("".join), st.integers(1, 4_000))
def test_any_line_is_read_in_time(piece: str, times: int) -> None:
    assert_read_in_time((piece * times)[:MAX_LINE_CHARS])


def assert_read_in_time(line: str) -> None:
    """At most 50 ms of processor time for each KiB, and as much to begin with."""
    read_command("a; b")
    began = time.thread_time()
    assert read_command(line).parts
    assert time.thread_time() - began < 0.05 * (1 + len(line.encode("utf-8", "replace")) / 1024)


LAZY = """
import sys
from remit.policy.shell import read_command
assert read_command("git log --oneline '*.py' \\\n x").argv
read_command("rm '")
print("tree_sitter" in sys.modules)
read_command("git log | head")
print("tree_sitter" in sys.modules)
"""


def test_the_grammar_is_loaded_for_lines_of_several_commands_only() -> None:
    told = subprocess.run([sys.executable, "-c", LAZY], capture_output=True, check=True, text=True).stdout
    assert told.split() == ["False", "True"]


# -- arithmetic --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "programs"),
    [
        ("echo $((1<<2))", ["echo"]),
        ('echo "$((1 << 2))" x', ["echo"]),
        ("echo $((i+1))$(((1+2)*3)) $(( $a>=b ? 1 : 0 ))", ["echo"]),
        ("echo $(()) $((\t1))", ["echo"]),
        ("cat <<E\n$((1<<2))\nE", ["cat"]),
        ("echo ${x:-$((1<<2))}", ["echo"]),
        ("echo $((rm))", ["echo"]),
        # Also what no shell runs: two words beside one another are read as commands.
        ("echo $((rm x))", ["rm", "echo"]),
        ("echo $((rm x); (rm y))", ["rm", "rm", "echo"]),
        ("echo $((rm); rm x)", ["rm", "rm", "echo"]),
        ("echo $((a)$(rm x))", ["a", "rm", "$(rm", "echo"]),
        ("echo $((a[$(rm x)]))", ["rm", "a[$(rm", "echo"]),
        ("echo $((1+`rm x`))", ["rm", "1+`rm", "echo"]),
    ],
)
def test_arithmetic_runs_no_command_and_is_told_from_what_does(line: str, programs: list[str]) -> None:
    views = [view for part in read_command(line).parts for view in part.views if view[0].text]
    assert [view[0].text.split(" ")[0] for view in views] == programs


def test_arithmetic_without_end_is_read_in_no_time() -> None:
    began = time.process_time()
    for line in ("echo $((" + "1+" * 30_000, "echo " + "$((1+1 " * 9_000, "echo $((" + ")" * 60_000):
        read_command(line)
    assert time.process_time() - began < 2


@pytest.mark.parametrize(
    ("line", "word_of_rules"),
    [
        ("hash -p /bin/rm q", "deny"),
        ("alias q='rm x'", "deny"),
        ("mapfile -C 'rm x' -c 1 a", "deny"),
        ("readarray -C 'rm x' a", "deny"),
        ("compgen -C 'rm x'", "deny"),
        ("git -c alias.q='!rm x' q", "deny"),
        ("git config alias.q='!rm x'", "deny"),
        ("ssh -o ProxyCommand='rm x' host", "deny"),
        ("ssh -oproxycommand='rm x' host", "deny"),
        ("hash -r", "auto"),
        ("alias q='ls x'", "auto"),
        ("git -c alias.q='log rm' q", "auto"),
        ("ssh -o ProxyJump=rm host", "auto"),
    ],
)
def test_a_deny_sees_the_texts_that_a_command_is_given(line: str, word_of_rules: str) -> None:
    rules = rule_set(source(rule("deny", "rm *")), ticks=ticks(shell="auto"))
    assert word(rules, "shell", command(line)) == word_of_rules
