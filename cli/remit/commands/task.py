"""`remit task`: check a task file, print the schema of one, start one from an example."""

from __future__ import annotations

import os
import shlex
from importlib import resources
from importlib.resources.abc import Traversable
from typing import Any

import typer

from remit.base.errors import EnvironmentFault, Fault, Faults, UsageFault
from remit.config.load import did_you_mean
from remit.config.task import Task, ToolEffects, examine_task

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    help="Check a task file, print its schema, start one from an example.",
)

TASK_FILES = ("task.yaml", "task.toml")
SCRIPT_FILE = "script.yaml"


@app.command("check")
def check(
    files: list[str] = typer.Argument(..., metavar="FILE...", help="Task files, YAML or TOML."),
) -> None:
    """Print what is wrong with task files, all of it, or one line for each that is right."""
    from remit.tools.registry import tool_effects

    for line in checked(files, tool_effects()):
        typer.echo(line)


@app.command("schema")
def schema() -> None:
    """Print the JSON Schema of the task file."""
    import msgspec

    from remit.config.schema import task_schema

    typer.echo(msgspec.json.format(msgspec.json.encode(task_schema()), indent=2).decode())


@app.command("new")
def new(
    directory: str = typer.Argument(..., metavar="DIR", help="Where to put it: a new or empty directory."),
    example: str | None = typer.Option(
        None, "--example", metavar="NAME", help="The example to start from. Required.", show_default=False
    ),
) -> None:
    """Copy an example into a directory, and print how to run it."""
    typer.echo(started(directory, example, resources.files("remit").joinpath("examples")))


def checked(files: list[str], tool_effects: ToolEffects) -> list[str]:
    """A line on each task file. Raises Faults with those of all files when there is any."""
    faults: list[Fault] = []
    lines: list[str] = []
    for path in files:
        task, found = examine_task(path, tool_effects)
        faults += found
        if task is not None:
            lines.append(f"{path}: OK: {_summary(task)}")
    if faults:
        raise Faults(faults)
    return lines


def _summary(task: Task) -> str:
    import msgspec

    ticks = [
        f"{name} {tick.decide}" + (f" on {' '.join(tick.hosts)}" if tick.hosts else "")
        for name, tick in task.ticks.items()
    ]
    limits = [f"{name} {_amount(value)}" for name, value in msgspec.structs.asdict(task.limits).items()]
    return f"{task.name}; tools: {', '.join(ticks) or 'none'}; limits: {', '.join(limits)}"


def _amount(value: Any) -> str:
    return "none" if value is None else f"{value:g}" if isinstance(value, float) else str(value)


def example_names(examples: Traversable) -> list[str]:
    """The examples there are: directories that hold a task file."""
    if not examples.is_dir():
        return []
    return sorted(entry.name for entry in examples.iterdir() if entry.is_dir() and _task_file(entry))


def _task_file(example: Traversable) -> str:
    return next((name for name in TASK_FILES if example.joinpath(name).is_file()), "")


def started(directory: str, example: str | None, examples: Traversable) -> str:
    """Copy an example into a directory; how to run it. Raises UsageFault, EnvironmentFault."""
    names = example_names(examples)
    if example is None or example not in names:
        known = f"examples: {', '.join(names) or 'none'}"
        if example is None:
            raise UsageFault("no example is named", where="--example", hint=known)
        near = did_you_mean(example, names)
        raise UsageFault(f"there is no example {example!r}", where="--example", hint=f"{near} {known}".strip())
    if not directory or "\0" in directory:
        raise UsageFault("the directory has no name", where="DIR")
    source = examples.joinpath(example)
    try:
        if os.path.lexists(directory) and not os.path.isdir(directory):
            raise UsageFault("this is not a directory", where=directory)
        if os.path.isdir(directory) and os.listdir(directory):
            raise UsageFault("the directory is not empty", where=directory, hint="name a new one")
        written = _copy(source, directory)
    except OSError as problem:
        raise EnvironmentFault(f"cannot be written: {problem.strerror}", where=problem.filename or directory) from None
    return _how_to_run(directory, _task_file(source), written)


def _copy(source: Traversable, target: str) -> list[str]:
    """Copy a tree; the names of its files, relative to it."""
    os.makedirs(target, exist_ok=True)
    written: list[str] = []
    for entry in sorted(source.iterdir(), key=lambda entry: entry.name):
        path = os.path.join(target, entry.name)
        if entry.name.startswith("__"):
            continue
        if entry.is_dir():
            written += [f"{entry.name}/{name}" for name in _copy(entry, path)]
        else:
            with open(path, "xb") as file:
                file.write(entry.read_bytes())
            written.append(entry.name)
    return written


def _how_to_run(directory: str, task_file: str, written: list[str]) -> str:
    run = f"remit run -t {shlex.quote(os.path.join(directory, task_file))}"
    lines = [f"wrote {directory}: {', '.join(written)}"]
    if SCRIPT_FILE in written:
        script = shlex.quote("scripted/" + os.path.join(directory, SCRIPT_FILE))
        lines += ["run it by its script, without a model (remit man script):", f"  {run} -m {script}"]
    return "\n".join([*lines, "run it with a model:", f"  {run} -m PROVIDER/MODEL"])
