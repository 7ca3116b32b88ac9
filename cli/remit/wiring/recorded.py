"""A run that is recorded while it is carried out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from remit.base.messages import Request
from remit.base.redact import KeyGuard, Redactor, secrets_of
from remit.base.spec import RunSpec
from remit.engine.models import Model
from remit.providers.record import Recording, RecordingProvider, Track
from remit.providers.recording import Exchange, Header, RecordedCall, RecordedEnd, RecordedError, RecordedModel
from remit.tools import registry
from remit.wiring.course import Course
from remit.wiring.standin import CHECK, OUTPUT


class RecordedCourse(Course):
    """The journal is followed into a file."""

    def __init__(self, recording: Recording) -> None:
        self.followers = (recording,)
        self._recording = recording

    def agent(self, task_id: str) -> Course:
        return RecordedAgent(self._recording.track(task_id))

    def close(self) -> None:
        self._recording.close()


class RecordedAgent(Course):
    """The journal of an agent is followed into the file of the run."""

    def __init__(self, track: Track) -> None:
        self.followers = (track,)
        self._track = track

    def models(self, models: Sequence[Model]) -> Sequence[Model]:
        return [
            msgspec.structs.replace(model, provider=model.provider.of(self._track.agent))
            if isinstance(model.provider, RecordingProvider)
            else model
            for model in models
        ]


def recorded(
    models: Sequence[Model],
    agents: Mapping[str, Model],
    path: str,
    environ: Mapping[str, str],
    guard: KeyGuard,
    spec: RunSpec,
    home: str,
    own: Sequence[str],
) -> tuple[list[Model], dict[str, Model], Course]:
    """The models of a run, all recorded to one file, those of its agents, and its course. Raises UsageFault."""
    known = [_facts(model) for model in models]
    theirs = {name: _facts(model) for name, model in agents.items()}
    variables = {name for model in (*models, *agents.values()) for name in model.spec.key_env}
    secrets = secrets_of(environ, variables, [home, *own, *words(spec)])
    recording = Recording(path, Redactor(secrets), known, agents_models=theirs, home=home, own=own, guard=guard)

    def through(model: Model) -> Model:
        return msgspec.structs.replace(model, provider=RecordingProvider(model.provider, recording))

    by_id = {name: through(model) for name, model in agents.items()}
    return [through(model) for model in models], by_id, RecordedCourse(recording)


def _facts(model: Model) -> RecordedModel:
    return RecordedModel(model.provider.name, model.provider.model, model.price, model.metered)


def words(spec: RunSpec) -> Iterator[str]:
    """What a recording of a run says in words of its own: without one of them it would not be understood."""
    yield from (spec.workspace, OUTPUT, CHECK, *registry.tool_effects(), *spec.models)
    kinds = [RunSpec, Header, Exchange, RecordedCall, RecordedEnd, RecordedError, Request]
    _, schemas = msgspec.json.schema_components(kinds)
    yield from _named(schemas)


def _named(schema: Any) -> Iterator[str]:
    """The names of fields, tags and choices in a JSON Schema."""
    if isinstance(schema, list):
        for each in schema:
            yield from _named(each)
    if not isinstance(schema, dict):
        return
    yield from schema.get("properties", ())
    yield from (each for each in (*schema.get("enum", ()), schema.get("const")) if isinstance(each, str))
    for each in schema.values():
        yield from _named(each)
