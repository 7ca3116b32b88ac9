"""Questions of the model that the program in front of the session puts to a person."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import zip_longest
from typing import Any

from remit.base.ports import Question, Questions, Reply
from remit.engine.client import Client, NoAnswer

TOOL = "question"
CLIENT = "the client"


class Person:
    """base.ports.Questions of a person who comes in once the run is there."""

    def __init__(self) -> None:
        self._who: Questions | None = None

    def come(self, who: Questions) -> None:
        self._who = who

    async def ask(self, question: Question) -> Reply:
        return Reply(why_not="nobody is there to answer it") if self._who is None else await self._who.ask(question)


class FirstOf:
    """base.ports.Questions of one, and of another where that one has no answer."""

    def __init__(self, first: Questions, then: Questions) -> None:
        self._both = (first, then)

    async def ask(self, question: Question) -> Reply:
        first, then = self._both
        reply = await first.ask(question)
        return reply if reply.answer else await then.ask(question)


class ClientQuestions:
    """base.ports.Questions: answers that came along with the permission for the call; a question whose call needed
    none is put to the client by itself."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._answers: dict[str, tuple[str, ...]] = {}
        client.asks_people = frozenset({TOOL})
        client.on_answers = self.take

    def take(self, given: Mapping[str, Any]) -> None:
        """given: the input of the call as the client gave it back, with `answers` by question."""
        answers = given.get("answers")
        if isinstance(answers, dict):
            self._answers |= {str(text): words for text, answer in answers.items() if (words := _words(answer))}

    async def ask(self, question: Question) -> Reply:
        if question.text not in self._answers:
            try:
                reply = await self._client.ask("can_use_tool", self._fields(question))
            except NoAnswer as problem:
                return Reply(why_not=str(problem))
            given = reply.get("updatedInput")
            if reply.get("behavior") != "allow" or not isinstance(given, dict):
                return Reply(why_not=str(reply.get("message") or "the client gave no answer"))
            self.take(given)
        answer = self._answers.pop(question.text, ())
        return Reply(answer, CLIENT) if answer else Reply(why_not="the client gave no answer")

    def _fields(self, question: Question) -> dict[str, Any]:
        entry = {
            "question": question.text,
            "header": question.header,
            "options": [
                {"label": label, "description": note}
                for label, note in zip_longest(question.options, question.notes, fillvalue="")
            ],
            "multiSelect": question.multiple,
        }
        named = self._client.names.tool(TOOL)
        fields = {"tool_name": named, "display_name": named, "input": {"questions": [entry]}}
        return {**fields, "tool_use_id": "", "requires_user_interaction": True}


def _words(answer: Any) -> tuple[str, ...]:
    given = answer if isinstance(answer, list) else [answer]
    return tuple(word for word in given if isinstance(word, str) and word.strip())
