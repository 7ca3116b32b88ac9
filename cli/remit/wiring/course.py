"""What else a run is, besides one that is carried out: recorded, or a recording that is played."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from remit.base.errors import RemitError
from remit.base.events import Init
from remit.base.ports import Outputs
from remit.base.records import Record
from remit.base.spec import RunSpec
from remit.engine.execution import Hands
from remit.engine.models import Model
from remit.engine.recorder import Recorder
from remit.engine.run import Run
from remit.store.artifacts import ArtifactStore
from remit.tools.contract import Tool
from remit.wiring.offer import Offer


class Course:
    """Nothing else: each place where a run may take another course, left as it is.

    followers: hear of every journaled record, after all others."""

    followers: Sequence[Callable[[Record], None]] = ()

    def tool(self, tool: Tool) -> Tool:
        """The tool that runs in place of this one."""
        return tool

    def offer(self, offer: Offer) -> Offer:
        """What an agent has of these tools."""
        return offer

    def models(self, models: Sequence[Model]) -> Sequence[Model]:
        """Who an agent asks."""
        return models

    def agent(self, task_id: str) -> Course:
        """The course of an agent that works for the main one, the same each time it is taken up."""
        return self

    def hands(self, hands: Hands) -> Hands:
        """Who builds the grants of calls."""
        return hands

    def outputs(self, outputs: Outputs) -> Outputs:
        """What keeps results whole."""
        return outputs

    def altered(self, artifacts: ArtifactStore) -> Callable[[], list[str]]:
        """What tells which artifacts are no longer as they were written."""
        return artifacts.altered

    def timed(self, spec: RunSpec) -> RunSpec:
        """The spec by which the run's time is measured."""
        return spec

    def told(self, init: Init) -> Init:
        """The first line of the event stream."""
        return init

    def verified(self, error: RemitError | None) -> RemitError | None:
        """How the run ended, None: done."""
        return error

    def attach(self, run: Run, recorder: Recorder) -> None:
        """The run is about to begin."""

    def close(self) -> None:
        """The run is over."""
