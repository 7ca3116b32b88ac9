from __future__ import annotations

import pytest

from fakes.rules import command, rule_set, source, word
from remit.policy.programs import GUARDED_OPTIONS, RUNS_BY_OPTION

NOT_COVERED = [
    ("git *", "git -c alias.x='!id' x"),
    ("git *", "git --no-pager -c alias.x='!id' x"),
    ("git *", "git --config-env=alias.x=X x"),
    ("git *", "git --exec-path=/tmp log"),
    ("git *", "git -C /tmp/evil status"),
    ("git *", "git --git-dir=/tmp/evil log"),
    ("git *", "git log --output=f"),
    ("git log *", "git log --output f"),
    ("git log *", "git log --out=f"),
    ("git diff *", "git diff --ext-diff"),
    ("git grep *", "git grep -Ocat x"),
    ("git grep *", "git grep --open-files-in-pager=cat x"),
    ("git fetch *", "git fetch --upload-pack=id ."),
    ("git bisect *", "git bisect run id"),
    ("git * x", "git --exec-path=/tmp x"),
    ("find *", "find . -exec rm {} +"),
    ("find . *", "find . -name x -delete"),
    ("find . *", "find . -fprintf f x"),
    ("sort *", "sort -uo f x"),
    ("sort *", "sort --compress=id x"),
    ("rg *", "rg --pre=id x"),
    ("rg *", "rg --pre id x"),
    ("tar *", "tar xf x --to-command=id"),
    ("tar *", "tar -I id -xf x"),
    ("curl *", "curl -so f http://x"),
    ("sed -n *", "sed -n -i p f"),
]
COVERED = [
    ("git *", "git log -c"),
    ("git *", "git commit -c HEAD"),
    ("git log *", "git log --oneline -- --x"),
    ("git log --output=f", "git log --output=f"),
    ("git -C sub log *", "git -C sub log -1"),
    ("find . -name * -delete", "find . -name x -delete"),
    ("find *", "find . -name x -print"),
    ("sort *", "sort -u x"),
    ("rg *", "rg --pretty x"),
    ("*", "git -c alias.x='!id' x"),
]


@pytest.mark.parametrize(("pattern", "line"), NOT_COVERED)
def test_an_open_pattern_covers_no_option_that_writes_or_runs(pattern: str, line: str) -> None:
    assert word(rule_set(source(f"decide = 'auto'\ncommand = '{pattern}'")), "shell", command(line)) == "ask"


@pytest.mark.parametrize(("pattern", "line"), COVERED)
def test_all_else_is_covered(pattern: str, line: str) -> None:
    assert word(rule_set(source(f"decide = 'auto'\ncommand = '{pattern}'")), "shell", command(line)) == "auto"


@pytest.mark.parametrize("prefix", sorted(RUNS_BY_OPTION))
def test_the_examples_of_such_options_are_not_covered(prefix: str) -> None:
    rules = rule_set(source(f"decide = 'auto'\ncommand = '{prefix} *'"))
    assert word(rules, "shell", command(RUNS_BY_OPTION[prefix])) == "ask"


@pytest.mark.parametrize("prefix", sorted(GUARDED_OPTIONS))
def test_each_option_that_is_known_is_guarded(prefix: str) -> None:
    rules = rule_set(source(f"decide = 'auto'\ncommand = '{prefix} *'"))
    assert word(rules, "shell", command(f"{prefix} x")) == "auto"
    for option in GUARDED_OPTIONS[prefix]:
        assert word(rules, "shell", command(f"{prefix} {option} x")) == "ask", option
