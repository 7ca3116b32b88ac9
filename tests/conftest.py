"""Shared test parts: `from fakes.context import ...` works from every test."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Generator
from pathlib import Path

import pytest
from hypothesis import settings

sys.path.insert(0, str(Path(__file__).parent))

if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
    # Of tests that run under nohup: programs they start would pass over it too.
    signal.signal(signal.SIGHUP, signal.SIG_DFL)

# How long an example takes says more of what else the machine does than of the code.
settings.register_profile("remit", deadline=None)
settings.load_profile("remit")

collect_ignore = ["code"]
"""Source that tests read, tests of its own included."""


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Generator[None, object, object]:
    """Where all that a test could need is installed (REMIT_TEST_NO_SKIPS), a skipped test is a failed one."""
    report = yield
    assert isinstance(report, pytest.TestReport)
    if report.skipped and os.environ.get("REMIT_TEST_NO_SKIPS"):
        report.outcome = "failed"
        report.longrepr = f"skipped where nothing may be: {report.longrepr}"
    return report
