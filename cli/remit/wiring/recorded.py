"""A run that is recorded while it is carried out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from remit.base.redact import KeyGuard, Redactor, is_secret_name
from remit.engine.models import Model
from remit.providers.record import Recording, RecordingProvider
from remit.providers.recording import RecordedModel
from remit.wiring.course import Course


class RecordedCourse(Course):
    """The journal is followed into a file."""

    def __init__(self, recording: Recording) -> None:
        self.followers = (recording,)
        self._recording = recording

    def close(self) -> None:
        self._recording.close()


def recorded(
    models: Sequence[Model], path: str, environ: Mapping[str, str], guard: KeyGuard, home: str, own: Sequence[str]
) -> tuple[list[Model], Course]:
    """The models of a run, all recorded to one file, and its course. Raises UsageFault."""
    known = [_facts(model) for model in models]
    recording = Recording(path, Redactor(_secrets(models, environ)), known, home=home, own=own, guard=guard)
    through = [
        msgspec.structs.replace(model, provider=RecordingProvider(model.provider, recording)) for model in models
    ]
    return through, RecordedCourse(recording)


def _facts(model: Model) -> RecordedModel:
    return RecordedModel(model.provider.name, model.provider.model, model.price, model.metered)


def _secrets(models: Sequence[Model], environ: Mapping[str, str]) -> list[str]:
    keys = {name for model in models for name in model.spec.key_env}
    return [value for name, value in environ.items() if name in keys or is_secret_name(name)]
