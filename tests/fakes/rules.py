"""Rule sets of one line, for tests of policy."""

from __future__ import annotations

from typing import Any, Literal

from remit.base.calls import Decide
from remit.base.resources import Effect, Resource
from remit.base.spec import PolicySource, RunSpec, Tick
from remit.policy.decide import RuleSet
from remit.policy.load import load_policy

WORKSPACE = "/srv/work"
HOME = "/home/ada"

EFFECTS: dict[str, frozenset[Effect]] = {
    "read_file": frozenset({Effect.READ}),
    "list_files": frozenset({Effect.READ}),
    "file_read": frozenset({Effect.READ}),
    "file_write": frozenset({Effect.WRITE}),
    "file_edit": frozenset({Effect.READ, Effect.WRITE}),
    "write_artifact": frozenset({Effect.WRITE}),
    "fetch_url": frozenset({Effect.NETWORK}),
    "webfetch": frozenset({Effect.NETWORK}),
    "shell": frozenset({Effect.EXECUTE, Effect.NETWORK}),
    "execution_environment": frozenset({Effect.EXECUTE}),
    "update_plan": frozenset({Effect.STATE}),
    "publish_message": frozenset({Effect.MESSAGE}),
    "task": frozenset({Effect.AGENT}),
    "image_generate": frozenset({Effect.SPEND}),
    "question": frozenset({Effect.NONE}),
}


def source(
    *rules: str, kind: Literal["user", "project", "policy"] = "policy", path: str = "", examples: str = ""
) -> PolicySource:
    """A rule file; each rule is the body of a `[[rule]]`, `why` added where it has none."""
    bodies = [rule if "why" in rule else f'{rule}\nwhy = "because"' for rule in rules]
    text = "version = 1\n" + "".join(f"[[rule]]\n{body}\n{examples}" for body in bodies)
    return PolicySource(kind, path or f"{kind}.toml", text)


def ticks(**decides: Decide | Tick) -> dict[str, Tick]:
    """The `tools:` of a task."""
    return {
        name: tick if isinstance(tick, Tick) else Tick(tick, (), f"task.yaml:{index + 3}")
        for index, (name, tick) in enumerate(decides.items())
    }


def rule_set(*policies: PolicySource, own: tuple[str, ...] = (), mode: str = "build", **spec: Any) -> RuleSet:
    """The rule set of a run with these sources."""
    spec.setdefault("workspace", WORKSPACE)
    return load_policy(RunSpec(prompt="", policies=policies, **spec), EFFECTS, home=HOME, own=own, mode=mode)


def path(name: str, effect: Effect = Effect.READ, real: str = "") -> Resource:
    return Resource("path", name, effect, real, inside=not name.startswith("/"))


def tree(name: str, effect: Effect = Effect.READ, real: str = "") -> Resource:
    return Resource("tree", name, effect, real, inside=not name.startswith("/"))


def url(text: str) -> Resource:
    return Resource("url", text, Effect.NETWORK)


def command(text: str) -> Resource:
    return Resource("command", text, Effect.EXECUTE)


def word(rules: RuleSet, tool: str, *resources: Resource) -> str:
    """What is decided of a call."""
    return rules.decide(tool, EFFECTS[tool], resources).decide
