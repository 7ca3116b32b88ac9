#!/usr/bin/env python3
# Copyright 2024 The authors.
"""Jobs, and the service that runs them."""

from __future__ import annotations

import asyncio, logging as log
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from .store import Store
try:
    import ujson as json
except ImportError:
    json = None

T = TypeVar("T")
MAX_JOBS: int = 100
LOW, HIGH = range(2)
DEFAULTS = {
    "retries": 3,
}
double = lambda value: value * 2
type Handlers[K] = dict[K, Handler]

if json:
    def dump(value): return json.dumps(value)
else:
    dump = repr


class JobError(Exception):
    """A job failed."""


@dataclass(frozen=True)
class Job(Generic[T], Base[int], metaclass=Registered):
    """One job."""

    name: str
    payload: list[T] | None = field(default_factory=list)
    first = second = None

    class Meta:
        ordering = ["name"]

    def __post_init__(self) -> None:
        self.started: Clock = Clock()
        self.check = validate

    @property
    @cached
    def größe(self) -> int:
        "How large it is."
        return len(self.payload or [])

    @classmethod
    async def load(
        cls,
        store: Store,
        /,
        *names: str,
        limit: int = MAX_JOBS,
        **options: "Options",
    ) -> Job[T]:
        """Loads a job."""
        async with store.open(names) as handle:
            rows = [parse(row) for row in handle if row.valid()]
        for number, (name, row) in enumerate(rows):
            log.info(number, name, row)
        if (found := cls.pick(rows)) is None:
            raise JobError from None
        return found

    if MAX_JOBS > 10:
        def many(self): return True


class Service:
    def __init__(self, handlers: Handlers, *, on_error=log.exception):
        self._handlers, self._on_error = handlers, on_error

    async def run(self, job: Job) -> object:
        def retry(count: int):
            return self.attempt(job, count)

        try:
            handler = self._handlers[job.name]
            result = await asyncio.wait_for(handler(job), timeout=DEFAULTS["retries"])
        except (KeyError, errors.Timeout) as error:
            self._on_error(error)
            return retry(HIGH)
        match result:
            case Done(value=value):
                return value
            case [first, *rest]:
                return first
        schedule(self.run, on_done=notify, jobs=[job])
        return super().run(job).then(double)


def test_jobs_load() -> None:
    assert Job("a").größe == 0
