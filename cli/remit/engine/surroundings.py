"""Where and when a run works, as its model is told before a prompt."""

from __future__ import annotations

from collections.abc import Mapping

from remit.base.records import ENVIRONMENT, UserSaid
from remit.base.spec import Environment


def due(now: Environment | None, told: Environment | None) -> UserSaid | None:
    """What the model has to hear of it, where it knows what it was `told`."""
    if now is None or now == told:
        return None
    return UserSaid(environment_text(now, told), synthetic=True, reason=ENVIRONMENT, environment=now)


def environment_text(now: Environment, told: Environment | None = None) -> str:
    """All of it, or what is no longer as it was told, in a frame that no value can end."""
    before = _lines(told) if told is not None else {}
    lines = _lines(now)
    gone = {name: "none" for name in before if name not in lines}
    differing = {name: value for name, value in lines.items() if before.get(name) != value}
    text = "\n".join(f"{name}: {value}" for name, value in (differing | gone).items())
    mark = "changed-environment" if before else "environment"
    while f"</{mark}" in text:
        mark += "-"
    return f"<{mark}>\n{text}\n</{mark}>"


def _lines(environment: Environment) -> Mapping[str, str]:
    facts = {
        "Working directory": environment.directory,
        "Platform": environment.platform,
        "Date": environment.date,
        "Git branch": environment.branch,
    }
    return {name: value for name, value in facts.items() if value}
