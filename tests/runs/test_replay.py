"""Recording a run and playing it again, whole."""

from __future__ import annotations

from pathlib import Path

from fakes.cli import Home


def test_a_run_that_ends_before_its_recording_is_not_the_recorded_one(tmp_path: Path) -> None:
    home = Home(tmp_path)
    recording = tmp_path / "run.jsonl"
    recorded = home.stream("go", "-m", home.script({"text": "all done"}), "--record", str(recording))
    assert recorded.result["verdict"] == "done", recorded.stderr
    assert home.stream("go", "-m", f"replay/{recording}").code == 0

    *_, last = recording.read_bytes().splitlines(keepends=True)
    with recording.open("ab") as file:
        file.write(last)
    longer = home.stream("go", "-m", f"replay/{recording}")
    assert (longer.code, longer.result["error_kind"]) == (5, "replay")
    assert longer.result["errors"] == ["the run ended with 1 recorded answer(s) not asked for"]
