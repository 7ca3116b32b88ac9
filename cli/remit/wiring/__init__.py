"""The composition root: the only room that knows every concrete class."""

from remit.wiring.assembly import ReadyRun
from remit.wiring.fork import fork
from remit.wiring.grants import RunWorld
from remit.wiring.implement import implement
from remit.wiring.offer import (
    current_directory,
    load_rules,
    offer_tools,
    spec_without_prompt,
    with_instructions,
    with_memory,
)
from remit.wiring.ports import Listeners, Ports
from remit.wiring.ready import Fresh, journaled_spec, resume, start
from remit.wiring.shown import first_request, list_tools

__all__ = [
    "Fresh",
    "Listeners",
    "Ports",
    "ReadyRun",
    "RunWorld",
    "current_directory",
    "first_request",
    "fork",
    "implement",
    "journaled_spec",
    "list_tools",
    "load_rules",
    "offer_tools",
    "resume",
    "spec_without_prompt",
    "start",
    "with_instructions",
    "with_memory",
]
