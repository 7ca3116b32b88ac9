"""Runs that are longer than the context window of their model, through the real command line.

model = WindowModel(CASES["told"])
ran = model.run(Home(path))
model.asked           # what was asked, with its size in tokens
"""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from fakes.cli import Home, Ran
from fakes.model_server import ModelServer, Received, Reply, calls, refusal, stream, text, usage

TURNS = 300
WINDOW = 16_000
PROMPT = "Read all of pages.txt, page by page: \u201eSeite f\u00fcr Seite\u201c, and say \u5b8c\u6210 at the end."
PAGE_BYTES = 1500

SUMMARY_MARK = "# Files that matter"
"""Ends the question for a summary."""

SUMMARY = "# Objective\nRead all pages.\n\n# Work done, and what is left or blocked\nPages up to {page} are read.\n" * 6


class Case(NamedTuple):
    """sentence: what the pages are full of. bytes_per_token: how the model counts a request. tells_usage:
    whether it says what it counted. told_window: whether providers.toml says how large its window is. refusals:
    how many requests may turn out too large: where nobody tells enough, the first one does."""

    sentence: str
    bytes_per_token: int = 4
    tells_usage: bool = True
    told_window: bool = True
    refusals: int = 0


ENGLISH = "The quick brown fox jumps over the lazy dog; page after page after page it never stops. "
CHINESE = "\u654f\u6377\u7684\u68d5\u8272\u72d0\u72f8\u8df3\u8fc7\u61d2\u72d7\uff0c\u4e00\u9875\u53c8\u4e00\u9875\u3002"

CASES = {
    "told": Case(ENGLISH),
    "no usage": Case(ENGLISH, tells_usage=False),
    "chinese": Case(CHINESE, bytes_per_token=2),
    "chinese, no usage": Case(CHINESE, bytes_per_token=2, tells_usage=False, refusals=1),
    "no window": Case(ENGLISH, told_window=False, refusals=1),
    "nothing told": Case(ENGLISH, tells_usage=False, told_window=False, refusals=1),
}


class Asked(NamedTuple):
    """A request. tokens: its size. refused: it did not fit. summary: it asks for a summary of what came before."""

    raw: bytes
    messages: list[dict[str, Any]]
    tokens: int
    refused: bool
    summary: bool


class WindowModel:
    """Answers with one call of `read_file` a turn, of a page that was not read yet, and in the last turn with a
    text; sums up when asked to. Refuses what leaves no room for an answer of one token in its window."""

    def __init__(self, case: Case, turns: int = TURNS) -> None:
        self.asked: list[Asked] = []
        self._case = case
        self._turns = turns
        self._answered = 0
        # One character of a sentence is as long as the next, but for the marks between them.
        self._page = PAGE_BYTES * len(case.sentence) // len(case.sentence.encode())

    def run(self, home: Home) -> Ran:
        """All turns, with `home.out` as the run's directory."""
        home.write("pages.txt", "".join(map(self._text_of, range(self._turns))))
        window = f"context_window = {WINDOW}\n" if self._case.told_window else ""
        with ModelServer(self) as server:
            head = f'version = 1\n[narrow]\nprotocol = "openai"\nbase_url = "{server.url}"\n'
            providers = home.path / "config" / "providers.toml"
            providers.write_text(f'{head}[[narrow.models]]\nid = "m"\n{window}')
            # The same tools in every request: what changes is the transcript alone.
            (home.path / "config" / "remit.toml").write_text('[agent]\ndefer_builtin_tools = "never"\n')
            return home.stream(
                PROMPT, "--tools", "file_read", "-m", "narrow/m", "-o", str(home.out), "-n",
                "--max-turns", "none", "--max-calls", "none", "--max-seconds", "none",
                seconds=300,
            )  # fmt: skip

    def _text_of(self, number: int) -> str:
        return f"{number:04} {self._case.sentence * self._page}"[: self._page - 1] + "\n"

    def __call__(self, request: Received) -> Reply:
        tokens = len(request.raw) // self._case.bytes_per_token
        messages = request.body["messages"]
        refused = tokens + 1 > WINDOW
        summary = str(messages[-1]["content"]).endswith(SUMMARY_MARK)
        self.asked.append(Asked(request.raw, messages, tokens, refused, summary))
        if refused:
            what = f"This model's maximum context length is {WINDOW} tokens. However, your messages have {tokens}."
            return refusal(400, message=what, code="context_length_exceeded")
        return self._with_usage(self._answer(summary), tokens)

    def _answer(self, summary: bool) -> Reply:
        if summary:
            return text(SUMMARY.format(page=self._answered))
        self._answered += 1
        if self._answered >= self._turns:
            return text("Done.")
        page = {"path": "pages.txt", "offset": (self._answered - 1) * self._page, "limit": self._page}
        return calls((f"call_{self._answered}", "read_file", json.dumps(page)))

    def _with_usage(self, reply: Reply, tokens: int) -> Reply:
        """The reply with its usage as it was counted, or with none."""
        *chunks, told, done = reply.steps
        assert isinstance(told, bytes) and b'"usage"' in told
        return stream(*chunks, usage(tokens, 20)) if self._case.tells_usage else Reply([*chunks, done])
