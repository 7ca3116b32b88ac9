"""The models of a run, opened: keys found, prices known, the recording attached."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from remit.base.errors import PreflightFault
from remit.base.redact import KeyGuard
from remit.base.spec import ModelSpec, Price, RunSpec
from remit.engine.models import Model
from remit.providers.catalog import FREE_PROTOCOLS, NO_MODEL_MESSAGE, open_provider, placed
from remit.providers.opening import Opening
from remit.wiring.keys import find_credential
from remit.wiring.offer import current_directory


def open_models(spec: RunSpec, config_dir: str, environ: Mapping[str, str], guard: KeyGuard) -> list[Model]:
    """The run's model and those it may fall back on, none of them asked yet.

    Raises PreflightFault: no model, key, extra or base URL, or no price for a cap in money."""
    if not spec.model:
        raise PreflightFault(NO_MODEL_MESSAGE, kind="no_model")
    models = [_opened(name, spec, config_dir, environ, guard) for name in (spec.model, *spec.fallback_models)]
    if spec.limits.usd is not None:
        for model in models:
            _hold_price(model)
    if spec.images and all(model.spec.vision is False for model in models):
        what = f"pictures are given, and {models[0].id} cannot see them"
        raise PreflightFault(what, hint="take a model that can: `remit models` lists them", kind="no_vision")
    return models


def open_agents(
    spec: RunSpec, models: list[Model], config_dir: str, environ: Mapping[str, str], guard: KeyGuard
) -> dict[str, Model]:
    """The models that profiles of agents name, by id. Raises PreflightFault."""
    known = {model.spec.id: model for model in models}
    found: dict[str, Model] = {}
    for profile in spec.profiles.values():
        if not profile.model or profile.model in found:
            continue
        try:
            found[profile.model] = model = known.get(profile.model) or _opened(
                profile.model, spec, config_dir, environ, guard
            )
            if spec.limits.usd is not None:
                _hold_price(model)
        except PreflightFault as fault:
            fault.where = fault.where or profile.where
            raise
    return found


def open_evaluators(
    spec: RunSpec, models: list[Model], config_dir: str, environ: Mapping[str, str], guard: KeyGuard
) -> list[Model]:
    """The models that judge the goal of the run, in the order in which they are asked; none where it has no goal.

    Raises PreflightFault."""
    if spec.goal is None:
        return []
    if spec.goal.model in ("", spec.model):
        return models[:1]
    evaluator = _opened(spec.goal.model, spec, config_dir, environ, guard)
    if spec.limits.usd is not None:
        _hold_price(evaluator)
    return [evaluator, models[0]]


def _opened(name: str, spec: RunSpec, config_dir: str, environ: Mapping[str, str], guard: KeyGuard) -> Model:
    here = current_directory()
    known = spec.models[name]
    facts = msgspec.structs.replace(known, id=placed(known.id, spec.command.get("cwd", here), here))
    opening = Opening(
        model=facts,
        credential=find_credential(facts, environ, config_dir, guard),
        environ=environ,
        retry_seconds=spec.retry_seconds,
    )
    provider = open_provider(opening)
    free = opening.protocol in FREE_PROTOCOLS
    return Model(provider, facts, _price(spec, facts, getattr(provider, "price", None), free=free), not free)


def _price(spec: RunSpec, model: ModelSpec, stated: object, *, free: bool) -> Price | None:
    """The user's settings before the catalog. stated: by a script, which plays a model that costs something."""
    if model.id in spec.prices:
        return spec.prices[model.id]
    if isinstance(stated, Price):
        return stated
    return Price(0.0, 0.0) if free else model.price


def _hold_price(model: Model) -> None:
    if model.price is None:
        name = model.spec.id
        raise PreflightFault(
            f"a money cap needs the price of {name}, and none is known",
            hint=f'put [prices."{name}"] with input and output (US dollars per million tokens) into remit.toml, '
            "or cap tokens with --max-tokens",
            kind="no_price",
        )


def effort_notices(spec: RunSpec, models: list[Model]) -> list[str]:
    """What to tell of models that cannot be told how much to think."""
    if spec.effort in (None, "off"):
        return []
    deaf = [model.spec for model in models if model.metered and model.spec.thinking in (None, "none")]
    return [f"--effort {spec.effort} is not sent to {model.id}: {_why_deaf(model)}" for model in deaf]


def _why_deaf(model: ModelSpec) -> str:
    if model.thinking == "none":
        return "it does not think (`thinking` of its entry in providers.toml)"
    return "nobody said how it is told to think (`thinking` of its entry in providers.toml)"


def batch_bytes(models: Sequence[Model]) -> int | None:
    """Bytes that the results of one turn may take together: about a quarter of the smallest context window."""
    return min((model.spec.context_window for model in models if model.spec.context_window), default=None)
