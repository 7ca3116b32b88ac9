"""Confinement by the program `bwrap`, for systems that give namespaces to it and not to us."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

_FIRST_DESCRIPTOR = 8
"""For the programs for seccomp, which are opened by a shell: the options name descriptors, not files."""


def bubblewrap_argv(
    program: str,
    *,
    writable: Mapping[str, str],
    fixed: Iterable[str],
    masks: Mapping[str, bool],
    empty_file: str,
    capabilities: Iterable[str],
    filters: Sequence[str] = (),
) -> list[str]:
    """The options before `-- COMMAND`. writable: places a command may write, and what is shown there. fixed: shown
    read only. masks: hidden places, and whether each is a directory. All absolute and real. capabilities: those
    kept, by name, where we are root. filters: files that each hold a program for seccomp."""
    steps = [(place, ["--bind", source, place]) for place, source in writable.items() if place != "/"]
    steps += [(place, ["--ro-bind", place, place]) for place in fixed]
    steps += [(place, _mask(place, folder, empty_file)) for place, folder in masks.items()]
    # The root of the file system comes first, and outer places before inner ones.
    steps.sort(key=lambda step: step[0].count("/"))
    root = "--bind" if "/" in writable else "--ro-bind"
    options = [program, "--die-with-parent", "--unshare-pid", "--unshare-net", "--unshare-ipc", root, "/", "/"]
    options += ["--dev", "/dev", "--proc", "/proc", "--cap-drop", "ALL"]
    options += [word for name in capabilities for word in ("--cap-add", f"CAP_{name.upper()}")]
    numbers = range(_FIRST_DESCRIPTOR, _FIRST_DESCRIPTOR + len(filters))
    options += [word for number in numbers for word in ("--add-seccomp-fd", str(number))]
    options += [word for _, words in steps for word in words]
    if not filters:
        return options
    opened = " ".join(f'{number}<"${place}"' for place, number in enumerate(numbers, 1))
    return ["/bin/sh", "-c", f'exec {opened}; shift {len(filters)}; exec "$@"', "sh", *filters, *options]


def _mask(place: str, folder: bool, empty_file: str) -> list[str]:
    return ["--tmpfs", place] if folder else ["--ro-bind", empty_file, place]
