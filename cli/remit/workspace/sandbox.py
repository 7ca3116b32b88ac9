"""How the commands of a run are confined: what holds on this machine, and the jail of the next command."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Literal

import msgspec

from remit.workspace.git_index import tracked
from remit.workspace.launcher_jail import MASK_FILE, make_unreadable
from remit.workspace.launcher_request import Attach, Jail, Landlock, Mounts
from remit.workspace.process import Confinement
from remit.workspace.sandbox_bubblewrap import bubblewrap_argv
from remit.workspace.sandbox_door import door_argv, door_places
from remit.workspace.sandbox_filters import network_sockets, no_set_user, no_sockets
from remit.workspace.sandbox_git import GIT_NOTE, Repositories
from remit.workspace.sandbox_mentions import mentioned
from remit.workspace.sandbox_places import STARTED
from remit.workspace.sandbox_rights import (
    DEVICES,
    ROOT_KEEPS,
    SCOPES,
    SCOPES_ABI,
    TRUNCATE_ABI,
    handled,
    limits,
    usable,
    writable,
)
from remit.workspace.sandbox_secrets import Mask, WorkspaceSecrets, homes, outermost, standing_secrets

LayerName = Literal["writes", "secrets", "network", "processes"]

SHARED_TEMP = ("/tmp", "/var/tmp")
"""Directories of temporary files, in whose place a command sees its own."""

_TEMP = "tmp"
_MASKS = "masks"
_FOLDER = "folder"
_FILTER = "filter"
_PUT_ASIDE = "{name} was renamed to {name}.refused-*: {who} would run what it names, outside the sandbox"
_PROGRAMS = "programs of the user"


class Layer(msgspec.Struct, frozen=True):
    """One promise of the sandbox. how: by what it holds, or why it does not."""

    held: bool
    how: str

    def __str__(self) -> str:
        return f"{'held' if self.held else 'not held'}: {self.how}"


class Facilities(msgspec.Struct, frozen=True):
    """What of the system is used. landlock: its version, 0 for none. root: we can make namespaces
    ourselves. seccomp: no sockets, for want of net. families: none of a kind that net does not hold. bubblewrap: the
    program that makes them for us, or "". door: a way out of its network can be opened. why: what the system said of
    each facility that it refused, by name."""

    user: bool = False
    mounts: bool = False
    read_only: bool = False
    devices: bool = False
    pid: bool = False
    proc: bool = False
    net: bool = False
    landlock: int = 0
    seccomp: bool = False
    families: bool = False
    bubblewrap: str = ""
    door: bool = False
    why: dict[str, str] = {}


class Grounds(msgspec.Struct, frozen=True, kw_only=True):
    """The places of a run, absolute. own: hidden, such as remit's state. fixed: below the workspace, may be read but
    not written, such as the run's rules. home: the user's home directory, where the workspace holds it. shared:
    directories of temporary files, which are replaced. private: a directory for what replaces them, and for mount
    points."""

    workspace: str
    private: str
    artifacts: str = ""
    own: tuple[str, ...] = ()
    fixed: tuple[str, ...] = ()
    home: str = ""
    shared: tuple[str, ...] = SHARED_TEMP


class Sandbox(Confinement):
    """Confines commands by these facilities on these grounds. secrets: those of the workspace. limits: may be changed
    before the first command."""

    def __init__(self, facilities: Facilities, grounds: Grounds, secrets: WorkspaceSecrets | None = None) -> None:
        self.limits = limits()
        self.facilities = facilities
        self._grounds = grounds
        self._secrets = secrets
        self._repositories = Repositories(
            secrets.git if secrets is not None else (), os.path.join(grounds.private, GIT_NOTE), grounds.home
        )
        self._temp = os.path.join(grounds.private, _TEMP)
        self._homes = homes()
        self._out_of_sight: frozenset[str] = frozenset()
        for name, mode in ((_TEMP, 0o1777), (_MASKS, 0o700)):
            place = os.path.join(grounds.private, name)
            os.makedirs(place, exist_ok=True)
            os.chmod(place, mode)
        if not os.path.lexists(os.path.join(grounds.private, MASK_FILE)):
            folder = os.open(grounds.private, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            make_unreadable(MASK_FILE, folder)
            os.close(folder)

    def enter(self, own: Sequence[str], artifacts: str) -> None:
        """Take what the run keeps on disk into account: hidden, but for the artifacts, which may be written."""
        own = (*self._grounds.own, *own)
        self._grounds = msgspec.structs.replace(self._grounds, own=own, artifacts=artifacts)

    @property
    def environment(self) -> dict[str, str]:  # type: ignore[override]
        """Where temporary files and caches go."""
        temp = self._shared()[0] if self._shared() else self._temp
        return {"TMPDIR": temp, "TMP": temp, "TEMP": temp, "XDG_CACHE_HOME": f"{temp}/.cache"}

    def layers(self) -> dict[LayerName, Layer]:
        """What holds, and by what."""
        return {
            "writes": _writes(self.facilities),
            "secrets": self._secrets_layer(),
            "network": _network(self.facilities),
            "processes": _processes(self.facilities),
        }

    @property
    def why_closed(self) -> str:
        """Why commands can be given none, where there is more to say of it than of the network."""
        return self.facilities.why.get("door", "")

    @property
    def opens(self) -> bool:
        """Whether commands can be given a way out of an empty network."""
        return self.facilities.door if self.facilities.bubblewrap else self.facilities.net

    def jail(self) -> Jail | None:
        facilities = self.facilities
        if facilities.bubblewrap:
            return None
        return Jail(
            user=facilities.user,
            mounts=self._mounts() if facilities.mounts else None,
            pid=facilities.pid,
            proc=facilities.proc,
            net=facilities.net,
            listen=0,
            capabilities=list(ROOT_KEEPS.values()) if os.geteuid() == 0 else [],
            landlock=self._landlock() if facilities.landlock else None,
            seccomp=self._filters(),
        )

    def begin(self) -> None:
        self._repositories.begin(self._kept())

    def end(self) -> tuple[str, ...]:
        workspace = os.path.realpath(self._grounds.workspace)
        aside = self._repositories.end()
        told = [os.path.relpath(path, workspace) if _within(path, workspace) else path for path in aside]
        started = {os.path.join(self._grounds.home, name) for name in STARTED} if self._grounds.home else set()
        texts = [
            _PUT_ASIDE.format(name=name, who=_PROGRAMS if path in started else "git")
            for path, name in zip(aside, told, strict=True)
        ]
        return (*texts, *self._repositories.gaps())

    def hidden(self, line: str, directory: str) -> tuple[str, ...]:
        home = os.environ.get("HOME", "~")
        return mentioned(line, directory, home, self._out_of_sight)

    def wrap(self, argv: Sequence[str], directory: str) -> Sequence[str]:
        if not self.facilities.bubblewrap:
            return argv
        masks = {mask.path: mask.folder for mask in self._masks() if os.path.lexists(mask.path)}
        covered = [*self._shared(), *(path for path, folder in masks.items() if folder)]
        writable = {path: path for path in (*self._kept(), *self._held())} | dict.fromkeys(self._shared(), self._temp)
        options = bubblewrap_argv(
            self.facilities.bubblewrap,
            writable=writable,
            fixed=[*self._fixed(), *self._uncovered(covered)],
            masks=masks,
            empty_file=os.path.join(self._grounds.private, MASK_FILE),
            capabilities=list(ROOT_KEEPS) if os.geteuid() == 0 else [],
            filters=self._filter_files(),
        )
        return [*options, "--chdir", directory, "--", *argv]

    def door(self) -> Sequence[str]:
        return door_argv() if self.facilities.door else ()

    def tracked(self) -> list[str]:
        """Hidden places of the workspace that git tracks, relative to it."""
        if self._secrets is None or not (self.facilities.mounts or self.facilities.bubblewrap):
            return []
        workspace = os.path.realpath(self._grounds.workspace)
        places = [(mask.path, mask.folder) for mask in self._secrets.masks()]
        found = {path for store in self._secrets.git for path in tracked(os.path.realpath(store), places)}
        return sorted(os.path.relpath(path, workspace) for path in found)

    def _secrets_layer(self) -> Layer:
        if not (self.facilities.mounts or self.facilities.bubblewrap):
            return Layer(False, f"files cannot be hidden: {self._missing('mounts')}")
        by = "bubblewrap" if self.facilities.bubblewrap else "a mount namespace"
        if self._secrets is not None and not self._secrets.whole:
            return Layer(False, f"by {by}, but the workspace is too large to find all credential files in it")
        return Layer(True, by)

    def _missing(self, facility: str) -> str:
        return self.facilities.why.get(facility) or f"no {facility}"

    def _shared(self) -> list[str]:
        """The directories of temporary files that are replaced: not one that holds the workspace's own place."""
        if not (self.facilities.mounts or self.facilities.bubblewrap):
            return []
        workspace = os.path.realpath(self._grounds.workspace)
        real = dict.fromkeys(os.path.realpath(place) for place in self._grounds.shared if os.path.isdir(place))
        return [place for place in real if not _within(place, workspace)]

    def _kept(self) -> list[str]:
        """Where a command may write."""
        given = (self._grounds.workspace, self._grounds.artifacts)
        return [os.path.realpath(path) for path in given if path and os.path.isdir(path)]

    def _held(self) -> list[str]:
        """Directories in what may be written that stay where they are."""
        kept = self._kept()
        around = self._secrets.around() if self._secrets is not None else []
        wanted = dict.fromkeys([*around, *self._repositories.held()])
        return [path for path in wanted if path not in kept and any(_within(path, place) for place in kept)]

    def _fixed(self) -> list[str]:
        """What stays in sight but is not written: rules in the workspace, what makes git run programs, and programs in
        what is replaced."""
        kept, shared = self._kept(), self._shared()
        programs = [os.path.realpath(path) for path in os.environ.get("PATH", "").split(":") if os.path.isabs(path)]
        rules = [os.path.realpath(path) for path in self._grounds.fixed] + self._repositories.fixed()
        wanted = [path for path in rules if any(_within(path, place) for place in kept)]
        wanted += [
            path
            for path in programs
            if any(_within(path, place) for place in shared) and not any(_within(path, place) for place in kept)
        ]
        return [path for path in dict.fromkeys(wanted) if os.path.exists(path) and path not in kept]

    def _uncovered(self, covered: Sequence[str]) -> list[str]:
        """What `door` needs to see in directories that show something else."""
        if not self.facilities.door:
            return []
        over = [*covered, *self._kept()]
        return [path for path in door_places() if path not in covered and _nearest(path, over) in covered]

    def _masks(self) -> list[Mask]:
        found = standing_secrets(self._homes, self._grounds.own)
        shared = self._shared()
        kept = self._kept()
        # What lies in a replaced directory is out of sight already.
        seen = [mask for mask in found if _nearest(mask.path, [*shared, *kept]) not in shared]
        inside = self._secrets.masks() if self._secrets is not None else []
        known = {mask.path for mask in inside}
        masks = outermost([*inside, *(mask for mask in seen if mask.path not in known)], kept)
        self._out_of_sight = frozenset(mask.path for mask in masks)
        return masks

    def _mounts(self) -> Mounts:
        kept, held, shared, fixed = self._kept(), self._held(), self._shared(), self._fixed()
        trees = [(path, False) for path in (*kept, *held)] + [(self._temp, False)] * len(shared)
        trees += [(path, True) for path in fixed]
        attach = [
            Attach(target=target, mask="", tree=index, identity=None)
            for index, target in enumerate((*kept, *held, *shared, *fixed))
            if target != "/"
        ]
        folders: list[tuple[str, list[str]]] = [(_FOLDER, [])]
        for number, mask in enumerate(self._masks()):
            name = _FOLDER if mask.folder else MASK_FILE
            inner = [os.path.relpath(path, mask.path) for path in kept if _within(path, mask.path)]
            if inner:
                name = f"{_FOLDER}{number}"
                folders.append((name, inner))
            attach.append(Attach(target=mask.path, mask=name, tree=0, identity=mask.identity))
        attach.sort(key=lambda each: each["target"].count("/"))
        return Mounts(
            read_only=self.facilities.read_only and "/" not in kept,
            mask_dir=os.path.join(self._grounds.private, _MASKS),
            folders=folders,
            trees=trees,
            attach=attach,
            devices=list(DEVICES) if self.facilities.devices else [],
        )

    def _filters(self) -> list[bytes]:
        if not (self.facilities.seccomp or self.facilities.families):
            return []
        return [no_sockets() if self.facilities.seccomp else network_sockets(), no_set_user()]

    def _filter_files(self) -> list[str]:
        """Each filter in a file."""
        files = []
        for number, program in enumerate(self._filters()):
            path = os.path.join(self._grounds.private, f"{_FILTER}{number}")
            if not os.path.exists(path):
                with open(path, "wb") as file:
                    file.write(program)
            files.append(path)
        return files

    def _landlock(self) -> Landlock:
        abi = self.facilities.landlock
        places = [*self._kept(), *(self._shared() or [self._temp])]
        if self.facilities.devices:
            places.append("/dev/shm")
        rules = [(path, writable(abi)) for path in places]
        rules += [(f"/dev/{name}", usable(abi)) for name in (*DEVICES, "ptmx", "pts", "pts/ptmx")]
        return Landlock(files=handled(abi), scopes=SCOPES if abi >= SCOPES_ABI else 0, rules=rules)

    def close(self) -> None:
        """Let go of the workspace's secrets and remove the private directory."""
        import shutil

        if self._secrets is not None:
            self._secrets.close()
        self._repositories.close()
        shutil.rmtree(self._grounds.private, ignore_errors=True)


def _unfiltered(have: Facilities, what: str) -> str:
    """What only a filter of calls would refuse, where there is none."""
    return "" if have.families or have.seccomp else f"; {what}"


def _writes(have: Facilities) -> Layer:
    left = _unfiltered(have, "commands can make files that run as their owner")
    if have.bubblewrap:
        return Layer(True, f"bubblewrap{left}")
    by = [f"Landlock {have.landlock}"] if have.landlock else []
    by += ["read-only mounts"] if have.read_only else []
    if have.read_only or have.landlock >= TRUNCATE_ABI:
        note = "" if have.read_only else "; modes and times of files outside can be changed"
        return Layer(True, " and ".join(by) + note + left)
    if have.landlock:
        return Layer(False, f"Landlock {have.landlock} lets files outside be emptied")
    reasons = [have.why.get(each, "") for each in ("landlock", "read_only", "mounts")]
    return Layer(False, "; ".join(dict.fromkeys(filter(None, reasons))) or "no Landlock, no mount namespace")


def _network(have: Facilities) -> Layer:
    left = _unfiltered(have, "sockets of kinds that it does not hold, as between virtual machines, can be made")
    if have.bubblewrap:
        return Layer(True, f"bubblewrap{left}")
    if have.net:
        return Layer(True, f"a network namespace{left}")
    if have.seccomp:
        return Layer(True, "seccomp: no sockets at all")
    return Layer(False, have.why.get("net", "no network namespace, no seccomp"))


def _processes(have: Facilities) -> Layer:
    if have.bubblewrap:
        return Layer(True, "bubblewrap")
    if have.pid and have.proc:
        return Layer(True, "a PID namespace")
    if have.landlock >= SCOPES_ABI or (have.pid and have.landlock):
        # Landlock alone keeps a process from tracing those outside, and from what tracing would show.
        return Layer(True, f"{'a PID namespace and ' if have.pid else ''}Landlock {have.landlock}")
    return Layer(False, have.why.get("pid") or have.why.get("proc") or "no PID namespace, no Landlock 6")


def _within(path: str, place: str) -> bool:
    return path == place or path.startswith(place.rstrip("/") + "/")


def _nearest(path: str, places: Sequence[str]) -> str:
    """The innermost of these places that holds `path`, or ""."""
    return max((place for place in places if _within(path, place)), key=len, default="")
