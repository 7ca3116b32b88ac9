"""The plan of a session, handed in to the client that approves it."""

from __future__ import annotations

from collections.abc import Callable

from remit.base.calls import Call
from remit.base.claude_names import hands_in
from remit.base.ports import HookWord
from remit.engine.answer import wire_input
from remit.engine.hooks import SILENT, HookList
from remit.engine.modes import PLAN

TOOL = "plan"
WHY = "a plan that is handed in is the client's to approve; then plan mode is over"


def is_handed_in(call: Call) -> bool:
    return call.tool == TOOL and hands_in(wire_input(call.arguments))


class HandIn(HookList):
    """base.ports.Hooks: in plan mode the call that writes the plan is one to ask about. mode: that holds now."""

    def __init__(self, mode: Callable[[], str]) -> None:
        super().__init__()
        self._mode = mode

    async def before_call(self, call: Call) -> HookWord:
        if self._mode() != PLAN or not is_handed_in(call):
            return SILENT
        return HookWord("ask", WHY, who="client")
