"""One run: every path through it ends in exactly one result."""

from __future__ import annotations

import asyncio
import traceback
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress

import msgspec

from remit.base.answers_cut import CONTINUE
from remit.base.calls import Outcome, err
from remit.base.errors import INTERRUPTED, ErrorCode, ProviderFault, Refused, RemitError, Stopped, UsageFault
from remit.base.events import Init, Notice, Result
from remit.base.ports import HookWord, Provider, Recorded
from remit.base.records import INSTRUCTIONS, CallSettled, Noted, PromptEnded, UserSaid
from remit.base.spec import RunSpec
from remit.engine.budget import spent_error
from remit.engine.dispatch import Dispatch
from remit.engine.finish import Finish
from remit.engine.heard import hook_stop
from remit.engine.hooks import HOOK, MAX_STOP_HOOKS, SILENT, STOP_HOOK
from remit.engine.inbox import Mail, NoMail
from remit.engine.loops import MAX_REPEATS
from remit.engine.modes import due
from remit.engine.prompt import instructions_text
from remit.engine.recorder import Recorder
from remit.engine.result import build_result
from remit.engine.surroundings import due as due_environment
from remit.engine.window import Window
from remit.store.durable import scarce_fault
from remit.tools.contract import Tool

MAX_CONTINUATIONS = 3
MAX_CUTS = 3
MAX_EMPTY_ANSWERS = 2
LEAVING_SECONDS = 5.0
"""That hooks may take when the process ends."""
"""Recoveries in a row; a sound answer in between begins the count anew."""


class Run:
    """Takes prompts, one after another, from where the state stands to their results. verified: has the last word
    on how one ended, None: done."""

    def __init__(
        self,
        spec: RunSpec,
        providers: Sequence[Provider],
        tools: Mapping[str, Tool],
        dispatch: Dispatch,
        window: Window,
        finish: Finish,
        recorder: Recorder,
        init: Init,
        notices: Sequence[Notice] = (),
        verified: Callable[[RemitError | None], RemitError | None] = lambda error: error,
    ) -> None:
        self._spec = spec
        self._providers = providers
        self._tools = tools
        self._dispatch = dispatch
        self._window = window
        self._finish = finish
        self._recorder = recorder
        self._init = init
        self._notices = list(notices)
        self._verified = verified
        self.mail: Mail = NoMail()
        """What comes in while a prompt is under way."""
        self.results = 0
        self.error: RemitError | None = None
        """How the last prompt ended, None: done."""
        self.on_stop: Callable[[], None] = lambda: None
        self.halt: Callable[[], Awaitable[None]] = _nothing
        """Ends what has a life of its own beside the prompt."""
        self.opening: Callable[[], None] = lambda: None
        """What else is to be done when a prompt begins."""
        self.goal: Callable[[], Awaitable[bool]] = _no_goal
        """Whether the model is sent on for the goal of the run."""
        self._began = recorder.clock.monotonic()
        self._before = recorder.state.elapsed - recorder.state.began.elapsed
        self._task: asyncio.Task[None] | None = None
        self._stop: RemitError | None = None
        self._interrupt: RemitError | None = None
        self._met = False
        self._context = ""
        window.may_compact = self._may_compact

    def tell(self, notice: Notice) -> None:
        """Told with the next prompt."""
        self._notices.append(notice)

    def stop(self, reason: RemitError) -> None:
        """End the run cleanly where it stands, from within the loop. The first reason counts."""
        self._stop = self._stop or reason
        if self._task is not None:
            self._task.cancel()
        self.on_stop()

    def interrupt(self, reason: RemitError) -> bool:
        """End the prompt under way, from within the loop; others may follow. False where there is none."""
        if self._task is None or self._task.done():
            return False
        self._interrupt = reason
        self._task.cancel()
        return True

    @property
    def under_way(self) -> bool:
        """Whether a prompt is being carried out."""
        return self._task is not None and not self._task.done()

    @property
    def unfinished(self) -> bool:
        """Whether the spec has a prompt that was not said yet."""
        return bool(self._spec.prompt) and not self._recorder.state.user_turns

    @property
    def stopped(self) -> RemitError | None:
        """Why no further prompt is taken, if so."""
        return self._stop

    def tokens(self) -> tuple[int, int]:
        """Roughly what the next request of the model takes: by system prompt and tools, and by messages."""
        return self._window.shares()

    def elapsed(self) -> float:
        """Seconds of this prompt, earlier processes included."""
        return self._before + self._recorder.clock.monotonic() - self._began

    def hold_deadline(self) -> None:
        """Raise BudgetSpent when the time is over; for what must not begin then, and for waits that the
        loop cannot interrupt."""
        seconds = self._spec.limits.seconds
        if seconds is not None and self.elapsed() >= seconds:
            raise spent_error("seconds", seconds)

    async def go(self, said: UserSaid | None = None) -> Result:
        """One prompt to its end; then everything is let go of. said: as in `prompt`. Never raises for anything that
        happens on the way."""
        try:
            return await self.prompt(said)
        finally:
            await self.close()

    async def prompt(self, said: UserSaid | None = None) -> Result:
        """One prompt to its result. said: None for that of the spec. Never raises."""
        if said is not None:
            self._began, self._before, self._interrupt = self._recorder.clock.monotonic(), 0.0, None
        self._task = asyncio.create_task(self._work(said))
        error = await self._outcome(self._task)
        if self._stop is not None or self._interrupt is not None:
            await self.halt()
        if isinstance(error, Stopped) and error.kind == INTERRUPTED:
            self._settle_rest()
        self.error = self._verified(error)
        return self._end(self.error)

    def end_unsaid(self, error: RemitError) -> Result:
        """The result of a process that ends with `error` because no prompt came. A session that has some stays as they
        left it."""
        self._recorder.emit(self._init)
        self.error = error
        if not self._recorder.state.user_turns:
            return self._end(error)
        return self._recorder.finish(self._result(error), self._result)

    async def close(self) -> None:
        """End what is still going on, and let go of the providers."""
        await self.halt()
        await self._leave()
        for provider in self._providers:
            await provider.close()

    async def _outcome(self, task: asyncio.Task[None]) -> RemitError | None:
        """How the prompt ended: the one value that result line and exit code derive from."""
        if self._stop is not None:
            task.cancel()
        seconds = self._spec.limits.seconds
        left = None if seconds is None else max(0.0, seconds - self.elapsed())
        finished, _ = await asyncio.wait({task}, timeout=left)
        if not finished:
            task.cancel()
            await asyncio.wait({task})
        if task.cancelled():
            return self._stop or self._interrupt or spent_error("seconds", seconds or 0.0)
        error = task.exception()
        if error is None or isinstance(error, RemitError):
            return error
        return self._bug(error)

    def _bug(self, error: BaseException) -> RemitError:
        text = "".join(traceback.format_exception(error))
        self._note(text)
        if (fault := scarce_fault(error)) is not None:
            return fault
        what = f"a fault of remit itself: {type(error).__name__}: {error}"
        return RemitError(what, hint="the traceback is in the journal of the run directory", kind="bug")

    def _note(self, text: str) -> None:
        try:
            self._recorder.record(Noted("traceback", text))
        except RemitError as second:
            # The journal itself is gone: the result still has to be told.
            self._init.layers["journal"] = second.what

    async def _work(self, said: UserSaid | None) -> None:
        await self._prompt(said)
        self._hold_recording()

    def _hold_recording(self) -> None:
        """A run that ends before its recording does is not the recorded one."""
        left = max((each.unplayed for each in self._providers if isinstance(each, Recorded)), default=0)
        if left:
            what = f"the run ended with {left} recorded answer(s) not asked for"
            raise ProviderFault(what, hint="the task or its files changed since the recording", kind="replay")

    async def _begin(self, said: UserSaid | None) -> None:
        recorder, state = self._recorder, self._recorder.state
        if said is not None:
            # What an earlier prompt left open is no part of this one.
            left = self._settle_rest()
            self._notices += [Notice(kind="repair", text=text) for text in left if not self.results]
        recorder.emit(self._init)
        while self._notices:
            recorder.emit(self._notices.pop(0))
        self.opening()
        if self._spec.instructions and not state.user_turns and not state.instructions:
            recorder.say(UserSaid(instructions_text(self._spec.instructions), True, INSTRUCTIONS))
        if said is not None or not state.user_turns:
            self._tell_environment()
        met = await self._meet()
        if said is not None:
            await self._hear(said, met)
        elif not state.user_turns:
            await self._hear(UserSaid(self._spec.prompt, images=self._spec.images), met)
        elif met.decide == "deny" or met.stop is not None:
            raise hook_stop(met.message or met.stop or "")

    async def _prompt(self, said: UserSaid | None) -> None:
        recorder, state = self._recorder, self._recorder.state
        await self._begin(said)
        self._settle_interrupted()
        going_on = False
        while True:
            if state.open:
                await self._dispatch.perform([opened.call for opened in state.open.values()])
                going_on = False
            elif not going_on and self._finish.settled():
                going_on = await self._goes_on()
                if not going_on:
                    break
            elif state.wants_answer():
                self.hold_deadline()
                self._hold_circles()
                await self._take_mail()
                self._tell_context()
                self._tell_environment()
                self._tell_mode()
                await self._window.ask(state.began.elapsed + self.elapsed())
                going_on = False
            else:
                said = self._recover() or self._finish.remind()
                if said is not None:
                    recorder.say(said)
                elif not await self._goes_on():
                    break
        await self._finish.judge()

    async def _meet(self) -> HookWord:
        """What hooks say of the session that this process takes up, or begins; SILENT once they let it."""
        if self._met:
            return SILENT
        hooks, fields = self._dispatch.hooks, {"source": self._source, "model": self._init.model}
        word = await hooks.on_step("SessionStart", fields, self._source) if hooks else SILENT
        self._met = word.decide != "deny" and word.stop is None
        self._context = word.context
        return word

    @property
    def _source(self) -> str:
        return "resume" if self._init.resumed else "startup"

    async def _leave(self) -> None:
        """Hooks hear that the process ends, and can change nothing about it."""
        if not self._met:
            return
        self._met = False
        reason = "other" if self._stop is None else "prompt_input_exit"
        with suppress(TimeoutError):
            async with asyncio.timeout(LEAVING_SECONDS):
                await self._dispatch.hooks.on_step("SessionEnd", {"reason": reason}, reason)

    async def _may_compact(self) -> bool:
        """Whether hooks let the transcript be summed up. Raises Refused when one ends the prompt."""
        hooks = self._dispatch.hooks
        fields = {"trigger": "auto", "custom_instructions": None}
        word = await hooks.on_step("PreCompact", fields, "auto") if hooks else SILENT
        if word.stop is not None:
            raise hook_stop(word.stop)
        if word.decide == "deny":
            self._recorder.emit(Notice(kind="hook", text=f"the transcript is not summed up: {word.message}"))
        return word.decide != "deny"

    async def _hear(self, said: UserSaid, met: HookWord = SILENT) -> None:
        """Take a message of the user in, with what hooks have to say of it. Raises Refused when one withholds it.
        met: what they said of the session."""
        hooks, recorder = self._dispatch.hooks, self._recorder
        if said.synthetic:
            recorder.say(said)
            return
        if said.refused:
            recorder.record(said)
            raise UsageFault(said.refused, kind="message")
        if not hooks:
            recorder.record(said)
            return
        refused = met.decide == "deny" or met.stop is not None
        word = met if refused else await hooks.on_prompt(said.text)
        if word.decide == "deny" or word.stop is not None:
            reason = word.message or word.stop or "it gave no reason"
            # In its place, so that a later prompt of the session does not bring it to the model after all.
            kept = f"[a message was withheld by a hook: {reason}]"
            recorder.record(msgspec.structs.replace(said, text=kept, images=()))
            if word.decide == "deny":
                raise Refused(f"a hook withheld the prompt: {reason}", kind="hook_withheld")
            raise hook_stop(reason)
        recorder.record(said)
        if word.context:
            recorder.say(UserSaid(word.context, True, HOOK, joined=True))

    async def _goes_on(self) -> bool:
        """The model is done: whether a hook or its goal has it go on all the same."""
        hooks, state = self._dispatch.hooks, self._recorder.state
        if not hooks:
            return await self.goal()
        word = await hooks.on_stop(state.final_text, state.nags[STOP_HOOK] > 0)
        if word.stop is not None:
            raise hook_stop(word.stop)
        if word.decide != "deny":
            return await self.goal()
        if state.nags[STOP_HOOK] >= MAX_STOP_HOOKS:
            what = f"a hook had the model go on {MAX_STOP_HOOKS} times and still does: {word.message}"
            raise Refused(what, kind="hook_stopped")
        self._recorder.say(UserSaid(word.message or "Go on.", True, STOP_HOOK))
        return True

    def _settle_interrupted(self) -> None:
        """A call that had started when the process died: run again only if that is harmless."""
        for opened in list(self._recorder.state.unsettled()):
            if not opened.started:
                continue
            call, key = opened.call, opened.call.key
            tool = self._tools.get(call.tool)
            if tool is not None and tool.repeatable:
                self._recorder.emit(Notice(kind="repair", text=f"{call.tool} ({key}) was interrupted and runs again"))
                continue
            message = f"{call.tool} was interrupted; whether it took effect is unknown{self._job_of(key)}"
            outcome: Outcome = err(ErrorCode.INTERRUPTED, message)
            self._recorder.emit(Notice(kind="repair", text=f"{key}: {message}"))
            settled = CallSettled(key, call.id, call.tool, outcome, outcome.for_model(), parent=call.parent)
            self._recorder.settle(settled, sync=True)

    def _job_of(self, key: str) -> str:
        """How an agent that an interrupted call had started is taken up again."""
        job = next((job for job in self._recorder.state.jobs.values() if job.key == key), None)
        if job is None or job.kind != "agent":
            return ""
        return f"; what the agent did until then is kept: task_id {job.task_id}, mode {job.mode}"

    def _settle_rest(self) -> list[str]:
        """Calls that are left when a prompt is given up: none of them runs later. What became of each."""
        told = []
        for opened in list(self._recorder.state.unsettled()):
            call = opened.call
            what = "was interrupted; whether it took effect is unknown" if opened.started else "was not run"
            code = ErrorCode.INTERRUPTED if opened.started else ErrorCode.CANCELLED
            outcome: Outcome = err(code, f"{call.tool} {what}: the prompt was interrupted{self._job_of(call.key)}")
            settled = CallSettled(call.key, call.id, call.tool, outcome, outcome.for_model(), parent=call.parent)
            self._recorder.settle(settled, sync=True)
            told.append(f"{call.key}: {call.tool} {what}")
        return told

    async def _take_mail(self) -> None:
        """Messages that came while calls ran go along with their results."""
        if self._recorder.state.turns():
            for said in self.mail.take():
                await self._hear(said)

    def _tell_context(self) -> None:
        """What hooks said of the session goes to the model with the first request."""
        context, self._context = self._context, ""
        if context:
            self._recorder.say(UserSaid(context, True, HOOK, joined=True))

    def _tell_environment(self) -> None:
        said = due_environment(self._spec.environment, self._recorder.state.environment)
        if said is not None:
            # The stream tells what programs have to know of it.
            self._recorder.record(said)

    def _tell_mode(self) -> None:
        said = due(self._recorder.state)
        if said is not None:
            self._recorder.say(said)

    def _hold_circles(self) -> None:
        """Raise ProviderFault when the model does nothing any more but repeat itself."""
        if self._recorder.state.repeats >= MAX_REPEATS:
            what = f"the model repeated the same calls {MAX_REPEATS} times after it was told that they were refused"
            raise ProviderFault(what, hint="say in the prompt what to do when a step changes nothing", kind="loop")

    def _recover(self) -> UserSaid | None:
        """What to say after an answer that is no end: cut, or empty. Raises ProviderFault when it has
        been said often enough, or when the model refused."""
        state = self._recorder.state
        if state.stop == "refusal":
            raise ProviderFault(f"the model refused: {state.final_text[:500] or 'no reason given'}", kind="refused")
        if state.stop == "max_tokens":
            if state.nags["continue"] >= MAX_CONTINUATIONS:
                what = f"the answer was cut at the model's output limit {MAX_CONTINUATIONS + 1} times"
                raise ProviderFault(what, hint="ask for a shorter answer", kind="max_tokens")
            return UserSaid(CONTINUE["max_tokens"], True, "continue")
        if state.stop == "cut":
            if state.nags["cut"] >= MAX_CUTS:
                what = f"the connection broke off in the middle of {MAX_CUTS + 1} answers in a row"
                raise ProviderFault(what, hint="`remit resume` goes on from there", kind="cut")
            return UserSaid(CONTINUE["cut"], True, "cut")
        if not state.final_text.strip() and not state.output:
            if state.nags["empty"] >= MAX_EMPTY_ANSWERS:
                raise ProviderFault("the model gave only empty answers", kind="empty_answer")
            return UserSaid("Your answer was empty. Go on with the task, or give the final answer.", True, "empty")
        return None

    def _end(self, error: RemitError | None) -> Result:
        result = self._recorder.finish(self._conclude(error), self._conclude)
        self.results += 1
        return result

    def _conclude(self, error: RemitError | None) -> Result:
        result = self._result(error)
        try:
            self._recorder.record(self._ended(result))
        except RemitError as failure:
            # The disk is full at the very end: the verdict must say so, on the stream at least.
            result = self._result(error if error is not None else failure)
        return result

    def _result(self, error: RemitError | None) -> Result:
        return build_result(
            self._spec,
            self._recorder.state,
            error,
            init=self._init,
            seconds=self.elapsed(),
            index=self.results,
        )

    def _ended(self, result: Result) -> PromptEnded:
        return PromptEnded(result.verdict, result.exit_code, result.resumable, msgspec.to_builtins(result))


async def _no_goal() -> bool:
    """There is none."""
    return False


async def _nothing() -> None:
    """There is nothing to end."""
