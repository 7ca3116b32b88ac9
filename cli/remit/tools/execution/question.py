"""question: what only a person can decide."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import msgspec

from remit.base.calls import Outcome, done
from remit.base.errors import ErrorCode, Failure
from remit.base.limits import Bounds
from remit.base.ports import Question as Asked
from remit.base.ports import Reply, ToolContext, World
from remit.base.resources import Effect, Resource
from remit.tools.contract import Tool

MAX_HEADER_CHARACTERS = 30
NO_ANSWER = "(no answer)"


class Option(msgspec.Struct, forbid_unknown_fields=True):
    label: Annotated[str, msgspec.Meta(min_length=1, description="What is chosen, in a few words.")]
    description: Annotated[str, msgspec.Meta(description="What follows from choosing it.")] = ""


class QuestionEntry(msgspec.Struct, forbid_unknown_fields=True):
    question: Annotated[str, msgspec.Meta(min_length=1, description="The whole question.")]
    header: Annotated[
        str,
        msgspec.Meta(
            min_length=1, max_length=MAX_HEADER_CHARACTERS, description="A name for it, at most 30 characters."
        ),
    ]
    options: Annotated[list[Option], msgspec.Meta(description="What can be chosen.")] = []
    multiSelect: Annotated[bool, msgspec.Meta(description="Whether several can be chosen.")] = False
    multiple: Annotated[bool, msgspec.Meta(description="Another name for multiSelect.")] = False


class QuestionParams(msgspec.Struct, forbid_unknown_fields=True):
    questions: Annotated[list[QuestionEntry], msgspec.Meta(min_length=1, description="The questions, at least one.")]


class Question(Tool):
    """Ask the person you work for: about preferences, what an instruction means, or which of several ways to
    go. Ask before you act on a guess that would be hard to undo, and not for what you can find out.

    Give each question a header of at most 30 characters and the options to choose from. The result has a line
    for each question, `header: what was chosen`. Answers may have been prepared, so ask in plain and complete
    words. A question that nobody answers ends at once, as `(no answer)`; when none is answered the call fails.
    Then go on without it, take the way that can be undone, and say so.
    """

    name = "question"
    toolset = "execution"
    effects = frozenset({Effect.NONE})
    # How long a person is waited for is known to who asks them, as is the time that a run has.
    bounds = Bounds(seconds=86_400.0)
    hands = frozenset({"person"})
    Params = QuestionParams

    def resources(self, params: QuestionParams, world: World) -> Sequence[Resource]:
        return []

    async def run(self, params: QuestionParams, ctx: ToolContext) -> Outcome:
        replies = [await ctx.questions.ask(_asked(entry)) for entry in params.questions]
        pairs = list(zip(params.questions, replies, strict=True))
        if not any(reply.answer for reply in replies):
            why = "; ".join(f"{entry.header}: {reply.why_not}" for entry, reply in pairs)
            message = f"nobody answered ({why}); go on without it, take the way that can be undone, and say so"
            raise Failure(ErrorCode.UNANSWERED, message)
        data = [
            {"question": entry.question, "header": entry.header, **msgspec.to_builtins(reply)} for entry, reply in pairs
        ]
        return done({"answers": data}, text="\n".join(_line(entry, reply) for entry, reply in pairs))


def _asked(entry: QuestionEntry) -> Asked:
    labels = tuple(option.label for option in entry.options)
    notes = tuple(option.description for option in entry.options)
    return Asked(entry.question, entry.header, labels, entry.multiSelect or entry.multiple, notes)


def _line(entry: QuestionEntry, reply: Reply) -> str:
    words = (" ".join(each.split()) for each in (entry.header, ", ".join(reply.answer)))
    header, answer = words
    return f"{header}: {answer or NO_ANSWER}"
