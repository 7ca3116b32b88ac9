"""What this machine is and has: facts and versions, never paths, values of variables or what a program printed."""

from __future__ import annotations

import asyncio
import os
import platform
import re
import shlex
import shutil
from collections.abc import Callable, Mapping, Sequence

from remit.base.errors import Failure
from remit.base.ports import Machine, Process, SudoState

PROBE_SECONDS = 0.3
TOTAL_SECONDS = 2.0
START_SECONDS = 0.2
"""For a command to be started, before its own time counts."""

AT_ONCE = 4
MAX_PROBE_BYTES = 4096

_VERSION = re.compile(rb"\d{1,6}(?:\.\d{1,8}){1,3}")

SUDO = "sudo -n true"
"""Whether it asks for a password tells the state. It may run what the system hooks into sudo."""

VERSIONS: Mapping[str, tuple[str, ...]] = {
    "version control": ("git --version",),
    "languages": (
        "python3 --version",
        "node --version",
        "go version",
        "rustc --version",
        "java -version",
        "ruby --version",
        "php --version",
        "perl -v",
    ),
    "project tools": ("uv --version", "npm --version", "cargo --version"),
    "build": ("gcc --version", "clang --version", "make --version", "cmake --version"),
    "containers": ("docker --version", "podman --version"),
    "text and data": ("rg --version", "jq --version", "curl --version", "sqlite3 --version"),
}
"""The commands that are run for the versions, by group. None reads the workspace or reaches the network."""

PRESENT: Mapping[str, tuple[str, ...]] = {
    "languages": ("deno", "bun", "dotnet", "julia", "lua", "Rscript"),
    "project tools": ("pip3", "poetry", "pnpm", "yarn", "mvn", "gradle", "bundle", "composer", "mix"),
    "build": ("ninja", "bazel", "just"),
    "containers": ("kubectl", "helm", "terraform"),
    "text and data": ("wget", "psql", "pandoc", "tar", "unzip"),
}
"""Programs that are only looked for: asked for their version they may be slow, write files or use the network."""

PACKAGE_MANAGERS = ("apt-get", "dnf", "yum", "microdnf", "apk", "pacman", "zypper", "emerge", "nix", "brew", "pkg")

PROBES: tuple[str, ...] = (*(line for lines in VERSIONS.values() for line in lines), SUDO)
"""Every command line that may be run."""

QUIET_VARIABLES = {"COREPACK_ENABLE_NETWORK": "0", "NO_UPDATE_NOTIFIER": "1", "GOTOOLCHAIN": "local"}
"""Keeps programs that are asked for their version from fetching another one."""

_MARKS = {"/.dockerenv": "docker", "/run/.containerenv": "podman"}
_GROUPS = ("docker", "kubepods", "containerd", "libpod", "lxc")


def trusted_path(path: str, workspace: str) -> str:
    """The directories of a PATH in which a name means a program of the machine: absolute, and not in the
    workspace, whose files could stand in for anything."""
    root = os.path.realpath(workspace)
    kept = [
        place
        for place in path.split(os.pathsep)
        if os.path.isabs(place) and os.path.commonpath([os.path.realpath(place), root]) != root
    ]
    return os.pathsep.join(kept)


class MachineGrant:
    """base.ports.MachineSurvey. process: runs PROBES with `path` as its PATH. allowed: whether the rules
    let a probe run. root: whether commands run as root. probe_seconds, total_seconds: for each probe, for all."""

    def __init__(
        self,
        process: Process,
        path: str,
        allowed: Callable[[str], bool],
        *,
        root: bool,
        probe_seconds: float = PROBE_SECONDS,
        total_seconds: float = TOTAL_SECONDS,
    ) -> None:
        self._root = root
        self._probe_seconds = probe_seconds
        self._total_seconds = total_seconds
        self._process = process
        self._path = path
        self._allowed = allowed

    async def survey(self) -> Machine:
        """What was not answered in time is unknown."""
        there = [line for line in PROBES if self._has(line.split()[0])]
        wanted = [line for line in there if not (line == SUDO and self._root)]
        asked = [line for line in wanted if self._allowed(line)]
        answers = await self._ask(asked)
        return Machine(
            system=platform.system(),
            release=_release(),
            architecture=platform.machine(),
            package_managers=tuple(name for name in PACKAGE_MANAGERS if self._has(name)),
            container=container_evidence(),
            root=self._root,
            sudo=self._sudo(asked, answers),
            tools=self._tools(answers),
            refused=tuple(line for line in wanted if line not in asked),
        )

    def _has(self, program: str) -> bool:
        return shutil.which(program, path=self._path) is not None

    async def _ask(self, lines: Sequence[str]) -> dict[str, tuple[int | None, bytes]]:
        """Exit code and output of those that answered in time."""
        answers: dict[str, tuple[int | None, bytes]] = {}
        slots = asyncio.Semaphore(AT_ONCE)

        async def ask(line: str) -> None:
            async with slots, asyncio.timeout(START_SECONDS + self._probe_seconds):
                ended = await self._process.run(
                    shlex.split(line), seconds=self._probe_seconds, max_bytes=MAX_PROBE_BYTES
                )
                answers[line] = (ended.exit_code, ended.stdout + ended.stderr)

        tasks = [asyncio.create_task(ask(line)) for line in lines]
        try:
            await asyncio.wait(tasks, timeout=self._total_seconds) if tasks else None
        finally:
            for task in tasks:
                task.cancel()
            ended = await asyncio.gather(*tasks, return_exceptions=True)
        for problem in ended:
            if isinstance(problem, Exception) and not isinstance(problem, Failure | TimeoutError):
                raise problem
        return answers

    def _sudo(self, asked: Sequence[str], answers: Mapping[str, tuple[int | None, bytes]]) -> SudoState:
        if os.name != "posix":
            return "not-applicable"
        if self._root:
            return "not-needed"
        if not self._has("sudo"):
            return "not-found"
        if SUDO not in asked:
            return "refused"
        code = answers[SUDO][0] if SUDO in answers else None
        return "unknown" if code is None else "available" if code == 0 else "unavailable"

    def _tools(self, answers: Mapping[str, tuple[int | None, bytes]]) -> dict[str, dict[str, str]]:
        """By group, the programs there are and their versions, "" where that is not known."""
        groups: dict[str, dict[str, str]] = {}
        for group, lines in VERSIONS.items():
            found = {line.split()[0]: _version(answers.get(line)) for line in lines if self._has(line.split()[0])}
            found |= {name: "" for name in PRESENT.get(group, ()) if self._has(name)}
            if found:
                groups[group] = found
        return groups


def _version(answer: tuple[int | None, bytes] | None) -> str:
    found = _VERSION.search(answer[1]) if answer is not None and answer[0] == 0 else None
    return found[0].decode() if found else ""


def _release() -> str:
    """The distribution and its version as two words, or ""."""
    try:
        facts = platform.freedesktop_os_release()
    except OSError:
        return ""
    words = f"{facts.get('ID', '')} {facts.get('VERSION_ID', '')}".strip()
    return re.sub(r"[^A-Za-z0-9._ -]", "", words)[:60]


def container_evidence(root: str = "/", environ: Mapping[str, str] | None = None) -> tuple[str, ...]:
    """What speaks for this being a container, in a few fixed words. root: of the file system, absolute."""
    names = os.environ if environ is None else environ
    found = [word for path, word in _MARKS.items() if os.path.lexists(os.path.join(root, path.lstrip("/")))]
    if names.get("KUBERNETES_SERVICE_HOST"):
        found.append("kubernetes")
    if names.get("container"):
        found.append("container variable")
    try:
        with open(os.path.join(root, "proc/1/cgroup"), encoding="utf-8", errors="replace") as file:
            groups = file.read(64 * 1024)
    except OSError:
        groups = ""
    found += [f"cgroup {word}" for word in _GROUPS if word in groups]
    return tuple(found)
