"""What the system is out of, told wherever it shows."""

from __future__ import annotations

import errno
import os

import pytest

from remit.store.durable import scarce_fault


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (OSError(errno.EMFILE, os.strerror(errno.EMFILE)), "too_many_files"),
        (OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "/tmp/x"), "disk_full"),
        (OSError(errno.ENOMEM, os.strerror(errno.ENOMEM)), "no_memory"),
        (MemoryError(), "no_memory"),
        (RuntimeError("can't start new thread"), "too_many_processes"),
    ],
)
def test_what_the_system_is_out_of(error: Exception, kind: str) -> None:
    fault = scarce_fault(error)
    assert fault is not None and fault.kind == kind and fault.hint
    assert fault.where == str(getattr(error, "filename", None) or "")


@pytest.mark.parametrize("error", [RuntimeError("x"), ValueError("x"), FileNotFoundError(errno.ENOENT, "x", "y")])
def test_faults_of_ours_stay_such(error: Exception) -> None:
    assert scarce_fault(error) is None
