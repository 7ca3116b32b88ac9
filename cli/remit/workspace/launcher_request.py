"""What the launcher is told: builtins only, since it goes through a pipe by `marshal`.

The launcher reads these shapes without loading this file, which is for those who write and check them.
"""

from __future__ import annotations

from typing import NotRequired, TypedDict


class Attach(TypedDict):
    """One place that shows something else. mask: name of an entry of the mask directory, or "". tree: index
    of a kept tree, where mask is "". identity: device and inode that the place must have, or None."""

    target: str
    mask: str
    tree: int
    identity: tuple[int, int] | None


class Mounts(TypedDict):
    """mask_dir: an empty directory. folders: names of empty directories in it to be shown elsewhere, with what is to
    lie in them as mount points; `file` stands for files, and cannot be opened. trees: directories kept as they are,
    and whether each is read only. attach: outer places before inner ones. devices: names below /dev."""

    read_only: bool
    mask_dir: str
    folders: list[tuple[str, list[str]]]
    trees: list[tuple[str, bool]]
    attach: list[Attach]
    devices: list[str]


class Landlock(TypedDict):
    """files, scopes: handled rights. rules: paths and the rights that hold below each."""

    files: int
    scopes: int
    rules: list[tuple[str, int]]


class Jail(TypedDict):
    """How a command is confined. user: through a user namespace. capabilities: those that root keeps.
    seccomp: filter programs, all of which hold. listen: port of the new network namespace, on its loopback, whose
    listening socket goes to who started the command; 0: none."""

    user: bool
    mounts: Mounts | None
    pid: bool
    proc: bool
    net: bool
    listen: int
    capabilities: list[int]
    landlock: Landlock | None
    seccomp: list[bytes]


class Inside(TypedDict):
    """The command where `argv` of the request only leads to it, by `launcher_door`. port: as `listen` of a jail."""

    port: int
    argv: list[bytes]
    environment: dict[bytes, bytes]


class Request(TypedDict):
    """One command. argv: empty where nothing is to run once all the rest holds, which ends with 0. directory: where it
    runs, with its device and inode if they were seen. grace: seconds between asking all processes to end and killing
    them. limits: numbers of resources and their hard and soft limit. stdin: what it finds on standard input, nothing
    where it is left out. inside: only where others make the namespaces, and there is a way out of these."""

    argv: list[bytes]
    environment: dict[bytes, bytes]
    directory: str
    identity: tuple[int, int] | None
    grace: float
    limits: list[tuple[int, int]]
    jail: Jail | None
    stdin: NotRequired[bytes]
    inside: NotRequired[Inside]
