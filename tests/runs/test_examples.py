"""The packaged examples, as the README has them run."""

from __future__ import annotations

import shutil
from importlib import resources
from pathlib import Path

from fakes.cli import Home, ended, lines, settled

EXAMPLES = Path(str(resources.files("remit").joinpath("examples")))


def test_the_sales_report(home: Home) -> None:
    ran = home.stream("--example", "sales-report", "-o", str(home.out))
    assert ran.result == ended(home.out, 0), ran.stderr
    assert "no model is configured" in ran.stderr and ran.events[0]["scripted"]
    quiet = home.run("run", "--example", "sales-report", "-q", "-o", str(home.path / "quiet"))
    assert (quiet.code, quiet.stderr) == (0, "")
    report = (home.out / "artifacts" / "report.md").read_text()
    assert "14,883.65" in report and ran.result["structured_output"]["revenue"] == 14883.65


def test_the_sales_report_with_one_number_changed(home: Home) -> None:
    """The script says which result differs, instead of writing a report that is wrong."""
    shutil.copytree(EXAMPLES / "sales-report", home.work / "sales")
    table = home.work / "sales" / "sales.csv"
    row = table.read_text().splitlines()[100]
    units = row.split(",")[4]
    table.write_text(table.read_text().replace(row, row.replace(f",{units},", f",{int(units) + 1},", 1)))
    ran = home.stream("-t", "sales/task.yaml", "-m", "scripted/sales/script.yaml", "-o", str(home.out))
    result = ended(home.out, 5)
    assert ran.result == result and result["error_kind"] == "script"
    [error] = result["errors"]
    assert "sales/script.yaml:" in error and "call 2 (analyze_csv): the result differs at $.data.columns[4]" in error
    assert result["artifacts"] == [] and not (home.out / "artifacts" / "report.md").exists()


def test_the_mixed_documents(home: Home) -> None:
    ran = home.stream("--example", "mixed-docs", "-o", str(home.out))
    assert ran.result == ended(home.out, 0), ran.stderr
    [denied] = ran.result["permission_denials"]
    assert denied["tool_name"] == "fetch_url" and denied["resource"].startswith("https://collect.")
    assert [tool for _, tool, ok in settled(home.out) if not ok] == ["fetch_url"]
    assert "863.25" in (home.out / "artifacts" / "summary.md").read_text()
    assert ran.result["spent"]["network_requests"] == 0
    assert lines(home.out / "events.jsonl") == ran.events
