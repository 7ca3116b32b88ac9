"""Packaged examples: a task with its data, and a script that plays the model when there is none."""

from __future__ import annotations

import os
import sys
from importlib import resources

import msgspec

from remit.base.errors import UsageFault
from remit.commands.output import write_stderr
from remit.commands.task import SCRIPT_FILE, example_names
from remit.config.flags import RunFlags
from remit.config.load import did_you_mean
from remit.config.settings import Settings


def with_example(flags: RunFlags, name: str, settings: Settings, *, quiet: bool) -> RunFlags:
    """The flags of a run of this example. Raises UsageFault for an unknown one, or a second task.

    Without a model the example's script answers, and stderr says so, unless it is to be quiet."""
    if flags.task is not None:
        raise UsageFault("--example is a task of its own, and -t names another", hint="give one of them")
    examples = resources.files("remit").joinpath("examples")
    names = example_names(examples)
    if name not in names:
        near = did_you_mean(name, names)
        raise UsageFault(
            f"there is no example {name!r}", where="--example", hint=f"{near} examples: {', '.join(names)}".strip()
        )
    with resources.as_file(examples.joinpath(name)) as place:
        folder = _outside(str(place)) if getattr(sys, "frozen", False) else str(place)
    task = os.path.join(folder, "task.yaml")
    script = os.path.join(folder, SCRIPT_FILE)
    model = flags.model or settings.model
    if not model:
        model = f"scripted/{script}"
        if not quiet:
            write_stderr(
                f"remit: no model is configured, so the example's script answers ({os.path.basename(script)}); "
                "the tools are real. Use a model with -m, such as -m openai/MODEL\n"
            )
    return msgspec.structs.replace(flags, task=task, model=model)


def _outside(place: str) -> str:
    """A copy of an example: the one-file program lies in the user's cache, which no run may read. It stays, so that the
    run can be resumed, and serves every later run."""
    from remit.commands.example_copy import kept_copy
    from remit.config.where import examples_dir

    return kept_copy(place, examples_dir())
