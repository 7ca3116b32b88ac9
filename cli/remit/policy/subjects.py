"""What rules are held against: the resources of a call, under each of their names."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

import msgspec

from remit.base.resources import Effect, Resource, ResourceKind
from remit.policy.patterns import (
    Place,
)
from remit.policy.redirects import touched
from remit.policy.shell import CommandLine, Part, View, read_command

PATH_KINDS: frozenset[ResourceKind] = frozenset({"path", "tree"})


Coverage = Literal["all", "some", "none"]


class Subject(msgspec.Struct, frozen=True):
    """A resource under one of its names; a command line, in one view of one of its parts, or as the
    file that one of its redirects opens.

    paths: the absolute spellings of a path's name. line: of a command and of its redirects. part, view: of
    a command."""

    resource: Resource
    name: str
    paths: tuple[str, ...] = ()
    line: CommandLine | None = None
    part: Part | None = None
    view: View = ()

    @property
    def redirect(self) -> bool:
        return self.line is not None and self.part is None


NOTHING = Resource("state", "", Effect.NONE)
"""Stands for a call that touches nothing, so that rules without a selector speak for it."""


def subjects(resource: Resource, place: Place) -> list[Subject]:
    """Everything a resource has to be held against. All of them have to pass."""
    if resource.kind in PATH_KINDS:
        return [Subject(resource, name, place.absolute(name)) for name in resource.names()]
    if resource.kind == "command":
        return [*_commands(resource), *_redirects(resource, place)]
    return [Subject(resource, name) for name in resource.names()]


def _commands(resource: Resource) -> Iterator[Subject]:
    line = read_command(resource.name)
    for part in line.parts:
        for view in part.views:
            yield Subject(resource, resource.name, line=line, part=part, view=view)


def _redirects(resource: Resource, place: Place) -> Iterator[Subject]:
    line = read_command(resource.name)
    for file in touched(line, resource.cwd, place):
        for name in file.names():
            yield Subject(file, name, place.absolute(name), line)
