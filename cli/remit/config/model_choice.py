"""The models of a run: the one that is asked, those to fall back on, and the one that judges a goal."""

from __future__ import annotations

import msgspec

from remit.base.errors import Faults, UsageFault
from remit.base.spec import ModelSpec
from remit.config.findings import Findings
from remit.config.flags import RunFlags
from remit.config.models import fast_model, resolve_models
from remit.config.names import model_fault
from remit.config.settings import Settings
from remit.config.task import Task


class ModelChoice(msgspec.Struct, frozen=True):
    """first: the id of the model that is asked, "" for none. others: those of the models to fall back on. specs: all of
    them by id. judge: the id of the one that judges a goal, "" for the first."""

    first: str = ""
    others: tuple[str, ...] = ()
    specs: dict[str, ModelSpec] = {}
    judge: str = ""


def choose_models(flags: RunFlags, settings: Settings, task: Task | None, found: Findings) -> ModelChoice:
    """The models that flags, task and settings name."""
    return _Choosing(flags, settings, task, found).choice()


class _Choosing:
    def __init__(self, flags: RunFlags, settings: Settings, task: Task | None, found: Findings) -> None:
        self._flags = flags
        self._settings = settings
        self._task = task
        self._found = found

    def choice(self) -> ModelChoice:
        task = self._task
        known = len(self._found.faults)
        first = self._first()
        others = self._flags.fallback_models or (task.fallback_models if task else ())
        for name in self._flags.fallback_models:
            if message := model_fault(name) if name else "the model's name is empty":
                self._found.fault(message, "--fallback-model")
        if len(self._found.faults) > known:
            return ModelChoice()
        where = {name: self._where(name == first) for name in filter(None, (first, *others))}
        try:
            models, files = resolve_models(where, self._settings.config_dir, where)
        except Faults as problem:
            self._found.faults += problem.faults
            return ModelChoice()
        except UsageFault as problem:
            self._found.fault(problem.what, problem.where, problem.hint)
            return ModelChoice()
        self._found.files |= files
        ids = [models[name].id for name in dict.fromkeys(filter(None, (first, *others)))]
        by_id = {model.id: model for model in models.values()}
        if first and self._flags.goal is not None and (judge := fast_model(ids[0], self._settings.config_dir)):
            by_id.setdefault(judge.id, judge)
            return ModelChoice(ids[0], tuple(ids[1:]), by_id, judge.id)
        return ModelChoice(ids[0], tuple(ids[1:]), by_id) if first else ModelChoice("", tuple(ids), by_id)

    def _first(self) -> str:
        given = self._flags.model
        if given is None:
            return (self._task.model if self._task else "") or self._settings.model
        message = model_fault(given) if given else "the model's name is empty"
        if message:
            self._found.fault(message, "-m")
        return given

    def _where(self, first: bool) -> str:
        """Where a name stands that no model has: the first model's, or one of those to fall back on."""
        task = self._task
        if not first:
            return "--fallback-model" if self._flags.fallback_models or task is None else task.fallback_where
        if self._flags.model is not None:
            return "-m"
        return task.model_where if task and task.model else str(self._settings.origin("model"))
