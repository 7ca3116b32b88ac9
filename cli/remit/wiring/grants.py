"""Grants: what a call may touch, built from exactly the resources that policy saw."""

from __future__ import annotations

import os
from collections import ChainMap
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from copy import copy
from typing import Any

import msgspec

from remit.base.calls import Call, RuleRef
from remit.base.errors import ErrorCode, Failure
from remit.base.events import Notice
from remit.base.ports import Change, Policy, Question, Questions, Reply, Step, Todo
from remit.base.records import (
    ArtifactRemoved,
    ArtifactWritten,
    OutputSubmitted,
    PlanSet,
    PlanWritten,
    Reached,
    Record,
    TodosSet,
)
from remit.base.resources import Effect, Resource
from remit.base.spec import RunSpec
from remit.config.settings import Settings
from remit.engine.context import CallContext
from remit.engine.execution import MAX_RESULT_BYTES
from remit.engine.recorder import Recorder
from remit.net.guard import check_url
from remit.policy.rules import CHECK_TOOL
from remit.store.artifacts import ArtifactStore
from remit.store.leavings import Leavings
from remit.store.memory import MemoryProposals
from remit.store.outputs import OutputStore
from remit.store.plans import PlanDocument
from remit.store.rundir import RunDir
from remit.tools.contract import Tool
from remit.wiring.ports import Ports
from remit.workspace.root import Root
from remit.workspace.world import WorkspaceWorld

MAX_ORIGINAL_BYTES = 256 << 10
"""Of a changed file, up to which clients are told what it held before."""


class RunWorld(WorkspaceWorld):
    """The names a tool may ask for: those of the workspace, and of public pages."""

    def __init__(self, root: Root, ports: Collection[int]) -> None:
        super().__init__(root)
        self._ports = ports

    def url(self, spelled: str, effect: Effect) -> Resource:
        return Resource("url", check_url(spelled, self._ports).url, effect)


class Hands:
    """Builds the grants of a call from exactly the resources policy saw. root None: no call gets files. sandbox:
    confines commands, None: nothing does. hosts: by tool, those that its commands can be connected to. result_bytes:
    what one result may take of the model's window, None where that is unknown. questions: who answers those of the
    model, None: nobody."""

    def __init__(
        self,
        spec: RunSpec,
        settings: Settings,
        directory: RunDir,
        policy: Policy,
        root: Root | None,
        recorder: Recorder,
        ports: Ports,
        leavings: Leavings,
        sandbox: Any = None,
        hosts: Mapping[str, Collection[str]] = {},
        result_bytes: int | None = None,
        questions: Questions | None = None,
    ) -> None:
        self._spec = spec
        self._settings = settings
        self._directory = directory
        self._ruled = [policy]
        self._root = root
        self._recorder = recorder
        self._ports = ports
        self._leavings = leavings
        self._sandbox = sandbox
        self._hosts = hosts
        self._questions = questions
        self._whole = self
        self._prefix = ""
        self.delegation: Any = None
        """A `wiring.agents.Delegation`, where the run has agents or a background."""
        self._principal: Any = None
        self._web: Any = None
        self._python: Any = None
        self._source: Any = None
        self._call_ids: dict[str, str] = {}
        # What calls of this very turn saw comes first: their outcomes may not be settled yet.
        self._marks: ChainMap[str, str] = ChainMap({}, recorder.state.stamps)
        self.result_bytes = MAX_RESULT_BYTES if result_bytes is None else result_bytes
        self.outputs = OutputStore(directory.path)
        self.artifacts = ArtifactStore(
            directory.path, spec.limits.artifact_bytes, recorder.charge_artifact, self._published
        )

    def rule(self, policy: Policy) -> None:
        """Calls from here on are granted by other rules."""
        self._ruled[0] = policy

    @property
    def _policy(self) -> Policy:
        return self._ruled[0]

    def for_agent(
        self, spec: RunSpec, policy: Policy | None, recorder: Recorder, task_id: str, principal: Any
    ) -> Hands:
        """Those of an agent that works for this one: artifacts and kept results are the same. policy None: and the
        rules too, also when they change."""
        hands = copy(self)
        hands._spec, hands._recorder = spec, recorder
        hands._ruled = self._ruled if policy is None else [policy]
        hands._marks = ChainMap({}, recorder.state.stamps)
        hands._prefix, hands._principal = f"{task_id}.", principal
        hands._questions = hands.delegation = None
        return hands

    def context(self, call: Call, tool: Tool, resources: Sequence[Resource], approved: RuleRef | None) -> CallContext:
        self._call_ids[self._prefix + call.key] = call.id
        kinds = {resource.kind for resource in resources}
        context = CallContext(call.key, tool.name, marks=self._marks)
        if kinds & {"path", "tree"} and self._root is not None:
            context.granted_files = self._files(self._root, tool, resources, approved)
            context.granted_edits = self._edits(self._root, call, tool, resources, approved)
        if "url" in kinds:
            context.granted_web = self._fetch(tool, resources, approved)
        if "artifact" in kinds:
            names = {resource.name for resource in resources if resource.kind == "artifact"}
            context.granted_artifacts = self.artifacts.grant(self._prefix + call.key, names)
        if "state" in kinds:
            context.granted_state = StateGrant(self, call.key)
        if "command" in kinds:
            context.granted_process = self._process(call, tool, resources)
        if "python" in tool.hands:
            context.granted_python = self._interpreter()
        if tool.hands & {"code", "outline"}:
            context.granted_code = self._code(context)
        if "person" in tool.hands and self._questions is not None:
            context.granted_questions = ToldQuestions(self._questions, self._recorder, call.key)
        if "agents" in tool.hands and self.delegation is not None:
            context.granted_agents = self.delegation.agents_grant(call, tool)
        if "jobs" in tool.hands and self.delegation is not None:
            context.granted_jobs = self.delegation.jobs_grant(call, tool)
        if "principal" in tool.hands:
            context.granted_principal = self._principal
        if "machine" in tool.hands:
            context.granted_machine = self._machine(tool, approved)
        return context

    def _files(self, root: Root, tool: Tool, resources: Sequence[Resource], approved: RuleRef | None) -> Any:
        from remit.workspace.grant import FilesGrant

        return FilesGrant(root, resources, self._shown(tool, approved))

    def _edits(
        self, root: Root, call: Call, tool: Tool, resources: Sequence[Resource], approved: RuleRef | None
    ) -> Any:
        if not any(resource.effect is Effect.WRITE for resource in resources):
            return None
        from remit.workspace.edit import EditsGrant
        from remit.workspace.hard_links import WithheldFiles

        withheld = WithheldFiles(root.fd, self._shown(tool, approved), beside=root.beside)
        note, changed = (lambda path: self._leavings.note("unfinished", path)), self._originals(call)
        return EditsGrant(root, resources, note, withheld, changed)

    def _originals(self, call: Call) -> Callable[[Sequence[Change]], None]:
        """Tells what changed files held before, as far as it is text of bearable size."""
        agent, told = self._prefix.removesuffix("."), self._ports.original

        def tell(changes: Sequence[Change]) -> None:
            for each in changes if told is not None else ():
                content = each.original.content
                if told is None or content is None or len(content) > MAX_ORIGINAL_BYTES:
                    continue
                with suppress(UnicodeDecodeError):
                    told(agent, call.id, each.original.name, self._recorder.cleaned(content.decode()))

        return tell

    def _shown(self, tool: Tool, approved: RuleRef | None) -> Callable[[Resource], bool]:
        """Whether the rules let a call of the tool read an entry of the workspace."""
        policy = self._policy

        def allowed(entry: Resource) -> bool:
            return policy.entry_allowed(tool.name, Effect.READ, entry, approved)

        return allowed

    def _fetch(self, tool: Tool, resources: Sequence[Resource], approved: RuleRef | None) -> Any:
        from remit.net.client import WebClient, WebGrant

        if self._whole._web is None:
            make = self._ports.web_client or WebClient
            self._whole._web = make(allowed_ports=self._spec.fetch_allowed_ports)

        policy = self._policy

        def may_follow(url: str) -> bool:
            hop = Resource("url", url, Effect.NETWORK)
            return policy.entry_allowed(tool.name, Effect.NETWORK, hop, approved)

        return WebGrant(self._whole._web, resources, self._recorder.charge_network_request, may_follow)

    def _process(self, call: Call, tool: Tool, resources: Sequence[Resource]) -> Any:
        from remit.workspace.process import ProcessGrant

        artifacts = os.path.realpath(self._directory.artifacts_path)
        self._leavings.note("artifacts", artifacts)
        return ProcessGrant(
            self._spec.workspace,
            resources,
            {"REMIT_OUT": artifacts},
            confinement=self._sandbox,
            root=self._root,
            filters=self._spec.output_filter,
            way_out=self._proxy(call, tool) if tool.name in self._hosts else None,
            settle=lambda: self._take_in(call, tool),
        )

    def _take_in(self, call: Call, tool: Tool) -> list[str]:
        """Look after the artifacts when a command has ended. What the model's wrote there is one; a check of the task
        is to find them as they are. The model hears of what is none by the call's result, and others here."""
        is_check = tool.name == CHECK_TOOL
        told = self.artifacts.clear() if is_check else self.artifacts.take_in(self._prefix + call.key)
        for text in told:
            self._recorder.emit(Notice(kind="artifacts", text=text))
        return told

    def _proxy(self, call: Call, tool: Tool) -> Any:
        from remit.net.dial import SystemResolver, TcpConnector
        from remit.net.proxy import CommandProxy

        named, policy = ", ".join(self._hosts[tool.name]), self._policy

        def judge(name: str) -> str:
            host = Resource("host", name, Effect.NETWORK)
            decision = policy.decide(tool.name, tool.effects, [host])
            if decision.decide == "auto":
                return ""
            if decision.decide == "ask":
                return f"commands may connect to these hosts only: {named}"
            return decision.rule.told()

        def tell(host: str, port: int, refused: str) -> None:
            self._recorder.reached(Reached(call.key, tool.name, host, port, refused), call.id)

        return CommandProxy(
            judge,
            self._recorder.charge_network_request,
            tell,
            ports=self._spec.fetch_allowed_ports,
            resolver=self._ports.resolver or SystemResolver(),
            connector=self._ports.connector or TcpConnector(),
        )

    def _interpreter(self) -> Any:
        from remit.workspace.monty import MontyInterpreter, find_worker

        if self._whole._python is None:
            self._whole._python = MontyInterpreter(find_worker(self._spec.python_worker))
        return self._whole._python

    def _code(self, context: CallContext) -> Any:
        from remit.store.facts import KeptFacts
        from remit.wiring.source import Source, SourceGrant

        if self._whole._source is None:
            self._whole._source = Source(KeptFacts(self._settings.facts_dir))
        return SourceGrant(self._whole._source, context.granted_files, context.check_cancelled)

    def close(self) -> None:
        """End what was started for the grants."""
        if self._whole._source is not None:
            self._whole._source.close()

    def _machine(self, tool: Tool, approved: RuleRef | None) -> Any:
        from remit.workspace.environment import PROBES, QUIET_VARIABLES, MachineGrant, trusted_path
        from remit.workspace.process import ProcessGrant

        policy = self._policy
        probes = {line: Resource("command", line, Effect.EXECUTE) for line in PROBES}

        def allowed(line: str) -> bool:
            return policy.entry_allowed(tool.name, Effect.EXECUTE, probes[line], approved)

        path = trusted_path(self._ports.environ.get("PATH", os.defpath), self._spec.workspace)
        # Not in the workspace: settings there change what programs do when they are asked for their version.
        process = ProcessGrant("/", list(probes.values()), {"PATH": path, **QUIET_VARIABLES}, confinement=self._sandbox)
        return MachineGrant(process, path, allowed, root=os.geteuid() == 0)

    def _published(self, change: ArtifactWritten | ArtifactRemoved) -> None:
        self._recorder.artifact(change, self._call_ids.get(change.call, ""))

    def propose(self, key: str, text: str, tags: Sequence[str], reason: str) -> str:
        proposals = MemoryProposals(self._settings.state_dir)
        return proposals.propose(
            self._directory.run_id,
            key,
            task=self._spec.name,
            text=text,
            tags=tags,
            reason=reason,
            created=self._ports.clock.now(),
        )

    def record(self, record: Record) -> None:
        self._recorder.record(record)

    def plan(self, plan: PlanSet) -> None:
        self._recorder.plan(plan)

    def todos(self, todos: TodosSet) -> None:
        self._recorder.todos(todos)

    def plan_document(self) -> str:
        self._hold_plan()
        return PlanDocument(self._directory.path).read()

    def write_plan(self, content: str) -> PlanWritten:
        revision = self._hold_plan()
        if self._prefix:
            raise Failure(ErrorCode.DENIED, "only the main agent replaces the plan; report what should change in it")
        written = written_plan(PlanDocument(self._directory.path).write(content), revision + 1)
        self._recorder.record(written)
        return written

    def _hold_plan(self) -> int:
        """The revision of the plan. Raises Failure where the session has none."""
        revision = self._whole._recorder.state.plan_revision
        if revision is None:
            raise Failure(ErrorCode.NOT_FOUND, "it requires a session plan: this session has never been in plan mode")
        return revision


def written_plan(data: bytes, revision: int) -> PlanWritten:
    """The record of a plan that was written."""
    import hashlib

    return PlanWritten(revision, len(data), hashlib.sha256(data).hexdigest())


class StateGrant:
    """The stores a run owns, for one call."""

    def __init__(self, hands: Hands, key: str) -> None:
        self._hands = hands
        self._key = key

    def set_plan(self, steps: Sequence[Step], note: str) -> None:
        self._hands.plan(PlanSet(tuple({"step": each.step, "status": each.status} for each in steps), note))

    def set_todos(self, todos: Sequence[Todo]) -> None:
        self._hands.todos(TodosSet(tuple(msgspec.to_builtins(each) for each in todos)))

    def plan_document(self) -> str:
        return self._hands.plan_document()

    def write_plan_document(self, content: str) -> PlanWritten:
        return self._hands.write_plan(content)

    def propose_memory(self, text: str, tags: Sequence[str], reason: str) -> str:
        return self._hands.propose(self._key, text, tags, reason)

    def submit_output(self, value: Any, problems: str) -> None:
        self._hands.record(OutputSubmitted(value, not problems, problems))

    @property
    def result_bytes(self) -> int:
        return self._hands.result_bytes

    def output(self, handle: str) -> str:
        return self._hands.outputs.read(handle)


class ToldQuestions:
    """Questions of one call, whose answers are told to those who watch."""

    def __init__(self, questions: Questions, recorder: Recorder, key: str) -> None:
        self._questions = questions
        self._recorder = recorder
        self._key = key

    async def ask(self, question: Question) -> Reply:
        reply = await self._questions.ask(question)
        if reply.answer:
            text = f"{question.header} ({self._key}) is answered by {reply.where}: {', '.join(reply.answer)}"
            self._recorder.emit(Notice(kind="answer", text=text))
        return reply
