"""The manual, made from the same tables as the program itself. A page is built when it is asked for."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from remit.commands.app import COMMANDS
from remit.commands.manual.page import Page


def _formats(name: str) -> Page:
    from remit.commands.manual import formats, hooks, providers

    made: dict[str, Callable[[], Page]] = {
        "task": formats.task_page,
        "script": formats.script_page,
        "policy": formats.policy_page,
        "approvals": formats.approvals_page,
        "providers": providers.providers_page,
        "hooks": hooks.hooks_page,
    }
    return made[name]()


def _references(name: str) -> Page:
    from remit.commands.manual import guides, references

    made: dict[str, Callable[[], Page]] = {
        "events": references.events_page,
        "tools": references.tools_page,
        "sandbox": guides.sandbox_page,
        "agents": guides.agents_page,
        "profiles": guides.profiles_page,
        "install": guides.install_page,
    }
    return made[name]()


def _command(name: str) -> Page:
    from remit.commands.manual.commands import command_page

    return command_page(name)


def _sdk() -> Page:
    from remit.commands.manual.sdk import sdk_page

    return sdk_page()


PAGES: dict[str, Callable[[], Page]] = {
    "remit.1": partial(_command, "remit"),
    **{f"remit-{name}.1": partial(_command, name) for name in COMMANDS},
    "remit-sdk.1": _sdk,
    **{
        f"remit-{name}.5": partial(_formats, name)
        for name in ("task", "script", "policy", "approvals", "providers", "hooks")
    },
    **{
        f"remit-{name}.7": partial(_references, name)
        for name in ("events", "tools", "sandbox", "agents", "profiles", "install")
    },
}
"""By name of the file, such as `remit-task.5`."""


def page_words() -> list[str]:
    """The shortest name of each page, in the order of PAGES: `remit`, `run`, `task.5`, `approvals`."""
    words: list[str] = []
    for file in PAGES:
        short = file.removeprefix("remit-")
        name, _, _ = short.rpartition(".")
        words.append(short if name in words else name)
    return words


def find_page(word: str) -> str:
    """The file name of the page that a word names, or "". Of several sections the first."""
    candidates = (word, f"{word}.1", *(f"{word}.{number}" for number in (5, 7)))
    for candidate in (*candidates, *(f"remit-{each}" for each in candidates)):
        if candidate in PAGES:
            return candidate
    return ""
