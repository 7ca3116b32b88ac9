"""`remit events`"""

from __future__ import annotations

from pathlib import Path

from fakes.cli import Home

GOLDEN = Path(__file__).resolve().parents[2] / "golden" / "events.schema.json"


def test_prints_the_published_schema(tmp_path: Path) -> None:
    ran = Home(tmp_path).run("events")
    assert (ran.code, ran.stderr) == (0, "")
    assert ran.stdout == GOLDEN.read_bytes()
