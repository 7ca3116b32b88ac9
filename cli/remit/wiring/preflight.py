"""Everything that can be refused before a directory is touched or a model asked, and the parts that it leaves."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import msgspec

from remit.base.ports import Provider, World
from remit.base.redact import KeyGuard
from remit.base.spec import Environment, RunSpec
from remit.config.settings import Settings
from remit.engine.models import Model
from remit.policy.answers import Answers
from remit.policy.decide import RuleSet
from remit.policy.modes import DEFAULT, PLAN, in_mode
from remit.store.leavings import Leavings
from remit.store.rundir import own_files
from remit.wiring.confine import Confined, confine
from remit.wiring.course import Course
from remit.wiring.grants import RunWorld
from remit.wiring.hooks import hold_hooks
from remit.wiring.models import open_agents, open_evaluators, open_models
from remit.wiring.offer import (
    Offer,
    eligible_tools,
    environment_of,
    known_effects,
    load_approvals,
    load_rules,
    loaded_tools,
    standing,
)
from remit.wiring.ports import Ports
from remit.wiring.tidy import sweep_leavings
from remit.workspace.root import Root

AGENTS = "task"
"""The tool that sends agents."""


class Parts(msgspec.Struct, frozen=True):
    """policy: the rules in the mode that the run begins in. models: never empty; the first is asked first. guard:
    knows the keys of all of them. root: the workspace, None where no call gets to see one. leavings: what a later run
    would have to remove. eligible: the tools for an agent with such a spec, but for what profiles say. agents_models:
    by id, those of profiles."""

    policy: RuleSet
    approvals: Answers | None
    offer: Offer
    models: list[Model]
    guard: KeyGuard
    world: World
    root: Root | None
    course: Course
    leavings: Leavings
    confined: Confined = Confined(None, {"sandbox": "unused: this run starts no commands"})
    eligible: Callable[[RunSpec], Offer] = lambda spec: Offer({}, {})
    agents_models: Mapping[str, Model] = {}
    evaluators: list[Model] = []
    """Those that judge the goal of the run; none: the first of its own, as where its answers are recorded or played."""
    environment: Environment | None = None
    """What the model is told of it."""

    @property
    def provider(self) -> Provider:
        return self.models[0].provider

    def providers(self, evaluators: Sequence[Model]) -> list[Provider]:
        """Of all models that may be asked, each once."""
        asked = (*self.models, *evaluators, *self.agents_models.values())
        return list(dict.fromkeys(model.provider for model in asked))


def preflight(
    spec: RunSpec,
    settings: Settings,
    ports: Ports,
    record: str | None,
    run_dir: str | None,
    mode: str = "",
    has_plan: bool = False,
) -> Parts:
    """The parts of a run, or of one that is taken up. mode: that of a session which is taken up, "" for the spec's.
    has_plan: whether the session has one from before. Raises Faults."""
    run_files = own_files(run_dir) if run_dir else ()
    policy = load_rules(spec, settings, ports.environ, run_files, mode, ports.tools)
    approvals = load_approvals(spec, settings)
    hold_hooks(spec, ports.environ, record)
    guard = KeyGuard()
    models = open_models(spec, settings.config_dir, ports.environ, guard)
    # A client changes the mode, and tools that come and go would cost the provider's cache.
    offered_by = in_mode(policy, DEFAULT, known_effects(ports.tools)) if ports.client else policy
    has_plan = has_plan or (mode or spec.mode) == PLAN
    person = ports.person is not None

    def eligible(whose: RunSpec) -> Offer:
        return eligible_tools(whose, offered_by, approvals, client=ports.client, has_plan=has_plan, person=person)

    ours = eligible(spec)
    offer = loaded_tools(spec, ours, client=ports.client, theirs=ports.tools)
    root = Root(spec.workspace, beside=spec.beside)
    evaluators = [] if record is not None else open_evaluators(spec, models, settings.config_dir, ports.environ, guard)
    agents = AGENTS in offer.tools
    agents_models = open_agents(spec, models, settings.config_dir, ports.environ, guard) if agents else {}
    environment = environment_of(spec, models, ports.clock.now())
    course = Course()
    if record is not None:
        from remit.wiring.recorded import recorded

        standing_at = standing(settings, ports.environ, run_files)
        recording = recorded(models, agents_models, record, ports.environ, guard, spec, *standing_at)
        models, agents_models, course = recording
    world = RunWorld(root, spec.fetch_allowed_ports)
    sweep_leavings(settings.state_dir)
    leavings = Leavings(settings.state_dir)
    # An agent may have tools that the profile of the main one leaves out.
    confined = confine(spec, settings, policy, ours if agents else offer, leavings)
    return Parts(
        policy=policy,
        approvals=approvals,
        offer=offer,
        models=models,
        guard=guard,
        world=world,
        root=root,
        course=course,
        leavings=leavings,
        confined=confined,
        eligible=eligible,
        agents_models=agents_models,
        evaluators=evaluators,
        environment=environment,
    )
