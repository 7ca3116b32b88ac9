"""Programs that some tests drive and that a machine may lack."""

from __future__ import annotations

import os
import shutil

import pytest


def needs(program: str) -> str:
    """The path of a program. Without it the test is skipped, or fails where nothing may be."""
    found = shutil.which(program)
    if found is None:
        reason = f"{program} is not installed (apt-get install {program})"
        if os.environ.get("REMIT_TEST_NO_SKIPS"):
            pytest.fail(reason)
        pytest.skip(reason)
    return found
