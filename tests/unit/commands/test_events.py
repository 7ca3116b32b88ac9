"""`remit events`"""

from __future__ import annotations

from pathlib import Path

import pytest

from fakes.cli import Home

GOLDEN = Path(__file__).resolve().parents[2] / "golden" / "events.schema.json"


@pytest.mark.parametrize("args", [(), ("--schema",)])
def test_prints_the_published_schema(args: tuple[str, ...], tmp_path: Path) -> None:
    ran = Home(tmp_path).run("events", *args)
    assert (ran.code, ran.stderr) == (0, "")
    assert ran.stdout == GOLDEN.read_bytes()
