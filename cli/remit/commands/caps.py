"""The limits of a run on the command line."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

LIMIT_FLAGS = {
    "turns": "--max-turns",
    "seconds": "--max-seconds",
    "tokens": "--max-tokens",
    "usd": "--max-usd",
    "calls": "--max-calls",
    "network_requests": "--max-network-requests",
    "artifact_bytes": "--max-artifact-bytes",
    "artifacts_total_bytes": "--max-artifacts-total-bytes",
}
"""Each limit of a run and its flag."""


def limits(given: Mapping[str, Any]) -> dict[str, str]:
    """The limits among the parameters of a command, by name: the parameter of a limit is `max_NAME`."""
    return {name: given[f"max_{name}"] for name in LIMIT_FLAGS if given[f"max_{name}"] is not None}
