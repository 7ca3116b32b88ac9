"""What of a command's output a model needs: fewer lines, every failure, and a notice of what was done.

Three promises hold for every rule. The result is never larger than what went in. No line that looks
like an error is lost unless the command succeeded. A message that all is well needs exit code 0.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from remit.base.text import scrub
from remit.workspace.output_command import command_of
from remit.workspace.output_rules import Rule, rule_for

MAX_BYTES = 1 << 20
"""Of UTF-8. A longer text is returned as it is: who keeps so much clips it first."""

ERROR = r"(?i)error|fatal|traceback|panicked|\bpanic\b|exception|\bfail(?:ed|ing|s|ure|ures)?\b|\babort"
"""What lines that tell of a failure look like."""

_COLOURS = r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b\n]*(?:\x07|\x1b\\)|[ -/]*[0-~])"

_WORDS = re.compile(r"\w+")

_AMOUNT = re.compile(r"(\d+(?:\.\d+)?) ?%|\b(\d+) ?/ ?\d+\b")
_VARYING = re.compile(r"[\d.,:]+|[\s#=<>|*+.\-\u2500-\u259f\u2588]+|\b[kKMGT]i?B\b")
_LEAST_FRAMES = 5

_LONGEST_ERROR = 2000
"""Characters of a line that looks like an error and must stay."""

_LONGEST_CHECKED = 1000
"""Characters of lines in which a replacement is checked for what it loses; in longer ones none is made."""


_MOST_CHECKS = 20_000
"""Replacements in such lines that are checked in one text, which bounds the time; no more are made."""


class Filtered(NamedTuple):
    """text: ends with a notice, `[filtered: ...]`, when there are stages. stages: what changed it, by name."""

    text: str
    stages: tuple[str, ...]


def filter_output(argv: Sequence[str], stdout: str, exit_code: int | None) -> Filtered:
    """The output as a model should read it.

    argv: the simple command that printed it; empty if it was not one alone, and only progress is folded.
    exit_code: None for a command that was ended from outside, which counts as a failure.
    """
    raw = scrub(stdout)
    size = len(raw.encode())
    if not raw or size > MAX_BYTES:
        return Filtered(raw, ())
    rule = rule_for(command_of(argv))
    work = _Work(raw, exit_code)
    if rule is not None:
        work.apply(rule)
    work.fold_progress()
    body = work.text.strip("\n")
    if not (work.stages and body):
        return Filtered(raw, ())
    text = f"{body}\n[filtered: {', '.join(work.stages)}]\n"
    return Filtered(text, tuple(work.stages)) if len(text.encode()) < size else Filtered(raw, ())


class _Work:
    """A text on its way through the stages. Each keeps what the promises above ask for."""

    def __init__(self, text: str, exit_code: int | None) -> None:
        self.text = text
        self.stages: list[str] = []
        self._failed = exit_code != 0
        self._checks = 0
        self._seen: tuple[int, int, list[str]] = (-1, -1, [])
        """A piece of the text that replacements were checked in last, and its lines that must stay."""

    def apply(self, rule: Rule) -> None:
        if "\x1b" in self.text:
            self._become(_compiled(_COLOURS).sub("", self.text), "colours")
        for each in rule.replace:
            self._replace(each.pattern, each.by)
        if not self._failed and self._summarise(rule):
            return
        self._choose_lines(rule.drop, rule.keep)
        if rule.line_chars:
            self._cut_lines(rule.line_chars)
        if rule.head or rule.tail:
            self._leave_out_middle(rule.head or 0, rule.tail or 0)
        if rule.empty and not self._failed and not self.text.strip():
            self._become(rule.empty, "summary")

    def _become(self, text: str, stage: str) -> None:
        if text == self.text:
            return
        self.text = text
        if stage not in self.stages:
            self.stages.append(stage)

    def _is_kept(self, line: str) -> bool:
        """Whether a line must stay: one that looks like an error, of a command that did not succeed, and
        what says that lines were left out before."""
        return line.startswith("[... ") or (self._failed and _compiled(ERROR).search(line) is not None)

    def _replace(self, pattern: str, by: str) -> None:
        def written(found: Any) -> str:
            new = str(found.expand(by))
            return new if self._keeps_errors(found.start(), found.end(), new) else str(found.group())

        self._seen = (-1, -1, [])
        self._become(_compiled(f"(?m){pattern}").sub(written, self.text), "rewritten")

    def _keeps_errors(self, start: int, end: int, new: str) -> bool:
        """Whether the words of lines that must stay are still there when the text from start to end is new."""
        if not self._failed:
            return True
        first = self.text.rfind("\n", 0, start) + 1
        last = self.text.find("\n", end)
        last = len(self.text) if last < 0 else last
        if self._seen[:2] != (first, last):
            self._seen = (first, last, [line for line in self.text[first:last].split("\n") if self._is_kept(line)])
        kept = self._seen[2]
        if not kept:
            return True
        self._checks += 1
        if last - first > _LONGEST_CHECKED or self._checks > _MOST_CHECKS:
            return False
        words = _words(self.text[first:start] + new + self.text[end:last])
        return all(_words(line) in words for line in kept)

    def _summarise(self, rule: Rule) -> bool:
        for each in rule.match:
            found = _compiled(f"(?m){each.pattern}").search(self.text)
            if found is not None and not _compiled(ERROR).search(self.text):
                self._become(str(found.expand(each.message)), "summary")
                return True
        return False

    def _choose_lines(self, drop: Sequence[str], keep: Sequence[str]) -> None:
        if not (drop or keep):
            return
        pattern = _compiled("|".join(f"(?:{each})" for each in drop or keep))
        lines = self.text.split("\n")
        end = [lines.pop()] if not lines[-1] else []
        chosen = [line for line in lines if (pattern.search(line) is None) is bool(drop) or self._is_kept(line)]
        self._become("\n".join(chosen + end), "lines")

    def _cut_lines(self, most: int) -> None:
        self._become("\n".join(self._cut(line, most) for line in self.text.split("\n")), "long lines")

    def _cut(self, line: str, most: int) -> str:
        if len(line) <= most:
            return line
        if self._is_kept(line):
            most = max(most, _LONGEST_ERROR)
        mark = f" [... {len(line) - most} characters left out ...] "
        if len(line) <= most + len(mark):
            return line
        return line[: most - most // 4] + mark + line[len(line) - most // 4 :]

    def _leave_out_middle(self, head: int, tail: int) -> None:
        """The first and the last lines. Of a failure both are kept, and the errors between them."""
        lines = self.text.rstrip("\n").split("\n")
        if self._failed:
            head, tail = max(head, tail, 1), max(head, tail, 1)
        if len(lines) <= head + tail + 1:
            return
        kept = lines[:head]
        left = 0
        for line in lines[head : len(lines) - tail]:
            if self._is_kept(line):
                kept += _mark(left)
                kept.append(line)
                left = 0
            else:
                left += 1
        self._become("\n".join([*kept, *_mark(left), *lines[len(lines) - tail :]]), "middle")

    def fold_progress(self) -> None:
        """Of lines that differ in a growing amount alone, the first and the last."""
        lines = self.text.split("\n")
        folded: list[str] = []
        at = 0
        while at < len(lines):
            end = _frames_end(lines, at)
            if end - at < _LEAST_FRAMES or any(self._is_kept(line) for line in lines[at + 1 : end - 1]):
                folded += lines[at:end]
            else:
                folded += [lines[at], *_mark(end - at - 2), lines[end - 1]]
            at = end
        self._become("\n".join(folded), "progress")


def _frames_end(lines: list[str], at: int) -> int:
    """Where a run of frames that starts here ends; the next line if none does."""
    amount, shape = _frame(lines[at])
    end = at + 1
    while amount is not None and end < len(lines):
        grown, other = _frame(lines[end])
        if grown is None or grown < amount or other != shape:
            break
        amount = grown
        end += 1
    return end


def _frame(line: str) -> tuple[float | None, str]:
    """The amount a line of progress tells, and what is left of it when all that varies is taken out."""
    found = _AMOUNT.search(line) if len(line) < 400 else None
    return (float(found[1] or found[2]), _VARYING.sub("", line)) if found else (None, "")


def _mark(count: int) -> list[str]:
    return [f"[... {count} {'line' if count == 1 else 'lines'} left out ...]"] if count else []


def _words(text: str) -> str:
    return " ".join(_WORDS.findall(text))


@lru_cache(maxsize=128)
def _compiled(pattern: str) -> Any:
    import re2

    options = re2.Options()
    options.log_errors = False
    return re2.compile(pattern, options)
