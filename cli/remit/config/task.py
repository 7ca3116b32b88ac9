"""The task file: one schema for YAML and TOML, and every fault of a file at once."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Collection, Mapping
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from remit.base.calls import Decide
from remit.base.claude_names import named_here
from remit.base.errors import Fault, Faults
from remit.base.limits import Limits
from remit.base.messages import Effort
from remit.base.resources import Effect
from remit.base.spec import Expect, Hook, Tick
from remit.base.text import shorten
from remit.config.checks import check_fault
from remit.config.convert import convert, convert_fields
from remit.config.document import Document, Keys, did_you_mean, in_line_order, spell
from remit.config.hooks import HookKeys, compile_hooks, fitted
from remit.config.inputs import InputKeys, declaration_fault, placeholder_faults
from remit.config.limits import LimitKeys, limit_values, limits_from
from remit.config.load import BlemishedDocument, decode, parse_named, read_bytes, unsound
from remit.config.names import artifact_fault, directory_fault, host_fault, model_fault, normal_host

ToolEffects = Mapping[str, Collection[Effect]]
"""The tools that can be ticked, by iteration, and what each does to the world."""

ARTIFACT_TOOL = "write_artifact"
ARTIFACT_WRITERS = (ARTIFACT_TOOL, "shell")
"""The tools by which a model can write artifacts: commands find their directory in `REMIT_OUT`."""
"""The one tool that writes artifacts."""

StdinRule = Literal["optional", "required", "ignore"]
OnAsk = Literal["deny", "stop"]
OnDeny = Literal["continue", "fail"]
ModeWord = Literal["build", "plan", "default", "acceptEdits", "bypassPermissions", "dontAsk"]


class ToolKeys(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A tick with more than a word."""

    decide: Annotated[Decide, Meta(description="auto: run. ask: needs an approval. deny: refuse.")]
    hosts: Annotated[
        tuple[str, ...],
        Meta(
            description="Hosts, subdomains included, for which auto holds; others ask. Network tools only. Of shell: "
            "the hosts that its commands may connect to; all others are refused."
        ),
    ] = ()


class MemoryKeys(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Memory of earlier runs."""

    enabled: Annotated[bool, Meta(description="Give the model what was remembered. Default false.")] = False
    proposals: Annotated[bool, Meta(description="Let it propose things to remember. Default false.")] = False


class ExpectKeys(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What has to hold for the verdict `done`."""

    artifacts: Annotated[tuple[str, ...], Meta(description="Names of artifacts that have to be written.")] = ()
    schema: Annotated[
        str,
        Meta(
            min_length=1,
            description="JSON Schema file (2020-12, in JSON or YAML) of the answer, relative to the task file. "
            "References stay within the file; `format` is not asserted.",
        ),
    ] = ""
    checks: Annotated[
        tuple[str, ...],
        Meta(
            description="Commands that have to exit 0. They run in the workspace and without a shell; REMIT_OUT is the "
            "directory of artifacts: sh -c 'test -s \"$REMIT_OUT/report.md\"'."
        ),
    ] = ()
    check_seconds: Annotated[float, Meta(gt=0, description="Time of each check. Default 60.")] = 60.0


class TaskKeys(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A task of remit."""

    version: Annotated[Literal[1], Meta(description="Version of this format.")]
    name: Annotated[
        str,
        Meta(
            pattern=r"^[^\x00-\x1f\x7f/\\]{1,100}$",
            title="a name of 1 to 100 characters without slashes and control characters",
            description="Name of the task. Default: the file's name without its ending.",
        ),
    ] = ""
    prompt: Annotated[
        str, Meta(description="What the model is asked. {{name}} stands for an input. A prompt argument replaces it.")
    ] = ""
    inputs: Annotated[dict[str, InputKeys], Meta(description="Inputs of the prompt, given with -i KEY=VALUE.")] = {}
    workspace: Annotated[
        str,
        Meta(
            min_length=1,
            description="Directory the tools see, relative to the task file. Default: the current directory.",
        ),
    ] = ""
    model: Annotated[str, Meta(min_length=1, description="PROVIDER/NAME. Default: the one of the settings.")] = ""
    fallback_models: Annotated[
        tuple[str, ...],
        Meta(description="Models to go on with, in this order, when one is busy, unreachable or out of credit."),
    ] = ()
    effort: Annotated[
        Effort | None, Meta(description="How much the model should think. Default: as it does by itself.")
    ] = None
    tools: Annotated[
        dict[str, Decide | ToolKeys], Meta(description="The tools the model gets, each with auto, ask or deny.")
    ] = {}
    limits: Annotated[LimitKeys, Meta(description="What the run may spend.")] = LimitKeys()
    memory: Annotated[MemoryKeys, Meta(description="Memory of earlier runs.")] = MemoryKeys()
    expect: Annotated[ExpectKeys, Meta(description="What has to hold for the verdict `done`.")] = ExpectKeys()
    hook: Annotated[
        tuple[HookKeys, ...], Meta(description="Commands that hear of the steps of the run, in this order.")
    ] = ()
    stdin: Annotated[
        StdinRule, Meta(description="Whether standard input is appended to the prompt. Default optional.")
    ] = "optional"
    on_ask: Annotated[
        OnAsk, Meta(description="What an ask without an answer does: deny the call, or stop the run. Default deny.")
    ] = "deny"
    mode: Annotated[
        ModeWord, Meta(description="plan: only look and write a plan; else as the rules say. Default build.")
    ] = "build"
    on_deny: Annotated[
        OnDeny, Meta(description="What a refused call does: the run goes on, or fails. Default continue.")
    ] = "continue"


class Task(msgspec.Struct, frozen=True, kw_only=True):
    """A task file, checked. workspace: absolute, or "" when the file names none. limit_values: the
    limits the file gives; limits: those with the defaults. files: sha256 of every file read, by
    absolute path. prompt_where, model_where, fallback_where: `file:line` of the keys."""

    path: str
    name: str
    prompt: str
    prompt_where: str
    model_where: str
    fallback_where: str
    inputs: dict[str, InputKeys]
    workspace: str
    model: str
    fallback_models: tuple[str, ...]
    effort: Effort | None
    ticks: dict[str, Tick]
    limit_values: dict[str, Any]
    memory: MemoryKeys
    expect: Expect
    hooks: tuple[Hook, ...]
    stdin: StdinRule
    on_ask: OnAsk
    on_deny: OnDeny
    mode: ModeWord
    files: dict[str, str]

    @property
    def limits(self) -> Limits:
        return limits_from(self.limit_values)


def examine_task(path: str, tool_effects: ToolEffects) -> tuple[Task | None, list[Fault]]:
    """The task in a file and all that is wrong with it.

    With faults the task holds what is good of the file, so that a caller may look for more of them
    elsewhere; None when the file cannot even be parsed."""
    faults: list[Fault] = []
    try:
        raw = read_bytes(path)
        document = parse_named(decode(raw, path), path)
    except BlemishedDocument as problem:
        document, faults = problem.document, problem.faults
    except Faults as problem:
        return None, problem.faults
    check = _Check(document, tool_effects, {os.path.abspath(path): hashlib.sha256(raw).hexdigest()})
    check.faults += faults
    task = check.task()
    return task, in_line_order(check.faults, document)


class _Check:
    """One pass over a task file. Each method takes what it needs from the keys and adds its faults."""

    def __init__(self, document: Document, tool_effects: ToolEffects, files: dict[str, str]) -> None:
        self._document = document
        self._effects = tool_effects
        self._tools = frozenset(tool_effects)
        self._files = files
        self._directory = os.path.dirname(os.path.abspath(document.path))
        self.faults: list[Fault] = []

    def task(self) -> Task:
        keys, faults = convert(self._document, TaskKeys)
        self.faults += faults
        if keys is None:
            keys = self._salvage()
        prompt_where = self._document.where("prompt")
        self._prompt(keys.prompt)
        return Task(
            path=self._document.path,
            name=self._name(keys.name),
            prompt=keys.prompt,
            prompt_where=prompt_where,
            model_where=self._document.where("model"),
            fallback_where=self._document.where("fallback_models"),
            inputs=self._inputs(keys.inputs),
            workspace=self._workspace(keys.workspace),
            model=self._model(keys.model),
            fallback_models=self._fallback_models(keys.fallback_models),
            effort=keys.effort,
            ticks=self._ticks(keys.tools),
            limit_values=self._limits(keys.limits),
            memory=keys.memory,
            expect=self._expect(keys.expect),
            hooks=self._hooks(keys.hook),
            stdin=keys.stdin,
            on_ask=keys.on_ask,
            on_deny=keys.on_deny,
            mode=keys.mode,
            files=self._files,
        )

    def _given(self) -> dict[str, Any]:
        """The file's mapping as it stands, faults and all."""
        return self._document.data if isinstance(self._document.data, dict) else {}

    def _declared(self) -> list[str]:
        """Names of the declared inputs, those with faults included."""
        inputs = self._given().get("inputs")
        return list(inputs) if isinstance(inputs, dict) else []

    def _fault(self, at: Keys, message: str, hint: str = "") -> None:
        self.faults.append(Fault(message, self._document.where(*at), hint))

    def _salvage(self) -> TaskKeys:
        """What is good of a file that has faults of shape, down to the entries of its mappings."""
        good, _ = convert_fields(self._document, TaskKeys)
        good["version"] = 1
        entries: tuple[tuple[str, Any], ...] = (("tools", Decide | ToolKeys), ("inputs", InputKeys))
        parts: tuple[tuple[str, type[msgspec.Struct]], ...] = (
            ("limits", LimitKeys),
            ("memory", MemoryKeys),
            ("expect", ExpectKeys),
        )
        for name, entry in entries:
            given = self._given().get(name)
            if name not in good and isinstance(given, dict):
                found = {key: convert(self._document, entry, (name, key))[0] for key in given}
                good[name] = {key: value for key, value in found.items() if value is not None}
        for name, part in parts:
            if name not in good and name in self._given():
                good[name] = part(**convert_fields(self._document, part, (name,))[0])
        return TaskKeys(**good)

    def _name(self, name: str) -> str:
        if name.endswith("\n"):
            self._fault(("name",), "`name`: the name ends in a line break", "write it on the line of its key")
        return name or os.path.splitext(os.path.basename(self._document.path))[0]

    def _prompt(self, prompt: str) -> None:
        if isinstance(self._given().get("prompt"), str) and not prompt.strip():
            self._fault(("prompt",), "`prompt`: the prompt is empty", "leave it out to give it on the command line")
        self.faults += placeholder_faults(prompt, self._declared(), self._document.where("prompt"))

    def _inputs(self, inputs: dict[str, InputKeys]) -> dict[str, InputKeys]:
        for name, keys in inputs.items():
            message = declaration_fault(name, keys)
            if message:
                at = ("inputs", name, "default") if "default" in message else ("inputs", name)
                self._fault(at, message)
        return inputs

    def _workspace(self, workspace: str) -> str:
        if not workspace:
            return ""
        path = os.path.normpath(os.path.join(self._directory, workspace))
        message = directory_fault(path)
        if message:
            self._fault(("workspace",), f"`workspace`: {message}: {shorten(workspace)}", f"that is {path}")
        return path

    def _model(self, model: str) -> str:
        message = model_fault(model)
        if message:
            self._fault(("model",), f"`model`: {message}")
        return model

    def _fallback_models(self, names: tuple[str, ...]) -> tuple[str, ...]:
        self._each(("fallback_models",), names, lambda name: (model_fault(name) if name else "an empty name", ""))
        return names

    def _ticks(self, tools: dict[str, Decide | ToolKeys]) -> dict[str, Tick]:
        given = self._given().get("tools")
        for name in given if isinstance(given, dict) else ():
            if name not in self._tools:
                self._fault(("tools", name), f"unknown tool {shorten(name)}", valid_tools(name, self._effects))
        return {name: self._tick(name, keys) for name, keys in tools.items() if name in self._tools}

    def _tick(self, name: str, keys: Decide | ToolKeys) -> Tick:
        where = self._document.where("tools", name)
        if isinstance(keys, str):
            return Tick(keys, (), where)
        at = ("tools", name, "hosts")
        if keys.hosts and Effect.NETWORK not in self._effects[name]:
            self._fault(at, f"`{spell(at)}`: {name} does not reach the network, so it has no hosts", "remove it")
        elif keys.hosts and keys.decide not in ("auto", "ask" if Effect.EXECUTE in self._effects[name] else "auto"):
            self._fault(at, f"`{spell(at)}`: hosts say where `auto` holds, and this tool is `{keys.decide}`")
        self._each(at, keys.hosts, host_fault)
        return Tick(keys.decide, tuple(normal_host(host) for host in keys.hosts), where)

    def _limits(self, limits: LimitKeys) -> dict[str, Any]:
        where = {name: self._document.where("limits", name) for name in limits.__struct_fields__}
        values, faults = limit_values(limits, where)
        self.faults += [Fault(fault.message.replace("`", "`limits.", 1), fault.where, fault.hint) for fault in faults]
        return values

    def _expect(self, expect: ExpectKeys) -> Expect:
        self._each(("expect", "artifacts"), expect.artifacts, artifact_fault)
        self._writer(expect.artifacts)
        self._each(("expect", "checks"), expect.checks, check_fault)
        return Expect(
            artifacts=expect.artifacts,
            schema=self._schema(expect.schema) if expect.schema else None,
            schema_path=expect.schema,
            checks=expect.checks,
            check_seconds=expect.check_seconds,
            checks_where=self._document.where("expect", "checks") if expect.checks else "",
        )

    def _hooks(self, given: tuple[HookKeys, ...]) -> tuple[Hook, ...]:
        hooks, faults = compile_hooks(self._document, given)
        hooks, unfit = fitted(hooks, self._tools)
        self.faults += faults + unfit
        return hooks

    def _each(self, at: Keys, values: tuple[str, ...], fault_of: Callable[[str], tuple[str, str]]) -> None:
        for index, value in enumerate(values):
            message, hint = fault_of(value)
            if message:
                place = (*at, index)
                self._fault(place, f"`{spell(place)}`: {message}, seen {shorten(value)}", hint)

    def _writer(self, promised: tuple[str, ...]) -> None:
        """Artifacts are promised: something has to be able to write one."""
        given = self._given().get("tools", {})
        if not isinstance(given, dict):
            return
        ticks = {name: given[name] for name in ARTIFACT_WRITERS if name in given}
        decides = {name: tick.get("decide") if isinstance(tick, dict) else tick for name, tick in ticks.items()}
        if promised and all(decide == "deny" for decide in decides.values()):
            denied = " and ".join(f"`tools.{name}` is deny" for name in decides)
            seen = denied or f"the task does not tick {ARTIFACT_TOOL}"
            message = f"`expect.artifacts`: nothing can write them: {seen}"
            self._fault(("expect", "artifacts"), message, f"add `{ARTIFACT_TOOL}: auto` to `tools`")

    def _schema(self, name: str) -> dict[str, Any] | None:
        """The schema in a file beside the task's; its own faults name its lines."""
        shown = os.path.join(os.path.dirname(self._document.path), name)
        try:
            raw = read_bytes(shown)
            schema = _schema_of(decode(raw, shown), shown)
        except Faults as problem:
            at = ("expect", "schema")
            for fault in problem.faults:
                hint = "the path is taken from the task file's directory"
                self._fault(at, f"`{spell(at)}`: {fault.where}: {fault.message}", hint)
            return None
        self._files[os.path.abspath(shown)] = hashlib.sha256(raw).hexdigest()
        return schema


def _schema_of(text: str, path: str) -> dict[str, Any]:
    from remit.base.json_schema import schema_fault

    ending = os.path.splitext(path)[1].lower()
    schema = parse_named(text, path).data if ending in (".yaml", ".yml") else _json_of(text, path)
    message = schema_fault(schema)
    if not message and not isinstance(schema, dict):
        message = f"a JSON Schema is an object, seen {shorten(schema)}"
    if message:
        raise Faults([Fault(f"not a usable JSON Schema: {message}", path)])
    assert isinstance(schema, dict)
    return schema


def _json_of(text: str, path: str) -> Any:
    import json

    def refuse(word: str) -> Any:
        raise Faults([Fault(f"not valid JSON: {word} is no JSON number", path)])

    twice: list[str] = []

    def keep(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        kept: dict[str, Any] = {}
        for key, each in pairs:
            if key in kept:
                twice.append(key)
            kept[key] = each
        return kept

    try:
        value = json.loads(text, parse_constant=refuse, object_pairs_hook=keep)
    except json.JSONDecodeError as problem:
        raise Faults([Fault(f"not valid JSON: {problem.msg}", f"{path}:{problem.lineno}")]) from None
    except RecursionError:
        raise Faults([Fault("values are nested too deep", path)]) from None
    except ValueError:
        raise Faults([Fault("a number has too many digits", path)]) from None
    faults = [Fault(f"the key {shorten(key)} is given twice in one object", path) for key in dict.fromkeys(twice)]
    faults += unsound(Document(path, value, text, dict))
    if faults:
        raise Faults(faults)
    return value


def valid_tools(name: str, tool_effects: ToolEffects) -> str:
    """What to write in place of a tool's name that there is not."""
    if here := named_here(name, tool_effects):
        return here
    near = did_you_mean(name, tool_effects)
    names = f"tools: {', '.join(sorted(tool_effects)) or 'none'}"
    return f"{near} {names}" if near else names
