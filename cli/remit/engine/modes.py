"""The mode of a session, as the model is told of it and as it may be changed."""

from __future__ import annotations

from remit.base.records import MODE, UserSaid
from remit.engine.state import State

PLAN = "plan"

PLANNING = """\
Plan mode: look around and make a plan; carry nothing out. Only calls that read are allowed, and commands that are \
known to do nothing but read; all others are refused. Read what the task touches before you decide, then write the \
whole plan down with the tool `plan` where it is offered: what is to be done, where, in which order, and how to tell \
that it works. End with the plan, or a short account of it, as your answer."""

BUILDING = "Plan mode is over: from here on you may carry out what the rules of this run allow."


def due(state: State) -> UserSaid | None:
    """What the model has to hear of the mode before it goes on."""
    if (state.mode == PLAN) == (state.told_mode == PLAN):
        return None
    return UserSaid(PLANNING if state.mode == PLAN else BUILDING, synthetic=True, reason=MODE)
