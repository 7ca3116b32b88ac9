"""The files that the redirects of a command line open, as resources."""

from __future__ import annotations

import os
from collections.abc import Iterator

from remit.base.resources import Effect, Resource
from remit.policy.patterns import Place
from remit.policy.shell import CommandLine


def touched(line: CommandLine, cwd: str, place: Place) -> Iterator[Resource]:
    """Each file a redirect of a line may open. cwd: the directory the line starts in, as in Resource.

    What a relative path means behind a `cd` depends on how the line runs, so that every directory it may
    stand in counts."""
    starts = _starts(line, cwd)
    for redirect in line.redirects:
        moved = not redirect.path.startswith("/")
        for start in starts if moved else starts[:1]:
            yield _file(redirect.path, start, redirect.effect, place)


def _starts(line: CommandLine, cwd: str) -> list[str]:
    """Where the line may stand, beginning with where it starts; each relative to the workspace or absolute."""
    starts = [cwd]
    behind = cwd
    for move in line.moves:
        behind = os.path.join(behind, move)
        starts += [os.path.join(cwd, move), behind]
    return list(dict.fromkeys(starts))


def _file(path: str, start: str, effect: Effect, place: Place) -> Resource:
    """A written path as a resource, by its plain and its real name."""
    root = place.workspaces[0]
    plain = os.path.normpath(os.path.join(root or "/", start, path))
    real = os.path.realpath(os.path.join(root or "/", start, path))
    inside = any(real == each or real.startswith(f"{each}/") for each in place.workspaces)
    return Resource("path", _name(plain, place), effect, _name(real, place), inside=inside)


def _name(path: str, place: Place) -> str:
    """An absolute path as resources are named."""
    for root in place.workspaces:
        if path == (root or "/"):
            return "."
        if path.startswith(f"{root}/"):
            return path[len(root) + 1 :]
    return path
