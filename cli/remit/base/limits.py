"""Limits of a run and bounds of a tool, as data."""

from __future__ import annotations

from typing import Annotated

import msgspec

KIB = 1024
MIB = 1024 * KIB

Count = Annotated[int, msgspec.Meta(ge=1)]


class Limits(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What a run may spend. None: no cap. Sizes in bytes, time in seconds, money in US dollars."""

    turns: Count | None = 50
    seconds: Annotated[float, msgspec.Meta(gt=0)] | None = 1800.0
    tokens: Count | None = None
    usd: Annotated[float, msgspec.Meta(gt=0)] | None = None
    calls: Count | None = 500
    network_requests: Annotated[int, msgspec.Meta(ge=0)] | None = 50
    artifact_bytes: Count = 1 * MIB
    artifacts_total_bytes: Count | None = 20 * MIB


class Bounds(msgspec.Struct, frozen=True, kw_only=True):
    """What one call of a tool may take: wall seconds, and bytes and lines of text shown to the model."""

    seconds: float = 60.0
    output_bytes: int = 51_200
    output_lines: int = 2000
