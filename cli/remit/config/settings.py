"""The user's settings: `remit.toml` and `REMIT_*` variables. Files of a project never change them."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from remit.base.errors import Fault, Faults
from remit.base.limits import MIB
from remit.base.messages import Effort
from remit.base.spec import BUILTIN, Compaction, Dollars, Hook, Price
from remit.base.text import shorten
from remit.config.convert import convert_fields
from remit.config.document import Document, in_line_order
from remit.config.hooks import HookKeys, compile_hooks
from remit.config.limits import parse_size
from remit.config.load import decode, parse, read_optional
from remit.config.names import model_fault
from remit.config.where import CACHE_DIR, STATE_DIR, cache_dir, config_dir, state_dir

FILE_NAME = "remit.toml"
MIN_RESERVE_TOKENS = 100

Port = Annotated[int, Meta(ge=1, le=65535)]
Seconds = Annotated[float, Meta(ge=0, le=1_000_000_000)]


class NetKeys(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """`[net]`"""

    fetch_allowed_ports: Annotated[tuple[Port, ...], Meta(min_length=1, title="a list of at least one port")] | (
        UnsetType
    ) = UNSET


class RetryKeys(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """`[retry]`"""

    seconds: Seconds | UnsetType = UNSET


class ContextKeys(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """`[context]`: reserve is a share of the context window such as "20%", or tokens."""

    compact: bool | UnsetType = UNSET
    reserve: int | str | UnsetType = UNSET


DEFAULT_MEMORY = 8192 * MIB
MIN_MEMORY = 64 * MIB
"""Of one process of a command."""

SandboxMode = Literal["required", "auto", "off"]


class SandboxKeys(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """`[sandbox]`: mode says what becomes of a run whose commands this machine cannot confine in every way, memory how
    much one process of them may use: bytes, a size such as "4GiB", or `none`."""

    mode: SandboxMode | UnsetType = UNSET
    memory: int | str | UnsetType = UNSET


ShellExecution = Literal["sync", "auto", "async"]


class ShellKeys(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """`[shell]`: execution says whether a command is waited for, or goes on in the background of a run that has one;
    with auto it does when it is given more time than the threshold."""

    output_filter: bool | UnsetType = UNSET
    execution: ShellExecution | UnsetType = UNSET
    async_threshold_seconds: Annotated[int, Meta(ge=1)] | UnsetType = UNSET


DeferTools = Literal["auto", "always", "never"]


class AgentKeys(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """`[agent]`: disabled_tools are offered in no run. defer_builtin_tools: whether requests leave out tools that can
    be loaded when they are needed; auto does it unless the model is known as its provider's best. task_execution says
    whether an agent that works for the main one is waited for, or goes on in the background of a run that has one;
    with auto the model says. task_max_concurrent: how many work at the same time. subagent_model, subagent_thinking:
    of such agents, as in a system prompt profile, where theirs says nothing. system_prompt_profile: of runs that name
    none and no system prompt."""

    disabled_tools: tuple[str, ...] | UnsetType = UNSET
    defer_builtin_tools: DeferTools | UnsetType = UNSET
    task_execution: ShellExecution | UnsetType = UNSET
    task_max_concurrent: Annotated[int, Meta(ge=1, le=64)] | UnsetType = UNSET
    subagent_model: str | UnsetType = UNSET
    subagent_thinking: Effort | UnsetType = UNSET
    system_prompt_profile: Annotated[str, Meta(min_length=1)] | UnsetType = UNSET


class CodeKeys(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """`[code]`: whether what was read of source files is kept for later runs."""

    cache: bool | UnsetType = UNSET


class ClientKeys(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """`[client]`: how long a client program that is asked something may take to answer."""

    answer_seconds: Seconds | UnsetType = UNSET


class PriceKeys(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """`[prices."provider/model"]`: US dollars per million tokens."""

    input: Dollars
    output: Dollars
    cache_read: Dollars | None = None
    cache_write: Dollars | None = None


class SettingsKeys(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """`remit.toml`"""

    model: Annotated[str, Meta(min_length=1)] | UnsetType = UNSET
    state_dir: Annotated[str, Meta(min_length=1)] | UnsetType = UNSET
    cache_dir: Annotated[str, Meta(min_length=1)] | UnsetType = UNSET
    python_worker: Annotated[str, Meta(min_length=1)] | UnsetType = UNSET
    net: NetKeys = NetKeys()
    retry: RetryKeys = RetryKeys()
    context: ContextKeys = ContextKeys()
    sandbox: SandboxKeys = SandboxKeys()
    shell: ShellKeys = ShellKeys()
    agent: AgentKeys = AgentKeys()
    code: CodeKeys = CodeKeys()
    client: ClientKeys = ClientKeys()
    hook: tuple[HookKeys, ...] = ()
    prices: dict[str, PriceKeys] = {}


class Origin(msgspec.Struct, frozen=True):
    """Where a value comes from. where: `file:line`, or the variable's name; "" for a default."""

    kind: Literal["default", "file", "env"]
    where: str = ""

    def __str__(self) -> str:
        return self.where or self.kind


DEFAULT = Origin("default")


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """The settings of this user. config_dir, state_dir, cache_dir: absolute; cache_dir "": nothing is cached.
    python_worker: the program, absolute, that runs scripts in place of the installed one, or "". origins: by dotted
    name of the setting. files: sha256 of every file read, by absolute path."""

    config_dir: str
    state_dir: str
    cache_dir: str = ""
    model: str = ""
    python_worker: str = ""
    fetch_allowed_ports: tuple[int, ...] = (80, 443)
    retry_seconds: float = 300.0
    context_compact: bool = True
    context_reserve: float | None = None
    sandbox: SandboxMode = "auto"
    sandbox_memory: int | None = DEFAULT_MEMORY
    output_filter: bool = True
    code_cache: bool = True
    client_seconds: float = 300.0
    shell_execution: ShellExecution = "auto"
    shell_async_threshold_seconds: int = 120
    task_execution: ShellExecution = "auto"
    task_max_concurrent: int = 8
    subagent_model: str = ""
    subagent_thinking: Effort | None = None
    system_prompt_profile: str = BUILTIN
    disabled_tools: tuple[str, ...] = ()
    defer_builtin_tools: DeferTools = "auto"
    prices: dict[str, Price] = {}
    hooks: tuple[Hook, ...] = ()
    origins: dict[str, Origin] = {}
    files: dict[str, str] = {}

    @property
    def own_dirs(self) -> tuple[str, ...]:
        """Directories that no tool and no command of a run gets to see."""
        return tuple(path for path in (self.state_dir, self.config_dir, self.cache_dir) if path)

    @property
    def facts_dir(self) -> str:
        """Where what was read of source files is kept, "" where it is not."""
        return self.cache_dir if self.code_cache else ""

    @property
    def compaction(self) -> Compaction:
        return Compaction(self.context_compact, self.context_reserve)

    def origin(self, name: str) -> Origin:
        """Where a setting's value comes from, by its dotted name: `net.fetch_allowed_ports`."""
        return self.origins.get(name, DEFAULT)


_FIELDS = {
    "model": "model",
    "state_dir": "state_dir",
    "cache_dir": "cache_dir",
    "python_worker": "python_worker",
    "net.fetch_allowed_ports": "fetch_allowed_ports",
    "retry.seconds": "retry_seconds",
    "context.compact": "context_compact",
    "context.reserve": "context_reserve",
    "sandbox.mode": "sandbox",
    "sandbox.memory": "sandbox_memory",
    "shell.output_filter": "output_filter",
    "code.cache": "code_cache",
    "client.answer_seconds": "client_seconds",
    "shell.execution": "shell_execution",
    "shell.async_threshold_seconds": "shell_async_threshold_seconds",
    "agent.task_execution": "task_execution",
    "agent.task_max_concurrent": "task_max_concurrent",
    "agent.subagent_model": "subagent_model",
    "agent.subagent_thinking": "subagent_thinking",
    "agent.system_prompt_profile": "system_prompt_profile",
    "agent.disabled_tools": "disabled_tools",
    "agent.defer_builtin_tools": "defer_builtin_tools",
    "prices": "prices",
    "hook": "hooks",
}
"""Dotted names of the settings, and their fields."""

_VARIABLES: dict[str, tuple[str, Any, str]] = {
    "model": ("REMIT_MODEL", str, ""),
    "state_dir": (STATE_DIR, str, ""),
    "cache_dir": (CACHE_DIR, str, ""),
    "python_worker": ("REMIT_PYTHON_WORKER", str, ""),
    "net.fetch_allowed_ports": ("REMIT_FETCH_ALLOWED_PORTS", tuple[Port, ...], "ports separated by commas"),
    "retry.seconds": ("REMIT_RETRY_SECONDS", Seconds, "a number of seconds"),
    "client.answer_seconds": ("REMIT_CLIENT_SECONDS", Seconds, "a number of seconds"),
    "sandbox.mode": ("REMIT_SANDBOX", SandboxMode, "required, auto or off"),
}
"""By dotted name: the variable, the type of its value, and that in words."""

_PATHS = ("state_dir", "cache_dir", "python_worker")

_Layer = dict[str, tuple[Any, Origin]]


def load_settings(environ: Mapping[str, str]) -> Settings:
    """Defaults, then `remit.toml` in the configuration directory if there is one, then variables.

    Raises Faults with all that is wrong. An empty variable counts as not set."""
    directory = config_dir(environ)
    document, files, faults = _read_file(os.path.join(directory, FILE_NAME))
    layer: _Layer = {}
    if document is not None:
        layer, found = _from_file(document)
        faults += in_line_order(found, document)
    variables, found = _from_environ(environ)
    layer |= variables
    faults += found
    if faults:
        raise Faults(faults)
    fields = {_FIELDS[name]: value for name, (value, _) in layer.items()}
    for name, usual in (("state_dir", state_dir), ("cache_dir", cache_dir)):
        fields[name] = fields.get(name) or usual(environ)
    origins = {name: origin for name, (_, origin) in layer.items()}
    return Settings(config_dir=directory, origins=origins, files=files, **fields)


def _read_file(path: str) -> tuple[Document | None, dict[str, str], list[Fault]]:
    """The document of a file that need not be there, and its digest."""
    try:
        raw = read_optional(path)
        if raw is None:
            return None, {}, []
        files = {path: hashlib.sha256(raw).hexdigest()}
        text = decode(raw, path)
        return (parse(text, path, "toml") if text.strip() else None), files, []
    except Faults as problem:
        return None, {}, problem.faults


def _from_file(document: Document) -> tuple[_Layer, list[Fault]]:
    good, faults = convert_fields(document, SettingsKeys)
    keys = SettingsKeys(**good)
    hooks, found = compile_hooks(document, keys.hook)
    faults += found
    values: dict[str, Any] = {
        "model": keys.model,
        "state_dir": keys.state_dir,
        "cache_dir": keys.cache_dir,
        "python_worker": keys.python_worker,
        "net.fetch_allowed_ports": keys.net.fetch_allowed_ports,
        "retry.seconds": keys.retry.seconds,
        "context.compact": keys.context.compact,
        "sandbox.mode": keys.sandbox.mode,
        "sandbox.memory": _memory(keys.sandbox.memory),
        "shell.output_filter": keys.shell.output_filter,
        "code.cache": keys.code.cache,
        "client.answer_seconds": keys.client.answer_seconds,
        "shell.execution": keys.shell.execution,
        "shell.async_threshold_seconds": keys.shell.async_threshold_seconds,
        "agent.task_execution": keys.agent.task_execution,
        "agent.task_max_concurrent": keys.agent.task_max_concurrent,
        "agent.subagent_model": keys.agent.subagent_model,
        "agent.subagent_thinking": keys.agent.subagent_thinking,
        "agent.system_prompt_profile": keys.agent.system_prompt_profile,
        "agent.disabled_tools": keys.agent.disabled_tools,
        "agent.defer_builtin_tools": keys.agent.defer_builtin_tools,
        "context.reserve": _reserve(keys.context.reserve),
        "prices": {name: Price(*msgspec.structs.astuple(price)) for name, price in keys.prices.items()} or UNSET,
        "hook": hooks or UNSET,
    }
    if keys.context.reserve is not UNSET and values["context.reserve"] is UNSET:
        message = f"`context.reserve`: expected 1% to 90%, or at least 100 tokens, seen {shorten(keys.context.reserve)}"
        faults.append(Fault(message, document.where("context", "reserve")))
    if keys.sandbox.memory is not UNSET and values["sandbox.memory"] is UNSET:
        message = (
            f"`sandbox.memory`: expected at least 64MiB, in bytes or as a size such as 4GiB, or none, "
            f"seen {shorten(keys.sandbox.memory)}"
        )
        faults.append(Fault(message, document.where("sandbox", "memory")))
    if isinstance(keys.model, str) and model_fault(keys.model):
        faults.append(Fault(f"`model`: {model_fault(keys.model)}", document.where("model")))
    for name in _PATHS:
        path = getattr(keys, name)
        if isinstance(path, str) and not os.path.isabs(path):
            message = f"`{name}`: expected an absolute path, seen {shorten(path)}"
            faults.append(Fault(message, document.where(name)))
    for name in keys.prices:
        if not all(name.partition("/")):
            faults.append(
                Fault(f"`prices`: expected PROVIDER/NAME, seen {shorten(name)}", document.where("prices", name))
            )
    return {
        name: (value, Origin("file", document.where(*name.split("."))))
        for name, value in values.items()
        if value is not UNSET
    }, faults


def _reserve(given: int | str | UnsetType) -> float | UnsetType:
    """Below 1 a share, else tokens; UNSET for what is neither."""
    if isinstance(given, int) and not isinstance(given, bool):
        return float(given) if given >= MIN_RESERVE_TOKENS else UNSET
    share = str(given).strip().removesuffix("%") if isinstance(given, str) and given.strip().endswith("%") else ""
    return int(share) / 100 if share.isdecimal() and share.isascii() and 1 <= int(share) <= 90 else UNSET


def _memory(given: int | str | UnsetType) -> int | UnsetType | None:
    """Bytes, or None for no bound; UNSET for what is neither, or too little for any program."""
    if given == "none":
        return None
    size = parse_size(str(given)) if isinstance(given, str) else given
    enough = isinstance(size, int) and not isinstance(size, bool) and MIN_MEMORY <= size < 2**63
    return size if enough else UNSET


def _from_environ(environ: Mapping[str, str]) -> tuple[_Layer, list[Fault]]:
    layer: _Layer = {}
    faults: list[Fault] = []
    for name, (variable, type_, words) in _VARIABLES.items():
        text = environ.get(variable, "")
        if not text:
            continue
        origin = Origin("env", variable)
        try:
            parts = [part.strip() for part in text.split(",")] if type_ == tuple[Port, ...] else text
            # Text is all a variable can be: numbers are read from it.
            layer[name] = (msgspec.convert(parts, type_, strict=False), origin)
        except msgspec.ValidationError:
            faults.append(Fault(f"expected {words}, seen {shorten(text)}", variable))
    if "model" in layer and model_fault(layer["model"][0]):
        faults.append(Fault(model_fault(layer["model"][0]), layer["model"][1].where))
    for name in _PATHS:
        if name in layer:
            value, origin = layer[name]
            layer[name] = (os.path.abspath(value), origin)
    return layer, faults
