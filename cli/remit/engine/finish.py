"""Whether what the task promised holds: output schema, artifacts, checks."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping

import msgspec

from remit.base.calls import Call, Outcome
from remit.base.errors import RemitError, Verdict
from remit.base.events import CheckFinished, Notice
from remit.base.json_schema import problems
from remit.base.model_json import decode_json
from remit.base.records import OutputSubmitted, UserSaid
from remit.base.spec import Expect
from remit.engine.modes import PLAN
from remit.engine.recorder import Recorder

MAX_OUTPUT_ATTEMPTS = 5
MAX_OUTPUT_REMINDERS = 2


class Unmet(RemitError):
    """The model finished, and something the task promised does not hold: exit 3."""

    verdict = Verdict.UNMET

    def __init__(self, unmet: list[str], *, kind: str = "unmet") -> None:
        super().__init__("; ".join(unmet), kind=kind)
        self.unmet = unmet


RunCheck = Callable[[Call], Awaitable[Outcome]]


class Finish:
    """Judges a finished answer.

    run_check: takes a check through the gate. altered: what of the artifacts is no longer as written. unplanned: what
    a run in plan mode still owes."""

    def __init__(
        self,
        expect: Expect,
        recorder: Recorder,
        run_check: RunCheck,
        altered: Callable[[], list[str]],
        unplanned: Callable[[], list[str]] = list,
    ) -> None:
        self._expect = expect
        self._recorder = recorder
        self._run_check = run_check
        self._altered = altered
        self._unplanned = unplanned

    def remind(self) -> UserSaid | None:
        """What to tell a model that answered without the structured output that was asked for; None
        when there is nothing to say, or it has been said often enough."""
        if self._expect.schema is None or self._has_output() or self._planning():
            return None
        self._take_text_as_output(self._expect.schema)
        state = self._recorder.state
        if self._has_output() or state.nags["output"] >= MAX_OUTPUT_REMINDERS:
            return None
        text = "The task asks for structured output: call structured_output with a value that fits its schema."
        return UserSaid(text, synthetic=True, reason="output")

    def settled(self) -> bool:
        """Whether the structured output closes the prompt without another word of the model: it was
        accepted and every artifact is there, or its attempts are spent."""
        state = self._recorder.state
        if self._has_output():
            return self._planning() or all(name in state.artifacts for name in self._expect.artifacts)
        return state.output_attempts >= MAX_OUTPUT_ATTEMPTS

    async def judge(self) -> None:
        """Return when all that was promised holds. Raises Unmet with everything that does not."""
        if self._planning():
            # What the task promises is due when its plan is carried out.
            if owed := self._unplanned():
                raise Unmet(owed, kind="plan")
            return
        unmet: list[str] = []
        kind = "unmet"
        if self._expect.schema is not None and not self._has_output():
            kind = "schema"
            unmet.append(self._missing_output())
        have: Mapping[str, object] = self._recorder.state.artifacts
        unmet += [f"artifact {name} was not written" for name in self._expect.artifacts if name not in have]
        for index, command in enumerate(self._expect.checks, 1):
            problem = await self._check(index, command)
            if problem:
                unmet.append(problem)
        # Last, because a check can do it too: what the result lists has to be what lies there.
        unmet += self._altered()
        if unmet:
            raise Unmet(unmet, kind=kind)

    def _planning(self) -> bool:
        return self._recorder.state.mode == PLAN

    def _has_output(self) -> bool:
        output = self._recorder.state.output
        return output is not None and output.valid

    def _missing_output(self) -> str:
        output = self._recorder.state.output
        if output is None:
            return "no structured output was given"
        return f"the structured output does not fit its schema: {output.error}"

    def _take_text_as_output(self, schema: Mapping[str, object]) -> None:
        """An answer that is itself a fitting JSON value is the output."""
        try:
            value = decode_json(unfenced(self._recorder.state.final_text))
        except msgspec.DecodeError:
            return
        if not problems(schema, value):
            self._recorder.record(OutputSubmitted(value, True))
            self._recorder.emit(Notice(kind="output", text="the answer's text was taken as the structured output"))

    async def _check(self, index: int, command: str) -> str:
        outcome = await self._outcome(index, command)
        detail = "" if outcome.error is None else outcome.error.message
        self._recorder.emit(CheckFinished(command=command, ok=outcome.ok, detail=detail))
        return "" if outcome.ok else f"check `{command}` failed: {detail}"

    async def _outcome(self, index: int, command: str) -> Outcome:
        """What the check says of the state after this turn; one that an earlier process finished is
        not run again."""
        state = self._recorder.state
        key = f"t{state.turn}.check{index}"
        if key in state.checks_done:
            return state.checks_done[key]
        if key in state.checks_begun:
            self._recorder.emit(Notice(kind="repair", text=f"check `{command}` was interrupted and runs again"))
        arguments = msgspec.json.encode({"command": command}).decode()
        return await self._run_check(Call(key, key.replace(".", "_"), "check", arguments))


def unfenced(text: str) -> str:
    """The text without one Markdown code fence around it."""
    stripped = text.strip()
    if stripped.startswith("```") and stripped.endswith("```") and "\n" in stripped:
        return stripped[stripped.index("\n") + 1 : -3]
    return stripped
