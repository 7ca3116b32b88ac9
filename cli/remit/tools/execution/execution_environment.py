"""execution_environment: the machine that commands run on, and the project's own signs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from remit.base.calls import Outcome, done
from remit.base.errors import Failure
from remit.base.limits import Bounds
from remit.base.ports import Files, Machine, ToolContext, World
from remit.base.resources import Effect, Resource
from remit.tools.contract import Tool

LOCKFILES = {
    "package-lock.json": "npm",
    "npm-shrinkwrap.json": "npm",
    "pnpm-lock.yaml": "pnpm",
    "yarn.lock": "yarn",
    "bun.lock": "bun",
    "bun.lockb": "bun",
    "deno.lock": "deno",
    "uv.lock": "uv",
    "poetry.lock": "poetry",
    "pdm.lock": "pdm",
    "Pipfile.lock": "pipenv",
    "pixi.lock": "pixi",
    "Cargo.lock": "cargo",
    "go.sum": "go",
    "Gemfile.lock": "bundler",
    "composer.lock": "composer",
    "mix.lock": "mix",
    "pubspec.lock": "pub",
    "gradle.lockfile": "gradle",
    "packages.lock.json": "nuget",
    "Package.resolved": "swift",
    "flake.lock": "nix",
}
"""Files by which a package manager is known to hold a project."""

_OPERATIONS = {
    "MERGE_HEAD": "merge",
    "CHERRY_PICK_HEAD": "cherry-pick",
    "REVERT_HEAD": "revert",
    "BISECT_LOG": "bisect",
    "rebase-merge": "rebase",
    "rebase-apply": "rebase",
}
MAX_HEAD_BYTES = 1024
MAX_BRANCH_CHARACTERS = 200


class ExecutionEnvironmentParams(msgspec.Struct, forbid_unknown_fields=True):
    pass


class ExecutionEnvironment(Tool):
    """Inspect the machine that commands run on: system, package managers, whether it is a container,
    root and sudo, the tools there are with their versions, and of the workspace its Git state, lockfiles
    and package manager. Facts only: no paths, no values of variables, no output of programs.

    Versions and the state of sudo come from a fixed list of commands, each judged by the rules; one that
    no rule allows is not run, and named. At most 0.3 s for each and 2 s for all; "" is a version that is
    not known.
    """

    name = "execution_environment"
    toolset = "execution"
    bundle = "execution_environment"
    effects = frozenset({Effect.READ, Effect.EXECUTE})
    bounds = Bounds(seconds=20.0)
    repeatable = True
    hands = frozenset({"machine"})
    Params = ExecutionEnvironmentParams

    def resources(self, params: ExecutionEnvironmentParams, world: World) -> Sequence[Resource]:
        # The commands are not named here: one that is refused must not take the others with it.
        return [world.tree(".", Effect.READ)]

    async def run(self, params: ExecutionEnvironmentParams, ctx: ToolContext) -> Outcome:
        machine = await ctx.machine.survey()
        project = await ctx.in_thread(_project, ctx.files)
        return done(msgspec.to_builtins(machine) | project, text="\n".join(_told(machine, project)))


def _project(files: Files) -> dict[str, Any]:
    """Git state and lockfiles of the workspace's own directory."""
    locks = [name for name in LOCKFILES if _there(files, name)]
    return {
        "git": _git(files),
        "lockfiles": locks,
        "project_package_managers": list(dict.fromkeys(LOCKFILES[name] for name in locks)),
    }


def _git(files: Files) -> dict[str, Any]:
    """repository: whether the workspace is the top of one. branch: "" where HEAD names none."""
    if not _there(files, ".git"):
        return {"repository": False, "branch": "", "operation": ""}
    head = _head(files)
    branch = head.removeprefix("ref: refs/heads/") if head.startswith("ref: refs/heads/") else ""
    operation = next((word for name, word in _OPERATIONS.items() if _there(files, f".git/{name}")), "")
    return {"repository": True, "branch": branch[:MAX_BRANCH_CHARACTERS], "operation": operation}


def _head(files: Files) -> str:
    try:
        with files.open(".git/HEAD") as file:
            return file.read(MAX_HEAD_BYTES).decode("utf-8", "replace").strip()
    except Failure:
        # A work tree of another repository has a file in the place of the directory.
        return ""


def _there(files: Files, name: str) -> bool:
    """Whether it exists and the rules show it."""
    try:
        files.stat(name)
    except Failure:
        return False
    return True


def _told(machine: Machine, project: dict[str, Any]) -> Iterator[str]:
    """The facts as the model reads them."""
    yield f"system: {machine.system} {machine.architecture}" + (f", {machine.release}" if machine.release else "")
    yield f"package managers: {', '.join(machine.package_managers) or 'none found'}"
    yield f"container: {', '.join(machine.container) or 'no evidence'}"
    yield f"privilege: {'root' if machine.root else 'not root'}; sudo without a password: {machine.sudo}"
    for group, tools in machine.tools.items():
        yield f"{group}: {', '.join(f'{name} {version}'.strip() for name, version in tools.items())}"
    git = project["git"]
    branch = f"branch {git['branch']}" if git["branch"] else "no branch checked out, or not readable"
    operation = f", in the middle of a {git['operation']}" if git["operation"] else ""
    yield f"git: {branch}{operation}" if git["repository"] else "git: the workspace is not the top of a repository"
    managers = ", ".join(project["project_package_managers"])
    yield f"lockfiles: {', '.join(project['lockfiles'])} ({managers})" if managers else "lockfiles: none"
    if machine.refused:
        yield f"not run, as no rule allows it: {'; '.join(machine.refused)}"
