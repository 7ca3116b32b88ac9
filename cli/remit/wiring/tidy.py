"""What killed runs have left on disk, removed by the next one."""

from __future__ import annotations

from remit.store.leavings import Leaving, sweep


def sweep_leavings(state_dir: str) -> None:
    """Remove temporary files and directories of runs that are dead."""
    sweep(state_dir, {"unfinished": _clear, "private": _remove})


def _clear(leaving: Leaving) -> None:
    from remit.workspace.folders import clear_folder

    clear_folder(leaving.path)


def _remove(leaving: Leaving) -> None:
    import shutil

    shutil.rmtree(leaving.path, ignore_errors=True)
